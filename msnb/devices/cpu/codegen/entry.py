"""A kernel as LLVM functions, around the loops of ``render``; ``frames`` calls them.

    k.body(table, scratch, stream, begin, end)      the loops over rows begin..end, for one thread
    k.last(table, scratch, threads)                 adds up the accumulators of all threads and stores them

``table`` holds the data pointers of the buffers; ``stream``: large results may be stored past the caches.
"""

from __future__ import annotations

from functools import partial

from msnb.devices.cpu.codegen.emit import Emitter, memory_name, type_name
from msnb.devices.cpu.codegen.ops import combine, emit, identity
from msnb.devices.cpu.codegen.plan import Plan
from msnb.devices.cpu.codegen.render import Body
from msnb.devices.cpu.codegen.target import Target
from msnb.ir.kernel import Access, Inst, Kernel


class Last:
    """Adds up accumulators and stores what was made of them."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.kernel, self.e = plan, plan.kernel, Emitter(scalef=plan.target.scalef)
        self.known: dict[int, str] = {}

    def lines(self) -> list[str]:
        """The instructions."""
        for access, value in self.plan.final_stores:
            self._nest(access, value, [d for d, s in enumerate(access.strides) if s], {})
        self.e.do("ret void")
        return [*self.e.entry, *self.e.lines]

    def _nest(self, access: Access, value: Inst, dims: list[int], at: dict[int, str]) -> None:
        if not dims:
            self._point(access, value, at)
            return
        d, size = dims[0], self.kernel.sizes[dims[0]]
        lanes = self.plan.target.lanes
        alike = all(self.plan.accs[id(i)].strides[d] == 1 for i in self.plan.insts if id(i) in self.plan.accs)
        if len(dims) > 1 or access.strides[d] != 1 or not alike:
            lanes = 1

        def turn(i: str, _: list[str], lanes: int) -> list[str]:
            self.e.lanes = lanes
            self._nest(access, value, dims[1:], {**at, d: i})
            self.e.lanes = 1
            return []

        cut = size - size % lanes
        for low, high, width in ((0, cut, lanes), (cut, size, 1)):
            if low < high:
                self.e.loop((str(low), str(high), width), [], partial(turn, lanes=width))

    def _point(self, access: Access, value: Inst, at: dict[int, str]) -> None:
        kind = memory_name(value.dtype)
        pointer = self.e.ins(f"getelementptr {kind}, ptr %b{access.buffer}, i64 {self._index(access.strides, at)}")
        self.known = {}
        self.e.store(value.dtype, self._value(value, at), pointer)

    def _index(self, strides: tuple[int, ...], at: dict[int, str]) -> str:
        total = "0"
        for d, i in at.items():
            if strides[d]:
                term = self.e.ins(f"mul nsw i64 {i}, {strides[d]}")
                total = self.e.ins(f"add nsw i64 {total}, {term}")
        return total

    def _value(self, inst: Inst, at: dict[int, str]) -> str:
        if inst.op == "const":
            return self.e.literal(inst.attr, inst.dtype)
        if id(inst) not in self.known:
            made = id(inst) in self.plan.accs
            found = self._sum(inst, at) if made else emit(self.e, inst, [self._value(a, at) for a in inst.args])
            self.known[id(inst)] = found
        return self.known[id(inst)]

    def _sum(self, inst: Inst, at: dict[int, str]) -> str:
        memory, lanes = self.plan.wide.get(id(inst), self.plan.accs[id(inst)]), self.e.lanes
        kind, index = memory_name(memory.dtype), self._index(memory.strides, at)
        first = self.e.const(identity(inst.attr.kind, memory.dtype), type_name(memory.dtype))

        def one(t: str, now: list[str]) -> list[str]:
            skip = self.e.ins(f"mul nsw i64 {t}, {self.plan.scratch}")
            start = self.e.ins(f"add nsw i64 {skip}, {memory.offset}")
            base = self.e.ins(f"getelementptr i8, ptr %scratch, i64 {start}")
            found = self.e.load(memory.dtype, self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {index}"))
            return [combine(self.e, inst.attr.kind, memory.dtype, now[0], found)]

        total = self.e.loop(("0", "%threads", 1), [(self.e.t(type_name(memory.dtype)), first)], one)[0]
        self.e.lanes = lanes
        return total if memory.dtype is inst.dtype else self.e.cast(total, memory.dtype, inst.dtype)


def render(kernel: Kernel, symbol: str, attributes: str, target: Target) -> tuple[str, dict[str, str], Plan]:
    """The functions of a kernel as text, the declarations they need, and the plan."""
    plan = Plan(kernel, target)
    body, last = Body(plan), Last(plan)
    head = f"void @{symbol}.body(ptr %table, ptr %scratch, i1 %stream, i64 %begin, i64 %end)"
    parts = [_function(head, [*_pointers(plan, True), *body.lines()], attributes)]
    if plan.final_stores:
        head = f"void @{symbol}.last(ptr %table, ptr %scratch, i64 %threads)"
        parts.append(_function(head, [*_pointers(plan, False), *last.lines()], attributes))
    return "\n".join(parts), {**body.e.declared, **last.e.declared}, plan


def _pointers(plan: Plan, scratch: bool) -> list[str]:
    """Names for the buffers, and for the parts of the scratch memory."""
    lines = []
    for i in range(len(plan.buffers)):
        lines += [f"  %t{i} = getelementptr ptr, ptr %table, i64 {i}", f"  %b{i} = load ptr, ptr %t{i}"]
    if scratch:
        memories = [*plan.accs.values(), *plan.caches.values(), *plan.wide.values()]
        lines += [f"  %s{i} = getelementptr i8, ptr %scratch, i64 {m.offset}" for i, m in enumerate(memories)]
    return lines


def _function(head: str, lines: list[str], attributes: str) -> str:
    return "\n".join([f"define {head} {attributes} {{", "entry:", *lines, "}"])
