"""Other orders and repetitions, composed of the records of ``shape``, ``join`` and ``getitem``.

flip      [a b c] -> [c b a]          a slice with step -1
roll      [a b c] -> [c a b]          two slices, joined the other way round
tile      [a b]   -> [a b a b]        an axis of size 1 put in, broadcast, and merged
repeat_interleave [a b] -> [a a b b]  the same with the new axis behind
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, cached
from msnb.core.temporary_writes import own
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_ints, as_sizes, as_tensor, tensors
from msnb.ops.definition.symbolic_sizes import product, quotient
from msnb.ops.definition.type_inference import common_shape, need_ints, normal_axes, normal_axis, operand_lines
from msnb.ops.elementwise import equal, identity, where
from msnb.ops.indexing.gather import GATHER
from msnb.ops.shape import INDEX, TRANSPOSE, arange, broadcast_to, expand_dims, reshape
from msnb.ops.shape.concat_split import CONCAT

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "flatten", "flip", "fliplr", "flipud", "meshgrid", "moveaxis", "movedim",
    "narrow", "one_hot", "ravel", "repeat_elements", "repeat_interleave", "roll", "rot90", "swapaxes", "swapdims",
    "tile", "unflatten",
]  # fmt: skip

FULL = (None, None, None)


# ---- axes in other places ----


@cached
def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.swapaxes(ms.ops.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    t = as_tensor(x)
    a, b = normal_axis("swapaxes", axis0, t.ndim), normal_axis("swapaxes", axis1, t.ndim)
    order = list(range(t.ndim))
    order[a], order[b] = b, a
    return TRANSPOSE(t, perm=tuple(order))


@cached
def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Axes moved to other positions, the rest in their old order.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.moveaxis(ms.ops.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    t = as_tensor(x)
    src, dst = ([normal_axis("moveaxis", a, t.ndim) for a in ((v,) if isinstance(v, int) else v)]
                for v in (source, destination))  # fmt: skip
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise AttributeValueError(f"moveaxis: {source} cannot go to {destination}.", operands=operand_lines(t._type))
    order = [a for a in range(t.ndim) if a not in src]
    for to, a in sorted(zip(dst, src)):  # from the front on, so that each place is final when it is filled
        order.insert(to, a)
    return TRANSPOSE(t, perm=tuple(order))


@cached
def flatten(x: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` merged into one; a batch axis at 0 stays (MindSpore's default).

    Args:
        x: tensor.
        order: "C" row by row, "F" column by column.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.flatten(ms.ops.zeros((2, 3, 4))).shape
        (2, 12)
    """
    need_ints("flatten", start_dim=start_dim, end_dim=end_dim)
    t = as_tensor(x)
    if order not in ("C", "F"):
        raise AttributeValueError(f"flatten: order is 'C' or 'F', not {order!r}.")
    if order == "F":
        t = TRANSPOSE(t, perm=tuple(range(t.ndim))[::-1] if start_dim == 0 else (0, *range(t.ndim - 1, 0, -1)))
    if not t.ndim:
        return reshape(t, (1,))
    if t.ndim == 1 and start_dim == 1:
        return t
    first, last = normal_axis("flatten", start_dim, t.ndim), normal_axis("flatten", end_dim, t.ndim)
    if first > last:
        raise AttributeValueError(f"flatten: start_dim {start_dim} lies behind end_dim {end_dim}.")
    return reshape(t, (*t.shape[:first], product(t.shape[first : last + 1]), *t.shape[last + 1 :]))


def ravel(x: Any) -> Tensor:
    """All elements as a vector."""
    return reshape(x, (-1,))


def unflatten(x: Any, dim: int, sizes: Any) -> Tensor:
    """One axis taken apart into several: the inverse of ``flatten``."""
    t = as_tensor(x)
    at = normal_axis("unflatten", dim, t.ndim)
    parts = as_sizes("unflatten", (sizes,))
    rest = quotient(t.shape[at], product(d for d in parts if d != -1))
    if parts.count(-1) == 1 and rest is not None:
        parts = tuple(rest if d == -1 else d for d in parts)
    return reshape(t, (*t.shape[:at], *parts, *t.shape[at + 1 :]))


@cached
@worded
def narrow(x: Any, axis: int, start: int, length: int) -> Tensor:
    """``length`` elements of an axis from ``start`` on.

    Raises:
        AttributeValueError: they are not all there.
    """
    need_ints("narrow", start=start, length=length)
    t = as_tensor(x)
    at = normal_axis("narrow", axis, t.ndim)
    size = t.shape[at]
    first = start + size if start < 0 and isinstance(size, int) else start
    if first < 0 or length < 0 or (isinstance(size, int) and first + length > size):
        raise AttributeValueError(f"narrow: {length} elements from {start} on are not in axis {axis} of size {size}.",
                                  operands=operand_lines(t._type))  # fmt: skip
    return t[(slice(None),) * at + (slice(first, first + length),)]


