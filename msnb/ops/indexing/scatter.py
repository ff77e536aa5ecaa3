"""Writing by index tensors, under the names of MindSpore, NumPy and PyTorch; nothing writes in place.

    rows          x[i] = v                     index_copy, index_fill, index_add       (one axis)
    coordinates   x[i[..,0], i[..,1]] = v      tensor_scatter_update / _add / _max, scatter_nd
    elements      x[i[r,c], c] = v[r,c]        scatter, scatter_add, tensor_scatter_elements

All of them are ``index_update`` (last write counts), ``unindex`` (writes add up) or ``index_reduce`` (max, min, mul).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import DType, Tensor, TensorType, bool_, int32, int64, keep_calls, tensor_type
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_sizes, as_tensor, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.symbolic_sizes import sizes_text
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise import changed, limit, maximum
from msnb.ops.elementwise.arithmetic import fmod
from msnb.ops.indexing.gather import along, at_axis, coordinates
from msnb.ops.shape import INDEX, INDEX_UPDATE, UNINDEX, IndexPlan, broadcast_to, full, ones_like, zeros_like
from msnb.ops.shape.index_records import update_axes, write_batch
from msnb.ops.shape.index_spec import explain, fits, key_of

__all__ = [
    "index_add", "index_copy", "index_fill", "scatter", "scatter_add", "scatter_nd", "scatter_reduce", "scatter_update",
    "tensor_scatter_add", "tensor_scatter_div", "tensor_scatter_elements", "tensor_scatter_max", "tensor_scatter_min",
    "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update",
]  # fmt: skip

_X = np.arange(12.0).reshape(3, 4) / 8 - 1
_I = np.array([2, 0, 2])

_REDUCTIONS = {"max": "maximum", "min": "minimum", "mul": "multiply"}


def _reduce_type(x: TensorType, value: TensorType, *indices: TensorType, spec: Any, reduce: str) -> TensorType:
    if reduce not in _REDUCTIONS:
        raise AttributeValueError(f"index_reduce: reduce is one of {', '.join(_REDUCTIONS)}, not {reduce!r}.")
    place = IndexPlan("index_reduce", x, indices, spec).shape
    if not fits(value.shape, place):
        raise ShapeError(
            f"index_reduce: the value does not broadcast to the shape {sizes_text(place)} of the place.",
            operands=operand_lines(x, value, names=("x", "value")),
        )
    return tensor_type(x.shape, strong_dtype(x))


def _reduce_body(xp: Any, x: Any, value: Any, *indices: Any, spec: Any, reduce: str) -> Any:
    out = x.copy()
    try:
        getattr(xp, _REDUCTIONS[reduce]).at(out, key_of(spec, indices), value.astype(x.dtype, copy=False))
    except IndexError as error:
        raise explain(x, spec, indices, error) from None
    return out


def _extreme_grad(dout: Any, x: Any, value: Any, indices: Any, out: Any, spec: Any) -> Any:
    """To what became the result; those that tie share."""
    made = INDEX(out, *indices, spec=spec)
    won, hit = (x == out).astype(x.dtype), (value == made).astype(x.dtype)
    share = dout / combine(won, indices, spec, hit, "add")
    return share * won, INDEX(share, *indices, spec=spec) * hit


def _product_grad(dout: Any, x: Any, value: Any, indices: Any, spec: Any) -> Any:
    """The product of all other factors. Where several values meet at one place, zeros among them are counted apart, so
    that 0/0 never happens; only there does a second derivative at a value that is exactly 0 come out as 0."""
    ones = ones_like(x)
    is_zero = (value == 0).astype(x.dtype)
    whole = value + is_zero
    zeros = combine(zeros_like(x), indices, spec, is_zero, "add")
    product = INDEX_REDUCE(ones, whole, *indices, spec=spec, reduce="mul")
    at, zeros_at, product_at = [INDEX(t, *indices, spec=spec) for t in (dout * x, zeros, product)]
    others = product_at / whole * (zeros_at == is_zero).astype(x.dtype)
    return dout * INDEX_REDUCE(ones, value, *indices, spec=spec, reduce="mul"), at * others


def _reduce_grad(dout: Any, x: Any, value: Any, indices: Any, out: Any, spec: Any, reduce: str) -> Any:
    value = as_tensor(value)
    if reduce == "mul":
        pair = _product_grad(dout, x, value, indices, spec)
    else:
        pair = _extreme_grad(dout, x, value, indices, out, spec)
    return *pair, *(None,) * len(indices)


def _reduce_batch(
    axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], *, spec: Any, reduce: str
) -> tuple[Any, bool]:
    def op(*args: Any, spec: Any) -> Any:
        return INDEX_REDUCE(*args, spec=spec, reduce=reduce)

    return write_batch(op, axis_size, inputs, batched, spec)


INDEX_REDUCE: Op = define(
    "index_reduce",
    "x, value, *indices",
    attrs=("spec", "reduce"),
    infer=_reduce_type,
    body=_reduce_body,
    grad=_reduce_grad,
    axes=update_axes,
    batch=_reduce_batch,
    traits=("pure", "indexed"),
    doc="x with a value combined in at an index by max, min or mul; several writes to one place combine.",
    examples=(
        Example((_X, -_X[0], _I), {"spec": ("t",), "reduce": "max"}),
        Example((_X, np.array(-2.5), _I), {"spec": ("t", 1), "reduce": "min"}),
        Example((_X, 2.5, np.array([0, 2])), {"spec": ("t",), "reduce": "mul"}),
    ),
    wrong=(
        InvalidExample((_X, 1.0, _I), {"spec": ("t",), "reduce": "xor"}, "one of max, min, mul", AttributeValueError),
    ),
)


def combine(x: Any, indices: Sequence[Any], spec: Any, value: Any, how: str) -> Tensor:
    """x with ``value`` at an index: how = none (written), add, sub, max, min, mul, div."""
    if how in ("none", "update"):
        return INDEX_UPDATE(x, value, *indices, spec=spec)
    if how in ("add", "sub"):
        place = IndexPlan("scatter", x._type, tuple(i._type for i in indices), spec).shape
        v = as_tensor(value)
        v = v.astype(x.dtype) if v.dtype is not x.dtype else v
        if not all(isinstance(size, int) for size in place):  # how many places there are, the data tells
            v = v + zeros_like(INDEX(x, *indices, spec=spec))
        v = v if v._type.is_static and v.shape == place else broadcast_to(v, shape=place)
        added = UNINDEX(v, *indices, spec=spec, shape=x.shape)
        return x + added if how == "add" else x - added  # type: ignore[no-any-return]
    if how == "div":
        return _divided(x, indices, spec, as_tensor(value))
    return INDEX_REDUCE(x, value, *indices, spec=spec, reduce=how)


def _divided(x: Any, indices: Sequence[Any], spec: Any, value: Any) -> Tensor:
    """x divided at an index by all values for one place; integers are cut off towards 0."""
    if x.dtype.differentiable:
        return INDEX_REDUCE(x, 1 / value, *indices, spec=spec, reduce="mul")
    by = INDEX_REDUCE(ones_like(x), value, *indices, spec=spec, reduce="mul")
    return (x - fmod(x, by)) // by  # type: ignore[no-any-return]


# ---- coordinates ----


def scatter_nd(index: Any, updates: Any, shape: Any) -> Tensor:
    """Zeros of ``shape`` with ``updates`` added at the coordinates ``index[..., k]``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.scatter_nd(ms.Tensor([[1], [1], [3]]), ms.Tensor([1, 2, 5]), (4,)).tolist()
        [0, 3, 0, 5]
    """
    sizes = as_sizes("scatter_nd", (shape,))
    parts = coordinates("scatter_nd", index, len(sizes))
    return UNINDEX(as_tensor(updates), *parts, spec=("t",) * len(parts), shape=sizes)


def _tensor_scatter(how: str, meaning: str) -> Callable[..., Tensor]:
    def scatter_op(x: Any, index: Any, updates: Any) -> Tensor:
        name, t, i = f"tensor_scatter_{how}", as_tensor(x), as_tensor(index)
        if i.dtype not in (int32, int64):
            line = operand_lines(i._type, names=("index",))
            raise DTypeError(f"{name} takes places in int32 or int64.", operands=line)
        parts = coordinates(name, i, t.ndim)
        return combine(t, parts, ("t",) * len(parts), as_tensor(updates), how)

    scatter_op.__name__ = scatter_op.__qualname__ = f"tensor_scatter_{how}"
    scatter_op.__doc__ = (
        f"``x`` with ``updates`` {meaning} at the coordinates ``index[..., k]``; x itself stays as it is."
    )
    return scatter_op


tensor_scatter_update: Callable[..., Tensor] = _tensor_scatter("update", "written")
tensor_scatter_add: Callable[..., Tensor] = _tensor_scatter("add", "added")
tensor_scatter_sub: Callable[..., Tensor] = _tensor_scatter("sub", "subtracted")
tensor_scatter_max: Callable[..., Tensor] = _tensor_scatter("max", "combined by max")
tensor_scatter_min: Callable[..., Tensor] = _tensor_scatter("min", "combined by min")
tensor_scatter_mul: Callable[..., Tensor] = _tensor_scatter("mul", "multiplied in")
tensor_scatter_div: Callable[..., Tensor] = _tensor_scatter("div", "divided out")


# ---- elements ----


def tensor_scatter_elements(x: Any, index: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Tensor:
    """``x`` with one write per element of ``index``: ``x[index[i][j]][j] = updates[i][j]`` for axis 0.

    Args:
        x: tensor.
        index: integers with as many axes as x.
        updates: a number, or a tensor of the shape of index.
        axis: the axis that is indexed.
        reduction: "none" (last write counts), "add", "mul", "max" or "min".

    Examples:
        >>> import msnb as ms
        >>> ms.ops.tensor_scatter_elements(ms.ops.zeros((2, 2)), ms.Tensor([[1, 0]]), ms.Tensor([[5.0, 6.0]])).tolist()
        [[0.0, 6.0], [5.0, 0.0]]
    """
    t, i = as_tensor(x), as_tensor(index)
    at = normal_axis("scatter", axis, t.ndim)
    value = updates if isinstance(updates, (int, float)) else as_tensor(updates)
    return combine(t, along("scatter", t.shape, i, at), ("t",) * t.ndim, value, reduction)


@worded
def scatter(x: Any, axis: int, index: Any, src: Any = None, reduce: str = "none", *, value: Any = None) -> Tensor:
    """``tensor_scatter_elements`` with PyTorch's order of arguments; of a larger ``src`` the part that index spans.

    Args:
        x: a tensor.
        axis: of the places. index: integers, with as many axes as x.
        src: a tensor of at least the shape of index; reduce: "none", "add" or "multiply".
        value: a number in place of ``src``.
    """
    if (src is None) == (value is None):
        raise ArgumentError("scatter takes src, or a number as value.")
    src = value if src is None else src
    if isinstance(src, Tensor) and not src.ndim:
        src = find("broadcast_to")(src, shape=as_tensor(index).shape)
    if not isinstance(src, (int, float)) and (src := as_tensor(src)).shape != (shape := as_tensor(index).shape):
        src = src[tuple(slice(n) for n in shape)]
    return tensor_scatter_elements(x, index, src, axis, {"multiply": "mul"}.get(reduce, reduce))


_COMBINED = {"sum": "add", "prod": "mul", "mean": "add", "amax": "max", "amin": "min"}


@worded
def scatter_reduce(x: Any, axis: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """``x`` with one number per element of ``index`` combined in, in PyTorch's words.

    Args:
        x: tensor.
        axis: the axis that is indexed.
        index: integers with as many axes as x.
        src: a tensor of the shape of index.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the elements of x themselves take part where something is combined in.

    Raises:
        ValueError: another ``reduce``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html

    Examples:
        >>> import msnb as ms
        >>> x, index = ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor([0, 0, 1])
        >>> ms.ops.scatter_reduce(x, 0, index, ms.Tensor([4.0, 6.0, 8.0]), "mean", include_self=False).tolist()
        [5.0, 8.0, 3.0]
    """
    if reduce not in _COMBINED:
        raise AttributeValueError(f"scatter_reduce: reduce is one of {', '.join(_COMBINED)}, not {reduce!r}.")
    x, src = as_tensor(x), as_tensor(src)
    start = x if include_self else scatter(x, axis, index, _neutral(x.dtype, reduce))
    out = scatter(start, axis, index, src, _COMBINED[reduce])
    return _divided_by_count(x, out, axis, index, src, include_self) if reduce == "mean" else out


def _neutral(dtype: DType, reduce: str) -> float:
    """What changes nothing when it is combined with a number."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    if dtype is bool_:
        return int(reduce == "amin")
    if dtype.is_float:
        return math.inf if reduce == "amin" else -math.inf
    return limit(dtype, reduce == "amin")


