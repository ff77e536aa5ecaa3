"""A device that counts: NumPy computes, and every kernel that runs is entered in a list of counts.

    set_context(device_target="Counting")
        eager    kernel(op, types, attrs) -> a function that counts, then computes
        graph    the reference executor asks for the same kernels

A device built on an array library inherits all it needs from ``ArrayDevice``; this one overrides a single method, and
both modes go through it. It is useful as it stands: it shows how many kernels a program launches, whatever a pass did.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from msnb.core.types import Type
from msnb.devices.device import ArrayDevice, Kernel
from msnb.ops.definition.record import Op


class Counting(ArrayDevice):
    """The CPU with a counter in front of every kernel.

    Attributes:
        counts: name of an operator -> how many of its kernels ran.
    """

    def __init__(self) -> None:
        super().__init__("Counting", np)
        self.counts: Counter[str] = Counter()

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """The reference kernel, counted at each run."""
        run = super().kernel(op, types, attrs)
        name, counts = op.name, self.counts

        def counted(*buffers: Any) -> Any:
            counts[name] += 1
            return run(*buffers)

        return counted


def make_counting() -> Counting:
    """Called once, when the device is first selected. A real one would look for its hardware here, and raise
    ``msnb.base.errors.DeviceError`` with the way out where it is missing."""
    return Counting()
