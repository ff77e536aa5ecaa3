"""From a graph to a cost graph, and from a search's choices back to strategies.

    value                               in the cost graph
    result of a node                    the node: one choice per strategy, cost forward and backward
    weight read once                    nothing: it is laid out as its reader wants it
    weight read several times           a node of its own: one choice per layout that some reader wants
    data (inputs that are no weights)   nothing: the input pipeline delivers every part
    made from nothing (constants ...)   nothing: every device makes what it needs
    read by many, without a gradient    a copy on every device (masks, positions); its readers slice it

Edges are the reshards between a producer's layout and its reader's, forward and for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msnb.core.microbatch_scope import within_micro
from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.parallel.context import GRADIENT_SUMS
from msnb.parallel.planner.cost_model import MemoryRule, Model, part_bytes
from msnb.parallel.planner.operator_names import OperatorNames
from msnb.parallel.planner.strategy_prices import PriceCache, StrategyPrices
from msnb.parallel.planner.unrolled_scans import unroll, unrolls
from msnb.parallel.planner.value_flow import ValueFlow
from msnb.parallel.program.optimizer_sharding import OptimizerSharding
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.search.cost_graph import CostGraph
from msnb.parallel.sharding.layout import TensorLayout, whole
from msnb.parallel.sharding.strategies import OpSignature, Strategy

if TYPE_CHECKING:
    from msnb.parallel.sharding.device_mesh import Mesh

_HUB = 8  # readers


def inlined(graph: Graph) -> Graph:
    """The graph with calls replaced by the callee's nodes (recursive ones stay) and Scans by their turns."""
    if not any(node.op is CALL or unrolls(node) for node in graph.nodes):
        return graph
    out = Graph(graph.name, graph.module)
    seen: dict[Value, Value] = {p: out.add_param(p.type, p.name) for p in graph.params}
    _inline_into(graph, out, seen, (graph.name,), {})
    out.outputs, out.state = [seen[v] for v in graph.outputs], dict(graph.state)
    return out


def _inline_into(graph: Graph, out: Graph, seen: dict[Value, Value], inside: tuple[str, ...],
                 twins: dict[Node, Node]) -> None:  # fmt: skip
    for node in graph.nodes:
        if unrolls(node):
            unroll(node, out, seen, twins)
            continue
        callee = graph.module.graphs.get(node.attrs["callee"]) if node.op is CALL else None
        if callee is None or callee.name in inside:
            copy_node(node, out, seen, twins)
            continue
        inner = dict(zip(callee.params, (seen[v] for v in node.inputs)))
        _inline_into(callee, out, inner, (*inside, callee.name), twins)
        seen.update(zip(node.outputs, (inner[v] for v in callee.outputs)))


def names_of(nodes: Iterable[Node]) -> dict[Node, str]:
    """A name for every node: its Cell's path (in a pipeline from the network on) and its op, numbered where that is not
    enough."""
    count: dict[str, int] = {}
    out = {}
    for node in nodes:
        base = f"{node.scope}/{node.op.name}" if node.scope else node.op.name
        base = within_micro(base)
        count[base] = count.get(base, 0) + 1
        out[node] = base if count[base] == 1 else f"{base}_{count[base]}"
    return out


@dataclass(frozen=True)
class TensorShard:
    """What a device holds of a tensor: its name, the type of the whole, what is held, and the bytes."""

    name: str
    type: Any
    what: str
    nbytes: float


