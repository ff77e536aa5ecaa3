"""The simulated Ascend: real values, modelled clock.

    chip       what the hardware is, and what its kernels reach       device     float16 cube, float32 sums
    roofline   seconds of one operator                                 kernels    which operators share a kernel
    memory     what lives when, and what does not fit                  formats    NC1HWC0, fractal blocks
    aicore     a tiled product, cycle by cycle through the queues
"""

from __future__ import annotations

from msnb.base.device_registry import BufferDevice, register_device


def make_ascend() -> BufferDevice:
    """The simulated chip."""
    from msnb.devices.ascend.device import Ascend  # loaded when the device is chosen

    return Ascend()


register_device("Ascend", make_ascend)
