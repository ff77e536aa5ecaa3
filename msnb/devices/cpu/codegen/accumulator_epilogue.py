"""What is made of a kernel's accumulators, when all rows are through.

Threads that share out the rows have an accumulator each; a function of its own adds them up (``k.last``). Where threads
share out the places of the result, each has its sums alone and stores them itself, in the loops of the kernel's body.
"""

from __future__ import annotations

from functools import partial

from msnb.core import int64, is_symbolic
from msnb.devices.cpu.codegen.kernel_schedule import KernelSchedule, Scratch
from msnb.devices.llvm import Emitter, combine, emit, identity, memory_name, type_name
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel


def size_operand(e: Emitter, kernel: Kernel, n: int) -> str:
    """A size as an operand of instructions: a number, or what is loaded once where it is written down."""
    if not is_symbolic(n):
        return str(n)
    name = f"%n{kernel.number(n, int64)}"
    line = f"  {name} = load i64, ptr {name.replace('n', 'b')}"
    if line not in e.entry:
        e.entry.append(line)
    return name


class AccumulatorEpilogue:
    """Adds up accumulators and stores what was made of them.

    Args:
        plan: of the kernel.
        e: where the instructions go.
        at: the counters of the dims that are shared out, where a thread has whole sums.
    """

    plan: KernelSchedule
    e: Emitter
    at: dict[int, str]

    def __init__(self, plan: KernelSchedule, e: Emitter, at: dict[int, str]) -> None:
        self.plan, self.kernel, self.e, self.at = plan, plan.kernel, e, at
        self.known: dict[int, str] = {}

    def stores(self) -> None:
        """The loops."""
        for access, value in self.plan.sweeps.final_stores:
            self._nest(access, value, [d for d, s in enumerate(access.strides) if s and d not in self.at], self.at)

    def _nest(self, access: Access, value: Inst, dims: list[int], at: dict[int, str]) -> None:
        if not dims:
            self._point(access, value, at)
            return
        d, size = dims[0], self.kernel.sizes[dims[0]]
        lanes = self.plan.target.lanes
        alike = all(memory.strides[d] == 1 for memory in self.plan.scratch.accs.values())
        if len(dims) > 1 or access.strides[d] != 1 or not alike:
            lanes = 1

        def turn(i: str, _: list[str], lanes: int) -> list[str]:
            self.e.lanes = lanes
            self._nest(access, value, dims[1:], {**at, d: i})
            self.e.lanes = 1
            return []

        end = size_operand(self.e, self.kernel, size)
        cut = str(size - size % lanes) if type(size) is int else self.e.i64("and", end, -lanes)
        for low, high, width in (("0", cut, lanes), (cut, end, 1)):
            if low != high:
                self.e.loop((low, high, width), [], partial(turn, lanes=width))

    def _point(self, access: Access, value: Inst, at: dict[int, str]) -> None:
        kind = memory_name(value.dtype)
        pointer = self.e.ins(f"getelementptr {kind}, ptr %b{access.buffer}, i64 {self._index(access.strides, at)}")
        self.known = {}
        self.e.store(value.dtype, self._value(value, at), pointer)

    def _index(self, strides: tuple[int, ...], at: dict[int, str]) -> str:
        total = "0"
        for d, i in at.items():
            if strides[d]:
                term = self.e.ins(f"mul nsw i64 {i}, {size_operand(self.e, self.kernel, strides[d])}")
                total = self.e.ins(f"add nsw i64 {total}, {term}")
        return total

    def _value(self, inst: Inst, at: dict[int, str]) -> str:
        if inst.op == "const":
            return self.e.literal(inst.attr, inst.dtype)
        if inst.op == "load":
            return self._number(inst)
        if id(inst) not in self.known:
            made = id(inst) in self.plan.scratch.accs
            found = self._sum(inst, at) if made else emit(self.e, inst, [self._value(a, at) for a in inst.args])
            self.known[id(inst)] = found
        return self.known[id(inst)]

    def _number(self, inst: Inst) -> str:
        """A number of the kernel, in all lanes."""
        lanes, self.e.lanes = self.e.lanes, 1
        found, self.e.lanes = self.e.load(inst.dtype, f"%b{inst.attr.buffer}"), lanes
        return self.e.splat(type_name(inst.dtype), found)

    def _sum(self, inst: Inst, at: dict[int, str]) -> str:
        memory, lanes = self.plan.scratch.wide.get(id(inst), self.plan.scratch.accs[id(inst)]), self.e.lanes
        if self.plan.shared:
            return self._mine(inst, memory, at)
        index = self._index(memory.strides, at)
        first = self.e.const(identity(inst.attr.kind, memory.dtype), type_name(memory.dtype))

        def one(t: str, now: list[str]) -> list[str]:
            skip = self.e.ins(f"mul nsw i64 {t}, {size_operand(self.e, self.kernel, self.plan.scratch.bytes)}")
            offset = size_operand(self.e, self.kernel, memory.offset)
            found = self._load(memory, index, self.e.ins(f"add nsw i64 {skip}, {offset}"))
            return [combine(self.e, inst.attr.kind, memory.dtype, now[0], found)]

        total = self.e.loop(("0", "%threads", 1), [(self.e.t(type_name(memory.dtype)), first)], one)[0]
        self.e.lanes = lanes
        return total if memory.dtype is inst.dtype else self.e.cast(total, memory.dtype, inst.dtype)

    def _mine(self, inst: Inst, memory: Scratch, at: dict[int, str]) -> str:
        """The sum of a thread that has made all of it."""
        offset = size_operand(self.e, self.kernel, memory.offset)
        found = self._load(memory, self._index(memory.strides, at), offset)
        return found if memory.dtype is inst.dtype else self.e.cast(found, memory.dtype, inst.dtype)

    def _load(self, memory: Scratch, index: str, offset: str) -> str:
        kind, base = memory_name(memory.dtype), self.e.ins(f"getelementptr i8, ptr %scratch, i64 {offset}")
        return self.e.load(memory.dtype, self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {index}"))
