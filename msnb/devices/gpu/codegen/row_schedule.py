"""How a kernel with reductions is laid over the GPU.

The threads of a *team* share out a row; a block has one team or several. What a thread has of a row stays in its
registers from sweep to sweep, so memory is read once.

    softmax of [4096, 1024]      a team of 128 threads a row, 8 elements each; max and sum by shuffles and shared memory
    x.sum(0) of [4096, 1024]     a thread keeps sums of its columns while its team goes through rows; teams, then
                                 blocks, are added up behind it

    grid.x   places that all sums keep (``kept``)      grid.y   splits of the rows that are summed (``turned``)
    grid.z   tiles of the row, where nothing reads a sum of the whole row

A sum is *local* if it is finished row by row, by one team; an *accumulator* goes on over rows or tiles. Where blocks
share an accumulator each leaves its part in the workspace, and a second function adds them in a fixed order: the same
bits at every run.
"""

from __future__ import annotations

import math

from msnb.devices.codegen.row_sweeps import RowSweeps
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget
from msnb.devices.gpu.codegen.point_values import lanes_of
from msnb.ir.kernel import Inst, Kernel, UnsupportedKernel

BLOCK, MOST = 256, 1024
ELEMENTS = 16
"""Elements of a row that a thread likes to have."""
HELD = 64
"""The most that it keeps in registers; longer rows are read again for every sweep."""
UNROLLED = 4
"""Accesses of a turn, where a row is read in a loop."""
ENOUGH = 8
"""Blocks that fill a multiprocessor."""
SUMMING = 128
"""Threads of a block that adds columns up while it goes through rows."""
RESIDENT = {32: 2, 16: 3, 8: 5, 4: 8}
"""Such blocks on a multiprocessor, by the elements of a row that a thread has: its registers have no room for more."""
REGISTERS = 240
"""For elements of a row, at most."""


