"""Selections whose size only the data tells: the result has a fresh ``Dim``.

nonzero([0, 3, 0, 5])         -> [[1], [3]] : i64[n<=4, 1]
masked_select(x, mask)        -> x[mask]    : composed of nonzero and index
unique([2, 1, 2])             -> [1, 2]     : i64[n<=3]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import Tensor, TensorType, cached, dtypes, tensor_type
from msnb.ops.definition.operand_checks import as_tensor, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.symbolic_sizes import bound_of, fresh, product
from msnb.ops.definition.type_inference import common_shape, normal_axis, operand_lines
from msnb.ops.elementwise import comparison, stop_gradient
from msnb.ops.indexing.gather import take
from msnb.ops.reduction.cumulative import cumsum
from msnb.ops.shape import broadcast_to, unstack
from msnb.ops.shape.creation import zeros

__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "unique", "where"]

FAMILY = "selection"  # of the records in this module: pictures and the JSON of graphs name it

_X = np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 1.5]])


def _nonzero_type(x: TensorType) -> TensorType:
    if not x.ndim:
        raise ShapeError("nonzero needs a tensor of at least one axis.", operands=operand_lines(x))
    return tensor_type((fresh("n", bound_of(product(x.shape))), x.ndim), dtypes.int64)


NONZERO: Op = define(
    "nonzero",
    "x",
    onnx="Transpose(NonZero(x), perm=[1, 0])",
    infer=_nonzero_type,
    body=lambda xp, x: xp.stack(xp.nonzero(x), axis=1).astype(xp.int64, copy=False),
    no_grad="positions do not change with small changes of values",
    axes=lambda types, attrs: " ".join(f"{c}!" for c in "abcdefgh"[: types[0].ndim]) + " -> y! z!",
    traits=("pure", "dynamic"),
    doc="The positions of the elements that are not zero, one row each, in order.",
    examples=(Example((_X,)), Example((_X > 0,)), Example((np.zeros((0, 2)),))),
    wrong=(InvalidExample((1.0,), {}, "at least one axis", ShapeError),),
)


def _same(a: Any, b: Any, depth: int = 6) -> bool:
    """Whether two values of a graph are the same by construction."""
    if a is b:
        return True
    m, n = a.node, b.node
    # ``depth`` bounds the search: a value that many paths reach would be compared once for each of them
    if m is None or n is None or depth == 0 or m.op is not n.op or "pure" not in m.op.traits or a.index != b.index:
        return False
    same_shape = m.attrs == n.attrs and len(m.inputs) == len(n.inputs) and not m.graphs
    return same_shape and all(_same(p, q, depth - 1) for p, q in zip(m.inputs, n.inputs))


def _made_before(x: Any) -> Any:
    """While a graph is built: the positions of the same tensor, if they were asked for already.

    ``pred[mask] - label[mask]`` needs that both selections have one size, so they must share one ``Dim``.
    """
    builder = getattr(x, "_builder", None)
    if builder is None:
        return None
    for node in builder.graph.nodes:
        if node.op is NONZERO and _same(node.inputs[0], x._value):
            return builder.wrap(node.out)
    return None


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero.

    Args:
        x: tensor of at least one axis.
        as_tuple: one vector per axis instead of one row per element.

    Returns:
        Tensor int64 [n, x.ndim]; n is known when the data are (in a graph it is a Dim).

    Examples:
        >>> import msnb as ms
        >>> ms.ops.nonzero(ms.Tensor([0, 3, 0, 5])).tolist()
        [[1], [3]]
    """
    t = as_tensor(x)
    known = _made_before(t)
    found = NONZERO(t) if known is None else known
    return unstack(found, 1) if as_tuple else found


