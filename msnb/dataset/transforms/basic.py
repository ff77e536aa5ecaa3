"""Transforms for any kind of column. A transform is a callable: arrays in, an array (or a tuple of arrays) out.

They also work by hand, on anything an array can be made of: `TypeCast("float32")([1, 2])`.
Source: `mindspore.dataset.transforms`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError, ShapeError
from msnb.core import as_dtype
from msnb.dataset.pipeline.rows import Array, check_count, describe, to_array

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "Relational", "Slice", "Transform",
    "TypeCast", "Unique",
]  # fmt: skip


class Transform:
    """A transform of one column: subclasses define `apply(array) -> array`."""

    def __call__(self, value: Any) -> Any:
        return self.apply(to_array(value))

    def apply(self, value: Array) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define apply(array)")


def flatten(operations: Any, what: str) -> list[Callable[..., Any]]:
    """A non-empty list of callables."""
    listed = list(operations) if isinstance(operations, (list, tuple)) else []
    if not listed:
        raise ArgumentError(f"{what} expects a non-empty list of transforms, got {operations!r}")
    for operation in listed:
        if isinstance(operation, type) or not callable(operation):
            raise ArgumentError(
                f"{what} expects transform objects, got {operation!r}", hint="call the class: Name(...)"
            )
    return listed


class Compose:
    """Transforms one after the other, as one; what one returns (a tuple: several columns) the next receives.

    >>> Compose([TypeCast("float32"), lambda x: x / 2])(3).item()
    1.5
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms: list[Any] = flatten(transforms, "Compose")

    def __call__(self, *values: Any) -> Any:
        for transform in self.transforms:
            result = transform(*values)
            values = result if isinstance(result, tuple) else (result,)
        return values if len(values) > 1 else values[0]


class TypeCast(Transform):
    """Casts to `data_type`: an msnb or NumPy dtype, or a name.

    >>> TypeCast("int32")(np.array([1.7, -1.7])).tolist()
    [1, -1]
    """

    def __init__(self, data_type: Any) -> None:
        self.dtype: np.dtype[Any] = as_dtype(data_type).numpy

    def apply(self, value: Array) -> Array:
        return value.astype(self.dtype)


