"""The values of a kernel's instructions at the points of one thread.

A thread has ``lanes`` neighbouring points along the last dim. What changes along that dim is a vector, everything else
a number that is computed once and laid into all lanes where a vector meets it.

    %0 = load a0[64 i0 + i1]      i1 last: one load of 16 bytes
    %1 = load a1[i0]              a number
    %2 = add %0 %1                %1 in all lanes
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msnb.core import DType
from msnb.devices.gpu.codegen.device_maths import DeviceMaths
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm import emit, is_scalar, literal, memory_name, type_name
from msnb.ir.kernel import Access, Inst, Kernel, UnsupportedKernel

WIDEST = 16
"""Bytes of the widest access of a thread."""
_MODULAR = frozenset(("mod", "fdiv", "rem"))


def check(kernel: Kernel) -> None:
    """Refuse what has no code on the GPU.

    Raises:
        UnsupportedKernel: the operation, in words.
    """
    for inst in kernel.insts():
        if inst.op in _MODULAR and inst.args[0].dtype.is_float:
            raise UnsupportedKernel("a remainder of floats, for which the GPU has no code")


def lanes_of(kernel: Kernel) -> int:
    """How many neighbouring points a thread has: as many as fill an access of 16 bytes and divide the last dim."""
    last = kernel.sizes[-1]
    if any(is_scalar(i) for i in kernel.insts()):
        return 1
    accesses = [i.attr for i in kernel.insts() if i.op == "load"] + [a for a, _ in kernel.stores]
    buffers = kernel.buffers
    along = [buffers[a.buffer].dtype.itemsize for a in accesses if a.strides[-1] == 1]
    lanes = WIDEST // max(along, default=4)
    if max(along, default=4) == 4 and min(along, default=4) <= 2:
        lanes = 8
    while lanes > 1 and last % lanes:
        lanes //= 2
    return lanes


class PointValues:
    """Instructions at the points of one thread.

    Args:
        e: where they are written.
        kernel: whose instructions.
        lanes: how many neighbouring points along the last dim.
        index: the LLVM type of counters, i32 or i64.
        pointers: of the buffers, where they are not the arguments of the function.
        by_value: the reads that are arguments themselves, numbers and no memory.

    Attributes:
        at: the counter of each dim, for the first of the points.
        numbers, vectors: what is known: values of one number, and of all lanes.
    """

    pointers: Sequence[str] | list[str]

    def __init__(
        self, e: ThreadEmitter, kernel: Kernel, lanes: int, index: str, pointers: Sequence[str] = (),
        by_value: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.e: ThreadEmitter = e
        self.kernel: Kernel = kernel
        self.lanes: int = lanes
        self.kind: str = index
        self.by_value: Collection[int] = by_value
        self.pointers = pointers or [f"%b{i}" for i in range(len(kernel.reads) + len(kernel.writes))]
        self.buffers = kernel.buffers
        self.at: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        self.vectors: dict[int, str] = {}
        self.last: int = len(kernel.sizes) - 1

    # ---- counters ----

    def op(self, word: str, a: str, b: str | int) -> str:
        """Arithmetic of counters."""
        return self.e.ins(f"{word} {self.kind} {a}, {b}")

    def special(self, register: str) -> str:
        """A register of the GPU as a counter."""
        return self.narrow(self.e.special(register))

    def narrow(self, number: str) -> str:
        """An i64 as a counter."""
        return number if self.kind == "i64" else self.e.ins(f"trunc i64 {number} to i32")

    def move(self, number: str, dims: Sequence[int]) -> None:
        """Go to a point, given its number among all points of these dims."""
        for d in reversed(dims[1:]):
            size = self.kernel.sizes[d]
            self.at[d] = self.op("urem", number, size) if number != "0" else "0"
            number = self.op("udiv", number, size) if number != "0" else "0"
        if dims:
            self.at[dims[0]] = number

    def when(self, tests: Sequence[str], action: Callable[[], None]) -> None:
        """``action()`` where all tests hold."""
        test = self.all(tests)
        self.e.when(test, action) if test else action()

    # ---- places ----

    def sum(self, terms: Sequence[tuple[str, int]], start: int = 0) -> str:
        """start + sum of counter * stride."""
        found = str(start)
        for counter, stride in terms:
            if not stride or counter == "0":
                continue
            term = counter if stride == 1 else self.e.ins(f"mul nsw {self.kind} {counter}, {stride}")
            found = term if found == "0" else self.e.ins(f"add nsw {self.kind} {found}, {term}")
        return found

    def place(self, access: Access) -> str:
        """A pointer to the element of the first point."""
        walked = [(d, s) for d, s in enumerate(access.strides) if s and self.kernel.sizes[d] > 1]
        if any(d not in self.at for d, _ in walked):
            raise UnsupportedKernel("a value that is read behind the sums of its rows")
        index = self.sum([(self.at[d], s) for d, s in walked], access.offset)
        kind = memory_name(self.buffers[access.buffer].dtype)
        base = self.pointers[access.buffer]
        return base if index == "0" else self.e.ins(f"getelementptr inbounds {kind}, ptr {base}, {self.kind} {index}")

    def is_wide(self, access: Access) -> bool:
        """Whether the points of a thread lie in one aligned piece of memory."""
        outer = access.strides[:-1]
        return access.strides[-1] == 1 and not access.offset % self.lanes and not any(s % self.lanes for s in outer)

    # ---- values ----

    def is_vector(self, inst: Inst) -> bool:
        """Whether a value differs between the lanes."""
        return self.last in inst.dims

    def number(self, inst: Inst) -> str:
        """A value that is the same for all lanes."""
        if inst.op == "const":
            return literal(inst.attr, inst.dtype)
        if id(inst) not in self.numbers:
            lanes, self.e.lanes = self.e.lanes, 1
            self._need(inst, vector=False)
            self.e.lanes = lanes
        return self.numbers[id(inst)]

    def vector(self, inst: Inst) -> str:
        """A value in all lanes."""
        if inst.op == "const":
            return self.e.literal(inst.attr, inst.dtype)
        if not self.is_vector(inst):
            return self.e.splat(type_name(inst.dtype), self.number(inst))
        if id(inst) not in self.vectors:
            self._need(inst, vector=True)
        return self.vectors[id(inst)]

    def _need(self, root: Inst, vector: bool) -> None:
        """Compute what ``root`` needs, without recursion: chains may be long."""
        known = self.vectors if vector else self.numbers
        stack = [root]
        while stack:
            inst = stack[-1]
            missing = [a for a in inst.args if a.op != "const" and self._is_missing(a, vector)]
            if missing and inst.op != "load":
                stack.extend(missing)
                continue
            stack.pop()
            if id(inst) not in known:
                known[id(inst)] = self._compute(inst, vector)

    def _is_missing(self, inst: Inst, vector: bool) -> bool:
        if vector and self.is_vector(inst):
            return id(inst) not in self.vectors
        if not vector:
            return id(inst) not in self.numbers
        self.number(inst)
        return False

    def _compute(self, inst: Inst, vector: bool) -> str:
        if inst.op == "load":
            return self._load(inst) if vector else self._load_number(inst)
        if inst.op == "reduce":
            raise UnsupportedKernel("a reduction that is read before it is made")
        if vector and self.e.lanes > 1 and inst.op == "div" and self._has_one_divisor(inst):
            return DeviceMaths(self.e).quotients(self.vector(inst.args[0]), self.number(inst.args[1]))
        operands = [self.vector(a) if vector else self.number(a) for a in inst.args]
        return emit(self.e, inst, operands)

    def _has_one_divisor(self, inst: Inst) -> bool:
        """Whether a float32 quotient has one divisor for all lanes, which is no constant: LLVM knows those."""
        divisor = inst.args[1]
        return type_name(divisor.dtype) == "float" and divisor.op != "const" and not self.is_vector(divisor)

    def _load_number(self, inst: Inst) -> str:
        access: Access = inst.attr
        if access.buffer in self.by_value:
            return f"%a{access.buffer}"
        return self.e.read(inst.dtype, self.place(access))

    def _load(self, inst: Inst) -> str:
        access: Access = inst.attr
        pointer = self.place(access)
        if self.is_wide(access) or self.lanes == 1:
            return self.e.read(inst.dtype, pointer)
        lanes, self.e.lanes = self.e.lanes, 1
        parts = [self.e.read(inst.dtype, p) for p in self._each(inst.dtype, pointer, access.strides[-1])]
        self.e.lanes = lanes
        return self.e.joined(type_name(inst.dtype), parts)

    def _each(self, dtype: DType, pointer: str, stride: int) -> list[str]:
        kind = memory_name(dtype)
        steps = [str(k * stride) for k in range(1, self.lanes)]
        return [pointer, *(self.e.ins(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {s}") for s in steps)]

    # ---- stores ----

    def store(self, access: Access, value: Inst, name: str) -> None:
        """Store a vector (or, with one lane, a number) where an access says."""
        pointer = self.place(access)
        if self.is_wide(access) or self.e.lanes == 1:
            self.e.write(value.dtype, name, pointer)
            return
        if not access.strides[-1]:
            raise UnsupportedKernel("a store of many points into one")
        kind, places = type_name(value.dtype), self._each(value.dtype, pointer, access.strides[-1])
        parts = [self.e.part(kind, name, k) for k in range(self.lanes)]
        lanes, self.e.lanes = self.e.lanes, 1
        for place, part in zip(places, parts):
            self.e.write(value.dtype, part, place)
        self.e.lanes = lanes

    def put(self, access: Access, value: Inst, name: str) -> None:
        """Store a vector, or its first lane where all lanes have the same place."""
        if access.strides[-1] or self.lanes == 1:
            self.store(access, value, name)
        else:
            self.write(access, value, self.e.part(type_name(value.dtype), name, 0))

    def write(self, access: Access, value: Inst, name: str) -> None:
        """Store one number."""
        lanes, self.e.lanes = self.e.lanes, 1
        self.e.write(value.dtype, name, self.place(access))
        self.e.lanes = lanes

    def first_only(self, strides: Sequence[int], dims: Sequence[int]) -> str:
        """A test that the counters of dims without a stride are 0; "" where it always holds."""
        left = [d for d in dims if not strides[d] and self.kernel.sizes[d] > 1]
        return self.all([self.e.ins(f"icmp eq {self.kind} {self.at[d]}, 0") for d in left])

    def all(self, tests: Sequence[str]) -> str:
        """All tests hold; "" for none."""
        found = ""
        for test in tests:
            if test:
                found = test if not found else self.e.ins(f"and i1 {found}, {test}")
        return found


def index_kind(kernel: Kernel) -> str:
    """i32 where all counters and offsets fit, which is a quarter of the work."""
    total = 1
    for size in kernel.sizes:
        total *= size
    largest = max((b.size for b in kernel.buffers), default=1)
    return "i32" if max(total, largest) < 1 << 30 else "i64"
