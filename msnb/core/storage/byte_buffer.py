"""``ms.frombuffer``: bytes that somebody else keeps, as a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.core.dtypes import DType, as_dtype
from msnb.core.tensor import Tensor, from_numpy

__all__ = ["frombuffer"]


def frombuffer(buffer: Any, dtype: DType, count: int = -1, offset: int = 0) -> Tensor:
    """A tensor of one axis that shares the memory of an object with the buffer protocol.

    Args:
        buffer: bytes, bytearray, memoryview ...; what is written into it later is in the tensor.
        dtype: what its bytes are.
        count: how many elements; -1: all there are.
        offset: the first byte.

    Raises:
        ValueError: an offset or a count outside of it, or bytes left over.
        TypeError: no buffer, or a dtype of no tensor.

    Source: `mindspore.frombuffer`

    Examples:
        >>> import msnb as ms
        >>> ms.frombuffer(bytearray([1, 2, 3, 4]), ms.uint8, count=2, offset=1).tolist()
        [2, 3]
    """
    kind = np.dtype(as_dtype(dtype).numpy)
    have = memoryview(buffer).nbytes
    if not 0 <= offset < have:
        raise AttributeValueError(f"frombuffer: offset={offset} is outside of {have} bytes.")
    rest = have - offset
    if count == 0 or count < -1 or count * kind.itemsize > rest:
        raise AttributeValueError(f"frombuffer: count={count}: {rest} bytes hold {rest // kind.itemsize} elements.")
    if count == -1 and rest % kind.itemsize:
        raise AttributeValueError(f"frombuffer: {rest} bytes are no whole number of {kind.itemsize}.",
                                  hint="count= says how many elements to take.")  # fmt: skip
    return from_numpy(np.frombuffer(buffer, kind, count, offset))
