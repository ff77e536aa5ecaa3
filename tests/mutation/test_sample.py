"""A sample of the net: a few hundred changed files per format, and every bomb in a process of bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.formats import FORMATS
from tests.mutation.trial import changed, tried

ROOT = Path(__file__).resolve().parents[2]
MANY = {"compiled": 10, "programs": 50, "mindir": 50, "documents": 50, "strategies": 30}  # some ms for each there


@pytest.mark.parametrize("name", FORMATS)
def test_changed_files_are_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    form, seed = FORMATS[name], int.from_bytes(os.urandom(4), "little")
    seeds = form.seeds()
    for files in seeds:
        assert tried(form, files, tmp_path) == "read"
    for number in range(MANY.get(name, 100)):
        found = tried(form, changed(form, seeds, seed, number), tmp_path)
        assert found in ("read", "refused"), f"{found}: {name}, seed {seed}, number {number}"


def test_same_seed_same_files() -> None:
    form = FORMATS["strategies"]
    seeds = form.seeds()
    assert [changed(form, seeds, 5, n) for n in range(20)] == [changed(form, seeds, 5, n) for n in range(20)]
    assert changed(form, seeds, 5, 0) != changed(form, seeds, 6, 0)


def test_a_foreign_error_is_a_finding(tmp_path: Path) -> None:
    form = FORMATS["checkpoint"]
    broken = type(form)("broken", form.seeds, lambda at: {}["no such key"], form.change, form.errors)
    assert tried(broken, form.seeds()[0], tmp_path).startswith("foreign KeyError")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.bombs()])
def test_bombs_take_neither_memory_nor_time(name: str) -> None:
    command = [sys.executable, "-m", "tests.mutation", "--child", name, "0", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert '"found"' not in done.stdout, done.stdout
