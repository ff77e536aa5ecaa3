"""A generated GPU kernel: its functions as LLVM text, and how they are launched.

A kernel is one function, or two where sums are split over blocks: the second adds up what the blocks left in the
workspace. ``Launch.operands`` number the kernel's buffers, reads first; behind them comes the workspace. A kernel that
can meet a wrong index has two operands more: the device's fault word, and the number under which the node is known
there, which is passed as if it were an address (``msnb.devices.gpu.faults``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msnb.base import MsnbError
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel

Size3 = tuple[int, int, int]
FAULT, TAG = -1, -2
"""Operands that are no buffers: the address of the fault word, the number of the first of a kernel's faults."""


@dataclass(frozen=True)
class Launch:
    """One launch of a function.

    Attributes:
        function: its name.
        grid, block: blocks, and threads a block.
        operands: the buffers that it is given, by number; or FAULT, TAG.
        shared_bytes: of shared memory that the function's text leaves open.
    """

    function: str
    grid: Size3
    block: Size3
    operands: tuple[int, ...]
    shared_bytes: int = 0


@dataclass
class GpuKernel:
    """A kernel's code.

    Attributes:
        kernel: the loop nest it was made from.
        text: its functions; declared: what they need; globals: its shared memory.
        launches: in order.
        workspace: bytes of temporary memory, the buffer behind the kernel's own.
        inplace: pairs (read, write) that may be one memory: a thread reads an element before it writes it, and nobody
            else reads it.
    """

    kernel: Kernel
    text: str
    declared: dict[str, str]
    launches: list[Launch]
    workspace: int = 0
    globals: list[str] = field(default_factory=list)
    inplace: list[tuple[int, int]] = field(default_factory=list)
    faults: tuple[Callable[[int], MsnbError], ...] = ()

    @property
    def buffers(self) -> int:
        """How many buffers the kernel itself has."""
        return len(self.kernel.reads) + len(self.kernel.writes)


def inplace_pairs(kernel: Kernel) -> list[tuple[int, int]]:
    """Pairs (read, write) whose elements are read and written by the same point alone, the read first."""
    count = len(kernel.reads)
    loads: list[list[Inst]] = [[] for _ in kernel.reads]
    for inst in kernel.insts():
        if inst.op == "load":
            loads[inst.attr.buffer].append(inst)
    return [
        (r, access.buffer - count)
        for access, value in kernel.stores
        if all(access.strides[d] or size == 1 for d, size in enumerate(kernel.sizes))
        for r in range(count)
        if _shares(kernel, r, access) and loads[r] and _walks_alike(loads[r], access) and _needs(value, loads[r])
    ]


def _shares(kernel: Kernel, read: int, access: Access) -> bool:
    """Whether two buffers are of one size."""
    a, b = kernel.reads[read], kernel.writes[access.buffer - len(kernel.reads)]
    return a.size == b.size and a.dtype.itemsize == b.dtype.itemsize


def _walks_alike(loads: list[Inst], access: Access) -> bool:
    return all((i.attr.strides, i.attr.offset) == (access.strides, access.offset) for i in loads)


def _needs(value: Inst, loads: list[Inst]) -> bool:
    """Whether a value is made of all these loads."""
    seen, stack = set[int](), [value]
    while stack:
        inst = stack.pop()
        if id(inst) not in seen:
            seen.add(id(inst))
            stack.extend(inst.args)
    return all(id(i) in seen for i in loads)


_NOTES = '!0 = !{!"branch_weights", i32 1, i32 2000}'


def module_text(kernels: Iterable[GpuKernel]) -> str:
    """Kernels and what they need as one module."""
    made = list(kernels)
    declared = {name: line for k in made for name, line in k.declared.items()}
    return "\n".join([*declared.values(), *(g for k in made for g in k.globals if g), *(k.text for k in made), _NOTES])


def symbol_of(kernel: Kernel, target: GpuTarget) -> str:
    """The name of a kernel's function: equal for equal kernels for one kind of GPU."""
    text = f"{target} {kernel}" + "".join(f" {b.dtype.short}[{b.size}]" for b in kernel.buffers)
    return f"k{hashlib.sha256(text.encode()).hexdigest()[:16]}"
