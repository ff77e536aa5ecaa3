"""A sample of the kills, and that a trial which loses something is found."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

import msnb as ms
from msnb.parallel.engine.client.process_launcher import missing
from tests.kills import checkpoints, interrupts, workers
from tests.kills.__main__ import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of Unix")
SAMPLE = {"checkpoints": 2, "workers": 2, "interrupts": 12, "ranks": 2}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["checkpoints", "workers", "interrupts"])
def test_a_kill_loses_nothing(kind: str) -> None:
    seed = int.from_bytes(os.urandom(3), "little")
    assert not run(kind, SAMPLE[kind], seed)[1], f"python -m tests.kills --kind {kind} --seed {seed}"


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")
def test_a_killed_rank_loses_nothing() -> None:
    seed = int.from_bytes(os.urandom(3), "little")
    assert not run("ranks", SAMPLE["ranks"], seed)[1], f"python -m tests.kills --kind ranks --seed {seed}"


def test_a_checkpoint_that_is_a_mixture_is_found(tmp_path: Path) -> None:
    path, w = tmp_path / "w.ckpt", np.full(checkpoints.SIZE, 3.0)
    ms.save_checkpoint({"w": ms.Tensor(w), "n": ms.Tensor(3)}, str(path))
    assert checkpoints.what_is_wrong(path, 5) == "number 3 is there, 5 had been saved"
    w[7] = 2
    ms.save_checkpoint({"w": ms.Tensor(w), "n": ms.Tensor(3)}, str(path))
    assert checkpoints.what_is_wrong(path, 3).startswith("a mixture")


def test_a_step_that_leaves_half_its_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = interrupts.Training(ms.PYNATIVE_MODE, "O0")
    step = made.step

    def half() -> None:
        step()
        first = next(made.cell.get_parameters())
        first.set_data(before)

    before = next(made.cell.get_parameters()).value()
    monkeypatch.setattr(made, "step", half)
    monkeypatch.setattr(interrupts, "interrupted", lambda run, after: bool(run()) or True)
    assert "half-way" in made.trial(random.Random(1))[1]


def test_rows_that_are_lost_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "rows", lambda found: found.extend([0.0, 4.0]))
    assert workers.trial(random.Random(1), 0.01, set())[1].startswith("rows [0.0, 4.0]")
