"""A process killed while it saves: the old file stays, and what the writer left is removed by the next save."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import msnb as ms

_KILLED = """
import os, signal, sys
import msnb as ms
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
ms.save_checkpoint({"w": ms.Tensor([2.0] * 1000)}, sys.argv[1])
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of Unix")
def test_what_a_killed_writer_left_goes_with_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "w.ckpt"
    ms.save_checkpoint({"w": ms.Tensor([1.0])}, str(path))
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", _KILLED, str(path)], timeout=60)
        assert run.returncode == -9
    assert len(os.listdir(tmp_path)) > 1  # it was killed in the middle
    assert ms.load_checkpoint(str(path))["w"].tolist() == [1.0]
    ms.save_checkpoint({"w": ms.Tensor([3.0])}, str(tmp_path / "other.ckpt"))
    assert sorted(os.listdir(tmp_path)) == ["other.ckpt", "w.ckpt"]
