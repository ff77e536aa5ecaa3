"""Memory that tensors share with other libraries, by DLPack and by CUDA's array interface.

    torch.from_dlpack(tensor), cupy.asarray(tensor)     the tensor's memory, on the device where it lies
    ms.from_dlpack(array)                               the array's memory

What is shared is never written by a compiled step: an exported buffer has one owner more (DLPack), or is a view from
then on (the array interface, whose readers hold the Tensor); an imported one is a view of the foreign array.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from msnb.base import DeviceError, device_registry

CPU_MEMORY, CUDA_MEMORY = 1, 2
"""How DLPack numbers kinds of memory."""
_exported: dict[int, list[Any]] = {}


def lies_elsewhere(buffer: Any) -> bool:
    """Whether a buffer lies outside the machine's memory."""
    return not isinstance(buffer, (np.ndarray, np.generic))


def is_foreign(data: Any) -> bool:
    """Whether data are an array of another library in the memory of a GPU."""
    if isinstance(data, (np.ndarray, np.generic, list, tuple, int, float)):
        return False
    if hasattr(data, "__cuda_array_interface__"):
        return True
    place = getattr(data, "__dlpack_device__", None)
    return place is not None and int(place()[0]) == CUDA_MEMORY


def adopted(data: Any) -> Any:
    """A buffer of the GPU over foreign memory."""
    return device_registry.device("GPU").adopt(data)


def here(data: Any) -> Any:
    """Foreign data as a buffer of the current device that nobody else has."""
    device, buffer = device_registry.current(), adopted(data)
    return buffer.copy() if device.owns(buffer) else device.from_host(device_registry.device("GPU").to_host(buffer))


def interface_of(tensor: Any) -> dict[str, Any]:
    """CUDA's array interface of a tensor; who reads it holds the tensor, so the tensor holds the memory.

    Raises:
        AttributeError: the tensor does not lie on a GPU.
    """
    buffer = tensor._data
    if buffer is None or not hasattr(buffer, "__cuda_array_interface__"):
        raise AttributeError("a tensor of the CPU has no __cuda_array_interface__; move it with x.to('GPU').")
    kept = _exported.get(id(tensor))
    if kept is None:
        kept = _exported[id(tensor)] = []
        weakref.finalize(tensor, _exported.pop, id(tensor), None)
    if not kept or kept[-1] is not buffer:
        buffer = buffer.view()
        tensor._data = buffer
        kept.append(buffer)
    device_registry.device_of(buffer).publish()
    found: dict[str, Any] = buffer.__cuda_array_interface__
    return found


def capsule_of(buffer: Any, options: dict[str, Any]) -> Any:
    """A buffer for another library; its stream, where it names one, waits for what was launched here."""
    device_registry.device_of(buffer).publish()
    return buffer.__dlpack__(**options)


def foreign_array(data: Any) -> Any:
    """A NumPy array or a buffer of the GPU over the memory of a foreign array.

    Raises:
        RuntimeError: DeviceError: its memory is of no device that msnb knows.
    """
    if is_foreign(data):
        return adopted(data)
    kind = int(data.__dlpack_device__()[0]) if hasattr(data, "__dlpack_device__") else 0
    if kind != CPU_MEMORY:
        raise DeviceError(
            f"from_dlpack takes arrays in the memory of the CPU or of a CUDA GPU, not a {type(data).__name__}.",
            hint="Tensor(data) takes anything with numbers in it.",
        )
    return np.from_dlpack(data)