class OneHot(Transform):
    """A label, or an array of them, to rows of `num_classes` with 1 at the label.

    Args:
        num_classes: length of the new last axis.
        smoothing_rate: 0 gives integers 0 and 1; r > 0 gives float32, 1 - r + r/n at the label and r/n elsewhere.

    >>> OneHot(3)(np.array([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes: int = check_count(num_classes, "num_classes")
        if not 0.0 <= smoothing_rate <= 1.0:
            raise AttributeValueError(f"smoothing_rate must lie in [0, 1], got {smoothing_rate}")
        self.rate: float = float(smoothing_rate)

    def apply(self, value: Array) -> Array:
        if value.dtype.kind not in "iu":
            raise DatasetError(f"OneHot expects integer labels, got {describe(value)}", hint="TypeCast('int32') first")
        if value.size and (value.min() < 0 or value.max() >= self.num_classes):
            wrong = value[(value < 0) | (value >= self.num_classes)].flat[0]
            raise DatasetError(f"OneHot: label {wrong} is outside 0..{self.num_classes - 1}")
        hot: Array = np.arange(self.num_classes) == value[..., np.newaxis]
        if not self.rate:
            return hot.astype(value.dtype)
        return np.asarray(hot * (1.0 - self.rate) + self.rate / self.num_classes, np.float32)


class Concatenate:
    """Joins the arrays of several columns along `axis`, with constants before and after if given.

    >>> Concatenate()(np.array([1]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        self.axis = axis
        self.before: list[Array] = [] if prepend is None else [to_array(prepend)]
        self.after: list[Array] = [] if append is None else [to_array(append)]

    def __call__(self, *values: Any) -> Array:
        parts = [*self.before, *(to_array(v) for v in values), *self.after]
        try:
            return np.concatenate(parts, self.axis)
        except ValueError as error:
            raise ShapeError(
                f"Concatenate(axis={self.axis}): {error}", operands=[describe(p) for p in parts]
            ) from error


class Duplicate(Transform):
    """One column to two equal ones."""

    def apply(self, value: Array) -> tuple[Array, Array]:
        return value, value.copy()


class Fill(Transform):
    """An array of the same shape, filled with one value, cast to its dtype (text: as it is)."""

    def __init__(self, fill_value: Any) -> None:
        self.value = fill_value

    def apply(self, value: Array) -> Array:
        fill = np.asarray(self.value)
        if (fill.dtype.kind in "US") != (value.dtype.kind in "US"):
            raise DatasetError(f"Fill: {self.value!r} and {describe(value)} are not of the same data type")
        return np.full(value.shape, fill if fill.dtype.kind in "US" else fill.astype(value.dtype))


class Relational(enum.Enum):
    """Comparisons for `Mask`."""

    EQ = "equal"
    NE = "not_equal"
    GT = "greater"
    GE = "greater_equal"
    LT = "less"
    LE = "less_equal"


class Mask(Transform):
    """Compares each element with a constant; the truth values are cast to `dtype`.

    >>> Mask(Relational.GT, 1)(np.array([0, 1, 2])).tolist()
    [False, False, True]
    """

    def __init__(self, operator: Relational, constant: Any, dtype: Any = "bool") -> None:
        if not isinstance(operator, Relational):
            raise ArgumentError(f"Mask expects a Relational, got {operator!r}")
        self.compare: Any = getattr(np, operator.value)
        self.constant: Any = constant
        self.dtype: np.dtype[Any] = as_dtype(dtype).numpy

    def apply(self, value: Array) -> Array:
        return np.asarray(self.compare(value, self.constant)).astype(self.dtype)


class PadEnd(Transform):
    """Fills up, or cuts, at the end of each axis to `pad_shape` (None keeps an axis).

    >>> PadEnd([4], -1)(np.array([1, 2])).tolist()
    [1, 2, -1, -1]
    """

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = 0) -> None:
        self.shape: tuple[int | None, ...] = tuple(pad_shape)
        self.value: Any = pad_value

    def apply(self, value: Array) -> Array:
        if len(self.shape) != value.ndim:
            raise DatasetError(f"PadEnd cannot fill up {describe(value)} to {list(self.shape)}")
        value = value[tuple(slice(w) for w in self.shape)]
        widths = [(0, 0 if w is None else w - h) for w, h in zip(self.shape, value.shape, strict=True)]
        return np.pad(value, widths, constant_values=self.value)


class Slice(Transform):
    """One of an int, a slice, a list of ints, None or True (all) per axis, or an Ellipsis. All axes stay: an int keeps
    an axis of size 1, lists of two axes choose rows and columns.

    >>> Slice(slice(1, 3))(np.arange(5)).tolist()
    [1, 2]
    >>> Slice([0, 2], 1)(np.arange(6).reshape(3, 2)).tolist()
    [[1], [5]]
    """

    def __init__(self, *slices: Any) -> None:
        if not slices:
            raise ArgumentError("Slice needs at least one index")
        self.index: tuple[slice[Any, Any, Any] | Any, ...] = tuple(map(_per_axis, slices))

    def apply(self, value: Array) -> Array:
        parts = list(self.index)
        if Ellipsis in parts:
            place = parts.index(Ellipsis)
            parts[place : place + 1] = [slice(None)] * (value.ndim - len(parts) + 1)
        try:
            for axis, part in enumerate(parts):
                value = value[(slice(None),) * axis + (part,)]
            return np.asarray(value)
        except IndexError as error:
            raise DatasetError(f"Slice{self.index} of {describe(value)}: {error}") from error


def _per_axis(part: Any) -> Any:
    return slice(None) if part is None or part is True else [part] if isinstance(part, int) else part


class Unique(Transform):
    """Three columns: the distinct values as they come, for each element its place among them, and how often each is
    there."""

    def apply(self, value: Array) -> tuple[Array, Array, Array]:
        values, first, places, counts = np.unique(value, return_index=True, return_inverse=True, return_counts=True)
        come = np.argsort(first)
        return values[come], np.argsort(come)[places.ravel()].astype(np.int32), counts[come].astype(np.int32)
