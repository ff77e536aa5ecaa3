"""Real numbers of an even count n = 2m as m complex ones, x[2j] + i x[2j+1]: what lies between the transforms of both.

With Z that of the complex numbers, X the first m + 1 of the real ones and w = exp(-2 pi i / n):

    split    X[k] = 1/2 (Z[k] + conj Z[m-k] - i w^k (Z[k] - conj Z[m-k]))       X[0], X[m] = Re Z[0] +- Im Z[0]
    merge    Z[k] = X[k] + conj X[m-k] + i conj(w^k) (X[k] - conj X[m-k])       what is imaginary in X[0] and X[m] is
                                                                                passed over
Where what is mirrored counts ``twice`` in X, or once on the way back, the other factor of 1 and 1/2 stands there. The
factors of the differences are a table. Lanes run along k, the last ones over some that are done; the partners are read
backwards.
"""

from __future__ import annotations

from msnb.core import DType
from msnb.devices.cpu.kernels.fourier.butterfly import Butterfly, Complex
from msnb.devices.cpu.kernels.lines.line_kernel import HEADER, LineEmitter, lanes_of
from msnb.devices.llvm.emitter import memory_name


class _Spectra(LineEmitter):
    """Part of one thread: a unit is a line of n = m complex numbers. Slots: what is read, what is written; then the
    table."""

    def __init__(self, dtype: DType, split: bool, twice: bool) -> None:
        super().__init__()
        self.dtype, self.kind, self.split = dtype, memory_name(dtype), split
        self.factor = 1.0 if twice else 0.5
        self.x, self.out = self.pointer(0), self.pointer(1)
        self.table = self.ins(f"inttoptr i64 {self.word(HEADER + 2)} to ptr")
        self.maths_ = Butterfly(self, self.kind)

    def numbers(self, base: str, at: str, backwards: bool = False) -> Complex:
        """As many complex numbers as there are lanes, from ``at`` on; ``backwards``: down to it."""
        place, count = self.place(self.kind, base, self.i64("mul", at, 2)), self.lanes
        if count == 1:
            parts = [self.ins(f"load {self.kind}, ptr {self.place(self.kind, place, i)}") for i in (0, 1)]
            return parts[0], parts[1]
        wide = f"<{2 * count} x {self.kind}>"
        found = self.ins(f"load {wide}, ptr {place}, align {self.dtype.itemsize}")
        order = range(count - 1, -1, -1) if backwards else range(count)
        masks = (", ".join(f"i32 {2 * i + part}" for i in order) for part in (0, 1))
        real, imag = (
            self.ins(f"shufflevector {wide} {found}, {wide} poison, <{count} x i32> <{mask}>") for mask in masks
        )
        return real, imag

    def write(self, number: Complex, at: str) -> None:
        """As many complex numbers as there are lanes."""
        place, count = self.place(self.kind, self.out, self.i64("mul", at, 2)), self.lanes
        if count == 1:
            for i, part in enumerate(number):
                self.do(f"store {self.kind} {part}, ptr {self.place(self.kind, place, i)}")
            return
        wide, order = self.t(self.kind), ", ".join(f"i32 {i // 2 + i % 2 * count}" for i in range(2 * count))
        both = self.ins(f"shufflevector {wide} {number[0]}, {wide} {number[1]}, <{2 * count} x i32> <{order}>")
        self.do(f"store <{2 * count} x {self.kind}> {both}, ptr {place}, align {self.dtype.itemsize}")

    def middle(self, k: str, source: str, target: str) -> None:
        """Numbers from ``k`` on of lines that begin there."""
        op = self.maths_.op
        partner = self.i64("sub", self.i64("sub", self.n, k), self.lanes - 1)
        a = self.numbers(self.x, self.i64("add", source, k))
        b = self.numbers(self.x, self.i64("add", source, partner), True)
        total = op("add", a[0], b[0]), op("sub", a[1], b[1])
        rest = op("sub", a[0], b[0]), op("add", a[1], b[1])
        found = self.maths_.both("add", total, self.maths_.times(rest, self.numbers(self.table, k)))
        real, imag = (self.maths_.scaled(part, self.factor) for part in found)
        self.write((real, imag), self.i64("add", target, k))

    def outer(self, source: str, target: str) -> None:
        """The first number, and behind the others the last one of a split line."""
        zero = self.real(0.0, self.kind)
        a, b = self.numbers(self.x, source)
        if not self.split:
            b = self.numbers(self.x, self.i64("add", source, self.n))[0]
        total, rest = self.maths_.op("add", a, b), self.maths_.op("sub", a, b)
        self.write((total, zero if self.split else rest), target)
        if self.split:
            self.write((rest, zero), self.i64("add", target, self.n))


def between(dtype: DType, split: bool, twice: bool) -> LineEmitter:
    """The code that splits or merges lines."""
    e = _Spectra(dtype, split, twice)

    def line(unit: str) -> None:
        short, long = e.i64("mul", unit, e.n), e.i64("mul", unit, e.i64("add", e.n, 1))
        source, target = (short, long) if split else (long, short)
        e.outer(source, target)
        wide = lanes_of(dtype)
        last = e.i64("sub", e.n, wide)

        def vectors() -> None:
            e.lanes = wide
            e.each("1", e.n, lambda k: e.middle(e.smaller(k, last), source, target), wide)
            e.lanes = 1

        few = lambda: e.each("1", e.n, lambda k: e.middle(k, source, target))
        e.when(e.ins(f"icmp sgt i64 {last}, 0"), vectors, few)

    e.units(line)
    return e