class RowSchedule:
    """The decisions for one kernel with reductions.

    Attributes:
        outer, inner: dims outside and inside the row.
        kept, turned: outer dims that all accumulators keep, and the others.
        local, accumulators: reductions, by how they are finished.
        length, rows: elements of a row, and how many rows there are.
        enough: blocks that fill the GPU.
        sweeps: what is computed in which walk along the row; without local reductions there is one.
        tiling: how it lies over blocks and threads.
    """

    def __init__(self, kernel: Kernel, target: GpuTarget = NEWEST) -> None:
        self.kernel: Kernel = kernel
        self.insts: list[Inst] = kernel.insts()
        self.enough: int = ENOUGH * target.multiprocessors
        sizes = kernel.sizes
        self.inner: list[int] = [d for d in range(len(sizes)) if d in kernel.row]
        self.outer: list[int] = [d for d in range(len(sizes)) if d not in kernel.row]
        if self.inner != list(range(len(self.outer), len(sizes))):
            raise UnsupportedKernel("a row whose dims do not lie together")
        self.length: int = math.prod(sizes[d] for d in self.inner)
        self.rows: int = math.prod(sizes[d] for d in self.outer)
        self._sort_reductions()
        self._sort_dims()
        self.sweeps: RowSweeps = RowSweeps(kernel, self.local, self.accumulators, self.accumulators, bool(self.local))
        self.tiling: RowTiling = RowTiling(self)

    # ---- what is what ----

    def _sort_reductions(self) -> None:
        reduces = [i for i in self.insts if i.op == "reduce"]
        whole = [r for r in reduces if r.attr.over == self.kernel.row]
        others = [r for r in reduces if r.attr.over != self.kernel.row]
        short = self.rows >= self.enough // 2 or self.length <= BLOCK * ELEMENTS
        self.local: list[Inst] = whole if others or self._read_inside(whole) or (self.outer and short) else []
        self.accumulators: list[Inst] = others if self.local else reduces

    def _read_inside(self, whole: list[Inst]) -> bool:
        """Whether a reduction of the row is read by another one, or where something changes along the row."""
        made = {id(r) for r in whole}
        for inst in self.insts:
            if any(id(a) in made for a in inst.args):
                if self.kernel.along(inst) or inst.op == "reduce":
                    return True
                made.add(id(inst))
        return any(id(v) in made and self.kernel.walks(a, v) for a, v in self.kernel.stores)

    def _sort_dims(self) -> None:
        gone = {frozenset(r.attr.over - self.kernel.row) for r in self.accumulators}
        if len(gone) > 1:
            raise UnsupportedKernel("sums that keep different rows")
        left = next(iter(gone), frozenset())
        self.turned: list[int] = [d for d in self.outer if d in left] if self.accumulators else list(self.outer)
        self.kept: list[int] = [d for d in self.outer if d not in self.turned]
        for r in self.accumulators:
            inside = r.attr.over & self.kernel.row
            if inside and inside != self.kernel.row:
                raise UnsupportedKernel("a sum over a part of the row")

    def is_number(self, inst: Inst) -> bool:
        """Whether an accumulator has one number for all of the row: it takes in the row, or knows nothing of it."""
        return inst.attr.over >= self.kernel.row or not self.kernel.along(inst.args[0])

    def once_a_row(self, inst: Inst) -> bool:
        """Whether an accumulator adds up what the row has only one of."""
        return not inst.attr.over >= self.kernel.row and not self.kernel.along(inst.args[0])

    def kept_row(self) -> bool:
        """Whether an accumulator keeps the row."""
        return any(not self.is_number(r) for r in self.accumulators)

    def carried(self) -> int:
        """How many values of each element a thread holds, about: what later sweeps need, and sums of columns."""
        reached = [self.sweeps.reach(level) for level in range(len(self.sweeps.levels))]
        known, most = set[int](), 0
        for level, insts in enumerate(reached):
            known |= {id(i) for i in insts}
            later = {id(a) for more in reached[level + 1 :] for i in more if id(i) not in known for a in i.args}
            most = max(most, len(known & later))
        return most + sum(not self.is_number(r) for r in self.accumulators)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks; without sums over many rows the rows lie along x, which has room for 2^31."""
        tiling = self.tiling
        if not self.accumulators:
            return tiling.splits, 1, tiling.tiles
        return tiling.places, tiling.splits, tiling.tiles

    def shares(self, r: Inst) -> int:
        """How many blocks share an accumulator."""
        return self.tiling.splits * (self.tiling.tiles if self.is_number(r) else 1)

    def points(self, r: Inst) -> int:
        """How many places an accumulator has."""
        return self.tiling.places * (1 if self.is_number(r) else self.length)


class RowTiling:
    """How rows are cut for blocks and threads.

    Args:
        plan: what is reduced and stored.

    Attributes:
        lanes, team, teams, chunks: elements of an access, threads of a row, teams of a block, accesses of a thread.
        width: elements of a team's access; held: values stay in registers from sweep to sweep.
        places, steps: rows that the sums keep, and those that each of them takes in.
        tiles, splits, rounds: blocks along the row, and along the steps; steps of a team.
        resident: blocks that shall find room on a multiprocessor at once; 0 where that is left to the assembler.
        enough: blocks that fill the GPU.
    """

    team: int
    teams: int
    chunks: int
    tiles: int
    enough: int

    def __init__(self, plan: RowSchedule) -> None:
        sizes = plan.kernel.sizes
        self.lanes: int = lanes_of(plan.kernel)
        self.resident, self.enough = 0, plan.enough
        self.steps: int = math.prod(sizes[d] for d in plan.turned)
        self.places: int = math.prod(sizes[d] for d in plan.kept)
        units = -(-plan.length // self.lanes)
        if plan.local and plan.kept_row():
            elements = next((n for n in RESIDENT if n * plan.carried() <= REGISTERS), min(RESIDENT))
            self._whole_rows(units, elements, SUMMING)
            self.resident = max(1, RESIDENT[elements] * SUMMING // (self.team * self.teams))
            self.enough = self.enough // ENOUGH * self.resident
        elif plan.local:
            self._whole_rows(units, ELEMENTS, BLOCK)
        else:
            self._tiled_rows(units, max(1, ELEMENTS // self.lanes), plan.kept_row())
        self.width: int = self.team * self.lanes
        self.held: bool = self.chunks * self.lanes <= HELD or (plan.kept_row() and bool(plan.local))
        self._split(bool(plan.accumulators))

    def _whole_rows(self, units: int, elements: int, block: int) -> None:
        """A team has the whole row; a block has several teams, if their threads are few."""
        self.team = min(MOST, max(32, _power_of_two(-(-units // max(1, elements // self.lanes)))))
        self.teams = max(1, block // self.team)
        self.chunks, self.tiles = -(-units // self.team), 1

    def _tiled_rows(self, units: int, want: int, kept: bool) -> None:
        """A block has a tile of the row; short rows leave room for many teams."""
        self.team = min(BLOCK, _power_of_two(units))
        self.teams = BLOCK // self.team
        whole = -(-units // self.team)
        if kept:
            self.chunks = 1
        else:
            self.chunks = max(min(whole, want), -(-whole // max(1, self.enough // self.places)))
            if self.chunks * self.lanes > HELD:  # a loop over whole turns: else a tile's last turn reads the next tile
                self.chunks = -(-self.chunks // UNROLLED) * UNROLLED
        self.tiles = -(-whole // self.chunks)

    def _split(self, summed: bool) -> None:
        rounds = -(-self.steps // self.teams)
        if not summed:
            self.splits = rounds
        else:
            wanted = max(1, self.enough // max(1, self.places * self.tiles))
            self.splits = max(1, min(wanted, -(-rounds // 4)))
        self.rounds: int = -(-rounds // self.splits)
        self.splits = -(-rounds // self.rounds)
        if self.tiles > 65535:
            raise UnsupportedKernel("a row of more tiles than a grid has")


def _power_of_two(n: int) -> int:
    return 1 << max(0, (n - 1).bit_length())
