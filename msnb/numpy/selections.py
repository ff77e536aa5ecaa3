"""Choosing among arrays, sets of values, functions along axes, indices of triangles, and sums of polynomials.

Source: `mindspore.numpy`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor, bool_, float32, int32, int64
from msnb.numpy.creation import asarray as array, result_type
from msnb.ops.definition.type_inference import normal_axis, operand_lines

__all__ = [
    "apply_along_axis", "apply_over_axes", "array_equiv", "bartlett", "choose", "correlate", "diag_indices", "diff",
    "ediff1d", "intersect1d", "ix_", "piecewise", "polyadd", "polyder", "polyint", "polymul", "polysub",
    "ravel_multi_index", "select", "setdiff1d", "tril_indices_from", "triu_indices_from", "unravel_index", "unwrap",
]  # fmt: skip


def row(name: str, x: Any, number: bool = True) -> Any:
    """An array of one axis; a ``number`` is one of one element. Raises ShapeError for another."""
    t = array(x)
    t = t.reshape(1) if number and t.ndim == 0 else t
    if t.ndim != 1:
        raise ShapeError(f"{name} needs one axis.", operands=operand_lines(t._type))
    return t


# ---- choosing ----


def choose(a: Any, choices: Any, mode: str = "clip") -> Any:
    """At each place the element of ``choices[a]``.

    Args:
        a: integers; all broadcast together.
        choices: arrays, or one whose first axis counts them.
        mode: "clip" or "wrap": what indices outside mean. ("raise" would have to look at the values.)

    Raises:
        ValueError: another mode.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.choose(mnp.array([1, 0]), [mnp.array([1, 2]), mnp.array([3, 4])]).tolist()
        [3, 2]
    """
    return array(a).choose([array(c) for c in choices], mode)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """At each place the choice of the first condition that holds there, else ``default``.

    Raises:
        ValueError: not as many choices as conditions, or none.

    Examples:
        >>> import msnb.numpy as mnp
        >>> x = mnp.array([1, 5, 9])
        >>> mnp.select([x < 3, x < 7], [x, x * 10]).tolist()
        [1, 50, 0]
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        counts = f"{len(condlist)} and {len(choicelist)}"
        raise AttributeValueError(f"select needs a choice for each condition, got {counts}.")
    found: Any = default
    for condition, choice in reversed([*zip(condlist, choicelist)]):
        found = ops.where(array(condition).astype(bool_), array(choice), found)
    return found


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """At each place what the function of the last condition that holds there gives; numbers stand for themselves.

    Args:
        x: an array.
        condlist: conditions, or one alone.
        funclist: a function or number each, and one more for all other places (0 without it).

    Raises:
        ArgumentError: counts that do not fit.
    """
    t = array(x)
    first = condlist if isinstance(condlist, bool) else condlist[0]
    alone = first is condlist or (t.ndim and not getattr(first, "ndim", isinstance(first, (list, tuple))))
    conditions = [array(c).astype(bool_) for c in ([condlist] if alone else condlist)]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(f"piecewise: {len(conditions)} conditions need as many functions, or one more.")

    def value(f: Any) -> Any:
        return f(t, *args, **kw) if callable(f) else f

    found = ops.full_like(t, 0) + (value(funclist[-1]) if len(funclist) > len(conditions) else 0)
    for condition, f in zip(conditions, funclist):
        found = ops.where(condition, value(f), found)
    return found.astype(t.dtype)