@cached
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds (is not zero), else y; without x and y the positions where it holds.

    Args:
        condition: tensor of bools or numbers.
        x, y: tensors or numbers that broadcast with it.

    Returns:
        Tensor; with the condition alone ``nonzero(condition, as_tuple=True)``: one vector of positions per axis.

    Raises:
        TypeError: one of x and y is missing.

    Examples:
        >>> import msnb as ms
        >>> mask = ms.Tensor([[True, False], [False, True]])
        >>> ms.ops.where(mask, 1, ms.ops.zeros((2, 2))).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        >>> [at.tolist() for at in ms.ops.where(mask)]
        [[0, 1], [0, 1]]
    """
    return nonzero(condition, as_tuple=True) if x is None and y is None else find("where")(condition, x, y)


def argwhere(x: Any) -> Tensor:
    """Same as ``nonzero``: one row per element that is not zero."""
    return nonzero(x)  # type: ignore[no-any-return]


def _need_mask(name: str, x: Any, mask: Any) -> None:
    if mask.dtype is not dtypes.bool_:
        raise DTypeError(
            f"{name} needs a mask of bools.", operands=operand_lines(x._type, mask._type, names=("x", "mask"))
        )


def masked_select(x: Any, mask: Any) -> Tensor:
    """The elements of ``x`` where ``mask`` is True, as a vector; both broadcast.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.masked_select(ms.Tensor([1, 2, 3]), ms.Tensor([True, False, True])).tolist()
        [1, 3]
    """
    t, m = as_tensor(x), as_tensor(mask)
    _need_mask("masked_select", t, m)
    shape = common_shape("masked_select", t._type, m._type)
    if not shape:
        t, m, shape = t.reshape(1), m.reshape(1), (1,)
    return broadcast_to(t, shape=shape)[broadcast_to(m, shape=shape)]


@cached
def masked_fill(x: Any, mask: Any, value: Any) -> Tensor:
    """``x`` with ``value`` (one number) where ``mask`` is True; x and mask broadcast.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.masked_fill(ms.Tensor([1.0, 2.0]), ms.Tensor([True, False]), 0.0).tolist()
        [0.0, 2.0]
    """
    t, m = as_tensor(x), as_tensor(mask)
    _need_mask("masked_fill", t, m)
    if getattr(value, "ndim", 0):
        raise ShapeError("masked_fill needs one number as value.", operands=operand_lines(value._type))
    filled = comparison.where(m, value, t)
    return filled if filled.dtype is t.dtype else filled.astype(t.dtype)


def masked_scatter(x: Any, mask: Any, source: Any) -> Tensor:
    """``x`` with the first elements of ``source``, in order, where ``mask`` is True.

    Args:
        x: tensor. mask: bools; both broadcast to one shape.
        source: a tensor with at least as many elements as the mask has places.

    Raises:
        IndexOutOfRange: source has too few elements, when the values are read.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_scatter.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.masked_scatter(ms.Tensor([0, 0, 0]), ms.Tensor([True, False, True]), ms.Tensor([7, 8, 9])).tolist()
        [7, 0, 8]
    """
    t, m = as_tensor(x), as_tensor(mask)
    _need_mask("masked_scatter", t, m)
    shape = common_shape("masked_scatter", t._type, m._type)
    t, m = (part if part.shape == shape else broadcast_to(part, shape=shape) for part in (t, m))
    values, before = as_tensor(source).astype(t.dtype), cumsum(m.reshape(-1).astype(dtypes.int64), 0).reshape(t.shape)
    if values.size == 0:  # one element that no place of the mask reaches
        chosen = take(zeros((1,), t.dtype), where(m, before, 0))
    else:
        chosen = take(values, where(m, before - 1, 0))
    return where(m, chosen, t)  # type: ignore[no-any-return]


# ---- unique ----


def _unique_type(x: TensorType, *, axis: int | None) -> tuple[TensorType, TensorType, TensorType]:
    places = x.shape if axis is None else (x.shape[axis],)
    n = fresh("n", bound_of(product(places)))
    shape = (n,) if axis is None else (*x.shape[:axis], n, *x.shape[axis + 1 :])
    return tensor_type(shape, strong_dtype(x)), tensor_type(places, dtypes.int64), tensor_type((n,), dtypes.int64)


def _unique_body(xp: Any, x: Any, *, axis: int | None) -> Any:
    rows = x.reshape(-1) if axis is None else x
    values, inverse, counts = xp.unique(rows, return_inverse=True, return_counts=True, axis=axis)
    return values, inverse.reshape(x.shape if axis is None else -1), counts


def _unique_axes(types: Any, attrs: dict[str, Any]) -> str:
    names, axis = [f"{a}!" for a in "abcdefgh"[: types[0].ndim]], attrs["axis"]
    found = ["y!"] if axis is None else [*names[:axis], "y!", *names[axis + 1 :]]
    places = names if axis is None else [names[axis]]
    return f"{' '.join(names)} -> {' '.join(found)}, {' '.join(places)}, y!"


UNIQUE: Op = define(
    "unique",
    "x",
    attrs={"axis": None},
    infer=_unique_type,
    body=_unique_body,
    no_grad="unique() reads the values where they stand in x, by its positions",
    axes=_unique_axes,
    traits=("pure", "dynamic"),
    doc="The different elements (slices along an axis) in order, where those of x are among them, and how often each.",
    examples=(
        Example((_X,)),
        Example((np.array([2, 1, 2]),)),
        Example((np.zeros((0,)),)),
        Example((_X,), {"axis": 1}),
    ),
    wrong=(InvalidExample((1.0, 2.0), {}, "unique takes the tensors"),),
)


def _runs_type(x: TensorType, places: TensorType) -> tuple[TensorType, TensorType, TensorType]:
    n = tensor_type((fresh("n", bound_of(x.shape[0])),), dtypes.int64)
    return n, places.with_dtype(dtypes.int64), n


def _runs_body(xp: Any, x: Any, places: Any) -> Any:
    new = xp.ones(x.shape, bool)
    new[1:] = (x[1:] != x[:-1]) & (x[:-1] == x[:-1])  # all NaN are one
    starts, inverse = xp.flatnonzero(new), xp.empty(x.shape, np.int64)
    inverse[places] = xp.cumsum(new) - 1
    return starts, inverse, xp.diff(xp.append(starts, x.shape[0]))


RUNS: Op = define(
    "runs", "x, places", infer=_runs_type, body=_runs_body, no_grad="runs are counted: their bounds are positions",
    axes="n!, n! -> y!, n!, y!", traits=("pure", "dynamic"),
    doc="Where runs of equal elements of a sorted vector begin, to which one belongs what came from each place, "
        "and how long they are.",
    examples=(Example((np.array([1.0, 1.0, 2.0, np.nan, np.nan]), np.array([2, 0, 1, 4, 3]))),
              Example((np.zeros((0,)), np.zeros((0,), np.int64)))),
    wrong=(InvalidExample((np.array([1.0]),), {}, "runs takes the tensors"),),
)  # fmt: skip


def unique(x: Any, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None) -> Any:
    """The different elements of ``x`` in increasing order. Of equal elements, the first has the gradient.

    Args:
        x: tensor of any shape.
        return_inverse: also the position of every element of x among them (shape of x).
        return_counts: also how often each occurs.
        axis: compare the slices along it, from their first element on; positions and counts are those of slices.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.unique(ms.Tensor([2, 1, 2])).tolist()
        [1, 2]
        >>> ms.ops.unique(ms.Tensor([[2, 1], [0, 3], [2, 1]]), axis=0).tolist()
        [[0, 3], [2, 1]]
    """
    t = as_tensor(x)
    at = None if axis is None else normal_axis("unique", axis, t.ndim)
    if at is None and not t.dtype.is_complex:
        flat = t.reshape(-1)
        rows, places = find("sort")(stop_gradient(flat), axis=0, descending=False)
        starts, inverse, counts = RUNS(rows, places)
        # read at the places where they come first: that has a gradient
        values = take(flat, take(places, starts)) if t.dtype.differentiable else take(rows, starts)
        inverse = inverse.reshape(t.shape)
    else:
        values, inverse, counts = UNIQUE(t, axis=at)
        if t.dtype.differentiable:
            starts = cumsum(counts, 0) - counts
            first = take(find("sort")(inverse.reshape(-1), axis=0, descending=False)[1], starts)
            values = take(t.reshape(-1), first) if at is None else take(t, first, at)
    chosen = [values] + [inverse] * return_inverse + [counts] * return_counts
    return values if len(chosen) == 1 else tuple(chosen)
