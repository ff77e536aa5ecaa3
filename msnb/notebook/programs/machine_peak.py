"""How fast this machine can be: two numbers, measured in a fraction of a second with NumPy.

    bandwidth    copy an array that no cache holds: bytes read plus bytes written, per second
    peak         a square matrix product of float32: 2 n^3 flops, per second

Both are the best of several runs, with as many threads as NumPy uses now. They are what a program can hope for, not
what a data sheet promises. ``MODEL`` is a fixed machine for predictions that must be the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from msnb.base import device_registry

COPY_BYTES, SIDE, RUNS = 64 << 20, 768, 5


@dataclass(frozen=True)
class Machine:
    """A roofline's two lines.

    Attributes:
        name: what it is.
        bandwidth: bytes per second to and from memory.
        peak: float32 flops per second.
        measured: whether somebody measured it.
    """

    name: str
    bandwidth: float
    peak: float
    measured: bool = False

    @property
    def ridge(self) -> float:
        """Flops per byte from which on arithmetic, not memory, is the limit."""
        return self.peak / self.bandwidth

    def roof(self, intensity: float) -> float:
        """The most flops per second at this many flops per byte."""
        return min(self.peak, intensity * self.bandwidth)

    def seconds(self, flops: float, nbytes: float) -> float:
        """The least time for this much arithmetic and memory traffic, if one hides the other."""
        return max(flops / self.peak, nbytes / self.bandwidth)


MODEL = Machine("model machine", 20e9, 100e9)
"""Twenty gigabytes and a hundred gigaflops per second: about two cores of a laptop."""


def _best(run: Any) -> float:
    run()
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def model_machine() -> Machine:
    """The machine of predictions: the chip of the device, where its data sheet is known, else the model machine."""
    chip = device_registry.current().machine
    return MODEL if chip is None else Machine(chip.name, chip.bandwidth, chip.peak("float32"))


@lru_cache(maxsize=1)
def this_machine() -> Machine:
    """Measure once per session.

    Returns:
        The machine at hand; its numbers differ a little from run to run.
    """
    source = np.ones(COPY_BYTES // 4, np.float32)
    target = np.empty_like(source)
    copying = _best(lambda: np.copyto(target, source))
    a = np.ones((SIDE, SIDE), np.float32)
    out = np.empty_like(a)
    product = _best(lambda: np.matmul(a, a, out=out))
    return Machine("this machine", 2 * COPY_BYTES / copying, 2.0 * SIDE**3 / product, measured=True)
