"""Running totals along an axis: cumsum, cumprod, cummax, cummin and linear recurrences.

    lines in one piece    a block for each line: every thread takes four neighbours, the block scans the totals of its
                          threads, and what has come so far is carried to the next stretch of the line
    lines that lie apart  a thread for each line, one element after the other; so do running extremes and recurrences

Totals are carried on in float64 or int64, as the reference bodies do: an error grows with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import DType, dtypes
from msnb.devices.gpu.codegen import WARP, GpuKernel, GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import THREADS, KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import HALVES, accumulator, are_real, operands, results
from msnb.devices.gpu.kernels.lines.block_scan import BlockScan
from msnb.devices.gpu.kernels.lines.line_layout import lines_of
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm import compare, literal, type_name
from msnb.ir.graph import Node, type_of

ITEMS = 4
"""Neighbours that a thread takes."""


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How running totals run."""
    make = _MAKERS.get(node.op.name)
    if make is None or any(t.weak or not t.shape for t in operands(node)) or not are_real(operands(node)):
        return None
    part = KernelPart(make(node, target), list(range(len(node.inputs))), list(range(len(node.outputs))))
    return LoweredNode(list(node.inputs), [part])


def carried(dtype: DType) -> DType:
    """In which dtype totals are carried on."""
    return dtypes.float64 if dtype.is_float else dtypes.int64


def _given(e: ThreadCode, value: str, wide: DType, out: DType) -> str:
    """A total as it is handed on: floats of two bytes by way of float32, as the reference body does."""
    if out not in HALVES or wide is not dtypes.float64:
        return e.cast(value, wide, out)
    return e.cast(e.cast(value, wide, dtypes.float32), dtypes.float32, out)


class LineScan:
    """cumsum or cumprod of one node."""

    dtype: DType
    out: DType

    def __init__(self, node: Node, target: GpuTarget) -> None:
        (t,), out = operands(node), type_of(node.out)
        self.lines, self.dtype, self.out = lines_of(t, node.attrs["axis"]), t.dtype, out.dtype
        self.exclusive, self.reverse = node.attrs["exclusive"], node.attrs["reverse"]
        self.wide: DType = carried(t.dtype)
        self.word = ("f" if self.wide.is_float else "") + ("add" if node.op.name == "cumsum" else "mul")
        self.neutral: str = literal(0 if node.op.name == "cumsum" else 1, self.wide)
        self.kind: str = counter_kind(t.size)
        self.builder: KernelBuilder = KernelBuilder(node.op.name, [t], [out], target=target)
        if self.lines.inner == 1:
            self._blocks()
        else:
            self.builder.units(self.lines.lines, self.kind, self._column)

    def _combine(self, e: ThreadCode, a: str, b: str) -> str:
        return e.ins(f"{self.word} {type_name(self.wide)} {a}, {b}")

    def _place(self, e: ThreadCode, line: str, k: str) -> str:
        return self.lines.place(e, line, e.count("sub", self.lines.n - 1, k) if self.reverse else k)

    def _read(self, e: ThreadCode, place: str) -> str:
        return e.cast(e.get(self.dtype, e.source(0), place), self.dtype, self.wide)

    def _write(self, e: ThreadCode, value: str, place: str) -> None:
        e.put(self.out, _given(e, value, self.wide, self.out), e.result(), place)

    def _column(self, e: ThreadCode, line: str) -> None:
        def one(k: str, now: list[str]) -> list[str]:
            place = self._place(e, line, k)
            following = self._combine(e, now[0], self._read(e, place))
            self._write(e, now[0] if self.exclusive else following, place)
            return [following]

        e.turns((0, self.lines.n, 1), [(type_name(self.wide), self.neutral)], one)

    def _blocks(self) -> None:
        threads = WARP
        while threads < THREADS and threads * ITEMS < self.lines.n:
            threads *= 2
        e = self.builder.function(self.kind, threads)
        scan = BlockScan(e, self.wide, lambda a, b: self._combine(e, a, b), self.neutral)
        line, thread = e.block_number(), e.thread()

        def stretch(start: str, now: list[str]) -> list[str]:
            first = e.count("add", start, e.count("mul", thread, ITEMS))
            found = [self._item(e, line, e.count("add", first, i)) for i in range(ITEMS)]
            total = found[0][1]
            for _, value, _ in found[1:]:
                total = self._combine(e, total, value)
            before, _, whole = scan.scan(total)
            running = self._combine(e, now[0], before)
            for place, value, inside in found:
                running = self._handed(e, place, inside, running, value)
            return [self._combine(e, now[0], whole)]

        e.turns((0, self.lines.n, threads * ITEMS), [(type_name(self.wide), self.neutral)], stretch)
        self.builder.launch(e, self.lines.lines)

    def _item(self, e: ThreadCode, line: str, k: str) -> tuple[str, str, str]:
        """Where an element lies, its value (neutral behind the end), and whether it is there."""
        inside = e.compare("slt", k, self.lines.n)
        place = self._place(e, line, k)
        return place, e.guarded(inside, type_name(self.wide), lambda: self._read(e, place), self.neutral), inside

    def _handed(self, e: ThreadCode, place: str, inside: str, running: str, value: str) -> str:
        following = self._combine(e, running, value)
        told = running if self.exclusive else following
        e.when(inside, lambda: self._write(e, told, place))
        return following


