"""How Fourier transforms run natively.

    dft            lines along rows or columns (``fourier_kernel``); long ones, and few, in two steps (``tables``)
    real_dft       of an even count: that of half the length, split (``real_spectrum``)
    real_idft      of an even count: merged, then that of half the length
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.fourier import fourier_kernel, real_spectrum, tables
from msnb.devices.cpu.kernels.lines.line_kernel import Lines, is_static, lanes_of, library, lines_of
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.ir.graph import Node

WORTH = 4096
"""Elements from which on eager mode calls native code."""
SHARED_FLOPS = 150_000
"""What is worth a thread."""


class LineTransform(NamedTuple):
    """Lines of ``n`` numbers that are transformed: ``outer`` times ``lines`` neighbouring ones.

    Attributes:
        apart, towards: elements to the next outer slice, and to the next line (along rows) or element (down columns).
        reads, writes: as of ``fourier_kernel.transform``.
        whole: the length that the table of the matrix belongs to.
        scale: a factor of the result.
    """

    outer: int
    n: int
    lines: int
    apart: tuple[int, int]
    towards: tuple[int, int]
    reads: str
    writes: str
    whole: int
    scale: float


def steps_of(lines: Lines, scale: float, lanes: int) -> list[LineTransform] | None:
    """The steps of a transform along an axis; None where there is no code for the length."""
    outer, n, inner = lines
    split = tables.halves(n) if inner == 1 and (n > tables.DIRECT or 2 * outer <= lanes) else None
    if split is None:
        if n > tables.DIRECT or (n > 1 and not tables.radices(n)):
            return None
        if inner == 1:
            return [LineTransform(1, n, outer, (0, n), (0, n), "rows", "rows", 1, scale)]
        way = (n * inner, inner)
        return [LineTransform(outer, n, inner, way, way, "columns", "columns", 1, scale)]
    first, second = split
    down, back = (n, second), (n, first)
    return [
        LineTransform(outer, first, second, down, down, "columns", "matrix", n, 1.0),
        LineTransform(outer, second, first, (n, second), back, "rows", "columns", 1, scale),
    ]


class FourierRecipe(NativeKernel):
    """A transform of complex numbers, or of real ones by that of half the length.

    Args:
        name: of the operation.
        dtype: of the parts.
        lines: the complex lines.
        steps: of their transform.
        inverse: its direction.
        twice: whether mirrored numbers of half a spectrum count twice.
    """

    def __init__(
        self, name: str, dtype: DType, lines: Lines, steps: list[LineTransform], inverse: bool, twice: bool
    ) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.lines: Lines = lines
        self.steps: list[LineTransform] = steps
        self.inverse: bool = inverse
        self.twice: bool = twice
        self.lanes: int = lanes_of(dtype)
        self.room: int = max(4 * (s.n + self.lanes) * self.lanes for s in steps) * dtype.itemsize
        self.threads: int = min(thread_pool.cores(), max(self._blocks(s)[0] for s in steps))
        whole = 2 * math.prod(lines) * dtype.itemsize
        self.temps: tuple[int, ...] = (self.room * self.threads, *[whole] * (len(steps) - 1 + (name != "dft")))

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The steps, through temporary memory from one to the next."""
        room, *between = temps
        places = [ins[0], *between, outs[0]]
        found = []
        if self.name == "real_idft":
            found.append(self._halves("merge", places[:2]))
            places.pop(0)
        for i, step in enumerate(self.steps):
            found.append(self._transform(step, places[i], places[i + 1], room))
        if self.name == "real_dft":
            found.append(self._halves("split", places[-2:]))
        return found

    def _blocks(self, step: LineTransform) -> tuple[int, int]:
        """Units of work, and how many of them an outer slice has."""
        blocks = -(-step.lines // self.lanes)
        return step.outer * blocks, blocks

    def _transform(self, step: LineTransform, source: int, target: int, room: int) -> KernelCall:
        units, blocks = self._blocks(step)
        radices = tables.radices(step.n)
        flops = 5 * step.outer * step.lines * step.n * len(radices) * 3
        header = (units, clamped(flops // SHARED_FLOPS, 1, min(units, self.threads)), step.n, step.lines, blocks)
        scale = struct.unpack("q", struct.pack("d", step.scale))[0]
        kinds = tuple(sorted(set(radices)))
        symbol = f"msnb_fourier_{step.reads}_{step.writes}"
        made = library(symbol, fourier_kernel.transform, self.dtype, step.reads, step.writes, kinds)
        about = (*step.apart, *step.towards, int(self.inverse), scale, self.room, len(radices))
        roots = [tables.RootTable(*key, self.dtype) for key in (("passes", step.n), ("matrix", step.whole))]
        return KernelCall(Symbol(made, symbol), (*header, source, target, room, *about, *roots, *radices))

    def _halves(self, kind: str, slots: Sequence[int]) -> KernelCall:
        outer, n, _ = self.lines
        symbol = f"msnb_fourier_{kind}{2 if self.twice else 1}"
        made = library(symbol, real_spectrum.between, self.dtype, kind == "split", self.twice)
        header = (outer, clamped(10 * outer * n // SHARED_FLOPS, 1, outer), n, 1, 1)
        return KernelCall(Symbol(made, symbol), (*header, *slots, tables.RootTable(kind, 2 * n, self.dtype)))


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a Fourier transform runs; None for other nodes, odd counts of real numbers, and long prime factors."""
    if node.op.family != "fourier" or not is_static(node):
        return None
    source, out = node.inputs[0].type, node.out.type
    assert isinstance(source, TensorType) and isinstance(out, TensorType)
    dtype = dtypes.float32 if dtypes.complex64 in (source.dtype, out.dtype) else dtypes.float64
    axis = node.attrs.get("axis", -1)
    lines = lines_of(out if node.op.name == "real_idft" else source, axis)
    inverse = node.attrs.get("inverse", node.op.name == "real_idft")
    if node.op.name != "dft":
        if lines.n % 2:
            return None
        lines = lines._replace(n=lines.n // 2)
    n = (1 if node.op.name == "dft" else 2) * lines.n
    power = {"ortho": -0.5, "backward": -float(inverse), "forward": float(inverse) - 1}[node.attrs["norm"]]
    steps = steps_of(lines, n**power, lanes_of(dtype))
    if steps is None:
        return None
    return FourierRecipe(node.op.name, dtype, lines, steps, inverse, node.attrs.get("twice", False))
