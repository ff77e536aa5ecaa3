"""Functions that ``msnb.ops`` has too, with the arguments that NumPy, or MindSpore's numpy, has beyond them.

Source: `mindspore.numpy`
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import float32
from msnb.numpy.creation import asarray as array

__all__ = ["average", "bincount", "size", "swapaxes", "trapz"]


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The weighted mean over axes; with ``returned`` also the sums of the weights.

    Examples:
        >>> import msnb.numpy as mnp
        >>> [t.tolist() for t in mnp.average([1.0, 2.0, 3.0], weights=[1.0, 1.0, 2.0], returned=True)]
        [2.25, 4.0]
    """
    t = array(x)
    found = ops.average(t, axis, None if weights is None else array(weights))
    if not returned:
        return found
    if weights is None:
        return found, ops.full_like(found, t.size // max(found.size, 1))
    w = array(weights)
    if w.shape != t.shape:  # a row of them along the one axis
        w = ops.broadcast_to(w.reshape([-1 if i == axis % t.ndim else 1 for i in range(t.ndim)]), t.shape)
    return found, ops.broadcast_to(ops.sum(w, axis), found.shape).astype(found.dtype)


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    """How often every integer from 0 on occurs in a row, or the sums of its weights.

    Args:
        x: whole numbers of at least 0.
        weights: numbers to add up instead of ones.
        minlength: the least length of the result.
        length: its length; what lies beyond does not count.
    """
    t = array(x)
    found = ops.bincount(t, None if weights is None else array(weights), minlength if length is None else length)
    return found if length is None else found[:length]


def size(a: Any, axis: Any = None) -> int:
    """How many numbers an array has, or how many along an axis (along several together)."""
    t = array(a)
    if axis is None:
        return int(t.size)
    count = 1
    for at in (axis,) if isinstance(axis, int) else axis:
        count *= t.shape[at]
    return int(count)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The area under values by the trapezoidal rule, taken at ``x`` or ``dx`` apart."""
    return ops.trapz(array(y), None if x is None else array(x), dx=dx, dim=axis)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    return ops.swapaxes(array(x), axis1, axis2)


# ---- borders ----


def reflected_oddly(t: Any, axis: int, before: int, after: int, skip: int, period: int | None = None) -> Any:
    """A border that goes on beyond the ends as it came: twice the end less the reflection, which leaves out ``skip`` of
    the ends and reaches over one period."""
    n = t.shape[axis]
    reach = n - skip if period is None else period
    if not reach:
        return ops.concat([ops.repeat_interleave(t, count, axis) for count in (before, 1, after)], axis=axis)
    far, before, after = (max(before - reach, 0), max(after - reach, 0)), min(before, reach), min(after, reach)
    first, last = ops.narrow(t, axis, 0, 1), ops.narrow(t, axis, n - 1, 1)
    left = first * 2 - ops.flip(ops.narrow(t, axis, skip, before), (axis,))
    right = last * 2 - ops.flip(ops.narrow(t, axis, n - skip - after, after), (axis,))
    t = ops.concat([left, t, right], axis=axis)
    return reflected_oddly(t, axis, *far, skip, reach) if any(far) else t


def with_ramps(t: Any, axis: int, before: int, after: int, ends: tuple[Any, Any]) -> Any:
    """A border that goes in equal steps from the ends' values to the edges."""
    n, parts = t.shape[axis], [t]
    shape = [-1 if i == axis else 1 for i in range(t.ndim)]
    for count, value, at in ((before, ends[0], 0), (after, ends[1], n - 1)):
        edge = ops.narrow(t, axis, at, 1).astype(float32)
        share = (ops.arange(count).astype(float32) / max(count, 1)).reshape(shape)
        ramp = value + (edge - value) * share
        parts = [ramp, *parts] if at == 0 and len(parts) == 1 else [*parts, ops.flip(ramp, (axis,))]
    return ops.concat([p.astype(t.dtype) for p in parts], axis=axis)


def with_statistics(t: Any, axis: int, before: int, after: int, mode: str, lengths: tuple[Any, Any]) -> Any:
    """A border of the largest, smallest or mean number of the first (last) ``lengths`` ones."""
    reduce: Any = {"maximum": ops.amax, "minimum": ops.amin, "mean": ops.mean}.get(mode)
    if reduce is None:
        raise AttributeValueError(
            "pad: mode is 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'linear_ramp', 'maximum', 'minimum', "
            f"'mean' or 'empty', not {mode!r}."
        )
    n, ends = t.shape[axis], []
    for count, length, front in ((before, lengths[0], True), (after, lengths[1], False)):
        taken = n if length is None else min(int(length), n)
        part = ops.narrow(t, axis, 0 if front else n - taken, taken)
        sizes = [count if i == axis else s for i, s in enumerate(t.shape)]
        ends.append(ops.broadcast_to(reduce(part, axis, True), sizes).astype(t.dtype))
    return ops.concat([ends[0], t, ends[1]], axis=axis)
