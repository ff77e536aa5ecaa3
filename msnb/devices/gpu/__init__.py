"""The GPU, through CuPy. Registered by name; CuPy is imported when the device is first asked for.

set_context(device_target="GPU")  ->  factory  ->  import cupy, look for a device  ->  GPU(cupy)
                                         |
                                         +-- DeviceError: what is missing and how to get it
"""

from __future__ import annotations

from msnb.base.device_registry import BufferDevice, register_device


def make_gpu() -> BufferDevice:
    """The GPU of this machine. Raises DeviceError where CuPy, the driver or the device is missing."""
    from msnb.devices.gpu.device import open_gpu

    return open_gpu()


register_device("GPU", make_gpu)
