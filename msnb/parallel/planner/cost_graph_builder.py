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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError
from msnb.core.microbatch_scope import within_micro
from msnb.core.types import TensorType
from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.parallel.context import GRADIENT_SUMS
from msnb.parallel.planner.cost_model import (
    ACTIVATION,
    BUCKET,
    NONE,
    WEIGHT,
    MemoryRule,
    Model,
    TimeModel,
    is_free,
    part_bytes,
)
from msnb.parallel.planner.unrolled_scans import unroll, unrolls
from msnb.parallel.program.optimizer_sharding import OptimizerSharding
from msnb.parallel.program.spmd_program import moves_opening
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.search.cost_graph import CostGraph, Floats
from msnb.parallel.sharding.device_mesh import GATHER
from msnb.parallel.sharding.layout import TensorLayout, whole
from msnb.parallel.sharding.strategies import OpSignature, Strategy, call_of, candidates, chosen

_HUB = 8  # readers
_SMALL = 40  # nodes of a program up to which three axes of an operator may be split at once


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


@dataclass
class ValueFlow:
    """What is known of every value before any strategy.

    Attributes:
        weights: params that are trained.
        gradient: values whose gradient is asked for.
        derived: values that are weights seen through views and casts.
        static: values that depend on no input.
    """

    weights: set[Value]
    gradient: set[Value] = field(default_factory=set)
    derived: set[Value] = field(default_factory=set)
    static: set[Value] = field(default_factory=set)
    readers: dict[Value, int] = field(default_factory=dict)

    @staticmethod
    def of(graph: Graph, weights: set[Value], incoming: set[Value] = frozenset()) -> ValueFlow:  # type: ignore[assignment]
        """Walk the graph once; ``incoming`` are values whose gradient somebody else asks for."""
        asked = {v for v in incoming if isinstance(v.type, TensorType) and _float(v.type)}
        flow = ValueFlow(weights, weights | asked, set(weights))
        for node in graph.nodes:
            for v in node.inputs:
                flow.readers[v] = flow.readers.get(v, 0) + 1
            if node.op.grad is not None or "control" in node.op.traits:
                if any(v in flow.gradient for v in node.inputs):
                    flow.gradient |= {o for o in node.outputs if isinstance(o.type, TensorType) and _float(o.type)}
            if _is_view(node) and all(v in flow.derived for v in node.inputs):
                flow.derived |= set(node.outputs)
            scalar = all(_weak(v) or v in flow.static for v in node.inputs)
            if scalar and "control" not in node.op.traits and "effect" not in node.op.traits:
                flow.static |= set(node.outputs)
        return flow

    def role(self, value: Value) -> str:
        """What the gradient of an operand is."""
        if value not in self.gradient:
            return NONE
        return WEIGHT if value in self.derived else ACTIVATION


def _plain(name: str) -> str:
    """The kind of an op, however it is spelled: MindSpore says ``Conv2D``, ``ExpandDims``."""
    return name.replace("_", "").lower()


def _float(t: TensorType) -> bool:
    return t.dtype.differentiable


def _weak(v: Value) -> bool:
    return v.is_param and isinstance(v.type, TensorType) and v.type.weak


def _is_view(node: Node) -> bool:
    return len(node.inputs) == 1 and ("view" in node.op.traits or node.op.name in ("transpose", "cast"))


@dataclass(frozen=True)
class TensorShard:
    """What a device holds of a tensor: its name, the type of the whole, what is held, and the bytes."""

    name: str
    type: Any
    what: str
    nbytes: float


