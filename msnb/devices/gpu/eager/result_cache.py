"""Small arrays for results, taken again as soon as nobody holds them: asking the pool costs a third of an operation.

    a = a + b; a = a + b ...      three arrays in turn, where the pool would be asked every time

An array is nobody's when only its cache refers to it: views of it, and whoever it was handed to, hold it. Its next use
comes behind all others on the default stream, as with memory of the pool; on other streams, which may be recorded into
a graph that keeps addresses, every result is new.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

LARGEST, COUNT = 1 << 15, 3


class ResultCache:
    """Arrays of one shape and dtype.

    Args:
        xp: the array module.
        shape, dtype: of the arrays.

    Attributes:
        take: gives an array with any values that nobody else holds.
    """

    def __init__(self, xp: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self._array, self._stream, self._shape, self._dtype = xp.ndarray, xp.cuda.get_current_stream, shape, dtype
        self._kept: list[Any] = [None] * COUNT
        self._at = 0
        large = math.prod(shape) * np.dtype(dtype).itemsize > LARGEST
        self.take: Callable[[], Any] = self._new if large else self._next

    def clear(self) -> None:
        """Hold nothing."""
        self._kept = [None] * COUNT

    def _next(self) -> Any:
        if self._stream().ptr:
            return self._new()
        at = self._at = (self._at + 1) % COUNT
        found = self._kept[at]
        if found is None or sys.getrefcount(found) > _HELD:
            found = self._kept[at] = self._new()
        return found

    def _new(self) -> Any:
        return self._array(self._shape, self._dtype)


def _held() -> int:
    """The references to an array of a cache where ``take`` counts them."""
    kept = [np.empty(1)]
    found = kept[0]
    return sys.getrefcount(found)


_HELD = _held()
