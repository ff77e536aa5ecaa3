"""Tests under another Python, where the machine has it, in an environment of its own.

    python tools/other_python.py 3.12 -n 2 tests/programs

Capture reads bytecode and its positions, errors repeat Python's own words, and both change with every Python: what is
right on one is to be tried on all. The environment is build/python3.12, made like the main one, without the notebook.
Where there is no such Python, or its packages cannot be had, the status is ``UNTRIED`` and one line says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import make_venv

ROOT = Path(__file__).resolve().parent.parent
UNTRIED = 75


def candidates(version: str) -> Iterator[str]:
    """Where a Python of this version may be: on the PATH, or among those that pyenv keeps."""
    found = shutil.which(f"python{version}")
    if found is not None:
        yield found
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from map(str, sorted(kept.glob(f"{version}.*/bin/python")))


def works(python: str, version: str) -> bool:
    """Whether it starts, is what its name says, and can make environments."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return told.returncode == 0 and told.stdout.strip() == version


def environment(version: str) -> Path | str:
    """The interpreter of an environment with msnb and pytest, or why there is none."""
    python = next((c for c in candidates(version) if works(c, version)), None)
    if python is None:
        return f"there is no Python {version} here that can make environments"
    venv = ROOT / "build" / f"python{version}"
    command = [python, make_venv.__file__, str(venv), "test"]
    if not is_current(venv) and subprocess.run(command, cwd=ROOT, check=False).returncode:
        return f"the packages for Python {version} cannot be installed"
    return Path(make_venv.python_of(str(venv)))


def is_current(venv: Path) -> bool:
    """Whether it was finished after pyproject.toml changed last."""
    stamp = venv / ".installed.test"
    return stamp.exists() and stamp.stat().st_mtime > (ROOT / "pyproject.toml").stat().st_mtime


def main(version: str, *pytest: str) -> int:
    found = environment(version)
    if isinstance(found, str):
        print(found, flush=True)
        return UNTRIED
    return subprocess.run([found, "-m", "pytest", *pytest], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