class CostGraphBuilder:
    """Strategies and costs of a program.

    Args:
        joint: the program, without calls; its forward part is planned.
        model: what things cost.
        rule: bytes per byte of weight.
        most: at most so many labels of an op are split at once.
        sharding: how copies of weights share their update.
        wide: which sums over devices of 16-bit terms are taken in float32 (``context.wide_sums``).
        priced: what is known from other programs on the same devices, planned with the same settings.

    Attributes:
        flow: what is known of values; prices: what strategies cost; operators: those with a choice, by name.
        place: the nodes of the graph, and the weights, that have a choice, with their place in ``costs``.
        strategies: per node of ``costs`` its strategies (or layouts of a weight that is read several times).
        costs: the cost graph; searched: the search that was done last.
    """

    def __init__(self, joint: TrainingGraph, model: Model, rule: MemoryRule, most: int | None = None,
                 sharding: OptimizerSharding | None = None, wide: str = GRADIENT_SUMS,
                 priced: PriceCache | None = None) -> None:  # fmt: skip
        self.joint: TrainingGraph = joint
        self.graph: Graph = joint.forward
        self.mesh: Mesh = model.mesh
        self.wide: str = wide
        self.flow: ValueFlow = ValueFlow.of(self.graph, joint.weights, joint.transfers.incoming)
        parts = sharding or OptimizerSharding(), wide, PriceCache() if priced is None else priced
        self.prices: StrategyPrices = StrategyPrices(joint, self.flow, model, rule, most, *parts)
        self.names: dict[Node, str] = {**names_of(self.graph.nodes), **joint.names}
        self.searched: str = ""
        self.calls: dict[Node, OpSignature] = {}
        self.place: dict[Any, int] = {}
        self.strategies: list[list[Strategy]] = []
        self.costs: CostGraph = CostGraph()
        self.copied: set[Value] = self.flow.static | joint.free
        self._build()

    def _build(self) -> None:
        self.calls = {node: self.prices.call(node) for node in self.graph.nodes}
        for value in self.graph.params:
            if value in self.flow.weights and self.flow.readers.get(value, 0) > 1:
                self._add_weight(value)
        for value, layout in self.joint.fed.items():
            self.place[value] = self.costs.add_node([0.0], [0.0], ("fed", value.type, layout))
            self.strategies.append([Strategy((), (layout,), (layout,))])
        for node in self.graph.nodes:
            if self.has_choice(node):
                self._add_node(node)
        placed = [n for n in self.graph.nodes if n in self.place]
        self.operators: OperatorNames = OperatorNames(placed, self.names, self.calls)
        for node in self.operators.nodes:
            for i, value in enumerate(node.inputs):
                self._add_edge(node, i, value)

    def has_choice(self, node: Node) -> bool:
        """False for nodes that every device runs whole: made from nothing, or read by many and without gradient."""
        if all(v in self.copied for v in node.outputs):
            return False
        hub = max((self.flow.readers.get(v, 0) for v in node.outputs), default=0) > _HUB
        if hub and not any(v in self.flow.gradient for v in node.outputs):
            self.copied |= set(node.outputs)
            return False
        return True

    def _add_node(self, node: Node) -> None:
        call, known = self.calls[node], self.prices.cache.nodes
        choices, key = self.prices.candidates(call), self.prices.key(node, call)
        if key not in known:
            known[key] = self.prices.node(node, call, choices)
        self.place[node] = self.costs.add_node(*known[key], key)
        self.strategies.append(choices)

    def parts(self, choices: Sequence[int]) -> Iterator[TensorShard]:
        """What a device holds under these choices: weights with their gradient and optimizer state, and what operators
        keep for the gradient."""
        for what, v in self.place.items():
            s = self.strategies[v][choices[v]]
            rows = [(what, s.outputs[0])] if isinstance(what, Value) else self._own_weights(what, s)
            for weight, layout in rows:
                if weight in self.flow.weights:
                    words = "weight, gradient and optimizer state" if self.prices.rule.training else "weight"
                    yield TensorShard(weight.name, weight.type, words, sum(self.prices.holdings(layout, weight.type)))
            if isinstance(what, Node) and self.prices.rule.training:
                kept = self.prices.circumstances(what)[2]
                for out, layout, keep in zip(what.outputs, s.outputs, kept):
                    if keep:
                        nbytes = part_bytes(self.mesh, layout, out.type)
                        yield TensorShard(self.names[what], out.type, "kept for the gradient", nbytes)

    def _own_weights(self, node: Node, s: Strategy) -> list[tuple[Value, TensorLayout]]:
        """The weights that only this node reads, as it reads them."""
        own = self.prices.circumstances(node)[1]
        return [(v, layout) for v, layout, mine in zip(node.inputs, s.inputs, own) if mine]

    def held(self, what: Node | Value, choice: int) -> float:
        """The part of a choice's bytes that is there whether something is computed or not: weights and their state."""
        v = self.place[what]
        if not isinstance(what, Node):
            return float(self.costs.memory[v][choice])
        own = self._own_weights(what, self.strategies[v][choice])
        return sum(sum(self.prices.holdings(layout, weight.type)) for weight, layout in own)

    def reader(self, what: Any) -> Node:
        """The node that has a choice; of a weight with a choice of its own the first that reads it."""
        return what if isinstance(what, Node) else self.flow.uses[what][0][0]

    def _add_weight(self, value: Value) -> None:
        """A weight with several readers: any layout that one of them wants."""
        found = {whole(value.type.ndim): None}  # type: ignore[union-attr]
        for node, i in self.flow.uses[value]:
            for s in self.prices.candidates(self.calls[node]):
                found.setdefault(s.inputs[i])
        time = [self.prices.update(layout, value.type) for layout in found]
        memory = [sum(self.prices.holdings(layout, value.type)) for layout in found]
        self.place[value] = self.costs.add_node(time, memory, ("weight", value.type, tuple(found)))
        self.strategies.append([Strategy((), (layout,), (layout,)) for layout in found])

    def _add_edge(self, node: Node, i: int, value: Value) -> None:
        source = value if value in self.place else value.node
        if value in self.copied or source not in self.place:
            return
        u, v = self.place[source], self.place[node]
        output = 0 if value in self.place or value.node is None else value.node.outputs.index(value)
        gradient = value in self.flow.gradient
        key = (self.costs.node_keys[u], self.costs.node_keys[v], output, i, gradient)
        found = self.prices.cache.edges.get(key)
        if found is None:
            found = self.prices.cache.edges[key] = self.prices.edge(
                [s.outputs[output] for s in self.strategies[u]], [s.inputs[i] for s in self.strategies[v]], value.type,
                gradient)  # fmt: skip
        self.costs.add_edge(u, v, found, key)

    def replace(self, choices: Mapping[Node, list[Strategy]]) -> None:
        """Nodes get other choices."""
        for node, strategies in choices.items():
            self._replace(node, strategies)
        if choices:
            self._edges_again({self.place[node] for node in choices})

    def _replace(self, node: Node, choices: list[Strategy]) -> None:
        v, g = self.place[node], self.costs
        self.strategies[v] = choices
        g.time[v], g.memory[v] = self.prices.node(node, self.calls[node], choices)
        g.node_keys[v] = (g.node_keys[v], "given", tuple(choices))

    def _edges_again(self, changed: set[int]) -> None:
        """Edges at changed nodes, made anew."""
        g = self.costs
        pairs = [(e, edge) for e, edge in enumerate(g.edges) if edge[0] not in changed and edge[1] not in changed]
        g.edges, g.edge_keys = [edge for _, edge in pairs], [g.edge_keys[e] for e, _ in pairs]
        for node in self.operators.nodes:
            for i, value in enumerate(node.inputs):
                source = value if value in self.place else value.node
                if source in self.place and changed & {self.place[source], self.place[node]}:
                    self._add_edge(node, i, value)

    def runs(self) -> list[list[list[str]]]:
        """Per node and choice: the label that every mesh axis is given to."""
        n = len(self.mesh.factors)
        out = []
        for choices in self.strategies:
            rows = []
            for s in choices:
                at = {a: name for name, run in s.blocks for a in run}
                if not s.blocks and s.inputs:
                    at = {a: str(d) for d, axes in enumerate(s.inputs[0].dims) for a in axes}
                rows.append([at.get(a, "") for a in range(n)])
            out.append(rows)
        return out
