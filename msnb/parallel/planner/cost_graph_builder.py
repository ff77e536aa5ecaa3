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
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msnb.core.microbatch_scope import within_micro
from msnb.ir import CALL, Graph, Node, Value, copy_node
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
        self.copied: set[Value] = self.flow.static | joint.free
        self._build()

    def _build(self) -> None:
        self.calls = {node: self.prices.call(node) for node in self.graph.nodes}
        for value in self.graph.params:
            if value in self.flow.weights and self.flow.readers.get(value, 0) > 1:
                self._add(value, self._layouts_of(value))
        for value, layout in self.joint.fed.items():
            self._add(value, [layout])
        placed = [node for node in self.graph.nodes if self.has_choice(node)]
        for node in placed:
            self.place[node] = len(self.strategies)
            self.strategies.append(self.prices.candidates(self.calls[node]))
        self.operators: OperatorNames = OperatorNames(placed, self.names, self.calls)

    def _add(self, value: Value, layouts: Iterable[TensorLayout]) -> None:
        """A value with layouts to choose from."""
        self.place[value] = len(self.strategies)
        self.strategies.append([Strategy((), (layout,), (layout,)) for layout in layouts])

    @cached_property
    def costs(self) -> CostGraph:
        """What every choice costs: priced when a search first asks."""
        return self._priced(self.strategies)

    def total(self, choices: Sequence[int]) -> tuple[float, float]:
        """Seconds and bytes of one plan; as long as nothing was searched, only what it chooses is priced."""
        if "costs" in vars(self):
            return self.costs.cost(choices), self.costs.bytes(choices)
        own = self._priced([[row[choice]] for row, choice in zip(self.strategies, choices)])
        return own.cost([0] * own.size), own.bytes([0] * own.size)

    def _priced(self, offered: Sequence[list[Strategy]]) -> CostGraph:
        """The cost graph of these choices, per place."""
        costs = CostGraph()
        for what, choices in zip(self.place, offered):
            self._add_node(costs, what, choices)
        for node in self.operators.nodes:
            for i, value in enumerate(node.inputs):
                self._add_edge(costs, offered, node, i, value)
        return costs

    def has_choice(self, node: Node) -> bool:
        """False for nodes that every device runs whole: made from nothing, or read by many and without gradient."""
        if all(v in self.copied for v in node.outputs):
            return False
        hub = max((self.flow.readers.get(v, 0) for v in node.outputs), default=0) > _HUB
        if hub and not any(v in self.flow.gradient for v in node.outputs):
            self.copied |= set(node.outputs)
            return False
        return True

    def _add_node(self, costs: CostGraph, what: Node | Value, choices: list[Strategy]) -> None:
        if isinstance(what, Node):
            call, known = self.calls[what], self.prices.cache.nodes
            key = self.prices.key(what, call)
            if choices is not self.prices.candidates(call):
                key = (key, "given", tuple(choices))
            if key not in known:
                known[key] = self.prices.node(what, call, choices)
            costs.add_node(*known[key], key)
            return
        layouts, fed = tuple(s.outputs[0] for s in choices), what in self.joint.fed
        time = [0.0 if fed else self.prices.update(layout, what.type) for layout in layouts]
        memory = [0.0 if fed else sum(self.prices.holdings(layout, what.type)) for layout in layouts]
        costs.add_node(time, memory, ("fed" if fed else "weight", what.type, layouts))

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

    def _layouts_of(self, value: Value) -> Iterable[TensorLayout]:
        """Of a weight with several readers: any layout that one of them wants."""
        wanted = (s.inputs[i] for node, i in self.flow.uses[value] for s in self.prices.candidates(self.calls[node]))
        return dict.fromkeys((whole(value.type.ndim), *wanted))  # type: ignore[union-attr]

    def _add_edge(self, costs: CostGraph, offered: Sequence[list[Strategy]], node: Node, i: int, value: Value) -> None:
        source = value if value in self.place else value.node
        if value in self.copied or source not in self.place:
            return
        u, v = self.place[source], self.place[node]
        output = 0 if value in self.place or value.node is None else value.node.outputs.index(value)
        gradient = value in self.flow.gradient
        key = (costs.node_keys[u], costs.node_keys[v], output, i, gradient)
        found = self.prices.cache.edges.get(key)
        if found is None:
            sources, targets = [s.outputs[output] for s in offered[u]], [s.inputs[i] for s in offered[v]]
            found = self.prices.cache.edges[key] = self.prices.edge(sources, targets, value.type, gradient)
        costs.add_edge(u, v, found, key)

    def replace(self, choices: Mapping[Node, list[Strategy]]) -> None:
        """Nodes get other choices; what is priced with the old ones is forgotten."""
        for node, strategies in choices.items():
            self.strategies[self.place[node]] = strategies
        if choices:
            vars(self).pop("costs", None)

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
