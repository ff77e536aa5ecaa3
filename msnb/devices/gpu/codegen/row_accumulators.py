"""Sums that go on over rows, and where a thread stands among those that share them.

    a number for all of the row       one vector of parts a thread -> lanes -> the block's threads
    a number for each column          a vector of sums for each chunk -> the teams of the block

What blocks share goes into the workspace (``partial_sums``), all else is made into results at once.
"""

from __future__ import annotations

from functools import partial

from msnb.devices.gpu.codegen.partial_sums import PartialSums
from msnb.devices.gpu.codegen.point_values import PointValues
from msnb.devices.gpu.codegen.row_schedule import RowSchedule
from msnb.devices.gpu.codegen.team_reduction import TeamReduction
from msnb.devices.llvm import across, identity, type_name
from msnb.ir.kernel.kernel_ir import Inst


class ThreadPlace:
    """Where a thread stands. Its code begins here.

    Attributes:
        tid, tx, ty: its number in the block and in the team, and the number of the team.
        tile, place, split: of its block: along the row, among the places that sums keep, along their rows.
        column: of its first element.
    """

    def __init__(self, values: PointValues, plan: RowSchedule) -> None:
        self.values, self.plan = values, plan
        tiling = plan.tiling
        tid = self.tid = values.special("tid.x")
        self.tx: str = values.op("and", tid, tiling.team - 1) if tiling.teams > 1 else tid
        self.ty: str = values.op("lshr", tid, tiling.team.bit_length() - 1) if tiling.teams > 1 else "0"
        self.tile: str = values.special("ctaid.z") if tiling.tiles > 1 else "0"
        self.place, rows = "0", "ctaid.x"
        if plan.accumulators:
            self.place, rows = values.special("ctaid.x") if tiling.places > 1 else "0", "ctaid.y"
        self.split: str = values.special(rows) if tiling.splits > 1 else "0"
        values.move(self.place, plan.kept)
        self.column: str = values.op("mul nsw", self.tx, tiling.lanes)
        if tiling.tiles > 1:
            tile = values.op("mul nsw", self.tile, tiling.width * tiling.chunks)
            self.column = values.op("add nsw", self.column, tile)

    def ahead(self, distance: str) -> tuple[str, str]:
        """The column so far ahead of the first one, and a test that it lies in the row; "" where all do."""
        values, tiling, length = self.values, self.plan.tiling, self.plan.length
        column = self.column if distance == "0" else values.op("add nsw", self.column, distance)
        known = distance.isdigit() and tiling.tiles == 1 and int(distance) + tiling.width <= length
        if known or (tiling.tiles * tiling.chunks * tiling.width == length and tiling.held):
            return column, ""
        return column, values.op("icmp slt", column, length)

    def share(self) -> str:
        """The number of the block among those that share a sum."""
        if self.plan.tiling.tiles == 1:
            return self.split
        if self.split == "0":
            return self.tile
        op = self.values.op
        return op("add nsw", op("mul nsw", self.split, self.plan.tiling.tiles), self.tile)


