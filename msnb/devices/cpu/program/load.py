"""A program in memory: lowered, planned, encoded, with everything its table points to.

graph --Lowering--> tape --Plan--> shared, placed --Table--> rows of numbers + pointers of slots
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from msnb.core.types import StackType, TensorType, Type
from msnb.devices.cpu import threads
from msnb.devices.cpu.program import machine as m
from msnb.devices.cpu.program.binding import Binding
from msnb.devices.cpu.program.host import HostStep, array_at, host_steps
from msnb.devices.cpu.program.lower import Lowering
from msnb.devices.cpu.program.memory import Plan
from msnb.devices.cpu.program.providers import enter
from msnb.devices.cpu.program.slots import Slots, Table
from msnb.devices.cpu.program.tape import Buffer
from msnb.ir.graph import Graph, Value

Array = NDArray[Any]
FRESH, PARAM, FIXED = range(3)
_CELL = 64


class Fresh(NamedTuple):
    """A result that the program writes: which output, its slot, and the param whose memory it may take, or -1."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    size: int
    lender: int
    state: bool


class Loaded:
    """A program, ready for the interpreter.

    Attributes:
        table, slots, env: what it is given; pointers into the arena are missing until there is one.
        tensors: (param, slot, type); numbers: (param, its cell, address).
        fresh: results to be made; answers: per output, what it is (FRESH, PARAM, FIXED) and which.
        steps: what runs in Python.
        plan: the memory plan.
    """

    def __init__(self, device: Any, graph: Graph, checking: bool = False) -> None:
        enter()
        low = Lowering(graph)
        self.graph, self.tape, self.choice = graph, low.tape, low.choice
        state = [(low.params[p], low.results[j]) for p, j in graph.state.items() if graph.params[p] not in low.results]
        pairs = [(p, r) for p, r in state if isinstance(p, Buffer) and isinstance(r, Buffer)]
        self.plan = Plan(self.tape.instrs, low.commit, pairs)
        numbers = Slots(self.plan)
        self._table = Table(self.tape, self.plan, numbers, checking)
        self.checks = self._table.checks
        self.steps: list[HostStep] = host_steps(device, graph, self.tape.steps, numbers)
        self._answers(device, low, numbers)
        self.slots = np.zeros(max(numbers.count, 1), np.int64)
        self.table = self._table.rows
        self.env = np.zeros(m.FREE + self.tape.counters + len(self.tape.pools), np.int64)
        self.env[m.PAUSE] = m.PAUSE_NS
        self.arena_slots = np.array([s for s, _ in numbers.arena], np.int64)
        self.arena_offsets = np.array([o for _, o in numbers.arena], np.int64)
        self._outside(low, numbers)
        self.binding = Binding(self)
        self.machine, self.cores = m.machine(), threads.cores()
        self.where = self.table.ctypes.data, self.slots.ctypes.data, self.env.ctypes.data

    def _answers(self, device: Any, low: Lowering, slots: Slots) -> None:
        changed = [p for p, j in self.graph.state.items() if low.results[j] is not self.graph.params[p]]
        every = len(self.plan.lends) == len(changed)
        lenders = {id(r): p.index for p, r in self.plan.lends if every}
        states = set(self.graph.state.values())
        self.fresh: list[Fresh] = []
        self.answers: list[tuple[int, Any]] = []
        self._constants: dict[int, Any] = {}
        places: dict[int, int] = {}
        for j, (value, found) in enumerate(zip(self.graph.outputs, low.results)):
            if isinstance(found, Buffer):
                if id(found) not in places:
                    places[id(found)] = len(self.fresh)
                    slot = slots.outside["result"].get(found.index, -1)
                    t = value.type
                    assert isinstance(t, TensorType)
                    lender = lenders.get(id(found), -1)
                    self.fresh.append(Fresh(slot, t.ints(), t.dtype.numpy, t.nbytes, lender, j in states))
                self.answers.append((FRESH, places[id(found)]))
            elif isinstance(found, Value) and found.node is None:
                self.answers.append((PARAM, self.graph.params.index(found)))
            else:
                self.answers.append((FIXED, None if found is None else self._fixed(device, found)))

    def _fixed(self, device: Any, value: Value) -> Any:
        """A constant that is a result: the same object at every call."""
        assert value.node is not None
        const = value.node.attrs["value"]
        if id(const) not in self._constants:
            self._constants[id(const)] = const.data if const.type.weak else device.from_host(np.asarray(const.data))
        return self._constants[id(const)]

    def _outside(self, low: Lowering, slots: Slots) -> None:
        """Pointers that never change: constants, the cells of Python numbers, empty stacks."""
        held: list[Array] = []
        for index, node in enumerate(low.consts):
            t, data = node.out.type, node.attrs["value"].data
            assert isinstance(t, TensorType)
            held.append(np.ascontiguousarray(np.array(data, t.dtype.numpy) if t.weak else data).reshape(t.ints()))
            self._point(slots, "const", index, held[-1])
        self.cells = np.zeros((max(len(low.params), 1), _CELL // 8), np.int64)
        self.tensors: list[tuple[int, int, TensorType]] = []
        self.numbers: list[tuple[int, Array, int]] = []
        for i, buffer in enumerate(low.params):
            self._param(slots, i, buffer)
        self._held = held
        self._bottoms = [self._bottom(t) for t in low.bottoms]
        for index, bottom in enumerate(self._bottoms):
            self._point(slots, "bottom", index, bottom)

    def _param(self, slots: Slots, i: int, buffer: Buffer | None) -> None:
        t = self.graph.params[i].type
        if buffer is None or not isinstance(t, TensorType):
            return
        if buffer.kind == "cell":
            address = self.cells.ctypes.data + i * _CELL
            self.numbers.append((i, array_at(address, (), t.dtype.numpy), address))
            slot = slots.outside["cell"].get(i)
            if slot is not None:
                self.slots[slot] = address
        else:
            self.tensors.append((i, slots.outside["param"].get(i, -1), t))

    def _point(self, slots: Slots, kind: str, index: int, array: Array) -> None:
        slot = slots.outside[kind].get(index)
        if slot is not None:
            self.slots[slot] = array.ctypes.data

    def _bottom(self, t: Type) -> Array:
        """The node below all others: below itself, zeros (or an empty stack) in it."""
        assert isinstance(t, StackType)
        size = t.element.nbytes if isinstance(t.element, TensorType) else 8
        node = np.zeros(-(-(m.HEADER + size) // 8) + 1, np.int64)
        node[0] = node.ctypes.data
        if isinstance(t.element, StackType):
            inner = self._bottom(t.element)
            self._held.append(inner)
            node[m.HEADER // 8] = inner.ctypes.data
        return node
