"""The simulated Ascend as a device: the values are those that a Da Vinci core would give, the clock is a model.

    matrix products, convolutions     operands rounded to float16, sums in float32, result in the dtype of the record
    everything else                   the reference body

So a product whose operand is beyond 65504 is infinite here, and one of 1 + 2^-12 and 1 is 1: what a user of the real
chip meets. Eager mode and compiled graphs ask for the same kernels, so they give the same bits. Buffers are NumPy
arrays: the simulated memory is the host's, and tensors need not be moved.

The cube has no float64 and no wide ints. On the real chip such products run on its small CPU; here they run on the
reference body, and the first one says so. What a program would take in time is asked of ``ms.ascend.profile``.
Source: Liao et al., "Ascend: a Scalable and Unified Architecture for Ubiquitous Deep Neural Network Computing", 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import get_context, notice
from msnb.core import TensorType, Type
from msnb.devices.ascend.chip import CHIPS, Chip
from msnb.devices.ascend.peak_memory import check_memory
from msnb.devices.device import ArrayDevice, Executable, Kernel
from msnb.ir.graph import Graph
from msnb.ops.definition.record import Op

_CUBE_DTYPES = ("float16", "float32", "bfloat16")


def current_chip() -> Chip:
    """The chip that the context names."""
    return CHIPS[get_context("soc_version")]


class Ascend(ArrayDevice):
    """One simulated Ascend; ``set_context(soc_version=)`` says which chip."""

    def __init__(self) -> None:
        super().__init__("Ascend", np)

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """The reference body; matrix work on operands of 16 bits."""
        run = super().kernel(op, types, attrs)
        tensors = [t for t in types if isinstance(t, TensorType)]
        if "contraction" not in op.traits or not all(t.dtype.is_float for t in tensors):
            return run
        if any(t.dtype.name not in _CUBE_DTYPES for t in tensors):
            notice(
                f"{op.name} of {tensors[0].dtype.name} runs on the chip's CPU: the cube multiplies float16 only.",
                key=f"ascend-{op.name}",
            )
            return run
        return lambda *buffers: run(*map(rounded, buffers))

    def compile(self, graph: Graph) -> Executable:
        """The program, operation by operation, if it fits into the chip's memory."""
        check_memory(graph, current_chip().memory)
        return super().compile(graph)


def rounded(buffer: Any) -> Any:
    """Float32 values as float16 has them; what is too large is infinite."""
    array: NDArray[Any] = np.asarray(buffer)
    if array.dtype != np.float32:
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(np.float32)
