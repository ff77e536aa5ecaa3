"""Copies with a part written: a diagonal, a slice, rows; and blocks of space moved to and from the batch.

Source: `mindspore.ops`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, slot
from msnb.core.dtypes import promote
from msnb.ops.definition import as_tensor, need_ints, normal_axis, operand_lines
from msnb.ops.elementwise.comparison import where
from msnb.ops.indexing.gather import gather_elements
from msnb.ops.indexing.pad import pad
from msnb.ops.indexing.rearrange import flip, moveaxis
from msnb.ops.indexing.scatter import combine
from msnb.ops.shape import arange, broadcast_to, reshape, transpose

__all__ = [
    "batch_to_space_nd", "diagonal_scatter", "inplace_add", "inplace_index_add", "inplace_sub", "inplace_update",
    "mirror_pad", "reverse", "reverse_sequence", "select_scatter", "slice_scatter", "space_to_batch_nd",
    "strided_slice",
]  # fmt: skip

_FULL = (None, None, None)


def _common(input: Any, src: Any) -> tuple[Tensor, Tensor]:
    """Both in the dtype that holds the values of both."""
    x, value = as_tensor(input), as_tensor(src)
    dtype = promote(x.dtype, value.dtype)
    return x.astype(dtype), value.astype(dtype)


def _written(x: Any, places: Any, axis: int, value: Any, how: str = "update") -> Any:
    spec = (_FULL,) * axis + ("t",) + (_FULL,) * (x.ndim - axis - 1)
    return combine(x, (places,), spec, value, how)


def slice_scatter(input: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A copy of ``input`` with ``src`` at the places start, start + step ... of an axis, in the dtype of both.

    Raises:
        ShapeError: ``src`` has another shape than the places. ValueError: no such axis, or a step below 1.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.slice_scatter(ms.ops.zeros((4,)), ms.Tensor([1.0, 2.0]), 0, 1, 4, 2).tolist()
        [0.0, 1.0, 0.0, 2.0]
    """
    x, value = _common(input, src)
    at = normal_axis("slice_scatter", axis, x.ndim)
    if step < 1:
        raise AttributeValueError(f"slice_scatter: step is an integer from 1, got {step!r}.")
    places = np.arange(x.shape[at])[slice(start, end, step)]
    want = tuple(len(places) if i == at else s for i, s in enumerate(x.shape))
    if value.shape != want:
        raise ShapeError(f"slice_scatter needs src of the shape {list(want)}.",
                         operands=operand_lines(x._type, value._type, names=("input", "src")))  # fmt: skip
    return _written(x, Tensor(places), at, value)


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Any:
    """A copy of ``input`` with ``src`` as its slice ``index`` along an axis.

    Raises:
        ShapeError: ``src`` has another shape than the slice. ValueError: no such axis.
    """
    x, value = as_tensor(input), as_tensor(src)
    at = normal_axis("select_scatter", axis, x.ndim)
    place = normal_axis("select_scatter: index in", index, x.shape[at])
    if value.shape != x.shape[:at] + x.shape[at + 1 :]:
        raise ShapeError("select_scatter needs src of the slice's shape.",
                         operands=operand_lines(x._type, value._type, names=("input", "src")))  # fmt: skip
    return slice_scatter(x, value.expand_dims(at), at, place, place + 1)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of ``input`` with ``src`` on a diagonal of the axes ``dim1`` and ``dim2``.

    Raises:
        ShapeError: ``src`` has another shape than the diagonal.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.diagonal_scatter(ms.ops.zeros((2, 2)), ms.Tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    x, value = _common(input, src)
    first, second = (normal_axis("diagonal_scatter", d, x.ndim) for d in (dim1, dim2))
    last = moveaxis(x, (first, second), (-2, -1))
    rows, columns = np.nonzero(np.eye(last.shape[-2], last.shape[-1], offset, dtype=bool))
    if value.shape != (*last.shape[:-2], len(rows)):
        raise ShapeError(f"diagonal_scatter needs src of the shape {[*last.shape[:-2], len(rows)]}.",
                         operands=operand_lines(x._type, value._type, names=("input", "src")))  # fmt: skip
    spec = (_FULL,) * (x.ndim - 2) + ("t", "t")
    written = combine(last, (Tensor(rows), Tensor(columns)), spec, value, "update")
    return moveaxis(written, (-2, -1), (first, second))


def _rows(x: Any, v: Any, indices: Any, how: str) -> Any:
    places = indices if isinstance(indices, Tensor) else Tensor(np.atleast_1d(np.asarray(indices)))
    return _written(as_tensor(x), places, 0, as_tensor(v), how)


def inplace_update(x: Any, v: Any, indices: Any) -> Any:
    """A copy of x with the rows of v at ``indices``."""
    return _rows(x, v, indices, "update")


def inplace_add(x: Any, v: Any, indices: Any) -> Any:
    """A copy of x with the rows of v added at ``indices``."""
    return _rows(x, v, indices, "add")


def inplace_sub(x: Any, v: Any, indices: Any) -> Any:
    """A copy of x with the rows of v subtracted at ``indices``."""
    return _rows(x, -as_tensor(v), indices, "add")


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Any:
    """``var`` with the slices of ``updates`` added at ``indices`` along an axis, into ``var`` itself."""
    x = as_tensor(var)
    axis = normal_axis("inplace_index_add", axis, x.ndim)
    found = _written(x, as_tensor(indices), axis, as_tensor(updates), "add")
    if not isinstance(var, Tensor):
        return found
    slot.engine.assign(var, found)
    return var


def reverse(x: Any, axis: Any) -> Any:
    """x in the other order along an axis or several."""
    return flip(x, axis)


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int = 0, batch_dim: int = 0) -> Any:
    """The first ``seq_lengths[i]`` elements along ``seq_dim`` of batch i in the other order; the rest as it is.

    Raises:
        ShapeError: not one length per element of the batch. ValueError: one axis for both.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.reverse_sequence(ms.Tensor([[1, 2, 3], [4, 5, 6]]), ms.Tensor([2, 3]), 1).tolist()
        [[2, 1, 3], [6, 5, 4]]
    """
    t, lengths = as_tensor(x), as_tensor(seq_lengths)
    steps, batch = (normal_axis("reverse_sequence", d, t.ndim) for d in (seq_dim, batch_dim))
    if steps == batch:
        raise AttributeValueError("reverse_sequence: seq_dim and batch_dim are two axes.")
    if lengths.shape != (t.shape[batch],):
        raise ShapeError(f"reverse_sequence needs {t.shape[batch]} lengths.",
                         operands=operand_lines(t._type, lengths._type, names=("x", "seq_lengths")))  # fmt: skip
    place = reshape(arange(t.shape[steps]), [-1 if i == steps else 1 for i in range(t.ndim)])
    long = reshape(lengths.astype("int64"), [-1 if i == batch else 1 for i in range(t.ndim)])
    return gather_elements(t, steps, broadcast_to(where(place < long, long - 1 - place, place), t.shape))


