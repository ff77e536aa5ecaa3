"""Shape: the same elements seen under other axes, and the pair that repeats and adds up.

    reshape       [2,3] -> [6]        order of elements stays        adjoint: reshape back
    transpose     [2,3] -> [3,2]      axes change places             adjoint: the inverse permutation
    broadcast_to  [1,3] -> [2,3]      elements are repeated          adjoint: sum_to
    sum_to        [2,3] -> [1,3]      repeated elements are added    adjoint: broadcast_to

Each name here is the public function; the records behind them are the names in capitals.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError, LostWriteError, ShapeError
from msnb.core import Shape, Tensor, TensorType, cached, tensor_type
from msnb.ops.definition.accurate_sum import LONG, total
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_ints, as_sizes, as_tensor, one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, moves_only
from msnb.ops.definition.symbolic_sizes import product, quotient, with_one_unknown
from msnb.ops.definition.type_inference import alike, normal_axes, normal_axis, operand_lines
from msnb.ops.shape.index_spec import fits

__all__ = ["broadcast_to", "expand_dims", "permute", "reshape", "squeeze", "sum_to", "transpose", "unsqueeze"]

FAMILY = "shape"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_C = np.arange(24.0).reshape(2, 3, 4) / 8
_EMPTY = np.zeros((0, 3))
_FEW = 1024
_LABELS = "abcdefghijklmnopqrstuvwxyz"


# ---- reshape ----


def _new_shape(old: Shape, shape: Shape) -> Shape | None:
    """``shape`` with its -1 worked out; None where it cannot hold the elements of ``old``."""
    count, holes = product(old), shape.count(-1)
    if holes > 1 or any(isinstance(d, int) and d < -1 for d in shape):
        return None
    if holes:
        rest = quotient(count, product(d for d in shape if d != -1))
        return None if rest is None else tuple(rest if d == -1 else d for d in shape)
    # symbolic sizes that are not equal as written may be equal in the call
    fits = product(shape) == count or not all(isinstance(d, int) for d in (count, *shape))
    return shape if fits else None


def _shape_back(x: Any, part: Any, at: int, **attrs: Any) -> Tensor:
    return RESHAPE(part, shape=x.shape)


def _reshape_type(x: TensorType, *, shape: Shape) -> TensorType:
    new = _new_shape(x.shape, shape)
    if new is None:
        raise ShapeError(
            f"reshape: {x!r} cannot become {list(shape)}{_misfit(x.shape, shape)}.",
            operands=operand_lines(x),
            hint="the number of elements must stay the same; one size may be -1 and is worked out.",
        )
    return tensor_type(new, strong_dtype(x))


def _misfit(old: Shape, shape: Shape) -> str:
    """Why, in numbers."""
    known = product(d for d in shape if d != -1)
    if list(shape).count(-1) > 1:
        return ": only one size may be -1"
    if -1 in shape:
        return f": its {product(old)} elements do not divide by {known}"
    return f": it has {product(old)} elements, the new shape {known}"


def _reshape_axes(types: Any, attrs: Any) -> str:
    """Equal sizes at the front and at the back stay the axes they were; what lies between cannot be split."""
    old = types[0].shape
    new = _new_shape(old, attrs["shape"]) or ()
    short = min(len(old), len(new))
    front = next((i for i in range(short) if old[i] != new[i]), short)
    back = next((i for i in range(short - front) if old[-1 - i] != new[-1 - i]), short - front)
    head, tail = list(_LABELS[:front]), list(_LABELS[front : front + back])
    middle = (f"{c}!" for c in _LABELS[front + back :])
    before = [next(middle) for _ in range(len(old) - front - back)]
    after = [next(middle) for _ in range(len(new) - front - back)]
    return " ".join(head + before + tail) + " -> " + " ".join(head + after + tail)


RESHAPE: Op = define(
    "reshape",
    "x",
    attrs=("shape",),
    infer=_reshape_type,
    body=lambda xp, x, *, shape: xp.reshape(x, with_one_unknown(shape)),
    grad=lambda dout, types: reshape(dout, shape=types[0].shape),
    axes=_reshape_axes,
    batch=one_batched(lambda x, shape: reshape(x, shape=(x.shape[0], *shape))),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="reshape",
    restore=_shape_back,
    doc="The same elements in the same order under another shape.",
    examples=tuple(Example((x,), {"shape": s}) for x, s in ((_A, (3, 2)), (_A, (-1,)), (_EMPTY, (3, 0)))),
    wrong=(InvalidExample((_A,), {"shape": (4, 2)}, "cannot become [4, 2]", ShapeError),),
)


@cached
def reshape(x: Any, *sizes: Any, shape: Any = None) -> Tensor:
    """The same elements in the same order under another shape.

    Args:
        x: tensor.
        sizes: the new shape as one tuple or as ints; one size may be -1 and is worked out.

    Returns:
        Tensor of the new shape.

    Raises:
        ShapeError: the number of elements would change.

    Source: `mindspore.ops.reshape`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.reshape(ms.Tensor([[1, 2], [3, 4]]), (4,)).tolist()
        [1, 2, 3, 4]
    """
    t = as_tensor(x)
    wanted = as_sizes("reshape", sizes if shape is None else (shape,))
    return RESHAPE(t, shape=_new_shape(t.shape, wanted) or wanted)


# ---- transpose ----


def _transpose_type(x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
    if sorted(perm) != list(range(x.ndim)):
        raise AttributeValueError(
            f"transpose: perm {perm} does not name each of the {x.ndim} axes once.",
            operands=operand_lines(x),
            hint="permute takes the new order of all axes; transpose and swapaxes exchange two.",
        )
    return tensor_type(tuple(x.shape[p] for p in perm), strong_dtype(x))


def _transpose_axes(types: Any, attrs: Any) -> str:
    labels = _LABELS[: types[0].ndim]
    return f"{' '.join(labels)} -> {' '.join(labels[p] for p in attrs['perm'])}"


def inverse_permutation(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes ``perm``."""
    return tuple(sorted(range(len(perm)), key=lambda i: perm[i]))


