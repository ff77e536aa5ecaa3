"""What a node costs by its record and its types alone: arithmetic, and bytes that pass through memory.

    flops    the record's work (cube + vector); one per result element where the record says nothing
    bytes    every operand read once, every result written once

Both follow from types, so nothing is run. What only data tells counts by the bound of its Dim, else it is unknown.
"""

from __future__ import annotations

from msnb.core.types import TensorType, Type
from msnb.ir.graph import Node


def size_of(type_: Type) -> int | None:
    """Bytes of a value of this type; None where only the data tells."""
    if not isinstance(type_, TensorType):
        return 0
    size = type_.dtype.itemsize
    for d in type_.shape:
        bound = d if isinstance(d, int) else d.bound
        if bound is None:
            return None
        size *= bound
    return size


def bytes_of(node: Node) -> int:
    """Bytes that a node reads and writes."""
    return sum(size_of(v.type) or 0 for v in (*node.inputs, *node.outputs))


def flops_of(node: Node) -> float:
    """Predicted arithmetic of a node; control nodes (whose bodies do the work) give 0."""
    if "control" in node.op.traits:
        return 0.0
    types = tuple(v.type for v in node.inputs)
    outs = tuple(v.type for v in node.outputs)
    if not all(isinstance(t, TensorType) and t.is_static for t in (*types, *outs)):
        return 0.0
    if node.op.work is not None:
        work = node.op.work(types, outs, node.attrs)
        return float(work.cube + work.vector)
    return float(sum(t.size for t in outs if isinstance(t, TensorType)))
