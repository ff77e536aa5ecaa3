"""Memory for large results of eager kernels.

A fresh megabyte from the system costs more than most operations on it: every page is zeroed when it is first touched.
So large results come from here, as views of buffers that are used again when nobody else refers to them. Views keep
their buffer, as everywhere in NumPy. Buffers have one of four sizes per power of two and serve any shape and dtype of
at least half their size: a program whose batches change needs little more memory than its largest batch. What lies here
idle is bounded: past the bound everything is let go, and whoever still uses a buffer keeps it.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base.threads import fork_locks
from msnb.core.storage.aligned_memory import CACHE_LINE, AlignedBuffer

LARGE = 1 << 16
MOST_BYTES = 1 << 29
_MOST_ALIKE = 32
_STEPS = 4  # sizes of buffers per power of two
_Kept = list[tuple[AlignedBuffer, int]]  # and the first byte at a cache line


class Results:
    """Buffers by size.

    Args:
        most: bytes that may lie here.
    """

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._kept: dict[int, _Kept] = {}
        self._lock = fork_locks.lock()

    def take(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array over memory nobody else has; its content is anything."""
        least = math.prod(shape) * np.dtype(dtype).itemsize + CACHE_LINE
        shift = (least - 1).bit_length() - _STEPS.bit_length()
        steps = -(-least >> shift)  # above _STEPS, at most twice that
        with self._lock:
            at = shift * _STEPS + steps
            buffer, begin = _idle(self._kept, at) or self._made(at, steps << shift)
        return np.ndarray(shape, dtype, buffer, begin)

    def _made(self, at: int, size: int) -> tuple[AlignedBuffer, int]:
        buffer: Any = AlignedBuffer((size,), np.uint8)
        made = buffer, -buffer.ctypes.data % CACHE_LINE
        if size > self._most:
            return made
        self._bytes += size
        if self._bytes > self._most:
            self._kept.clear()
            self._bytes = size
        kept = self._kept.setdefault(at, [])
        kept.append(made)
        if len(kept) > _MOST_ALIKE:
            self._bytes -= kept.pop(0)[0].nbytes
        return made


def _idle(kept: dict[int, _Kept], at: int) -> tuple[AlignedBuffer, int] | None:
    """A buffer that nobody uses, of this size or up to twice it."""
    for i in range(at, at + _STEPS):
        for buffer, begin in kept.get(i, ()):
            if sys.getrefcount(buffer) == _ALONE:
                return buffer, begin
    return None


def _alone() -> int:
    """The references to a buffer that only a list holds, as ``_idle`` counts them."""
    for buffer, _ in [(np.empty(1), 0)]:
        return sys.getrefcount(buffer)
    raise AssertionError


_ALONE = _alone()
RESULTS = Results(MOST_BYTES)