TRANSPOSE: Op = define(
    "transpose",
    "x",
    attrs=("perm",),
    infer=_transpose_type,
    body=lambda xp, x, *, perm: xp.transpose(x, perm),
    grad=lambda dout, perm: TRANSPOSE(dout, perm=inverse_permutation(perm)),
    axes=_transpose_axes,
    batch=one_batched(lambda x, perm: TRANSPOSE(x, perm=(0, *(p + 1 for p in perm)))),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="transpose",
    restore=lambda x, part, at, perm: TRANSPOSE(part, perm=inverse_permutation(perm)),
    doc="The axes in another order.",
    examples=(Example((_C,), {"perm": (2, 0, 1)}), Example((_EMPTY,), {"perm": (1, 0)})),
    wrong=(InvalidExample((_C,), {"perm": (0, 0, 1)}, "does not name each of the 3 axes once", AttributeValueError),),
)


@cached
def permute(x: Any, *axes: Any, perm: Any = None) -> Tensor:
    """The axes of ``x`` in another order; without arguments, reversed.

    Args:
        x: tensor.
        axes: for every new axis, the old one (a tuple or ints; negative ones count from the back).

    Examples:
        >>> import msnb as ms
        >>> ms.ops.permute(ms.ops.zeros((2, 3, 4)), 2, 0, 1).shape
        (4, 2, 3)
    """
    t = as_tensor(x)
    wanted = as_ints("transpose", axes if perm is None else (perm,)) if axes or perm is not None else ()
    order = tuple(normal_axis("transpose", a, t.ndim) for a in wanted) or tuple(range(t.ndim))[::-1]
    return TRANSPOSE(t, perm=order)


@cached
def transpose(x: Any, *axes: Any, perm: Any = None, dim0: int | None = None, dim1: int | None = None) -> Tensor:
    """Two axes exchanged, or all of them in another order; without arguments, reversed.

    Args:
        x: tensor.
        axes: two ints exchange these axes, as in MindSpore and PyTorch; a tuple (or any other number of ints) names
            for every new axis the old one, as in MindSpore and NumPy.
        perm: the order, by name. dim0, dim1: PyTorch's words for two axes.

    Source: `mindspore.Tensor.transpose`

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.zeros((2, 3, 4))
        >>> x.transpose((2, 0, 1)).shape, x.transpose(0, 1).shape
        ((4, 2, 3), (3, 2, 4))
    """
    if dim0 is not None and dim1 is not None:
        axes = (*axes, dim0, dim1)
    if len(axes) != 2:
        return permute(x, *axes, perm=perm)
    t = as_tensor(x)
    one, other = (normal_axis("transpose", a, t.ndim) for a in as_ints("transpose", axes))
    order = list(range(t.ndim))
    order[one], order[other] = other, one
    return TRANSPOSE(t, perm=tuple(order))


