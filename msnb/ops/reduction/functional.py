"""Reductions as public functions; their records are in ``msnb.ops.reduction.records``."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.core import Tensor, as_dtype, cached, slot, whole
from msnb.ops.definition import Op, ValuesAndIndices, as_ints, find, normal_axes, worded
from msnb.ops.reduction.records import ALL, ANY, ARGMAX, ARGMIN, COUNT_NONZERO, MAX, MEAN, MIN, PROD, SUM, VAR

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "logsumexp", "max", "mean", "min", "prod",
    "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "std", "sum",
    "var", "var_mean",
]  # fmt: skip


_ONLY = (0, -1, (0,), (-1,))
"""How an axis of a number is named, as NumPy and MindSpore take it."""


def _reduce(op: Op, x: Any, axis: Any, keepdims: Any, **more: Any) -> Tensor:
    if type(axis) is list:
        axis = tuple(axis)
    elif isinstance(axis, (np.integer, Tensor)):
        axis = as_ints(op.name, (axis,)) if axis.ndim else axis.__index__()
    if axis == () and op is not ARGMAX and op is not ARGMIN or axis in _ONLY and not getattr(x, "ndim", 0):
        axis = None  # of one number there is nothing to choose
    out: Tensor = slot.engine.apply(op, (x,), {"axis": axis, "keepdims": bool(keepdims), **more})
    return out


def _reduce_as(op: Op, x: Any, axis: Any, keepdims: bool, dtype: Any) -> Tensor:
    """The reduction in a dtype, if one is asked for: of the operand and of the result."""
    if dtype is None:
        return _reduce(op, x, axis, keepdims)
    cast, wanted = find("cast"), as_dtype(dtype)
    return cast(_reduce(op, cast(x, dtype=wanted), axis, keepdims), dtype=wanted)


@cached
@worded
def sum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes.

    Args:
        x: a tensor of any shape.
        axis: an int, a tuple of ints, or None for all axes, as is the empty tuple.
        keepdims: keep the summed axes with size 1.
        dtype: that of the result; ``x`` is converted to it first. None: bools and ints give int64, other dtypes stay.

    Source: `mindspore.ops.sum`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.sum(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
        [4.0, 6.0]
    """
    return _reduce_as(SUM, x, axis, keepdims, dtype)


@cached
@worded
def mean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over axes; arguments as ``sum``. Ints give float32.

    Source: `mindspore.ops.mean`
    """
    return _reduce_as(MEAN, x, axis, keepdims, dtype)


@cached
@worded
def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """Product over axes; arguments as ``sum``.

    Source: `mindspore.ops.prod`
    """
    return _reduce_as(PROD, x, axis, keepdims, dtype)


def _extreme(op: Op, arg: Op, x: Any, axis: Any, keepdims: bool, return_indices: bool | None) -> Any:
    one = axis is not None and not isinstance(axis, (tuple, list))
    paired = one if return_indices is None else return_indices
    values = _reduce(op, x, axis, keepdims, ties="first" if paired and one else "share")
    return ValuesAndIndices(values, _reduce(arg, x, axis, keepdims)) if paired else values


def _bounded(op: str, found: Any, initial: Any) -> Any:
    if initial is None:
        return found
    if isinstance(found, tuple):
        return ValuesAndIndices(find(op)(found[0], initial), found[1])
    return find(op)(found, initial)


@cached
@worded
def max(
    x: Any, axis: Any = None, keepdims: bool = False, *, return_indices: bool | None = None, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Largest element: of all, or along an axis together with its index. NaN wins. Ties share the gradient, except
    along an axis with indices: there it goes to the element whose index is given.

    Args:
        x: a tensor of any shape, at least one element.
        axis, keepdims: as in ``sum``.
        return_indices: whether to give (values, indices); by default for one axis.
        initial: values below it become it, as in NumPy.
        where: bools that broadcast against ``x``: which elements count; needs ``initial``.

    Returns:
        With one axis (values, indices), as in MindSpore and PyTorch; else the largest element of the axes. ``amax``
        never gives indices, nor does the method with NumPy's words: ``x.max(axis=1)``.

    Raises:
        ValueError: there are no elements to choose from.

    Source: `mindspore.ops.max`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1, 3, 2], [6, 5, 4]])
        >>> values, indices = ms.ops.max(x, 1)
        >>> values.tolist(), indices.tolist(), ms.ops.max(x).item()
        ([3, 6], [1, 0], 6)
    """
    counted = what_counts("max", x, where, initial)
    return _bounded("maximum", _extreme(MAX, ARGMAX, counted, axis, keepdims, return_indices), initial)


