"""Graphs that move between modules: a Call refers by name, and a name means something in one module only.

    module A: step -> attention -> softmax          replaying step into a builder of module B enters copies of
    module B: train (calls step)                    attention and softmax into B once, under names free there
"""

from __future__ import annotations

from msnb.ir.graph import Graph, Module, Node


def adopt(name: str, source: Module, target: Module) -> str:
    """The name in ``target`` of the graph that ``source`` calls ``name``; it and all it calls are copied once."""
    if source is target:
        return name
    known: dict[Graph, str] = target.memo.setdefault("adopted", {})
    twins: dict[Node, Node] = target.memo.setdefault("twins", {})
    graph = source.graphs[name]
    if graph not in known:
        twin = graph.copy(twins=twins)
        known[graph] = target.add(twin, name)
        rehome(twin, source, target)
    return known[graph]


def rehome(graph: Graph, source: Module, target: Module) -> Graph:
    """Make a graph (its nodes are its own) part of ``target``: calls in it and in its bodies get the names there."""
    if source is target:
        return graph
    graph.module = target
    for node in graph.nodes:
        if node.op.name == "call":
            node.attrs["callee"] = adopt(node.attrs["callee"], source, target)
        for body in node.graphs:
            rehome(body, source, target)
    return graph
