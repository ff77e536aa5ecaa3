"""Times of steps that run on the GPU while the host goes on: many are launched, the last one is waited for.

Contestants run in one process, in rounds: each once, in an order that turns. Ratios are taken within a round, then
their median: what slows the machine for a while slows everybody.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.gpu_cases.gpu_case import GpuCase
from bench.gpu_cases.gpu_sides import SIDES, ways

WARM, LEAST, MOST = 6, 0.2, 3000


@dataclass
class Contestant:
    """One way to run a case.

    Attributes:
        name: framework and way.
        step, side: what is called, and what can wait.
        value: a number of what the first step computed.
        first: seconds of building it and of the first call.
        count: steps of a round; seconds: per step, round by round.
        reason: why it takes no part.
    """

    name: str
    step: Any = None
    side: Any = None
    value: float = float("nan")
    first: float = 0.0
    count: int = 1
    seconds: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def median(self) -> float:
        """Of all rounds."""
        return statistics.median(self.seconds) if self.seconds else float("nan")

    def round(self) -> float:
        """Seconds per step of one round."""
        self.side.wait(None)
        start, made = time.perf_counter(), None
        for i in range(self.count):
            made = self.step(i)
        self.side.wait(made)
        return (time.perf_counter() - start) / self.count


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not ready after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def number_of(made: Any) -> float:
    """The mean of the first thousand numbers of the first array in what a step computed."""
    while isinstance(made, (tuple, list)):
        made = made[0]
    if hasattr(made, "detach"):
        made = made.detach().float().cpu().numpy()
    elif hasattr(made, "asnumpy"):
        made = made.asnumpy()
    return float(np.asarray(made).astype(np.float64).reshape(-1)[:1000].mean())


def started(case: GpuCase, name: str, seconds: float) -> Contestant:
    """Build a contestant and warm it up; one that fails says why."""
    framework, way = name.split()
    found, start = Contestant(name), time.perf_counter()
    try:
        with within(seconds):
            found.side = SIDES[framework](case.case, way, case.variant(framework), case.precision)
            found.step = case.case.programs[framework](found.side)
            found.value = number_of(found.step(0))
            found.first = time.perf_counter() - start
            for i in range(1, WARM):
                made = found.step(i)
            found.side.wait(made)
            found.count = 3
            took = found.round()
            found.count = int(min(MOST, max(3, LEAST / max(took, 1e-7))))
    except ImportError as error:
        found.reason, found.step = f"{error.name or error} is not installed", None
    except Exception as error:
        found.reason, found.step = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}", None
    return found


def measured(case: GpuCase, frameworks: list[str], rounds: int, seconds: float) -> list[Contestant]:
    """All contestants of a case, timed.

    Args:
        case: what they do.
        frameworks: who may take part: "torch", "jax", or one way of them such as "torch compile"; msnb always does.
        rounds: how often each runs.
        seconds: for the whole case; who is not ready in time is left out.
    """
    deadline = time.perf_counter() + seconds
    found: list[Contestant] = []
    for name in ways(case.graphs, eager_only="msnb eager" in case.case.only):
        if name.startswith("msnb") or name in frameworks or name.split()[0] in frameworks:
            left = deadline - time.perf_counter() - rounds * LEAST * (len(found) + 2)
            late = Contestant(name, reason="no time was left")
            found.append(started(case, name, left) if left > 3 or not found else late)
    ready = [c for c in found if c.step is not None]
    for turn in range(rounds):
        for k in range(len(ready)):
            one = ready[(k + turn) % len(ready)]
            one.seconds.append(one.round())
    for one in found:
        one.step = one.side = None
    free()
    return found


def free() -> None:
    """Give memory back between cases."""
    gc.collect()
    with contextlib.suppress(ImportError):
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
    with contextlib.suppress(ImportError):
        import torch

        torch._dynamo.reset()
        torch.cuda.empty_cache()
    with contextlib.suppress(ImportError):
        import jax

        jax.clear_caches()


def ratio(theirs: Contestant, ours: Contestant) -> float:
    """Their time over ours: the median over rounds."""
    pairs = [t / o for t, o in zip(theirs.seconds, ours.seconds)]
    return statistics.median(pairs) if pairs else float("nan")


def copy_bandwidth() -> float:
    """Bytes read and written per second by a copy on the device, the best of several."""
    import cupy

    x = cupy.ones(1 << 28, "float32")
    y = cupy.empty_like(x)
    best = float("inf")
    for _ in range(10):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        y[...] = x
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return float(2 * x.nbytes / best)
