"""Training steps that are interrupted at a random moment, eager and graph, reference bodies and compiled kernels."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np

import msnb as ms
from msnb import nn
from tests.kills.moments import Trial, measured

WAYS = [(mode, level) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE) for level in ("O0", "O1")]


class Training:
    """A step with moving statistics, draws and moments, under one mode and level."""

    def __init__(self, mode: int, level: str) -> None:
        self.way = {"mode": mode, "jit_level": level}
        ms.set_seed(7)
        net = nn.SequentialCell(
            nn.Dense(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(32, 32), nn.BatchNorm1d(32),
            nn.Dense(32, 4),
        )  # fmt: skip
        loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
        self.cell = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.01)).set_train()
        self.batch = ms.ops.randn(8, 16), ms.Tensor(np.arange(8, dtype=np.int32) % 4)
        for _ in range(3):
            self.step()
        self.seconds = measured(self.step)

    def step(self) -> None:
        with ms.set_context(**self.way):
            self.cell(*self.batch)

    def state(self) -> dict[str, Any]:
        return {name: p.asnumpy().copy() for name, p in self.cell.parameters_and_names()}

    def trial(self, rng: random.Random) -> tuple[bool, str]:
        """One interrupted step, and a whole one."""
        before = self.state()
        hit = interrupted(self.step, max(1e-5, rng.uniform(0, 1.1) * self.seconds))
        after = self.state()
        moved = [name for name in before if not np.array_equal(before[name], after[name])]
        if len(moved) not in ((0, len(before)) if hit else (len(before),)):
            return hit, f"{self.way}: half-way, these moved: {moved}"
        self.step()
        still = [name for name, value in self.state().items() if np.array_equal(after[name], value)]
        return hit, f"{self.way}: the next step leaves {still}" if still else ""


def interrupted(step: Callable[[], Any], after: float) -> bool:
    """Whether an interrupt after so many seconds came before the step was through."""

    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        step()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    return False


@contextmanager
def trials() -> Iterator[Trial]:
    """The ways in turns."""
    turns = cycle([Training(mode, level) for mode, level in WAYS])
    yield lambda rng: next(turns).trial(rng)
