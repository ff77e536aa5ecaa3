"""Who gives recipes for operations along one axis."""

from __future__ import annotations

from msnb.core import TensorType, Type, size_hint
from msnb.devices.cpu.kernels.lines import (
    binary_search,
    cumulative_scan,
    index_reduction,
    linear_recurrence,
    radix_sort,
    triangle,
)
from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.ir.graph import Node
from msnb.ops.definition.record import Op

WORTH = 4096
"""Elements from which on eager mode calls native code: below, NumPy has answered before."""
_MAKERS = (index_reduction, cumulative_scan, radix_sort, linear_recurrence, triangle, binary_search)
_NAMES = frozenset(name for m in _MAKERS for name in m.NAMES)


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How an operation along an axis runs natively; None for other nodes."""
    return next((r for r in (m.recipe(node, view_of) for m in _MAKERS) if r is not None), None)


def is_worth(op: Op, types: tuple[Type, ...]) -> bool:
    """True for an operation along an axis of a large tensor."""
    if op.name not in _NAMES:
        return False
    known = [t for t in types if isinstance(t, TensorType) and t.is_static and not t.weak]
    return len(known) == len(types) and max(size_hint(t.size) for t in known) >= WORTH
