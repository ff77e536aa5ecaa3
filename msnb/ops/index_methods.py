"""Brackets and the methods of Tensor that move elements, bound to the class.

``x[key]`` reads; ``x[key] = v`` gives the object x a new value, in eager and while a graph is built alike, through
``slot.engine.assign``: nobody else who holds the old value sees a change.
"""

from __future__ import annotations

from typing import Any

from msnb.core.slot import slot
from msnb.core.tensor import Tensor
from msnb.ops.contract import addbmm, addmm, addmv, baddbmm, bmm, dot, inner, matmul, mm, mv, outer, turned
from msnb.ops.getitem import INDEX, INDEX_UPDATE, Plan
from msnb.ops.index_key import lone_mask, parse, trimmed
from msnb.ops.join import unstack
from msnb.ops.operands import as_tensor
from msnb.ops.selection import argwhere, masked_fill, masked_select, nonzero, unique
from msnb.ops.shape import broadcast_to, expand_dims, reshape, squeeze, sum_to, transpose


def getitem(x: Any, key: Any) -> Any:
    """``x[key]`` with NumPy's meaning; always a value of its own, never a view.

    Raises:
        IndexOutOfRange: an index outside its axis, too many indices, a mask that does not fit.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1, 2, 3], [4, 5, 6]])
        >>> x[[0, 1], :, None][..., ::-1, 0].tolist()
        [[3, 2, 1], [6, 5, 4]]
    """
    source, spec, indices = parse(x, key)
    return INDEX(source, *indices, spec=spec)


def updated(x: Any, key: Any, value: Any) -> Any:
    """``x`` with ``value`` at ``x[key]``: what ``x[key] = value`` makes of x.

    Raises:
        ShapeError: the value does not broadcast to the place.
        IndexOutOfRange: see ``getitem``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.index_update(ms.Tensor([1, 2, 3]), slice(1, None), 0).tolist()
        [1, 0, 0]
    """
    v = value if isinstance(value, (bool, int, float, complex, Tensor)) else as_tensor(value)
    masked = _where_masked(x, key, v)
    if masked is not None:
        return masked
    source, spec, indices = parse(x, key)
    if isinstance(v, Tensor):
        place = Plan("index_update", source._type, tuple(i._type for i in indices), spec)
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
    if isinstance(value, Tensor) and value.ndim > after:
        return None
    from msnb.ops.compare import where

    if isinstance(value, Tensor) and value.dtype is not x.dtype:
        value = value.astype(x.dtype)
    value = (
        value if not isinstance(value, Tensor) or not after else broadcast_to(value, shape=x.shape[x.ndim - after :])
    )
    out = where(reshape(mask, (*mask.shape, *(1,) * after)), value, x)
    return out if out.dtype is x.dtype else out.astype(x.dtype)


def setitem(x: Any, key: Any, value: Any) -> None:
    """``x[key] = value``: the object x stands for the new value from here on."""
    slot.engine.assign(x, updated(x, key, value))


METHODS: dict[str, Any] = {
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__matmul__": lambda self, other: matmul(self, other),
    "__rmatmul__": lambda self, other: matmul(other, self),
    "reshape": reshape,
    "view": reshape,
    "transpose": transpose,
    "permute": transpose,
    "broadcast_to": broadcast_to,
    "expand": broadcast_to,
    "expand_dims": expand_dims,
    "unsqueeze": expand_dims,
    "squeeze": squeeze,
    "sum_to_size": sum_to,
    "unbind": unstack,
    "matmul": matmul,
    "mm": mm,
    "bmm": bmm,
    "mv": mv,
    "dot": dot,
    "inner": inner,
    "outer": outer,
    "addmm": addmm,
    "addmv": addmv,
    "baddbmm": baddbmm,
    "addbmm": addbmm,
    "nonzero": nonzero,
    "argwhere": argwhere,
    "masked_select": masked_select,
    "masked_fill": masked_fill,
    "unique": unique,
}


def bind() -> None:
    """Give Tensor its brackets and methods."""
    for name, fn in METHODS.items():
        # an op record is callable but no function: Python binds only functions
        setattr(Tensor, name, fn if hasattr(fn, "__get__") else _method(fn))
    Tensor.T = property(lambda self: transpose(self))  # type: ignore[attr-defined]
    Tensor.mT = property(turned)  # type: ignore[attr-defined]


def _method(fn: Any) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return fn(self, *args, **options)

    method.__name__, method.__doc__ = fn.name, fn.doc
    return method


bind()
