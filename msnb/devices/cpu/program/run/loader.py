"""A program in memory: its image with everything that its table points to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msnb.core.types import StackType, TensorType
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.program_image import FIXED, Image
from msnb.devices.cpu.program.run.argument_binding import Binding
from msnb.devices.cpu.program.run.host_steps import HostStep, array_at, host_steps
from msnb.ir.builder import Const
from msnb.ir.graph import Node

Array = NDArray[Any]
_CELL = 64


class Result(NamedTuple):
    """A result that the program writes: see ``image.Fresh``, in NumPy's terms."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    size: int
    lender: int
    state: bool


class LoadedProgram:
    """A program, ready for the interpreter.

    Args:
        device: the CPU.
        image: the program.
        origin: the node of a step in Python, as the user's program has it (for errors).

    Attributes:
        table, slots, env: what it is given; pointers into the arena are missing until there is one.
        tensors: (param, slot, type); numbers: (param, its cell, address).
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
        self.stacks: slice[int, Any, Any] = slice(m.FREE + counters, None)
        self._link(image)
        self.steps: list[HostStep] = host_steps(device, image.steps, origin)
        self.arena_slots = np.array([s for s, _ in image.arena], np.int64)
        self.arena_offsets = np.array([o for _, o in image.arena], np.int64)
        self.fresh: list[Result] = [
            Result(f.slot, f.type.ints(), f.type.dtype.numpy, f.type.nbytes, f.lender, f.state) for f in image.fresh
        ]
        known: dict[int, Any] = {}
        self.answers = [(k, _fixed(device, w, known) if k == FIXED else w) for k, w in image.answers]
        self._outside(image)
        self.binding: Binding = Binding(self)
        self.machine, self.cores = m.machine(), thread_pool.cores()
        self.where: tuple[int, int, int] = self.table.ctypes.data, self.slots.ctypes.data, self.env.ctypes.data

    def _link(self, image: Image) -> None:
        """The table with addresses in it."""
        self.table, self._words, self._links = image.rows.copy(), image.words.copy(), image.links
        self.several: bool = any(link.threads > 1 for link in image.links)
        found = [link.words() for link in image.links]
        for at, k in image.word_links:
            self._words[at : at + len(found[k])] = found[k]
        for row, k in image.row_links:
            self.table[row, 1] = found[k][0]
        calls = self.table[:, 0] == m.KERNEL
        self.table[calls, 2] = self._words.ctypes.data + 8 * self.table[calls, 2]

    def _outside(self, image: Image) -> None:
        """Pointers that never change: constants, the cells of Python numbers, empty stacks."""
        self._held: list[Array] = []
        for slot, const in image.consts:
            t = const.type
            data = np.array(const.data, t.dtype.numpy) if t.weak else const.data
            self._point(slot, np.ascontiguousarray(data).reshape(t.ints()))
        self.cells = np.zeros((max(image.params, 1), _CELL // 8), np.int64)
        self.tensors: list[tuple[int, int, TensorType]] = image.tensors
        self.numbers: list[tuple[int, Array, int]] = []
        for i, slot, dtype in image.numbers:
            address = self.cells.ctypes.data + i * _CELL
            self.numbers.append((i, array_at(address, (), dtype.numpy), address))
            if slot >= 0:
                self.slots[slot] = address
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
