"""sort and top_k of short lines: every thread has an element and counts those that come before it.

    line      2.0  -1.0  nan   2.0           keys: whole numbers in the same order, NaN above all, -0 as 0
    rank        1     0    3     2           equal ones keep their order, in both directions
    result   -1.0   2.0  2.0   nan           each thread writes its element where its rank says

A block has one line in shared memory, where all threads read the same key at once. Long lines are left to others.
"""

from __future__ import annotations

from msnb.core import dtypes
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import are_real, operands, results
from msnb.devices.gpu.kernels.lines.line_layout import Lines, lines_of
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm.emitter import literal, type_name
from msnb.ir.graph import Node

LONGEST = 1024


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How sort and top_k of short lines run."""
    if node.op.name not in ("sort", "top_k") or not are_real(operands(node)):
        return None
    (t,) = operands(node)
    if t.weak or not t.shape or lines_of(t, node.attrs["axis"]).n > LONGEST:
        return None
    return LoweredNode(list(node.inputs), [KernelPart(LineSort(node).builder.made(), [0], [0, 1])])


class LineSort:
    """The function of one node."""

    def __init__(self, node: Node) -> None:
        (t,), (values, _) = operands(node), results(node)
        self.dtype: dtypes.DType = dtypes.uint8 if t.dtype is dtypes.bool_ else t.dtype
        self.lines: Lines = lines_of(t, node.attrs["axis"])
        self.kept: Lines = lines_of(values, node.attrs["axis"])
        self.falling: bool = bool(node.attrs.get("descending", node.attrs.get("largest", False)))
        wide = self.dtype.itemsize == 8 or (self.dtype.itemsize == 4 and not self.dtype.signed)
        self.key: dtypes.DType = dtypes.int64 if wide else dtypes.int32
        self.builder: KernelBuilder = KernelBuilder(node.op.name, [t], results(node))
        e = self.builder.function(counter_kind(t.size), -(-self.lines.n // 32) * 32)
        self._line(e)
        self.builder.launch(e, self.lines.lines)

    def _line(self, e: ThreadCode) -> None:
        n, thread, line = self.lines.n, e.thread(), e.block_number()
        shared = e.shared(n * self.key.itemsize)
        inside = e.compare("slt", thread, n) if e.threads != n else ""
        at = e.choose(inside, thread, 0) if inside else thread
        value = e.get(self.dtype, e.source(0), self.lines.place(e, line, at))
        key = self._ordered(e, value)
        if inside:
            e.when(inside, lambda: e.put(self.key, key, shared, thread))
        else:
            e.put(self.key, key, shared, thread)
        e.barrier()
        rank = self._rank(e, shared, key, thread)

        def write() -> None:
            place = self.kept.place(e, line, rank)
            e.put(self.dtype, value, e.result(0), place)
            e.put(dtypes.int64, e.widened(thread), e.result(1), place)

        test = e.both(inside, e.compare("slt", rank, self.kept.n) if self.kept.n < n else "")
        if test:
            e.when(test, write)
        else:
            write()

    def _rank(self, e: ThreadCode, shared: str, key: str, thread: str) -> str:
        kind, before = type_name(self.key), "sgt" if self.falling else "slt"

        def one(j: str, now: list[str]) -> list[str]:
            other = e.get(self.key, shared, j)
            equal = e.ins(f"icmp eq {kind} {other}, {key}")
            earlier = e.ins(f"and i1 {equal}, {e.compare('slt', j, thread)}")
            ahead = e.ins(f"or i1 {e.ins(f'icmp {before} {kind} {other}, {key}')}, {earlier}")
            return [e.count("add", now[0], e.ins(f"zext i1 {ahead} to {e.kind}"))]

        return e.turns((0, self.lines.n, 1), [(e.kind, "0")], one)[0]

    def _ordered(self, e: ThreadCode, value: str) -> str:
        """A whole number that stands for a value: in the same order, equal for equal ones."""
        kind = type_name(self.key)
        if not self.dtype.is_float:
            wide = e.cast(value, self.dtype, self.key)
            return e.ins(f"xor i64 {wide}, {-(2**63)}") if self.dtype is dtypes.uint64 else wide
        real: dtypes.DType = dtypes.float64 if self.dtype is dtypes.float64 else dtypes.float32
        scalar, top = type_name(real), 8 * real.itemsize - 1
        x = e.cast(value, self.dtype, real)
        zero = e.ins(f"fcmp oeq {scalar} {x}, {literal(0, real)}")
        x = e.ins(f"select i1 {zero}, {scalar} {literal(0, real)}, {scalar} {x}")
        nan = e.ins(f"fcmp uno {scalar} {x}, {x}")
        bits = e.ins(f"bitcast {scalar} {x} to {kind}")
        flips = e.ins(f"and {kind} {e.ins(f'ashr {kind} {bits}, {top}')}, {2**top - 1}")
        return e.ins(f"select i1 {nan}, {kind} {2**top - 1}, {kind} {e.ins(f'xor {kind} {bits}, {flips}')}")
