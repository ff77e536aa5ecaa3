"""Blocks that a program computes again for their gradient (``Cell.recompute``), as the planner's choice.

    captured    call f recompute=True ... gradient: f once more, then its gradient
    planned     f once ... gradient of f;  f's layers are said to be computed twice

Captured, a step holds the second run of a block as nodes of its own. They make what the first run made, so they are
taken out here, and the layers they belong to are remembered: the plan counts and takes their steps again (``again``)
as it does for layers that it chose itself.
"""

from __future__ import annotations

from typing import Any

from msnb.ir.control import CALL
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.parallel.joint import forward_nodes
from msnb.parallel.recompute import layer_name


def layers_said(graph: Graph) -> set[str]:
    """The layers in calls that are to be computed again."""
    graphs = graph.module.graphs
    called = [n.attrs["callee"] for _, n in graph.walk() if n.op is CALL and n.attrs.get("recompute")]
    return {layer_name(node.scope) for name in called if name in graphs for _, node in graphs[name].walk()}


def computed_once(graph: Graph) -> Graph:
    """A step without the second runs of blocks; the graph itself where it has none."""
    first = next((i for i, n in enumerate(graph.nodes) if n.primal is not None), len(graph.nodes))
    later = forward_nodes(graph) - set(graph.nodes[:first])
    if not later:
        return graph
    out, twins = Graph(graph.name, graph.module), dict[Node, Node]()
    seen: dict[Value, Value] = {p: out.add_param(p.type, p.name) for p in graph.params}
    known: dict[Any, Node] = {}
    for node in graph.nodes:
        key = (node.op.name, tuple(sorted(node.attrs.items())), tuple(seen[v] for v in node.inputs))
        plain = not node.graphs and "effect" not in node.op.traits and node.primal is None
        twin = known.get(key) if plain and node in later else None
        if twin is not None:
            seen.update(zip(node.outputs, twin.outputs))
            twins[node] = twin
            continue
        new = copy_node(node, out, seen, twins)
        if plain:
            known.setdefault(key, new)
    out.outputs, out.state = [seen[v] for v in graph.outputs], dict(graph.state)
    return out
