"""From a graph to a tape: every value gets a place, every node its instructions.

    params, constants ---> nodes in order ---> COMMIT ---> new values of parameters ---> results ---> RETURN

All that may fail or be interrupted stands before COMMIT. Behind it come the nodes that make new values of parameters
and that nothing else reads: these may write into the parameters' own memory. A loop whose results are parameters runs
before it, in memory of its own.

    cache, position ---> offsets, which may fail ---> COMMIT ---> cache[position] = k ---> attention ---> result

A write at a position that a tensor gives changes little of a parameter, so more may follow it: all that reads the new
value, if nothing of it can fail and it does not take long. Then no part of the parameter is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core import StackType, TensorType, Type, size_hint
from msnb.devices.cpu.native_kernel import Guard
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.build.control_flow_lowering import ControlFlowLowering, size_of
from msnb.devices.cpu.program.build.instructions import BufferRef, InstructionList, MemoryBlock
from msnb.devices.cpu.program.build.kernel_selection import Choice, is_empty
from msnb.ir import Const, Graph, Node, Value, control_flow
from msnb.ir.node_cost import flops_of
from msnb.ops.elementwise.constant import constant

Spot = BufferRef | None


MOST_WORK = 2e9
"""Flops behind a write into state, where nothing can be interrupted any more: some ten milliseconds."""


def _source(node: Node, late: set[Node]) -> Value:
    """What a chain of writes behind COMMIT begins with: it has the type of all that they make of it."""
    value = node.inputs[0]
    while value.node is not None and value.node in late:
        value = value.node.inputs[0]
    return value


class Lowering(ControlFlowLowering):
    """A whole program.

    Attributes:
        tape: its instructions; places: where values lie.
        params: a buffer per param (None for what is no tensor).
        consts: what lies outside, by index of their buffer; bottoms: the types of empty stacks likewise.
        results: per output: the buffer it is written to, or the param or constant that it is.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph_ = graph
        self.choice = Choice(graph)
        self.tape = InstructionList()
        self.places: dict[Value, Spot] = {}
        self.consts: list[Const] = []
        self.bottoms: list[Type] = []
        self._held: dict[Any, BufferRef] = {}
        self.params: list[MemoryBlock | None] = [self._param(i, v) for i, v in enumerate(graph.params)]
        self.results: list[MemoryBlock | Value | None] = []
        self.commit = -1
        self._tables: dict[Node, BufferRef] = {}
        self._program()

    def _param(self, i: int, value: Value) -> MemoryBlock | None:
        t = value.type
        if not isinstance(t, TensorType):
            self.places[value] = None
            return None
        made = MemoryBlock(t.nbytes, "cell" if t.weak else "param", value.name, None, i)
        self.places[value] = BufferRef(made)
        return made

    def _program(self) -> None:
        graph = self.graph_
        late = self._late(graph)
        last = {*self._last(graph, late), *late}
        needed = self.choice.needed(graph)
        for node in needed:
            if node not in last:
                self.node(node)
        for node in needed:
            if node in late and (guard := self._guard(node)) is not None:
                self._tables[node] = self._check(guard, _source(node, late))
        self.commit = len(self.tape.instrs)
        self.tape.emit(m.COMMIT)
        for node in needed:
            if node in last:
                self.node(node)
        self._results(graph)
        self.tape.emit(m.RETURN)

    def _results(self, graph: Graph) -> None:
        known: dict[Value, MemoryBlock | Value] = {}
        for value in graph.outputs:
            place = self.place(value)
            if place is None:
                self.results.append(None)
                continue
            if value not in known:
                known[value] = self._result(value, place, len(self.results))
            self.results.append(known[value])

    def _result(self, value: Value, place: BufferRef, index: int) -> MemoryBlock | Value:
        if value.is_param or (value.node is not None and value.node.op is constant):
            return value
        made = MemoryBlock(size_of(value.type), "result", value.name or f"result {index}", None, index)
        self.tape.copy(BufferRef(made), place, made.size)
        return made

    # ---- what may stand behind COMMIT ----

    def _guard(self, node: Node) -> Guard | None:
        recipe = self.choice.recipes.get(node)
        return None if recipe is None else recipe.guard

    def _late(self, graph: Graph) -> set[Node]:
        """Writes at positions into state, and all that comes of them; nothing where some of it may fail or is long."""
        needed, base = self.choice.needed(graph), self.choice.views.base
        states = {base(graph.outputs[j]) for j in graph.state.values()}
        late: set[Node] = set()
        for node in reversed(needed):
            if node.outputs and node.out in states and self._guard(node) is not None:
                states.add(base(node.inputs[0]))
                late.add(node)
        made: set[Value] = set()
        for node in needed:
            if node in late or any(base(v) in made for v in self.choice.reads(node)):
                late.add(node)
                if not self._may_be_late(node, late, made):
                    return set()
                made.update(node.outputs)
        return late if sum(size_hint(flops_of(n)) for n in late) <= MOST_WORK else set()

    def _may_be_late(self, node: Node, late: set[Node], made: set[Value]) -> bool:
        """True where nothing of a node can fail but what is known before anything is ``made`` behind COMMIT."""
        guard = self._guard(node)
        if guard is None:
            return self._safe(node) and node.op is not control_flow.IF
        return not any(self.choice.views.base(v) in made for v in (*guard.indices, _source(node, late)))

    def _last(self, graph: Graph, late: set[Node]) -> list[Node]:
        """Nodes that make new state, cannot fail, and that only such nodes (or ``late`` ones) read."""
        states = {self.choice.views.base(graph.outputs[j]) for j in graph.state.values()}
        readers: dict[Value, list[Node]] = {}
        found: list[Node] = []
        marked = set(late)
        needed = self.choice.needed(graph)
        for node in needed:
            for v in self.choice.reads(node):
                readers.setdefault(self.choice.views.base(v), []).append(node)
        for node in reversed(needed):
            mine = any(v in states for v in node.outputs)
            if mine and self._safe(node) and all(r in marked for v in node.outputs for r in readers.get(v, ())):
                marked.add(node)
                found.append(node)
        return found

    def _safe(self, node: Node) -> bool:
        """True when running the node cannot fail."""
        if node.op is control_flow.IF:
            return all(self._safe(n) for body in node.graphs for n in self.choice.needed(body))
        recipe = self.choice.recipes.get(node)
        if recipe is None:
            return bool(self.choice.given.of(node)) or node.op.name == "zeros"
        return not recipe.declines

    # ---- graphs and nodes ----

    def graph(self, graph: Graph, args: Sequence[Spot]) -> list[Spot]:
        """The instructions of a graph; the places of its results."""
        self.places.update(zip(graph.params, args))
        for node in self.choice.needed(graph):
            self.node(node)
        return [self.place(v) for v in graph.outputs]

    def callee(self, node: Node) -> Graph:
        """The graph that a node calls."""
        return self.graph_.module.graphs[node.attrs["callee"]]

    def place(self, value: Value) -> Spot:
        """Where a value lies."""
        base = self.choice.views.base(value)
        if base not in self.places and (const := self.choice.given.const(base)) is not None:
            self.places[base] = self._constant(const)  # of a recipe's own: weights that it has packed
        found = self.places[base]
        if found is None or base is value:
            return found
        return self._behind(found, self.choice.views.offset(value), size_of(value.type))

    def _behind(self, place: BufferRef, offset: int, size: int) -> BufferRef:
        if not offset:
            return place
        if place.buffer.kind != "pointer":
            return BufferRef(place.buffer, place.offset + offset)
        made = BufferRef(self.tape.pointer(size, place.buffer.name))
        self.tape.emit(m.LEA, [place], [made], offset)
        return made

    def sure(self, value: Value) -> BufferRef:
        """Where a value lies that must lie somewhere."""
        found = self.place(value)
        assert found is not None, value
        return found

    def node(self, node: Node) -> None:
        """The instructions of a node."""
        recipe = self.choice.recipes.get(node)
        known = self.choice.given.of(node)
        if known:
            self.places.update(zip(node.outputs, map(self._constant, known)))
        elif "stack" in node.op.traits:
            self.stack(node)
        elif node.op in self.CONTROL:
            self.control(node)
        elif node.outputs and all(map(is_empty, node.outputs)) and node.op is not control_flow.HOST_CALL:
            self._outputs(node)
        elif recipe is not None:
            self._kernel(node)
        elif node.op.name == "zeros":
            self.tape.emit(m.ZERO, [], self._outputs(node), size_of(node.out.type))
        else:
            self._host(node)

    def _outputs(self, node: Node) -> list[BufferRef]:
        found = []
        for i, v in enumerate(node.outputs):
            if not isinstance(v.type, (TensorType, StackType)):
                self.places[v] = None
                continue
            name = v.name or (f"{node.op.name} {i}" if len(node.outputs) > 1 else node.op.name)
            found.append(BufferRef(self.tape.buffer(size_of(v.type), name)))
            self.places[v] = found[-1]
        return found

    def _check(self, guard: Guard, source: Value) -> BufferRef:
        """What may decline of a node, early; where it leaves what the rest of the node needs."""
        ins = [self.sure(v) for v in guard.indices]
        spots = [self.sure(source), *ins]
        table = BufferRef(self.tape.buffer(guard.size, "offsets"))
        made = self.tape.emit(m.KERNEL, ins, [table])
        made.node, made.recipe, made.also = guard.node, guard.check, tuple(spots)
        made.host = self.tape.step(guard.node, spots, [None])
        self.choice.recipes[guard.node] = guard.check
        return table

    def _guarded(self, node: Node, guard: Guard) -> None:
        table = self._tables.pop(node, None) or self._check(guard, node.inputs[0])
        made = self.tape.emit(m.KERNEL, [*map(self.sure, guard.reads), table], self._outputs(node))
        made.node, made.recipe = node, guard.rest

    def _kernel(self, node: Node) -> None:
        recipe = self.choice.recipes[node]
        if recipe.guard is not None:
            self._guarded(node, recipe.guard)
            return
        ins = [self.sure(v) for v in (node.inputs if recipe.reads is None else recipe.reads)]
        spots = [self.place(v) for v in node.inputs] if recipe.declines else []
        temps = [BufferRef(self.tape.buffer(n, f"scratch of {node.op.name}")) for n in recipe.temps]
        outs = self._outputs(node)
        made = self.tape.emit(m.KERNEL, ins, outs)
        made.node, made.recipe, made.temps = node, recipe, tuple(temps)
        if recipe.declines:
            made.host = self.tape.step(node, spots, outs)
            made.also = tuple(s for s in spots if s is not None)

    def _host(self, node: Node) -> None:
        """A step in Python; an assert that holds is skipped without it."""
        spots = [self.place(v) for v in node.inputs]
        skip = self.skip_if_holds(node, spots)
        outs = self._outputs(node)
        made = self.tape.emit(m.HOST, [s for s in spots if s is not None], outs)
        made.node, made.host = node, self.tape.step(node, spots, [self.places[v] for v in node.outputs])
        if skip is not None:
            self.tape.label(skip)

    # ---- what lies outside ----

    def _constant(self, const: Const) -> BufferRef:
        if id(const) not in self._held:
            self._held[id(const)] = BufferRef(MemoryBlock(size_of(const.type), "const", "constant", None, len(self.consts)))
            self.consts.append(const)
        return self._held[id(const)]

    def bottom(self, t: StackType) -> BufferRef:
        """The slot that points to the empty stack of a type."""
        if t not in self._held:
            self._held[t] = BufferRef(MemoryBlock(8, "bottom", f"empty {t}", None, len(self.bottoms)))
            self.bottoms.append(t)
        return self._held[t]
