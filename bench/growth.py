"""How costs grow: import, one small operation, building and naming Cells, first calls of long programs.

    python bench/growth.py            a row per figure: a size, four times the size, the growth, the bar

Compiling runs on one core, so seconds of the processor are counted, whatever else the machine does. Nothing lies on
disk at the beginning. Growth is 4 where the cost is linear; that it is, a test counts
(``tests/graph/test_compile_growth.py``, ``tests/nn/test_cell_names.py``).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msnb as ms
from msnb import nn, ops

ROOT = Path(__file__).resolve().parent.parent
BARS = {"first call of a chain": 8.0}


class Scale(nn.Cell):
    """One weight."""

    def __init__(self, inner: Any = None) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0]), name="w")
        if inner is not None:
            self.inner = inner

    def construct(self, x: Any) -> Any:
        return x * self.w


def nested(n: int) -> Any:
    """Each Cell in the next one, and all names read."""
    cell = Scale()
    for _ in range(n - 1):
        cell = Scale(cell)
    return [p.name for p in cell.get_parameters()]


def side_by_side(n: int) -> Any:
    """A sequence of sequences, compiled and run."""
    net = nn.SequentialCell([nn.SequentialCell(Scale()) for _ in range(n // 2)])
    return ms.jit(net)(ops.ones(3)).asnumpy()


def chain(n: int) -> Any:
    """Nodes one behind the other, compiled and run."""

    def program(x: Any) -> Any:
        y = x
        for i in range(n):
            x = x * y + float(i) if i % 2 else x - y
        return x

    return ms.jit(program)(ops.ones(3)).asnumpy()


def small(n: int) -> Any:
    """Additions of vectors of 8 in eager mode."""
    a = b = ops.ones(8)
    for _ in range(n):
        a = a + b
    return a.asnumpy()


def imported(n: int) -> Any:
    """A process that imports the package and ends, n times."""
    for _ in range(n):
        subprocess.run([sys.executable, "-c", "import msnb"], cwd=ROOT, check=True)


ROWS: list[tuple[str, Callable[[int], Any], int]] = [
    ("import", imported, 1),
    ("small operations", small, 10_000),
    ("nested Cells, named", nested, 750),
    ("first call of Cells in a sequence", side_by_side, 750),
    ("first call of a chain", chain, 5_000),
]


def seconds(work: Callable[[int], Any], n: int) -> float:
    """Of the processor, of this process and those that it started."""
    before, start = os.times(), time.process_time()
    work(n)
    after = os.times()
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return time.process_time() - start + children


def main() -> int:
    os.environ["MSNB_CACHE_DIR"] = tempfile.mkdtemp(prefix="msnb-growth-")
    chain(10)  # what is loaded with the first compilation
    print(f"{'':36}{'size':>8}{'s':>9}{'size':>9}{'s':>9}{'growth':>8}{'bar':>7}")
    for name, work, size in ROWS:
        few, many = seconds(work, size), seconds(work, 4 * size)
        bar = f"{BARS[name]:7.1f}" if name in BARS else ""
        print(f"{name:36}{size:8}{few:9.3f}{4 * size:9}{many:9.3f}{many / few:8.1f}{bar}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
