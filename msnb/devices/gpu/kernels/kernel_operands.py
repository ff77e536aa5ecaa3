"""What recipes ask of a node's operands: their types, and how they are aligned."""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType, dtypes
from msnb.devices.gpu.program.lowered_node import ViewOf
from msnb.ir.graph import Node, Value, type_of

WIDEST = 16
"""Bytes of the widest access of a thread."""
HALVES = (dtypes.float16, dtypes.bfloat16)


def operands(node: Node) -> list[TensorType]:
    """The types of what a node reads."""
    return [type_of(v) for v in node.inputs]


def results(node: Node) -> list[TensorType]:
    """The types of what it makes."""
    return [type_of(v) for v in node.outputs]


def are_real(types: Sequence[TensorType]) -> bool:
    """No complex numbers, for which there is no code."""
    return all(not t.dtype.is_complex for t in types)


def alignment(value: Value, view_of: ViewOf) -> int:
    """At which multiple of bytes a value begins for sure, 16 at most: it may lie inside another one."""
    offset = view_of(value).offset * type_of(value).dtype.itemsize
    return min(WIDEST, offset & -offset) if offset else WIDEST


def widest_piece(*multiples: int) -> int:
    """The most bytes, 16 at most, that divide all these numbers of bytes."""
    found = WIDEST
    for m in multiples:
        while m % found:
            found //= 2
    return found


def accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """In which dtype sums of a dtype are carried on."""
    return dtypes.float32 if dtype in HALVES else dtype