@dataclass
class PriceCache:
    """What was priced for one program holds for every other on the same mesh, with the same model and rule: layers are
    alike, and so are the stages of a pipeline. Keys say all that a price depends on.

    Attributes:
        calls: (op, types, attributes) -> the call; strategies: (signature, most labels) -> its strategies.
        nodes: (signature, circumstances, what a step shares) -> seconds and bytes of every choice.
        edges: keys of both ends -> the matrix between them; reshards: layouts of both ends -> theirs.
        inherited: (signature, mesh axes of labels) -> the strategy that splits them so; None where none does.
    """

    calls: dict[Any, OpSignature] = field(default_factory=dict)
    strategies: dict[Any, list[Strategy]] = field(default_factory=dict)
    nodes: dict[Any, tuple[Floats, Floats]] = field(default_factory=dict)
    edges: dict[Any, Floats] = field(default_factory=dict)
    reshards: dict[Any, Floats] = field(default_factory=dict)
    inherited: dict[Any, Strategy | None] = field(default_factory=dict)


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
        nodes: the nodes of the graph that have a choice, with their place in ``costs``.
        strategies: per node of ``costs`` its strategies (or layouts of a weight that is read several times).
        costs: the cost graph; searched: the search that was done last.
    """

    def __init__(self, joint: TrainingGraph, model: Model, rule: MemoryRule, most: int | None = None,
                 sharding: OptimizerSharding | None = None, wide: str = GRADIENT_SUMS,
                 priced: PriceCache | None = None) -> None:  # fmt: skip
        self.joint, graph, weights = joint, joint.forward, joint.weights
        self.graph, self.model, self.mesh, self.rule, self.most = graph, model, model.mesh, rule, most
        self.flow, self.sharding = ValueFlow.of(graph, weights, joint.incoming), sharding or OptimizerSharding()
        self.wide = wide
        if isinstance(model, TimeModel):
            model.wide, model.parts = wide, joint.parts
            model.bucket = max(1.0, min(BUCKET, sum(t.nbytes for w in weights if isinstance(t := w.type, TensorType))))
        if most is None and self.mesh.size <= 8 and len(graph.nodes) <= _SMALL:
            self.most = 3
        self.names, self.searched = {**names_of(graph.nodes), **joint.names}, ""
        self.calls: dict[Node, OpSignature] = {}
        self.place: dict[Any, int] = {}
        self.strategies: list[list[Strategy]] = []
        self.layouts: dict[Value, list[TensorLayout]] = {}
        self.costs = CostGraph()
        self.copied: set[Value] = self.flow.static | joint.free
        self.priced = PriceCache() if priced is None else priced
        # what prices depend on besides the call and its circumstances, of all that differs between programs
        self._shared = self.most, model.bucket if isinstance(model, TimeModel) else 0.0, joint.parts
        self._nodes: dict[int, Node] = {}
        self._readers: dict[Value, list[tuple[Node, int]]] = {}
        for node in graph.nodes:
            for i, v in enumerate(node.inputs):
                self._readers.setdefault(v, []).append((node, i))
        self._build()

    def _build(self) -> None:
        self.calls = {node: self.call(node) for node in self.graph.nodes}
        for value in self.graph.params:
            if value in self.flow.weights and self.flow.readers.get(value, 0) > 1:
                self._add_weight(value)
        for value, layout in self.joint.fed.items():
            self.place[value] = self.costs.add_node([0.0], [0.0], ("fed", value.type, layout))
            self.strategies.append([Strategy((), (layout,), (layout,))])
        for node in self.graph.nodes:
            if self.has_choice(node):
                self._add_node(node)
        for node in self.graph.nodes:
            if node in self.place:
                for i, value in enumerate(node.inputs):
                    self._add_edge(node, i, value)

    def call(self, node: Node) -> OpSignature:
        """A node as strategies see it; alike nodes share their call."""
        known = self.priced.calls
        types = (tuple(v.type for v in side) for side in (node.inputs, node.outputs))
        key = (node.op, *types, tuple(node.attrs.items()))
        return known[key] if key in known else known.setdefault(key, call_of(node))

    def has_choice(self, node: Node) -> bool:
        """False for nodes that every device runs whole: made from nothing, or read by many and without gradient."""
        if all(v in self.copied for v in node.outputs):
            return False
        hub = max((self.flow.readers.get(v, 0) for v in node.outputs), default=0) > _HUB
        if hub and not any(v in self.flow.gradient for v in node.outputs):
            self.copied |= set(node.outputs)
            return False
        return True

    def candidates(self, call: OpSignature) -> list[Strategy]:
        """The strategies of a call, found once per signature."""
        key = call.key, self.most
        found = self.priced.strategies.get(key)
        if found is None:
            found = candidates(call, self.mesh, self.most)
            if self.model.name == "bytes" and not is_free(call):  # MindSpore's fully_use_devices, and no split pixels
                found = [s for s in found if not any(moves_opening(self.mesh, call, s))]
                found = [s for s in found if self.mesh.count(s.used) == self.mesh.size] or found
            self.priced.strategies[key] = found
        return found

    def _add_node(self, node: Node) -> None:
        call = self.calls[node]
        choices = self.candidates(call)
        roles, own, kept = self._circumstances(node)
        key = (call.key, roles, own, kept, self._shared)
        found = self.priced.nodes.get(key)
        if found is None:
            time = np.array([self._time(call, s, roles, own) for s in choices], np.float64)
            memory = np.array([self._memory(call, s, own, kept) for s in choices], np.float64)
            found = self.priced.nodes[key] = time, memory
        self.place[node] = self.costs.add_node(*found, key)
        self._nodes[self.place[node]] = node
        self.strategies.append(choices)

    def _circumstances(self, node: Node) -> tuple[tuple[str, ...], tuple[bool, ...], tuple[bool, ...]]:
        """Roles of the inputs; which of them are weights that only this node reads; which results are kept, and are no
        views of weights."""
        flow = self.flow
        return (
            tuple(flow.role(v) for v in node.inputs),
            tuple(v in flow.weights and flow.readers[v] == 1 for v in node.inputs),
            tuple(v in flow.gradient and v not in flow.derived and self.kept(v) for v in node.outputs),
        )

    def kept(self, value: Value) -> bool:
        """Whether a gradient rule reads the value, so that it is kept for the backward pass."""
        return self.keeper(value) is not None

    def keeper(self, value: Value) -> Node | None:
        """The first node of the program whose gradient rule reads the value: its maker, or a reader."""
        node = value.node
        if node in self.calls and node is not None and {"out", "outs"} & node.op.wanted_by_grad:
            return node
        for reader, i in self._readers.get(value, ()):
            names = reader.op.inputs
            name = names[min(i, len(names) - 1)].lstrip("*") if names else ""
            if name in reader.op.wanted_by_grad:
                return reader
        return None

    def _time(self, call: OpSignature, s: Strategy, roles: Sequence[str], own: Sequence[bool]) -> float:
        """The op forward and backward, and the optimizer's work on the weights that only it reads."""
        weights = [(layout, t) for layout, t, mine in zip(s.inputs, call.types, own) if mine]
        return self.model.node(call, s, roles) + sum(self._update(layout, t) for layout, t in weights)

    def _memory(self, call: OpSignature, s: Strategy, own: Sequence[bool], kept: Sequence[bool]) -> float:
        held = sum(sum(self.holdings(layout, t)) for layout, t, mine in zip(s.inputs, call.types, own) if mine)
        saved = sum(part_bytes(self.mesh, layout, t) for layout, t, keep in zip(s.outputs, call.outs, kept) if keep)
        return held + (saved if self.rule.training else 0.0)

    def parts(self, choices: Sequence[int]) -> Iterator[TensorShard]:
        """What a device holds under these choices: weights with their gradient and optimizer state, and what operators
        keep for the gradient."""
        for what, v in self.place.items():
            s = self.strategies[v][choices[v]]
            rows = [(what, s.outputs[0])] if isinstance(what, Value) else self._own_weights(what, s)
            for weight, layout in rows:
                if weight in self.flow.weights:
                    words = "weight, gradient and optimizer state" if self.rule.training else "weight"
                    yield TensorShard(weight.name, weight.type, words, sum(self.holdings(layout, weight.type)))
            if isinstance(what, Node) and self.rule.training:
                kept = self._circumstances(what)[2]
                for out, layout, keep in zip(what.outputs, s.outputs, kept):
                    if keep:
                        nbytes = part_bytes(self.mesh, layout, out.type)
                        yield TensorShard(self.names[what], out.type, "kept for the gradient", nbytes)

    def _own_weights(self, node: Node, s: Strategy) -> list[tuple[Value, TensorLayout]]:
        """The weights that only this node reads, as it reads them."""
        own = self._circumstances(node)[1]
        return [(v, layout) for v, layout, mine in zip(node.inputs, s.inputs, own) if mine]

    def held(self, v: int, choice: int) -> float:
        """The part of a choice's bytes that is there whether something is computed or not: weights and their state."""
        s, node = self.strategies[v][choice], self._nodes.get(v)
        if node is None:
            return float(self.costs.memory[v][choice])
        own = self._circumstances(node)[1]
        rows = zip(s.inputs, self.calls[node].types, own)
        return sum(sum(self.holdings(layout, t)) for layout, t, mine in rows if mine)

    def reader(self, what: Any) -> Node:
        """The node that has a choice; of a weight with a choice of its own the first that reads it."""
        return what if isinstance(what, Node) else self._readers[what][0][0]

    def holdings(self, layout: TensorLayout, t: Any) -> tuple[float, float, float]:
        """Bytes of a weight, of its gradient and of its optimizer state on a device, in the layout of its readers."""
        own, level = part_bytes(self.mesh, layout, t), self.sharding.level
        if not self.rule.training:
            return own, 0.0, 0.0
        share = part_bytes(self.mesh, self.sharding.spread(self.mesh, layout, t), t)
        return (share if level == 3 else own), (share if level > 1 else own), self.rule.optimizer_states * share

    def _update(self, layout: TensorLayout, t: Any) -> float:
        """Seconds of the optimizer; what is gathered for every use is gathered once more than it is reduced."""
        spread = self.sharding.spread(self.mesh, layout, t)
        share = part_bytes(self.mesh, spread, t)
        seconds = self.model.update(share, self.rule.optimizer_states)
        if self.sharding.level == 3 and spread != layout and isinstance(self.model, TimeModel):
            more = tuple(a for a in spread.used if a not in layout.used)
            seconds += self.mesh.seconds(GATHER, more, share)
        return seconds / self.joint.parts

    def _add_weight(self, value: Value) -> None:
        """A weight with several readers: any layout that one of them wants."""
        found = {whole(value.type.ndim): None}  # type: ignore[union-attr]
        for node, i in self._readers[value]:
            for s in self.candidates(self.calls[node]):
                found.setdefault(s.inputs[i])
        self.layouts[value] = list(found)
        time = [self._update(layout, value.type) for layout in found]
        memory = [sum(self.holdings(layout, value.type)) for layout in found]
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
        found = self.priced.edges.get(key)
        if found is None:
            found = self.priced.edges[key] = self._matrix(u, v, output, i, value, gradient)
        self.costs.add_edge(u, v, found, key)

    def _matrix(self, u: int, v: int, output: int, i: int, value: Value, gradient: bool) -> Floats:
        """Reshard costs between all strategies of both ends; equal layouts are asked for once."""
        sources = [s.outputs[output] for s in self.strategies[u]]
        targets = [s.inputs[i] for s in self.strategies[v]]
        if not isinstance(value.type, TensorType) or not value.type.is_static:
            return np.zeros((len(sources), len(targets)))
        rows = {layout: k for k, layout in enumerate(dict.fromkeys(sources))}
        columns = {layout: k for k, layout in enumerate(dict.fromkeys(targets))}
        key = (tuple(rows), tuple(columns), value.type, gradient)
        small = self.priced.reshards.get(key)
        if small is None:
            t = value.type
            small = np.array([[self.model.edge(a, b, t, gradient) for b in columns] for a in rows])
            self.priced.reshards[key] = small
        return small[np.ix_([rows[a] for a in sources], [columns[b] for b in targets])]

    # ---- what people and files say -----------------------------------------------------------------------------------

    def fixed(self, wanted: Mapping[str, Any]) -> dict[Node, Strategy]:
        """Strategies by name as strategies of nodes.

        Args:
            wanted: op name (or Cell path, or op kind) -> split counts per input.

        Raises:
            ValueError: an unknown name, or a strategy that is wrong.
        """
        out: dict[Node, Strategy] = {}
        for name, splits in wanted.items():
            nodes = self.named(name)
            for node in nodes:
                out[node] = chosen(self.names[node], self.calls[node], splits, self.mesh)
        return out

    def named(self, name: str) -> list[Node]:
        """The nodes that go by a name: their own, their kind (in MindSpore's spelling too), or the end of a path (a
        network's name in a step)."""
        found = self.matching(name)
        if found:
            return found
        import difflib

        known = [self.names[n] for n in self.graph.nodes if n in self.place]
        near = difflib.get_close_matches(name, known, 3, 0.4)
        raise AttributeValueError(
            f"no operator of this program is called {name!r}.",
            hint=f"legal: {', '.join(near or known[:8])}" + ("" if len(known) <= 8 else " ..."),
        )

    def matching(self, name: str) -> list[Node]:
        """The nodes that go by a name; none where no node does."""
        nodes = [n for n in self.graph.nodes if n in self.place]
        exact = [n for n in nodes if self.names[n] == name]
        kind = [n for n in nodes if n.op.name == name] or [n for n in nodes if _plain(n.op.name) == _plain(name)]
        ends = [n for n in nodes if self.names[n].endswith(f"/{name}") or name.endswith(f"/{self.names[n]}")]
        return exact or kind or ends

    def has(self, name: str) -> bool:
        """Whether a name is that of an operator."""
        return any(self.names[n] == name for n in self.graph.nodes if n in self.place)

    def restrict(self, fixed: Mapping[Node, Strategy]) -> None:
        """Nodes with a given strategy have no other choice any more."""
        self.replace({node: [strategy] for node, strategy in fixed.items()})

    def replace(self, choices: Mapping[Node, list[Strategy]]) -> None:
        """Nodes get other choices."""
        for node, strategies in choices.items():
            self._replace(node, strategies)
        if choices:
            self._edges_again({self.place[node] for node in choices})

    def _replace(self, node: Node, choices: list[Strategy]) -> None:
        v, call = self.place[node], self.calls[node]
        roles, own, kept = self._circumstances(node)
        g = self.costs
        self.strategies[v] = choices
        g.time[v] = np.array([self._time(call, s, roles, own) for s in choices])
        g.memory[v] = np.array([self._memory(call, s, own, kept) for s in choices])
        g.node_keys[v] = (g.node_keys[v], "given", tuple(choices))

    def _edges_again(self, changed: set[int]) -> None:
        """Edges at changed nodes, made anew."""
        g = self.costs
        pairs = [(e, edge) for e, edge in enumerate(g.edges) if edge[0] not in changed and edge[1] not in changed]
        g.edges, g.edge_keys = [edge for _, edge in pairs], [g.edge_keys[e] for e, _ in pairs]
        for node in self.graph.nodes:
            if node in self.place:
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