# ---- broadcast_to and sum_to ----


def _repeats_back(x: Any, part: Any, at: int, shape: Shape) -> Tensor:
    if part.size != x.size:
        raise LostWriteError(
            "this writes into a value that repeats elements of a tensor, and nobody keeps it: an element cannot be "
            "several numbers.", hint="write into the tensor before it is expanded."
        )  # fmt: skip
    return RESHAPE(part, shape=x.shape)


def _broadcast_type(x: TensorType, *, shape: Shape) -> TensorType:
    if not fits(x.shape, shape):
        raise ShapeError(
            f"broadcast_to: {x!r} does not broadcast to {list(shape)}.",
            operands=operand_lines(x),
            hint="sizes of an axis, counted from the right, must be equal or 1.",
        )
    return tensor_type(shape, strong_dtype(x))


def _pair_axes(small: Shape, big: Shape) -> tuple[str, str]:
    """Labels of a shape and of one it broadcasts to: an axis that is repeated has labels of its own on each side."""
    gap = len(big) - len(small)
    wide = list(_LABELS[: len(big)])
    narrow = [wide[gap + i] if d == big[gap + i] else _LABELS[-1 - i] for i, d in enumerate(small)]
    return " ".join(narrow), " ".join(wide)


def _broadcast_body(xp: Any, x: Any, *, shape: Shape) -> Any:
    gap = len(shape) - x.ndim
    return xp.broadcast_to(x, tuple(d if isinstance(d, int) else x.shape[i - gap] for i, d in enumerate(shape)))


def _same_rank_broadcast(x: Any, shape: Shape) -> Any:
    """With the batch axis in front, missing axes must be put in behind it before broadcasting."""
    ones = (1,) * (len(shape) - x.ndim + 1)
    return BROADCAST_TO(reshape(x, (x.shape[0], *ones, *x.shape[1:])), shape=(x.shape[0], *shape))


def _broadcast_numpy(types: Any, outs: Any, *, shape: Any) -> Any:
    """Few elements are copied in a quarter of the time that a view takes to make."""
    dtype = types[0].dtype.numpy

    def run(x: Any) -> Any:
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return run if alike(types) and outs[0].size <= _FEW else None


BROADCAST_TO: Op = define(
    "broadcast_to",
    "x",
    numpy=_broadcast_numpy,
    attrs=("shape",),
    infer=_broadcast_type,
    body=_broadcast_body,
    grad=lambda dout, types: SUM_TO(dout, shape=types[0].shape),
    axes=lambda types, attrs: " -> ".join(_pair_axes(types[0].shape, attrs["shape"])),
    batch=one_batched(_same_rank_broadcast),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="broadcast",
    restore=_repeats_back,
    doc="Repeat along new axes and axes of size 1 until the shape is the wanted one.",
    examples=(
        Example((_A[:, :1],), {"shape": (2, 3)}),
        Example((_A,), {"shape": (4, 2, 3)}),
        Example((np.array(1.5),), {"shape": (2, 0)}),
    ),
    wrong=(InvalidExample((_A,), {"shape": (2, 4)}, "does not broadcast to [2, 4]", ShapeError),),
)


@cached
def broadcast_to(x: Any, *sizes: Any, shape: Any = None) -> Tensor:
    """Repeat ``x`` along new axes and axes of size 1.

    Args:
        x: tensor.
        sizes: the wanted shape as a tuple or as ints; -1 keeps the size of an axis.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.broadcast_to(ms.Tensor([1, 2]), (2, 2)).tolist()
        [[1, 2], [1, 2]]
    """
    t = as_tensor(x)
    wanted = as_sizes("broadcast_to", sizes if shape is None else (shape,))
    gap = len(wanted) - t.ndim
    return BROADCAST_TO(t, shape=tuple(t.shape[i - gap] if d == -1 and i >= gap else d for i, d in enumerate(wanted)))


