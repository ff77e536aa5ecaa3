"""From the program's table of instructions to oneDNN, in machine code.

    words = [execute, set_handle, set_threads, forked, threads, primitive, stream, n, arguments,
             (memory, slot, offset) * n]

oneDNN hands data over in memory objects, so each instruction has memory objects of its own; the trampoline puts today's
data pointers into them (slots[slot] + offset) and runs the primitive. All addresses come in words: the compiled code
holds none and can lie in the cache on disk.

A primitive runs on as many threads as it was made for, whoever calls: its code for two waits for the second. libgomp
keeps threads per calling thread; those of a parent process are missing in its fork, where waiting for them would never
end. ``forked`` is the address of a flag that says so (``threads.FORKED``); the call fails then.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msnb.core import Symbolic
from msnb.devices.cpu import thread_pool as threads
from msnb.devices.cpu.llvm.jit import Library, Symbol
from msnb.devices.cpu.native_kernel import Relocation
from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.cpu.onednn.primitives import Primitive, described, made_again
from msnb.devices.cpu.onednn.symbolic_primitive import SymbolicPrimitive

_forked = threads.FORKED
_IR = """
define i32 @msnb_onednn(ptr noalias %slots, ptr noalias %words, ptr noalias %env) nounwind {
  %p3 = getelementptr i64, ptr %words, i64 3
  %flag = load ptr, ptr %p3
  %forked = load i64, ptr %flag
  %p4 = getelementptr i64, ptr %words, i64 4
  %threads = load i64, ptr %p4
  %several = icmp sgt i64 %threads, 1
  %child = icmp ne i64 %forked, 0
  %hangs = and i1 %several, %child
  br i1 %hangs, label %failed, label %begin
begin:
  %execute = load ptr, ptr %words
  %p1 = getelementptr i64, ptr %words, i64 1
  %set_handle = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %words, i64 2
  %set_threads = load ptr, ptr %p2
  %p5 = getelementptr i64, ptr %words, i64 5
  %primitive = load ptr, ptr %p5
  %p6 = getelementptr i64, ptr %words, i64 6
  %stream = load ptr, ptr %p6
  %p7 = getelementptr i64, ptr %words, i64 7
  %n = load i64, ptr %p7
  %p8 = getelementptr i64, ptr %words, i64 8
  %arguments = load ptr, ptr %p8
  %count = trunc i64 %threads to i32
  call void %set_threads(i32 %count)
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i1, %set ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %set, label %run
set:
  %at3 = mul i64 %i, 3
  %at = add i64 %at3, 9
  %q0 = getelementptr i64, ptr %words, i64 %at
  %memory = load ptr, ptr %q0
  %q1 = getelementptr i64, ptr %q0, i64 1
  %slot = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %q0, i64 2
  %offset = load i64, ptr %q2
  %s = getelementptr ptr, ptr %slots, i64 %slot
  %base = load ptr, ptr %s
  %data = getelementptr i8, ptr %base, i64 %offset
  %ignored = call i32 %set_handle(ptr %memory, ptr %data)
  %i1 = add i64 %i, 1
  br label %next
run:
  %n32 = trunc i64 %n to i32
  %status = call i32 %execute(ptr %primitive, ptr %stream, i32 %n32, ptr %arguments)
  %good = icmp eq i32 %status, 0
  %code = select i1 %good, i32 0, i32 3
  ret i32 %code
failed:
  ret i32 3
}
"""


class Operand(NamedTuple):
    """Where an argument's data is: a slot, and bytes to skip."""

    slot: int
    offset: int = 0


@functools.lru_cache(maxsize=1)
def function() -> Relocation:
    """The trampoline."""
    return Symbol(Library(_IR), "msnb_onednn")


_EXECUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class _Argument(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("memory", ctypes.c_void_p))


