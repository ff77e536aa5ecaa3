"""`FileWriter.commit` writes aside and renames: the old file stays whole, files of others are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msnb.mindrecord import FileWriter

import msnb.dataset as ds

_KILLED = """
import os, signal, sys
from msnb.mindrecord import FileWriter
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
writer = FileWriter(sys.argv[1], overwrite=True)
writer.add_schema({"label": {"type": "int32"}})
writer.write_raw_data([{"label": 7}])
writer.commit()
"""


def write(path: Path, *labels: Any) -> None:
    writer = FileWriter(str(path), overwrite=True)
    writer.add_schema({"label": {"type": "int32"}})
    writer.write_raw_data([{"label": label} for label in labels])
    writer.commit()


def labels(path: Path) -> list[int]:
    data = ds.MindDataset(str(path), shuffle=False)
    return [int(row["label"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_a_file_of_somebody_else_beside_it_stays(tmp_path: Path) -> None:
    other = tmp_path / "a.mindrecord.part"
    other.write_text("mine")
    write(tmp_path / "a.mindrecord", 1, 2)
    assert other.read_text() == "mine" and labels(tmp_path / "a.mindrecord") == [1, 2]


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mindrecord"
    write(path, 1)

    def full(handle: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write(path, 2)
    assert labels(path) == [1] and sorted(os.listdir(tmp_path)) == ["a.mindrecord", "a.mindrecord.db"]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of Unix")
def test_a_killed_writer_leaves_the_old_file_and_its_rest_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.mindrecord"
    write(path, 1)
    run = subprocess.run([sys.executable, "-c", _KILLED, str(path)], timeout=60)
    assert run.returncode == -9 and len(os.listdir(tmp_path)) == 3 and labels(path) == [1]
    write(path, 3)
    assert sorted(os.listdir(tmp_path)) == ["a.mindrecord", "a.mindrecord.db"] and labels(path) == [3]
