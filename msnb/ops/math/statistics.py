"""Numbers that say something about many numbers: quantiles, spreads, distances, counts, and sums over segments.

    quantile   sorted values, read between two neighbours        cdist      distances of all pairs of rows
    cov        means of products of deviations                   bucketize  the interval that a value falls into
    diff       neighbour minus neighbour                         unsorted_segment_sum   rows added up by their number

All are composed of other operators.

Source: `mindspore.ops`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, keep_calls, whole
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_float, as_floats, as_tensor, wide_integers
from msnb.ops.definition.type_inference import need_ints, normal_axis, operand_lines
from msnb.ops.elementwise import arithmetic, identity, limit, real, where
from msnb.ops.elementwise.cast import complex as complex_of, imag
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.rearrange import moveaxis, narrow
from msnb.ops.indexing.scatter import tensor_scatter_add, tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul
from msnb.ops.linalg.matmul import conjugate_transpose
from msnb.ops.math import clip_norm_interpolate, sort
from msnb.ops.reduction import functional
from msnb.ops.shape import arange, broadcast_to, concat, expand_dims, full, reshape

__all__ = [
    "bucketize", "cdist", "corrcoef", "cov", "diff", "dist", "histc", "nanmedian", "nanquantile", "quantile",
    "sequence_mask", "std_mean", "trapz", "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sum",
]  # fmt: skip

_WAYS = ("linear", "lower", "higher", "nearest", "midpoint")


@worded
def quantile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False, interpolation: str = "linear") -> Tensor:
    """The value below which a share ``q`` of all values lies.

    Args:
        x: floating point tensor.
        q: a number from 0 to 1, or several: their results stand along a new first axis. A tensor has a gradient, too;
            one that a graph computes gives NaN outside of 0 to 1.
        axis: along which; None: of all values.
        keepdims: keep the axis with size 1.
        interpolation: between two neighbours: "linear", "lower", "higher", "nearest" or "midpoint".

    Raises:
        ValueError: q outside [0, 1], or an unknown interpolation. DTypeError: no floating point tensor.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.quantile(ms.Tensor([4.0, 1.0, 3.0, 2.0]), 0.5).item()
        2.5
    """
    t = as_tensor(x)
    shares = q if isinstance(q, Tensor) else np.asarray(q, np.float64)
    _need_shares(t, shares, interpolation)
    at = 0 if axis is None else normal_axis("quantile", axis, t.ndim)
    ordered = sort.sort(reshape(t, (-1,)) if axis is None else t, at)[0]
    between: Any = _between_at if isinstance(shares, Tensor) else _between
    rows = [between(ordered, at, share, interpolation) for share in shares.reshape(-1)]
    # results of several shares stand along a new first axis, that of one share alone
    rows = [reshape(r, _kept_shape(t, axis)) for r in rows] if keepdims else rows
    return rows[0] if shares.ndim == 0 else concat([expand_dims(r, 0) for r in rows], axis=0)


def _need_shares(t: Any, shares: Any, interpolation: str) -> None:
    if not t.dtype.is_float:
        raise DTypeError("quantile needs floating point values.", operands=operand_lines(t._type))
    known = None if hasattr(shares, "_builder") else np.asarray(shares)
    if shares.ndim > 1 or known is not None and ((known < 0) | (known > 1)).any():
        raise AttributeValueError(f"quantile: q is a number from 0 to 1 or a row of such, got {shares.tolist()}.")
    if interpolation not in _WAYS:
        raise AttributeValueError(f"quantile: interpolation is one of {', '.join(_WAYS)}, not {interpolation!r}.")


def _kept_shape(t: Any, axis: int | None) -> tuple[Any, ...]:
    """The shape of ``t`` with size 1 at ``axis``; None: at all axes."""
    if axis is None:
        return tuple(1 for _ in t.shape)
    at = normal_axis("quantile", axis, t.ndim)
    return tuple(1 if i == at else d for i, d in enumerate(t.shape))


def _between_at(ordered: Any, axis: int, share: Tensor, interpolation: str) -> Any:
    """``_between`` of a share that is a tensor."""
    place = as_float(share) * (ordered.shape[axis] - 1)
    low, high = arithmetic.floor(place), arithmetic.ceil(place)
    part = {"linear": place - low, "lower": low - low, "higher": high - low, "midpoint": (high - low) * 0.5,
            "nearest": arithmetic.round(place) - low}[interpolation]  # fmt: skip
    legal = (share >= 0) & (share <= 1)
    first, last = (gather(ordered, where(legal, k, 0).astype("int32"), axis) for k in (low, high))
    value = where(part == 0, first, first + (last - first) * part.astype(ordered.dtype))
    return where(functional.any(ordered != ordered, axis) | ~legal, float("nan"), value)


def _between(ordered: Any, axis: int, share: float, interpolation: str) -> Any:
    place = share * (ordered.shape[axis] - 1)
    low, high = int(np.floor(place)), int(np.ceil(place))
    part = {"linear": place - low, "lower": 0.0, "higher": float(high > low), "midpoint": 0.5 * (high > low),
            "nearest": float(np.round(place) - low)}[interpolation]  # fmt: skip
    first, last = (narrow(ordered, axis, k, 1).squeeze(axis) for k in (low, high))
    value = first if part == 0 else last if part == 1 else clip_norm_interpolate.lerp(first, last, part)
    return where(functional.any(ordered != ordered, axis), float("nan"), value)  # a NaN anywhere: nothing is known


def _numbers_first(x: Any, axis: int | None, keepdims: bool) -> tuple[Any, Any, Any]:
    """Values in order with NaNs at the end, how many are none, and a function that puts a result into its shape."""
    t = as_tensor(x)
    if not t.dtype.is_float:
        raise DTypeError("NaNs are looked for in floating point values.", operands=operand_lines(t._type))
    at = 0 if axis is None else normal_axis("nanquantile", axis, t.ndim)
    rows = reshape(t, (-1,)) if axis is None else t
    missing = rows != rows
    count = functional.sum(~missing, at, True)
    ordered = moveaxis(sort.sort(where(missing, float("inf"), rows), at)[0], at, -1)

    def placed(value: Any) -> Tensor:
        value = where(moveaxis(count, at, -1) == 0, float("nan"), value)
        return reshape(value, _kept_shape(t, axis)) if keepdims else value.squeeze(-1)

    return ordered, moveaxis(count, at, -1), placed


def _at(ordered: Any, place: Any) -> Tensor:
    return ordered.gather_elements(-1, arithmetic.maximum(place, 0).astype("int32"))  # type: ignore[no-any-return]


@worded
def nanquantile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """``quantile`` of the values that are numbers: NaNs do not count.

    Args:
        x: floating point tensor.
        q: a number from 0 to 1, or several: along a new first axis.
        axis, keepdims: as for ``quantile``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.nanquantile(ms.Tensor([float("nan"), 1.0, 3.0]), 0.5).item()
        2.0
    """
    shares = q if isinstance(q, Tensor) else np.asarray(q)
    if shares.ndim:
        rows = [nanquantile(x, share, axis, keepdims) for share in shares.reshape(-1)]
        return concat([expand_dims(row, 0) for row in rows], axis=0)
    _need_shares(as_tensor(x), shares, "linear")
    ordered, count, placed = _numbers_first(x, axis, keepdims)
    place = (count - 1).astype(ordered.dtype) * q
    low, high = arithmetic.floor(place), arithmetic.ceil(place)
    first, last = _at(ordered, low), _at(ordered, high)
    return placed(where(low == high, first, first + (last - first) * (place - low)))  # type: ignore[no-any-return]


@worded
def nanmedian(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The middle of the values that are numbers; of two middle ones the lower, as for ``median``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.nanmedian(ms.Tensor([float("nan"), 1.0, 3.0, 9.0])).item()
        3.0
    """
    if as_tensor(x).dtype.is_int:  # they are all numbers
        found = sort.median(x, axis, keepdims)
        return found if axis is None else found[0]  # type: ignore[no-any-return]
    ordered, count, placed = _numbers_first(x, axis, keepdims)
    return placed(_at(ordered, (count - 1) // 2))  # type: ignore[no-any-return]


@worded
def std_mean(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """Standard deviation and mean together."""
    t = as_tensor(x)
    return functional.std(t, axis, ddof, keepdims), functional.mean(t, axis, keepdims)


@worded
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Neighbour minus neighbour along an axis, ``n`` times over.

    Args:
        x: tensor. n: how often. axis: which.
        prepend, append: tensors, or numbers, that stand before and behind ``x`` along the axis first.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.diff(ms.Tensor([1, 4, 9])).tolist()
        [3, 5]
    """
    need_ints("diff", n=n)
    t = as_tensor(x)
    if n < 0:
        raise AttributeValueError(f"diff: n is a number of times, at least 0, got {n}.")
    at = normal_axis("diff", axis, t.ndim)
    if n and (prepend is not None or append is not None):
        t = concat([_beside(t, at, end) for end in (prepend, t, append) if end is not None], axis=at)
    for _ in range(n):
        size = max(t.shape[at] - 1, 0)
        pair = [narrow(t, at, start, size) for start in (min(1, t.shape[at]), 0)]
        t = pair[0] != pair[1] if t.dtype.name == "bool" else pair[0] - pair[1]
    return t if n else identity(t)


def _beside(t: Tensor, at: int, end: Any) -> Tensor:
    """A tensor that stands beside ``t`` along an axis; a number is one slice of it."""
    given = as_tensor(end)
    sizes = (*t.shape[:at], 1, *t.shape[at + 1 :])
    return given if given.ndim else broadcast_to(given, sizes)


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The area under values by the trapezoidal rule.

    Args:
        y: values. x: where they were taken, or None: ``dx`` apart. dim: the axis.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.trapz(ms.Tensor([1.0, 2.0, 3.0])).item()
        4.0
    """
    t = as_float(y)
    at = normal_axis("trapz", dim, t.ndim)
    size = max(t.shape[at] - 1, 0)
    middle = (narrow(t, at, 0, size) + narrow(t, at, min(1, t.shape[at]), size)) * 0.5
    if x is None:
        return functional.sum(middle * dx, at)
    gaps = diff(wide_integers(as_tensor(x)))
    wide = gaps if gaps.ndim == t.ndim else reshape(gaps, (-1, *(1,) * (t.ndim - 1 - at)))
    return functional.sum(middle * wide, at)


def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None, rowvar: bool = True) -> Tensor:
    """The covariances of variables.

    Args:
        x: [variables, observations], or the other way round with ``rowvar=False``; one axis: one variable.
        correction: the sum is divided by observations - correction.
        fweights: [observations] ints: how often each was made.
        aweights: [observations] numbers: how much each counts.

    Returns:
        [variables, variables]; a number for one variable.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cov(ms.Tensor([[1.0, 2.0], [2.0, 0.0]])).tolist()
        [[0.5, -1.0], [-1.0, 2.0]]
    """
    t = as_tensor(x)
    if t.ndim > 2:
        raise ShapeError("cov takes [variables, observations].", operands=operand_lines(t._type))
    rows = as_float(reshape(t, (1, -1)) if t.ndim < 2 else t if rowvar else t.T)
    if fweights is None and aweights is None:
        apart = rows - functional.mean(rows, 1, True)
        out = (apart @ conjugate_transpose(apart)) / max(rows.shape[1] - correction, 0)
    else:
        out = _weighted_cov(rows, fweights, aweights, correction)
    return reshape(out, ()) if out.shape == (1, 1) else out


def _weighted_cov(rows: Tensor, fweights: Any, aweights: Any, correction: int) -> Tensor:
    often, much = (None if w is None else as_tensor(w).astype(rows.dtype.real) for w in (fweights, aweights))
    weights: Any = often if much is None else much if often is None else often * much
    if weights.shape != (rows.shape[1],):
        raise ShapeError("cov: weights are one number per observation.", operands=operand_lines(weights._type))
    total = functional.sum(weights)
    apart = rows - functional.sum(rows * weights, 1, True) / total
    lost = correction if much is None else correction * functional.sum(weights * much) / total
    out: Tensor = ((apart * weights) @ conjugate_transpose(apart)) / arithmetic.maximum(total - lost, 0.0)
    return out


def corrcoef(x: Any) -> Tensor:
    """Pearson's correlations of the rows of ``x`` [variables, observations]."""
    spread = cov(x)
    if not spread.ndim:
        return spread / spread
    deviation = arithmetic.power(real(spread.diagonal()), 0.5)
    found = spread / (expand_dims(deviation, 1) * deviation)
    if found.dtype.is_complex:
        return complex_of(*(clip_norm_interpolate.clip(part, -1.0, 1.0) for part in (real(found), imag(found))))
    return clip_norm_interpolate.clip(found, -1.0, 1.0)


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows.

    Args:
        x1: [..., m, features]. x2: [..., n, features]. p: of the norm; inf: the largest difference.

    Returns:
        [..., m, n]. A row's gradient to itself is 0, not NaN.

    Source: `mindspore.ops.cdist`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cdist(ms.Tensor([[0.0, 0.0]]), ms.Tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[5.0, 0.0]]
    """
    a, b = as_floats(as_tensor(x1), as_tensor(x2))
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError("cdist takes rows of the same number of features.", operands=operand_lines(a._type, b._type))
    return clip_norm_interpolate.vector_norm(expand_dims(a, -2) - expand_dims(b, -3), p, -1)


def dist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """The norm of the difference of two tensors as a whole."""
    a, b = as_floats(as_tensor(x1), as_tensor(x2))
    return clip_norm_interpolate.vector_norm(reshape(a - b, (-1,)), p, -1)


def bucketize(x: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """The number of the interval that each value falls into.

    Args:
        x: values. boundaries: ascending numbers [k]. right: a value on a boundary belongs to the interval behind it.

    Returns:
        Integers from 0 to k, as ``x``'s shape.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.bucketize(ms.Tensor([0.5, 2.0, 9.0]), [1.0, 2.0]).tolist()
        [0, 1, 2]
    """
    return sort.searchsorted(as_tensor(boundaries), as_tensor(x), right=right)


def histc(x: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many values fall into each of ``bins`` equal intervals.

    Args:
        x: values; those outside of the range do not count.
        bins: how many. min, max: the range; both 0: from the smallest value to the largest.

    Returns:
        Counts [bins] in x's dtype, or int32 or float32 where that has fewer bits.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.histc(ms.Tensor([0.0, 1.0, 1.0, 4.0]), 2).tolist()
        [3.0, 1.0]
    """
    t = reshape(wide_integers(as_tensor(x)), (-1,))
    t = t.astype("float32") if t.dtype.itemsize == 2 else t
    if bins < 1 or max < min:
        raise AttributeValueError(f"histc: bins={bins}, min={min}, max={max}; bins is at least 1 and min at most max.")
    low, high = (functional.amin(t), functional.amax(t)) if min == max == 0 else (as_tensor(min), as_tensor(max))
    same = (low == high).astype(t.dtype)
    low, high = low.astype(t.dtype) - same, high.astype(t.dtype) + same
    place = arithmetic.floor((t - low) * bins / (high - low))
    number = clip_norm_interpolate.clip(place, 0, bins - 1).astype("int32")
    return unsorted_segment_sum(((t >= low) & (t <= high)).astype(t.dtype), number, bins)


# ---- segments ----


def _segments(name: str, x: Any, segment_ids: Any, num_segments: int, start: float) -> tuple[Any, Any, Any]:
    """An array of starting values, the segment of every row, and the rows, as the scatters take them.

    Rows of a negative segment belong to none: they change nothing.
    """
    t, ids = as_tensor(x), as_tensor(segment_ids)
    if not ids.dtype.is_int or tuple(t.shape[: ids.ndim]) != tuple(ids.shape):
        raise ShapeError(f"{name}: segment_ids are integers, one for every entry of the first axes of x.",
                         operands=operand_lines(t._type, ids._type))  # fmt: skip
    rest, flat = tuple(t.shape[ids.ndim :]), reshape(ids, (-1, 1))
    rows = reshape(t, (-1, *rest)) if ids.ndim != 1 else t
    rows = where(reshape(flat < 0, (-1, *(1,) * len(rest))), full((), start, dtype=t.dtype), rows)
    return full((num_segments, *rest), start, dtype=t.dtype), arithmetic.maximum(flat, 0), rows


def unsorted_segment_sum(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Entries added up by the segment that each belongs to.

    Args:
        x: [rows, ...].
        segment_ids: integers [rows] from 0 to num_segments - 1; rows of a negative one are left out.
        num_segments: how many there are.

    Returns:
        [num_segments, ...]; segments without entries are 0.

    Source: `mindspore.ops.unsorted_segment_sum`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.unsorted_segment_sum(ms.Tensor([1.0, 2.0, 4.0]), ms.Tensor([0, 2, 0]), 3).tolist()
        [5.0, 0.0, 2.0]
    """
    return tensor_scatter_add(*_segments("unsorted_segment_sum", x, segment_ids, num_segments, 0))


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """The largest entry of each segment; segments without entries hold the smallest number of the dtype."""
    least = limit(as_tensor(x).dtype, False)
    return tensor_scatter_max(*_segments("unsorted_segment_max", x, segment_ids, num_segments, least))


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """The smallest entry of each segment; segments without entries hold the largest number of the dtype."""
    most = limit(as_tensor(x).dtype, True)
    return tensor_scatter_min(*_segments("unsorted_segment_min", x, segment_ids, num_segments, most))


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: int) -> Any:
    """The entries of each segment multiplied; segments without entries are 1."""
    return tensor_scatter_mul(*_segments("unsorted_segment_prod", x, segment_ids, num_segments, 1))


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Tensor:
    """True where a padded sequence still goes on.

    Args:
        lengths: integers [...]. maxlen: the length of the padded axis; needed in graph mode, else the longest.

    Returns:
        bool [..., maxlen].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.sequence_mask(ms.Tensor([1, 3]), 3).tolist()
        [[True, False, False], [True, True, True]]
    """
    t = as_tensor(lengths)
    longest = int(functional.max(t)) if maxlen is None else maxlen
    return arange(longest) < expand_dims(t, -1)


keep_calls(globals(), "quantile diff")
keep_calls(globals(), "cdist dist", whole)
