"""From a graph to steps: every value gets a place, every node its steps, every buffer its time.

    params, constants --> nodes in order --> copies of new state --> results

State is written where the old value lies: by the step that makes it, if nothing reads the old value any more, else by
a copy at the end. What is read of the old value behind that (a param that is a result as well) is copied first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.core.types import TensorType, TokenType
from msnb.devices.codegen.constant_evaluation import ConstantEvaluator
from msnb.devices.codegen.value_views import Views
from msnb.devices.gpu.program.buffers import ARENA, CELL, CONST, PARAM, RESULT, DeviceBuffer, Place, plan_arena
from msnb.devices.gpu.program.control_steps import is_recordable, turns
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.devices.gpu.program.lowered_node import LoweredNode
from msnb.devices.gpu.program.multi_tensor_step import ChainStep, joined
from msnb.devices.gpu.program.node_lowering import lowered
from msnb.devices.gpu.program.steps import ArrayStep, CopyStep, DeviceStep, HostNumber, KernelStep, LibraryStep
from msnb.devices.result_memory import careful
from msnb.ir import control_flow
from msnb.ir.builder import Const
from msnb.ir.graph import Graph, Node, Value
from msnb.ops.elementwise.constant import constant

Control = Callable[[Node], Callable[..., Any]]
ALIGNED = 16
"""Bytes of the widest access of a generated kernel."""


class NotLowerable(Exception):
    """This graph cannot be laid out as steps over one arena; the reason, in words."""


class ProgramBuild:
    """A graph laid out for the GPU.

    Args:
        device: the GPU: ``xp``, ``kernel`` and ``cache``.
        graph: a verified graph.
        control: gives the function of a control node.

    Attributes:
        steps: in order; buffers: all memory, numbered; arena: bytes.
        params: a buffer per param, None for what is no tensor; consts: the values of constants.
        host_numbers: the params whose numbers CuPy is given.
        results: per output a buffer, or the param that it is; updated: param -> its new value lies in its own memory.

    Raises:
        NotLowerable: some value has no size that is known.
    """

    device: Any
    graph: Graph
    control: Control
    views: Views
    given: ConstantEvaluator

    def __init__(self, device: Any, graph: Graph, control: Control) -> None:
        self.device, self.graph, self.control = device, graph, control
        self.views, self.given = Views(), ConstantEvaluator()
        self.steps: list[DeviceStep] = []
        self.consts: list[Any] = []
        self.host_numbers: set[int] = set()
        self.places: dict[Value, Place | None] = {}
        self._held: dict[int, Place] = {}
        self._check()
        self.params: list[DeviceBuffer | None] = [self._param(i, v) for i, v in enumerate(graph.params)]
        self._choose()
        self._emit()
        self._conclude()

    def _check(self) -> None:
        values = [*self.graph.params, *(v for n in self.graph.nodes for v in n.outputs)]
        for value in values:
            t = value.type
            if isinstance(t, TensorType) and not t.is_static:
                raise NotLowerable("a size that only the data tells")
            if not isinstance(t, (TensorType, TokenType)):
                raise NotLowerable(f"a value of type {t}")

    def _param(self, i: int, value: Value) -> DeviceBuffer | None:
        t = value.type
        if not isinstance(t, TensorType):
            self.places[value] = None
            return None
        made = DeviceBuffer(CELL if t.weak else PARAM, t.nbytes, value.name, index=i)
        self.places[value] = Place(made)
        return made

    # ---- which nodes run, and how ----

    def _choose(self) -> None:
        self.ways: dict[Node, LoweredNode | None] = {}
        for node in self.graph.nodes:
            if node.op is constant or self.given.add(node):
                continue
            control = "control" in node.op.traits and node.op is not control_flow.FUSED
            self.ways[node] = None if control else lowered(node, self.views.of, self.device.is_real, self.device.target)
        self._needed: list[Node] = []
        wanted = {self.views.base(v) for v in self.graph.outputs}
        for node in reversed(self.graph.nodes):
            if node in self.ways and (any(v in wanted for v in node.outputs) or _acts(node)):
                wanted.update(self.views.base(v) for v in self._reads(node))
                self._needed.append(node)
        self._needed.reverse()

    def _reads(self, node: Node) -> Sequence[Value]:
        way = self.ways[node]
        return node.inputs if way is None else way.reads

    # ---- places ----

    def place(self, value: Value) -> Place | None:
        """Where a value lies."""
        if value in self.places:
            return self.places[value]
        const = self.given.const(value)
        if const is not None:
            return self._const(const)
        base = self.views.base(value)
        if base is value:
            raise NotLowerable("a value that nothing makes")
        at = self.place(base)
        assert at is not None
        return Place(at.buffer, at.offset + self.views.offset(value))

    def _const(self, const: Const) -> Place:
        if id(const) not in self._held:
            assert isinstance(const.type, TensorType)
            data = np.ascontiguousarray(np.asarray(const.data, dtype=const.type.dtype.numpy))
            made = DeviceBuffer(CONST, max(data.nbytes, 1), "constant", index=len(self.consts))
            self.consts.append((const, data))
            self._held[id(const)] = Place(made)
        return self._held[id(const)]

    def _made(self, value: Value) -> Place | None:
        """A place for what a node makes."""
        if not isinstance(value.type, TensorType):
            self.places[value] = None
            return None
        name = value.name or (value.node.op.name if value.node is not None else "")
        self.places[value] = Place(DeviceBuffer(ARENA, value.type.nbytes, name))
        return self.places[value]

    # ---- steps ----

    def _emit(self) -> None:
        steps = [step for node in self._needed for step in self._of(node)]
        self.steps = joined(steps, self.device.cache, self.device.target)
        self.device.cache.load([s.kernel for s in self.steps if isinstance(s, (ChainStep, KernelStep))])

    def _of(self, node: Node) -> list[DeviceStep]:
        way = self.ways[node]
        if way is None:
            return [self._by_arrays(node)]
        ins = [self.place(v) for v in way.reads]
        outs = [self._made(v) for v in node.outputs]
        reads = [p for p in ins if p is not None]
        writes = [p for p in outs if p is not None]
        if way.library is not None:
            return self._call(node, way, way.library, reads, writes)
        copies: list[DeviceStep] = []
        reads = [self._aligned(v, p, copies) for v, p in zip(way.reads, reads)]
        kernels = [
            KernelStep(node, p.kernel, self.device.cache, [reads[i] for i in p.reads], [writes[j] for j in p.writes])
            for p in way.parts
        ]
        return [*copies, *kernels]

    def _aligned(self, value: Value, at: Place, copies: list[DeviceStep]) -> Place:
        """Where a kernel reads a value: its accesses are wide, so what begins inside of another value is copied."""
        if at.offset % ALIGNED == 0:
            return at
        assert isinstance(value.type, TensorType)
        found = Place(DeviceBuffer(ARENA, value.type.nbytes, "operand"))
        copies.append(CopyStep(at, found, value.type.nbytes))
        return found

    def _call(
        self, node: Node, way: LoweredNode, call: LibraryCall, reads: list[Place], writes: list[Place]
    ) -> list[DeviceStep]:
        """A library's call and the copies around it."""
        cache, steps = self.device.cache, list[DeviceStep]()
        ins, outs = list(reads), list(writes)
        for k, kernel in way.before.items():
            ins[k] = Place(DeviceBuffer(ARENA, kernel.kernel.writes[0].nbytes, "operand"))
            steps.append(KernelStep(node, kernel, cache, [reads[k]], [ins[k]]))
        if way.after is not None:
            outs = [Place(DeviceBuffer(ARENA, writes[0].buffer.size, "result"))]
        steps.append(LibraryStep(node, call, ins, outs))
        if way.after is not None:
            steps.append(KernelStep(node, way.after, cache, outs, writes))
        return steps

    def _by_arrays(self, node: Node) -> DeviceStep:
        controls = "control" in node.op.traits
        types = tuple(v.type for v in node.inputs)
        results = [v.type for v in node.outputs]
        kernel = self.control(node) if controls else careful(self.device, node.op, types, node.attrs, results)
        operands = [self._operand(v) for v in node.inputs]
        places = [self._made(v) for v in node.outputs]
        outs = [None if p is None else (p, v.type) for p, v in zip(places, node.outputs)]
        return ArrayStep(node, kernel, operands, outs, is_recordable(self.graph, node), turns(node))  # type: ignore[arg-type]

    def _operand(self, value: Value) -> Any:
        """An operand for CuPy: numbers stay numbers."""
        const, t = self.given.const(value), value.type
        if isinstance(t, TensorType) and t.weak:
            if const is not None:
                return HostNumber(const.data)
            if value in self.graph.params:
                self.host_numbers.add(self.graph.params.index(value))
                return HostNumber(param=self.graph.params.index(value))
        at = self.place(value)
        return HostNumber() if at is None else (at, t)

    # ---- state and results ----

    def _conclude(self) -> None:
        self.updated: dict[int, int] = dict(self.graph.state)
        self.results: list[DeviceBuffer | int | None] = []
        kept: dict[int, DeviceBuffer] = {}
        self.first: list[DeviceStep] = []
        self.last: list[DeviceStep] = []
        self._index()
        for i, j in self.updated.items():
            self._update(i, self.graph.outputs[j])
        outputs = set(self.updated.values())
        for j, value in enumerate(self.graph.outputs):
            self.results.append(self._result(j, value, j in outputs, kept))
        self.steps = [*self.first, *self.steps, *self.last]
        self._number()

    def _update(self, i: int, value: Value) -> None:
        """The new value of param ``i`` into its memory; what another param was, from a copy made in the beginning."""
        param, at = self.params[i], self.place(value)
        assert param is not None and at is not None
        if at.buffer is param and self.views.base(value).is_param:
            return
        if self.views.base(value).is_param:
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

    def _index(self) -> None:
        """Who reads and writes each buffer, what lies in it, and the params whose old values are results."""
        self._touching: dict[int, list[int]] = {}
        self._lying: dict[int, list[Value]] = {}
        for k, step in enumerate(self.steps):
            for buffer in {id(b): b for b in (*step.reads, *step.writes)}:
                self._touching.setdefault(buffer, []).append(k)
        for value, at in self.places.items():
            if at is not None:
                self._lying.setdefault(id(at.buffer), []).append(value)
        shown = [self.places.get(v) for v in self.graph.outputs]
        self._shown = {id(at.buffer) for at in shown if at is not None and at.buffer.kind == PARAM}

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
            at = self.places[value]
            assert at is not None
            self.places[value] = Place(new, at.offset)
        for step in (*(self.steps[k] for k in steps), *self.first, *self.last):
            step.replace(old, new)
        self._lying.setdefault(id(new), []).extend(moved)
        self._touching[id(new)] = sorted({*self._touching.get(id(new), ()), *steps})

    def _result(self, j: int, value: Value, state: bool, kept: dict[int, DeviceBuffer]) -> DeviceBuffer | int | None:
        at = self.place(value)
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
            steps = self.first if self.views.base(value).is_param else self.last
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

    def _number(self) -> None:
        """Numbers for all buffers, their times, and the arena."""
        self.buffers: list[DeviceBuffer] = []
        for k, step in enumerate(self.steps):
            for buffer in (*step.reads, *step.writes, *step.temps):
                self._touch(buffer, k)
        for param in self.params:
            if param is not None:
                self._touch(param, -1)
        for result in self.results:
            if isinstance(result, DeviceBuffer):
                self._touch(result, -1)
        self.arena: int = plan_arena(self.buffers)

    def _touch(self, buffer: DeviceBuffer, k: int) -> None:
        if buffer.number < 0:
            buffer.number, buffer.first = len(self.buffers), k
            self.buffers.append(buffer)
        buffer.last = max(buffer.last, k)


def _acts(node: Node) -> bool:
    """True where running it is the point."""
    return "effect" in node.op.traits or ("control" in node.op.traits and node.op is not control_flow.FUSED)
