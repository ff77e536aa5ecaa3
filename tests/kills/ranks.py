"""Training on ranks with a snapshot every other step; a rank is killed at a random moment of a few steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import msnb as ms
from msnb import nn
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.trainer import Trainer
from tests.kills.moments import Trial, children, killed_after, measured
from tests.waiting import eventually

STEPS, RANKS, EVERY = 4, 2, 2


def step_cell() -> nn.Cell:
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(8, 16, activation="tanh", dtype=ms.float64), nn.Dense(16, 4, dtype=ms.float64))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))


def batch(i: int) -> tuple[ms.Tensor, ms.Tensor]:
    rng = np.random.default_rng(i)
    return ms.Tensor(rng.standard_normal((8, 8))), ms.Tensor(rng.integers(0, 4, 8))


class Training:
    """A Trainer and a run here, without ranks, that says what must come."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.single, self.at = trainer, step_cell(), 0

    def steps(self) -> list[float]:
        return [float(x) for x in self.trainer.run(lambda i: batch(self.at + i), steps=STEPS)]

    def trial(self, rng: random.Random, seconds: float) -> tuple[bool, str]:
        """Some steps, in the middle of which a rank is killed."""
        pids = self.trainer.engine.pids
        with killed_after(rng.uniform(0, seconds), lambda: rng.choice(sorted(pids.values()) or [None])) as killed:
            got = self.steps()
        want = [float(self.single(*batch(self.at + i))) for i in range(STEPS)]
        self.at += STEPS
        if not np.allclose(got, want, rtol=1e-9):
            return True, f"losses of steps {self.at - STEPS} to {self.at} are {got}, expected {want}"
        kept = sorted(path.name for path in Path(self.trainer.folder).iterdir())
        return bool(killed), f"the folder of snapshots holds {kept}" if len(kept) > 2 else ""


@contextmanager
def trials() -> Iterator[Trial]:
    others = children()
    with Engine("mpi", n=RANKS, timeout=60.0) as engine:
        plan = ms.parallel.plan(step_cell(), *batch(0), device_num=RANKS, parallel_mode="data_parallel")
        with Trainer(plan, engine, every=EVERY, retries=10) as trainer:
            training = Training(trainer)
            for i in range(STEPS):
                training.single(*batch(i))
            training.steps()
            training.at = STEPS
            seconds = measured(lambda: training.trial(random.Random(0), 1e9))
            yield lambda rng: training.trial(rng, seconds)
    if not eventually(lambda: not children() - others):
        raise AssertionError(f"processes are left: {children() - others}")
