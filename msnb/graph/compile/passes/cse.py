"""Common subexpressions: what is computed twice from the same values is computed once.

    %1 = exp(x)                     %1 = exp(x)
    %2 = exp(x)          -->        %3 = add(%1, %1)
    %3 = add(%1, %2)

A value has one name in SSA, so equal (op, operands, attributes, bodies) are equal results. For add, multiply and the
like, operands are compared in either order. maximum and minimum are left out of that: of 0.0 and -0.0 they give the
one that stands first. Random draws with the same key are the same draws. Nodes with effects are never merged.
"""

from __future__ import annotations

from typing import Any

from msnb.graph.compile.rewriting import Answer, Case, GraphRewriter, Log, Pass, Rule, register_pass, sweep_module
from msnb.ir.analysis.nested_nodes import NestedSearch, effects
from msnb.ir.analysis.structural_hash import attr_word, structure_key
from msnb.ir.control_flow import CALL, HOST_CALL
from msnb.ir.graph import Graph, Node, Value

LAW = "equal ops on equal values are one value"
_ORDERED_TIES = ("maximum", "minimum")


class _KnownExpressions:
    """The expressions met so far in one graph."""

    def __init__(self, effect: NestedSearch) -> None:
        self._effects = effect
        self._found: dict[Any, Node] = {}

    def __call__(self, sweep: GraphRewriter, node: Node) -> Answer:
        if not node.outputs or not self._mergeable(node, sweep.source):
            return None
        key = self._key(node)
        found = self._found.setdefault(key, node)
        return None if found is node else sweep.accept(node, found.outputs, LAW)

    def _mergeable(self, node: Node, graph: Graph) -> bool:
        if "control" in node.op.traits:
            # a call that is to be recomputed stands twice on purpose
            return node.op is not HOST_CALL and not node.attrs.get("recompute") and not self._effects.node(node, graph)
        return "pure" in node.op.traits and "host" not in node.op.traits

    def _key(self, node: Node) -> Any:
        inputs: tuple[Value, ...] = tuple(node.inputs)
        if "commutative" in node.op.traits and node.op.name not in _ORDERED_TIES:
            inputs = tuple(sorted(inputs, key=id))
        attrs = tuple(attr_word(a) for a in node.attrs.values()) if node.attrs else ()
        bodies = tuple(map(structure_key, node.graphs)) if node.graphs else ()
        return node.op, inputs, attrs, bodies, tuple(v.type for v in node.outputs) if node.op is CALL else ()


def merge(graph: Graph, log: Log) -> Graph:
    """One graph and its bodies, not what it calls: it stays in its module."""
    effect = effects()
    return GraphRewriter(graph, graph.module, "cse", lambda: _KnownExpressions(effect), log).run()


def _run(graph: Graph, log: Log) -> Graph:
    effect = effects()

    def make_rule() -> Rule:
        return _KnownExpressions(effect)

    return sweep_module(graph, "cse", make_rule, log)


CSE = register_pass(
    Pass(
        name="cse",
        law="What is computed twice from the same values is computed once.",
        needs="captured",
        gives="captured",
        cases=(
            Case(
                "graph f(x: f32[2], y: f32[2]) -> (f32[2])\n  %1 = add(x, y) : f32[2]\n  %2 = add(y, x) : f32[2]\n"
                "  %3 = multiply(%1, %2) : f32[2]\n  return %3",
                "graph f(x: f32[2], y: f32[2]) -> (f32[2])\n  %1 = add(x, y) : f32[2]\n"
                "  %3 = multiply(%1, %1) : f32[2]\n  return %3",
                "a sum in either order",
            ),
            Case(
                "graph f(x: f32[2], y: f32[2]) -> (f32[2], f32[2])\n  %1 = maximum(x, y) : f32[2]\n"
                "  %2 = maximum(y, x) : f32[2]\n  return %1, %2",
                "graph f(x: f32[2], y: f32[2]) -> (f32[2], f32[2])\n  %1 = maximum(x, y) : f32[2]\n"
                "  %2 = maximum(y, x) : f32[2]\n  return %1, %2",
                "not maximum: of 0.0 and -0.0 the order decides",
            ),
        ),
        run=_run,
    )
)
