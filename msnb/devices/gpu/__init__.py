"""The GPU, through CuPy, and one that is simulated on the host. CuPy is imported when the GPU is first asked for.

set_context(device_target="GPU")  ->  factory  ->  import cupy, look for a device  ->  GPU(cupy)
                                         |
                                         +-- DeviceError: what is missing and how to get it

"SimulatedGPU" is the same device over ``simulated_cuda``, an array module of NumPy's that runs kernels thread by thread
and watches what they touch: for learning and for tests, on any machine. It is slow, and says nothing about speed.
"""

from __future__ import annotations

from msnb.base.device_registry import BufferDevice, register_device


def make_gpu() -> BufferDevice:
    """The GPU of this machine. Raises DeviceError where CuPy, the driver or the device is missing."""
    from msnb.devices.gpu.device import open_gpu

    return open_gpu()


def make_simulated_gpu() -> BufferDevice:
    """The GPU that every machine has."""
    from msnb.devices.gpu.device import open_gpu

    return open_gpu("msnb.devices.gpu.simulated_cuda", "SimulatedGPU")


register_device("GPU", make_gpu)
register_device("SimulatedGPU", make_simulated_gpu)
