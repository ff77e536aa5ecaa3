"""Graph, Node, Value, Module: a program as data.

    graph f(x: f32[3], w: f32[3] state) -> (f32[], w)     a Graph: a pure function
      %1 = mul(x, w) : f32[3]                             a Node with one result Value; op and attrs say what it does
      %2 = sum(%1, axis=None) : f32[]                     its inputs are Values: results of earlier nodes or params
      return %2, w

Laws: nodes stand in program order (SSA); a graph is closed (values enter only as params, so control-flow bodies are
graphs too); nothing is mutated by a node. State is a param whose new value is one of the outputs: ``state`` maps the
param's position to the output's. Compare graphs, nodes and values by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msnb.base.source_location import Origin
from msnb.core.shard_annotation import ShardHint
from msnb.core.types import TensorType, Type
from msnb.ops.definition.record import Op


class Value:
    """A result of a node, or a param of a graph (``node`` is None).

    Attributes:
        type: its type.
        node, index: the node that makes it and which of its results it is.
        name: a name for people; params have one.
    """

    __slots__ = ("__weakref__", "index", "name", "node", "type")

    def __init__(self, type_: Type, node: Node | None = None, index: int = 0, name: str = "") -> None:
        self.type: Type = type_
        self.node: Node | None = node
        self.index: int = index
        self.name: str = name

    @property
    def is_param(self) -> bool:
        """True when the value enters the graph from outside."""
        return self.node is None

    def __repr__(self) -> str:
        return f"<{self.name or (self.node.op.name if self.node else 'param')}: {self.type}>"


def type_of(value: Value) -> TensorType:
    """The type of a value that is a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type


class Node:
    """One application of an op.

    Attributes:
        op: the record (control flow has records too: ``msnb.ir.control_flow``).
        inputs: the values it reads.
        attrs: static attributes, complete and hashable.
        outputs: the values it makes.
        graphs: closed bodies of If, While, Scan.
        where: the user's frames it came from; scope: path of Cells (``LeNet5/conv1``).
        primal: for a backward node, the forward node it belongs to; why: the transform that made it.
        marks: splits that somebody asked for (``msnb.core.shard_annotation``): by input number, by ~number for results.
    """

    __slots__ = (
        "__weakref__", "attrs", "graphs", "inputs", "marks", "op", "outputs", "primal", "scope", "where", "why",
    )  # fmt: skip

    def __init__(
        self, op: Op, inputs: Sequence[Value], attrs: Mapping[str, Any], types: Sequence[Type],
        graphs: Sequence[Graph] = (),
    ) -> None:  # fmt: skip
        self.op: Op = op
        self.inputs: list[Value] = list(inputs)
        self.attrs: dict[str, Any] = dict(attrs)
        self.outputs: tuple[Value, ...] = tuple(Value(t, self, i) for i, t in enumerate(types))
        self.graphs: tuple[Graph, ...] = tuple(graphs)
        self.where: Origin | None = None
        self.scope: str = ""
        self.primal: Node | None = None
        self.why: str = ""
        self.marks: dict[int, ShardHint] | None = None

    @property
    def out(self) -> Value:
        """The only (or first) result."""
        return self.outputs[0]

    def __repr__(self) -> str:
        return f"<node {self.op.name}>"


class Graph:
    """A pure function from params to outputs."""

    __slots__ = ("__weakref__", "module", "name", "nodes", "outputs", "params", "state")

    def __init__(self, name: str, module: Module | None = None) -> None:
        self.name: str = name
        self.params: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.state: dict[int, int] = {}
        self.module: Module = Module() if module is None else module

    def add_param(self, type_: Type, name: str) -> Value:
        """A new param at the end."""
        value = Value(type_, None, len(self.params), name)
        self.params.append(value)
        return value

    def add(
        self, op: Op, inputs: Sequence[Value], attrs: Mapping[str, Any], types: Sequence[Type],
        graphs: Sequence[Graph] = (),
    ) -> Node:  # fmt: skip
        """A new node at the end."""
        node = Node(op, inputs, attrs, types, graphs)
        self.nodes.append(node)
        return node

    def walk(self) -> Iterator[tuple[Graph, Node]]:
        """Every node of this graph and of the bodies nested in it, in program order (not of called graphs)."""
        for node in self.nodes:
            yield self, node
            for body in node.graphs:
                yield from body.walk()

    def uses(self) -> dict[Value, int]:
        """How often each value is read in this graph (outputs count)."""
        count: dict[Value, int] = {}
        for node in self.nodes:
            for value in node.inputs:
                count[value] = count.get(value, 0) + 1
        for value in self.outputs:
            count[value] = count.get(value, 0) + 1
        return count

    def copy(self, name: str | None = None, twins: dict[Node, Node] | None = None) -> Graph:
        """A graph with nodes and values of its own (bodies copied too, called graphs shared).

        ``twins``, if given, maps old nodes to new; it is read (a gradient node follows its primal) and extended.
        """
        out = Graph(name or self.name, self.module)
        seen: dict[Value, Value] = {}
        for p in self.params:
            seen[p] = out.add_param(p.type, p.name)
        for node in self.nodes:
            copy_node(node, out, seen, twins)
        out.outputs = [seen[v] for v in self.outputs]
        out.state = dict(self.state)
        return out

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.params)} params, {len(self.nodes)} nodes>"

    def __str__(self) -> str:
        return str(_printer(self))


_printer: Callable[[Graph], str] = repr


def register_printer(printer: Callable[[Graph], str]) -> None:
    """Set what ``str(graph)`` gives; ``ir.text`` stands above this module and registers its own."""
    global _printer
    _printer = printer


def copy_node(node: Node, into: Graph, seen: dict[Value, Value], twins: dict[Node, Node] | None = None) -> Node:
    """Append a copy of ``node`` to ``into``; ``seen`` (old values to new) and ``twins`` (nodes) are extended."""
    new = into.add(
        node.op, [seen[v] for v in node.inputs], node.attrs, [o.type for o in node.outputs],
        [g.copy(twins=twins) for g in node.graphs],
    )  # fmt: skip
    new.where, new.scope, new.primal, new.why = node.where, node.scope, node.primal, node.why
    new.marks = node.marks
    if twins is not None:
        twins[node] = new
        new.primal = None if node.primal is None else twins.get(node.primal, node.primal)
    for old, fresh in zip(node.outputs, new.outputs):
        fresh.name = old.name
        seen[old] = fresh
    return new


class Module:
    """Named graphs that call each other by name.

    Attributes:
        graphs: the graphs by name.
        memo: what transforms remember about them (the gradient of a callee ...); it lives as long as the module.
    """

    def __init__(self) -> None:
        self.graphs: dict[str, Graph] = {}
        self.memo: dict[Any, Any] = {}

    def add(self, graph: Graph, name: str | None = None) -> str:
        """Enter ``graph`` under a name nobody has yet; returns the name."""
        base = name or graph.name
        free, n = base, 1
        while free in self.graphs and self.graphs[free] is not graph:
            n += 1
            free = f"{base}_{n}"
        self.graphs[free] = graph
        graph.name = free
        graph.module = self
        return free


def sizes_of(value: Value) -> tuple[int, ...]:
    """The sizes of a tensor, which are all known."""
    assert isinstance(value.type, TensorType)
    return value.type.ints()


def owner(value: Value) -> Value:
    """The value of which this one is a view."""
    while value.node is not None and "view" in value.node.op.traits and value.node.inputs:
        value = value.node.inputs[0]
    return value
