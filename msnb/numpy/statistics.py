"""Sums, extremes and statistics with NumPy's arguments, in the order that NumPy has them.

``initial`` is one more number that takes part; ``where`` says which numbers take part at all.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (math operations)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import as_dtype, float32
from msnb.numpy.creation import asarray as array
from msnb.numpy.dtype_results import in_dtype

__all__ = [
    "amax", "amin", "cumprod", "cumsum", "max", "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin", "nanstd",
    "nansum", "nanvar", "norm", "prod", "std", "sum", "var",
]  # fmt: skip


def _taken(a: Any, where: Any, neutral: Any) -> Any:
    t = array(a)
    return t if where is True else ops.where(array(where), t, neutral)


def _with(initial: Any, out: Any, both: Callable[..., Any]) -> Any:
    """The results of a reduction with a number that they begin with. Raises TypeError for more than a number."""
    if isinstance(initial, (list, tuple)) or getattr(initial, "ndim", 0) > 0:
        raise ArgumentError(f"initial is one number, got {initial!r}.")
    return out if initial is None else both(out, initial)


def _in(t: Any, dtype: Any) -> Any:
    return t if dtype is None else t.astype(as_dtype(dtype))


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True) -> Any:  # fmt: skip
    """Sums over axes.

    Args:
        a: an array.
        axis: an int, several, or None for all.
        dtype: of the numbers that are added.
        keepdims: keep the summed axes with size 1.
        initial: is added to every sum.
        where: a mask of the numbers that count.

    Source: `mindspore.numpy.sum`

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.sum(mnp.array([[1.0, 2.0], [3.0, 4.0]]), 0, where=[True, False]).tolist()
        [4.0, 0.0]
    """
    out = ops.sum(_in(_taken(a, where, 0), dtype), axis, keepdims)
    return _with(initial, out, ops.add)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """Products over axes; arguments as ``sum``."""
    return _with(initial, ops.prod(_in(array(a), dtype), axis, keepdims), ops.mul)


def _extreme(name: str, reduce: Callable[..., Any], both: Callable[..., Any], lowest: float) -> Any:
    def extreme(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        if where is not True and initial is None:
            raise ArgumentError(f"{name}: `where` may leave nothing over; say with `initial` what counts then.")
        out = reduce(array(a) if where is True else _taken(a, where, initial), axis, keepdims)
        return _with(initial, out, both)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"The {'largest' if lowest < 0 else 'smallest'} number over axes; arguments as ``sum``."
    return extreme


max: Any = _extreme("max", ops.amax, ops.maximum, float("-inf"))
min: Any = _extreme("min", ops.amin, ops.minimum, float("inf"))
amax: Any = max
amin: Any = min


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean over axes; of ints in float32."""
    return ops.mean(_in(array(a), dtype), axis, keepdims)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation over axes; ``ddof`` is taken off the count."""
    return ops.std(_floats(x), axis, ddof, keepdims)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance over axes; ``ddof`` is taken off the count."""
    return ops.var(_floats(x), axis, ddof, keepdims)


def _floats(x: Any) -> Any:
    t = array(x)
    return t if t.dtype.is_float else t.astype(float32)


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """``sum`` of the numbers that are not NaN."""
    return sum(_in(_without_nan(a, 0), dtype), axis, None, keepdims)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """``mean`` of the numbers that are not NaN."""
    return ops.nanmean(_in(array(a), dtype), axis, keepdims)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """``max`` of the numbers that are not NaN."""
    return in_dtype(max(_without_nan(a, float("-inf")), axis, keepdims), dtype)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """``min`` of the numbers that are not NaN."""
    return in_dtype(min(_without_nan(a, float("inf")), axis, keepdims), dtype)


def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``var`` of the numbers that are not NaN."""
    x = array(a)
    narrow = x.dtype.is_float and x.dtype.itemsize == 2  # their squares may not fit
    t = x if x.dtype.is_float and not narrow else x.astype(float32)
    there = ops.logical_not(ops.isnan(t))
    off = ops.where(there, t - ops.nanmean(t, axis, True), 0)
    found = ops.sum(off * off, axis, keepdims) / (ops.sum(there, axis, keepdims) - ddof)
    return in_dtype(found, x.dtype if dtype is None and narrow else dtype)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """``std`` of the numbers that are not NaN."""
    return in_dtype(ops.sqrt(nanvar(a, axis, None, ddof, keepdims)), dtype)


def _without_nan(a: Any, instead: float) -> Any:
    t = array(a)
    return ops.where(ops.isnan(t), instead, t) if t.dtype.is_float else t


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along an axis; without one, of all numbers in a row."""
    t = _in(array(a), dtype)
    return _in(ops.cumsum(t.reshape(-1), 0) if axis is None else ops.cumsum(t, axis), dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along an axis; without one, of all numbers in a row."""
    t = _in(array(a), dtype)
    return _in(ops.cumprod(t.reshape(-1), 0) if axis is None else ops.cumprod(t, axis), dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """``cumsum`` with NaN as 0."""
    return cumsum(_without_nan(a, 0), axis, dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of vectors, or a norm of matrices, as ``numpy.linalg.norm``.

    Args:
        x: an array. ord: the order; without one the root of the sum of squares.
        axis: one axis (vectors), two (matrices), or None: all of a vector or a matrix.
        keepdims: keep these axes with size 1.

    Raises:
        ValueError: an order of an array that is neither a vector nor a matrix, or one that these do not have.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.norm(mnp.array([3.0, 4.0])).item()
        5.0
        >>> mnp.norm(mnp.array([[1.0, -2.0], [3.0, 4.0]]), 1).item()
        6.0
    """
    t = _floats(x)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else tuple(range(t.ndim)) if axis is None else (axis,)
    # without an order any number of axes is one vector; with one, two axes are a matrix
    if ord is None:
        return ops.vector_norm(t, None, axes if axes else None, keepdims)
    if len(axes) == 2:
        return ops.matrix_norm(t, ord, axes, keepdims)
    if len(axes) != 1 or isinstance(ord, str):
        of = "a matrix" if isinstance(ord, str) else "a vector or a matrix"
        raise AttributeValueError(f"norm: order {ord!r} is one of {of}, the axes are {list(axes)}.", hint="name them.")
    return ops.vector_norm(t, ord, axes[0], keepdims)
