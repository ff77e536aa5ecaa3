"""The guide for those who know PyTorch: its programs run one after the other, and print what their comments say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "from_pytorch.md"


@pytest.mark.long
def test_the_programs_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(programs) >= 8
    file = tmp_path / "guide.py"
    file.write_text("\n".join(programs), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(file))
    printed = capsys.readouterr().out
    for line in ("(2, 2) Float32", "(2, 4)", "(4, 10)", "[ 3. 12.]", "[ 6. 12.]", "True\nTrue"):
        assert line in printed
    assert "<svg" in names["view"].svg
    assert (tmp_path / "net.ckpt").exists()