def _divided_by_count(x: Any, total: Any, axis: int, index: Any, src: Any, include_self: bool) -> Any:
    """Sums divided by how many numbers each is made of; whole numbers round down, as in PyTorch."""
    met = scatter(full(x.shape, int(include_self), dtype=x.dtype), axis, index, full(src.shape, 1), "add")
    count = maximum(met, 1)
    return total / count if x.dtype.is_float or x.dtype.is_complex else total // count


def scatter_add(x: Any, *args: Any, **named: Any) -> Tensor:
    """``scatter_add(x, axis, index, src)``: one addition per element of index (PyTorch, mindspore.mint).

    ``scatter_add(parameter, index, updates)``, MindSpore's older form, adds ``updates`` to rows of a Parameter, which
    takes the new value. By name: ``dim`` or ``axis``, ``index`` and ``src``; ``indices`` and ``updates``.
    """
    words = ("axis", "index", "src") if "src" in named or len(args) + len(named) == 3 else ("index", "updates")
    own = {{"dim": "axis", "indices": "index"}.get(word, word): value for word, value in named.items()}
    args = (*args, *(own.pop(word) for word in words[len(args) :] if word in own))
    if own or len(args) != len(words):
        raise ArgumentError(f"scatter_add takes x, {', '.join(words)}; {', '.join(own) or 'one of them'} does not fit.")
    if len(args) == 3:
        return scatter(x, args[0], args[1], args[2], "add")
    index, updates = args
    return _rows_of_parameter(x, index, updates, how="add")