# ---- sets ----


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The values that both have, in order, each once.

    Args:
        ar1, ar2: any arrays; they are read as rows.
        assume_unique: a promise that no value of ``ar1`` stands there twice.
        return_indices: give the first places of the values in ``ar1`` and ``ar2`` as well.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.intersect1d([3, 1, 2, 3], [2, 3, 5]).tolist()
        [2, 3]
    """
    rows = array(ar1).reshape(-1), array(ar2).reshape(-1)
    first = rows[0].astype(result_type(*(row[:0] for row in rows)))
    first = ops.sort(first).values if assume_unique else ops.unique(first)
    found = first[ops.any(first.reshape(-1, 1) == rows[1], -1)]
    places = (ops.argmax((found.reshape(-1, 1) == row).astype(int32), -1) for row in rows if return_indices)
    return (found, *places) if return_indices else found


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The values of ``ar1`` that ``ar2`` has not: in order, each once; with ``assume_unique`` as they stand."""
    first, second = array(ar1).reshape(-1), array(ar2).reshape(-1)
    first = first if assume_unique else ops.unique(first)
    return first[~ops.any(first.reshape(-1, 1) == second, -1)]


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays that broadcast have the same values, as a bool tensor."""
    first, second = array(a1), array(a2)
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return array(False)
    return ops.all(first == second)


# ---- along axes ----


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``func1d`` of every row along an axis, put together.

    Args:
        func1d: takes a row; gives a number or an array.
        axis: of the rows.
        arr: an array.

    Raises:
        ValueError: no such axis.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.apply_along_axis(lambda r: r[0] + r[-1], 1, mnp.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [4, 10]
    """
    t = array(arr)
    at = normal_axis("apply_along_axis", axis, t.ndim)
    last = ops.moveaxis(t, at, -1)
    rows = last.reshape(-1, last.shape[-1])
    found = ops.stack([array(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])])
    whole = found.reshape(*last.shape[:-1], *found.shape[1:])
    return ops.moveaxis(whole, tuple(range(t.ndim - 1, whole.ndim)), tuple(range(at, at + found.ndim - 1)))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after the other; an axis that is gone comes back with size 1."""
    t = array(a)
    for axis in (axes,) if isinstance(axes, int) else tuple(axes):
        found = func(t, normal_axis("apply_over_axes", axis, t.ndim))
        t = found if found.ndim == t.ndim else ops.expand_dims(found, normal_axis("apply_over_axes", axis, t.ndim))
    return t


def unwrap(p: Any, discont: float = math.pi, axis: int = -1) -> Any:
    """Angles without jumps of more than ``discont``: whole turns are added."""
    t = array(p)
    at = normal_axis("unwrap", axis, t.ndim)
    steps = ops.diff(t, 1, at)
    near = (steps + math.pi) % (2 * math.pi) - math.pi
    near = ops.where((near == -math.pi) & (steps > 0), math.pi, near)
    more = ops.where(ops.abs(steps) < discont, 0, near - steps)
    start = ops.zeros_like(ops.narrow(t, at, 0, 1)).astype(more.dtype)
    return t + ops.cumsum(ops.concat([start, more], at), at)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """``ops.diff``; as NumPy's, with n = 0 it gives the array alone, without what would stand beside it."""
    return array(a) if n == 0 else ops.diff(array(a), n, axis, prepend, append)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Neighbour minus neighbour of all elements, with more in front and behind."""
    parts = [None if to_begin is None else array(to_begin), ops.diff(array(ary).reshape(-1)),
             None if to_end is None else array(to_end)]  # fmt: skip
    return ops.concat([p.reshape(-1) for p in parts if p is not None])


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Sliding sums of products of two rows: ``convolve`` with the second one in the other order.

    Raises:
        ValueError: mode is none of "full", "same", "valid". ShapeError: no rows.
    """
    first, second = row("correlate", a), row("correlate", v)
    if mode not in ("full", "same", "valid"):
        raise AttributeValueError(f"correlate: mode is 'full', 'same' or 'valid', not {mode!r}.")
    n, m = first.shape[0], second.shape[0]
    wide = ops.pad(first, (m - 1, m - 1))
    places = np.arange(n + m - 1)[:, None] + np.arange(m)
    whole = ops.sum(wide[Tensor(places)] * second, -1)
    if mode == "full":
        return whole
    count = max(n, m) if mode == "same" else abs(n - m) + 1
    start = (min(n, m) - 1) // 2 if mode == "same" and n >= m else min(n, m) // 2 if mode == "same" else min(n, m) - 1
    return whole[start : start + count]


