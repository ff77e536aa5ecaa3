"""What travels through a pipeline, and how it is named when something goes wrong.

A row is a tuple of NumPy arrays, one per column, in column order:

    columns   ("image",            "label")
    row 0     (uint8[28,28,1],      uint32[])
    row 1     (uint8[28,28,1],      uint32[])

Everything that enters a pipeline (a number, a list, a Tensor) becomes an array on entry, so the nodes behind it
handle one kind of value only. Errors in a user's function are re-raised as `DatasetError`, which names the operation,
the row and the columns; the original error stays attached as its cause.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base.errors import ArgumentError, AttributeValueError

Array = NDArray[Any]
Row = tuple[Array, ...]
Operation = Callable[..., Any]


def to_array(value: Any) -> Array:
    """Turns a number, string, list, array or Tensor into an array; refuses what NumPy would keep as Python objects."""
    if isinstance(value, np.ndarray):
        array: Array = value
    elif hasattr(value, "asnumpy"):
        array = np.asarray(value._host())
    else:
        array = _from_python(value)
    if array.dtype == object:
        raise ArgumentError(f"expected numbers or text, got {type(value).__name__} that NumPy can only hold as objects")
    return array


def _from_python(value: Any) -> Array:
    if value is None or isinstance(value, dict):
        raise ArgumentError(f"expected numbers, text or an array, got {type(value).__name__}")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ArgumentError(
            f"expected a list whose parts have one shape, got a ragged {type(value).__name__}"
        ) from error


def describe(array: Array) -> str:
    """`float32[28,28]`: how messages show an array."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def describe_columns(columns: Sequence[str], values: Sequence[Array]) -> str:
    return ", ".join(f"{name}: {describe(value)}" for name, value in zip(columns, values, strict=False))


def name_of(function: Any) -> str:
    """A readable name for any callable: functions by name, objects by class."""
    name = getattr(function, "__name__", None)
    return str(name) if name else type(function).__name__


def as_columns(value: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    """Normalises a column argument to a tuple of distinct names."""
    if value is None:
        return ()
    if not isinstance(value, (str, list, tuple)):
        raise ArgumentError(f"{what} expects column names, got {type(value).__name__} {value!r}")
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"{what} expects column names (non-empty strings), got {name!r}")
    if len(set(names)) != len(names):
        raise AttributeValueError(f"{what} names a column twice: {list(names)}")
    return names


def positions(wanted: Sequence[str], columns: Sequence[str], what: str) -> tuple[int, ...]:
    """Where the wanted columns stand; an unknown one is answered with the legal names and the nearest."""
    for name in wanted:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeValueError(f"{what}: there is no column {name!r}, the dataset has {list(columns)}{hint}")
    return tuple(list(columns).index(name) for name in wanted)


def check_count(value: Any, what: str, least: int = 1) -> int:
    """An integer argument that must be at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ArgumentError(f"{what} must be an integer, got {type(value).__name__} {value!r}")
    if value < least:
        raise AttributeValueError(f"{what} must be at least {least}, got {value}")
    return int(value)
