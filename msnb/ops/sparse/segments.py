"""Rows of a tensor chosen by index, and put together segment by segment: the sums of an embedding over bags of words.

x [rows, ...], indices [0, 2, 1], segment_ids [0, 0, 2]     ->     x[0] + x[2],  0,  x[1]
"""

from __future__ import annotations

from typing import Any

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition.operand_checks import as_sizes, as_tensor
from msnb.ops.elementwise.arithmetic import maximum
from msnb.ops.elementwise.transcendental import sqrt
from msnb.ops.indexing.gather import take
from msnb.ops.math.statistics import unsorted_segment_sum
from msnb.ops.shape.creation import ones_like

__all__ = ["sparse_segment_mean"]


def segments(kind: str, x: Any, indices: Any, segment_ids: Any, num_segments: Any = None) -> Tensor:
    """Rows of x by index, summed by segment; "mean" divides by how many there are, "sqrt_n" by the root of it."""
    rows, places, ids = as_tensor(x), as_tensor(indices), as_tensor(segment_ids)
    if places.ndim != 1 or ids.ndim != 1 or not rows.ndim:
        raise ShapeError(f"indices and segment_ids are vectors, got the shapes {places.shape} and {ids.shape}.")
    if not (places.dtype.is_int and ids.dtype.is_int):
        raise DTypeError(f"indices and segment_ids hold integers, got {places.dtype} and {ids.dtype}.")
    if isinstance(num_segments, Tensor):
        num_segments = num_segments.reshape(-1)[0]
    count: Any
    (count,) = as_sizes("num_segments", (ids[-1] + 1 if num_segments is None else num_segments,))
    if type(count) is int and count < 1:
        raise AttributeValueError(f"there is at least one segment, got num_segments = {count}.")
    total = unsorted_segment_sum(take(rows, places, axis=0), ids, count)
    if kind == "sum":
        return total
    many = unsorted_segment_sum(ones_like(ids).astype(rows.dtype), ids, count)
    by = maximum(many, 1).reshape((-1, *(1,) * (rows.ndim - 1)))
    return total / (by if kind == "mean" else sqrt(by))


def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Tensor:
    """The means of rows of ``x`` by segment; a segment without rows is 0.

    Args:
        x: [rows, ...].
        indices: integers [n], which rows.
        segment_ids: integers [n] that never decrease, the segment of each.

    Returns:
        Tensor [last segment id + 1, ...].

    Raises:
        ShapeError, DTypeError: indices and segment_ids are no vectors of integers.

    Source: `mindspore.ops.sparse_segment_mean`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> ms.ops.sparse_segment_mean(x, ms.Tensor([0, 2, 1]), ms.Tensor([0, 0, 1])).tolist()
        [[3.0, 4.0], [3.0, 4.0]]
    """
    return segments("mean", x, indices, segment_ids)