def atleast_1d(*xs: Any) -> Any:
    """Tensors with at least one axis."""
    return _each(xs, lambda t: t if t.ndim else reshape(t, (1,)))


def atleast_2d(*xs: Any) -> Any:
    """Tensors with at least two axes; a vector becomes a row."""
    return _each(xs, lambda t: t if t.ndim > 1 else reshape(t, (1, -1)))


def atleast_3d(*xs: Any) -> Any:
    """Tensors with at least three axes; a matrix gets one at the end."""
    return _each(xs, lambda t: t if t.ndim > 2 else expand_dims(t, 2) if t.ndim == 2 else reshape(t, (1, -1, 1)))


def _each(xs: Sequence[Any], fn: Any) -> Any:
    many = len(xs) != 1 or isinstance(xs[0], (tuple, list))
    found = tuple(fn(as_tensor(x)) for x in (xs[0] if len(xs) == 1 and many else xs))
    return found if many else found[0]


# ---- other orders ----


@cached
@worded
def flip(x: Any, *axes: Any, axis: Any = None) -> Tensor:
    """Elements in reverse order along the given axes (all where none are given; ``()`` gives none and turns none).

    Examples:
        >>> import msnb as ms
        >>> ms.ops.flip(ms.Tensor([[1, 2], [3, 4]]), (1,)).tolist()
        [[2, 1], [4, 3]]
    """
    t = as_tensor(x)
    wanted = as_ints("flip", axes) if axes else (axis,) if isinstance(axis, int) else axis
    turned = () if wanted == () else normal_axes("flip", None if wanted is None else tuple(wanted), t.ndim)
    return INDEX(t, spec=tuple((None, None, -1) if a in turned else FULL for a in range(t.ndim)))


def fliplr(x: Any) -> Tensor:
    """Reversed along axis 1."""
    return flip(x, 1)


def flipud(x: Any) -> Tensor:
    """Reversed along axis 0."""
    return flip(x, 0)


