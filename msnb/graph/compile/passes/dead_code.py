"""Leaving out dead nodes and dead parts of control nodes: the work behind ``dce``.

    live      values that somebody reads, found by one walk from the outputs backwards
    shrink    a control node with live results only: which results, which arguments, which bodies

Dead parts of bodies are cut by choosing which of a body's outputs are wanted and pruning the body for these.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir import IF, SCAN, WHILE, Graph, Module, Node, Value
from msnb.ir.analysis.nested_nodes import NestedSearch
from msnb.ops.elementwise.constant import constant

LAW = "nobody reads it"
LAW_PART = "nobody reads this part of it"


class PruningPlan:
    """What remains of a control node: kept results and arguments by position, new attributes, pruned bodies."""

    def __init__(
        self, results: Sequence[int], args: Sequence[int], attrs: dict[str, object], graphs: Sequence[Graph]
    ) -> None:
        self.results: list[int] = list(results)
        self.args: list[int] = list(args)
        self.attrs: dict[str, object] = attrs
        self.graphs: list[Graph] = list(graphs)


class Pruner:
    """A copy of a graph with what is alive.

    Args:
        graph: the graph; it is not changed.
        module: the module of the copy.
        effects: knows which nodes must stay.
        log: takes notes.
        wanted: the outputs to keep, by position (all by default).
    """

    def __init__(
        self, graph: Graph, module: Module, effects: NestedSearch, log: Log, wanted: Sequence[int] | None = None,
        primals: dict[Node, Node] | None = None,
    ) -> None:  # fmt: skip
        self.source: Graph = graph
        self.effects: NestedSearch = effects
        self.log: Log = log
        self.out: Graph = Graph(graph.name, module)
        self.wanted: list[int] = list(range(len(graph.outputs))) if wanted is None else list(wanted)
        self.live: set[Value] = {graph.outputs[i] for i in self.wanted}
        self._plans: dict[Node, PruningPlan] = {}
        self._primals: dict[Node, Node] = {} if primals is None else primals
        self._kept = self._mark()

    def _mark(self) -> list[Node]:
        """The nodes that stay, found backwards; fills ``live``."""
        kept: list[Node] = []
        for node in reversed(self.source.nodes):
            if not (any(v in self.live for v in node.outputs) or self.effects.node(node, self.source)):
                if node.op is not constant:
                    self.log.note("dce", LAW, self.source, node)
                continue
            kept.append(node)
            plan = self._plan(node)
            if plan is not None:
                self._plans[node] = plan
            self.live.update(node.inputs if plan is None else [node.inputs[i] for i in plan.args])
        return kept[::-1]

    def used_params(self) -> set[int]:
        """The positions of params that something alive reads."""
        return {i for i, p in enumerate(self.source.params) if p in self.live}

    def run(self, params: Sequence[int] | None = None) -> Graph:
        """The pruned graph, with the given params (all by default)."""
        seen: dict[Value, Value] = {}
        if params is None:
            self.out.params = list(self.source.params)
        for i in params or ():
            p = self.source.params[i]
            seen[p] = self.out.add_param(p.type, p.name)
        for node in self._kept:
            self._copy(node, seen)
        self.out.outputs = [seen.get(v, v) for v in (self.source.outputs[i] for i in self.wanted)]
        if params is None and len(self.wanted) == len(self.source.outputs):
            self.out.state = dict(self.source.state)
        return self.out

    def _copy(self, node: Node, seen: dict[Value, Value]) -> None:
        plan = self._plans.get(node)
        if plan is None and self._stays(node, seen):
            self.out.nodes.append(node)
            return
        if plan is None:
            new = Node(
                node.op, [seen.get(v, v) for v in node.inputs], node.attrs, [v.type for v in node.outputs], node.graphs
            )
            pairs = list(zip(node.outputs, new.outputs))
        else:
            types = [node.outputs[i].type for i in plan.results]
            new = Node(
                node.op, [seen.get(node.inputs[i], node.inputs[i]) for i in plan.args], plan.attrs, types, plan.graphs
            )
            pairs = [(node.outputs[i], v) for i, v in zip(plan.results, new.outputs)]
        self.out.nodes.append(new)
        new.where, new.scope, new.why = node.where, node.scope, node.why
        new.primal = None if node.primal is None else self._primals.get(node.primal, node.primal)
        self._primals[node] = new
        for old, fresh in pairs:
            fresh.name = old.name
            seen[old] = fresh

    def _stays(self, node: Node, seen: dict[Value, Value]) -> bool:
        """True for a node that reads what it read: it stands in both graphs."""
        return not any(v in seen for v in node.inputs) and (node.primal is None or node.primal not in self._primals)

    # ---- control nodes ----

    def _plan(self, node: Node) -> PruningPlan | None:
        if not node.graphs or node.op not in (IF, WHILE, SCAN):
            return None
        wanted = [i for i, v in enumerate(node.outputs) if v in self.live]
        plan = {IF: self._if, WHILE: self._while, SCAN: self._scan}[node.op](node, wanted)
        if len(plan.results) < len(node.outputs) or len(plan.args) < len(node.inputs):
            self.log.note("dce", LAW_PART, self.source, node)
        return plan

    def _prune(self, body: Graph, wanted: Sequence[int]) -> Pruner:
        return Pruner(body, self.out.module, self.effects, self.log, wanted, self._primals)

    def _if(self, node: Node, wanted: list[int]) -> PruningPlan:
        pruners = [self._prune(g, wanted) for g in node.graphs]
        params = sorted(set().union(*(p.used_params() for p in pruners)))
        return PruningPlan(wanted, [0, *(i + 1 for i in params)], node.attrs, [p.run(params) for p in pruners])

    def _while(self, node: Node, wanted: list[int]) -> PruningPlan:
        cond, body = node.graphs
        n = node.attrs["n_carry"]
        condition = self._quiet(cond, [0])
        carried = _closure(set(wanted) | {i for i in condition if i < n}, body, n, self.effects)
        pruners = [self._prune(cond, [0]), self._prune(body, sorted(carried))]
        used = pruners[0].used_params() | pruners[1].used_params() | carried
        params = sorted(used)
        attrs = {**node.attrs, "n_carry": len(carried)}
        return PruningPlan(sorted(carried), params, attrs, [p.run(params) for p in pruners])

    def _quiet(self, body: Graph, wanted: Sequence[int]) -> set[int]:
        return Pruner(body, self.out.module, self.effects, Log(), wanted).used_params()

    def _scan(self, node: Node, wanted: list[int]) -> PruningPlan:
        body = node.graphs[0]
        n, m = node.attrs["n_carry"], node.attrs["n_xs"]
        carried = _closure({i for i in wanted if i < n}, body, n, self.effects, [i for i in wanted if i >= n])
        results = sorted(carried | {i for i in wanted if i >= n})
        pruner = self._prune(body, results)
        params = sorted(pruner.used_params() | carried)
        attrs = {**node.attrs, "n_carry": len(carried), "n_xs": sum(n <= i < n + m for i in params)}
        return PruningPlan(results, params, attrs, [pruner.run(params)])


def _closure(start: set[int], body: Graph, n: int, effects: NestedSearch, ys: Sequence[int] = ()) -> set[int]:
    """The carried values that are needed when ``start`` and the outputs ``ys`` are: one visit per carried value."""
    reach = _Reach(body, effects)
    needed = set(start) | {i for i in reach.of_effects() if i < n}
    queue = list(needed)
    for y in ys:
        queue += [i for i in reach.of_output(y) if i < n and i not in needed]
        needed.update(queue)
    for i in queue:
        fresh = {j for j in reach.of_output(i) if j < n} - needed
        needed |= fresh
        queue += sorted(fresh)
    return needed


class _Reach:
    """Which params the outputs of a body depend on; every node is visited once over all questions."""

    def __init__(self, body: Graph, effects: NestedSearch) -> None:
        self._body = body
        self._params = {p: i for i, p in enumerate(body.params)}
        self._seen: set[Value] = set()
        self._effects = effects

    def of_output(self, i: int) -> set[int]:
        """The positions of the params that output ``i`` depends on and that no earlier question gave."""
        return self._walk([self._body.outputs[i]])

    def of_effects(self) -> set[int]:
        """The positions of the params that effects in the body depend on."""
        return self._walk([v for n in self._body.nodes if self._effects.node(n, self._body) for v in n.inputs])

    def _walk(self, queue: list[Value]) -> set[int]:
        found: set[int] = set()
        for v in queue:
            if v in self._seen:
                continue
            self._seen.add(v)
            if v in self._params:
                found.add(self._params[v])
            elif v.node is not None:
                queue += v.node.inputs
        return found
