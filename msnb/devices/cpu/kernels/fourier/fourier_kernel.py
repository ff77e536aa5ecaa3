"""A transform of many lines at once: each lane has a line of its own, so every pass is plain arithmetic on vectors.

    a unit of work is a block of neighbouring lines, in a buffer [n, 2, lanes] of real and imaginary parts:

    lines   ->  buffer a  ->  buffer b  ->  buffer a ...  ->  lines      one pass per radix (Stockham: no reordering)

    along rows     a line lies close; squares of lanes x lanes are turned in registers on the way in and out
    down columns   lines lie side by side

A pass of radix r over s interleaved transforms of r m numbers, w = exp(-2 pi i / (r m)):

    b[q + s (r p + k)] = w^(pk) DFT_r(a[q + s (p + m j)], j)[k]       then m numbers are left, and s is r times as large

The inverse is the transform of exchanged real and imaginary parts, exchanged again. Lanes without a line repeat the
last one along rows, and are masked down columns.

Source: P. N. Swarztrauber, FFT algorithms for vector computers, Parallel Computing 1 (1984)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from msnb.core import DType
from msnb.devices.cpu.kernels.fourier.butterfly import Butterfly, Complex
from msnb.devices.cpu.kernels.lines.line_kernel import HEADER, LineEmitter, lanes_of
from msnb.devices.llvm.emitter import memory_name

WORDS = 11
"""Words behind the slots: see ``_Lines``."""


class _Lines(LineEmitter):
    """Part of one thread. Header: units, threads, n, lines of an outer slice, blocks of them. Slots: x, out, memory.
    Words behind them: elements of x to the next outer slice and to the next line (or element, down columns), the same
    of out, whether it is the inverse, the scale as a double, bytes of a thread's memory, the number of passes, the
    table of the passes and that of the matrix, then the radices."""

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype, self.kind, self.wide = dtype, memory_name(dtype), lanes_of(dtype)
        self.x, self.out, memory = (self.pointer(i) for i in range(3))
        words = [self.word(HEADER + 3 + i) for i in range(WORDS - 1)]
        self.apart, self.towards = (words[0], words[1]), (words[2], words[3])
        self.inverse = self.ins(f"trunc i64 {words[4]} to i1")
        scale = self.ins(f"bitcast i64 {words[5]} to double")
        self.scale = scale if self.kind == "double" else self.ins(f"fptrunc double {scale} to float")
        self.passes, *tables = words[7:]
        self.roots, self.matrix = (self.ins(f"inttoptr i64 {w} to ptr") for w in tables)
        self.a = self.place("i8", memory, self.i64("mul", self.thread(), words[6]))
        self.b = self.place(self.kind, self.a, self.i64("mul", self.i64("add", self.n, self.wide), 2 * self.wide))
        self.lanes = self.wide

    @property
    def maths_(self) -> Butterfly:
        """Arithmetic of complex numbers."""
        return Butterfly(self, self.kind)

    # ---- registers ----

    def shuffle(self, a: str, b: str, lanes: Sequence[int], width: int) -> str:
        """Lanes of two vectors of ``width`` elements."""
        kind, places = f"<{width} x {self.kind}>", ", ".join(f"i32 {i}" for i in lanes)
        return self.ins(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{places}>")

    def turned(self, rows: Sequence[str]) -> list[str]:
        """Squares of complex numbers, as many rows as a vector has of them, turned."""
        found, d = list(rows), 1
        while d < len(rows):
            for i in (i for i in range(len(rows)) if not i & d):
                a, b = found[i], found[i | d]
                for here, bit in ((i, 0), (i | d, d)):
                    at = [(p ^ d if (p & d) ^ bit else p, p & d) for p in range(len(rows))]
                    lanes = [2 * p + part + (self.wide if second else 0) for p, second in at for part in (0, 1)]
                    found[here] = self.shuffle(a, b, lanes, self.wide)
            d *= 2
        return found

    def number(self, buffer: str, i: str, exchanged: bool = False) -> list[str]:
        """The places of the parts of element ``i``; ``exchanged`` where it is the inverse."""
        real = self.place(self.kind, buffer, self.i64("mul", i, 2 * self.wide))
        imag = self.place(self.kind, real, self.wide)
        if not exchanged:
            return [real, imag]
        return [self.ins(f"select i1 {self.inverse}, ptr {p}, ptr {q}") for p, q in ((imag, real), (real, imag))]

    def read_number(self, buffer: str, i: str, exchanged: bool = False) -> Complex:
        """Element ``i`` of a buffer."""
        real, imag = (self.load(self.dtype, p, align=self.align) for p in self.number(buffer, i, exchanged))
        return real, imag

    def keep(self, number: Complex, buffer: str, i: str, exchanged: bool = False) -> None:
        """Write element ``i`` of a buffer."""
        for part, place in zip(number, self.number(buffer, i, exchanged)):
            self.store(self.dtype, part, place, align=self.align)

    @property
    def align(self) -> int:
        """Bytes of a vector."""
        return self.wide * self.dtype.itemsize

    def scaled(self, buffer: str, i: str) -> Complex:
        """Element ``i`` of the result."""
        real, imag = self.read_number(buffer, i, True)
        factor = self.splat(self.kind, self.scale)
        return self.maths_.op("mul", real, factor), self.maths_.op("mul", imag, factor)

    # ---- from and to memory ----

    def complex_at(self, base: str, index: str) -> str:
        """The place of a complex number."""
        return self.place(self.kind, base, self.i64("mul", index, 2))

    def rows(self, base: str, steps: tuple[str, str], outer: str, first: str) -> list[str]:
        """Where the lines of a block begin."""
        start, last = self.i64("mul", outer, steps[0]), self.i64("sub", self.inner, 1)
        lines = (self.smaller(self.i64("add", first, i), last) for i in range(self.wide))
        return [self.complex_at(base, self.i64("add", start, self.i64("mul", line, steps[1]))) for line in lines]

    def squares(self, body: Callable[[str, str], None]) -> None:
        """``body(first element, mask)`` for as many elements along n as a vector has complex numbers."""
        half = self.wide // 2

        def square(j: str) -> None:
            left, full = self.i64("mul", self.i64("sub", self.n, j), 2), self.t("i64")
            places = self.steps("0", 1)
            body(j, self.ins(f"icmp slt {full} {places}, {self.splat('i64', left)}"))

        self.each("0", self.n, square, half)

    def from_rows(self, outer: str, first: str) -> None:
        """A block of lines that lie close, into buffer a."""
        starts, half = self.rows(self.x, self.apart, outer, first), self.wide // 2

        def square(j: str, mask: str) -> None:
            found = [self.load(self.dtype, self.complex_at(start, j), mask) for start in starts]
            parts = [self.turned(found[at : at + half]) for at in (0, half)]
            for k, (low, high) in enumerate(zip(*parts)):
                real, imag = (self.shuffle(low, high, range(i, 2 * self.wide, 2), self.wide) for i in (0, 1))
                self.keep((real, imag), self.a, self.i64("add", j, k), True)

        self.squares(square)

    def to_rows(self, buffer: str, outer: str, first: str) -> None:
        """A block of lines, back to where they lie close."""
        starts, half = self.rows(self.out, self.towards, outer, first), self.wide // 2

        def square(j: str, mask: str) -> None:
            found = [self.scaled(buffer, self.i64("add", j, k)) for k in range(half)]
            for at in (0, half):
                pairs = [at + i // 2 + i % 2 * self.wide for i in range(self.wide)]
                lines = self.turned([self.shuffle(real, imag, pairs, self.wide) for real, imag in found])
                for start, line in zip(starts[at : at + half], lines):
                    self.store(self.dtype, line, self.complex_at(start, j), mask)

        self.squares(square)

    def columns_of(self, outer: str, first: str, steps: tuple[str, str], body: Callable[[str, str, str], None]) -> None:
        """``body(i, where element i of the block's lines lies, mask)`` for every i; lanes are parts there."""
        self.lanes = 2 * self.wide
        mask = self.below(self.i64("mul", first, 2), self.i64("mul", self.inner, 2))
        start = self.i64("add", self.i64("mul", outer, steps[0]), first)

        def row(i: str) -> None:
            body(i, self.i64("add", start, self.i64("mul", i, steps[1])), mask)

        self.each("0", self.n, row)
        self.lanes = self.wide

    def apart_at(self, base: str, index: str, mask: str) -> Complex:
        """Neighbouring complex numbers as two vectors of parts."""
        self.lanes = 2 * self.wide
        found = self.load(self.dtype, self.complex_at(base, index), mask)
        self.lanes = self.wide
        real, imag = (self.shuffle(found, "poison", range(i, 2 * self.wide, 2), 2 * self.wide) for i in (0, 1))
        return real, imag

    def from_columns(self, outer: str, first: str) -> None:
        """A block of lines that lie side by side, into buffer a."""

        def row(i: str, at: str, mask: str) -> None:
            self.keep(self.apart_at(self.x, at, mask), self.a, i, True)

        self.columns_of(outer, first, self.apart, row)

    def to_columns(self, buffer: str, outer: str, first: str, turned: bool) -> None:
        """A block of lines, back to where they lie side by side; ``turned``: times the table of the matrix."""

        def row(i: str, at: str, mask: str) -> None:
            self.lanes = self.wide
            found = self.scaled(buffer, i)
            if turned:
                w = self.apart_at(self.matrix, self.i64("add", self.i64("mul", i, self.inner), first), mask)
                opposite = self.ins(f"fneg {self.t(self.kind)} {w[1]}")
                imag = self.ins(f"select i1 {self.inverse}, {self.t(self.kind)} {opposite}, {self.t(self.kind)} {w[1]}")
                found = self.maths_.times(found, (w[0], imag))
            pairs = [i // 2 + i % 2 * self.wide for i in range(2 * self.wide)]
            both = self.shuffle(*found, pairs, self.wide)
            self.lanes = 2 * self.wide
            self.store(self.dtype, both, self.complex_at(self.out, at), mask)

        self.columns_of(outer, first, self.towards, row)

    # ---- passes ----

    def run(self, kinds: Sequence[int]) -> str:
        """All passes; returns the buffer of the result."""
        table = [("i64", "1"), ("i64", self.n), ("ptr", self.roots), ("ptr", self.a), ("ptr", self.b)]

        def one(i: str, now: list[str]) -> list[str]:
            s, left, roots, a, b = now
            radix = self.field("i64", "%words", self.i64("add", i, HEADER + 3 + WORDS - 1))
            m = self.i64("udiv", left, radix)
            for r in kinds:
                one_of = functools.partial(self._radix, r, s, m, roots, a, b)
                self.when(self.ins(f"icmp eq i64 {radix}, {r}"), one_of)
            used = self.product(m, self.i64("sub", radix, 1), "2")
            return [self.i64("mul", s, radix), m, self.place(self.kind, roots, used), b, a]

        return self.loop(("0", self.passes, 1), table, one)[3]

    def _radix(self, r: int, s: str, m: str, roots: str, a: str, b: str) -> None:
        """A pass; the last one, where one number is left to each, turns nothing."""
        self.when(
            self.ins(f"icmp eq i64 {m}, 1"),
            lambda: self._pass(r, s, m, "", a, b),
            lambda: self._pass(r, s, m, roots, a, b),
        )

    def _pass(self, r: int, s: str, m: str, roots: str, a: str, b: str) -> None:
        far = self.i64("mul", s, m)

        def turn(p: str) -> None:
            row = self.place(self.kind, roots, self.i64("mul", p, 2 * (r - 1))) if roots else ""
            w = [self._root(row, k) for k in range(r - 1)] if roots else []
            start, target = self.i64("mul", s, p), self.product(s, p, str(r))

            def one(q: str) -> None:
                here, there = self.i64("add", q, start), self.i64("add", q, target)
                xs = [self.read_number(a, self.i64("add", here, self.i64("mul", far, j))) for j in range(r)]
                for k, x in enumerate(self.maths_.transform(xs)):
                    number = self.maths_.times(x, w[k - 1]) if w and k else x
                    self.keep(number, b, self.i64("add", there, self.i64("mul", s, k)))

            self.each("0", s, one)

        self.each("0", m, turn)

    def _root(self, row: str, k: int) -> Complex:
        real, imag = (self.ins(f"load {self.kind}, ptr {self.place(self.kind, row, 2 * k + i)}") for i in (0, 1))
        return self.splat(self.kind, real), self.splat(self.kind, imag)


def transform(dtype: DType, reads: str, writes: str, kinds: tuple[int, ...]) -> LineEmitter:
    """The code of a transform.

    Args:
        dtype: of the parts.
        reads, writes: "rows" or "columns"; "matrix": columns, times the table of the matrix.
        kinds: the radices it knows.
    """
    e = _Lines(dtype)

    def block(unit: str) -> None:
        outer, first = e.i64("udiv", unit, e.blocks), e.i64("mul", e.i64("urem", unit, e.blocks), e.wide)
        (e.from_rows if reads == "rows" else e.from_columns)(outer, first)
        found = e.run(kinds)
        if writes == "rows":
            e.to_rows(found, outer, first)
        else:
            e.to_columns(found, outer, first, writes == "matrix")

    e.units(block)
    return e
