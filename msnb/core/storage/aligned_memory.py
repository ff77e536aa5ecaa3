"""Large arrays that begin at a cache line.

NumPy aligns memory to 16 bytes. A vector of 64 bytes then lies across two cache lines at every load and store, and a
result cannot be stored past the caches. So what is large is allocated here: an array over a buffer of its own, which
is a subclass of ndarray. NumPy lets a view point at the array it was made from, not at that buffer, since the class
differs; so the number of references to an array still tells whether anyone has a view of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
CACHE_LINE = 64  # bytes
LARGE = 1 << 16  # bytes; less is not worth the second array


class AlignedBuffer(np.ndarray[Any, Any]):
    """The bytes under one array."""


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of anything; a large one begins at a cache line."""
    dtype = np.dtype(dtype)
    count = math.prod(shape) * dtype.itemsize
    if count < LARGE:
        return np.empty(shape, dtype)
    buffer: Any = AlignedBuffer((count + CACHE_LINE,), np.uint8)
    return np.ndarray(shape, dtype, buffer, -buffer.ctypes.data % CACHE_LINE)


def copied(data: Any, dtype: Any = None) -> Array:
    """A fresh row-major array with the elements of another."""
    dtype = data.dtype if dtype is None else np.dtype(dtype)
    if data.size * dtype.itemsize < LARGE:
        return np.array(data, dtype, order="C")
    found = empty(data.shape, dtype)
    np.copyto(found, data, casting="unsafe")
    return found


def owns_memory(array: Array) -> bool:
    """True if an array is not a view: its memory goes with it."""
    return array.flags.owndata or type(array.base) is AlignedBuffer
