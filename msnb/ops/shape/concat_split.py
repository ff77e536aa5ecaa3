"""Joining and taking apart along one axis.

    concat  [2,3], [4,3]   -> [6,3]     split  [6,3] -> [2,3], [4,3]     each is the other's adjoint
    stack   [3], [3]       -> [2,3]     unstack [2,3] -> [3], [3]

Tensors that are joined meet in their common dtype.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Shape, Size, Tensor, TensorType, cached, result_dtype, tensor_type
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import (
    all_spread,
    as_ints,
    as_sizes,
    as_tensor,
    one_batched,
    strong_dtype,
    tensors,
)
from msnb.ops.definition.record import Example, InvalidExample, Op, define, moves_only
from msnb.ops.definition.symbolic_sizes import total
from msnb.ops.definition.type_inference import alike, need_ints, normal_axis, operand_lines
from msnb.ops.shape.index_records import INDEX
from msnb.ops.shape.slice import SLICE_UPDATE
from msnb.ops.shape.views import EXPAND_DIMS, SQUEEZE

__all__ = [
    "cat", "chunk", "concat", "concatenate", "dstack", "hstack", "split", "stack", "tensor_split", "unbind", "unstack",
    "vstack",
]  # fmt: skip

FAMILY = "join"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_B = np.array([[1.5, 0.5, -2.0]])
_EMPTY = np.zeros((0, 3))
_LABELS = "abcdefghijklmnopqrstuvwxyz"


def _off_axis(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


# ---- concat and split ----


def _joining_hint(xs: tuple[TensorType, ...]) -> str:
    """An axis along which the tensors can be joined."""
    if any(t.ndim != xs[0].ndim for t in xs):
        return "x.expand_dims(0) adds an axis; ops.stack joins tensors of one shape along a new one."
    odd = {i for t in xs for i in range(t.ndim) if t.shape[i] != xs[0].shape[i]}
    if len(odd) == 1:
        return f"along axis={odd.pop()} they fit."
    return "all sizes but that of the axis must be equal: slice, pad or reshape them first."


def _concat_type(*xs: TensorType, axis: int) -> TensorType:
    at = normal_axis("concat", axis, xs[0].ndim)
    if any(t.ndim != xs[0].ndim or _off_axis(t.shape, at) != _off_axis(xs[0].shape, at) for t in xs):
        raise ShapeError(
            f"concat: along axis {axis} the tensors must agree in every other axis.",
            operands=operand_lines(*xs, names=()),
            hint=_joining_hint(xs),
        )
    shape = (*xs[0].shape[:at], total(t.shape[at] for t in xs), *xs[0].shape[at + 1 :])
    return tensor_type(shape, result_dtype(xs))


def _along(types: Sequence[Any], results: int, axis: int) -> str:
    """Labels of ops that keep every axis but one: that one is whole."""
    labels = list(_LABELS[: types[0].ndim])
    labels[axis] += "!"
    one = " ".join(labels)
    return ", ".join([one] * len(types)) + " -> " + ", ".join([one] * results)


def _concat_grad(dout: Any, types: Any, axis: int) -> Any:
    return split_sizes(dout, tuple(t.shape[normal_axis("concat", axis, t.ndim)] for t in types), axis)


CONCAT: Op = define(
    "concat",
    "*xs",
    onnx="Concat(*xs, axis=axis)",
    attrs={"axis": 0},
    infer=_concat_type,
    body=lambda xp, *xs, axis: xp.concatenate(xs, axis=axis),
    numpy=lambda types, outs, axis: (lambda *xs: np.concatenate(xs, axis)) if alike(types) else None,
    grad=_concat_grad,
    axes=lambda types, attrs: _along(types, 1, attrs["axis"]),
    batch=all_spread(lambda xs, axis: CONCAT(*xs, axis=axis + 1 if axis >= 0 else axis)),
    work=moves_only,
    traits=("pure", "linear"),
    promotes=True,
    doc="Put tensors one after the other along an axis.",
    examples=(
        Example((_A, _B), {"axis": 0}),
        Example((_A, _A[:, :1], _A), {"axis": -1}),
        Example((_EMPTY, _B), {"axis": 0}),
        Example((_A,), {}),
    ),
    wrong=(InvalidExample((_A, _B), {"axis": 1}, "must agree in every other axis", ShapeError),),
)


@cached
@worded
def concat(xs: Any, *more: Any, axis: int = 0) -> Tensor:
    """Put tensors one after the other along an axis they all have.

    Args:
        xs: a tuple or list of tensors (or the tensors one by one).
        axis: where they are joined.

    Raises:
        ShapeError: they differ in another axis.

    Source: `mindspore.ops.concat`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.concat((ms.Tensor([1, 2]), ms.Tensor([3]))).tolist()
        [1, 2, 3]
    """
    if isinstance(xs, (tuple, list)) and len(more) == 1 and isinstance(more[0], int):
        return CONCAT(*tensors("concat", xs), axis=more[0])
    return CONCAT(*tensors("concat", (xs, *more) if more else xs), axis=axis)


def _split_type(x: TensorType, *, sizes: tuple[Size, ...], axis: int) -> tuple[TensorType, ...]:
    at = normal_axis("split", axis, x.ndim)
    known = all(isinstance(s, int) for s in (*sizes, x.shape[at]))
    if any(isinstance(s, int) and s < 0 for s in sizes) or (known and total(sizes) != x.shape[at]):
        raise ShapeError(
            f"split: the sizes {list(sizes)} do not add up to the {x.shape[at]} of axis {axis}.",
            operands=operand_lines(x),
        )
    return tuple(tensor_type((*x.shape[:at], s, *x.shape[at + 1 :]), strong_dtype(x)) for s in sizes)


def _split_body(xp: Any, x: Any, *, sizes: tuple[Size, ...], axis: int) -> Any:
    known = [s for s in sizes if isinstance(s, int)]
    ends, end = [], 0
    for s in sizes:
        end += s if isinstance(s, int) else x.shape[axis] - sum(known)
        ends.append(end)
    parts = xp.split(x, ends[:-1], axis=axis)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _split_numpy(types: Any, outs: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    lead = (slice(None),) * normal_axis("split", axis, types[0].ndim)
    keys = [(*lead, slice(a, b)) for a, b in itertools.pairwise(ends)]
    return (lambda x: tuple([x[key] for key in keys])) if len(keys) > 1 else None


def _part_back(x: Any, part: Any, at: int, sizes: tuple[Size, ...], axis: int) -> Tensor:
    before, place = (0,) * normal_axis("split", axis, x.ndim), max(at, 0)
    end = (*(None for _ in before), total(sizes[: place + 1]))
    return SLICE_UPDATE(x, part, begin=(*before, total(sizes[:place])), end=end, step=(1,) * len(end))


SPLIT: Op = define(
    "split",
    "x",
    onnx="split",
    attrs=("sizes", "axis"),
    infer=_split_type,
    body=_split_body,
    numpy=_split_numpy,
    grad=lambda douts, axis: CONCAT(*douts, axis=axis),
    axes=lambda types, attrs: _along(types, len(attrs["sizes"]), attrs["axis"]),
    batch=one_batched(lambda x, sizes, axis: SPLIT(x, sizes=sizes, axis=axis + 1 if axis >= 0 else axis)),
    work=moves_only,
    traits=("pure", "view", "linear"),
    restore=_part_back,
    doc="Take a tensor apart along an axis.",
    examples=(
        Example((_A,), {"sizes": (1, 2), "axis": 1}),
        Example((_A,), {"sizes": (2,), "axis": -2}),
        Example((_EMPTY,), {"sizes": (0, 0), "axis": 0}),
    ),
    wrong=(InvalidExample((_A,), {"sizes": (1, 1), "axis": 1}, "do not add up to the 3 of axis 1", ShapeError),),
)


def split_sizes(x: Any, sizes: Sequence[Size], axis: int) -> tuple[Tensor, ...]:
    """The parts of ``x`` with the given sizes along ``axis``, always a tuple."""
    parts = SPLIT(x, sizes=tuple(sizes), axis=axis)
    return parts if isinstance(parts, tuple) else (parts,)


# ---- stack ----


def _stack_type(*xs: TensorType, axis: int) -> TensorType:
    if any(t.shape != xs[0].shape for t in xs):
        raise ShapeError(
            "stack needs tensors of one shape.",
            operands=operand_lines(*xs, names=()),
            hint="ops.concat joins along an axis that they have; reshape, slice or pad makes shapes equal.",
        )
    at = normal_axis("stack", axis, xs[0].ndim + 1)
    return tensor_type((*xs[0].shape[:at], len(xs), *xs[0].shape[at:]), result_dtype(xs))


def _slices(x: Any, count: int, axis: int) -> tuple[Tensor, ...]:
    return tuple(SQUEEZE(part, axis=axis) for part in split_sizes(x, (1,) * count, axis))


def _stack_axes(types: Any, attrs: Any) -> str:
    labels = list(_LABELS[: types[0].ndim])
    out = list(labels)
    out.insert(normal_axis("stack", attrs["axis"], len(labels) + 1), "z!")
    return ", ".join([" ".join(labels)] * len(types)) + " -> " + " ".join(out)


def _stack_numpy(types: Any, outs: Any, *, axis: int) -> Any:
    at = normal_axis("stack", axis, outs[0].ndim)
    one = (*outs[0].shape[:at], 1, *outs[0].shape[at + 1 :])
    if not alike(types):
        return None
    if at < types[0].ndim and outs[0].size <= 1 << 12:  # one call for all; of more, copies cost most
        return (lambda *xs: np.concatenate(xs, at).reshape(outs[0].shape)) if at else lambda *xs: np.array(xs)
    return lambda *xs: np.concatenate([x.reshape(one) for x in xs], at)


STACK: Op = define(
    "stack",
    "*xs",
    onnx="stack",
    attrs={"axis": 0},
    infer=_stack_type,
    body=lambda xp, *xs, axis: xp.stack(xs, axis=axis),
    numpy=_stack_numpy,
    grad=lambda dout, types, axis: _slices(dout, len(types), axis),
    axes=_stack_axes,
    batch=all_spread(lambda xs, axis: STACK(*xs, axis=axis + 1 if axis >= 0 else axis)),
    work=moves_only,
    traits=("pure", "linear"),
    promotes=True,
    doc="Put tensors of one shape side by side along a new axis.",
    examples=(
        Example((_A, 2 * _A), {"axis": 1}),
        Example((_A, _A, _A), {"axis": -1}),
        Example((1.5, np.array(2.5)), {}),
        Example((_EMPTY, _EMPTY), {"axis": 0}),
    ),
    wrong=(InvalidExample((_A, _B), {}, "stack needs tensors of one shape", ShapeError),),
)


@cached
@worded
def stack(xs: Any, axis: int = 0) -> Tensor:
    """Put tensors of one shape side by side along a new axis.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.stack([ms.Tensor([1, 2]), ms.Tensor([3, 4])], axis=1).tolist()
        [[1, 3], [2, 4]]
    """
    return STACK(*tensors("stack", xs), axis=axis)


@cached
@worded
def unstack(x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of ``x`` along ``axis``, without that axis: the inverse of ``stack``.

    Examples:
        >>> import msnb as ms
        >>> [row.tolist() for row in ms.ops.unstack(ms.Tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    t = as_tensor(x)
    count = _axis_size("unstack", t, axis)
    return _slices(t, count, axis) if count else ()


# ---- taking apart ----


def _axis_size(name: str, t: Any, axis: int) -> int:
    size = t.shape[normal_axis(name, axis, t.ndim)]
    return size if isinstance(size, int) else int(size)  # which refuses a size of data


@cached
@worded
def split(x: Any, split_size_or_sections: Any = None, axis: int = 0, *, sizes: Any = None) -> tuple[Tensor, ...]:
    """Take a tensor apart along an axis.

    Args:
        x: tensor.
        split_size_or_sections: elements per part (the last part may be smaller), or the size of every part.
        axis: where it is cut.

    Raises:
        ShapeError: the sizes do not add up.

    Source: `mindspore.ops.split`.

    Examples:
        >>> import msnb as ms
        >>> [p.tolist() for p in ms.ops.split(ms.Tensor([1, 2, 3, 4, 5]), 2)]
        [[1, 2], [3, 4], [5]]
    """
    t = as_tensor(x)
    wanted = split_size_or_sections if sizes is None else sizes
    if not isinstance(wanted, int):
        return split_sizes(t, as_sizes("split", (wanted,)), axis)
    n, (wanted,) = _axis_size("split", t, axis), as_ints("split", (wanted,))
    if wanted < 1:
        raise AttributeValueError(f"split: a part needs at least one element, not {wanted}.")
    return split_sizes(t, [min(wanted, n - i) for i in range(0, n, wanted)] or [0], axis)


@cached
@worded
def chunk(x: Any, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of one size, the last one smaller (PyTorch's and MindSpore's rule).

    Examples:
        >>> import msnb as ms
        >>> [p.tolist() for p in ms.ops.chunk(ms.Tensor([1, 2, 3, 4, 5]), 3)]
        [[1, 2], [3, 4], [5]]
    """
    need_ints("chunk", chunks=chunks)
    t = as_tensor(x)
    if chunks < 1:
        raise AttributeValueError(f"chunk: at least one chunk is needed, not {chunks}.")
    return split(t, max(-(-_axis_size("chunk", t, axis) // chunks), 1), axis)


@worded
def tensor_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Parts as equal as possible (a number of parts), or cut before the given positions: numpy.array_split.

    Examples:
        >>> import msnb as ms
        >>> [p.tolist() for p in ms.ops.tensor_split(ms.Tensor([1, 2, 3, 4, 5]), 3)]
        [[1, 2], [3, 4], [5]]
    """
    t = as_tensor(x)
    n = _axis_size("tensor_split", t, axis)
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        (parts,) = as_ints("tensor_split", (indices_or_sections,))
        if parts < 1:
            raise AttributeValueError(f"tensor_split: there is at least one part, not {parts}.")
        return split_sizes(t, [n // parts + (i < n % parts) for i in range(parts)], axis)
    ends = [builtins.slice(e).indices(n)[1] for e in indices_or_sections] + [n]
    starts = [0, *ends[:-1]]
    at = normal_axis("tensor_split", axis, t.ndim)
    return tuple(INDEX(t, spec=((None, None, None),) * at + ((a, b, 1),)) for a, b in zip(starts, ends))


def hstack(xs: Any) -> Tensor:
    """Side by side: joined along axis 1, vectors along axis 0."""
    parts = [t if t.ndim else t.reshape(1) for t in tensors("hstack", xs)]
    return CONCAT(*parts, axis=0 if parts[0].ndim == 1 else 1)


def vstack(xs: Any) -> Tensor:
    """One below the other: joined along axis 0, vectors as rows."""
    return CONCAT(*(t if t.ndim > 1 else t.reshape(1, -1) for t in tensors("vstack", xs)), axis=0)


def dstack(xs: Any) -> Tensor:
    """One behind the other: joined along axis 2."""
    parts = [t if t.ndim > 1 else t.reshape(1, -1) for t in tensors("dstack", xs)]
    return CONCAT(*(t if t.ndim > 2 else EXPAND_DIMS(t, axis=2) for t in parts), axis=2)


# names of MindSpore and PyTorch for the same
cat = concatenate = concat
unbind = unstack