class RowAccumulators:
    """The accumulators of a kernel with reductions, as one thread carries them.

    Args:
        plan: which they are; parts: those that blocks share.
        values: at the points of the thread; team: sums over threads; at: where the thread stands.
    """

    def __init__(
        self, plan: RowSchedule, parts: PartialSums, values: PointValues, team: TeamReduction, at: ThreadPlace
    ) -> None:
        self.plan, self.parts, self.values, self.team, self.at = plan, parts, values, team, at

    def start(self, r: Inst) -> tuple[str, str]:
        """Type and first value of a sum, in all lanes."""
        e, kind = self.values.e, type_name(r.dtype)
        e.lanes = self.plan.tiling.lanes
        found = e.t(kind), e.const(identity(r.attr.kind, r.dtype), kind)
        e.lanes = 1
        return found

    def starts(self) -> list[tuple[str, str]]:
        """Of all accumulators: one vector, or one for each chunk where the row is kept."""
        return [found for r in self.plan.accumulators for found in [self.start(r)] * self._count(r)]

    def _count(self, r: Inst) -> int:
        return 1 if self.plan.is_number(r) else self.plan.tiling.chunks

    def slot(self, r: Inst, k: int) -> int:
        """Where an accumulator stands among all, for a chunk."""
        at = 0
        for other in self.plan.accumulators:
            if other is r:
                return at + (0 if self.plan.is_number(r) else k)
            at += self._count(other)
        raise AssertionError("no accumulator")

    def over_lanes(self, r: Inst, value: str) -> str:
        """The sum of the lanes."""
        e = self.values.e
        e.lanes = self.plan.tiling.lanes
        found = across(e, r.attr.kind, r.dtype, value)
        e.lanes = 1
        return found

    # ---- when all rows are through ----

    def finish(self, state: list[str]) -> None:
        """Accumulators of the block: into the workspace, or made into results at once."""
        plan, values = self.plan, self.values
        if not plan.accumulators:
            return
        over = [r for r in plan.accumulators if plan.is_number(r)]
        block = plan.tiling.team * plan.tiling.teams
        totals = self.team.totals([(r, self.over_lanes(r, state[self.slot(r, 0)])) for r in over], block)
        values.numbers, values.vectors = {id(r): t for r, t in zip(over, totals)}, {}
        first = values.op("icmp eq", self.at.tid, 0)
        if self.parts.needed:
            for r, total in zip(over, totals):
                self._keep(r, total, first)
        else:
            for access, value in plan.sweeps.final_stores:
                if not plan.kernel.walks(access, value):
                    name = values.number(value)
                    tests = [first, values.first_only(access.strides, plan.kept)]
                    values.when(tests, partial(values.write, access, value, name))
        self._finish_columns(state)

    def _keep(self, r: Inst, name: str, test: str) -> None:
        """A part of a sum into the workspace."""
        e = self.values.e
        pointer = self.parts.place(e, r, self.at.share(), self.at.place)
        e.when(test, lambda: e.write(r.dtype, name, pointer))

    def _finish_columns(self, state: list[str]) -> None:
        """Accumulators that keep the row: teams are added up, the first team has the sums."""
        plan, values, at = self.plan, self.values, self.at
        columns = [r for r in plan.accumulators if not plan.is_number(r)]
        for k in range(plan.tiling.chunks if columns else 0):
            column, valid = at.ahead(str(k * plan.tiling.width))
            sums = [self.team.over_teams(r, state[self.slot(r, k)], plan.tiling) for r in columns]
            mine = values.op("icmp eq", at.ty, 0) if at.ty != "0" else ""
            values.when([valid, mine], partial(self._columns, columns, sums, column))

    def _columns(self, columns: list[Inst], sums: list[str], column: str) -> None:
        plan, values, e = self.plan, self.values, self.values.e
        values.move(column, plan.inner)
        e.lanes = plan.tiling.lanes
        if self.parts.needed:
            start = values.op("mul nsw", self.at.place, plan.length) if self.at.place != "0" else "0"
            point = column if start == "0" else values.op("add nsw", start, column)
            for r, name in zip(columns, sums):
                lanes, e.lanes = e.lanes, 1
                pointer = self.parts.place(e, r, self.at.split, point)
                e.lanes = lanes
                e.write(r.dtype, name, pointer)
        else:
            values.vectors = {id(r): s for r, s in zip(columns, sums)}
            values.numbers.update({} if e.lanes > 1 else values.vectors)
            found = [(a, v, values.vector(v)) for a, v in plan.sweeps.final_stores if plan.kernel.walks(a, v)]
            for access, value, name in found:
                test = values.first_only(access.strides, plan.kept)
                values.when([test], partial(values.put, access, value, name))
        e.lanes = 1
