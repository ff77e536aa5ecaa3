"""Measuring one step function, inside a contestant's process.

first call      what a user waits for: capture, compilation and one step
values          of the first three steps, as numbers that must agree between contestants
steps           timed one by one after a warm-up, with the garbage collector at rest: median, best, 90th percentile
others          cores that other processes used meanwhile: a figure taken on a busy machine says so
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Step = Callable[[int], Any]
CHECKED = 3
WARM_UP = 0.5  # seconds at most, after the three steps


def measure(step: Step, seconds: float, ops: int = 1) -> dict[str, Any]:
    """Everything that the report wants to know of a step. Times are in seconds per operation."""
    start = time.perf_counter()
    out = step(0)
    first = time.perf_counter() - start
    values = [numbers(out)]
    del out
    took = 0.0
    for i in range(1, CHECKED):
        start = time.perf_counter()
        out = step(i)
        took = time.perf_counter() - start
        values.append(numbers(out))
        del out
    for i in range(min(10, int(WARM_UP / max(took, 1e-4)))):
        step(CHECKED + i)
    return {"first": first, "values": values, **timed(step, seconds, ops)}


def first_call(step: Step) -> dict[str, Any]:
    start = time.perf_counter()
    out = step(0)
    return {"first": time.perf_counter() - start, "values": [numbers(out)]}


def timed(step: Step, seconds: float, ops: int) -> dict[str, Any]:
    """Steps on a running clock for that long, at least 5."""
    taken: list[float] = []
    gc.collect()
    gc.freeze()
    before, begun = busy(), time.perf_counter()
    while len(taken) < 5 or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        step(len(taken))
        taken.append((time.perf_counter() - start) / ops)
    wall, after = time.perf_counter() - begun, busy()
    gc.unfreeze()
    others = (after[0] - before[0] - (after[1] - before[1])) / wall
    taken.sort()
    return {
        "step": statistics.median(taken),
        "best": taken[0],
        "p90": taken[int(0.9 * (len(taken) - 1))],
        "count": len(taken),
        "others": max(0.0, others),
    }


def numbers(out: Any) -> list[list[float]]:
    """What a step returned, in few floats per array: its root mean square, its mean and some of its elements."""
    if isinstance(out, (tuple, list)):
        return [group for one in out for group in numbers(one)]
    array = np.asarray(out.detach() if hasattr(out, "detach") else out.asnumpy() if hasattr(out, "asnumpy") else out)
    flat = array.ravel()
    wide = flat.astype(np.float64)
    picked = wide[[0, flat.size // 3, flat.size // 2, flat.size - 1]] if flat.size > 1 else wide
    return [[float(np.sqrt((wide * wide).mean())), float(wide.mean()), *map(float, picked)]]


def busy() -> tuple[float, float]:
    """CPU seconds used so far by everybody on the machine and by this process; zeros where nobody counts."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        mine = os.times()
    except (OSError, ValueError):
        return 0.0, 0.0
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), mine.user + mine.system


def peak_bytes() -> int:
    """The most memory this process has held. (ru_maxrss would count what its parent held before it began.)"""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return _rusage_peak()


def _rusage_peak() -> int:
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
