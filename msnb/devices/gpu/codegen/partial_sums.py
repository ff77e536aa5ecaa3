"""Sums that several blocks share: parts in the workspace, added up by a second function in a fixed order.

workspace of one accumulator     [share][point]         share: which block; point: which place of the result
few points, many shares          a warp for each point: its threads go through the shares, then shuffles
many points                      a thread for each point: neighbours read neighbours
"""

from __future__ import annotations

from functools import partial

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.point_values import PointValues
from msnb.devices.gpu.codegen.row_schedule import RowSchedule
from msnb.devices.gpu.codegen.team_reduction import TeamReduction
from msnb.devices.gpu.codegen.thread_emitter import WARP, ThreadEmitter
from msnb.devices.llvm import combine, identity, memory_name, type_name
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel

THREADS, FEW, ALIGN = 128, 1 << 14, 256


class PartialSums:
    """Where the parts lie, and the functions that add them up.

    Args:
        kernel, plan: what is computed, and how.
        symbol: the name of the first function.
        kind: the type of counters; target: the GPU.

    Attributes:
        needed: some accumulator is shared by several blocks.
        bytes: of the workspace.
    """

    def __init__(self, kernel: Kernel, plan: RowSchedule, symbol: str, kind: str, target: GpuTarget) -> None:
        self.kernel, self.plan, self.symbol, self.kind, self.target = kernel, plan, symbol, kind, target
        self.needed: bool = any(plan.shares(r) > 1 for r in plan.accumulators)
        self.offsets: dict[int, int] = {}
        self.bytes = 0
        if self.needed:
            for r in plan.accumulators:
                self.offsets[id(r)] = self.bytes
                size = plan.shares(r) * plan.points(r) * r.dtype.itemsize
                self.bytes += -(-size // ALIGN) * ALIGN

    def place(self, e: ThreadEmitter, r: Inst, share: str, point: str) -> str:
        """Where the part of a block lies."""
        wide = [e.ins(f"zext i32 {x} to i64") if self.kind == "i32" and not x.isdigit() else x for x in (share, point)]
        return self._at(e, r, *wide)

    def _at(self, e: ThreadEmitter, r: Inst, share: str, point: str) -> str:
        index = e.i64("add nsw", e.i64("mul nsw", share, self.plan.points(r)), point)
        workspace = f"%b{len(self.kernel.reads) + len(self.kernel.writes)}"
        base = e.ins(f"getelementptr i8, ptr {workspace}, i64 {self.offsets[id(r)]}")
        return e.ins(f"getelementptr {memory_name(r.dtype)}, ptr {base}, i64 {index}")

    def add_to(self, made: GpuKernel) -> None:
        """The functions that add up, behind the first one."""
        for walks in (False, True):
            stores = [(a, v) for a, v in self.plan.sweeps.final_stores if self.kernel.walks(a, v) is walks]
            if stores:
                self._function(made, stores, walks)

    def _function(self, made: GpuKernel, stores: list[tuple[Access, Inst]], walks: bool) -> None:
        e = ThreadEmitter(f"{self.symbol}_{'columns' if walks else 'sums'}", self.target)
        points = self.plan.tiling.places * (self.plan.length if walks else 1)
        needed = [r for r in self.plan.accumulators if self.plan.is_number(r) is not walks]
        together = WARP if points <= FEW and max(self.plan.shares(r) for r in needed) >= 8 else 1
        unit = e.i64("add nsw", e.i64("mul nsw", e.special("ctaid.x"), THREADS), e.special("tid.x"))
        point = unit if together == 1 else e.i64("lshr", unit, 5)
        inside = e.ins(f"icmp slt i64 {point}, {points}")
        point = e.ins(f"select i1 {inside}, i64 {point}, i64 0")
        lane = e.i64("and", unit, WARP - 1) if together > 1 else "0"
        values = PointValues(e, self.kernel, 1, "i64")
        values.numbers = {id(r): self._total(e, r, point, lane, together) for r in needed}
        dims = [*self.plan.kept, *(self.plan.inner if walks else [])]
        values.move(point, dims)
        first = e.ins(f"icmp eq i64 {lane}, 0") if together > 1 else ""
        for access, value, name in [(a, v, values.number(v)) for a, v in stores]:
            tests = [inside, first, values.first_only(access.strides, dims)]
            values.when(tests, partial(values.write, access, value, name))
        made.text += "\n" + e.kernel(made.buffers + 1, threads=THREADS)
        made.declared.update(e.declared)
        blocks = -(-points * together // THREADS)
        made.launches.append(Launch(e.symbol, (blocks, 1, 1), (THREADS, 1, 1), tuple(range(made.buffers + 1))))

    def _total(self, e: ThreadEmitter, r: Inst, point: str, lane: str, together: int) -> str:
        first = [(type_name(r.dtype), identity(r.attr.kind, r.dtype))]

        def add(share: str, now: list[str]) -> list[str]:
            return [combine(e, r.attr.kind, r.dtype, now[0], e.read(r.dtype, self._at(e, r, share, point)))]

        total = e.loop((lane, str(self.plan.shares(r)), together), first, add)[0]
        return total if together == 1 else TeamReduction(e, WARP, THREADS).totals([(r, total)], WARP)[0]
