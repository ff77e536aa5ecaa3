"""Arrays taken apart, put together and looked through, with NumPy's arguments.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (array manipulation)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.numpy.array_functions import reflected_oddly, with_ramps, with_statistics
from msnb.numpy.creation import asarray as array

__all__ = [
    "append", "array_split", "array_str", "broadcast_arrays", "concatenate", "digitize", "expand_dims", "flip", "in1d",
    "isin", "isscalar", "nonzero", "pad", "repeat", "roll", "rollaxis", "rot90", "searchsorted", "split", "stack",
    "take", "tril", "tril_indices", "triu", "triu_indices", "unique", "where",
]  # fmt: skip


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Every element several times in a row; without an axis, of all numbers in a row.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.repeat(mnp.array([[1, 2]]), 2, axis=1).tolist()
        [[1, 1, 2, 2]]
    """
    t = array(a)
    return ops.repeat_interleave(t.reshape(-1), repeats, 0) if axis is None else ops.repeat_interleave(t, repeats, axis)


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis; with axis None, all their numbers in a row."""
    parts = [array(a) for a in arrays]
    return ops.concat([p.reshape(-1) for p in parts], 0) if axis is None else ops.concat(parts, axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``concatenate`` of two."""
    return concatenate((arr, values), axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    return ops.stack([array(a) for a in arrays], axis)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """An array in parts: so many equal ones, or cut before these places.

    Raises:
        ValueError: the axis does not divide by the number of parts; ``array_split`` takes any.

    Examples:
        >>> import msnb.numpy as mnp
        >>> [p.tolist() for p in mnp.split(mnp.arange(5), [1, 3])]
        [[0], [1, 2], [3, 4]]
    """
    t = array(x)
    if isinstance(indices_or_sections, int) and t.shape[axis] % indices_or_sections:
        raise AttributeValueError(
            f"split: axis {axis} of size {t.shape[axis]} does not divide into {indices_or_sections} equal parts.",
            hint="array_split makes parts that differ by one.",
        )
    return array_split(t, indices_or_sections, axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """``split`` into parts that may differ by one."""
    return tuple(ops.tensor_split(array(x), indices_or_sections, axis))


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """An axis moved to before another one."""
    t = array(x)
    axis, start = axis % t.ndim, start + t.ndim if start < 0 else start
    return ops.moveaxis(t, axis, start - 1 if axis < start else start)


def flip(m: Any, axis: Any = None) -> Any:
    """The numbers in reverse order along axes (all of them without one)."""
    t = array(m)
    return ops.flip(t, tuple(range(t.ndim)) if axis is None else axis)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The numbers moved along an axis, those that leave coming in at the other end; without one, all in a row."""
    if axis is None:
        return ops.roll(array(a), sum(shift) if isinstance(shift, (tuple, list)) else shift)
    if isinstance(shift, (tuple, list)) or isinstance(axis, (tuple, list)):
        shift, axis = (tuple(each.tolist()) for each in np.broadcast_arrays(shift, axis))
    return ops.roll(array(a), shift, axis)


def rot90(a: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """A quarter turn, ``k`` times."""
    return ops.rot90(array(a), k, axes)


def _bordered(t: Any, pairs: Any, flat: list[int], border: Any) -> Any:
    """Padded with a number, or with numbers per side."""
    if not isinstance(border, (tuple, list)):
        return ops.pad(t, flat, value=border)
    for axis, (widths, values) in enumerate(zip(pairs, np.broadcast_to(border, (t.ndim, 2)).tolist())):
        behind = [0, 0] * (t.ndim - 1 - axis)
        t = ops.pad(ops.pad(t, [*behind, widths[0], 0], value=values[0]), [*behind, 0, widths[1]], value=values[1])
    return t


def pad(
    arr: Any, pad_width: Any, mode: str = "constant", stat_length: Any = None, constant_values: Any = 0,
    end_values: Any = 0, reflect_type: str = "even",
) -> Any:  # fmt: skip
    """An array with a border.

    Args:
        arr: an array.
        pad_width: an int, (before, after) for every axis, or one such pair per axis.
        mode: "constant", "reflect", "symmetric", "edge", "wrap", "linear_ramp", "maximum", "minimum", "mean" or
            "empty", which is zeros.
        stat_length: of how many numbers from the edge "maximum", "minimum" and "mean" are taken; None: of all.
        constant_values: what the border holds in constant mode: a number, (before, after), or such a pair per axis.
        end_values: where "linear_ramp" ends.
        reflect_type: "even", or "odd": twice the edge less the reflection.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.pad(mnp.array([1, 2]), (1, 2)).tolist()
        [0, 1, 2, 0, 0]
    """
    t = array(arr)
    pairs = _pairs(pad_width, t.ndim)
    flat = [side for pair in reversed(pairs) for side in pair]
    if mode in ("constant", "empty"):
        return _bordered(t, pairs, flat, constant_values if mode == "constant" else 0)
    if mode in ("wrap", "symmetric", "reflect") and reflect_type == "even":
        place: Any = np.pad
        for axis, pair in enumerate(pairs):
            t = ops.gather(t, array(place(np.arange(t.shape[axis]), pair, mode)), axis)
        return t
    if reflect_type not in ("even", "odd"):
        raise AttributeValueError(f"pad: reflect_type is 'even' or 'odd', not {reflect_type!r}.")
    if mode == "edge":
        return ops.pad(t, flat, mode=mode)
    for axis, (before, after) in enumerate(pairs):
        if mode in ("reflect", "symmetric"):
            t = reflected_oddly(t, axis, before, after, int(mode == "reflect"))
        elif mode == "linear_ramp":
            t = with_ramps(t, axis, before, after, _ends(end_values, axis, len(pairs)))
        else:
            t = with_statistics(t, axis, before, after, mode, _ends(stat_length, axis, len(pairs)))
    return t


def _ends(given: Any, axis: int, axes: int) -> tuple[Any, Any]:
    """(before, after) of an axis, as for widths."""
    if not isinstance(given, (tuple, list)):
        return given, given
    pair = given if not isinstance(given[0], (tuple, list)) else given[axis if len(given) == axes else 0]
    return pair[0], pair[-1]


def _pairs(width: Any, axes: int) -> list[tuple[int, int]]:
    if isinstance(width, int):
        return [(width, width)] * axes
    # NumPy's order of cases: (before, after) means the pair for all axes, even where there are two axes
    rows = list(width)
    if len(rows) == 2 and all(isinstance(w, int) for w in rows):
        return [(rows[0], rows[1])] * axes
    pairs = [(r, r) if isinstance(r, int) else (int(r[0]), int(r[-1])) for r in rows]
    pairs = pairs * axes if len(pairs) == 1 else pairs
    if len(pairs) != axes:
        raise ShapeError(f"pad: {len(pairs)} pairs of widths for {axes} axes.")
    return pairs


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; with the condition alone, the places where it holds.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.where(mnp.array([True, False]), 1, 2).tolist()
        [1, 2]
    """
    if x is None and y is None:
        return tuple(ops.unstack(ops.nonzero(array(condition)), 1))
    if x is None or y is None:
        raise ArgumentError("where takes a condition alone, or with both x and y.")
    return ops.where(array(condition), array(x), array(y))


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Whether each number is one of others."""
    found = ops.any(ops.equal(array(element)[..., None], array(test_elements).reshape(-1)), -1)
    return ops.logical_not(found) if invert else found


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Any:
    """``isin`` of all numbers of the first in a row."""
    return isin(array(ar1).reshape(-1), ar2, invert)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Into which of the intervals between ``bins``, which rise or fall, each number falls."""
    edges, t = array(bins), array(x)
    rising = ops.searchsorted(edges, t, right=not right)
    if edges.shape[0] < 2:
        return rising
    falling = edges.shape[0] - ops.searchsorted(ops.flip(edges, (0,)), t, right=not right)
    return ops.where(edges[0] <= edges[-1], rising, falling)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where numbers would go into a sorted array: before ("left") or behind ("right") those that are equal. ``sorter``
    is the order in which ``a`` is sorted."""
    return ops.searchsorted(array(a), array(v), side=side, sorter=None if sorter is None else array(sorter))


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """The elements at these places along an axis; without one, of all numbers in a row.

    Args:
        a: an array. indices: whole numbers. axis: which, or None.
        mode: what becomes of places outside: "raise" an error, "clip" the nearest place, "wrap" counted on from 0.
    """
    return ops.take(array(a), array(indices), axis, mode)


def broadcast_arrays(*args: Any) -> list[Any]:
    """All arrays in the shape that they broadcast to together."""
    parts = [array(a) for a in args]
    total = parts[0]
    for part in parts[1:]:
        total = ops.zeros_like(total) + ops.zeros_like(part)
    return [ops.broadcast_to(part, total.shape) for part in parts]


def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of size 1."""
    out = array(a)
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    for at in sorted(p % (out.ndim + len(places)) for p in places):
        out = ops.expand_dims(out, at)
    return out


def array_str(a: Any) -> str:
    """The numbers as text."""
    return str(array(a).asnumpy())


def isscalar(element: Any) -> bool:
    """Whether something is a number or a word, and no array."""
    return isinstance(element, (int, float, complex, bool, str))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns of an upper triangle, that of ``triu(x, k)`` for x of ``n`` rows and ``m`` columns.

    Examples:
        >>> import msnb.numpy as mnp
        >>> [i.tolist() for i in mnp.triu_indices(2, 1, 4)]
        [[0, 0, 0, 1, 1], [1, 2, 3, 2, 3]]
    """
    rows, columns = ops.triu_indices(n, n if m is None else m, k)
    return rows, columns


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The rows and columns of a lower triangle; arguments as ``triu_indices``."""
    rows, columns = ops.tril_indices(n, n if m is None else m, k)
    return rows, columns


def triu(m: Any, k: int = 0) -> Any:
    """An array with zeros below its diagonal ``k``."""
    return ops.triu(array(m), k)


def tril(m: Any, k: int = 0) -> Any:
    """An array with zeros above its diagonal ``k``."""
    return ops.tril(array(m), k)


def nonzero(a: Any) -> tuple[Any, ...]:
    """Where numbers are not zero: one array of places per axis."""
    found: tuple[Any, ...] = ops.nonzero(array(a), as_tuple=True)
    return found


def unique(ar: Any, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different numbers of an array in increasing order.

    Args:
        ar: an array.
        return_index: also where each occurs first. return_inverse: also the place of every number among them, in the
            shape of ``ar``. return_counts: also how often each occurs. All by name: the second argument is return_index
            in NumPy and return_inverse in MindSpore.

    Examples:
        >>> import msnb.numpy as mnp
        >>> [a.tolist() for a in mnp.unique([5, 2, 5], return_inverse=True)]
        [[2, 5], [1, 0, 1]]
    """
    t = array(ar)
    values, inverse, counts = ops.unique(t, return_inverse=True, return_counts=True)
    if not (return_index or return_inverse or return_counts):
        return values
    found = [values]
    if return_index:
        places = ops.arange(t.size - 1, -1, -1)
        first = ops.zeros(counts.shape, dtype=places.dtype)
        found.append(ops.tensor_scatter_update(first, inverse.reshape(-1)[::-1].reshape(-1, 1), places))
    return tuple(found + [inverse] * return_inverse + [counts] * return_counts)
