"""Leaving out what nobody reads.

A backward graph is built generously: rules compute gradients that no one asked for (of integers, of constants) and
touch forward values on the way. One sweep from the outputs marks what is needed; unmarked nodes go, and with them the
last reason to keep many a forward value alive. Nodes with an effect stay, whatever happens to their results.
"""

from __future__ import annotations

from msnb.ir import control_flow
from msnb.ir.graph import Graph, Module, Node, Value


def has_effect(node: Node, module: Module, seen: frozenset[str] = frozenset()) -> bool:
    """True where a node, or something inside it, must run even if nobody reads its results."""
    if "effect" in node.op.traits or (node.op is control_flow.HOST_CALL and node.attrs["effect"]):
        return True
    if any(has_effect(n, module, seen) for g in node.graphs for n in g.nodes):
        return True
    name = node.attrs["callee"] if node.op is control_flow.CALL else None
    if name is None or name in seen:
        return False
    return any(has_effect(n, module, seen | {name}) for n in module.graphs[name].nodes)


def prune(graph: Graph, waived: str = "") -> set[Value]:
    """Delete the nodes that no output needs. Returns the values that are read.

    Args:
        waived: a trait; nodes that have it go like any other, whatever effect they have.
    """
    needed: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        acts = waived not in node.op.traits and has_effect(node, graph.module)
        if acts or any(v in needed for v in node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    kept.reverse()
    graph.nodes[:] = kept
    return needed
