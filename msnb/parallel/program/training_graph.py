"""A training step as one graph: the forward program, which is planned, and what follows from it.

    forward    the nodes that gradients are taken of, and all that comes before the first gradient   <- strategies
    gradient   nodes that autodiff stamped with ``primal``                                           <- inherit
    update     what an optimizer makes of gradients and its own state                                <- follows

A loss is given its gradient here; a step that was captured with ``value_and_grad`` in it has everything already. Loops
and branches of such a step hold what their gradient needs, so they are nodes like any other.

State of the optimizer lies where its weight lies: it is found from the weight's new value, back through updates of the
weight's shape.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from msnb.autodiff import vjp
from msnb.base import AttributeValueError
from msnb.core import TensorType, Type
from msnb.ir import IF, Graph, GraphBuilder, Node, Value, copy_node
from msnb.parallel.sharding.layout import TensorLayout


@dataclass(frozen=True)
class Transfers:
    """What a stage of a pipeline exchanges with other ranks while it runs.

    Attributes:
        incoming: params that other ranks send; outgoing: values that are sent to others.
        urgent: gradients that others wait for although nothing here reads them.
        summed: gradients of weights that are sums over parts of a batch, on their way, and what is added up.
    """

    incoming: AbstractSet[Value] = frozenset()
    outgoing: AbstractSet[Value] = frozenset()
    urgent: AbstractSet[Value] = frozenset()
    summed: AbstractSet[Value] = frozenset()


@dataclass
class TrainingGraph:
    """A program, its forward part told from the rest.

    Attributes:
        graph: all nodes in program order; forward: a graph of the forward nodes (the same objects, not copies).
        weights: the trained params.
        updates: nodes of the optimizer; companions: its state -> the weight.
        gradients: the gradients of the weights in the order of the params, where the step was made from a loss.
        held: params that somebody keeps (weights, running means, optimizer state, Tensors that are attributes); the
            others are data: arguments of the call.
        rematerialized: layers that the program says are computed twice.
        fed: layouts in which data comes, where that is said (else it comes as it is wanted).
        transfers: what it exchanges with other programs while it runs.
        names: of forward nodes, where they are called otherwise than by their place in this program.
        free: values that all who need them make for themselves, whole.
        parts: the program is what is done for one of so many parts of a batch; what is done once for all of them (sums
            of weights' gradients over devices, updates) costs it so much less.
    """

    graph: Graph
    weights: set[Value]
    gradients: list[Value] = field(default_factory=list)
    held: set[Value] = field(default_factory=set)
    fed: dict[Value, TensorLayout] = field(default_factory=dict)
    rematerialized: frozenset[str] = frozenset()
    transfers: Transfers = Transfers()
    names: dict[Node, str] = field(default_factory=dict)
    free: set[Value] = field(default_factory=set)
    parts: int = 1

    def __post_init__(self) -> None:
        self.inside: set[Node] = forward_nodes(self.graph)
        self.forward: Graph = self.graph if len(self.inside) == len(self.graph.nodes) else self._view()
        self.weights = self._read(self.weights)
        self.updates: set[Node] = self._updates()
        self.companions: dict[Value, Value] = self._companions()

    @property
    def trains(self) -> bool:
        """Whether there is a gradient in the program."""
        return self.forward is not self.graph

    def _view(self) -> Graph:
        view = Graph(self.graph.name, self.graph.module)
        view.params = self.graph.params
        view.nodes = [n for n in self.graph.nodes if n in self.inside]
        view.outputs = [v for v in self.graph.outputs if v.node is None or v.node in self.inside]
        return view

    def _read(self, params: set[Value]) -> set[Value]:
        """Those that the forward program reads, or all when nothing is trained."""
        read = {v for node in self.forward.nodes for v in node.inputs}
        return params & read if self.trains else params

    def _updates(self) -> set[Node]:
        static: set[Value] = set()
        out: set[Node] = set()
        for node in self.graph.nodes:
            if all(v in static for v in node.inputs) and not {"random", "effect"} & node.op.traits:
                static |= set(node.outputs)
            elif node.primal is None and node not in self.inside:
                out.add(node)
        return out

    def _companions(self) -> dict[Value, Value]:
        out: dict[Value, Value] = {}
        for at, new in self.graph.state.items():
            weight = self.graph.params[at]
            if weight in self.weights and isinstance(weight.type, TensorType):
                for p in self.behind(self.graph.outputs[new], weight.type.shape):
                    if p.is_param and p not in self.weights:
                        out.setdefault(p, weight)
        return out

    def behind(self, value: Value, shape: tuple[object, ...]) -> set[Value]:
        """What updates of a shape made a value from: params, gradients, and values in between."""
        todo, seen = [value], {value}
        while todo:
            v = todo.pop()
            if v.node in self.updates:
                near = _near(v, shape)
                todo += near - seen
                seen |= near
        return seen


def _near(value: Value, shape: tuple[object, ...]) -> set[Value]:
    """What a node makes a value from, of a shape; an ``if``: what its branches make it from."""
    node = value.node
    assert node is not None
    if node.op is not IF:
        return {v for v in node.inputs if isinstance(v.type, TensorType) and v.type.shape == shape}
    at, found = node.outputs.index(value), set[Value]()
    for branch in node.graphs:
        todo, seen = [branch.outputs[at]], {branch.outputs[at]}
        while todo:
            v = todo.pop()
            near = set() if v.is_param else _near(v, shape)
            todo += near - seen
            seen |= near
        found |= {v for v, inner in zip(node.inputs[1:], branch.params) if inner in seen}
    return found


def forward_nodes(graph: Graph) -> set[Node]:
    """The nodes that gradients are taken of, and all that comes before the first gradient."""
    known = set(graph.nodes)
    first = next((i for i, n in enumerate(graph.nodes) if n.primal is not None), len(graph.nodes))
    inside = set(graph.nodes[:first])
    todo = [n.primal for n in graph.nodes[first:] if n.primal in known]
    while todo:  # a forward pass that comes later: what its gradient belongs to, and what that is made of
        node = todo.pop()
        if node is not None and node.primal is None and node not in inside:
            inside.add(node)
            todo += [v.node for v in node.inputs if v.node is not None]
    return inside


def with_gradient(graph: Graph, weights: set[Value]) -> TrainingGraph:
    """A program followed by the gradient of its loss by the weights.

    Raises:
        ValueError: the program has no result that can be differentiated.
    """
    loss = scalar_loss(graph)
    pair = vjp(graph, [i for i, p in enumerate(graph.params) if p in weights], [loss])
    out = Graph(graph.name, graph.module)
    twins: dict[Node, Node] = {}
    seen = {p: out.add_param(p.type, p.name) for p in pair.forward.params}
    for node in pair.forward.nodes:
        copy_node(node, out, seen, twins).primal = None  # a derivative inside a loss is planned like the rest of it
    given = [seen[v] for v in pair.residual_list] + [ones_like(out, graph.outputs[loss].type)]
    below = dict(zip(pair.backward.params, given))
    for node in pair.backward.nodes:
        copy_node(node, out, below, twins)
    gradients = [below[v] for v in pair.backward.outputs]
    out.outputs = [seen[v] for v in pair.forward.outputs[: len(graph.outputs)]]
    out.state = dict(graph.state)
    return TrainingGraph(out, {out.params[graph.params.index(w)] for w in weights}, gradients)


def ones_like(graph: Graph, t: Type) -> Value:
    """What the gradient of a loss starts from."""
    assert isinstance(t, TensorType)
    builder = GraphBuilder(graph.name, graph.module)
    builder.graph = graph
    return builder.constant(np.ones(t.ints(), t.dtype.numpy), t)


def scalar_loss(graph: Graph) -> int:
    """The output that is differentiated: the first float scalar that is no state, else the (sum of the) first float."""
    state = set(graph.state.values())
    floats = {i: t for i, v in enumerate(graph.outputs) if i not in state and (t := _static(v.type)) is not None}
    for i in (*(i for i, t in floats.items() if t.size == 1), *floats):
        return i
    raise AttributeValueError("the program has no float result to train by.", hint="plan it with training=False.")


def _static(t: Type) -> TensorType | None:
    return t if isinstance(t, TensorType) and t.is_static and t.dtype.differentiable else None