def _masked(mask: int, axis: int) -> bool:
    return bool(mask >> axis & 1)


def strided_slice(input_x: Any, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask: int = 0,
                  end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                  shrink_axis_mask: int = 0) -> Any:  # fmt: skip
    """``x[begin[0]:end[0]:strides[0], ...]``; bit i of a mask changes what entry i means.

    Args:
        input_x: any tensor.
        begin, end, strides: one entry per index.
        begin_mask, end_mask: from the first, to the last element.
        ellipsis_mask: the entry stands for ``...``; at most one.
        new_axis_mask: the entry is a new axis of size 1.
        shrink_axis_mask: the entry is the one index ``begin[i]``.

    Raises:
        ValueError: lengths that differ, or two ellipses.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.strided_slice(ms.Tensor([[1, 2, 3], [4, 5, 6]]), (1, 0), (2, 3), (1, 2)).tolist()
        [[4, 6]]
    """
    need_ints("strided_slice", begin=begin, end=end, strides=strides)
    if not len(begin) == len(end) == len(strides):
        raise AttributeValueError(
            f"strided_slice: begin, end and strides have one length, got {begin!r}, {end!r}, {strides!r}."
        )
    if ellipsis_mask & (ellipsis_mask - 1):
        raise AttributeValueError("strided_slice: ellipsis_mask names more than one entry.")
    key: list[Any] = []
    for i, (low, high, step) in enumerate(zip(begin, end, strides)):
        if _masked(ellipsis_mask, i):
            key.append(...)
        elif _masked(new_axis_mask, i):
            key.append(None)
        elif _masked(shrink_axis_mask, i):
            key.append(int(low))
        else:
            ends = None if _masked(begin_mask, i) else int(low), None if _masked(end_mask, i) else int(high)
            key.append(slice(*ends, int(step)))
    return as_tensor(input_x)[tuple(key)]


