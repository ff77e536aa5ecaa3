"""A program as data: all that the interpreter needs, before it has addresses.

    graph --build--> Image --load--> a program in memory          (built now)
                       |  ^
                     disk.write / disk.read                       (built by an earlier process)

Every program goes through its Image, whether it was built a moment ago or last week, so there is one way to load.

    rows    KERNEL  0  k  ...         0: row_links says which link is the function
    words   .... k: 5 7 0 0 0 ...     0 0 0: word_links says which link fills these
    links   a function of a library by name, a primitive of oneDNN by its description ...
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msnb.core import DType, StackType, TensorType
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu.native_kernel import Relocation
from msnb.ir import Const, Node

FRESH, PARAM, FIXED = range(3)


class Fresh(NamedTuple):
    """A result that the program writes: its slot, its type, whether it is state, and the param whose memory it may
    take, or -1."""

    slot: int
    type: TensorType
    lender: int
    state: bool


class Step(NamedTuple):
    """A node that runs in Python, and the slots of its operands and results (-1: it has none)."""

    node: Node
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass
class ProgramTable:
    """The instructions of a program and what they point to (see above).

    Attributes:
        rows: the instructions; words: operands of kernels.
        links: addresses that are known in memory only; row_links, word_links: (where one belongs, its number).
    """

    rows: NDArray[np.int64]
    words: NDArray[np.int64]
    links: list[Relocation]
    row_links: list[tuple[int, int]]
    word_links: list[tuple[int, int]]

    @property
    def nbytes(self) -> int:
        """Bytes of it, links not counted."""
        return self.rows.nbytes + self.words.nbytes


@dataclass
class Image:
    """A program.

    Attributes:
        table: the instructions.
        counts: how many slots, counters and free lists it has.
        peak: bytes of the arena; swaps: pointers into it are exchanged while it runs.
        arena: (slot, offset in the arena).
        tensors: (param, its slot or -1, type); numbers: (param, slot or -1, dtype) of Python numbers.
        consts: (slot, constant); bottoms: (slot, type of the empty stack).
        fresh: results that are made; answers: per output, what it is and which: FRESH and its number, PARAM and the
            param's, FIXED and the constant (or None).
        steps: what runs in Python.
        forms: the blocks of params whose values lie in blocks, by position (``core.storage.packed_storage``).
    """

    table: ProgramTable
    counts: tuple[int, int, int]
    peak: int
    swaps: bool
    arena: list[tuple[int, int]]
    params: int
    tensors: list[tuple[int, int, TensorType]] = field(default_factory=list)
    numbers: list[tuple[int, int, DType]] = field(default_factory=list)
    consts: list[tuple[int, Const]] = field(default_factory=list)
    bottoms: list[tuple[int, StackType]] = field(default_factory=list)
    fresh: list[Fresh] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    forms: dict[int, BlockedFormat] = field(default_factory=dict)
