"""Kernels without reductions: every thread has a few neighbouring points of the flat index space.

k(i0 < 32, i1 < 1000), 4 lanes        8000 threads in blocks of 256; thread u: i1 = 4 (u mod 250), i0 = u div 250
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch, inplace_pairs
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.point_values import PointValues, index_kind, lanes_of
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm.emitter import type_name
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel

THREADS = 256


class PointwiseKernel:
    """The code of a kernel without reductions.

    Args:
        kernel: loads, arithmetic, stores.
        symbol: the name of the function.
        target: the GPU.
        by_value: the reads that are arguments themselves.
        counted: how many points there are is told at a launch: the number behind the buffers is that of all threads
            with something to do. The kernel has one dim.
    """

    def __init__(
        self, kernel: Kernel, symbol: str, target: GpuTarget, by_value: Collection[int] = (), counted: bool = False
    ) -> None:
        self.kernel: Kernel = kernel
        self.e: ThreadEmitter = ThreadEmitter(symbol, target)
        self.by_value: Collection[int] = by_value
        self.counted: bool = counted
        self.lanes: int = lanes_of(kernel)
        self.kind: str = index_kind(kernel)
        self.values: PointValues = PointValues(self.e, kernel, self.lanes, self.kind, by_value=by_value)
        self.units: int = math.prod(kernel.sizes) // self.lanes
        self.threads: int = THREADS if counted else min(THREADS, max(32, -(-self.units // 32) * 32))

    def made(self) -> GpuKernel:
        """The function and how it is launched."""
        e, blocks = self.e, -(-self.units // self.threads)
        block, thread = e.special("ctaid.x"), e.special("tid.x")
        unit = e.i64("add nsw", e.i64("mul nsw", block, self.threads), thread)
        if self.kind == "i32":
            unit = e.ins(f"trunc i64 {unit} to i32")
        if self.counted:
            units = "%n0" if self.kind == "i64" else e.ins("trunc i64 %n0 to i32")
            e.when(e.ins(f"icmp slt {self.kind} {unit}, {units}"), lambda: self._points(unit))
        elif blocks * self.threads == self.units:
            self._points(unit)
        else:
            e.when(e.ins(f"icmp slt {self.kind} {unit}, {self.units}"), lambda: self._points(unit))
        buffers = len(self.values.buffers)
        launch = Launch(e.symbol, (blocks, 1, 1), (self.threads, 1, 1), tuple(range(buffers)))
        numbers = {i: self.kernel.reads[i].dtype for i in self.by_value}
        text = e.kernel(buffers, int(self.counted), self.threads, numbers)
        return GpuKernel(self.kernel, text, e.declared, [launch], inplace=inplace_pairs(self.kernel))

    def _points(self, unit: str) -> None:
        self._coordinates(unit)
        self.e.lanes = self.lanes
        found = [(a, v, self._value(a, v)) for a, v in self.kernel.stores]
        for access, value, name in found:
            test = self.values.first_only(access.strides, range(len(self.kernel.sizes)))
            write = self.values.store if access.strides[-1] or self.lanes == 1 or not test else self.values.write
            self.values.when([test], partial(write, access, value, name))
        self.e.lanes = 1

    def _value(self, access: Access, value: Inst) -> str:
        """The value in all lanes, or one number where only the first point is stored."""
        if access.strides[-1] or self.kernel.sizes[-1] == 1:
            return self.values.vector(value)
        name = self.values.vector(value)
        return self.e.part(type_name(value.dtype), name, 0) if self.lanes > 1 else name

    def _coordinates(self, unit: str) -> None:
        """The counters of a thread's first point."""
        sizes = [*self.kernel.sizes[:-1], self.kernel.sizes[-1] // self.lanes]
        e, kind = self.e, self.kind
        for d in reversed(range(1, len(sizes))):
            self.values.at[d] = e.ins(f"urem {kind} {unit}, {sizes[d]}") if sizes[d] > 1 else "0"
            unit = e.ins(f"udiv {kind} {unit}, {sizes[d]}") if sizes[d] > 1 else unit
        self.values.at[0] = unit
        last = len(sizes) - 1
        if self.lanes > 1 and self.values.at[last] != "0":
            self.values.at[last] = e.ins(f"mul nsw {kind} {self.values.at[last]}, {self.lanes}")
