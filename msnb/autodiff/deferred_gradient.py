"""Gradients that are written out when somebody needs them.

    captured     y, dx = gradient(x, w) of loss         one node, the loss in its body: what was asked for
    written out  y, r  = loss_forward(x, w)             the pair that reverse mode makes of it (``reverse``)
                 dx    = loss_backward(r, 1)

A program that an earlier process left on disk is found by the first form, so neither the transform nor the passes over
its result run again. Everybody else gets the second one: nothing but capture, hashing and this page knows the node.

A gradient waits only where writing it out is certain to succeed and asks nobody outside: no Python inside (its own
gradient rule would be traced, and could be missing), all sizes known (a zero has one). Errors keep their line that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.autodiff.gradient_rules import need_gradient_type
from msnb.autodiff.reverse_mode import check_differentiable, stamped, vjp
from msnb.autodiff.subgraphs import inline
from msnb.base import MsnbError, timed
from msnb.core import TensorType, Type
from msnb.ir import GRADIENT, Graph, GraphBuilder, Node, Value, copy_node
from msnb.ir.analysis.structural_hash import host_functions
from msnb.ir.text.printer import called
from msnb.ops.definition import find, has_sizes
from msnb.ops.elementwise.constant import constant


def owed_types(graph: Graph, wrt: Sequence[int], outputs: Sequence[int]) -> list[Type]:
    """The types of the gradients of ``graph`` by the params ``wrt``.

    Raises:
        GradientError: an int or bool is differentiated.
    """
    check_differentiable(graph, wrt, "params", "with respect to")
    check_differentiable(graph, outputs, "outputs", "of")
    return [need_gradient_type(graph.params[i].type) for i in wrt]


def may_wait(graph: Graph) -> bool:
    """Whether the gradient of this graph can be written out later: no Python in it, every size known."""
    every = [graph, *called(graph)]
    return not host_functions(graph) and all(_is_told(node) for g in every for _, node in g.walk())


def _is_told(node: Node) -> bool:
    return all(has_sizes(v.type) for v in node.outputs if isinstance(v.type, TensorType))


Ready = Callable[[Graph], Graph]


def as_it_is(graph: Graph) -> Graph:
    """What nothing is done to before its gradient is taken."""
    return graph


def written_out(graph: Graph, ready: Ready = as_it_is) -> Graph:
    """The graph with every gradient as the nodes that compute it; the graph itself where there is none to write.

    Args:
        graph: a captured program; it is not changed.
        ready: gives the graph to differentiate for a function whose gradient is owed: the same function.
    """
    if not owes(graph):
        return graph
    memo: dict[tuple[Graph, Ready], Graph] = graph.module.memo.setdefault("written out", {})
    if (graph, ready) not in memo:
        memo[graph, ready] = _GradientWriter(graph, ready).graph()
    return memo[graph, ready]


def owes(graph: Graph) -> bool:
    """Whether gradients stand in the graph as nodes."""
    return any(node.op is GRADIENT for _, node in graph.walk())


class _GradientWriter:
    """A copy of one graph with its gradients written out, those of its bodies too."""

    def __init__(self, source: Graph, ready: Ready) -> None:
        self.source, self.ready = source, ready
        self.b = GraphBuilder(source.name, source.module)
        self.seen: dict[Value, Value] = {}

    @timed("autodiff")
    def graph(self) -> Graph:
        """The copy."""
        out = self.b.graph
        for p in self.source.params:
            self.seen[p] = out.add_param(p.type, p.name)
        for node in self.source.nodes:
            if node.op is GRADIENT:
                self._gradient(node)
            else:
                copy_node(node, out, self.seen, self.b.twins)
        for node in out.nodes:
            node.graphs = tuple(_GradientWriter(g, self.ready).graph() if owes(g) else g for g in node.graphs)
        out.outputs = [self.seen[v] for v in self.source.outputs]
        out.state = dict(self.source.state)
        return out

    def _gradient(self, node: Node) -> None:
        start = len(self.b.graph.nodes)
        with self.b, stamped(self.b, node, node.primal):
            try:
                found = self._pair(node)
            except MsnbError as error:
                error.where = node.where.where if node.where is not None else None
                raise
        for made in self.b.graph.nodes[start:]:
            made.where = made.where or (None if made.op is constant else node.where)
        for value, new in zip(node.outputs, found):
            new.name = new.name or value.name
            self.seen[value] = new

    def _pair(self, node: Node) -> list[Value]:
        b, body, outputs = self.b, node.graphs[0], node.attrs["outputs"]
        body = _GradientWriter(body, self.ready).graph() if owes(body) else body
        pair = vjp(self.ready(body), node.attrs["wrt"], outputs)
        args = [b.wrap(self.seen[v]) for v in node.inputs]
        n, n_out = len(body.params), len(body.outputs)
        results = inline(b, pair.forward, args[:n])
        douts = args[n:] or [_ones(need_gradient_type(body.outputs[i].type)) for i in outputs]
        return [b.lift(x) for x in (*results[:n_out], *inline(b, pair.backward, [*results[n_out:], *douts]))]


def _ones(t: Type) -> Any:
    assert isinstance(t, TensorType)
    return find("ones")(shape=t.shape, dtype=t.dtype)
