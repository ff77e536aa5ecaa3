"""Running totals and running extremes along an axis.

    lanes    a b c d | e f g h        within a vector three shuffles:   a  a+b  b+c  c+d   ->   a  a+b  a+b+c  a+b+c+d
    carry          0 | a+b+c+d        what came before is added to all lanes: one addition per vector waits for another

Totals are carried on as the record says: floats in float64, ints in 64 bits. A single long line is cut into chunks for
the threads: a first call adds up each chunk, the second one begins each with the totals before it. Across neighbouring
lines the totals of a block lie in the first cache. Running extremes (cummax, cummin) hand on the value and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.lines.line_kernel import (
    COLUMNS,
    SHARED_WORK,
    LineEmitter,
    Lines,
    compared_as,
    is_static,
    lanes_of,
    library,
    lines_of,
    words,
)
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm import across, compare, identity, literal, memory_name, type_name
from msnb.ir.graph import Node

TOTALS = {"cumsum": ("add", 0), "cumprod": ("mul", 1)}
EXTREMES = {"cummax": "ge", "cummin": "le"}
NAMES = (*TOTALS, *EXTREMES)
_SHUFFLED = 8


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a running total or extreme runs; None for other nodes and for complex numbers."""
    if node.op.name not in NAMES or not is_static(node):
        return None
    t, out = node.inputs[0].type, node.outputs[0].type
    assert isinstance(t, TensorType) and isinstance(out, TensorType)
    if not (t.dtype.is_float or t.dtype.is_int or t.dtype is dtypes.bool_) or not t.ndim:
        return None
    lines = lines_of(t, node.attrs["axis"])
    if node.op.name in EXTREMES:
        return CumulativeExtremumRecipe(node.op.name, t.dtype, lines)
    return CumulativeRecipe(node.op.name, (t.dtype, out.dtype), lines, node.attrs)


def carried(dtype: DType) -> DType:
    """The dtype in which totals are carried on."""
    return dtypes.float64 if dtype.is_float else dtypes.int64


