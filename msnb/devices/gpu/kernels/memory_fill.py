"""Functions that fill a result before others write into it: with zeros, or with a copy; 16 bytes a thread."""

from __future__ import annotations

from msnb.core import TensorType, dtypes
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import WIDEST


def zero_fill(builder: KernelBuilder, out: TensorType) -> None:
    """A function that fills the first result with zeros."""
    _filled(builder, out, WIDEST, copied=False)


def copy_fill(builder: KernelBuilder, out: TensorType, aligned: int) -> None:
    """A function that copies the first operand, which begins at so many bytes, into the first result."""
    _filled(builder, out, aligned, copied=True)


def _filled(builder: KernelBuilder, out: TensorType, aligned: int, copied: bool) -> None:
    size = out.size * out.dtype.itemsize
    step = 4 if aligned >= 4 else 1
    lanes = max(1, aligned // 4)
    whole, rest = divmod(size, step * lanes)

    def move(e: ThreadCode, start: str, words: bool, count: int) -> None:
        kind = dtypes.uint32 if words else dtypes.uint8
        places = [e.element(dtypes.uint8, base, start) for base in (e.source(0), e.result())]
        with e.wide(count):
            zero = "0" if count == 1 else "zeroinitializer"
            e.write(kind, e.read(kind, places[0]) if copied else zero, places[1])

    def work(e: ThreadCode, unit: str) -> None:
        start = e.count("mul", unit, step * lanes)

        def tail() -> None:
            for k in range(rest):
                move(e, e.count("add", start, k), False, 1)

        if not rest:
            move(e, start, step == 4, lanes)
        else:
            e.when(e.compare("slt", unit, whole), lambda: move(e, start, step == 4, lanes), tail)

    builder.units(whole + (rest > 0), counter_kind(size), work)
