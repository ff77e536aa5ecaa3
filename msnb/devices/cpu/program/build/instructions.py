"""A program before memory is planned: instructions over buffers.

    Buffer      memory that one value (or several, after each other) lives in
    Place       a buffer and bytes from its start: reshapes and leading slices are places in the buffer of their source
    Instr       opcode, the places it reads and writes, numbers; kernels carry a recipe
    Loop        the instructions from ``start`` to ``end`` run again and again

Memory kinds: ``arena`` is planned; ``param``, ``result``, ``const`` and ``cell`` (a Python number as one element) come
from outside; ``pointer`` owns nothing, its pointer is set while the program runs (a row, the top of a stack, a stack).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.native_kernel import NativeKernel
from msnb.ir.graph import Node


class NotLowerable(Exception):
    """This graph cannot be laid out as one native program; the reason, in words."""


class InstructionLoop:
    """A stretch of instructions that repeats."""

    def __init__(self, parent: InstructionLoop | None, start: int) -> None:
        self.parent: InstructionLoop | None = parent
        self.start: int = start
        self.end: int = start


class MemoryBlock:
    """Memory.

    Attributes:
        size: bytes; kind: see the head of this file; index: which param, result, constant.
        name: of a value in it, for people.
        home: the loop in whose turn its value lives.
        valid: for a pointer set in a loop, the loop: what shares it must lie inside.
    """

    __slots__ = ("home", "index", "kind", "name", "size", "valid")

    def __init__(
        self, size: int, kind: str = "arena", name: str = "", home: InstructionLoop | None = None, index: int = 0
    ) -> None:
        self.size: int = size
        self.kind: str = kind
        self.name: str = name
        self.home: InstructionLoop | None = home
        self.index: int = index
        self.valid: InstructionLoop | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {self.size} bytes>"


class BufferRef(NamedTuple):
    """Where a value lies."""

    buffer: MemoryBlock
    offset: int = 0


class Label:
    """A place to jump to."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: int = -1


class Instruction:
    """One instruction; ``numbers`` hold what is neither read nor written: ints and labels."""

    __slots__ = ("also", "host", "loop", "node", "numbers", "op", "reads", "recipe", "temps", "writes")

    def __init__(
        self, op: int, reads: Sequence[BufferRef] = (), writes: Sequence[BufferRef] = (),
        numbers: Sequence[int | Label] = (), loop: InstructionLoop | None = None,
    ) -> None:  # fmt: skip
        self.op: int = op
        self.loop: InstructionLoop | None = loop
        self.reads: tuple[BufferRef, ...] = tuple(reads)
        self.writes: tuple[BufferRef, ...] = tuple(writes)
        self.numbers: tuple[int | Label, ...] = tuple(numbers)
        self.recipe: NativeKernel | None = None
        self.node: Node | None = None
        self.host: int = -1
        self.temps: tuple[BufferRef, ...] = ()
        self.also: tuple[BufferRef, ...] = ()

    def __repr__(self) -> str:
        name = m.NAMES[self.op] if self.node is None else f"{m.NAMES[self.op]} {self.node.op.name}"
        return f"<{name} {self.reads} -> {self.writes} {self.numbers}>"


class Step(NamedTuple):
    """What Python does when the program comes back: run a node on views of places."""

    node: Node
    reads: tuple[BufferRef | None, ...]
    writes: tuple[BufferRef | None, ...]


class InstructionList:
    """Instructions in the making."""

    counters: int

    def __init__(self) -> None:
        self.instrs: list[Instruction] = []
        self.steps: list[Step] = []
        self.loop: InstructionLoop | None = None
        self.counters = 0
        self.pools: dict[int, int] = {}

    def emit(self, op: int, reads: Sequence[BufferRef] = (), writes: Sequence[BufferRef] = (), *numbers: int | Label) -> Instruction:
        """Append an instruction."""
        made = Instruction(op, reads, writes, numbers, self.loop)
        self.instrs.append(made)
        return made

    def buffer(self, size: int, name: str = "", kind: str = "arena") -> MemoryBlock:
        """A buffer for a value that is made here."""
        return MemoryBlock(size, kind, name, self.loop)

    def pointer(self, size: int, name: str = "") -> MemoryBlock:
        """A slot whose pointer is set here, each time anew."""
        return MemoryBlock(size, "pointer", name, self.loop)

    def copy(self, dst: BufferRef, src: BufferRef, size: int) -> None:
        """Copy a value, unless it is there already."""
        if dst != src and size:
            self.emit(m.COPY, [src], [dst], size)

    def step(self, node: Node, reads: Sequence[BufferRef | None], writes: Sequence[BufferRef | None]) -> int:
        """Note a step for Python; returns its number."""
        self.steps.append(Step(node, tuple(reads), tuple(writes)))
        return len(self.steps) - 1

    def label(self, label: Label) -> None:
        """Here is where jumps to ``label`` go."""
        label.at = len(self.instrs)

    def begin_loop(self) -> InstructionLoop:
        """Instructions from here on belong to a loop."""
        self.loop = InstructionLoop(self.loop, len(self.instrs))
        return self.loop

    def end_loop(self) -> None:
        """The instruction before this point was the loop's last."""
        assert self.loop is not None
        self.loop.end = len(self.instrs) - 1
        self.loop = self.loop.parent

    def counter(self) -> int:
        """The number of a fresh counter."""
        self.counters += 1
        return self.counters - 1

    def pool(self, size: int) -> int:
        """The number of the free list for nodes of this size."""
        return self.pools.setdefault(size, len(self.pools))
