"""Boxes: ``begin:end:step`` along the leading axes.

    slice         x -> x[box]                      slice_update   x, value -> x with x[box] replaced
    unslice       y -> zeros(shape), [box] = y     the adjoint of slice, and slice is its adjoint

The subscript ``x[1:3, ::2]`` is the op ``index`` (``msnb.ops.shape.index_records``), which knows more than
boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Shape, Tensor, TensorType, tensor_type
from msnb.ops.definition.operand_checks import all_spread, as_ints, as_tensor, one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define, moves_only
from msnb.ops.definition.symbolic_sizes import sliced
from msnb.ops.definition.type_inference import broadcast_shapes, operand_lines
from msnb.ops.shape.index_records import need_known
from msnb.ops.shape.views import reshape

__all__ = ["slice_update"]

FAMILY = "slicing"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_EMPTY = np.zeros((0, 3))
_LABELS = "abcdefghijklmnopqrstuvwxyz"


# ---- slice ----


def _slices(begin: tuple[int, ...], end: tuple[Any, ...], step: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, step))


def _slice_shape(name: str, x: TensorType, begin: Any, end: Any, step: Any) -> Shape:
    if not len(begin) == len(end) == len(step) <= x.ndim:
        raise ShapeError(
            f"{name}: begin, end and step need one number per sliced axis, at most {x.ndim}: "
            f"got {len(begin)}, {len(end)} and {len(step)}.",
            operands=operand_lines(x),
        )
    if 0 in step:
        raise AttributeValueError(f"{name}: a step of 0 goes nowhere.", operands=operand_lines(x))
    cut = tuple(sliced(x.shape[i], begin[i], end[i], step[i]) for i in range(len(begin)))
    return cut + x.shape[len(begin) :]


def _slice_axes(types: Any, attrs: Any) -> str:
    labels = _LABELS[: types[0].ndim]
    cut = len(attrs["begin"])
    return (
        " ".join(f"{c}!" if i < cut else c for i, c in enumerate(labels))
        + " -> "
        + " ".join(f"{c.upper()}!" if i < cut else c for i, c in enumerate(labels))
    )


def _behind_batch(begin: Any, end: Any, step: Any) -> dict[str, Any]:
    return {"begin": (0, *begin), "end": (None, *end), "step": (1, *step)}


SLICE: Op = define(
    "slice",
    "x",
    attrs=("begin", "end", "step"),
    infer=lambda x, *, begin, end, step: tensor_type(_slice_shape("slice", x, begin, end, step), strong_dtype(x)),
    body=lambda xp, x, *, begin, end, step: x[_slices(begin, end, step)],
    grad=lambda dout, types, attrs: UNSLICE(dout, shape=types[0].shape, **attrs),
    axes=_slice_axes,
    batch=one_batched(lambda x, **box: SLICE(x, **_behind_batch(**box))),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="slice",
    restore=lambda x, part, at, **box: SLICE_UPDATE(x, part, **box),
    doc="A box cut out of a tensor: begin:end:step for the leading axes.",
    examples=(
        Example((_A,), {"begin": (0, 1), "end": (2, 3), "step": (1, 1)}),
        Example((_A,), {"begin": (1, None), "end": (None, None), "step": (-1, 2)}),
        Example((_A,), {"begin": (2,), "end": (2,), "step": (1,)}),
    ),
    wrong=(InvalidExample((_A,), {"begin": (0,), "end": (1,), "step": (0,)}, "a step of 0", AttributeValueError),),
)


def _update_type(x: TensorType, value: TensorType, *, begin: Any, end: Any, step: Any) -> TensorType:
    box = _slice_shape("slice_update", x, begin, end, step)
    if broadcast_shapes(value.shape, box) != box:
        raise ShapeError(
            f"slice_update: the box has shape {list(box)}, the value {list(value.shape)}.",
            operands=operand_lines(x, value, names=("x", "value")),
        )
    return tensor_type(x.shape, strong_dtype(x))


def _update_body(xp: Any, x: Any, value: Any, *, begin: Any, end: Any, step: Any) -> Any:
    out = x.copy()
    out[_slices(begin, end, step)] = value
    return out


def _update_grad(dout: Any, attrs: Any) -> Any:
    return SLICE_UPDATE(dout, 0, **attrs), SLICE(dout, **attrs)


def _update_axes(types: Any, attrs: Any) -> str:
    x, box = _slice_axes(types, attrs).split(" -> ")
    value = box.split()[len(box.split()) - types[1].ndim :]
    return f"{x}, {' '.join(value)} -> {x}"


def _update_batched(inputs: Any, begin: Any, end: Any, step: Any) -> Any:
    """The value may have fewer axes than the box: the missing ones are put in behind the batch axis."""
    x, value = inputs
    wide = reshape(value, (value.shape[0], *(1,) * (x.ndim - value.ndim), *value.shape[1:]))
    return SLICE_UPDATE(x, wide, **_behind_batch(begin, end, step))


SLICE_UPDATE: Op = define(
    "slice_update",
    "x, value",
    onnx="write_box",
    attrs=("begin", "end", "step"),
    infer=_update_type,
    body=_update_body,
    grad=_update_grad,
    axes=_update_axes,
    batch=all_spread(_update_batched),
    work=moves_only,
    traits=("pure", "linear"),
    doc="A tensor with a box of it replaced.",
    examples=(
        Example((_A, -_A[:, 1:]), {"begin": (0, 1), "end": (2, 3), "step": (1, 1)}),
        Example((_A, _A[::-1, ::2]), {"begin": (1, None), "end": (None, None), "step": (-1, 2)}),
        Example((_A, 2.5), {"begin": (0,), "end": (1,), "step": (1,)}),
        Example((_EMPTY, _EMPTY), {"begin": (0,), "end": (0,), "step": (1,)}),
    ),
    wrong=(
        InvalidExample((_A, _A), {"begin": (0,), "end": (1,), "step": (1,)}, "the box has shape [1, 3]", ShapeError),
    ),
)


def _unslice_type(x: TensorType, *, shape: Shape, begin: Any, end: Any, step: Any) -> TensorType:
    need_known("unslice", shape)
    whole = tensor_type(shape, strong_dtype(x))
    box = _slice_shape("unslice", whole, begin, end, step)
    if x.shape != box:
        raise ShapeError(f"unslice: the box has shape {list(box)}.", operands=operand_lines(x))
    return whole


def _unslice_body(xp: Any, x: Any, *, shape: Shape, begin: Any, end: Any, step: Any) -> Any:
    out = xp.zeros(shape, x.dtype)
    out[_slices(begin, end, step)] = x
    return out


UNSLICE: Op = define(
    "unslice",
    "x",
    onnx="write_box",
    attrs=("shape", "begin", "end", "step"),
    infer=_unslice_type,
    body=_unslice_body,
    grad=lambda dout, begin, end, step: SLICE(dout, begin=begin, end=end, step=step),
    axes=lambda types, attrs: " -> ".join(
        reversed(_slice_axes((tensor_type(attrs["shape"], types[0].dtype),), attrs).split(" -> "))
    ),
    batch=one_batched(lambda x, shape, **box: UNSLICE(x, shape=(x.shape[0], *shape), **_behind_batch(**box))),
    work=moves_only,
    traits=("pure", "linear"),
    doc="Zeros with a box written in: the adjoint of slice.",
    examples=(
        Example((_A,), {"shape": (2, 5), "begin": (0, 1), "end": (2, 4), "step": (1, 1)}),
        Example((_A,), {"shape": (4, 3), "begin": (None,), "end": (None,), "step": (-2,)}),
        Example((_EMPTY,), {"shape": (4, 3), "begin": (2,), "end": (2,), "step": (1,)}),
    ),
    wrong=(
        InvalidExample(
            (_A,), {"shape": (4, 3), "begin": (0,), "end": (3,), "step": (1,)}, "the box has shape [3, 3]", ShapeError
        ),
    ),
)


def slice_(x: Any, begin: Any, size: Any = None, *, end: Any = None, step: Any = None) -> Tensor:
    """A box cut out of ``x``.

    Args:
        x: tensor.
        begin: first index per axis, also as a tensor; negative ones count from the end.
        size: elements per axis; -1 takes the rest (MindSpore's form). Or give ``end`` (None: to the end) and ``step``.

    Raises:
        AttributeValueError: so many elements are not there.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.slice(ms.Tensor([[1, 2, 3], [4, 5, 6]]), (0, 1), (2, 2)).tolist()
        [[2, 3], [5, 6]]
    """
    x = as_tensor(x)
    first = as_ints("slice", (begin,))
    if size is not None:
        counts = as_ints("slice", (size,))
        first, end = _box_of_sizes(x, first, counts)
    return SLICE(x, begin=first, end=tuple(end), step=(1,) * len(first) if step is None else tuple(step))


def _box_of_sizes(x: Any, begin: tuple[int, ...], counts: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """(begin, end) of so many elements per axis, all of which are there."""
    # Python clips a slice that ends behind its axis; a size asks for that many elements, so it is refused
    first, last = [], []
    for size, b, n in zip(x.shape, begin, counts):
        b += size if b < 0 and isinstance(size, int) else 0
        if b < 0 or n < -1 or (isinstance(size, int) and b + max(n, 0) > size):
            raise AttributeValueError(
                f"slice: {n} elements from {b} on are not in an axis of size {size}.",
                operands=operand_lines(x._type),
                hint="a size of -1 takes the rest of an axis; begin and end clip: slice(x, begin, end=...).",
            )
        first.append(b)
        last.append(None if n == -1 else b + n)
    return (*first, *begin[len(first) :]), (*last, *counts[len(last) :])


# names of MindSpore and PyTorch for the same
slice_update = SLICE_UPDATE
