"""Brackets and the methods of Tensor that move elements, bound to the class.

``x[key]`` reads; ``x[key] = v`` gives the object x a new value, in eager and while a graph is built alike, through
``slot.engine.assign``: other holders of the old value see no change.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from msnb.base import ArgumentError, events
from msnb.core import Tensor, cached, slot, temporary_writes
from msnb.ops.definition import Op, as_tensor
from msnb.ops.elementwise.comparison import where
from msnb.ops.indexing import rearrange, scatter
from msnb.ops.indexing.gather import gather, gather_elements, gather_nd, index_select, take
from msnb.ops.indexing.grids import expand_as, view_as
from msnb.ops.indexing.masked_select import argwhere, masked_fill, masked_select, nonzero
from msnb.ops.indexing.subscript import lone_mask, parse, trimmed
from msnb.ops.linalg.matmul import addbmm, addmm, addmv, baddbmm, bmm, dot, inner, matmul, mm, mv, outer, turned
from msnb.ops.linalg.triangular import diag, diag_embed, diagonal, trace, tril, triu
from msnb.ops.math.sort import argsort, bincount, kthvalue, median, msort, sort, topk
from msnb.ops.shape.concat_split import chunk, split, tensor_split, unstack
from msnb.ops.shape.index_records import INDEX, INDEX_UPDATE
from msnb.ops.shape.index_spec import IndexPlan
from msnb.ops.shape.views import broadcast_to, expand_dims, permute, reshape, squeeze, sum_to, transpose
from msnb.ops.tensor.operators import forward, named as named_method, reflected

__all__ = ["index_update"]


_BASIC = frozenset({int, slice, type(None), type(Ellipsis), np.int64, np.int32})


@cached
def _subscript(x: Any, key: Any) -> Any:
    """``x[key]`` with NumPy's meaning; always a value of its own, never a view. It says where it came from if the key
    is basic: ``temporary_writes.home``.

    Raises:
        IndexOutOfRange: an index outside its axis, too many indices, a mask that does not fit.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1, 2, 3], [4, 5, 6]])
        >>> x[[0, 1], :, None][..., ::-1, 0].tolist()
        [[3, 2, 1], [6, 5, 4]]
    """
    source, spec, indices = parse(x, key)
    out = INDEX(source, *indices, spec=spec)
    if type(key) in _BASIC or type(key) is tuple and _BASIC.issuperset(map(type, key)):
        temporary_writes.mark(out, x, key)
    return out


_NO_VIEW = (
    "v = x[0]; v[1] = 5 changes v alone: what an index, reshape or transpose gives is a value of its own, never a view "
    "of x. x[0, 1] = 5 writes into x; x[0] = v puts the part back."
)


def updated(x: Any, key: Any, value: Any) -> Tensor:
    """``x`` with ``value`` at ``x[key]``: what ``x[key] = value`` makes of x.

    Raises:
        ShapeError: the value does not broadcast to the place.
        IndexOutOfRange: see ``_subscript``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.index_update(ms.Tensor([1, 2, 3]), slice(1, None), 0).tolist()
        [1, 0, 0]
    """
    number = isinstance(value, (bool, int, float, complex))
    v = slot.engine.number(value) if number or isinstance(value, Tensor) else as_tensor(value)
    return _updated(x, key, v)  # type: ignore[no-any-return]


@cached
def _updated(x: Any, key: Any, v: Any) -> Any:
    masked = _where_masked(x, key, v)
    if masked is not None:
        return masked
    source, spec, indices = parse(x, key)
    if isinstance(v, Tensor):
        place = IndexPlan("index_update", source._type, tuple(i._type for i in indices), spec)
        v = trimmed(v, place.shape)
    out = INDEX_UPDATE(source, v, *indices, spec=spec)
    return out if source is x else reshape(out, x.shape)


def _where_masked(x: Any, key: Any, value: Any) -> Any:
    """A mask and a value that does not depend on how many elements it selects: one ``where``, its sizes all known."""
    found = lone_mask(x, key)
    if found is None:
        return None
    mask, axis = found
    after = x.ndim - axis - mask.ndim
    # a value with one row per selected element goes the general way: its rows depend on the mask's values
    if isinstance(value, Tensor) and value.ndim > after:
        return None
    if isinstance(value, Tensor) and not value._type.weak:
        value = value if value.dtype is x.dtype else value.astype(x.dtype)
        value = broadcast_to(value, shape=x.shape[x.ndim - after :]) if after else value
    out = where(reshape(mask, (*mask.shape, *(1,) * after)), value, x)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def setitem(x: Any, key: Any, value: Any) -> None:
    """``x[key] = value``: the object x stands for the new value from here on.

    A write into the result of an index is warned of once, as it is no view: ``v = x[0]; v[1] = 5`` leaves x as it is.
    ``x[0][1] = 5`` writes into x.

    Raises:
        LostWriteError: only the statement refers to x, and nothing says where it came from: ``x[mask][1] = 5``.
    """
    if temporary_writes.count(x) == temporary_writes.IN_STATEMENT and temporary_writes.is_store(sys._getframe(1)):
        back = temporary_writes.home_of_statement(x)
        slot.engine.assign(x, updated(x, key, value))
        temporary_writes.put_back(x, back, setitem)
        return
    if temporary_writes.is_view(x):
        events.notice(_NO_VIEW, key="no view")
    slot.engine.assign(x, updated(x, key, value))


def _flatten_method(
    x: Any, order: Any = "C", end: int | None = None, *, start_dim: int = 0, end_dim: int = -1
) -> Tensor:
    """All elements as a vector; or the axes from ``start_dim`` to ``end_dim`` merged."""
    if isinstance(order, int):  # PyTorch's flatten(start_dim, end_dim)
        order, start_dim, end_dim = "C", order, end_dim if end is None else end
    elif end is not None:
        raise ArgumentError(f"flatten takes an order or two axes, not {order!r} and {end!r}.")
    return rearrange.flatten(x, order, start_dim=start_dim, end_dim=end_dim)


def _scatter_add_method(x: Any, axis: Any, index: Any, src: Any = None) -> Tensor:
    """One addition per element of ``index`` along ``axis``; or, called as ``x.scatter_add(indices, updates)``, of parts
    at places [..., k]."""
    return scatter.tensor_scatter_add(x, axis, index) if src is None else scatter.scatter(x, axis, index, src, "add")


def _repeat_method(x: Any, repeats: Any, *rest: Any, axis: Any = None) -> Tensor:
    """Every element ``repeats`` times, along ``axis`` or flattened, as in NumPy; of three numbers or more, ``tile``, as
    in PyTorch; warns where that may be meant."""
    if not rest:
        return rearrange.repeat_interleave(x, repeats, axis)
    if axis is not None:
        raise ArgumentError(f"x.repeat{(repeats, *rest)} takes numbers of repeats, or repeats and axis.")
    if len(rest) > 1:
        return rearrange.tile(x, (repeats, *rest))
    called, other = f"x.repeat{(repeats, *rest)}", f"PyTorch's is x.tile({(repeats, *rest)})."
    events.notice(f"{called} repeats every element along axis {rest[0]}, as in NumPy; {other}", key="Tensor.repeat")
    return rearrange.repeat_interleave(x, repeats, rest[0])


def _contains(x: Any, element: Any) -> Any:
    """``element in x``: whether any element of x is this number."""
    found = x == element
    return found.any() if isinstance(found, Tensor) else False


METHODS: dict[str, Any] = {
    "__contains__": _contains,
    "__getitem__": _subscript,
    "__setitem__": setitem,
    "__matmul__": forward(matmul),
    "__rmatmul__": reflected(matmul),
    "flatten": cached(named_method("flatten", _flatten_method)),
    "scatter_add": _scatter_add_method,
    "repeat": _repeat_method,
}
"""Methods with a meaning of their own; the others are functions of the same name with the tensor first."""

_SAME: tuple[Any, ...] = (
    matmul, addbmm, addmm, addmv, baddbmm, bmm, dot, inner, mm, mv, outer,
    reshape, transpose, broadcast_to, expand_dims, expand_as, view_as, squeeze, argwhere, masked_fill,
    masked_select, nonzero,
    rearrange.swapaxes, rearrange.moveaxis, rearrange.ravel, rearrange.unflatten, rearrange.narrow, rearrange.flip,
    rearrange.fliplr, rearrange.flipud, rearrange.roll, rearrange.rot90, rearrange.tile, rearrange.repeat_interleave,
    split, chunk, tensor_split, gather, gather_elements, gather_nd, index_select, take,
    scatter.scatter, scatter.index_add, scatter.index_copy, scatter.index_fill, scatter.tensor_scatter_add,
    scatter.tensor_scatter_div, scatter.tensor_scatter_max, scatter.tensor_scatter_min, scatter.tensor_scatter_mul,
    scatter.tensor_scatter_sub, scatter.tensor_scatter_update,
    sort, argsort, topk, kthvalue, median, msort, bincount, tril, triu, diag, diag_embed, diagonal, trace,
)  # fmt: skip

_ALSO: dict[str, Any] = {
    "view": reshape, "permute": permute, "expand": broadcast_to, "unsqueeze": expand_dims, "sum_to_size": sum_to,
    "reshape_as": view_as, "unbind": unstack, "swapdims": rearrange.swapaxes, "movedim": rearrange.moveaxis,
}  # fmt: skip


def bind() -> None:
    """Give Tensor its brackets and methods."""
    named = {(f.name if isinstance(f, Op) else f.__name__): f for f in _SAME}
    for name, fn in {**named, **_ALSO, **METHODS}.items():
        # a record is callable but no function: Python binds only functions
        setattr(Tensor, name, named_method(name, forward(fn) if isinstance(fn, Op) else fn))
    Tensor.T = property(transpose)  # type: ignore[method-assign, assignment]
    Tensor.mT = property(turned)  # type: ignore[method-assign, assignment]


bind()


# names of MindSpore and PyTorch for the same
index_update = updated
