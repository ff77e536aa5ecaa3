"""Frame of the kernels that work along one axis. A tensor is seen as [outer, n, inner]; a line is what lies along n.

    inner == 1    lines lie close: a unit of work is one line, lanes run along it
    inner > 1     a unit is a block of neighbouring lines: lanes run across lines, step by step along n

            x[o, 0, c .. c + COLUMNS]  ->  state[COLUMNS]            the state of a block lies in the first cache
            x[o, 1, c .. c + COLUMNS]  ->  state[COLUMNS] ...        a row is read once, in whole cache lines

Sizes come as words, so there is one kernel per kind and dtype:  words = [units, threads, n, inner, blocks, slots ...].
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu.llvm.jit import Library, attributes, host
from msnb.devices.llvm import Emitter, LoopBuilder, module, units
from msnb.ir.graph import Node, Value

COLUMNS = 256
HEADER = 5
SHARED_WORK = 300_000
"""Elements that are worth a thread."""


class Lines(NamedTuple):
    """A tensor as [outer, n, inner]."""

    outer: int
    n: int
    inner: int

    @property
    def number(self) -> int:
        """How many lines."""
        return self.outer * self.inner

    @property
    def blocks(self) -> int:
        """Blocks of neighbouring lines in one slice of the outer axes."""
        return -(-self.inner // COLUMNS)

    def header(self, weight: int = 1) -> tuple[int, ...]:
        """The first words of a call; ``weight``: the work per element, 1 for a comparison."""
        units = self.outer * self.blocks
        threads = clamped(math.prod(self) * weight // SHARED_WORK, 1, units)
        return units, threads, self.n, self.inner, self.blocks


def lines_of(t: TensorType, axis: int | None) -> Lines:
    """The lines along an axis; ``None``: all elements are one line."""
    shape = t.ints()
    if axis is None or not shape:
        return Lines(1, math.prod(shape), 1)
    axis %= len(shape)
    return Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def is_static(node: Node) -> bool:
    """True where every operand and result is a tensor of known sizes, none of which is zero, in a dtype that this CPU
    converts."""

    def known(value: Value) -> bool:
        t = value.type
        if not isinstance(t, TensorType) or not t.is_static or t.weak or 0 in t.shape:
            return False
        return t.dtype is not dtypes.float16 or host().half

    return all(map(known, (*node.inputs, *node.outputs)))


def compared_as(dtype: DType) -> DType:
    """The dtype in which elements are compared and added up: half precision has no registers of its own."""
    if dtype.is_float:
        return dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    return dtypes.int32 if dtype is dtypes.bool_ or dtype.itemsize < 4 else dtype


class LineEmitter(Emitter):
    """The part of one thread: units %begin to %end. ``word`` and ``pointer`` read what the call was given."""

    n: str
    inner: str
    blocks: str

    def __init__(self) -> None:
        super().__init__(scalef=host().target.scalef)
        self.n, self.inner, self.blocks = (self.word(i) for i in (2, 3, 4))

    def pointer(self, i: int) -> str:
        """The data of operand number ``i`` (reads, then results, then temporary memory)."""
        return self.slot(HEADER + i)

    def units(self, body: Callable[[str], None]) -> None:
        """``body(unit)`` for every unit of this thread; ends the function."""
        self.each("%begin", "%end", body)
        self.do("ret void")

    def thread(self) -> str:
        """The number of this thread."""
        which = self.ins("load ptr, ptr @msnb_thread")
        number = self.alloca("i64")
        self.do(f"store i64 0, ptr {number}")

        def ask() -> None:
            t = self.ins(f"call i32 {which}()")
            self.do(f"store i64 {self.ins(f'sext i32 {t} to i64')}, ptr {number}")

        self.when(self.ins(f"icmp ne ptr {which}, null"), ask)
        return self.ins(f"load i64, ptr {number}")

    def each(self, low: str, high: str, body: Callable[[str], None], step: int = 1) -> None:
        """A loop that carries nothing."""

        def turn(i: str, _: list[str]) -> list[str]:
            body(i)
            return []

        self.loop((low, high, step), [], turn)

    def each_in_vectors(self, n: str, step: Callable[[str], None], lanes: int) -> None:
        """``step(i)`` for whole vectors of elements, then for those that are left one by one."""

        def wide(i: str) -> None:
            self.lanes = lanes
            step(i)
            self.lanes = 1

        whole = self.i64("and", n, -lanes)
        self.each("0", whole, wide, lanes)
        self.each(whole, n, step)

    def read(self, dtype: DType, place: str, mask: str = "") -> str:
        """Elements in the dtype in which they are compared."""
        return self.converted(self.load(dtype, place, mask), dtype)

    def converted(self, x: str, dtype: DType) -> str:
        """An element in the dtype in which it is compared."""
        wanted = compared_as(dtype)
        return x if dtype is wanted else self.cast(x, dtype, wanted)

    def columns(self, unit: str, body: Callable[[str, str, str], None]) -> None:
        """A unit of neighbouring lines: ``body(first element, elements to the next row, how many columns)``."""
        outer, block = self.i64("udiv", unit, self.blocks), self.i64("urem", unit, self.blocks)
        column = self.i64("mul", block, COLUMNS)
        first = self.i64("add", self.i64("mul", outer, self.i64("mul", self.n, self.inner)), column)
        body(first, column, self.smaller(self.i64("sub", self.inner, column), str(COLUMNS)))

    def sweep(self, count: str, lanes: int, body: Callable[[str, str], None]) -> None:
        """``body(i, mask)`` for ``count`` neighbours, ``lanes`` at a time; the last turn may be masked."""
        whole = self.i64("sub", count, self.i64("urem", count, lanes))
        self.lanes = lanes
        self.each("0", whole, lambda i: body(i, ""), lanes)

        def rest(i: str) -> None:
            ints = self.t("i64")
            body(i, self.ins(f"icmp slt {ints} {self.steps(i, 1)}, {self.splat('i64', count)}"))

        self.each(whole, count, rest, lanes)
        self.lanes: int = 1


def lanes_of(dtype: DType) -> int:
    """How many elements of a dtype a vector register holds."""
    return max(1, host().target.lanes * 4 // compared_as(dtype).itemsize)


@functools.lru_cache(maxsize=64)
def library(symbol: str, write: Callable[..., LineEmitter], *about: Any) -> Library:
    """The machine code of one kernel: ``write(*about)`` gives the part of one thread."""
    e = write(*about)
    notes = '!0 = !{!"branch_weights", i32 1, i32 100000}\n!1 = !{i32 1}'
    return Library(module([e], notes, units(symbol, attributes(), e)))


@functools.lru_cache(maxsize=1)
def verdict() -> Library:
    """``msnb_verdict`` [numbers that kernels left behind, how many]: declines where one is not 0."""
    e = LoopBuilder()
    said, count = e.slot(0), e.word(1)

    def one(i: str, now: list[str]) -> list[str]:
        return [e.i64("or", now[0], e.field("i64", said, i))]

    found = e.loop(("0", count, 1), [("i64", "0")], one)[0]
    bad = e.ins(f"icmp ne i64 {found}, 0")
    e.do(f"ret i32 {e.ins(f'zext i1 {bad} to i32')}")
    return Library(e.function("i32 @msnb_verdict(ptr %slots, ptr %words, ptr %env)", attributes()))


def words(header: Sequence[int], *slots: Sequence[int]) -> tuple[int, ...]:
    """Header and slots of a call."""
    return (*header, *(s for group in slots for s in group))
