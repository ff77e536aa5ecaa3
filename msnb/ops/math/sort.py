"""Order along one axis.

    sort  [3, 1, 2]  ->  values [1, 2, 3], indices [1, 2, 0]         one record gives both; the sort is stable
                                                                    adjoint: dvalues written where they came from
    argsort, topk, kthvalue, msort     parts of it                   searchsorted     where a value would stand
    bincount                           how often every integer occurs (its length is known when the data are)

NaN counts as the largest number: last in increasing order, first in decreasing order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, cached, dtypes, keep_calls, tensor_type
from msnb.ops.definition.keyword_aliases import ValuesAndIndices, worded
from msnb.ops.definition.operand_checks import all_spread, as_tensor, one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.symbolic_sizes import bound_of, fresh
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.comparison import isnan, where
from msnb.ops.indexing.gather import FULL, along, take_along_axis
from msnb.ops.math.selection import TOP_K, ordered_numpy
from msnb.ops.shape import INDEX, UNINDEX, arange, broadcast_to, expand_dims, full, reshape, squeeze

__all__ = ["argsort", "bincount", "kthvalue", "median", "msort", "searchsorted", "sort", "topk"]

FAMILY = "sorting"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])


def _sort_type(x: TensorType, *, axis: int, descending: bool) -> tuple[TensorType, TensorType]:
    normal_axis("sort", axis, x.ndim)
    return tensor_type(x.shape, strong_dtype(x)), tensor_type(x.shape, dtypes.int64)


def _sort_body(xp: Any, x: Any, *, axis: int, descending: bool) -> Any:
    """Stable in both directions: decreasing order is increasing order of the reversed axis, reversed."""
    if not descending:
        order = xp.argsort(x, axis=axis, kind="stable")
    else:
        back = (*[slice(None)] * (axis % x.ndim), slice(None, None, -1))
        order = x.shape[axis] - 1 - xp.argsort(x[back], axis=axis, kind="stable")[back]
    return x[order] if x.ndim == 1 else xp.take_along_axis(x, order, axis=axis), order


def _sort_grad(douts: Any, outs: Any, types: Any, axis: int) -> Any:
    at = normal_axis("sort", axis, types[0].ndim)
    grid = along("sort", types[0].shape, outs[1], at)
    return UNINDEX(douts[0], *grid, spec=("t",) * len(grid), shape=types[0].shape)


def _whole_axis(types: Any, attrs: Any) -> str:
    labels = list("abcdefgh"[: types[0].ndim])
    labels[attrs["axis"]] += "!"
    one = " ".join(labels)
    return f"{one} -> {one}, {one}"


def _sort_work(types: Any, out_types: Any, attrs: Any) -> Work:
    n = bound_of(types[0].shape[attrs["axis"]]) or 0
    size = types[0].size if types[0].is_static else n
    return Work(vector=float(size) * max(n.bit_length(), 1))


SORT: Op = define(
    "sort",
    "x",
    onnx="sort",
    attrs={"axis": -1, "descending": False},
    infer=_sort_type,
    body=_sort_body,
    numpy=ordered_numpy,
    grad=_sort_grad,
    axes=_whole_axis,
    batch=one_batched(lambda x, axis, descending: SORT(x, axis=axis + 1 if axis >= 0 else axis, descending=descending)),
    work=_sort_work,
    doc="The elements along an axis in order, and where each stood.",
    examples=(
        Example((_A,), {"axis": 1}),
        Example((_A,), {"axis": 0, "descending": True}),
        Example((np.array([2, 1, 2, 1]),), {"descending": True}),
        Example((_A[:, :0],), {}),
    ),
    wrong=(InvalidExample((_A,), {"axis": 2}, "axis 2 is outside a tensor of 2 axes", AttributeValueError),),
)


@cached
@worded
def sort(x: Any, axis: int = -1, descending: bool = False, *, stable: bool = True) -> ValuesAndIndices:
    """The elements along ``axis`` in order.

    Args:
        x: tensor.
        axis: the axis along which elements change places.
        descending: largest first.
        stable: accepted for PyTorch's sake: equal elements always keep their order.

    Returns:
        (values, indices): indices int64, where each value stood.

    Examples:
        >>> import msnb as ms
        >>> values, indices = ms.ops.sort(ms.Tensor([3, 1, 2]))
        >>> values.tolist(), indices.tolist()
        ([1, 2, 3], [1, 2, 0])
    """
    t = as_tensor(x)
    if not t.ndim:
        return ValuesAndIndices(t, as_tensor(np.zeros((), np.int64)))
    values, indices = SORT(t, axis=axis, descending=bool(descending))
    return ValuesAndIndices(values, indices)


@cached
@worded
def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that would sort ``x`` along ``axis`` (see ``sort``)."""
    return sort(x, axis, descending)[1]  # type: ignore[no-any-return]


