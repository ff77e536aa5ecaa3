"""Memory for large results of eager kernels.

A fresh megabyte from the system costs more than most operations on it: every page is zeroed when it is first touched.
So large results come from here: a buffer that nobody but this shelf refers to is used again. Views keep their buffer,
as everywhere in NumPy. What lies here idle is bounded: past the bound everything is let go, and whoever still uses a
buffer keeps it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import fork_locks
from msnb.core.storage import aligned_memory

LARGE = 1 << 16
MOST_BYTES = 1 << 29
_MOST_ALIKE = 32


class Results:
    """Buffers by shape and dtype.

    Args:
        most: bytes that may lie here.
    """

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._kept: dict[tuple[Any, Any], list[NDArray[Any]]] = {}
        self._lock = fork_locks.lock()

    def take(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """A buffer nobody else has; its content is anything."""
        with self._lock:
            kept = self._kept.setdefault((shape, dtype), [])
            for i in range(len(kept)):
                if sys.getrefcount(kept[i]) == _ALONE:
                    return kept[i]
            return self._made(kept, shape, dtype)

    def _made(self, kept: list[NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        made = aligned_memory.empty(shape, dtype)
        if made.nbytes > self._most:
            return made
        self._bytes += made.nbytes
        if self._bytes > self._most:
            self._kept.clear()
            self._bytes = made.nbytes
            kept = self._kept[shape, dtype] = []
        kept.append(made)
        if len(kept) > _MOST_ALIKE:
            self._bytes -= kept.pop(0).nbytes
        return made


def _alone() -> int:
    """The references to a buffer that only a list holds, as ``take`` counts them."""
    kept = [np.empty(1)]
    return sys.getrefcount(kept[0])


_ALONE = _alone()
RESULTS = Results(MOST_BYTES)