def _total(node: Node, target: GpuTarget) -> GpuKernel:
    return LineScan(node, target).builder.made()


# ---- one element after the other ----


def _recurrence(node: Node, target: GpuTarget) -> GpuKernel:
    """s = b + a s."""
    types, out = operands(node), type_of(node.out)
    lines, kind = lines_of(out, node.attrs["axis"]), counter_kind(out.size)
    wide = dtypes.float64 if out.dtype.is_float else out.dtype
    scalar = type_name(wide)
    letter = "f" if wide.is_float else ""

    def work(e: ThreadCode, line: str) -> None:
        def one(k: str, now: list[str]) -> list[str]:
            place = lines.place(e, line, e.count("sub", lines.n - 1, k) if node.attrs["reverse"] else k)
            a, b = (e.cast(e.get(t.dtype, e.source(i), place), t.dtype, wide) for i, t in enumerate(types))
            product = e.ins(f"{letter}mul {scalar} {a}, {now[0]}")
            following = e.ins(f"{letter}add {scalar} {b}, {product}")
            following = e.ins(f"select i1 {e.compare('eq', k, 0)}, {scalar} {b}, {scalar} {following}")
            e.put(out.dtype, e.cast(following, wide, out.dtype), e.result(), place)
            return [following]

        e.turns((0, lines.n, 1), [(scalar, literal(0, wide))], one)

    builder = KernelBuilder(node.op.name, types, [out], target=target)
    builder.units(lines.lines, kind, work)
    return builder.made()


def _extreme(node: Node, target: GpuTarget) -> GpuKernel:
    """The best so far and where it stands, of equal ones the last; a NaN stays."""
    (t,) = operands(node)
    lines, kind = lines_of(t, node.attrs["axis"]), counter_kind(t.size)
    dtype = dtypes.uint8 if t.dtype is dtypes.bool_ else t.dtype
    compared = accumulator(dtype)
    scalar = type_name(compared)

    def better(e: ThreadCode, value: str, best: str) -> str:
        found = compare(e, "ge" if node.op.name == "cummax" else "le", compared, value, best)
        return e.ins(f"or i1 {found}, {e.ins(f'fcmp uno {scalar} {value}, {value}')}") if compared.is_float else found

    def work(e: ThreadCode, line: str) -> None:
        def one(k: str, now: list[str]) -> list[str]:
            place = lines.place(e, line, k)
            value = e.cast(e.get(dtype, e.source(0), place), dtype, compared)
            new = e.ins(f"or i1 {e.compare('eq', k, 0)}, {better(e, value, now[0])}")
            best = e.ins(f"select i1 {new}, {scalar} {value}, {scalar} {now[0]}")
            at = e.choose(new, k, now[1])
            e.put(dtype, e.cast(best, compared, dtype), e.result(0), place)
            e.put(dtypes.int64, e.widened(at), e.result(1), place)
            return [best, at]

        e.turns((0, lines.n, 1), [(scalar, literal(0, compared)), (kind, "0")], one)

    builder = KernelBuilder(node.op.name, [t], results(node), target=target)
    builder.units(lines.lines, kind, work)
    return builder.made()


_MAKERS: dict[str, Callable[[Node, GpuTarget], GpuKernel]] = {
    "cumsum": _total,
    "cumprod": _total,
    "linear_recurrence": _recurrence,
    "cummax": _extreme,
    "cummin": _extreme,
}
