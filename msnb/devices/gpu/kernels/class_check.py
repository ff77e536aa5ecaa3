"""class_index: targets as they are, each looked at by one thread; one that is no class is noted in the fault word."""

from __future__ import annotations

from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import operands, results
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm.emitter import type_name
from msnb.ir.graph import Node
from msnb.ops.indexing.class_index import no_class


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How class_index runs."""
    if node.op.name != "class_index" or operands(node)[0].weak:
        return None
    (t,), classes, ignore = operands(node), node.attrs["classes"], node.attrs["ignore"]
    builder = KernelBuilder("class_index", [t], results(node), [lambda label: no_class(label, classes, ignore)])

    def work(e: ThreadCode, unit: str) -> None:
        raw = e.get(t.dtype, e.source(0), unit)
        kind = type_name(t.dtype)
        word = "sext" if t.dtype.signed else "zext"
        label = raw if kind == "i64" else e.ins(f"{word} {kind} {raw} to i64")
        outside = e.ins(f"icmp uge i64 {label}, {max(classes, 1)}")
        wrong = e.ins(f"and i1 {outside}, {e.ins(f'icmp ne i64 {label}, {ignore}')}")
        e.report(wrong, label)
        e.put(t.dtype, e.ins(f"select i1 {wrong}, {kind} 0, {kind} {raw}"), e.result(), unit)

    builder.units(t.size, counter_kind(t.size), work)
    builder.inplace = [(0, 0)]
    return LoweredNode(list(node.inputs), [KernelPart(builder.made(), [0], [0])])
