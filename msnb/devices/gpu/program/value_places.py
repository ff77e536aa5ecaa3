"""Where every value of a program lies: in the memory of an argument, a constant, the arena, or inside another value.

Results and new state are brought to their places in the end:

    made by a step, read by nothing behind it     that step writes into the result, or over the old state
    anything else                                 a copy at the end; of old values in the beginning
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core import TensorType
from msnb.devices.codegen.constant_evaluation import ConstantEvaluator
from msnb.devices.codegen.value_views import Views
from msnb.devices.gpu.program.buffers import ARENA, CELL, CONST, PARAM, RESULT, DeviceBuffer, Place
from msnb.devices.gpu.program.multi_tensor_step import ChainStep
from msnb.devices.gpu.program.steps import CopyStep, DeviceStep, KernelStep, LibraryStep
from msnb.ir import Const, Graph, Value


class NotLowerable(Exception):
    """This graph cannot be laid out as steps over one arena; the reason, in words."""


class ValuePlaces:
    """Places of values; None for what is no tensor.

    Attributes:
        views: which values lie in others; constants: what is known at compile time.
        places: what has a place of its own so far; consts: constants that something reads, with their numbers.
    """

    def __init__(self) -> None:
        self.views, self.constants = Views(), ConstantEvaluator()
        self.places: dict[Value, Place | None] = {}
        self.consts: list[tuple[Const, Any]] = []
        self._held: dict[int, Place] = {}

    def param(self, i: int, value: Value) -> DeviceBuffer | None:
        """The memory of an argument; None for what is no tensor."""
        t = value.type
        if not isinstance(t, TensorType):
            self.places[value] = None
            return None
        made = DeviceBuffer(CELL if t.weak else PARAM, t.nbytes, value.name, index=i)
        self.places[value] = Place(made)
        return made

    def of(self, value: Value) -> Place | None:
        """Where a value lies."""
        if value in self.places:
            return self.places[value]
        const = self.constants.const(value)
        if const is not None:
            return self._const(const)
        base = self.views.base(value)
        if base is value:
            raise NotLowerable("a value that nothing makes")
        at = self.of(base)
        assert at is not None
        return Place(at.buffer, at.offset + self.views.offset(value))

    def _const(self, const: Const) -> Place:
        if id(const) not in self._held:
            assert isinstance(const.type, TensorType)
            data = np.asarray(np.asarray(const.data, dtype=const.type.dtype.numpy), order="C")
            made = DeviceBuffer(CONST, max(data.nbytes, 1), "constant", index=len(self.consts))
            self.consts.append((const, data))
            self._held[id(const)] = Place(made)
        return self._held[id(const)]

    def made(self, value: Value) -> Place | None:
        """A place for what a node makes."""
        if not isinstance(value.type, TensorType):
            self.places[value] = None
            return None
        name = value.name or (value.node.op.name if value.node is not None else "")
        self.places[value] = Place(DeviceBuffer(ARENA, value.type.nbytes, name))
        return self.places[value]


class ResultPlaces:
    """The end of a program, worked out when its steps are known; steps are told where they write.

    Args:
        graph: the program; places: of its values; params: a buffer per param, None for what is no tensor.
        steps: what makes the values.

    Attributes:
        results: per output a buffer, or the param that it is; updated: param -> its new value lies in its own memory.
        first, last: copies before and behind the steps.
    """

    def __init__(
        self, graph: Graph, places: ValuePlaces, params: Sequence[DeviceBuffer | None], steps: Sequence[DeviceStep]
    ) -> None:
        self.graph, self.places, self.params, self.steps = graph, places, params, steps
        self.updated: dict[int, int] = dict(graph.state)
        self.first: list[DeviceStep] = []
        self.last: list[DeviceStep] = []
        self._index()
        for i, j in self.updated.items():
            self._update(i, graph.outputs[j])
        state, kept = set(self.updated.values()), dict[int, DeviceBuffer]()
        self.results: list[DeviceBuffer | int | None] = [
            self._result(j, value, j in state, kept) for j, value in enumerate(graph.outputs)
        ]

    def _index(self) -> None:
        """Who reads and writes each buffer, what lies in it, and the params whose old values are results."""
        self._touching: dict[int, list[int]] = {}
        self._lying: dict[int, list[Value]] = {}
        for k, step in enumerate(self.steps):
            for buffer in {id(b): b for b in (*step.reads, *step.writes)}:
                self._touching.setdefault(buffer, []).append(k)
        for value, at in self.places.places.items():
            if at is not None:
                self._lying.setdefault(id(at.buffer), []).append(value)
        shown = [self.places.places.get(v) for v in self.graph.outputs]
        self._shown = {id(at.buffer) for at in shown if at is not None and at.buffer.kind == PARAM}

    def _update(self, i: int, value: Value) -> None:
        """The new value of param ``i`` into its memory; what another param was, from a copy made in the beginning."""
        param, at = self.params[i], self.places.of(value)
        assert param is not None and at is not None
        if at.buffer is param and self.places.views.base(value).is_param:
            return
        if self.places.views.base(value).is_param:
            held = Place(DeviceBuffer(ARENA, param.size, value.name))
            self.first.append(CopyStep(at, held, param.size))
            self.last.append(CopyStep(held, Place(param), param.size))
            return
        if (
            not at.offset
            and at.buffer.kind == ARENA
            and at.buffer.size == param.size
            and self._in_place(param, at.buffer)
        ):
            self._replace(at.buffer, param)
            return
        self.last.append(CopyStep(at, Place(param), param.size))

    def _in_place(self, param: DeviceBuffer, made: DeviceBuffer) -> bool:
        """Whether the step that makes the new value may write it over the old one."""
        writers = [k for k in self._touching.get(id(made), ()) if made in self.steps[k].writes]
        readers = self._touching.get(id(param), ())
        if len(writers) != 1 or any(k > writers[0] for k in readers) or id(param) in self._shown:
            return False
        step = self.steps[writers[0]]
        if writers[0] not in readers:
            return isinstance(step, (ChainStep, KernelStep, LibraryStep))
        return (param, made) in step.inplace and step.reads.count(param) == 1 and step.writes.count(made) == 1

    def _replace(self, old: DeviceBuffer, new: DeviceBuffer) -> None:
        moved, steps = self._lying.pop(id(old), []), self._touching.pop(id(old), [])
        for value in moved:
            at = self.places.places[value]
            assert at is not None
            self.places.places[value] = Place(new, at.offset)
        for step in (*(self.steps[k] for k in steps), *self.first, *self.last):
            step.replace(old, new)
        self._lying.setdefault(id(new), []).extend(moved)
        self._touching[id(new)] = sorted({*self._touching.get(id(new), ()), *steps})

    def _result(self, j: int, value: Value, state: bool, kept: dict[int, DeviceBuffer]) -> DeviceBuffer | int | None:
        at = self.places.of(value)
        if at is None:
            return None
        assert isinstance(value.type, TensorType)
        if state:
            return next(i for i, k in self.updated.items() if k == j)
        if value.is_param and value in self.graph.params:
            return self._old_value(j, value, at)
        if id(at.buffer) in kept and not at.offset and self._same_type(kept[id(at.buffer)], value):
            return kept[id(at.buffer)]
        made = DeviceBuffer(RESULT, value.type.nbytes, value.name or f"result {j}", index=j)
        if at.buffer.kind == ARENA and not at.offset and at.buffer.size == made.size:
            self._replace(at.buffer, made)
            kept[id(made)] = made
        else:
            steps = self.first if self.places.views.base(value).is_param else self.last
            steps.append(CopyStep(at, Place(made), made.size))
        return made

    def _old_value(self, j: int, value: Value, at: Place) -> DeviceBuffer | int:
        """A param that is a result: itself, or a copy where its memory gets a new value."""
        i = self.graph.params.index(value)
        if i not in self.updated:
            return i
        made = DeviceBuffer(RESULT, self.graph.params[i].type.nbytes, value.name, index=j)  # type: ignore[union-attr]
        self.first.append(CopyStep(at, Place(made), made.size))
        return made

    def _same_type(self, result: DeviceBuffer, value: Value) -> bool:
        """Whether the array that a result is handed out as has the type of another output."""
        return self.graph.outputs[result.index].type == value.type
