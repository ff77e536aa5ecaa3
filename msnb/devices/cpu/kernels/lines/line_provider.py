"""Who gives recipes for operations along one axis."""

from __future__ import annotations

from msnb.core.types import TensorType, Type
from msnb.devices.cpu.kernels.lines import cumulative_scan, index_reduction, radix_sort
from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.ir.graph import Node
from msnb.ops.definition.record import Op

WORTH = 4096
"""Elements from which on eager mode calls native code: below, NumPy has answered before."""


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How an operation along an axis runs natively; None for other nodes."""
    makers = (index_reduction.recipe, cumulative_scan.recipe, radix_sort.recipe)
    return next((r for r in (make(node, view_of) for make in makers) if r is not None), None)


def is_worth(op: Op, types: tuple[Type, ...]) -> bool:
    """True for an operation along an axis of a large tensor."""
    x = types[0] if types else None
    if not isinstance(x, TensorType) or x.weak or not x.is_static or x.size < WORTH:
        return False
    return op.name in index_reduction.KINDS or op.name in cumulative_scan.NAMES or op.name in radix_sort.NAMES
