"""The lines of a tensor along an axis: [outer, n, inner], element k of line (o, i) at (o n + k) inner + i."""

from __future__ import annotations

import math
from typing import NamedTuple

from msnb.core import TensorType
from msnb.devices.gpu.kernels.kernel_builder import Term, ThreadCode


class Lines(NamedTuple):
    """How many lines there are, and how they lie."""

    outer: int
    n: int
    inner: int

    @property
    def lines(self) -> int:
        """How many lines."""
        return self.outer * self.inner

    def place(self, e: ThreadCode, line: Term, k: Term) -> str:
        """Element k of a line."""
        if self.inner == 1:
            return e.count("add", e.count("mul", line, self.n), k)
        o, i = e.split(line, [self.outer, self.inner])
        row = e.count("add", e.count("mul", o, self.n), k)
        return e.count("add", e.count("mul", row, self.inner), i)


def lines_of(t: TensorType, axis: int | None) -> Lines:
    """The lines along an axis; None: all elements are one line."""
    shape = t.ints()
    if axis is None or not shape:
        return Lines(1, t.size, 1)
    at = axis % len(shape)
    return Lines(math.prod(shape[:at]), shape[at], math.prod(shape[at + 1 :]))