def _sum_to_type(x: TensorType, *, shape: Shape) -> TensorType:
    if not fits(shape, x.shape):
        raise ShapeError(
            f"sum_to: {list(shape)} does not broadcast to {x!r}.",
            operands=operand_lines(x),
            hint="sum_to undoes a broadcast: the wanted shape must be one that broadcasts to the operand's.",
        )
    return tensor_type(shape, strong_dtype(x))


def _sum_to_body(xp: Any, x: Any, *, shape: Shape) -> Any:
    gap = x.ndim - len(shape)
    axes = tuple(range(gap)) + tuple(i + gap for i, d in enumerate(shape) if d == 1 and x.shape[i + gap] != 1)
    if not axes:
        return x
    kept = [d if isinstance(d, int) else x.shape[i + gap] for i, d in enumerate(shape)]
    half = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"  # added up in float32, rounded once
    dtype = np.float32 if half else x.dtype if x.dtype.kind in "fc" else None
    return total(xp, x, axes, True, dtype).reshape(kept)


def _sum_to_axes(types: Any, attrs: Any) -> str:
    """An axis summed to size 1 vanishes as a label; the size-1 axis left in its place has a label of its own."""
    return " -> ".join(reversed(_pair_axes(attrs["shape"], types[0].shape)))


def _sum_to_batched(x: Any, shape: Shape) -> Any:
    ones = (1,) * (x.ndim - 1 - len(shape))
    return reshape(SUM_TO(x, shape=(x.shape[0], *ones, *shape)), (x.shape[0], *shape))


def _sum_to_numpy(types: Any, outs: Any, *, shape: Shape) -> Any:
    x, gap = types[0], types[0].ndim - len(shape)
    axes = tuple(range(gap)) + tuple(i + gap for i, d in enumerate(shape) if d == 1 and x.shape[i + gap] != 1)
    if not alike(types) or not axes or not 0 < x.size < LONG or not x.dtype.is_float or x.dtype.itemsize == 2:
        return None
    run = partial(np.add.reduce, axis=axes, dtype=x.dtype.numpy, keepdims=True)
    return lambda a: run(a).reshape(shape)


SUM_TO: Op = define(
    "sum_to",
    "x",
    numpy=_sum_to_numpy,
    attrs=("shape",),
    infer=_sum_to_type,
    body=_sum_to_body,
    grad=lambda dout, types: BROADCAST_TO(dout, shape=types[0].shape),
    axes=_sum_to_axes,
    batch=one_batched(_sum_to_batched),
    work=lambda types, out_types, attrs: Work(vector=float(types[0].size)),
    traits=("pure", "linear"),
    reduction="sum",
    doc="Undo a broadcast: add up what it repeated.",
    examples=tuple(Example((x,), {"shape": s}) for x, s in ((_A, (2, 1)), (_C, (3, 1)), (_A, ()), (_EMPTY, (1, 3)))),
    wrong=(InvalidExample((_A,), {"shape": (2, 2)}, "[2, 2] does not broadcast to", ShapeError),),
)


def sum_to(x: Any, *sizes: Any, shape: Any = None) -> Tensor:
    """Add up what broadcasting ``shape`` to the shape of ``x`` repeated.

    Args:
        x: tensor.
        sizes: a shape that broadcasts to x's, as a tuple or as ints.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.sum_to(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), (2, 1)).tolist()
        [[3.0], [7.0]]
    """
    t = as_tensor(x)
    wanted = as_sizes("sum_to", sizes if shape is None else (shape,))
    return t if t.shape == wanted else SUM_TO(t, shape=wanted)


# ---- axes of size 1 ----


def _expanded(name: str, ndim: int, axis: int | tuple[int, ...]) -> tuple[int, ...]:
    axes = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(normal_axes(name, axes, ndim + len(axes)))) if axes else ()


def _expand_type(x: TensorType, *, axis: Any) -> TensorType:
    shape = list(x.shape)
    for a in _expanded("expand_dims", x.ndim, axis):
        shape.insert(a, 1)
    return tensor_type(tuple(shape), strong_dtype(x))