class PrimitiveRun(Relocation):
    """One run of a primitive: its memory objects, and the words for the trampoline.

    Args:
        primitive: what runs.
        operands: where the data of each argument is.
    """

    def __init__(self, primitive: Primitive, operands: dict[int, Operand]) -> None:
        self.api: c.Api = primitive.api
        self._primitive, self._operands = primitive, operands
        self._memories: list[int] = []
        for number in operands:
            self._memories.append(self.api.create("memory_create", primitive.desc(number), self.api.engine, None))
        self._arguments = (_Argument * len(operands))(*[_Argument(n, m) for n, m in zip(operands, self._memories)])
        places = [w for m, o in zip(self._memories, operands.values()) for w in (m, o.slot, o.offset)]
        head = (ctypes.addressof(_forked), primitive.threads, primitive.address, self.api.stream, len(operands))
        self._words = (*self.api.addresses, *head, ctypes.addressof(self._arguments), *places)
        self.width: int = len(self._words)
        self.threads: int = primitive.threads

    def words(self) -> Sequence[int]:
        """See the head of this file."""
        return self._words

    def data(self) -> tuple[Any, ...]:
        """The primitive's description, its threads, and per argument its number, slot and offset."""
        operands = tuple((n, *o) for n, o in self._operands.items())
        return "onednn", described(self._primitive.description), self._primitive.threads, operands

    @classmethod
    def again(cls, description: Any, threads: int, operands: Sequence[Sequence[int]]) -> PrimitiveRun:
        """A link from its data.

        Raises:
            LookupError: the library does not make such a primitive here.
        """
        return cls(made_again(description, threads), {n: Operand(slot, offset) for n, slot, offset in operands})

    def __del__(self) -> None:
        for memory in getattr(self, "_memories", ()):
            self.api.call("memory_destroy", memory)


class SymbolicRun(Relocation):
    """A run of a primitive for sizes that are written down.

    Attributes:
        again: stands for the ``PrimitiveRun`` of every size.
    """

    def __init__(self, primitive: SymbolicPrimitive, operands: dict[int, Operand]) -> None:
        trace, places = primitive.trace, tuple((n, *o) for n, o in operands.items())
        self.again: Symbolic = trace.call(_run, (primitive, places), functools.partial(Symbolic, trace))
        self.width: int = self.again.value.width
        self.threads: int = self.again.value.threads

    def data(self) -> tuple[Any, ...]:
        """For the sizes of now."""
        found: tuple[Any, ...] = self.again.value.data()
        return found


def _run(primitive: Primitive, places: Sequence[tuple[int, int, int]]) -> PrimitiveRun:
    return PrimitiveRun(primitive, {n: Operand(slot, offset) for n, slot, offset in places})


def run_of(primitive: Primitive, operands: dict[int, Operand]) -> Relocation:
    """One run of a primitive."""
    make: Any = SymbolicRun if isinstance(primitive, Symbolic) else PrimitiveRun
    return make(primitive, operands)  # type: ignore[no-any-return]


def run_copy(primitive: Primitive, source: NDArray[Any], offset: int) -> NDArray[np.uint8]:
    """Run a reorder at once.

    Args:
        primitive: the reorder; source: what it reads, from byte ``offset`` on.

    Returns:
        The bytes that it wrote; those that are padding are zero.
    """
    api, target = primitive.api, np.zeros(primitive.size(c.DST), np.uint8)
    places = {c.SRC: source.ctypes.data + offset, c.DST: target.ctypes.data}
    memories = {n: api.create("memory_create", primitive.desc(n), api.engine, p) for n, p in places.items()}
    try:
        given = (_Argument * len(memories))(*[_Argument(n, memory) for n, memory in memories.items()])
        api.set_threads(primitive.threads)
        status = _EXECUTE(api.addresses[0])(primitive.address, api.stream, len(memories), ctypes.addressof(given))
        if status:
            raise c.OneDNNError("primitive_execute", status)
    finally:
        for memory in memories.values():
            api.call("memory_destroy", memory)
    return target
