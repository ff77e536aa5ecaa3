"""Where the folder for temporary files has a long name, ranks say so before they begin."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from msnb.base.errors import DeviceError
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing


@pytest.mark.skipif(bool(missing("mpi")), reason="real ranks need mpi4py and an MPI")
def test_a_long_folder_is_refused_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(DeviceError, match="TMPDIR"):
        Engine("mpi", n=2).start()
    assert not list(long.iterdir())
