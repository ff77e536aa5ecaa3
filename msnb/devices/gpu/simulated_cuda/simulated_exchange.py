"""Arrays over memory of others: DLPack, and CUDA's array interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_memory
from msnb.devices.gpu.simulated_cuda.simulated_arrays import ndarray


class UnownedMemory:
    """Memory that somebody else frees."""

    def __init__(self, ptr: int, size: int, owner: Any) -> None:
        self.ptr: int = ptr
        self.size: int = size
        self.owner: Any = owner


def from_dlpack(array: Any) -> Any:
    """An array over the memory of another; ``base`` tells nothing of it, as with CuPy."""
    capsule = array.__dlpack__()
    return _over(capsule.array.__cuda_array_interface__, capsule)


def over_interface(array: Any) -> Any:
    """An array over the memory of anything with the interface, which it holds."""
    return _over(array.__cuda_array_interface__, array)


def _over(face: dict[str, Any], owner: Any) -> Any:
    dtype, shape, strides = np.dtype(face["typestr"]), face["shape"], face["strides"]
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    memory = UnownedMemory(face["data"][0], size, owner)
    return ndarray(shape, dtype, simulated_memory.MemoryPointer(memory, 0), strides)