def msort(x: Any) -> Tensor:
    """``x`` sorted along its first axis."""
    return sort(x, 0)[0]  # type: ignore[no-any-return]


@cached
def topk(x: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> ValuesAndIndices:
    """The ``k`` largest (or smallest) elements along an axis, in order, and where they stood.

    Args:
        x: tensor.
        k: how many, at most the size of the axis.
        dim: the axis; the last by default.
        largest: False asks for the smallest.
        sorted: False lets the elements of a whole axis stand as they are; fewer come in order all the same.

    Raises:
        AttributeValueError: k is larger than the axis.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.topk(ms.Tensor([3, 1, 2]), 2)[0].tolist()
        [3, 2]
    """
    t = as_tensor(x)
    at = normal_axis("topk", -1 if dim is None else dim, t.ndim)
    if not sorted and k == t.shape[at]:
        along_axis = reshape(arange(k), (-1, *(1,) * (t.ndim - 1 - at)))
        return ValuesAndIndices(t, broadcast_to(along_axis, t.shape))
    return ValuesAndIndices(*TOP_K(t, k=k, axis=at, largest=bool(largest)))


def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> ValuesAndIndices:
    """The k-th smallest element along an axis (k counts from 1) and where it stood."""
    t = as_tensor(x)
    at = normal_axis("kthvalue", dim, t.ndim)
    size = t.shape[at]
    if k < 1 or (isinstance(size, int) and k > size):
        raise AttributeValueError(
            f"kthvalue: k = {k} for an axis of size {size}; k counts from 1.", operands=operand_lines(t._type)
        )
    spec = (FULL,) * at + ((k - 1, k, 1),)
    found = [INDEX(part, spec=spec) for part in TOP_K(t, k=k, axis=at, largest=False)]
    values, indices = found if keepdim else [squeeze(part, at) for part in found]
    return ValuesAndIndices(values, indices)


@worded
def median(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The middle element, of an even number the lower of the two: of all, or along an axis together with its index.
    Where there is a NaN it is the result; ``nanmedian`` leaves them out.

    Returns:
        With an axis (values, indices), as in MindSpore and PyTorch; without one the middle of all elements.

    Source: `mindspore.ops.median`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1, 3, 2], [6, 5, 4]])
        >>> ms.ops.median(x, 1).values.tolist(), ms.ops.median(x).item()
        ([2, 5], 3)
    """
    t = as_tensor(x)
    if axis is None:
        flat = _or_one_nan(t.reshape(-1), 0)
        found = _or_nan(flat, 0, kthvalue(flat, (flat.size + 1) // 2)).values
        return found.reshape((1,) * t.ndim) if keepdims else found
    t = _or_one_nan(t, at := normal_axis("median", axis, t.ndim))
    return _or_nan(t, axis, kthvalue(t, (t.shape[at] + 1) // 2, axis, keepdims), keepdims)


def _or_one_nan(t: Any, at: int) -> Any:
    """The middle of nothing is NaN."""
    empty = t.dtype.is_float and t.shape[at] == 0
    return full((*t.shape[:at], 1, *t.shape[at + 1 :]), math.nan, dtype=t.dtype) if empty else t


def _or_nan(t: Any, axis: int, found: ValuesAndIndices, keepdims: bool = False) -> ValuesAndIndices:
    """NaN and its place where the axis has one: no element is the middle then."""
    if not t.dtype.is_float:
        return found
    wrong = isnan(t)
    place, some = (find(name)(cast(wrong, dtypes.uint8), axis=axis, keepdims=keepdims) for name in ("argmax", "max"))
    some = cast(some, dtypes.bool_)
    values, indices = found
    return ValuesAndIndices(where(some, math.nan, values), where(some, cast(place, indices.dtype), indices))


# ---- positions ----


def _search_type(boundaries: TensorType, x: TensorType, *, right: bool) -> TensorType:
    rows, wanted = boundaries.shape[:-1], x.shape[:-1]
    if not boundaries.ndim or (boundaries.ndim > 1 and (rows != wanted or x.ndim != boundaries.ndim)):
        raise ShapeError(
            "searchsorted needs a sorted vector, or sorted rows with one row of x for each.",
            operands=operand_lines(boundaries, x, names=("sorted", "x")),
        )
    return tensor_type(x.shape, dtypes.int64)


def _search_body(xp: Any, boundaries: Any, x: Any, *, right: bool) -> Any:
    side = "right" if right else "left"
    if boundaries.ndim == 1:
        return xp.searchsorted(boundaries, x, side=side)
    a, b = boundaries[..., None, :], x[..., :, None]
    before = (xp.less_equal if right else xp.less)(a, b)
    if x.dtype.kind not in "biu":  # NaN stands behind all numbers
        before = before | ((b != b) if right else (b != b) & (a == a))
    return before.sum(axis=-1)


def _search_batch(axis_size: int, inputs: Any, batched: Any, *, right: bool) -> Any:
    """Rows of their own: everything else is flattened to one axis of each lane."""
    if not batched[0] and as_tensor(inputs[0]).ndim == 1:
        return SEARCHSORTED(*inputs, right=right), True
    return _search_lanes(axis_size, inputs, batched, right=right)


def _search_rows(inputs: Any, right: bool) -> Any:
    boundaries, x = inputs
    if boundaries.ndim > 2:
        return SEARCHSORTED(boundaries, x, right=right)
    return reshape(SEARCHSORTED(boundaries, reshape(x, (x.shape[0], -1)), right=right), x.shape)


_search_lanes = all_spread(_search_rows)

SEARCHSORTED: Op = define(
    "searchsorted",
    "boundaries, x",
    onnx="searchsorted",
    attrs={"right": False},
    infer=_search_type,
    body=_search_body,
    no_grad="a position does not change with small changes of values",
    axes=lambda types, attrs: (
        f"{'... ' if types[0].ndim > 1 else ''}k!, {(x := ' '.join('abcdefgh'[: types[1].ndim]))} -> {x}"
        if types[0].ndim == 1
        else "... k!, ... n -> ... n"
    ),
    batch=_search_batch,
    doc="Where each element of x would stand in a sorted vector (or in the sorted row of its own).",
    examples=(
        Example((np.array([0.0, 1.0, 2.0]), _A)),
        Example((np.sort(_A, axis=1), _A), {"right": True}),
        Example((np.array([1, 3]), np.zeros((0,), np.int64))),
    ),
    wrong=(InvalidExample((_A, _A[:1]), {}, "sorted rows with one row of x for each", ShapeError),),
)


def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Tensor:  # fmt: skip
    """Where each value would stand in a sorted vector: before equal elements, or behind them (``right``).

    Args:
        sorted_sequence: a vector, or rows.
        values: what is looked for.
        out_int32: places are int32, not int64.
        right: behind equal elements. side: "right" or "left" says the same.
        sorter: the order in which ``sorted_sequence`` is sorted, as ``argsort`` gives it.

    Raises:
        ValueError: ``side`` is none, or contradicts ``right``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.searchsorted(ms.Tensor([1, 3, 5]), ms.Tensor([3, 4])).tolist()
        [1, 2]
    """
    if side not in (None, "left", "right") or (side == "left" and right):
        raise AttributeValueError(f"searchsorted: side must be 'left' or 'right' and fit right={right}, got {side!r}.")
    boundaries, x = as_tensor(sorted_sequence), as_tensor(values)
    if sorter is not None:
        boundaries = take_along_axis(boundaries, as_tensor(sorter), -1)
    behind = right or side == "right"
    if not x.ndim and boundaries.ndim == 1:
        found = squeeze(SEARCHSORTED(boundaries, expand_dims(x, 0), right=behind), 0)
    else:
        found = SEARCHSORTED(boundaries, x, right=behind)
    return cast(found, dtypes.int32) if out_int32 else found


# ---- counting ----


def _count_type(x: TensorType, *, minlength: int) -> TensorType:
    if x.ndim != 1 or not x.dtype.is_int:
        raise DTypeError("bincount needs a vector of integers that are not negative.", operands=operand_lines(x))
    return tensor_type((fresh("n", None),), dtypes.int64)


def _counts(xp: Any, x: Any, *, minlength: int) -> Any:
    try:
        return xp.bincount(x, minlength=minlength)
    except ValueError:
        raise AttributeValueError("bincount counts integers from 0 on, and there is a negative one.") from None


BINCOUNT: Op = define(
    "bincount",
    "x",
    attrs={"minlength": 0},
    infer=_count_type,
    body=_counts,
    no_grad="it counts",
    axes="n! -> m!",
    traits=("pure", "dynamic"),
    doc="How often every integer from 0 on occurs.",
    examples=(Example((np.array([1, 3, 1]),)), Example((np.zeros((0,), np.int64),), {"minlength": 2})),
    wrong=(InvalidExample((_A,), {}, "a vector of integers", DTypeError),),
)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often every integer from 0 on occurs in the vector ``x``, or the sums of its weights.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.bincount(ms.Tensor([1, 3, 1])).tolist()
        [0, 2, 0, 1]
    """
    t = as_tensor(x)
    counts = BINCOUNT(t, minlength=minlength)
    if weights is None:
        return counts
    w = as_tensor(weights)
    if counts._type.is_static:
        return UNINDEX(w, t, spec=("t",), shape=counts.shape)
    numbers = find("nonzero")(counts >= 0)  # in a program, where the data tell how many there are: [n, 1]
    return find("sum")(where(find("equal")(t, numbers), w, 0), axis=(1,))


keep_calls(globals(), "median searchsorted")
