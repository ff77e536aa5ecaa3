"""What travels through a pipeline, and how it is named when something goes wrong.

A row is a tuple of NumPy arrays, one per column, in column order:

    columns   ("image",            "label")
    row 0     (uint8[28,28,1],      uint32[])
    row 1     (uint8[28,28,1],      uint32[])

Everything that enters a pipeline (a number, a list, a Tensor) becomes an array on entry, so the nodes behind it
handle one kind of value only. A column may hold a dict, MindSpore's Python object
(https://www.mindspore.cn/tutorials/en/master/dataset/python_objects.html):

    the user's           {"powers": [0, 1], "of": {"n": 3}}
    in a row             an array of no axes that holds this dict, its values as arrays
    in a batch           {"powers": int64[b, 2], "of": {"n": int64[b]}}: stacked leaf by leaf
    from an iterator     the dict, its values as Tensors or arrays

Errors in a user's function are re-raised as `DatasetError`, which names the operation,
the row and the columns; the original error stays attached as its cause.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import ArgumentError, AttributeValueError, DatasetError

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


def is_picture(value: Any) -> bool:
    """Whether it is a picture of Pillow's, which is not imported to see that."""
    return type(value).__module__.startswith("PIL.")


def to_column(value: Any) -> Array:
    """``to_array``; a dict becomes an array of no axes that holds it."""
    return boxed(value, to_array) if isinstance(value, dict) else to_array(value)


def _from_python(value: Any) -> Array:
    if value is None or isinstance(value, dict):
        raise ArgumentError(f"expected numbers, text or an array, got {type(value).__name__}")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ArgumentError(
            f"expected a list whose parts have one shape, got a ragged {type(value).__name__}"
        ) from error


def describe(array: Array | dict[Any, Any]) -> str:
    """`float32[28,28]`: how messages show an array, or the dict of a column."""
    if isinstance(array, dict):
        return f"dict of {list(array)}"
    return describe(array[()]) if holds_dict(array) else f"{array.dtype}[{','.join(map(str, array.shape))}]"


def describe_columns(columns: Sequence[str], values: Sequence[Array | dict[Any, Any]]) -> str:
    return ", ".join(f"{name}: {describe(value)}" for name, value in zip(columns, values, strict=False))


def name_of(function: Any) -> str:
    """A readable name for any callable: functions by name, objects by class."""
    name = getattr(function, "__name__", None)
    return str(name) if name else type(function).__name__


def as_columns(value: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    """Normalises a column argument to a tuple of distinct names."""
    if value is None or isinstance(value, dict):
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


def holds_dict(array: Array) -> bool:
    """Is this a column's dict, not numbers or text?"""
    return array.dtype == object and array.ndim == 0


def boxed(mapping: dict[Any, Any], leaf: Callable[[Any], Array]) -> Array:
    """A dict as an array of no axes, its values made arrays by ``leaf``."""
    box = np.empty((), object)
    box[()] = mapped(mapping, leaf)
    return box


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """``leaf`` of all that is no dict, list or tuple inside a dict."""
    if isinstance(value, dict):
        return {key: mapped(inner, leaf) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        made = [mapped(inner, leaf) for inner in value]
        return tuple(made) if isinstance(value, tuple) else made
    return leaf(value)


def opened(array: Any) -> Any:
    """The dict that a column holds; any other value as it is. A list of columns is opened one by one."""
    if isinstance(array, list):
        return [opened(part) for part in array]
    return array[()] if isinstance(array, np.ndarray) and holds_dict(array) else array


def stacked_dicts(name: str, parts: Sequence[Any], batch: int, stack: Callable[..., Array]) -> dict[Any, Any]:
    """One dict whose leaves are those of ``parts``, stacked.

    Raises:
        DatasetError: the dicts have different keys, or leaves that do not stack.
    """
    first = parts[0]
    for index, part in enumerate(parts):
        if not isinstance(part, dict) or part.keys() != first.keys():
            keys = list(part) if isinstance(part, dict) else type(part).__name__
            raise DatasetError(
                f"batch: column {name!r} of batch {batch} mixes dicts of different keys",
                operands=[f"row 0 of the batch: {list(first)}", f"row {index} of the batch: {keys}"],
            )
    return {key: _stacked(f"{name}[{key!r}]", [part[key] for part in parts], batch, stack) for key in first}


def _stacked(name: str, parts: list[Any], batch: int, stack: Callable[..., Array]) -> Any:
    if isinstance(parts[0], dict):
        return stacked_dicts(name, parts, batch, stack)
    if isinstance(parts[0], (list, tuple)):
        parts = [to_array(part) for part in parts]
    return stack(name, parts, batch)
