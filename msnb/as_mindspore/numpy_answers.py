"""MindSpore's answers of ``numpy``: places are int32, counts float32, several results stand in a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msnb.numpy as mnp
from msnb import ops
from msnb.as_mindspore.answers import int32
from msnb.core import dtypes
from msnb.core.tensor import Tensor
from msnb.ops.mindspore.primitive_results import unique as unique_pair


def _all_int32(found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([int32(part) for part in found])


def argmin(a: Any, axis: int | None = None) -> Any:
    """``numpy.argmin`` with int32 places."""
    return int32(ops.argmin(mnp.array(a), axis))


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``numpy.count_nonzero`` in int32."""
    return int32(ops.count_nonzero(mnp.array(x), axis, keepdims))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """``numpy.searchsorted`` with int32 places."""
    return int32(mnp.searchsorted(a, v, side, sorter))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """``numpy.digitize`` with int32 places."""
    return int32(mnp.digitize(x, bins, right))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """``numpy.diag_indices`` with int32 places."""
    return _all_int32(mnp.diag_indices(n, ndim))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """``numpy.tril_indices`` with int32 places."""
    return _all_int32(mnp.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """``numpy.triu_indices`` with int32 places."""
    return _all_int32(mnp.triu_indices(n, k, m))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``numpy.tril_indices_from`` with int32 places."""
    return _all_int32(mnp.tril_indices_from(arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``numpy.triu_indices_from`` with int32 places."""
    return _all_int32(mnp.triu_indices_from(arr, k))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """``numpy.unravel_index`` with int32 places."""
    return _all_int32(mnp.unravel_index(indices, shape, order))


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different numbers in the order in which they come, and with ``return_inverse`` int32 places among them."""
    values, places = unique_pair(mnp.array(x))
    return (values, int32(places)) if return_inverse else values


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    """``numpy.bincount`` in float32."""
    return mnp.bincount(x, weights, minlength, length).astype(dtypes.float32)


def indices(dimensions: Any, dtype: Any = dtypes.int32, sparse: bool = False) -> Any:
    """``numpy.indices`` as a list of grids."""
    found = mnp.indices(dimensions, dtype, sparse)
    return list(found) if sparse else [found[i] for i in range(len(dimensions))]


def _listed(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arys: Tensor) -> Any:
        found = fn(*arys)
        return list(found) if isinstance(found, tuple) else found

    call.__doc__ = f"``numpy.{fn.__name__}``; of several arrays a list."
    return call


atleast_1d, atleast_2d, atleast_3d = map(_listed, (mnp.atleast_1d, mnp.atleast_2d, mnp.atleast_3d))
