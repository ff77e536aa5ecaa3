"""Sums over axes as the reference bodies form them: long sums of short floats do not drift.

A library adds what lies side by side in memory pairwise, so that the error grows with the logarithm of the length, but
what lies in different rows one after the other: a million rows of 0.1 in float32 give 100958 in place of 100000. Such
columns are added in blocks of rows, and the blocks in float64, as compiled kernels do.

    rows 0..255 | 256..511 | ...      each block a sum in float32, all blocks a sum in float64
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LONG, _BLOCK = 1024, 256
_WIDER = {"float32": np.float64, "complex64": np.complex128}


def total(xp: Any, x: Any, axes: tuple[int, ...] | None, keepdims: bool, dtype: Any) -> Any:
    """The sum over axes.

    Args:
        xp: the array module.
        x: an array.
        axes: not negative; None for all.
        keepdims: keep the summed axes with size 1.
        dtype: of the sum; None: as the library sums integers.
    """
    if x.size < LONG:  # at once: small sums are many
        add: Any = np.add.reduce if xp is np else xp.sum
        return add(x, axis=axes, keepdims=keepdims, dtype=dtype)
    axes = tuple(range(x.ndim)) if axes is None else axes
    wide = None if dtype is None else _WIDER.get(np.dtype(dtype).name)
    if wide is None or _steps(x.shape, axes) < LONG:
        return xp.sum(x, axis=axes, keepdims=keepdims, dtype=dtype)
    if sorted(axes) == list(range(len(axes))):
        return _of_rows(xp, x, len(axes), dtype, wide).reshape([1] * len(axes) * keepdims + list(x.shape[len(axes) :]))
    return xp.sum(x, axis=axes, keepdims=keepdims, dtype=wide).astype(dtype)


def is_plain_sum(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether ``total`` is the library's sum in the dtype of the elements."""
    return math.prod(shape) < LONG or _steps(shape, axes) < LONG


def _steps(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many additions follow one another: all but those along the last axes, which are pairwise."""
    end = len(shape)
    while end and (end - 1 in axes or shape[end - 1] == 1):
        end -= 1
    return math.prod(shape[a] for a in axes if a < end) if math.prod(shape) else 0


def _of_rows(xp: Any, x: Any, count: int, dtype: Any, wide: Any) -> Any:
    """The sum over the first axes."""
    rows = x.reshape(math.prod(x.shape[:count]), -1)
    whole = len(rows) // _BLOCK * _BLOCK
    blocks = xp.sum(rows[:whole].reshape(whole // _BLOCK, _BLOCK, -1), axis=1, dtype=dtype)
    return (xp.sum(blocks, axis=0, dtype=wide) + xp.sum(rows[whole:], axis=0, dtype=wide)).astype(dtype)
