"""The columns of a place: what every entry of an index has, in steps of as many elements as a thread moves at once.

y [a, entries, b]       entry q: the columns (a, b)        whole[... row ...]: the same columns elsewhere
"""

from __future__ import annotations

import math

from msnb.devices.codegen.index_walk import PlaceWalk
from msnb.devices.gpu.kernels.kernel_builder import ThreadCode


class PlaceColumns:
    """Columns of a walk.

    Args:
        walk: how the place lies in what is indexed.
        widest: bytes of the widest access that all operands allow; itemsize: of an element.

    Attributes:
        lanes: elements of a step; units: steps of an entry.
    """

    lanes: int

    def __init__(self, walk: PlaceWalk, widest: int, itemsize: int) -> None:
        self.walk = walk
        last = walk.behind[-1] if walk.behind else (1, 1)
        self.row: int = last[0] if last[1] == 1 else 1
        self.behind = walk.behind[:-1] if last[1] == 1 else walk.behind
        strides = [s for _, s in (*walk.before, *self.behind)] + [t.step for t in walk.tensors if t.size > 1]
        self.lanes = max(1, widest // itemsize)
        while any(n % self.lanes for n in (self.row, walk.base, *strides)):
            self.lanes //= 2
        self.sizes: tuple[int, ...] = (*(n for n, _ in (*walk.before, *self.behind)), self.row // self.lanes)
        self.units: int = math.prod(self.sizes)
        self.inner: int = math.prod(n for n, _ in self.behind) * self.row

    def entry(self, e: ThreadCode, q: str, columns: str) -> str:
        """The element of the dense place [before, entries, behind] at which a step begins."""
        per_entry = self.inner // self.lanes
        outer = e.count("udiv", columns, per_entry)
        rest = e.count("mul", e.count("urem", columns, per_entry), self.lanes)
        row = e.count("add", e.count("mul", outer, self.walk.entries), q) if self.walk.before else q
        return e.count("add", e.count("mul", row, self.inner), rest)

    def whole(self, e: ThreadCode, entries: list[str], columns: str) -> str:
        """The element of what is indexed."""
        at = e.split(columns, self.sizes)
        strides = [*(s for _, s in (*self.walk.before, *self.behind)), self.lanes]
        place = e.dot(at, strides, self.walk.base)
        return e.dot(entries, [t.step if t.size > 1 else 0 for t in self.walk.tensors], place)