@cached
@worded
def min(
    x: Any, axis: Any = None, keepdims: bool = False, *, return_indices: bool | None = None, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Smallest element; as ``max``, with ``initial`` from above."""
    counted = what_counts("min", x, where, initial)
    return _bounded("minimum", _extreme(MIN, ARGMIN, counted, axis, keepdims, return_indices), initial)


def sum_method(self: Any, *place: Any, initial: Any = None, **words: Any) -> Tensor:
    """Sum over axes: ``sum(axis, keepdims, dtype=)``, or in NumPy's order ``sum(axis, dtype, keepdims, initial)``;
    ``initial`` is added to it."""
    if len(place) > 1 and not isinstance(place[1], int):
        if len(place) > 4 or not {"dtype", "keepdims", "initial"}.isdisjoint(words):
            raise ArgumentError("Tensor.sum takes (axis, dtype, keepdims, initial), each of them once.")
        words |= dict(zip(("dtype", "keepdims", "initial"), place[1:]))
        place, initial = place[:1], words.pop("initial", initial)
    found = sum(self, *place, **words)
    return found if initial is None else found + find("cast")(initial, dtype=found.dtype)


def extreme_method(fn: Any) -> Any:
    """``max`` or ``min`` as a method: NumPy's words (axis, keepdims, initial, where) ask for NumPy's result, the values
    alone."""

    def method(self: Any, *place: Any, **words: Any) -> Any:
        if not {"axis", "keepdims", "initial", "where"}.isdisjoint(words):
            words.setdefault("return_indices", False)
        return fn(self, *place, **words)

    method.__name__ = method.__qualname__ = fn.__name__
    method.__doc__ = f"{fn.__doc__}\n    By ``axis=``, ``keepdims=``, ``initial=`` or ``where=`` the values alone.\n"
    return method


@cached
@worded
def amax(x: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Largest element over axes, never with its index; as ``max``.

    Args:
        x: tensor.
        axis, keepdims: as in ``sum``.
        initial: the smallest result.
        where: bools that broadcast against ``x``: which elements count; needs ``initial``.
    """
    taken = what_counts("amax", x, where, initial)
    out: Tensor = _bounded("maximum", _reduce(MAX, taken, axis, keepdims, ties="share"), initial)
    return out


def what_counts(name: str, x: Any, where: Any, initial: Any) -> Any:
    """``x`` with ``initial`` where it does not count; ``where=True``: all counts."""
    if where is None or where is True:
        return x
    if initial is None:
        raise AttributeValueError(f"{name}: where= needs initial=, the value of what it leaves out.")
    return find("where")(where, x, find("cast")(initial, dtype=x.dtype))


@cached
@worded
def amin(x: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Smallest element over axes, never with its index; as ``amax``."""
    taken = what_counts("amin", x, where, initial)
    out: Tensor = _bounded("minimum", _reduce(MIN, taken, axis, keepdims, ties="share"), initial)
    return out


@cached
@worded
def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """True where some element over the axes is true (not zero)."""
    return _reduce(ANY, x, axis, keepdims)


@cached
@worded
def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """True where every element over the axes is true (not zero)."""
    return _reduce(ALL, x, axis, keepdims)


@worded
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over the axes are not zero, int64."""
    return _reduce(COUNT_NONZERO, x, axis, keepdims)


@cached
@worded
def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Index of the first largest element along ``axis`` (None: of the flattened tensor), int64.

    Source: `mindspore.ops.argmax`
    """
    return _reduce(ARGMAX, x, axis, keepdims)


@cached
@worded
def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element; as ``argmax``."""
    return _reduce(ARGMIN, x, axis, keepdims)


_DIVISOR = (
    "var and std divide by n, as in MindSpore and NumPy, also with dim=; PyTorch divides by n - 1, which unbiased=True "
    "asks for."
)


@whole
@worded
def var(x: Any, axis: Any = None, ddof: Any = None, keepdims: bool = False, *, dim: Any = None) -> Tensor:
    """Variance over axes: the sum of squared distances from the mean divided by n - ddof.

    Args:
        x: a tensor of any shape.
        axis, keepdims: as in ``sum``.
        ddof: 0 (the default, as in MindSpore and NumPy) divides by n; 1 (or True: "unbiased") by n - 1; a number.
        dim: PyTorch's word for axis; without ``unbiased`` a warning says once that PyTorch divides by n - 1.

    Source: `mindspore.ops.var`
    """
    if dim is not None:
        axis = dim
        if ddof is None:
            events.notice(_DIVISOR, key="var")
    axis = tuple(axis) if isinstance(axis, list) else axis
    axis = None if axis == () else axis
    less = int(ddof) if isinstance(ddof, bool) else 0 if ddof is None else ddof
    out: Tensor = slot.engine.apply(VAR, (x,), {"axis": axis, "keepdims": bool(keepdims), "ddof": less})
    return out


@whole
@worded
def std(x: Any, axis: Any = None, ddof: Any = None, keepdims: bool = False, *, dim: Any = None) -> Tensor:
    """Square root of the variance; arguments as ``var``. Where all elements are equal its derivative is 0."""
    spread = var(x, axis, ddof, keepdims, dim=dim)
    none, where = find("equal")(spread, 0), find("where")
    return where(none, spread * 0.0, find("sqrt")(where(none, 1.0, spread)))


@worded
def var_mean(x: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Variance and mean together."""
    return var(x, axis, ddof, keepdims), mean(x, axis, keepdims)


@whole
@worded
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow: the largest element is taken out first.

    Source: `mindspore.ops.logsumexp`
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    top = find("stop_gradient")(amax(x, axis, True))
    top = find("where")(find("isfinite")(top), top, 0.0)
    total: Tensor = find("log")(sum(find("exp")(x - top), axis, True)) + top
    if not keepdims and total.shape:
        total = find("squeeze")(total, axis=normal_axes("logsumexp", axis, total.ndim))
    return total


reduce_sum, reduce_mean, reduce_prod, reduce_max, reduce_min = sum, mean, prod, amax, amin
reduce_any, reduce_all = any, all
