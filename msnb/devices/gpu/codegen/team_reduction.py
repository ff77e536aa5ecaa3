"""Sums over the threads of a team or a block.

    within a warp     shuffles: thread t takes from t xor 16, 8, 4, 2, 1; then all 32 have the sum
    over warps        each warp leaves its sum in shared memory; behind a barrier every warp takes all of them, and
                      shuffles again

All threads of the group get the total, in the same order of additions at every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msnb.devices.gpu.codegen.thread_emitter import WARP, ThreadEmitter
from msnb.devices.llvm import combine, memory_name, type_name
from msnb.ir.kernel.kernel_ir import Inst

if TYPE_CHECKING:
    from msnb.devices.gpu.codegen.row_schedule import RowTiling

SLOT = 8
"""Bytes for a value in shared memory, of whatever dtype."""


class TeamReduction:
    """Reductions between threads.

    Args:
        e: of the kernel.
        team: threads of a team; block: of a block; both powers of two.

    Attributes:
        repeated: the code runs in a loop: shared memory is written again.
    """

    def __init__(self, e: ThreadEmitter, team: int, block: int) -> None:
        self.e: ThreadEmitter = e
        self.team: int = team
        self.block: int = block
        self.repeated = False
        self._table = ""

    def totals(self, items: Sequence[tuple[Inst, str]], group: int) -> list[str]:
        """The totals of values over groups of so many neighbouring threads."""
        found = [self._in_warp(r, name, min(group, WARP)) for r, name in items]
        return found if group <= WARP or not items else self._over_warps([r for r, _ in items], found, group)

    def _in_warp(self, r: Inst, name: str, threads: int) -> str:
        distance = threads // 2
        while distance:
            name = combine(self.e, r.attr.kind, r.dtype, name, self.e.shuffle(r.dtype, name, distance))
            distance //= 2
        return name

    def _over_warps(self, reduces: list[Inst], names: list[str], group: int) -> list[str]:
        e, warps = self.e, self.block // WARP
        table = e.shared(SLOT * warps * len(reduces))
        tid = e.special("tid.x")
        warp, lane = e.i64("lshr", tid, 5), e.i64("and", tid, 31)
        if self.repeated:
            e.barrier()
        places = [self._place(table, k * warps, warp) for k in range(len(reduces))]

        def leave() -> None:
            for r, name, place in zip(reduces, names, places):
                e.write(r.dtype, name, place)

        e.when(e.ins(f"icmp eq i64 {lane}, 0"), leave)
        e.barrier()
        mine = group // WARP
        first = e.i64("and", warp, -mine)
        which = e.i64("add", first, e.i64("and", lane, mine - 1))
        found = [e.read(r.dtype, self._place(table, k * warps, which)) for k, r in enumerate(reduces)]
        return [self._in_warp(r, name, mine) for r, name in zip(reduces, found)]

    def _place(self, table: str, first: int, index: str) -> str:
        at = self.e.i64("mul nsw", index, SLOT)
        return self.e.ins(f"getelementptr i8, ptr {table}, i64 {self.e.i64('add nsw', at, SLOT * first)}")

    # ---- columns ----

    def over_teams(self, r: Inst, name: str, tiling: RowTiling) -> str:
        """Sums of columns over the teams of a block; the threads of the first team have them."""
        if tiling.teams == 1:
            return name
        e, kind, size = self.e, memory_name(r.dtype), SLOT
        if not self._table:
            self._table = e.shared(size * self.block * tiling.lanes)
        else:
            e.barrier()
        tid = e.special("tid.x")
        e.lanes = tiling.lanes
        mine = e.ins(f"getelementptr {kind}, ptr {self._table}, i64 {e.i64('mul nsw', tid, tiling.lanes)}")
        e.write(r.dtype, name, mine)
        e.barrier()
        column = e.i64("mul nsw", e.i64("and", tid, tiling.team - 1), tiling.lanes)
        first = [(e.t(type_name(r.dtype)), e.read(r.dtype, e.place(kind, self._table, column)))]

        def add(t: str, now: list[str]) -> list[str]:
            index = e.i64("add nsw", e.i64("mul nsw", t, tiling.team * tiling.lanes), column)
            return [combine(e, r.attr.kind, r.dtype, now[0], e.read(r.dtype, e.place(kind, self._table, index)))]

        total = e.loop(("1", str(tiling.teams), 1), first, add)[0]
        e.lanes = 1
        return total
