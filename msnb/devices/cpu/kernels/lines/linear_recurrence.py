"""The recurrence s_0 = b_0, s_k = b_k + a_k s_(k-1) along an axis: the gradient of a running product.

    lines that lie close      a line after the other, the last value in a register
    neighbouring lines        row after row, the last values of a block of columns in the first cache

Values are carried on as those of running totals (``cumulative_scan.carried``): floats in float64, ints in 64 bits. A
product and a sum are two roundings, as in the reference body.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu.kernels.lines import line_kernel
from msnb.devices.cpu.kernels.lines.cumulative_scan import carried
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm.emitter import literal, memory_name, type_name
from msnb.ir.graph import Node

NAMES = ("linear_recurrence",)


class LinearRecurrenceRecipe(NativeKernel):
    """linear_recurrence of two tensors of one dtype."""

    def __init__(self, dtype: DType, lines: line_kernel.Lines, reverse: bool) -> None:
        self.dtype: DType = dtype
        self.lines: line_kernel.Lines = lines
        self.reverse: bool = reverse

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        lines, close = self.lines, self.lines.inner == 1
        work = lines.outer * lines.n * 4
        header = (lines.outer, clamped(work // line_kernel.SHARED_WORK, 1, lines.outer), lines.n, 1, 1)
        symbol = "msnb_recurrence"
        made = line_kernel.library(symbol, _close if close else _columns, self.dtype, self.reverse)
        return [KernelCall(Symbol(made, symbol), line_kernel.words(header if close else lines.header(4), ins, outs))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a recurrence runs; None for other nodes, mixed dtypes and complex numbers."""
    if node.op.name not in NAMES or not line_kernel.is_static(node):
        return None
    types = [v.type for v in (*node.inputs, node.out)]
    dtype = types[-1].dtype  # type: ignore[union-attr]
    if any(not isinstance(t, TensorType) or t.dtype is not dtype for t in types):
        return None
    if not (dtype.is_float or dtype.is_int) or dtype is dtypes.bool_:
        return None
    assert isinstance(types[-1], TensorType)
    return LinearRecurrenceRecipe(dtype, line_kernel.lines_of(types[-1], node.attrs["axis"]), node.attrs["reverse"])


class _Recurrence(line_kernel.LineEmitter):
    """One step for elements at a place, and where step ``k`` of a line is."""

    def __init__(self, dtype: DType, reverse: bool) -> None:
        super().__init__()
        self.dtype, self.wide, self.reverse = dtype, carried(dtype), reverse
        self.stored, self.kind = memory_name(dtype), type_name(self.wide)
        self.a, self.b, self.out = (self.pointer(i) for i in range(3))

    def element(self, base: str, at: str, mask: str) -> str:
        x = self.load(self.dtype, self.place(self.stored, base, at), mask)
        return x if self.dtype is self.wide else self.cast(x, self.dtype, self.wide)

    def step(self, k: str, at: str, before: str, mask: str = "") -> str:
        """Element ``at``, which comes at step ``k``; returns the value that goes on. The first one is b alone."""
        t, float_ = self.t(self.kind), "f" if self.dtype.is_float else ""
        a, b = self.element(self.a, at, mask), self.element(self.b, at, mask)
        product = self.ins(f"{float_}mul {t} {a}, {before}")
        total = self.ins(f"{float_}add {t} {b}, {product}")
        now = self.ins(f"select i1 {self.ins(f'icmp eq i64 {k}, 0')}, {t} {b}, {t} {total}")
        found = now if self.dtype is self.wide else self.cast(now, self.wide, self.dtype)
        self.store(self.dtype, found, self.place(self.stored, self.out, at), mask)
        return now

    def number(self, k: str) -> str:
        """The place along the line of step ``k``."""
        return self.i64("sub", self.i64("sub", self.n, k), 1) if self.reverse else k


def _close(dtype: DType, reverse: bool) -> line_kernel.LineEmitter:
    e = _Recurrence(dtype, reverse)

    def line(unit: str) -> None:
        first = e.i64("mul", unit, e.n)

        def turn(k: str, now: list[str]) -> list[str]:
            return [e.step(k, e.i64("add", first, e.number(k)), now[0])]

        e.loop(("0", e.n, 1), [(e.kind, literal(0, e.wide))], turn)

    e.units(line)
    return e


def _columns(dtype: DType, reverse: bool) -> line_kernel.LineEmitter:
    e = _Recurrence(dtype, reverse)
    states, lanes = e.alloca(f"[{line_kernel.COLUMNS} x {e.kind}]"), line_kernel.lanes_of(e.wide)

    def block(first: str, _: str, count: str) -> None:
        def begin(i: str) -> None:
            e.do(f"store {e.kind} {literal(0, e.wide)}, ptr {e.place(e.kind, states, i)}")

        e.each("0", str(line_kernel.COLUMNS), begin)

        def row(k: str) -> None:
            line = e.i64("add", first, e.i64("mul", e.number(k), e.inner))

            def some(i: str, mask: str) -> None:
                kept = e.place(e.kind, states, i)
                e.store(e.wide, e.step(k, e.i64("add", line, i), e.load(e.wide, kept), mask), kept)

            e.sweep(count, lanes, some)

        e.each("0", e.n, row)

    e.units(lambda unit: e.columns(unit, block))
    return e
