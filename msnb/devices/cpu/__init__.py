"""The CPU. For now its kernels are the reference bodies over NumPy."""

from __future__ import annotations

import numpy as np

import msnb.devices.cpu.blas
from msnb.core.devices import register_device
from msnb.devices.base import ArrayDevice


class CPU(ArrayDevice):
    """The host processor, with NumPy arrays as buffers."""

    def __init__(self) -> None:
        super().__init__("CPU", np)


register_device("CPU", CPU)
