"""From a graph to steps: every value gets a place, every node its steps, every buffer its time.

    params, constants --> nodes in order --> copies of new state --> results

State is written where the old value lies: by the step that makes it, if nothing reads the old value any more, else by
a copy at the end. What is read of the old value behind that (a param that is a result as well) is copied first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import TensorType, TokenType
from msnb.devices.gpu.program.buffers import ARENA, DeviceBuffer, Place, plan_arena
from msnb.devices.gpu.program.control_steps import is_recordable, turns
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.devices.gpu.program.lowered_node import LoweredNode
from msnb.devices.gpu.program.multi_tensor_step import ChainStep, joined
from msnb.devices.gpu.program.node_lowering import lowered
from msnb.devices.gpu.program.steps import ArrayStep, CopyStep, DeviceStep, HostNumber, KernelStep, LibraryStep
from msnb.devices.gpu.program.value_places import NotLowerable, ResultPlaces, ValuePlaces
from msnb.devices.result_memory import careful
from msnb.ir import Const, Graph, Node, Value, control_flow
from msnb.ops.elementwise.constant import constant

Control = Callable[[Node], Callable[..., Any]]
ALIGNED = 16
"""Bytes of the widest access of a generated kernel."""


class ProgramBuild:
    """A graph laid out for the GPU.

    Args:
        device: the GPU: ``xp``, ``kernel`` and ``cache``.
        graph: a verified graph.
        control: gives the function of a control node.
        is_body: it may be recorded as a part of another program: no step needs tables that the host prepares.

    Attributes:
        steps: in order; buffers: all memory, numbered; arena: bytes.
        params: a buffer per param, None for what is no tensor; consts: the values of constants.
        host_numbers: the params whose numbers CuPy is given.
        results: per output a buffer, or the param that it is; updated: param -> its new value lies in its own memory.

    Raises:
        NotLowerable: some value has no size that is known.
    """

    def __init__(self, device: Any, graph: Graph, control: Control, is_body: bool = False) -> None:
        self.device, self.graph, self.control = device, graph, control
        self.places: ValuePlaces = ValuePlaces()
        self.host_numbers: set[int] = set()
        self._check()
        self.params: list[DeviceBuffer | None] = [self.places.param(i, v) for i, v in enumerate(graph.params)]
        steps = self._emit(self._choose(), is_body)
        end = ResultPlaces(graph, self.places, self.params, steps)
        self.updated, self.results = end.updated, end.results
        self.consts: list[tuple[Const, Any]] = self.places.consts
        self.steps: list[DeviceStep] = [*end.first, *steps, *end.last]
        self._number()

    def _check(self) -> None:
        values = [*self.graph.params, *(v for n in self.graph.nodes for v in n.outputs)]
        for value in values:
            t = value.type
            if isinstance(t, TensorType) and not t.is_static:
                raise NotLowerable("a size that only the data tells")
            if not isinstance(t, (TensorType, TokenType)):
                raise NotLowerable(f"a value of type {t}")

    # ---- which nodes run, and how ----

    def _choose(self) -> list[Node]:
        """The nodes that run, in order."""
        views = self.places.views
        self.ways: dict[Node, LoweredNode | None] = {}
        for node in self.graph.nodes:
            if node.op is constant or self.places.constants.add(node):
                continue
            control = "control" in node.op.traits and node.op is not control_flow.FUSED
            self.ways[node] = None if control else lowered(node, views.of, self.device.is_real, self.device.target)
        needed: list[Node] = []
        wanted = {views.base(v) for v in self.graph.outputs}
        for node in reversed(self.graph.nodes):
            if node in self.ways and (any(v in wanted for v in node.outputs) or _acts(node)):
                wanted.update(views.base(v) for v in self._reads(node))
                needed.append(node)
        return needed[::-1]

    def _reads(self, node: Node) -> Sequence[Value]:
        way = self.ways[node]
        return node.inputs if way is None else way.reads

    # ---- steps ----

    def _emit(self, nodes: list[Node], is_body: bool) -> list[DeviceStep]:
        steps = [step for node in nodes for step in self._of(node)]
        found = steps if is_body else joined(steps, self.device.cache, self.device.target)
        self.device.cache.load([s.kernel for s in found if isinstance(s, (ChainStep, KernelStep))])
        return found

    def _of(self, node: Node) -> list[DeviceStep]:
        way = self.ways[node]
        if way is None:
            return [self._by_arrays(node)]
        ins = [self.places.of(v) for v in way.reads]
        outs = [self.places.made(v) for v in node.outputs]
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
        places = [self.places.made(v) for v in node.outputs]
        outs = [None if p is None else (p, v.type) for p, v in zip(places, node.outputs)]
        return ArrayStep(node, kernel, operands, outs, is_recordable(self.graph, node), turns(node))  # type: ignore[arg-type]

    def _operand(self, value: Value) -> Any:
        """An operand for CuPy: numbers stay numbers."""
        const, t = self.places.constants.const(value), value.type
        if isinstance(t, TensorType) and t.weak:
            if const is not None:
                return HostNumber(const.data)
            if value in self.graph.params:
                self.host_numbers.add(self.graph.params.index(value))
                return HostNumber(param=self.graph.params.index(value))
        at = self.places.of(value)
        return HostNumber() if at is None else (at, t)

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
