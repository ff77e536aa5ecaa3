"""A kernel as LLVM functions, around the loops of ``render``; ``frames`` calls them.

    k.body(table, scratch, stream, begin, end)      the loops over rows begin..end, for one thread
    k.last(table, scratch, threads)                 adds up the accumulators of all threads and stores them

``table`` holds the data pointers of the buffers; ``stream``: large results may be stored past the caches.
"""

from __future__ import annotations

from msnb.devices.cpu.codegen.accumulator_epilogue import AccumulatorEpilogue, size_operand
from msnb.devices.cpu.codegen.kernel_schedule import KernelSchedule
from msnb.devices.cpu.codegen.loop_renderer import Body
from msnb.devices.cpu.llvm.target import Target
from msnb.devices.llvm.emitter import Emitter
from msnb.ir.kernel.kernel_ir import Kernel


def render(kernel: Kernel, symbol: str, attributes: str, target: Target) -> tuple[str, dict[str, str], KernelSchedule]:
    """The functions of a kernel as text, the declarations they need, and the plan."""
    plan = KernelSchedule(kernel, target)
    body, last = Body(plan), Emitter(scalef=plan.target.scalef)
    memories = [*plan.scratch.accs.values(), *plan.scratch.caches.values(), *plan.scratch.wide.values()]
    for i, offset in enumerate([size_operand(body.e, kernel, m.offset) for m in memories]):
        body.e.entry.append(f"  %s{i} = getelementptr i8, ptr %scratch, i64 {offset}")
    functions = [(f"void @{symbol}.body(ptr %table, ptr %scratch, i1 %stream, i64 %begin, i64 %end)", body.lines())]
    if plan.gathers:
        AccumulatorEpilogue(plan, last, {}).stores()
        last.do("ret void")
        head = f"void @{symbol}.last(ptr %table, ptr %scratch, i64 %threads)"
        functions.append((head, [*last.entry, *last.lines]))
    pointers = _pointers(len(kernel.buffers))  # of the numbers too that the functions have asked for
    parts = [_function(head, [*pointers, *lines], attributes) for head, lines in functions]
    return "\n".join(parts), {**body.e.declared, **last.declared}, plan


def _pointers(count: int) -> list[str]:
    """Names for the buffers."""
    lines = []
    for i in range(count):
        lines += [f"  %t{i} = getelementptr ptr, ptr %table, i64 {i}", f"  %b{i} = load ptr, ptr %t{i}"]
    return lines


def _function(head: str, lines: list[str], attributes: str) -> str:
    return "\n".join([f"define {head} {attributes} {{", "entry:", *lines, "}"])
