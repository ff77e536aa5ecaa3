"""Facts about nodes and values that several passes ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import Array, TensorType
from msnb.ir import Const, Value
from msnb.ir.text.literals import strong_array
from msnb.ops.elementwise.constant import constant


def const_of(value: Value) -> Const | None:
    """The constant that a value is, or None."""
    node = value.node
    if node is None or node.op is not constant:
        return None
    found: Const = node.attrs["value"]
    return found


def array_of(const: Const) -> Array:
    """The data of a constant as an array; a weak number in its Python precision."""
    return np.asarray(const.data) if const.type.weak else strong_array(const)


_FILLED: dict[str, Any] = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}


def uniform(value: Value) -> Any:
    """The number that every element of ``value`` is, or None where that is not known.

    A Python number: the sign of zero is kept, NaN gives None (it equals nothing).
    """
    node = value.node
    if node is None:
        return None
    if node.op.name in _FILLED:
        return _FILLED[node.op.name]
    if node.op.name == "full" or node.op.view in ("reshape", "broadcast", "transpose"):
        same = isinstance(value.type, TensorType) and value.type.dtype is _dtype(node.inputs[0])
        return uniform(node.inputs[0]) if same else None
    const = const_of(value)
    return None if const is None else _uniform_array(array_of(const))


def _dtype(value: Value) -> Any:
    return value.type.dtype if isinstance(value.type, TensorType) else None


def _uniform_array(array: Array) -> Any:
    if array.size == 0 or array.size > 65536:
        return None
    first = array.reshape(-1)[0]
    if array.size > 1 and array.tobytes() != np.full(array.shape, first, array.dtype).tobytes():
        return None
    number = first.item() if hasattr(first, "item") else first
    return None if number != number else number


def is_zero(value: Value, negative: bool | None = None) -> bool:
    """True where every element is 0; ``negative`` asks for the sign of a floating zero."""
    number = uniform(value)
    if number is None or number != 0 or isinstance(number, complex):
        return False
    return negative is None or bool(np.signbit(np.float64(number))) == negative


def is_one(value: Value) -> bool:
    """True where every element is 1."""
    number = uniform(value)
    return number is not None and number == 1