def mirror_pad(input_x: Any, paddings: Any, mode: str = "REFLECT") -> Any:
    """x with its own elements mirrored around it.

    Args:
        input_x: any tensor.
        paddings: [axes, 2]: how many in front of and behind each axis.
        mode: "REFLECT": the edge is not repeated; "SYMMETRIC": it is.

    Raises:
        ValueError: another mode, or paddings that do not fit.
    """
    x = as_tensor(input_x)
    pairs = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings)
    rim = {"REFLECT": 1, "SYMMETRIC": 0}.get(mode)
    if rim is None or pairs.shape != (x.ndim, 2) or (pairs < 0).any():
        raise AttributeValueError(f"mirror_pad: mode is 'REFLECT' or 'SYMMETRIC' and paddings are {x.ndim} pairs from "
                                  f"0, got {mode!r} and {pairs.tolist()}.")  # fmt: skip
    for axis, pair in enumerate(pairs.tolist()):
        size = x.shape[axis]
        if max(pair) > size - rim:
            raise AttributeValueError(f"mirror_pad: axis {axis} of size {size} has no {max(pair)} elements to mirror.")
        places = np.pad(np.arange(size), pair, mode="reflect" if rim else "symmetric")
        x = x[(slice(None),) * axis + (Tensor(places),)]
    return x


def _blocks(name: str, x: Any, block: Any, pairs: Any) -> tuple[list[int], Any]:
    need_ints(name, block_size=block)
    sizes = [block] * (x.ndim - 2) if isinstance(block, int) else [int(b) for b in block]
    ends = np.asarray(pairs.asnumpy() if isinstance(pairs, Tensor) else pairs)
    if ends.shape != (len(sizes), 2) or (ends < 0).any() or min(sizes) < 1 or x.ndim <= len(sizes):
        raise AttributeValueError(f"{name}: one block size from 1 and one pair from 0 for each of the last axes, got "
                                  f"{sizes} and {ends.tolist()} for {x.ndim} axes.")  # fmt: skip
    return sizes, ends


def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Any:
    """Blocks of the last axes are taken apart: each place in a block becomes a batch of its own.

    Args:
        input_x: [n, ..., s1 ... sk].
        block_size: k sizes, or one for all axes behind the second.
        paddings: k pairs of zeros in front and behind.

    Returns:
        [n * product of block sizes, ..., (s + pads) / block ...].

    Raises:
        ValueError: sizes that the blocks do not divide.
    """
    x = as_tensor(input_x)
    sizes, ends = _blocks("space_to_batch_nd", x, block_size, paddings)
    x = pad(x, [int(e) for pair in reversed(ends.tolist()) for e in pair])
    k, lead = len(sizes), x.shape[: x.ndim - len(sizes)]
    if any(s % b for s, b in zip(x.shape[-k:], sizes)):
        raise AttributeValueError(f"space_to_batch_nd: blocks of {sizes} do not divide {list(x.shape[-k:])}.")
    split = [n for s, b in zip(x.shape[-k:], sizes) for n in (s // b, b)]
    at = len(lead)
    order = (*range(at + 1, at + 2 * k, 2), *range(at), *range(at, at + 2 * k, 2))
    turned = transpose(reshape(x, (*lead, *split)), order)
    return reshape(turned, (math.prod(sizes) * lead[0], *lead[1:], *split[::2]))


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Any:
    """The inverse of ``space_to_batch_nd``: ``crops`` takes away what the paddings added.

    Raises:
        ValueError: a batch that the blocks do not divide.
    """
    x = as_tensor(input_x)
    sizes, ends = _blocks("batch_to_space_nd", x, block_shape, crops)
    k, count = len(sizes), math.prod(sizes)
    if x.shape[0] % count:
        raise AttributeValueError(f"batch_to_space_nd: {count} places do not divide a batch of {x.shape[0]}.")
    lead = (x.shape[0] // count, *x.shape[1 : x.ndim - k])
    split = reshape(x, (*sizes, *lead, *x.shape[-k:]))
    order = (*range(k, k + len(lead)), *(a for i in range(k) for a in (k + len(lead) + i, i)))
    whole = [s * b for s, b in zip(x.shape[-k:], sizes)]
    out = reshape(transpose(split, order), (*lead, *whole))
    return out[(..., *(slice(int(a), s - int(b)) for s, (a, b) in zip(whole, ends.tolist())))]
