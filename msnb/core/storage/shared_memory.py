"""The value of a Tensor whose memory a NumPy array of the user's shares.

    a = t.asnumpy(); a[0] = 5          t is [5, ...] from then on
    t = from_numpy(n); n[0] = 5        likewise

Programs, tapes and other tensors hold buffers of which they believe that nobody writes them. So a shared array is
never such a buffer: while somebody else may write into it, ``Tensor._data`` is empty (as for a value in blocks, see
``msnb.core.storage.packed_storage``), and each look at it takes a copy of what the array holds at that moment. Once the
array is gone on the other side, it becomes an ordinary buffer, without a copy. A tensor that is given another value (by
``t[...] = v``, an optimizer, ``set_data``) has that value; the array keeps the old one and is shared no longer.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from msnb.core.storage.aligned_memory import Array, owns_memory


class SharedValue:
    """A value in memory that is not the tensor's alone.

    Attributes:
        array: the array that others have. own: a view with the shape and dtype of the beginning, whatever they do to
            the array's.
    """

    __slots__ = ("array", "own")

    def __init__(self, array: Array) -> None:
        self.array: Array = array
        self.own: Array = array.view()

    def read(self, tensor: Any) -> Array:
        """The present value as a buffer that nobody writes; the array itself once nobody else has it."""
        if not self._is_alone():
            return np.array(self.own, order="C")
        tensor._data, tensor._kept = self.array, None
        return self.array

    def handed_out(self) -> Array:
        """The array for one more reader and writer."""
        same = self.array.shape == self.own.shape and self.array.dtype == self.own.dtype
        return self.array if same else self.own

    def _is_alone(self) -> bool:
        array = self.array
        if not (owns_memory(array) and array.flags.c_contiguous and array.flags.writeable):
            return False
        return array.shape == self.own.shape and array.dtype == self.own.dtype and references(array) <= _ALONE


def references(array: Array) -> int:
    """The references to an array; more than there can be on an interpreter that does not count."""
    return sys.getrefcount(array) if hasattr(sys, "getrefcount") else sys.maxsize


_ALONE = 0


def _measured() -> int:
    """What ``references`` says in ``_is_alone`` about an array that only a ``SharedValue`` has."""

    class Probe(SharedValue):
        __slots__ = ("found",)

        def _is_alone(self) -> bool:
            array = self.array
            self.found = references(array)
            return False

    probe = Probe(np.empty(1))
    probe._is_alone()
    return probe.found


_ALONE = _measured()
