"""Poolings whose windows have no common step, so that an image may shrink by 1.4.

    fractional_max_pool2d(x, k, out)    windows of one size; each channel's begin where its random numbers say:
                                        floor((i + u) a) - floor(u a), a = (size - k) / (out - 1); the last at the end
    between(x, rows, columns)           windows from one boundary to the next, the steps mixed from two sizes

Boundaries are drawn from a seed alone, so they are known before anything runs.
Source: Graham 2014, "Fractional max-pooling" (arXiv:1412.6071).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_tensor, operand_lines, per_axis
from msnb.ops.elementwise.arithmetic import floor, minimum
from msnb.ops.indexing.gather import gather, gather_elements
from msnb.ops.random.draws import drawn_uniform
from msnb.ops.reduction import functional
from msnb.ops.shape import concat, reshape, transpose
from msnb.ops.shape.creation import full_like

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The maxima of windows that begin at random, evenly on the whole.

    Args:
        input: [C, H, W] or [N, C, H, W].
        kernel_size: of a window, one int or two.
        output_size: how many windows, one int or two.
        output_ratio: instead of it, the share of the size that is left, between 0 and 1.
        return_indices: where each maximum stood in its image, too (int64).
        _random_samples: [N, C, 2] numbers between 0 and 1, for the columns and the rows; None: drawn.

    Returns:
        [C, rows, columns] or [N, C, rows, columns], of the dtype of ``input``; with ``return_indices`` a pair.

    Raises:
        ShapeError: shapes that do not fit, or windows that do not. ValueError: sizes or ratios that are not legal.

    Source: `mindspore.ops.fractional_max_pool2d`

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.arange(16).reshape((1, 4, 4)).astype(ms.float32)
        >>> ms.ops.fractional_max_pool2d(x, 2, 2).shape
        (1, 2, 2)
    """
    return _pooled(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """``fractional_max_pool2d`` for [C, D, H, W] or [N, C, D, H, W]; samples [N, C, 3] are for the axes in order.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.fractional_max_pool3d(ms.ops.ones((1, 4, 6, 8)), 2, output_ratio=0.5).shape
        (1, 2, 3, 4)
    """
    return _pooled(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def _pooled(count: int, x: Any, kernel: Any, size: Any, ratio: Any, return_indices: bool, samples: Any) -> Any:
    t, name = as_tensor(x), f"fractional_max_pool{count}d"
    if t.ndim not in (count + 1, count + 2):
        raise ShapeError(f"{name} takes x of {count + 1} or {count + 2} axes.", operands=operand_lines(t._type))
    batch = t if t.ndim == count + 2 else t.expand_dims(0)
    if size is None:
        shares = (ratio,) * count if isinstance(ratio, (int, float)) else tuple(ratio or ())
        if len(shares) != count or not all(0 < share < 1 for share in shares):
            text = f"{name} takes output_size, or output_ratio: {count} numbers between 0 and 1, got {ratio!r}."
            raise AttributeValueError(text)
        size = tuple(int(n * share) for n, share in zip(batch.shape[2:], shares))
    drawn = drawn_uniform((*batch.shape[:2], count)) if samples is None else as_tensor(samples)
    found = at_samples(name, batch, reshape(drawn, (*batch.shape[:2], count)), kernel, size)
    values, places = found if t is batch else (part.squeeze(0) for part in found)
    return (values, places) if return_indices else values


def at_samples(name: str, x: Any, samples: Any, kernel_size: Any, output_size: Any) -> tuple[Any, Any]:
    """(maxima, their places) of windows of one size, which begin where ``samples`` [N, C, axes of space] say."""
    t, u = as_tensor(x), as_tensor(samples)
    n = t.ndim - 2
    kernel, outs = per_axis(name, "kernel_size", kernel_size, n), per_axis(name, "output_size", output_size, n)
    lines = operand_lines(t._type, u._type, names=("x", "samples"))
    if tuple(u.shape) != (*t.shape[:2], n):
        raise ShapeError(f"{name}: samples must have shape {[*t.shape[:2], n]}.", operands=lines)
    if any(k + m - 1 > size for k, m, size in zip(kernel, outs, t.shape[2:])):
        raise ShapeError(f"{name}: {outs} windows of {kernel} do not fit.", operands=lines)
    flat: Any = 0
    for i in range(n):
        begin = _begins(u[..., n - 1 - i if n == 2 else i :][..., :1], t.shape[2 + i], kernel[i], outs[i])
        at = begin.expand_dims(-1) + Tensor(np.arange(kernel[i]))
        wide = [1] * (2 * n)
        wide[i], wide[n + i] = outs[i], kernel[i]
        flat = flat * t.shape[2 + i] + reshape(at, (*t.shape[:2], *wide))
    flat = reshape(flat, (*t.shape[:2], math.prod(outs), -1))
    windows = reshape(gather_elements(reshape(t, (*t.shape[:2], -1)), 2, reshape(flat, (*t.shape[:2], -1))), flat.shape)
    values, best = functional.max(windows, axis=-1, return_indices=True)
    places = gather_elements(flat, 3, best.expand_dims(-1))
    return tuple(reshape(part, (*t.shape[:2], *outs)) for part in (values, places))  # type: ignore[return-value]


def _begins(u: Any, size: int, kernel: int, count: int) -> Any:
    """[N, C, count] ints; u: [N, C, 1]."""
    last = full_like(u, size - kernel).astype(dtypes.int64)
    if count == 1:
        return last
    step = (size - kernel) / (count - 1)
    steps = Tensor(np.arange(count - 1), u.dtype)
    return concat(((floor((steps + u) * step) - floor(u * step)).astype(dtypes.int64), last), -1)


# ---- windows between boundaries ----


def boundaries(size: int, count: int, pseudo_random: bool, seed: int) -> list[int]:
    """0, then the ends of ``count`` windows of two neighbouring sizes that cover an axis; MindSpore's, seed by seed."""
    numbers, (least, longer) = _numbers(seed), divmod(size, count)
    if longer and pseudo_random:
        step = size / count
        low, high = next(numbers), next(numbers)
        u = (low + high * 2147483646.0) / 2147483646.0**2
        u *= min((least + 2) / step - 1, (size + 1 - least) / step - (count - 1))
        return [0, *(math.ceil(step * (i + u)) - 1 for i in range(1, count)), size]
    steps = [least + 1] * longer + [least] * (count - longer)
    return [0, *accumulate(_shuffled(steps, numbers) if longer else steps)]


def _numbers(seed: int) -> Iterator[int]:
    """Integers below 2^31 - 2 (Park and Miller 1988)."""
    state = seed % 2147483647 or 1
    while True:
        state = state * 16807 % 2147483647
        yield state - 1


def _shuffled(values: list[int], numbers: Iterator[int]) -> list[int]:
    """Fisher and Yates, two places by one number, as the C++ library of GCC does it."""

    def below(count: int) -> int:
        share = 2147483645 // count
        return next(n for n in numbers if n < count * share) // share

    def swap(i: int, j: int) -> None:
        values[i], values[j] = values[j], values[i]

    if len(values) % 2 == 0:
        swap(1, below(2))
    for i in range(2 - len(values) % 2, len(values), 2):
        first, second = divmod(below((i + 1) * (i + 2)), i + 2)
        swap(i, first)
        swap(i + 1, second)
    return values


def maxima_between(x: Any, rows: Any, columns: Any, overlapping: bool) -> tuple[Any, Any]:
    """(maxima [N, rows, columns, C], their places in a flat plane) of the windows of x [N, H, W, C]."""
    height, width = x.shape[1:3]
    at, across = (_reach(b, size, overlapping) for b, size in ((rows, height), (columns, width)))
    windows = transpose(gather(gather(x, at, 1), across, 3), (0, 1, 3, 5, 2, 4))
    outs = windows.shape[:4]
    values, best = functional.max(reshape(windows, (*outs, -1)), axis=-1, return_indices=True)
    flat = at.expand_dims(-1).expand_dims(1) * width + across.expand_dims(1)
    plane = reshape(flat, (1, outs[1], outs[2], 1, -1)).broadcast_to((*outs, windows.shape[4] * windows.shape[5]))
    return values, gather_elements(plane, 4, best.expand_dims(-1)).squeeze(-1)


def _reach(bounds: Any, size: int, overlapping: bool) -> Any:
    """[windows, longest]: the places of each window; a shorter one repeats its last, which changes no maximum."""
    count = bounds.shape[0] - 1
    at = bounds[:-1].expand_dims(1) + Tensor(np.arange(-(-size // count) + overlapping))
    return minimum(at, minimum(bounds[1:] + (overlapping - 1), size - 1).expand_dims(1))


def members_between(bounds: Any, size: int, overlapping: bool) -> Any:
    """[windows, size] float64: 1 where an element is in a window, else 0."""
    at, ends = Tensor(np.arange(size)), bounds[1:] + int(overlapping)
    return ((at >= bounds[:-1].expand_dims(1)) & (at < ends.expand_dims(1))).astype(dtypes.float64)


def parts_of(ratio: Any, pseudo_random: bool, deterministic: bool, seed: int, seed2: int) -> Callable[..., Any]:
    """A function of an image [N, H, W, C]: its boundaries (rows, columns). Raises ValueError, TypeError."""
    if len(ratio) != 4 or ratio[0] != 1.0 or ratio[3] != 1.0 or min(ratio) < 1.0:
        raise AttributeValueError(f"pooling_ratio is [1.0, rows, columns, 1.0], numbers from 1, got {ratio!r}.")
    if not deterministic and (seed or seed2):
        raise AttributeValueError("seed and seed2 must be 0 if deterministic is False.")

    def bounds(x: Any) -> Sequence[Any]:
        counts = [int(np.float32(n) / np.float32(r)) for n, r in zip(x.shape[1:3], ratio[1:3])]
        if min(counts) < 1:
            raise ShapeError(f"pooling by {ratio} leaves nothing.", operands=operand_lines(x._type))
        drawn = (boundaries(n, m, pseudo_random, seed or seed2) for n, m in zip(x.shape[1:3], counts))
        return [Tensor(np.array(each, np.int64)) for each in drawn]

    return bounds
