"""Leaving out what nobody reads.

A backward graph is built generously: rules compute gradients that no one asked for (of integers, of constants) and
touch forward values on the way. One sweep from the outputs marks what is needed; unmarked nodes go, and with them the
last reason to keep many a forward value alive. Nodes with an effect stay, whatever happens to their results.
"""

from __future__ import annotations

from msnb.ir.analysis.nested_nodes import effects
from msnb.ir.graph import Graph, Node, Value


def prune(graph: Graph, waived: str = "") -> set[Value]:
    """Delete the nodes that no output needs. Returns the values that are read.

    Args:
        waived: a trait; nodes that have it go like any other, whatever effect they have.
    """
    needed: set[Value] = set(graph.outputs)
    effect = effects()
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        acts = waived not in node.op.traits and effect.node(node, graph)
        if acts or any(v in needed for v in node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    kept.reverse()
    graph.nodes[:] = kept
    return needed
