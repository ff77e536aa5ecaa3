"""Bands and bundles of diagonals of matrices, the last two axes.

    matrix_band_part(x, 1, 0)   x 0 0     matrix_diag(k=(0, 1))   [0 b c]     d b 0
                                x x 0                             [d e f] ->  0 e c
                                0 x x                                         0 0 f

A bundle has one row per diagonal, the upper ones first. Diagonals may be shorter than the row: ``align`` says on which
side those above (first word) and below (second word) the main one begin. Where each element goes is known from the
sizes, so all three functions are one gather by a table of places.

Source: `mindspore.ops.matrix_diag`
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise.comparison import less_equal
from msnb.ops.elementwise.logic import logical_and, logical_or
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.masked_select import where
from msnb.ops.shape.creation import arange, zeros_like

__all__ = ["matrix_band_part", "matrix_diag", "matrix_diag_part", "matrix_set_diag"]

_ALIGNS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Any:
    """Matrices with zeros outside a band around the main diagonal.

    Args:
        x: [..., rows, columns].
        lower, upper: how many diagonals below and above are kept; a negative number keeps all of that side.

    Raises:
        ShapeError: less than two axes.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_band_part(ms.ops.ones((3, 3), dtype=ms.int32), 1, 0).tolist()
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """
    t = _matrices("matrix_band_part", x)
    below = arange(t.shape[-2]).reshape((-1, 1)) - arange(t.shape[-1])
    kept = logical_and(_within(below, lower), _within(-below, upper))
    return where(kept, t, zeros_like(t))


def _within(distance: Any, limit: Any) -> Any:
    if isinstance(limit, Tensor):
        return logical_or(limit < 0, less_equal(distance, limit))
    return less_equal(distance, 2**31 if limit < 0 else int(limit))


def matrix_diag(
    x: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with the rows of ``x`` on their diagonals.

    Args:
        x: [..., longest diagonal], or [..., diagonals, longest diagonal] where ``k`` names several.
        k: one diagonal, or (lowest, highest); 0 is the main one, numbers above 0 lie above it.
        num_rows, num_cols: sizes of the matrices; -1: as small as the diagonals allow.
        padding_value: what the other elements are.
        align: on which side the diagonals above, and those below, begin in their rows.

    Returns:
        [..., num_rows, num_cols].

    Raises:
        ValueError: ``k``, ``align`` or sizes that do not fit ``x``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_diag(ms.Tensor([1, 2]), k=1).tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    t = as_tensor(x)
    low, high = _bundle(k)
    if t.ndim < 1 + (low != high):
        raise ShapeError("matrix_diag: x has too few axes for these diagonals.", operands=operand_lines(t._type))
    length = t.shape[-1]
    rows, cols = length - min(high, 0), length + max(low, 0)
    asked = _whole(num_rows), _whole(num_cols)
    if asked == (-1, -1):
        rows = cols = max(rows, cols)
    else:
        rows, cols = (least if size == -1 else size for size, least in zip(asked, (rows, cols)))
    places, inside = _places(rows, cols, low, high, align, length)
    flat = t.reshape((*t.shape[: -1 - (low != high)], -1))
    found = gather(flat, as_tensor(np.where(inside, places, 0)), -1)
    return where(as_tensor(inside), found, as_tensor(padding_value).astype(t.dtype))


def matrix_diag_part(x: Any, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Diagonals of matrices, as ``matrix_diag`` takes them.

    Args:
        x: [..., rows, columns].
        k: one diagonal, or (lowest, highest).
        padding_value: what fills the rows of shorter diagonals.
        align: on which side the diagonals above, and those below, begin in their rows.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_diag_part(ms.Tensor([[1, 2], [3, 4]]), (0, 1)).tolist()
        [[0, 2], [1, 4]]
    """
    t = _matrices("matrix_diag_part", x)
    low, high = _bundle(k)
    rows, cols = t.shape[-2:]
    length = _length(rows, cols, low, high)
    places, inside = _places(rows, cols, low, high, align, length)
    source = np.full((high - low + 1) * length, -1)
    source[places[inside]] = np.flatnonzero(inside)
    table = source.reshape((length,) if low == high else (-1, length))
    found = gather(t.reshape((*t.shape[:-2], rows * cols)), as_tensor(np.maximum(table, 0)), -1)
    return where(as_tensor(table >= 0), found, as_tensor(padding_value).astype(t.dtype))


def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with new diagonals; ``diagonal``, ``k`` and ``align`` as of ``matrix_diag``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.matrix_set_diag(ms.ops.ones((2, 2)), ms.Tensor([5.0, 6.0])).tolist()
        [[5.0, 1.0], [1.0, 6.0]]
    """
    t, d = _matrices("matrix_set_diag", x), as_tensor(diagonal)
    low, high = _bundle(k)
    rows, cols = t.shape[-2:]
    length = _length(rows, cols, low, high)
    if tuple(d.shape[-1 - (low != high) :]) != ((length,) if low == high else (high - low + 1, length)):
        text = f"matrix_set_diag: diagonals {low} to {high}, the longest of {length} elements, are needed."
        raise ShapeError(text, operands=operand_lines(t._type, d._type, names=("x", "diagonal")))
    places, inside = _places(rows, cols, low, high, align, length)
    flat = d.reshape((*d.shape[: -1 - (low != high)], -1))
    return where(as_tensor(inside), gather(flat, as_tensor(np.where(inside, places, 0)), -1), t)


def _matrices(name: str, x: Any) -> Tensor:
    t = as_tensor(x)
    if t.ndim < 2:
        raise ShapeError(f"{name} needs a tensor of at least two axes.", operands=operand_lines(t._type))
    return t


def _whole(value: Any) -> int:
    return operator.index(value.item() if isinstance(value, Tensor) else value)


def _bundle(k: Any) -> tuple[int, int]:
    """(lowest, highest) diagonal."""
    given = np.atleast_1d(k.asnumpy()).tolist() if isinstance(k, Tensor) else k
    parts = given if isinstance(given, (tuple, list)) else (given,)
    found = [operator.index(each) for each in parts]
    if len(found) not in (1, 2) or found[0] > found[-1]:
        raise AttributeValueError(f"k is one diagonal, or (lowest, highest), not {found}.")
    return found[0], found[-1]


def _length(rows: int, cols: int, low: int, high: int) -> int:
    """Of the longest diagonal of a bundle."""
    if not -rows < low <= high < max(cols, 1):
        raise AttributeValueError(f"k: a matrix of {rows} x {cols} has no diagonals {low} to {high}.")
    return min(rows + min(high, 0), cols - max(low, 0))


def _places(rows: int, cols: int, low: int, high: int, align: str, length: int) -> tuple[Any, Any]:
    """For each element of a matrix: its place in the flat bundle, and whether it lies on one of the diagonals."""
    if align not in _ALIGNS:
        raise AttributeValueError(f"align is one of {', '.join(_ALIGNS)}, not {align!r}.")
    if _length(rows, cols, low, high) != length:
        raise AttributeValueError(f"diagonals {low} to {high} of {rows} x {cols} are not {length} elements long.")
    i, j = np.indices((rows, cols))
    which = j - i
    own = np.minimum(rows + np.minimum(which, 0), cols - np.maximum(which, 0))
    above, below = (word == "LEFT" for word in align.split("_"))
    left = (which >= 0) & above | (which <= 0) & below
    at = np.minimum(i, j) + np.where(left, 0, length - own)
    return (high - which) * length + at, (which >= low) & (which <= high)
