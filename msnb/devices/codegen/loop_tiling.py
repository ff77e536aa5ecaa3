"""Loops over transposed data: in which order they run, and tiles that stay in the first cache.

    out[j, i] = x[i, j] + y[j, i]      the row goes along i, where out and y lie close: a vector of each at a time; only
                                       x is picked together

    out[i, j] = x[j, i]      a row of out walks down a column of x: every element comes from another cache line, and by
                             the time the next row wants the rest of those lines they are gone
    i -> (I, i), j -> (J, j)     for I, J: for i < 16: for j < 128:     128 lines are fetched once and read 16 times

Only the dims change: another one comes last; a dim of size 2048 becomes two of 16 and 128, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import trace_of
from msnb.ir.kernel.kernel_ir import Access, Kernel

LINES, ROWS = 256, 16
SHORT = 3
"""Rows of fewer elements are not worth turning to. Four transposed operands of [n, 200 000 / n] and one result, on one
core: for n = 2, 3, 4, 8, 16, 64 turning made it 0.84, 1.2, 1.4, 2.3, 4.0 and 3.3 times as fast with 16 lanes and masks,
and 1.9, 1.8, 1.7, 2.6, 3.9 and 3.2 times with 8 lanes and none."""


def turn(kernel: Kernel) -> None:
    """Make the dim the last one along which most data lie close; what is stored counts twice."""
    if kernel.row or any(i.op == "reduce" for i in kernel.insts()):
        return
    places = [(i.attr, 1) for i in kernel.insts() if i.op == "load"] + [(a, 2) for a, _ in kernel.stores]

    def close(d: int) -> int:
        return sum(weight for access, weight in places if abs(access.strides[d]) == 1)

    last = len(kernel.sizes) - 1
    best = max(range(len(kernel.sizes)), key=lambda d: (close(d), d))
    if best < last and kernel.sizes[best] >= SHORT:
        order = (*range(best), *range(best + 1, last + 1), best)
        _renumber(kernel, [(d, 1) for d in order], [kernel.sizes[d] for d in order])


def tile(kernel: Kernel) -> None:
    """Cut the row and the dim along which the far data lie close, where that is of use and the sizes divide."""
    row = max(kernel.row, default=0)
    insts = kernel.insts()
    if len(kernel.row) != 1 or row != len(kernel.sizes) - 1 or any(i.op == "reduce" for i in insts):
        return
    accesses = [i.attr for i in insts if i.op == "load"] + [a for a, _ in kernel.stores]
    far = [a for a in accesses if abs(a.strides[row]) > 1]
    close = [d for d in range(row) if any(abs(a.strides[d]) == 1 for a in far)]
    if len(close) != 1 or trace_of((kernel.sizes[row], kernel.sizes[close[0]])) or kernel.sizes[row] <= LINES:
        return
    along = _divisor(kernel.sizes[row], LINES, 32)
    across = _divisor(kernel.sizes[close[0]], ROWS, 4)
    if along and across:
        _split(kernel, close[0], row, across, along)


def _divisor(size: int, most: int, least: int) -> int:
    return next((n for n in range(min(most, size), least - 1, -1) if size % n == 0), 0)


def _split(kernel: Kernel, close: int, row: int, across: int, along: int) -> None:
    """Dims in the new order: the others, tiles across, tiles along, rows of a tile, the row."""
    others = [d for d in range(row) if d != close]
    steps = [*((d, 1) for d in others), (close, across), (row, along), (close, 1), (row, 1)]
    sizes = kernel.sizes
    new = (*(sizes[d] for d in others), sizes[close] // across, sizes[row] // along, across, along)
    _renumber(kernel, steps, new)
    kernel.row = frozenset((len(new) - 1,))


def _renumber(kernel: Kernel, steps: Sequence[tuple[int, int]], sizes: Sequence[int]) -> None:
    """New dims: of which old dim each is a part, and how many old turns one of its turns is."""

    def moved(access: Access) -> Access:
        return Access(access.buffer, tuple(access.strides[d] * step for d, step in steps), access.offset)

    for inst in kernel.insts():
        if inst.op == "load":
            inst.attr = moved(inst.attr)
        inst.dims = frozenset(i for i, (d, _) in enumerate(steps) if d in inst.dims)
    kernel.stores = [(moved(a), v) for a, v in kernel.stores]
    kernel.sizes = tuple(sizes)
