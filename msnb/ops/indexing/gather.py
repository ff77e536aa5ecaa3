"""Reading by index tensors, under the names of MindSpore, NumPy and PyTorch.

    gather(x, i, axis)              rows: x[:, i] along one axis, i of any shape         (the record; embedding is this)
    gather_nd(x, i)                 i[..., k] holds k coordinates each: x[i[...,0], i[...,1], ...]
    take_along_axis(x, i, axis)     one index per element of the result: x[r, i[r,c]]    (gather_elements)

Only ``gather`` has a record of its own (planners look for it); the others are ``index`` with index tensors laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError, DataSizeError, DTypeError, IndexOutOfRange, ShapeError
from msnb.core import Shape, Tensor, TensorType, keep_calls, tensor_type
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_tensor, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.shape import INDEX, UNINDEX, arange, broadcast_to, reshape, unstack
from msnb.ops.shape.index_records import read_batch
from msnb.ops.shape.index_spec import outside

__all__ = [
    "gather", "gather_d", "gather_elements", "gather_nd", "index_select", "take", "take_along_axis", "take_along_dim",
]  # fmt: skip

FAMILY = "index"  # of the records in this module: pictures and the JSON of graphs name it

_X = np.arange(24.0).reshape(2, 3, 4) / 8 - 1
_I = np.array([[1, 0, 1]])
FULL = (None, None, None)


def at_axis(axis: int) -> tuple[Any, ...]:
    """The spec that indexes one axis with one tensor."""
    return (FULL,) * axis + ("t",)


def _gather_type(x: TensorType, index: TensorType, *, axis: int) -> TensorType:
    at = normal_axis("gather", axis, x.ndim)
    if not index.dtype.is_int:
        raise DTypeError(
            "gather needs an index of integers.",
            operands=operand_lines(x, index, names=("x", "index")),
            hint="convert with index.astype(ms.int32).",
        )
    return tensor_type((*x.shape[:at], *index.shape, *x.shape[at + 1 :]), strong_dtype(x))


def _gather_body(xp: Any, x: Any, index: Any, *, axis: int) -> Any:
    try:
        return xp.take(x, index, axis=axis)
    except IndexError:
        size = x.shape[axis]
        bad = index[(index < -size) | (index >= size)]
        raise outside(int(bad.reshape(-1)[0]) if bad.size else 0, axis % x.ndim, size) from None


def _gather_axes(types: Any, attrs: Any) -> str:
    x, index = types
    at = attrs["axis"] % x.ndim
    labels, joint = list("abcdefgh"[: x.ndim]), list("stuvwxyz"[: index.ndim])
    out = labels[:at] + joint + labels[at + 1 :]
    labels[at] += "@"
    return f"{' '.join(labels)}, {' '.join(joint)} -> {' '.join(out)}"


def _gather_batch(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], *, axis: int) -> Any:
    x, index = inputs
    logical = x.ndim - batched[0]
    at = normal_axis("gather", axis, logical)
    if not batched[1]:
        return GATHER(x, index, axis=at + 1), True
    return read_batch("index")(axis_size, inputs, batched, spec=at_axis(at))


def _gather_grad(dout: Any, index: Any, types: Any, axis: int) -> Any:
    x = types[0]
    return UNINDEX(dout, index, spec=at_axis(axis % x.ndim), shape=x.shape), None


GATHER: Op = define(
    "gather",
    "x, index",
    onnx="Gather(x, index, axis=axis)",
    attrs={"axis": 0},
    infer=_gather_type,
    body=_gather_body,
    grad=_gather_grad,
    axes=_gather_axes,
    batch=_gather_batch,
    work=lambda types, out_types, attrs: Work(),
    traits=("pure", "linear", "indexed", "independent_indices"),
    doc="Rows of x: the slices along an axis that an index tensor names.",
    examples=(
        Example((_X, _I), {"axis": 1}),
        Example((_X, np.array(-1)), {"axis": -1}),
        Example((_X, np.zeros((0, 2), np.int64)), {"axis": 0}),
    ),
    wrong=(
        InvalidExample((_X, _X), {"axis": 0}, "an index of integers", DTypeError),
        InvalidExample((_X, _I + 5), {"axis": 2}, "is outside axis 2 of size 4", IndexOutOfRange),
    ),
)


def gather(x: Any, index: Any, axis: Any = 0, batch_dims: int = 0, *, dim: int | None = None) -> Tensor:
    """The slices of ``x`` along ``axis`` that ``index`` names.

    Args:
        x: tensor.
        index: integers of any shape; negative ones count from the back.
        axis: which axis of x is indexed. ``gather(x, axis, index)`` with a tensor last is PyTorch's gather, which is
            ``take_along_axis``.
        batch_dims: how many leading axes x and index share.
        dim: PyTorch's word for the axis of its own gather: one index per element of the result.

    Returns:
        Tensor of shape x.shape[:axis] + index.shape[batch_dims:] + x.shape[axis+1:].

    Raises:
        IndexOutOfRange: an index outside the axis, when the values are read.

    Source: `mindspore.ops.gather`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.gather(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([1, 1, 0]), 0).tolist()
        [[3, 4], [3, 4], [1, 2]]
    """
    if dim is not None:
        return gather_elements(x, dim, index)
    if isinstance(axis, Tensor) and not isinstance(index, Tensor):
        return gather_elements(x, index, axis)
    t, i = as_tensor(x), as_tensor(index)
    at = normal_axis("gather", axis.item() if isinstance(axis, Tensor) else axis, t.ndim)
    if not batch_dims:
        return GATHER(t, i, axis=at)
    if not 0 <= batch_dims <= min(at, i.ndim) or t.shape[:batch_dims] != i.shape[:batch_dims]:
        raise ShapeError(f"gather: x and index do not share {batch_dims} leading axes before axis {at}.",
                         operands=operand_lines(t._type, i._type, names=("x", "index")))  # fmt: skip
    return _gather_lanes(t, i, at, batch_dims)


def _gather_lanes(x: Any, index: Any, axis: int, lead: int) -> Tensor:
    """One lane per combination of the shared axes: flatten them to one and gather as a batch of one axis."""
    shape, rest = x.shape[:lead], index.shape[lead:]
    flat_x = reshape(x, (-1, *x.shape[lead:]))
    flat_i = reshape(index, (flat_x.shape[0], *rest))
    out, _ = _gather_batch(flat_x.shape[0], (flat_x, flat_i), (True, True), axis=axis - lead)
    return reshape(out, (*shape, *out.shape[1:]))


@worded
def index_select(x: Any, axis: int, index: Any) -> Tensor:
    """``gather`` with the arguments in PyTorch's order; ``index`` is a vector."""
    i = as_tensor(index)
    if i.ndim > 1:
        raise ShapeError("index_select needs a vector as index.", operands=operand_lines(i._type, names=("index",)))
    return gather(x, i, axis)