class CumulativeRecipe(NativeKernel):
    """cumsum and cumprod."""

    def __init__(self, name: str, kinds: tuple[DType, DType], lines: Lines, attrs: dict[str, Any]) -> None:
        self.name: str = name
        self.kinds: tuple[DType, DType] = kinds
        self.lines: Lines = lines
        self.exclusive: bool = bool(attrs["exclusive"])
        self.reverse: bool = bool(attrs["reverse"])
        self.chunks: int = self._chunks()
        self.temps = (8 * lines.outer * self.chunks,) if self.chunks > 1 else ()

    def _chunks(self) -> int:
        """Chunks of a line, where there are fewer lines than threads."""
        lines, threads = self.lines, thread_pool.cores()
        if lines.inner > 1 or lines.outer >= threads or lines.n < SHARED_WORK:
            return 1
        return -(-threads // lines.outer)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call; two where lines are cut."""
        symbol = f"msnb_{self.name}"
        about = (*TOTALS[self.name], *self.kinds, self.exclusive, self.reverse)
        if self.lines.inner > 1:
            made = library(symbol, _of_columns, *about)
            return [KernelCall(Symbol(made, symbol), words(self.lines.header(2), ins, outs))]
        units = self.lines.outer * self.chunks
        header = (units, clamped(self.lines.outer * self.lines.n * 2 // SHARED_WORK, 1, units), self.lines.n, 1)
        own = words((*header, self.chunks), ins, outs, temps or ins)
        whole = KernelCall(Symbol(library(symbol, _of_lines, *about), symbol), own)
        if self.chunks == 1:
            return [whole]
        sums = library(f"{symbol}_chunks", _of_chunks, *about)
        return [KernelCall(Symbol(sums, f"{symbol}_chunks"), own), whole]


class _Total(LineEmitter):
    """What the ways of a running total share.

    Args:
        op: "add" or "mul"; neutral: what it begins with.
        dtype, out: of the elements and of the results.
        exclusive: an element's result leaves it out; reverse: from the end of the line.
    """

    def __init__(self, op: str, neutral: int, dtype: DType, out: DType, exclusive: bool, reverse: bool) -> None:
        super().__init__()
        self.dtype, self.out, self.wide = dtype, out, carried(dtype)
        self.kind, self.exclusive, self.reverse = type_name(self.wide), exclusive, reverse
        self.word_ = f"f{op}" if dtype.is_float else op
        self.neutral = literal(neutral, self.wide)
        self.reduced = "sum" if op == "add" else "prod"
        self.x, self.y, self.sums = (self.pointer(i) for i in range(3))
        self.behind = self._opaque()

    def _opaque(self) -> str:
        """The neutral element in all lanes, in a register that LLVM knows nothing about: moving lanes beside a known
        zero it takes for an expansion, which is twice as slow as the rotation of two registers."""
        place, kind = self.alloca(self.kind), self.kind
        self.do(f"store volatile {kind} {self.neutral}, ptr {place}")
        one = self.ins(f"load volatile {kind}, ptr {place}")
        self.lanes = _SHUFFLED
        found = self.splat(kind, one)
        self.lanes = 1
        return found

    def plus(self, a: str, b: str) -> str:
        """One step."""
        return self.ins(f"{self.word_} {self.t(self.kind)} {a}, {b}")

    def element(self, place: str, mask: str = "") -> str:
        """Elements in the dtype in which totals are carried on; the neutral one beyond the end."""
        x = self.load(self.dtype, place, mask)
        x = x if self.dtype is self.wide else self.cast(x, self.dtype, self.wide)
        if not mask:
            return x
        t = self.t(self.kind)
        return self.ins(f"select {self.t('i1')} {mask}, {t} {x}, {t} {self.const(self.neutral, self.kind)}")

    def result(self, total: str, place: str, mask: str = "") -> None:
        """Store totals as results."""
        found = total if self.out is self.wide else self.cast(total, self.wide, self.out)
        self.store(self.out, found, place, mask)

    def at(self, base: str, dtype: DType, i: str) -> str:
        """The address of an element."""
        return self.place(memory_name(dtype), base, i)

    # ---- lines that lie close ----

    def chunk(self, unit: str) -> tuple[str, str, str]:
        """First element of the unit's line, and the ends of its chunk (whole vectors, but for the last)."""
        line, number = self.i64("udiv", unit, self.blocks), self.i64("urem", unit, self.blocks)
        size = self.i64("udiv", self.i64("add", self.n, self.i64("sub", self.blocks, 1)), self.blocks)
        size = self.i64("and", self.i64("add", size, _SHUFFLED - 1), -_SHUFFLED)
        low = self.smaller(self.i64("mul", number, size), self.n)
        high = self.smaller(self.i64("add", low, size), self.n)
        return self.i64("mul", line, self.n), low, high

    def mirrored(self, i: str) -> str:
        """Where the ``_SHUFFLED`` elements begin that come at step ``i`` from the end."""
        return self.i64("sub", self.i64("sub", self.n, i), _SHUFFLED)

    def order(self, x: str) -> str:
        """Lanes in the order of the walk, and back."""
        if not self.reverse:
            return x
        t = self.t(self.kind)
        turned = ", ".join(f"i32 {k}" for k in reversed(range(_SHUFFLED)))
        return self.ins(f"shufflevector {t} {x}, {t} poison, <{_SHUFFLED} x i32> <{turned}>")

    def before(self, x: str, by: int) -> str:
        """Lanes moved up, neutral ones behind them."""
        t = self.t(self.kind)
        moved = ", ".join(f"i32 {k - by if k >= by else 2 * _SHUFFLED - by + k}" for k in range(_SHUFFLED))
        return self.ins(f"shufflevector {t} {x}, {t} {self.behind}, <{_SHUFFLED} x i32> <{moved}>")

    def mask_of(self, i: str, end: str) -> str:
        """Lanes before ``end``, in the order of memory."""
        t, left = self.t("i64"), self.splat("i64", self.i64("sub", end, i))
        numbers = ", ".join(f"i64 {k}" for k in range(_SHUFFLED))
        if not self.reverse:
            return self.ins(f"icmp slt {t} <{numbers}>, {left}")
        turned = ", ".join(f"i64 {k}" for k in reversed(range(_SHUFFLED)))
        return self.ins(f"icmp slt {t} <{turned}>, {left}")

    def step(self, line: str, i: str, carry: str, mask: str) -> str:
        """Totals of one vector; returns the total behind it."""
        first = self.i64("add", line, self.mirrored(i) if self.reverse else i)
        x = self.order(self.element(self.at(self.x, self.dtype, first), mask))
        within = x
        for by in (1, 2, 4):
            within = self.plus(within, self.before(within, by))
        start = self.splat(self.kind, carry)
        total = self.plus(start, self.before(within, 1) if self.exclusive else within)
        self.result(self.order(total), self.at(self.y, self.out, first), mask)
        t = self.t(self.kind)
        last = self.ins(f"extractelement {t} {within}, i64 {_SHUFFLED - 1}")
        return self.ins(f"{self.word_} {self.kind} {carry}, {last}")

    def start(self, unit: str) -> str:
        """The total of the chunks before this one."""
        first = self.i64("sub", unit, self.i64("urem", unit, self.blocks))

        def more(u: str, now: list[str]) -> list[str]:
            other = self.ins(f"load {self.kind}, ptr {self.place(self.kind, self.sums, u)}")
            return [self.ins(f"{self.word_} {self.kind} {now[0]}, {other}")]

        return self.loop((first, unit, 1), [(self.kind, self.neutral)], more)[0]

    def scan(self, line: str, low: str, high: str, first: str) -> None:
        """Totals of a chunk."""
        whole = self.i64("sub", high, self.i64("urem", self.i64("sub", high, low), _SHUFFLED))
        self.lanes = _SHUFFLED
        carry = self.loop((low, whole, _SHUFFLED), [(self.kind, first)], lambda i, c: [self.step(line, i, c[0], "")])
        last = [(self.kind, carry[0])]
        self.loop((whole, high, _SHUFFLED), last, lambda i, c: [self.step(line, i, c[0], self.mask_of(i, high))])
        self.lanes = 1


def _of_lines(*about: Any) -> LineEmitter:
    e = _Total(*about)

    def unit(u: str) -> None:
        line, low, high = e.chunk(u)
        e.scan(line, low, high, e.start(u))

    e.units(unit)
    return e


def _of_chunks(*about: Any) -> LineEmitter:
    """The total of each chunk."""
    e = _Total(*about)

    def unit(u: str) -> None:
        line, low, high = e.chunk(u)
        whole = e.i64("sub", high, e.i64("urem", e.i64("sub", high, low), _SHUFFLED))
        e.lanes = _SHUFFLED
        first = [(e.t(e.kind), e.const(e.neutral, e.kind))]

        def step(i: str, now: list[str], mask: str = "") -> list[str]:
            at = e.i64("add", line, e.mirrored(i) if e.reverse else i)
            return [e.plus(now[0], e.element(e.at(e.x, e.dtype, at), mask))]

        found = e.loop((low, whole, _SHUFFLED), first, step)
        rest = [(e.t(e.kind), found[0])]
        found = e.loop((whole, high, _SHUFFLED), rest, lambda i, now: step(i, now, e.mask_of(i, high)))
        total = across(e, e.reduced, e.wide, found[0])
        e.lanes = 1
        e.do(f"store {e.kind} {total}, ptr {e.place(e.kind, e.sums, u)}")

    e.units(unit)
    return e


def _of_columns(*about: Any) -> LineEmitter:
    """Blocks of neighbouring lines."""
    e = _Total(*about)
    totals, lanes = e.alloca(f"[{COLUMNS} x {e.kind}]"), lanes_of(e.wide)

    def block(first: str, _: str, count: str) -> None:
        def begin(i: str) -> None:
            e.do(f"store {e.kind} {e.neutral}, ptr {e.place(e.kind, totals, i)}")

        e.each("0", str(COLUMNS), begin)

        def row(k: str) -> None:
            number = e.i64("sub", e.i64("sub", e.n, k), 1) if e.reverse else k
            line = e.i64("add", first, e.i64("mul", number, e.inner))
            e.sweep(count, lanes, lambda i, mask: column(e.i64("add", line, i), i, mask))

        e.each("0", e.n, row)

    def column(at: str, i: str, mask: str) -> None:
        kept = e.place(e.kind, totals, i)
        now = e.load(e.wide, kept)
        total = e.plus(now, e.element(e.at(e.x, e.dtype, at), mask))
        e.result(now if e.exclusive else total, e.at(e.y, e.out, at), mask)
        e.store(e.wide, total, kept)

    e.units(lambda unit: e.columns(unit, block))
    return e


# ---- running extremes ----


class CumulativeExtremumRecipe(NativeKernel):
    """cummax and cummin: values, and where they stand."""

    def __init__(self, name: str, dtype: DType, lines: Lines) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.lines: Lines = lines

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        lines, close = self.lines, self.lines.inner == 1
        units = lines.outer
        header = (units, clamped(units * lines.n * 2 // SHARED_WORK, 1, units), lines.n, 1, 1)
        made = library(f"msnb_{self.name}", _extreme_lines if close else _extreme_columns, self.name[3:], self.dtype)
        own = words(header if close else lines.header(4), ins, outs)
        return [KernelCall(Symbol(made, f"msnb_{self.name}"), own)]


class _Extremes(LineEmitter):
    """Values and their places: the later of two that are as good, or a NaN, takes the place of the earlier."""

    def __init__(self, how: str, dtype: DType) -> None:
        super().__init__()
        self.dtype, self.wide = dtype, compared_as(dtype)
        self.kind, self.stored, self.test = type_name(self.wide), memory_name(dtype), EXTREMES[f"cum{how}"]
        self.x, self.values, self.places = (self.pointer(i) for i in range(3))
        self.worst = identity(how, self.wide)

    def later(self, earlier: tuple[str, str], new: tuple[str, str], p: str) -> tuple[str, str]:
        """What stands after both, with places of type ``p``."""
        better, i1, t = compare(self, self.test, self.wide, new[0], earlier[0]), self.t("i1"), self.t(self.kind)
        if self.wide.is_float:
            better = self.ins(f"or {i1} {better}, {self.ins(f'fcmp uno {t} {new[0]}, {new[0]}')}")
        value = self.ins(f"select {i1} {better}, {t} {new[0]}, {t} {earlier[0]}")
        return value, self.ins(f"select {i1} {better}, {p} {new[1]}, {p} {earlier[1]}")

    def element(self, at: str, mask: str) -> str:
        """Elements as they are compared."""
        return self.read(self.dtype, self.place(self.stored, self.x, at), mask)

    def result(self, found: tuple[str, str], at: str, mask: str) -> None:
        """Store values and places."""
        value = found[0] if self.dtype is self.wide else self.cast(found[0], self.wide, self.dtype)
        self.store(self.dtype, value, self.place(self.stored, self.values, at), mask)
        self.store(dtypes.int64, found[1], self.place("i64", self.places, at), mask)

    def before(self, x: str, kind: str, behind: str, by: int) -> str:
        """Lanes moved up, others behind them."""
        moved = ", ".join(f"i32 {k - by if k >= by else self.lanes + k}" for k in range(self.lanes))
        t = f"<{self.lanes} x {kind}>"
        return self.ins(f"shufflevector {t} {x}, {t} {behind}, <{self.lanes} x i32> <{moved}>")

    def step(self, i: str, line: str, carry: list[str], mask: str) -> list[str]:
        """A vector: within it the places are small numbers. Returns value and place behind it."""
        at, small, large = self.i64("add", line, i), self.t("i32"), self.t("i64")
        worst = self.const(self.worst, self.kind)
        now = self.element(at, mask), f"<{', '.join(f'i32 {k}' for k in range(self.lanes))}>"
        by = 1
        while by < self.lanes:
            moved = self.before(now[0], self.kind, worst, by), self.before(now[1], "i32", "zeroinitializer", by)
            now = self.later(moved, now, small)
            by *= 2
        place = self.ins(f"add {large} {self.turned(now[1])}, {self.splat('i64', i)}")
        found = self.later((self.splat(self.kind, carry[0]), self.splat("i64", carry[1])), (now[0], place), large)
        self.result(found, at, mask)
        last = zip((self.t(self.kind), large), found)
        return [self.ins(f"extractelement {t} {v}, i64 {self.lanes - 1}") for t, v in last]

    def turned(self, small: str) -> str:
        """Small numbers as places."""
        return self.ins(f"zext {self.t('i32')} {small} to {self.t('i64')}")


def _extreme_lines(how: str, dtype: DType) -> LineEmitter:
    """Lines that lie close: as running totals."""
    e = _Extremes(how, dtype)
    lanes = max(4, lanes_of(dtype))

    def unit(u: str) -> None:
        line, carried_ = e.i64("mul", u, e.n), [(e.kind, e.worst), ("i64", "0")]
        whole = e.i64("and", e.n, -lanes)
        e.lanes = lanes
        found = e.loop(("0", whole, lanes), carried_, lambda i, now: e.step(i, line, now, ""))
        rest = list(zip((e.kind, "i64"), found))
        e.loop((whole, e.n, lanes), rest, lambda i, now: e.step(i, line, now, e.below(i, e.n)))
        e.lanes = 1

    e.units(unit)
    return e


def _extreme_columns(how: str, dtype: DType) -> LineEmitter:
    """Blocks of neighbouring lines."""
    e = _Extremes(how, dtype)
    kept, places = e.alloca(f"[{COLUMNS} x {e.kind}]"), e.alloca(f"[{COLUMNS} x i64]")
    lanes = lanes_of(e.wide)

    def block(first: str, _: str, count: str) -> None:
        def begin(i: str) -> None:
            e.do(f"store {e.kind} {e.worst}, ptr {e.place(e.kind, kept, i)}")

        e.each("0", str(COLUMNS), begin)

        def row(k: str) -> None:
            line = e.i64("add", first, e.i64("mul", k, e.inner))

            def some(i: str, mask: str) -> None:
                at, states = e.i64("add", line, i), (e.place(e.kind, kept, i), e.place("i64", places, i))
                before = e.load(e.wide, states[0]), e.load(dtypes.int64, states[1])
                found = e.later(before, (e.element(at, mask), e.splat("i64", k)), e.t("i64"))
                e.result(found, at, mask)
                for dt, value, state in zip((e.wide, dtypes.int64), found, states):
                    e.store(dt, value, state)

            e.sweep(count, lanes, some)

        e.each("0", e.n, row)

    e.units(lambda unit: e.columns(unit, block))
    return e