def scatter_update(x: Any, index: Any, updates: Any) -> Tensor:
    """Rows of the Parameter ``x`` become ``updates``; returns its new value."""
    return _rows_of_parameter(x, index, updates, how="none")


def _rows_of_parameter(x: Any, index: Any, updates: Any, *, how: str) -> Tensor:
    return changed(x, combine(x, (as_tensor(index),), ("t",), updates, how))


# ---- rows ----


def _rows(name: str, x: Any, axis: int, index: Any, value: Any, how: str) -> Tensor:
    t, i = as_tensor(x), as_tensor(index)
    return combine(t, (i,), at_axis(normal_axis(name, axis, t.ndim)), value, how)


@worded
def index_add(
    x: Any, *operands: Any, axis: Any = None, index: Any = None, src: Any = None, alpha: Any = 1, **named: Any
) -> Tensor:
    """``x`` with the slices of ``src`` added to the slices along ``axis`` that ``index`` names.

    Both orders are taken: PyTorch's (axis, index, src) and MindSpore's (index, src, axis); the axis is the Python int.

    Args:
        x: a tensor; it stays as it is.
        operands: the three others, those of them that no keyword gives.
        axis: an int.
        index: integers, one for each slice of src.
        src: like x, with ``len(index)`` slices along the axis.
        alpha: what src is multiplied by.
        named: MindSpore's and PyTorch's words: ``indices``; ``y`` and ``source``. MindSpore's ``use_lock`` and
            ``check_index_bound`` are True or False: indices are checked, and nothing else writes, in any case.

    Raises:
        IndexOutOfRange: an index is not from 0 to the size of the axis.

    Source: `mindspore.ops.index_add`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.index_add(ms.Tensor([1.0, 2.0]), 0, ms.Tensor([1, 1]), ms.Tensor([5.0, 5.0])).tolist()
        [1.0, 12.0]
        >>> ms.ops.index_add(ms.Tensor([1.0, 2.0]), ms.Tensor([1]), ms.Tensor([5.0]), 0).tolist()
        [1.0, 7.0]
    """
    given = {"axis": axis, "index": index, "src": src}
    for word, value in named.items():
        if word in ("use_lock", "check_index_bound") and isinstance(value, bool):
            continue
        own = {"indices": "index", "y": "src", "source": "src"}.get(word)
        if own is None or given[own] is not None:
            raise ArgumentError(f"index_add takes axis, index and src, each once; got {word!r}.")
        given[own] = value
    ours = [name for name, value in given.items() if value is None]
    if len(operands) != len(ours):
        raise ArgumentError(f"index_add takes axis, index and src beside x, got {len(operands)} for {ours}.")
    if "axis" in ours and operands and not isinstance(operands[0], int):
        ours = [*ours[1:], "axis"]
    given.update(zip(ours, operands))
    added = given["src"] if type(alpha) is int and alpha == 1 else as_tensor(given["src"]) * alpha
    return _rows("index_add", x, given["axis"], given["index"], added, "add")


@worded
def index_copy(x: Any, axis: int, index: Any, src: Any) -> Tensor:
    """``x`` with the slices along ``axis`` that ``index`` names replaced by those of ``src``."""
    return _rows("index_copy", x, axis, index, as_tensor(src), "none")


@worded
def index_fill(x: Any, axis: int, index: Any, value: Any) -> Tensor:
    """``x`` with one number in the slices along ``axis`` that ``index`` names."""
    return _rows("index_fill", x, axis, index, value, "none")


keep_calls(globals(), "index_add scatter scatter_nd index_fill tensor_scatter_update tensor_scatter_add")
