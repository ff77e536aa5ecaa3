"""Iterators that are left where they are: at the end of the program, and in a child of fork."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_LEFT = """
import builtins
import numpy as np
import msnb as ms
rows = ms.dataset.GeneratorDataset([(np.float32(i),) for i in range(1000)], ["x"], shuffle=False)
mapped = rows.map(lambda v: v + 1, ["x"], num_parallel_workers=3).batch(2, num_parallel_workers=2)
kept = [iter(mapped.create_tuple_iterator()), iter(mapped.create_dict_iterator()), iter(rows.create_tuple_iterator())]
for iterator in kept:
    next(iterator)
builtins.kept = kept  # lives as long as the interpreter: modules are half gone when its generators are closed
print("left")
"""


@pytest.mark.long
def test_leaving_the_program_with_open_iterators_is_silent() -> None:
    run = subprocess.run([sys.executable, "-c", _LEFT], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr, run.returncode) == ("left\n", "", 0)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_is_told_that_the_iterator_is_its_parents() -> None:
    programs = Path(__file__).parents[1] / "devices" / "cpu" / "fork_programs.py"
    call = [sys.executable, str(programs), "with_an_iterator", "PYNATIVE_MODE", "2"]
    run = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
