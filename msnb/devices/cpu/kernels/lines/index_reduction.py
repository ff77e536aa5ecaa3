"""argmax and argmin: where the first largest (smallest) element of a line stands; the first NaN wins.

    lanes   best   7.0   2.0   9.0   9.0          best and place are kept per lane, or per column of a block
            place    4     1     6     3      ->  the best of all lanes, 9.0, and its first place, 3

An element replaces the best one where it is better, or a NaN where there was none: earlier ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msnb.core import DType, TensorType, dtypes
from msnb.devices.cpu.kernels.lines import line_kernel
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm import across, compare, identity, memory_name, type_name
from msnb.ir.graph import Node

KINDS = {"argmax": "max", "argmin": "min"}
NAMES = tuple(KINDS)
SHORT = 32
"""Lines of at most so many elements are walked in bundles, a lane for each line."""
_NONE = str(2**31 - 1)


class IndexReductionRecipe(NativeKernel):
    """One walk over the operand."""

    def __init__(self, name: str, dtype: DType, lines: line_kernel.Lines) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.lines: line_kernel.Lines = lines

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        lines, lanes = self.lines, line_kernel.lanes_of(self.dtype)
        is_short = lines.inner == 1 and lines.n <= SHORT and lines.outer > lanes
        way = "bundle" if is_short else "line" if lines.inner == 1 else "columns"
        made = line_kernel.library(f"msnb_{self.name}", _written, KINDS[self.name], self.dtype, way)
        header = lines.header()
        if is_short:
            bundles = -(-lines.outer // lanes)
            header = (bundles, min(bundles, header[1]), lines.n, lines.outer, 1)
        return [KernelCall(Symbol(made, f"msnb_{self.name}"), line_kernel.words(header, ins, outs))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How argmax or argmin runs; None for other nodes."""
    if node.op.name not in KINDS or not line_kernel.is_static(node):
        return None
    t = node.inputs[0].type
    assert isinstance(t, TensorType)
    lines = line_kernel.lines_of(t, node.attrs["axis"])
    return IndexReductionRecipe(node.op.name, t.dtype, lines) if lines.n < 2**31 - 1 else None


def _written(kind: str, dtype: DType, way: str) -> line_kernel.LineEmitter:
    e = line_kernel.LineEmitter()
    x, out = e.pointer(0), e.pointer(1)
    best = _Best(e, kind, dtype)
    one = {"line": best.of_line, "bundle": best.of_bundle, "columns": best.of_columns}[way]
    e.units(lambda unit: one(unit, x, out))
    return e


