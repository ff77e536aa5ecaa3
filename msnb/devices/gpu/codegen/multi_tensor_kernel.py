"""One launch for many chains that differ in their tensors alone, as the updates of all parameters do.

    table     a row for each set of operands: addresses, then the number of elements
    blocks    a row for each block: which set, and the first of its elements

    block b:  (s, first) = blocks[b];  for its elements i:  p[i] - lr * g[i]   with p, g of set s

The tables lie in device memory: how many sets there are, and how large they are, is no part of the code.
"""

from __future__ import annotations

from functools import partial

from msnb.devices.codegen.size_generic import generic
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch, symbol_of
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.point_values import PointValues, check, lanes_of
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.ir.kernel.kernel_ir import Kernel

THREADS, TURNS = 256, 4


def chain_of(kernel: Kernel) -> Kernel | None:
    """The kernel for any number of elements, where each follows from those at its own place; else None."""
    return generic(kernel)


class ChainKernel:
    """The code of a chain over many sets of operands.

    Args:
        kernel: for any number of elements (``chain_of``).
        target: the GPU.

    Attributes:
        elements: of a block.
    """

    def __init__(self, kernel: Kernel, target: GpuTarget) -> None:
        check(kernel)
        self.kernel: Kernel = kernel
        self.target: GpuTarget = target
        self.symbol: str = f"{symbol_of(kernel, target)}_sets"
        self.e: ThreadEmitter = ThreadEmitter(self.symbol, target)
        self.lanes: int = lanes_of(kernel)
        self.elements: int = THREADS * TURNS * self.lanes
        self.count: int = len(kernel.reads) + len(kernel.writes)

    def made(self) -> GpuKernel:
        """The function; its operands are the two tables."""
        e = self.e
        block = e.special("ctaid.x")
        which = e.ins(f"load i64, ptr {self._word('%b1', e.i64('mul nsw', block, 2))}, align 8")
        at = e.i64("add nsw", e.i64("mul nsw", block, 2), 1)
        start = e.ins(f"load i64, ptr {self._word('%b1', at)}, align 8")
        row = self._word("%b0", e.i64("mul nsw", which, self.count + 1))
        pointers = [e.ins(f"load ptr, ptr {self._word(row, str(k))}, align 8") for k in range(self.count)]
        self.extent: str = e.ins(f"load i64, ptr {self._word(row, str(self.count))}, align 8")
        thread = e.i64("mul nsw", e.special("tid.x"), self.lanes)
        first = e.i64("add nsw", start, thread)
        e.loop(("0", str(TURNS), 1), [], partial(self._turn, first, pointers))
        text = e.kernel(2, threads=THREADS)
        return GpuKernel(self.kernel, text, e.declared, [Launch(self.symbol, (1, 1, 1), (THREADS, 1, 1), (0, 1))])

    def _word(self, base: str, index: str) -> str:
        return self.e.ins(f"getelementptr i64, ptr {base}, i64 {index}")

    def _turn(self, first: str, pointers: list[str], turn: str, _: list[str]) -> list[str]:
        """The elements of one access: all of them, or one by one at the end."""
        e = self.e
        i = e.i64("add nsw", first, e.i64("mul nsw", turn, THREADS * self.lanes))
        whole = e.ins(f"icmp sle i64 {e.i64('add nsw', i, self.lanes)}, {self.extent}")
        if self.lanes == 1:
            e.when(whole, partial(self._points, i, 1, pointers))
        else:
            e.when(whole, partial(self._points, i, self.lanes, pointers), partial(self._rest, i, pointers))
        return []

    def _rest(self, i: str, pointers: list[str]) -> None:
        def one(at: str, _: list[str]) -> list[str]:
            self._points(at, 1, pointers)
            return []

        self.e.loop((i, self.extent, 1), [], one)

    def _points(self, i: str, lanes: int, pointers: list[str]) -> None:
        values = PointValues(self.e, self.kernel, lanes, "i64", pointers)
        values.at[0] = i
        self.e.lanes = lanes
        found = [(access, value, values.vector(value)) for access, value in self.kernel.stores]
        for access, value, name in found:
            values.store(access, value, name)
        self.e.lanes = 1
