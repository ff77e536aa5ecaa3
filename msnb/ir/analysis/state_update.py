"""How a graph makes new state from old."""

from __future__ import annotations

from msnb.ir.graph import Graph
from msnb.ops.shape.index_records import INDEX_UPDATE


def writes_at_positions(graph: Graph) -> bool:
    """True where some new state is the old one, written at positions that tensors give: a cache, a ring of memories.

    Such a program should change the state where it lies, which it can if nothing behind the write may fail.
    """
    makers = (graph.outputs[j].node for j in graph.state.values())
    return any(n is not None and n.op is INDEX_UPDATE and len(n.inputs) > 2 for n in makers)