@cached
def roll(x: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along axes; those that fall off one end come back at the other.

    Args:
        x: tensor.
        shifts: by how many places, one number or one per axis.
        dims: the axes; None rolls the flattened tensor.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.roll(ms.Tensor([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    need_ints("roll", shifts=shifts, dims=dims)
    t = as_tensor(x)
    if dims is None:
        return reshape(roll(reshape(t, (-1,)), shifts, 0), t.shape)
    axes = (dims,) if isinstance(dims, int) else tuple(dims)
    shifts = shifts if isinstance(shifts, (list, tuple)) else int(shifts)
    by = (shifts,) * len(axes) if isinstance(shifts, int) else tuple(shifts)
    if len(by) != len(axes):
        raise ArgumentError(f"roll: {len(by)} shifts for {len(axes)} axes.")
    for shift, axis in zip(by, axes):
        t = _rolled(t, shift, normal_axis("roll", axis, t.ndim))
    return t


def _rolled(t: Any, shift: int, axis: int) -> Any:
    size = t.shape[axis]
    size = size if isinstance(size, int) else int(size)  # which refuses a size of data
    cut = -shift % size if size else 0
    if not cut:
        return identity(t)
    parts = [INDEX(t, spec=(FULL,) * axis + (box,)) for box in ((cut, size, 1), (0, cut, 1))]
    return CONCAT(*parts, axis=axis)


def rot90(x: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two axes turned by k quarter turns, from the first axis towards the second.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.rot90(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    t = as_tensor(x)
    a, b = (normal_axis("rot90", d, t.ndim) for d in dims)
    if a == b:
        raise AttributeValueError(f"rot90 needs two axes, got {dims}.")
    turns = as_ints("rot90", (k,))[0] % 4
    if turns == 2:
        return flip(t, (a, b))
    if turns == 1:
        return swapaxes(flip(t, b), a, b)
    return flip(swapaxes(t, a, b), b) if turns else identity(t)


# ---- repetition ----


@cached
def tile(x: Any, *reps: Any, dims: Any = None) -> Tensor:
    """The whole tensor repeated along its axes; more counts than axes give new leading axes.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.tile(ms.Tensor([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    t = as_tensor(x)
    counts = as_ints("tile", reps if dims is None else (dims,))
    if any(n < 0 for n in counts):
        raise AttributeValueError(f"tile: counts are not negative, got {counts}.")
    rank = max(len(counts), t.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - t.ndim) + t.shape
    # an axis of 1 before each axis, broadcast to the count and merged with it: n copies of it side by side
    spaced = reshape(t, tuple(d for size in sizes for d in (1, size)))
    wide = broadcast_to(spaced, shape=tuple(d for pair in zip(counts, sizes) for d in pair))
    return own(reshape(wide, tuple(product(pair) for pair in zip(counts, sizes))))


@cached
@worded
def repeat_interleave(x: Any, repeats: Any, axis: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Every element repeated in place.

    Args:
        x: tensor.
        repeats: how often: one number, or one per element of the axis.
        axis: the axis; None repeats in the flattened tensor.
        output_size: the size that the axis has then, which is checked.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.repeat_interleave(ms.Tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
    """
    t = as_tensor(x)
    if axis is None:
        t, axis = reshape(t, (-1,)), 0
    at = normal_axis("repeat_interleave", axis, t.ndim)
    counts = as_ints("repeat_interleave", (repeats,) if isinstance(repeats, (tuple, list)) else ((repeats,),)
                     if isinstance(repeats, int) else (as_tensor(repeats).tolist(),))  # fmt: skip
    if any(n < 0 for n in counts) or len(counts) not in (1, t.shape[at]):
        raise ShapeError(f"repeat_interleave: {len(counts)} counts for an axis of size {t.shape[at]}; counts are >= 0.",
                         operands=operand_lines(t._type))  # fmt: skip
    if output_size is not None and output_size != sum(counts) * (t.shape[at] if len(counts) == 1 else 1):
        raise ShapeError(f"repeat_interleave: output_size={output_size} is not the sum of the counts.")
    if len(counts) > 1:
        return GATHER(t, as_tensor(np.repeat(np.arange(len(counts)), counts)), axis=at)
    wide = broadcast_to(expand_dims(t, at + 1), shape=(*t.shape[: at + 1], counts[0], *t.shape[at + 1 :]))
    return own(reshape(wide, (*t.shape[:at], product((t.shape[at], counts[0])), *t.shape[at + 1 :])))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """Every slice along ``axis`` ``rep`` times in a row; ``repeat_interleave`` flattens where no axis is said.

    Args:
        x: tensor.
        rep: how often, an int of at least 1.
        axis: along which, the first one by default.

    Raises:
        AttributeValueError: ``rep`` is no such int, or there is no such axis.

    Source: `mindspore.ops.repeat_elements`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.repeat_elements(ms.Tensor([[0, 1], [3, 4]]), 2).tolist()
        [[0, 1], [0, 1], [3, 4], [3, 4]]
    """
    if isinstance(rep, bool) or not isinstance(rep, int) or rep < 1:
        raise AttributeValueError(f"repeat_elements: rep is an int of at least 1, got {rep!r}.")
    return repeat_interleave(x, rep, axis)


@cached
def meshgrid(*xs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate tensors of a grid: one per vector, all of the grid's shape.

    Args:
        xs: vectors.
        indexing: "ij": axis k of the grid belongs to vector k; "xy": the first two exchanged.

    Examples:
        >>> import msnb as ms
        >>> [g.tolist() for g in ms.ops.meshgrid(ms.Tensor([1, 2]), ms.Tensor([3]), indexing="ij")]
        [[[1], [2]], [[3], [3]]]
    """
    if indexing not in ("xy", "ij"):
        raise AttributeValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}.")
    listed = len(xs) == 1 and not isinstance(xs[0], Tensor)
    found = [reshape(t, (-1,)) for t in tensors("meshgrid", xs[0] if listed else xs)]
    n = len(found)
    place = list(range(n))  # the axis of each input; "xy" has the second one as rows
    if indexing == "xy" and n > 1:
        place[:2] = [1, 0]
    open_grid = [reshape(t, (*(1,) * place[i], t.shape[0], *(1,) * (n - place[i] - 1))) for i, t in enumerate(found)]
    shape = common_shape("meshgrid", *(t._type for t in open_grid))
    return tuple(broadcast_to(t, shape=shape) for t in open_grid)


@cached
def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """One class number per element becomes a row with ``on_value`` at that class.

    Args:
        indices: integers; a number outside [0, depth) gives a row without a hit.
        depth: the number of classes.
        on_value, off_value: what stands at the class and elsewhere; their dtype is the result's.
        axis: where the new axis goes.

    Source: `mindspore.ops.one_hot`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.one_hot(ms.Tensor([0, 2]), 3).tolist()
        [[1, 0, 0], [0, 0, 1]]
    """
    t = as_tensor(indices)
    if not t.dtype.is_int:
        raise DTypeError(f"one_hot needs integers, got {t._type!r}.", hint="convert with indices.astype(ms.int32).")
    if isinstance(depth, int) and depth < 1:
        raise AttributeValueError(f"one_hot: depth is the number of classes, an int of at least 1, got {depth}.")
    at = normal_axis("one_hot", axis, t.ndim + 1)
    classes = reshape(arange(depth), (depth, *(1,) * (t.ndim - at)))
    return where(equal(expand_dims(t, at), classes), on_value, off_value)


# names of MindSpore and PyTorch for the same
movedim = moveaxis
swapdims = swapaxes
