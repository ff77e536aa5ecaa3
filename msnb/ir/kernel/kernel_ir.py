"""Kernel IR: a group of nodes as loops over one index space, for any device to render.

    kernel softmax(i0 < 32, i1 < 1000 row)          two dims; i1 is the row: what lies along it is worked on together
      %0 = load a0[1000 i0 + i1] : f32              an instruction has a value at every point of the dims it depends on
      %1 = reduce max %0 over i1 : f32              ... so this one has a value per i0
      %2 = sub %0 %1 : f32
      %3 = exp %2 : f32
      %4 = reduce sum %3 over i1 : f32
      %5 = div %3 %4 : f32
      store b0[1000 i0 + i1] = %5

An instruction knows its level: how many row reductions lie before it. Level 0 can be computed in the first sweep along
the row, level 1 in the second, and so on; a renderer makes one loop per level and recomputes (or keeps) what several
sweeps read. A reduction over other dims than the row has no reader in its kernel: it is accumulated and stored at the
end. Buffers are dense; an index is a sum of strides times loop counters plus an offset, which is how broadcasts,
transposes and slices are absorbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msnb.core import DType, SymbolicInt, trace_of


class Inst:
    """One instruction.

    Attributes:
        op: "load", "const", "cast", "reduce", or a scalar function ("add", "exp", "select" ...).
        args: the instructions it reads.
        dtype: of its value.
        attr: load: an Access; const: the Python number; reduce: a Reduction.
        dims: the dims on which its value depends.
        level: how many row reductions lie before it.
    """

    __slots__ = ("args", "attr", "dims", "dtype", "level", "op")

    def __init__(
        self, op: str, args: Sequence[Inst], dtype: DType, attr: Any = None, dims: frozenset[int] = frozenset()
    ) -> None:
        self.op: str = op
        self.dtype: DType = dtype
        self.attr: Any = attr
        self.args: tuple[Inst, ...] = tuple(args)
        self.dims: frozenset[int] = dims.union(*(a.dims for a in self.args))
        self.level: int = max((a.level for a in self.args), default=0)
        if op == "reduce":
            self.dims = self.dims - attr.over
            self.level += 1

    def __repr__(self) -> str:
        return f"<{self.op}: {self.dtype.short}>"


@dataclass(frozen=True)
class Access:
    """Where in buffer number ``buffer``: ``offset + sum of strides[d] * i_d``, counted in elements."""

    buffer: int
    strides: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True)
class Reduction:
    """``kind`` (sum, prod, max, min, any, all) over dims."""

    kind: str
    over: frozenset[int]


@dataclass(frozen=True)
class Buffer:
    """An operand or result: dense, of ``size`` elements."""

    dtype: DType
    size: int

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        return self.size * self.dtype.itemsize


@dataclass
class Kernel:
    """A loop nest.

    Attributes:
        name: for people and profilers.
        sizes: of the dims, outermost first.
        row: the dims of the row (the others are outer dims: independent iterations).
        reads, writes: buffers; accesses number the reads first.
        stores: (where, what); the value may lack dims, then it is stored where their counters are 0 unless the access
            strides over them.
        numbers: buffers of one element behind all others: numbers that come of sizes that are written down
            (``core.symbolic_int``), which so are in no code.
        shifts: by buffer, how many elements behind its beginning the caller lets it begin (``take_offsets``).
    """

    name: str
    sizes: tuple[int, ...]
    row: frozenset[int]
    reads: list[Buffer]
    writes: list[Buffer]
    stores: list[tuple[Access, Inst]] = field(default_factory=list)
    numbers: list[tuple[SymbolicInt, DType]] = field(default_factory=list)
    shifts: dict[int, int] = field(default_factory=dict)

    def take_offsets(self) -> Kernel:
        """Leave offsets to the caller, where a buffer has one: kernels that differ in offsets alone have one code."""
        loads = [i for i in self.insts() if i.op == "load"]
        met: dict[int, list[int]] = {}
        for access in (*(i.attr for i in loads), *(a for a, _ in self.stores)):
            met.setdefault(access.buffer, []).append(access.offset)
        once = {b: found[0] for b, found in met.items() if len(found) == 1}
        self.shifts = {b: n for b, n in once.items() if type(n) is not int or n}  # a size that changes is no question
        for load in loads:
            load.attr = self._shifted(load.attr)
        self.stores = [(self._shifted(a), v) for a, v in self.stores]
        return self

    def _shifted(self, access: Access) -> Access:
        return replace(access, offset=0) if access.buffer in self.shifts else access

    @property
    def buffers(self) -> list[Buffer]:
        """Reads, then writes, then numbers."""
        return [*self.reads, *self.writes, *(Buffer(dtype, 1) for _, dtype in self.numbers)]

    def number(self, value: SymbolicInt, dtype: DType) -> int:
        """The buffer that holds a number."""
        names = [(n.name, d) for n, d in self.numbers]
        if (value.name, dtype) not in names:
            names.append((value.name, dtype))
            self.numbers.append((value, dtype))
        return len(self.reads) + len(self.writes) + names.index((value.name, dtype))

    @property
    def is_traced(self) -> bool:
        """True where a size is written down (``core.symbolic_int``): it is the kernel of many sizes."""
        return trace_of([self.sizes, [b.size for b in self.buffers]]) is not None

    def along(self, inst: Inst) -> bool:
        """True where a value changes along the row."""
        return bool(inst.dims & self.row)

    def walks(self, access: Access, value: Inst) -> bool:
        """True for what is stored along the row."""
        return self.along(value) or any(access.strides[d] for d in self.row)

    def insts(self) -> list[Inst]:
        """Every instruction, operands before readers."""
        seen: dict[int, Inst] = {}
        for _, root in self.stores:
            _visit(root, seen)
        return list(seen.values())

    def __str__(self) -> str:
        return print_kernel(self)


def _visit(root: Inst, seen: dict[int, Inst]) -> None:
    """Depth first without recursion: chains may be long."""
    stack: list[tuple[Inst, bool]] = [(root, False)]
    while stack:
        inst, ready = stack.pop()
        if id(inst) in seen:
            continue
        if ready or not inst.args:
            seen[id(inst)] = inst
        else:
            stack.append((inst, True))
            stack.extend((a, False) for a in reversed(inst.args))


def _index(access: Access, letter: str, first: int) -> str:
    terms = [f"i{d}" if s == 1 else f"{s} i{d}" for d, s in enumerate(access.strides) if s]
    terms += [str(access.offset)] if access.offset or not terms else []
    return f"{letter}{access.buffer - first}[{' + '.join(terms)}]"


def print_kernel(kernel: Kernel) -> str:
    """The kernel as text."""
    numbers: dict[int, int] = {}
    dims = ", ".join(f"i{d} < {n}{' row' if d in kernel.row else ''}" for d, n in enumerate(kernel.sizes))
    lines = [f"kernel {kernel.name}({dims})"]
    for inst in kernel.insts():
        numbers[id(inst)] = len(numbers)
        lines.append(f"  %{numbers[id(inst)]} = {_text(inst, numbers)} : {inst.dtype.short}")
    for access, inst in kernel.stores:
        lines.append(f"  store {_index(access, 'b', len(kernel.reads))} = %{numbers[id(inst)]}")
    return "\n".join(lines)


def _text(inst: Inst, numbers: dict[int, int]) -> str:
    args = " ".join(f"%{numbers[id(a)]}" for a in inst.args)
    if inst.op == "load":
        return f"load {_index(inst.attr, 'a', 0)}"
    if inst.op == "const":
        return f"const {inst.attr!r}"
    if inst.op == "reduce":
        over = ",".join(f"i{d}" for d in sorted(inst.attr.over))
        return f"reduce {inst.attr.kind} {args} over {over}"
    return f"{inst.op} {args}"