class _Best:
    """The code of one kind and dtype."""

    def __init__(self, e: line_kernel.LineEmitter, kind: str, dtype: DType) -> None:
        self.e, self.kind, self.dtype, self.stored = e, kind, dtype, memory_name(dtype)
        self.compared = line_kernel.compared_as(dtype)
        self.scalar = type_name(self.compared)
        self.lanes = line_kernel.lanes_of(dtype)
        self.first = identity(kind, self.compared)

    def is_better(self, x: str, best: str) -> str:
        """Lanes where ``x`` takes the place of ``best``."""
        e, kind = self.e, self.e.t(self.scalar)
        if not self.compared.is_float:
            return compare(e, "gt" if self.kind == "max" else "lt", self.compared, x, best)
        order = "ugt" if self.kind == "max" else "ult"
        either = e.ins(f"fcmp {order} {kind} {x}, {best}")
        return e.ins(f"and {e.t('i1')} {either}, {e.ins(f'fcmp ord {kind} {best}, {best}')}")

    def better(self, x: str, place: str, now: Sequence[str]) -> list[str]:
        """The better of ``x`` at ``place`` and what was best so far."""
        test = self.is_better(x, now[0])
        return self._picked(test, (x, place), now)

    def _picked(self, test: str, new: Sequence[str], old: Sequence[str]) -> list[str]:
        e, pairs = self.e, zip((self.scalar, "i32"), new, old)
        return [e.ins(f"select {e.t('i1')} {test}, {e.t(kind)} {a}, {e.t(kind)} {b}") for kind, a, b in pairs]

    # ---- a line ----

    def of_line(self, unit: str, x: str, out: str) -> None:
        """Lanes run along the line."""
        e = self.e
        line = e.place(self.stored, x, e.i64("mul", unit, e.n))
        whole = e.i64("sub", e.n, e.i64("urem", e.n, self.lanes))
        e.lanes = self.lanes
        began = [(e.t(self.scalar), e.const(self.first, self.scalar)), (e.t("i32"), e.const(_NONE, "i32"))]
        found = e.loop(("0", whole, self.lanes), began, lambda i, now: self._step(line, i, now, ""))
        rest = [(kind, value) for (kind, _), value in zip(began, found)]
        found = e.loop((whole, e.n, self.lanes), rest, lambda i, now: self._step(line, i, now, self._mask(i)))
        place = self._first_of(*found)
        e.lanes = 1
        e.do(f"store i64 {e.ins(f'zext i32 {place} to i64')}, ptr {e.place('i64', out, unit)}")

    def _mask(self, i: str) -> str:
        e = self.e
        return e.ins(f"icmp slt {e.t('i64')} {e.steps(i, 1)}, {e.splat('i64', e.n)}")

    def _step(self, line: str, i: str, now: list[str], mask: str) -> list[str]:
        """Lanes that have no element yet take what comes: it may be the identity itself."""
        e = self.e
        x = e.read(self.dtype, e.place(self.stored, line, i), mask)
        places = e.ins(f"trunc {e.t('i64')} {e.steps(i, 1)} to {e.t('i32')}")
        new = e.ins(f"icmp eq {e.t('i32')} {now[1]}, {e.const(_NONE, 'i32')}")
        test = e.ins(f"or {e.t('i1')} {self.is_better(x, now[0])}, {new}")
        if mask:
            test = e.ins(f"and {e.t('i1')} {test}, {mask}")
        return self._picked(test, (x, places), now)

    def _first_of(self, best: str, place: str) -> str:
        """The first place of the best value of all lanes; those without an element have the largest place."""
        e, kind = self.e, self.e.t(self.scalar)
        least = across(e, self.kind, self.compared, best)
        wide = e.splat(self.scalar, least)
        if self.compared.is_float:  # the extreme of all lanes is NaN where one of them is
            equal = e.ins(f"fcmp ueq {kind} {best}, {wide}")
            nan = e.ins(f"fcmp uno {kind} {best}, {best}")
            some = e.ins(f"fcmp uno {kind} {wide}, {wide}")
            ones = e.ins(f"select {e.t('i1')} {some}, {e.t('i1')} {nan}, {e.t('i1')} {equal}")
        else:
            ones = e.ins(f"icmp eq {kind} {best}, {wide}")
        chosen = e.ins(f"select {e.t('i1')} {ones}, {e.t('i32')} {place}, {e.t('i32')} {e.const(_NONE, 'i32')}")
        return across(e, "min", dtypes.int32, chosen)

    # ---- a bundle of short lines ----

    def of_bundle(self, unit: str, x: str, out: str) -> None:
        """A lane for each line, whose elements are picked together; ``inner`` is the number of lines here."""
        e = self.e
        e.lanes = self.lanes
        ints, lines = e.t("i64"), e.steps(e.i64("mul", unit, self.lanes), 1)
        mask = e.ins(f"icmp slt {ints} {lines}, {e.splat('i64', e.inner)}")
        starts = e.ins(f"mul {ints} {lines}, {e.splat('i64', e.n)}")

        def step(k: str, now: list[str]) -> list[str]:
            at = e.ins(f"add {ints} {starts}, {e.splat('i64', k)}")
            places = e.ins(f"getelementptr {self.stored}, ptr {x}, {ints} {at}")
            elements = e.converted(e.gather(self.dtype, places, mask), self.dtype)
            return self.better(elements, e.splat("i32", e.ins(f"trunc i64 {k} to i32")), now)

        first = e.gather(self.dtype, e.ins(f"getelementptr {self.stored}, ptr {x}, {ints} {starts}"), mask)
        began = [(e.t(self.scalar), e.converted(first, self.dtype)), (e.t("i32"), e.const("0", "i32"))]
        place = e.loop(("1", e.n, 1), began, step)[1]
        wide = e.ins(f"zext {e.t('i32')} {place} to {ints}")
        e.store(dtypes.int64, wide, e.place("i64", out, e.i64("mul", unit, self.lanes)), mask)
        e.lanes = 1

    # ---- a block of lines ----

    def of_columns(self, unit: str, x: str, out: str) -> None:
        """Lanes run across neighbouring lines; their state lies in the first cache."""
        e = self.e
        best, places = self._state()

        def block(first: str, column: str, count: str) -> None:
            row = e.place(self.stored, x, first)
            self._over(count, lambda i, mask: self._begin(row, i, mask, best, places))

            def step(k: str) -> None:
                line = e.place(self.stored, row, e.i64("mul", k, e.inner))
                short = e.ins(f"trunc i64 {k} to i32")
                self._over(count, lambda i, mask: self._column(line, i, mask, short, best, places))

            e.each("1", e.n, step)
            outer = e.i64("mul", e.i64("udiv", unit, e.blocks), e.inner)
            target = e.place("i64", out, e.i64("add", outer, column))
            e.each("0", count, lambda i: self._answer(i, places, target))

        e.columns(unit, block)

    def _state(self) -> tuple[str, str]:
        n = line_kernel.COLUMNS
        return self.e.alloca(f"[{n} x {self.scalar}]"), self.e.alloca(f"[{n} x i32]")

    def _over(self, count: str, body: Callable[[str, str], None]) -> None:
        self.e.sweep(count, self.lanes, body)

    def _begin(self, row: str, i: str, mask: str, best: str, places: str) -> None:
        e = self.e
        x = e.read(self.dtype, e.place(self.stored, row, i), mask)
        e.store(self.compared, x, e.place(self.scalar, best, i))
        e.store(dtypes.int32, e.const("0", "i32"), e.place("i32", places, i))

    def _column(self, line: str, i: str, mask: str, k: str, best: str, places: str) -> None:
        e = self.e
        x = e.read(self.dtype, e.place(self.stored, line, i), mask)
        at = e.place(self.scalar, best, i), e.place("i32", places, i)
        now = e.load(self.compared, at[0]), e.load(dtypes.int32, at[1])
        found = self.better(x, e.splat("i32", k), now)
        e.store(self.compared, found[0], at[0])
        e.store(dtypes.int32, found[1], at[1])

    def _answer(self, i: str, places: str, target: str) -> None:
        e = self.e
        found = e.ins(f"load i32, ptr {e.place('i32', places, i)}")
        e.do(f"store i64 {e.ins(f'zext i32 {found} to i64')}, ptr {e.place('i64', target, i)}")
