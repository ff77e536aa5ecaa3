"""Python's numbers as tensors: how programs of MindSpore 1 hand them to operators.

Source: https://www.mindspore.cn/docs/en/r1.10/api_python/mindspore.ops.html (type conversion)
"""

from __future__ import annotations

import builtins
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Tensor, as_dtype, float32
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.shape.creation import arange

__all__ = ["make_range", "range", "scalar_to_tensor", "tuple_to_array"]


def scalar_to_tensor(input_x: Any, dtype: Any = float32) -> Tensor:
    """A number as a tensor without axes.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.scalar_to_tensor(3).dtype
        Float32
    """
    return as_tensor(input_x).astype(as_dtype(dtype))


def tuple_to_array(input_x: Any) -> Tensor:
    """A tuple or range of numbers as a row: ints as int32, floats as float32.

    Raises:
        TypeError: not a tuple of numbers.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.tuple_to_array((1, 2)).dtype, ms.ops.tuple_to_array((0.5,)).tolist()
        (Int32, [0.5])
    """
    if not isinstance(input_x, (tuple, list, builtins.range)) or not all(isinstance(v, (int, float)) for v in input_x):
        raise ArgumentError(f"tuple_to_array takes a tuple of numbers, got {input_x!r}.")
    return Tensor([*input_x], "int32" if all(isinstance(v, int) for v in input_x) else "float32")


def make_range(*bounds: int) -> tuple[int, ...]:
    """Python's ``range`` as a tuple.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.make_range(0, 3)
        (0, 1, 2)
    """
    return tuple(builtins.range(*bounds))


def range(start: Any, end: Any, step: Any = 1, maxlen: int = 1000000) -> Tensor:
    """The whole numbers (or numbers) from ``start`` up to before ``end``; bounds may be tensors whose value is known.

    Raises:
        ValueError: more than ``maxlen`` numbers.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.range(ms.Tensor(0), ms.Tensor(4), ms.Tensor(2)).tolist()
        [0, 2]
    """
    first, last, stride = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if stride and (last - first) / stride > maxlen:
        told = f"range: from {first} to {last} there are more than maxlen={maxlen} numbers."
        raise AttributeValueError(told, hint="ops.arange has no limit.")
    return arange(first, last, stride)
