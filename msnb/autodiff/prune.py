"""Leaving out what nobody reads.

A backward graph is built generously: rules compute gradients that no one asked for (of integers, of constants) and
touch forward values on the way. One sweep from the outputs marks what is needed; unmarked nodes go, and with them the
last reason to keep many a forward value alive. Nodes with an effect stay, whatever happens to their results.
"""

from __future__ import annotations

from msnb.ir import control
from msnb.ir.graph import Graph, Node, Value


def has_effect(node: Node) -> bool:
    """True where a node must run even if nobody reads its results."""
    if node.op is control.HOST_CALL and node.attrs.get("effect"):
        return True
    return "effect" in node.op.traits or any(has_effect(n) for g in node.graphs for n in g.nodes)


def prune(graph: Graph) -> set[Value]:
    """Delete the nodes that no output needs. Returns the values that are read."""
    needed: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs) or has_effect(node):
            kept.append(node)
            needed.update(node.inputs)
    kept.reverse()
    graph.nodes[:] = kept
    return needed
