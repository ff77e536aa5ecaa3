"""Inlining: a call is replaced by the nodes of the graph it calls.

    %1 = call(x, callee="square")            -->   %1 = multiply(x, x)
    graph square(a): multiply(a, a)

Not inlined: recursion (a graph that reaches itself), calls marked ``recompute`` (their second run is the point: side by
side with the first, it would be merged away), and large graphs called from many places once the program has grown by
MAX_GROWTH nodes.
"""

from __future__ import annotations

from msnb.graph.compile.rewriting import Answer, Case, GraphRewriter, Log, Pass, Rule, register_pass, sweep_module
from msnb.ir import CALL, Graph, Node
from msnb.ir.text.printer import called, callees

LAW = "a call is the graph it calls"
MAX_GROWTH = 10_000


class _Inliner:
    def __init__(self, graph: Graph) -> None:
        graphs = {g.name: g for g in called(graph)}
        self._recursive = recursive(graphs)
        self._sizes = {name: sum(1 for _ in g.walk()) for name, g in graphs.items()}
        self._growth = 0

    def __call__(self, sweep: GraphRewriter, node: Node) -> Answer:
        if node.op is not CALL or node.attrs.get("recompute"):
            return None
        name = node.attrs["callee"]
        if name in self._recursive or self._growth + self._sizes.get(name, 0) > MAX_GROWTH:
            return None
        self._growth += self._sizes[name]
        callee = sweep.source.module.graphs[name]
        values = sweep.splice(callee, node.inputs, node.scope)
        return sweep.accept(node, values, LAW, name)


def recursive(graphs: dict[str, Graph]) -> set[str]:
    """The names of graphs that can reach themselves."""
    edges = {name: {c for _, n in g.walk() for c in callees(n)} for name, g in graphs.items()}
    out = set()
    for start in edges:
        queue, seen = list(edges[start]), set(edges[start])
        for name in queue:
            fresh = edges.get(name, set()) - seen
            seen |= fresh
            queue += fresh
        if start in seen:
            out.add(start)
    return out


def _run(graph: Graph, log: Log) -> Graph:
    if not called(graph):
        return graph
    inliner = _Inliner(graph)

    def make_rule() -> Rule:
        return inliner

    return sweep_module(graph, "inline", make_rule, log)


_SQUARE = "\n\ngraph square(a: f32[2]) -> (f32[2])\n  %1 = multiply(a, a) : f32[2]\n  return %1"
_FACT = (
    "graph fact(n: i64[]) -> (i64[])\n  %1 = less(n, ~2) : bool[]\n  %2 = if(%1, n) : i64[]\n"
    "    then (n: i64[]): yield n\n"
    '    else (n: i64[]):\n      %1 = subtract(n, ~1) : i64[]\n      %2 = call(%1, callee="fact") : i64[]\n'
    "      %3 = multiply(n, %2) : i64[]\n      yield %3\n  return %2"
)
INLINE = register_pass(
    Pass(
        name="inline",
        law="A call of a graph that does not reach itself is replaced by its nodes.",
        needs="captured",
        gives="captured",
        cases=(
            Case(
                'graph f(x: f32[2]) -> (f32[2])\n  %1 = call(x, callee="square") : f32[2]\n  return %1' + _SQUARE,
                "graph f(x: f32[2]) -> (f32[2])\n  %1 = multiply(x, x) : f32[2]\n  return %1",
                "a plain call",
            ),
            Case(_FACT, _FACT, "recursion stays a call"),
        ),
        run=_run,
    )
)