def _expand_axes(types: Any, attrs: Any) -> str:
    out = list(_LABELS[: types[0].ndim])
    for i, a in enumerate(_expanded("expand_dims", types[0].ndim, attrs["axis"])):
        out.insert(a, _LABELS[-1 - i])
    return " ".join(_LABELS[: types[0].ndim]) + " -> " + " ".join(out)


EXPAND_DIMS: Op = define(
    "expand_dims",
    "x",
    attrs=("axis",),
    infer=_expand_type,
    body=lambda xp, x, *, axis: xp.expand_dims(x, axis),
    grad=lambda dout, types: reshape(dout, shape=types[0].shape),
    axes=_expand_axes,
    batch=one_batched(
        lambda x, axis: EXPAND_DIMS(x, axis=tuple(a + 1 for a in _expanded("expand_dims", x.ndim - 1, axis)))
    ),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="reshape",
    restore=_shape_back,
    doc="New axes of size 1.",
    examples=(Example((_A,), {"axis": 1}), Example((_A,), {"axis": (0, -1)}), Example((_EMPTY,), {"axis": -1})),
    wrong=(InvalidExample((_A,), {"axis": 4}, "axis 4 is outside a tensor of 3 axes", AttributeValueError),),
)


@cached
@worded
def expand_dims(x: Any, axis: Any) -> Tensor:
    """A new axis of size 1 at position ``axis`` of the result (several for a tuple).

    Examples:
        >>> import msnb as ms
        >>> ms.ops.expand_dims(ms.Tensor([1, 2]), 0).shape
        (1, 2)
    """
    return EXPAND_DIMS(as_tensor(x), axis=axis)


def _squeezed(shape: Shape, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(i for i, d in enumerate(shape) if d == 1)
    return normal_axes("squeeze", axis, len(shape)) if axis != () else ()


def _squeeze_type(x: TensorType, *, axis: Any) -> TensorType:
    axes = _squeezed(x.shape, axis)
    bad = [a for a in axes if x.shape[a] != 1]
    if bad:
        raise ShapeError(
            f"squeeze: axis {bad[0]} has size {x.shape[bad[0]]}, only axes of size 1 can be left out.",
            operands=operand_lines(x),
            hint="x[:, 0] picks one element of an axis; x.mean(axis) and the like reduce it.",
        )
    return tensor_type(tuple(d for i, d in enumerate(x.shape) if i not in axes), strong_dtype(x))


def _squeeze_axes(types: Any, attrs: Any) -> str:
    gone = _squeezed(types[0].shape, attrs["axis"])
    labels = _LABELS[: types[0].ndim]
    return " ".join(labels) + " -> " + " ".join(c for i, c in enumerate(labels) if i not in gone)


SQUEEZE: Op = define(
    "squeeze",
    "x",
    attrs={"axis": None},
    infer=_squeeze_type,
    body=lambda xp, x, *, axis: x if axis == () else xp.squeeze(x, axis),
    grad=lambda dout, types: reshape(dout, shape=types[0].shape),
    axes=_squeeze_axes,
    batch=one_batched(lambda x, axis: SQUEEZE(x, axis=tuple(a + 1 for a in _squeezed(x.shape[1:], axis)))),
    work=moves_only,
    traits=("pure", "view", "linear"),
    view="reshape",
    restore=_shape_back,
    doc="Leave out axes of size 1.",
    examples=(
        Example((_A[:, None],), {"axis": 1}),
        Example((_C[:1, :, :1],), {}),
        Example((_EMPTY[None],), {"axis": 0}),
    ),
    wrong=(InvalidExample((_A,), {"axis": 0}, "axis 0 has size 2", ShapeError),),
)


@cached
@worded
def squeeze(x: Any, axis: Any = None) -> Tensor:
    """``x`` without axes of size 1: without all of them, or without those named.

    Raises:
        ShapeError: a named axis has another size.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.squeeze(ms.ops.zeros((1, 3, 1))).shape
        (3,)
    """
    t = as_tensor(x)
    return SQUEEZE(t, axis=_squeezed(t.shape, axis))


# names of MindSpore and PyTorch for the same
unsqueeze = expand_dims
