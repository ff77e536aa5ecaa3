"""Running totals over the threads of a block.

    within a warp     shuffles: thread t takes from t - 1, 2, 4, 8, 16 where there is such a thread
    over warps        each warp leaves its total in shared memory; every thread combines those of earlier warps

The order of combinations is the same at every run.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import DType
from msnb.devices.gpu.codegen.thread_emitter import WARP
from msnb.devices.gpu.kernels.kernel_builder import ThreadCode
from msnb.devices.llvm.emitter import type_name

SLOT = 8
"""Bytes for a value in shared memory, of whatever dtype."""
Combine = Callable[[str, str], str]


class BlockScan:
    """Scans of one dtype by a block; shared memory is taken once.

    Args:
        e: of the kernel; its block has a multiple of 32 threads.
        dtype: of the values.
        combine: two values, the earlier one first.
        neutral: what changes nothing.
    """

    def __init__(self, e: ThreadCode, dtype: DType, combine: Combine, neutral: str) -> None:
        self.e: ThreadCode = e
        self.dtype: DType = dtype
        self.combine: Combine = combine
        self.neutral: str = neutral
        self.warps: int = e.threads // WARP
        self.table: str = e.shared(SLOT * self.warps)
        self.thread: str = e.special("tid.x")

    def scan(self, value: str) -> tuple[str, str, str]:
        """The totals before each thread's value, up to and with it, and of the whole block. Call it by all threads."""
        e = self.e
        lane, warp = e.i64("and", self.thread, WARP - 1), e.i64("lshr", self.thread, 5)
        within = self._in_warp(value, lane)
        e.barrier()  # the table may be in use
        last = e.ins(f"icmp eq i64 {lane}, {WARP - 1}")
        e.when(last, lambda: e.write(self.dtype, within, self._slot(warp)))
        e.barrier()
        before, whole = self._over_warps(warp)
        earlier = e.shuffle(self.dtype, within, 1, "up")
        first = e.ins(f"icmp eq i64 {lane}, 0")
        exclusive = self.combine(before, self._choose(first, self.neutral, earlier))
        return exclusive, self.combine(before, within), whole

    def _in_warp(self, value: str, lane: str) -> str:
        for distance in (1, 2, 4, 8, 16):
            other = self.e.shuffle(self.dtype, value, distance, "up")
            there = self.e.ins(f"icmp uge i64 {lane}, {distance}")
            value = self._choose(there, self.combine(other, value), value)
        return value

    def _over_warps(self, warp: str) -> tuple[str, str]:
        e, before, whole = self.e, self.neutral, self.neutral
        for w in range(self.warps):
            total = e.read(self.dtype, self._slot(str(w)))
            mine = e.ins(f"icmp ugt i64 {warp}, {w}")
            before = self._choose(mine, self.combine(before, total), before)
            whole = self.combine(whole, total) if w else total
        return before, whole

    def _slot(self, warp: str) -> str:
        index = int(warp) * SLOT if warp.isdigit() else self.e.i64("mul", warp, SLOT)
        return self.e.ins(f"getelementptr i8, ptr {self.table}, i64 {index}")

    def _choose(self, test: str, a: str, b: str) -> str:
        kind = type_name(self.dtype)
        return self.e.ins(f"select i1 {test}, {kind} {a}, {kind} {b}")