# ---- polynomials, highest power first ----


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    first, second = row("polyadd", a1), row("polyadd", a2)
    n = max(first.shape[0], second.shape[0])
    return ops.pad(first, (n - first.shape[0], 0)) + ops.pad(second, (n - second.shape[0], 0))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return polyadd(a1, -array(a2))


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, or of one and a number.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.polymul([1, 2], [3, 4]).tolist()
        [3, 10, 8]
    """
    first, second = row("polymul", a1), row("polymul", a2)
    n = first.shape[0]
    terms = [ops.pad(first[i] * second, (i, n - 1 - i)) for i in range(n)]
    return ops.sum(ops.stack(terms), 0).astype(terms[0].dtype)


def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of order m of a polynomial.

    Raises:
        ValueError: m is no integer from 0.
    """
    found = row("polyder", p)
    if m < 0:
        raise AttributeValueError(f"polyder: m is an integer from 0, got {m!r}.")
    for _ in range(m):
        found = found[:-1] * array(np.arange(found.shape[0] - 1, 0, -1), int32)
    return found


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of order m of a polynomial; ``k``: its constants (0 by default).

    Raises:
        ValueError: m is no integer from 0, or not m constants.
    """
    found = row("polyint", p)
    constants = [0] * m if k is None else [k] * m if isinstance(k, (int, float)) else list(k)
    if m < 0 or len(constants) != m:
        raise AttributeValueError(f"polyint: m is an integer from 0 with as many constants, got {m!r} and {k!r}.")
    for constant in constants:
        raised = found / array(np.arange(found.shape[0], 0, -1), float32)
        found = ops.concat([raised, array([constant]).astype(raised.dtype)])
    return found


# ---- indices ----


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the diagonal of an array with ``ndim`` axes of size n."""
    return (array(np.arange(int(n))),) * int(ndim)


def _triangle_of(name: str, arr: Any, k: int, lower: bool) -> tuple[Any, ...]:
    t = array(arr)
    if t.ndim != 2:
        raise ShapeError(f"{name} needs a matrix.", operands=operand_lines(t._type))
    found = (np.tril_indices if lower else np.triu_indices)(t.shape[0], int(k), t.shape[1])
    return tuple(array(i) for i in found)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The indices of the lower triangle of a matrix."""
    return _triangle_of("tril_indices_from", arr, k, True)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The indices of the upper triangle of a matrix."""
    return _triangle_of("triu_indices_from", arr, k, False)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Index rows along axes of their own, so that ``x[ix_(rows, columns)]`` is a block."""
    rows = [row("ix_", a, number=False) for a in args]
    return tuple(r.reshape([-1 if i == at else 1 for i in range(len(rows))]) for at, r in enumerate(rows))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The place in a shape of each element of a flat array.

    Raises:
        ValueError: order is neither "C" nor "F".

    Examples:
        >>> import msnb.numpy as mnp
        >>> [i.tolist() for i in mnp.unravel_index(mnp.array([4]), (2, 3))]
        [[1], [1]]
    """
    if order not in ("C", "F"):
        raise AttributeValueError(f"unravel_index: order is 'C' or 'F', not {order!r}.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    rest, found = array(indices).astype(int64), []
    for size in reversed(sizes) if order == "C" else sizes:
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found)) if order == "C" else tuple(found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Places of a shape as places of the flat array: ``unravel_index`` back.

    Args:
        multi_index: whole numbers, one array for each axis.
        dims: the shape.
        mode: "clip" or "wrap": what places outside mean. ("raise" would have to look at the values.)
        order: "C", the last axis counts fastest, or "F", the first one.

    Returns:
        int64, in the shape that the arrays broadcast to.

    Raises:
        ValueError: another number of arrays than axes, another mode or order.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.ravel_multi_index(([3, 6], [4, 5]), (7, 6)).tolist()
        [22, 41]
    """
    sizes = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(multi_index) != len(sizes):
        raise ShapeError(f"ravel_multi_index: {len(sizes)} axes need as many arrays, got {len(multi_index)}.")
    if mode not in ("clip", "wrap") or order not in ("C", "F"):
        told = f"ravel_multi_index: mode is 'clip' or 'wrap', order 'C' or 'F', got {mode!r} and {order!r}."
        raise AttributeValueError(told)
    found: Any = 0
    pairs = [*zip(multi_index, sizes)]
    for index, size in pairs if order == "C" else reversed(pairs):
        at = array(index).astype(int64)
        found = found * size + (ops.clip(at, 0, size - 1) if mode == "clip" else at % size)
    return found


def bartlett(M: int) -> Any:
    """A triangle from 0 to 1 and back, of M values."""
    return ops.bartlett_window(max(M, 0), False)
