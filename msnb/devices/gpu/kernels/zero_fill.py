"""Zeros, 16 bytes a thread, and copies."""

from __future__ import annotations

from msnb.core import dtypes
from msnb.core.types import TensorType
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import WIDEST


def zero_fill(builder: KernelBuilder, out: TensorType) -> None:
    """A function that fills the first result with zeros."""
    size = out.size * out.dtype.itemsize
    whole, rest = divmod(size, WIDEST)

    def zeros(e: ThreadCode, start: str, count: int) -> None:
        with e.wide(count):
            e.put(dtypes.uint8, e.const("0", "i8") if count == 1 else "zeroinitializer", e.result(), start)

    def work(e: ThreadCode, unit: str) -> None:
        start = e.count("mul", unit, WIDEST)
        if not rest:
            sixteen(e, start)
        else:
            e.when(e.compare("slt", unit, whole), lambda: sixteen(e, start), lambda: tail(e, start))

    def sixteen(e: ThreadCode, start: str) -> None:
        place = e.element(dtypes.uint8, e.result(), start)
        with e.wide(4):
            e.write(dtypes.uint32, "zeroinitializer", place)

    def tail(e: ThreadCode, start: str) -> None:
        for k in range(rest):
            zeros(e, e.count("add", start, k), 1)

    units = whole + (rest > 0)
    builder.units(units, counter_kind(size), work)
