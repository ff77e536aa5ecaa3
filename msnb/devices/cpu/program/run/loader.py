"""A program in memory: its image with everything that its table points to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from msnb.core import Array, StackType, TensorType
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.program_image import FIXED, Image, ProgramTable
from msnb.devices.cpu.program.run.argument_binding import Binding
from msnb.devices.cpu.program.run.host_steps import HostStep, host_steps
from msnb.ir import Const, Node


class Result(NamedTuple):
    """A result that the program writes: see ``image.Fresh``, in NumPy's terms."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    size: int
    lender: int
    state: bool


class LoadedTable:
    """The table of a program with addresses in it; words and what they point to live as long as it does.

    Attributes:
        rows: the instructions; several: some parts were made for several threads, and wait for them.
    """

    def __init__(self, table: ProgramTable) -> None:
        self.rows, self._words, self._links = table.rows.copy(), table.words.copy(), table.links
        self.several: bool = any(link.threads > 1 for link in table.links)
        found = [link.words() for link in table.links]
        for at, k in table.word_links:
            self._words[at : at + len(found[k])] = found[k]
        for row, k in table.row_links:
            self.rows[row, 1] = found[k][0]
        calls = self.rows[:, 0] == m.KERNEL
        self.rows[calls, 2] = self._words.ctypes.data + 8 * self.rows[calls, 2]


class LoadedProgram:
    """A program, ready for the interpreter.

    Args:
        device: the CPU.
        image: the program.
        origin: the node of a step in Python, as the user's program has it (for errors).

    Attributes:
        table, slots, env: what it is given; pointers into the arena are missing until there is one.
        fresh: results to be made; answers: per output, what it is (FRESH, PARAM, FIXED) and which.
        steps: what runs in Python.
        several: whether parts of it were made for several threads, and wait for them.
    """

    answers: list[tuple[int, Any]]
    cores: int

    def __init__(self, device: Any, image: Image, origin: Callable[[int], Node]) -> None:
        self.image = image
        slots, counters, pools = image.counts
        self.slots = np.zeros(max(slots, 1), np.int64)
        self.env = np.zeros(m.FREE + counters + pools, np.int64)
        self.env[m.PAUSE] = m.PAUSE_NS
        self.table: LoadedTable = LoadedTable(image.table)
        self.several: bool = self.table.several
        self.steps: list[HostStep] = host_steps(device, image.steps, origin)
        self.arena_slots = np.array([s for s, _ in image.arena], np.int64)
        self.arena_offsets = np.array([o for _, o in image.arena], np.int64)
        self.fresh: list[Result] = [
            Result(f.slot, f.type.ints(), f.type.dtype.numpy, f.type.nbytes, f.lender, f.state) for f in image.fresh
        ]
        known: dict[int, Any] = {}
        self.answers = [(k, _fixed(device, w, known) if k == FIXED else w) for k, w in image.answers]
        self._held: list[Array] = []
        self._outside(image)
        self.binding: Binding = Binding(image, self.slots)
        self.machine, self.cores = m.machine(), thread_pool.cores()
        self.where: tuple[int, int, int] = self.table.rows.ctypes.data, self.slots.ctypes.data, self.env.ctypes.data

    def _outside(self, image: Image) -> None:
        """Pointers that never change: constants, empty stacks."""
        for slot, const in image.consts:
            t = const.type
            data = np.array(const.data, t.dtype.numpy) if t.weak else const.data
            self._point(slot, np.asarray(data, order="C").reshape(t.ints()))
        for slot, type_ in image.bottoms:
            self._point(slot, self._bottom(type_))

    def _point(self, slot: int, array: Array) -> None:
        self._held.append(array)
        self.slots[slot] = array.ctypes.data

    def _bottom(self, t: StackType) -> Array:
        """The node below all others: below itself, zeros (or an empty stack) in it."""
        size = t.element.nbytes if isinstance(t.element, TensorType) else 8
        node = np.zeros(-(-(m.HEADER + size) // 8) + 1, np.int64)
        node[0] = node.ctypes.data
        if isinstance(t.element, StackType):
            inner = self._bottom(t.element)
            self._held.append(inner)
            node[m.HEADER // 8] = inner.ctypes.data
        return node


def _fixed(device: Any, const: Const | None, known: dict[int, Any]) -> Any:
    """A constant that is a result: the same object at every call."""
    if const is None:
        return None
    if id(const) not in known:
        known[id(const)] = const.data if const.type.weak else device.from_host(np.asarray(const.data))
    return known[id(const)]
