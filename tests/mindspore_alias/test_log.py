"""``mindspore.log``: levels, files and texts."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import msnb.as_mindspore  # noqa: F401
from msnb.as_mindspore import log_functions

PROGRAM = """
import msnb.as_mindspore
import mindspore as ms
from mindspore import log as logger, ops
logger.debug("not told")
logger.info("the %s", "info")
logger.warning("%d of %d", 2, 3)
logger.error("last")
print(ms.get_level(), ms.log is logger, float(ops.log(ms.Tensor(1.0))), ms.get_log_config()["GLOG_v"])
"""


def told(folder: Path, **environment: str) -> tuple[str, list[str]]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": ":".join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "ME(" in line]


@pytest.mark.parametrize(
    ("level", "words"), [("1", ["the info", "2 of 3", "last"]), ("2", ["2 of 3", "last"]), ("3", ["last"])]
)
def test_levels(tmp_path: Path, level: str, words: list[str]) -> None:
    out, lines = told(tmp_path, GLOG_v=level)
    assert out.split() == [level, "True", "0.0", level]
    assert [line.partition("] ")[2].partition("] ")[2] for line in lines] == words
    assert "<string>" in lines[0] and lines[-1].startswith("[ERROR] ME(")


def test_a_file_instead(tmp_path: Path) -> None:
    _, lines = told(tmp_path, GLOG_logtostderr="0", GLOG_log_dir=str(tmp_path / "logs"))
    assert lines == []
    assert "2 of 3" in (tmp_path / "logs" / "mindspore.log").read_text()


def test_a_level_that_is_none(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log_functions.warning("seen by %s", "handlers")
    assert "seen by handlers" in caplog.text
    monkeypatch.setenv("GLOG_v", "7")
    with pytest.raises(ValueError, match="GLOG_v is '7'; it is 0"):
        log_functions.get_level()