@worded
def take(x: Any, index: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    """NumPy's take: along an axis, or from the flattened tensor.

    Args:
        x: a tensor.
        index: integers of any shape. axis: which, or None.
        mode: what becomes of places outside: "raise" an error, "clip" the nearest place, "wrap" counted on from 0.
    """
    if mode not in ("raise", "clip", "wrap"):
        raise AttributeValueError(f"take: mode is 'raise', 'clip' or 'wrap', not {mode!r}.")
    if mode != "raise":
        t, places = as_tensor(x), as_tensor(index)
        n = t.size if axis is None else t.shape[axis]
        index = find("minimum")(find("maximum")(places, 0), n - 1) if mode == "clip" else places % n
    return gather(reshape(x, (-1,)), index, 0) if axis is None else gather(x, index, axis)


def coordinates(name: str, index: Any, rank: int) -> tuple[Any, ...]:
    """The k index tensors of an ``index[..., k]`` into ``rank`` axes."""
    i = as_tensor(index)
    if not i.ndim or not isinstance(i.shape[-1], int):
        raise ShapeError(f"{name} needs an index [..., k] with k coordinates each.", operands=operand_lines(i._type))
    if i.shape[-1] > rank:
        raise ShapeError(f"{name}: {i.shape[-1]} coordinates for {rank} axes.", operands=operand_lines(i._type))
    return unstack(i, -1)


def gather_nd(x: Any, index: Any) -> Tensor:
    """The elements (or slices) of ``x`` at coordinates.

    Args:
        x: tensor.
        index: integers [..., k]: k coordinates for the first k axes of x.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.gather_nd(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([[0, 1], [1, 0]])).tolist()
        [2, 3]
    """
    parts = coordinates("gather_nd", index, (t := as_tensor(x)).ndim)
    return INDEX(t, *parts, spec=("t",) * len(parts))


# ---- one index per element ----


def along(name: str, shape: Shape, index: Any, axis: int) -> tuple[Any, ...]:
    """Index tensors that leave every axis alone but one: an open grid with ``index`` in the place of ``axis``."""
    if index.ndim != len(shape) or not index.dtype.is_int:
        raise ShapeError(
            f"{name} needs an index of integers with {len(shape)} axes.",
            operands=operand_lines(index._type, names=("index",)),
        )
    grid = []
    for a, size in enumerate(index.shape):
        if not isinstance(size, int):
            raise DataSizeError(f"{name}: the size {size} of the index is known only at run time.")
        grid.append(index if a == axis else reshape(arange(size), (*(1,) * a, size, *(1,) * (len(shape) - a - 1))))
    return tuple(grid)


@worded
def gather_elements(x: Any, axis: int, index: Any) -> Tensor:
    """One index per element of the result: ``out[i][j] = x[index[i][j]][j]`` for axis 0.

    Args:
        x: tensor.
        axis: the axis that is indexed.
        index: integers with as many axes as x, elsewhere not larger than x.

    Source: `mindspore.ops.gather_elements`; ``torch.gather``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.gather_elements(ms.Tensor([[1, 2], [3, 4]]), 1, ms.Tensor([[0, 0], [1, 0]])).tolist()
        [[1, 1], [4, 3]]
    """
    t, i = as_tensor(x), as_tensor(index)
    at = normal_axis("gather_elements", axis, t.ndim)
    return INDEX(t, *along("gather_elements", t.shape, i, at), spec=("t",) * t.ndim)


@worded
def take_along_axis(x: Any, index: Any, axis: int | None = None) -> Tensor:
    """NumPy's take_along_axis: like ``gather_elements``, the other axes broadcast; without axis, flattened.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.take_along_axis(ms.Tensor([[3, 1], [2, 5]]), ms.Tensor([[1], [0]]), 1).tolist()
        [[1], [2]]
    """
    t, i = as_tensor(x), as_tensor(index)
    if axis is None:
        t, axis = reshape(t, (-1,)), 0
    at = normal_axis("take_along_axis", axis, t.ndim)
    if i.ndim == t.ndim:
        wide = [b if a == at or d == 1 else d for a, (d, b) in enumerate(zip(t.shape, i.shape))]
        i = broadcast_to(i, shape=tuple(wide))
        t = broadcast_to(t, shape=tuple(d if a == at else wide[a] for a, d in enumerate(t.shape)))
    return INDEX(t, *along("take_along_axis", t.shape, i, at), spec=("t",) * t.ndim)


def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Tensor:
    """``take_along_axis`` in PyTorch's words; without ``dim`` the indices are flattened, too.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[3, 1], [2, 5]])
        >>> ms.ops.take_along_dim(x, x.argsort(dim=1), dim=1).tolist()
        [[1, 3], [2, 5]]
    """
    return take_along_axis(x, reshape(as_tensor(indices), (-1,)) if dim is None else indices, dim)


# names of MindSpore and PyTorch for the same
gather_d = gather_elements


keep_calls(globals(), "gather gather_elements gather_nd index_select take take_along_dim")
