"""`import msnb` is light: NumPy, ml_dtypes, safetensors and the standard library, nothing that a notebook, a device or
a cluster needs. Checked in a fresh interpreter, from the list of loaded modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = set(
    "IPython ipywidgets ipykernel notebook nbformat nbclient traitlets zmq tornado "
    "cupy cupyx mpi4py ipyparallel llvmlite sklearn scipy matplotlib pandas "
    "torch tensorflow jax mindspore hypothesis pytest".split()
)

PROGRAM = """
import json, sys
sys.path.insert(0, {root!r})
{statement}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def loaded_by(statement: str) -> set[str]:
    """Top-level modules present after one statement in an interpreter of its own."""
    program = PROGRAM.format(root=str(ROOT), statement=statement)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.long
def test_import_msnb_loads_nothing_heavy() -> None:
    loaded = loaded_by("import msnb")
    assert "msnb" in loaded
    assert "numpy" in loaded
    assert loaded & HEAVY == set()
    assert not {name for name in loaded if name.startswith("jupyter")}


@pytest.mark.long
def test_import_msnb_prints_and_warns_nothing() -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import msnb"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.long
@pytest.mark.parametrize("heavy", ["sklearn", "IPython"])
def test_the_check_sees_a_heavy_import(heavy: str) -> None:
    """The list of modules is not blind: a package that is there and is imported shows up."""
    assert heavy in loaded_by(f"import {heavy}") & HEAVY
