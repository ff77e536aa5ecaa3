"""What ``Tensor(data)`` takes, as a NumPy array: numbers, nested lists of them, tensors, foreign arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core.dtypes import DType
from msnb.core.storage.aligned_memory import Array, copied

_NUMBERS = (int, float, complex)
DEFAULTS: dict[str, type[np.generic]] = {"f": np.float32, "c": np.complex64}
"""The dtypes of Python's floats and complex numbers."""


def host_array(data: Any, dtype: DType | None) -> Array:
    """A fresh, native, contiguous NumPy array of what the user gave."""
    if isinstance(data, (np.ndarray, np.generic)):
        array = copied(data, None if dtype is None else dtype.numpy)
    else:
        array = _from_python(data, dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _from_python(data: Any, dtype: DType | None) -> Array:
    """Python numbers and nested lists: floats are float32 and ints int64 unless asked otherwise."""
    if isinstance(data, (list, tuple)) or data.__class__ in _NUMBERS:
        data = _plain_lists(data)
    elif hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
        data = np.from_dlpack(data)
    try:
        array = np.array(data)
    except ValueError as error:
        raise ShapeError("Tensor needs rows of equal length.", hint=_lengths(data) or str(error)) from None
    if array.dtype == object or array.dtype.kind in "USOmM":
        raise _not_numbers(data, array)
    if dtype is not None:
        return array.astype(dtype.numpy)
    default = DEFAULTS.get(array.dtype.kind)
    is_array = hasattr(data, "dtype")
    return array if default is None or is_array else array.astype(default)


def _lengths(data: Any, place: str = "data") -> str:
    """Where the lengths of nested lists first differ, '' where they do not."""
    if not isinstance(data, list):
        return ""
    sizes = [len(item) if isinstance(item, list) else (*np.shape(item), None)[0] for item in data]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is not None:
        first, other = ("one number" if size is None else f"of length {size}" for size in (sizes[0], sizes[odd]))
        return f"{place}[0] is {first}, {place}[{odd}] is {other}."
    return next((said for i, item in enumerate(data) if (said := _lengths(item, f"{place}[{i}]"))), "")


def _not_numbers(data: Any, array: Array) -> DTypeError:
    kind = type(data).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    odd = next((x for x in array.flat if not isinstance(x, (bool, int, float, complex))), None) if array.ndim else data
    inside = f" with {str(odd) if isinstance(odd, np.generic) else odd!r} in it" if array.ndim else f" ({odd!r})"
    return DTypeError(f"Tensor takes numbers, bools, arrays and nested lists of them, not {article} {kind}{inside}.")


def _plain_lists(data: Any) -> Any:
    """Nested lists that NumPy reads: tensors as arrays, and what only passes for a number as that number."""
    if hasattr(type(data), "_host"):  # a Tensor
        return data._host()
    if isinstance(data, (list, tuple)):
        return [_plain_lists(item) for item in data]
    kind = data.__class__
    return kind(data) if kind in _NUMBERS and type(data) is not kind else data
