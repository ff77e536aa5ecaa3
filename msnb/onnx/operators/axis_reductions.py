"""Reductions, maxima with places, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, operator
from msnb.onnx.operators.shape_manipulation import ints


def _sum(x: Any, axes: Any, keep: bool) -> Any:
    return ops.sum(x, axes, keep, dtype=x.dtype)


def _mean(x: Any, axes: Any, keep: bool) -> Any:
    return ops.mean(x, axes, keep) if x.dtype.is_float else ops.mean(x.astype("float64"), axes, keep).astype(x.dtype)


def _extreme(fn: Callable[..., Any], low: bool) -> Callable[..., Any]:
    def reduce(x: Any, axes: Any, keep: bool) -> Any:
        if x.size:
            return fn(x, axes, keep) if x.dtype.numpy != np.bool_ else fn(x.astype("uint8"), axes, keep).astype("bool")
        dtype = x.dtype.numpy
        bounds = (-np.inf, np.inf) if dtype.kind not in "iub" else (0, 1) if dtype.kind == "b" else None
        small, large = bounds or (np.iinfo(dtype).min, np.iinfo(dtype).max)
        shape = np.sum(np.zeros(x.shape, np.int8), axis=axes, keepdims=keep).shape
        return ops.full(shape, small if low else large, dtype=x.dtype)

    return reduce


def _float(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` in floats, back in the dtype of x."""

    def reduce(x: Any, axes: Any, keep: bool) -> Any:
        return fn(x, axes, keep) if x.dtype.is_float else fn(x.astype("float64"), axes, keep).astype(x.dtype)

    return reduce


def _log_sum_exp(x: Any, axes: Any, keep: bool) -> Any:
    if not x.size:
        return ops.log(_sum(ops.exp(x), axes, keep))
    top = ops.stop_gradient(ops.amax(x, axes, True))
    top = ops.where(ops.isinf(top), ops.zeros_like(top), top)
    total = ops.log(_sum(ops.exp(x - top), axes, True)) + top
    return total if keep else ops.reshape(total, _sum(x, axes, False).shape)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": lambda x, axes, keep: ops.prod(x, axes, keep, dtype=x.dtype),
    "ReduceMax": _extreme(ops.amax, True),
    "ReduceMin": _extreme(ops.amin, False),
    "ReduceL1": lambda x, axes, keep: _sum(ops.abs(x), axes, keep),
    "ReduceL2": _float(lambda x, axes, keep: ops.sqrt(_sum(x * x, axes, keep))),
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
    "ReduceLogSum": _float(lambda x, axes, keep: ops.log(_sum(x, axes, keep))),
    "ReduceLogSumExp": _float(_log_sum_exp),
}


def _enter(name: str, fn: Callable[..., Any]) -> None:
    @operator(name)
    def reduce(x: Tensor, axes_in: Known | None = None, *, axes: Any = None, keepdims: int = 1,
               noop_with_empty_axes: int = 0) -> Any:  # fmt: skip
        chosen = ints(axes_in) if axes_in is not None else list(axes or ())
        if not chosen and noop_with_empty_axes:
            return fn(ops.expand_dims(x, 0), (0,), False) if name not in ("ReduceSum", "ReduceMean") else x
        over = tuple(a % x.ndim for a in chosen) if chosen else tuple(range(x.ndim))
        return fn(x, over, bool(keepdims)) if x.ndim else fn(ops.reshape(x, (1,)), (0,), False)


for _name, _fn in _REDUCTIONS.items():
    _enter(_name, _fn)


def _place(x: Any, axis: int, keepdims: int, last: int, fn: Callable[..., Any]) -> Any:
    if not last:
        return fn(x, axis, bool(keepdims)).astype("int64")
    return (x.shape[axis] - 1 - fn(ops.flip(x, axis), axis, bool(keepdims))).astype("int64")


@operator("ArgMax")
def argmax(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    """The place of the largest value."""
    return _place(x, axis, keepdims, select_last_index, ops.argmax)


@operator("ArgMin")
def argmin(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    """The place of the smallest value."""
    return _place(x, axis, keepdims, select_last_index, ops.argmin)


@operator("TopK")
def old_topk(x: Tensor, *, axis: int = -1, k: int) -> Any:
    """Before version 10 k was an attribute."""
    return topk(x, np.array(k), axis=axis)


@operator("TopK", since=10)
def topk(x: Tensor, k: Known, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """The k largest or smallest along an axis, and their places."""
    values, places = ops.topk(x, int(k.reshape(())), axis, bool(largest), True)
    return values, places.astype("int64")
