"""Kernels with reductions, as one thread runs them (``row_schedule`` says who has what).

    where am I: team, tile, place
    for each of my rows                                     clamped to a row that is there; stores ask whether it is
      sweep 0   my chunks of the row: loads, arithmetic     -> parts of sums -> team: shuffles, shared memory
      sweep 1   the same chunks, still in registers ...
      accumulators go on
    accumulators: block, then the workspace or the result

Chunks beyond the end of the row read its beginning instead and count as nothing.
"""

from __future__ import annotations

from functools import partial

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch, inplace_pairs
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.partial_sums import PartialSums
from msnb.devices.gpu.codegen.point_values import PointValues, check, index_kind
from msnb.devices.gpu.codegen.row_accumulators import RowAccumulators, ThreadPlace
from msnb.devices.gpu.codegen.row_schedule import UNROLLED, RowSchedule
from msnb.devices.gpu.codegen.team_reduction import TeamReduction
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm import combine, identity, type_name
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel

Names = dict[int, str]


class RowKernel:
    """The code of a kernel with reductions.

    Args:
        kernel: the loop nest.
        symbol: the name of its function.
        target: the GPU.

    Raises:
        UnsupportedKernel: there is no layout for it.
    """

    def __init__(self, kernel: Kernel, symbol: str, target: GpuTarget) -> None:
        check(kernel)
        self.kernel, self.plan, self.e = kernel, RowSchedule(kernel, target), ThreadEmitter(symbol, target)
        tiling, kind = self.plan.tiling, index_kind(kernel)
        self.values: PointValues = PointValues(self.e, kernel, tiling.lanes, kind)
        self.team: TeamReduction = TeamReduction(self.e, tiling.team, tiling.team * tiling.teams)
        self.parts: PartialSums = PartialSums(kernel, self.plan, symbol, kind, target)
        self.at: ThreadPlace = ThreadPlace(self.values, self.plan)
        self.sums: RowAccumulators = RowAccumulators(self.plan, self.parts, self.values, self.team, self.at)
        self.clamped, self.live = False, ""
        self.row_numbers: Names = {}
        self.chunks: dict[int, tuple[Names, Names]] = {}

    def made(self) -> GpuKernel:
        """The functions and how they are launched."""
        e, plan = self.e, self.plan
        self.sums.finish(self._all_rows())
        buffers, threads = len(self.values.buffers), plan.tiling.team * plan.tiling.teams
        extra = (buffers,) if self.parts.needed else ()
        text = e.kernel(buffers + len(extra), threads=threads, resident=plan.tiling.resident)
        launches = [Launch(e.symbol, plan.grid, (threads, 1, 1), (*range(buffers), *extra))]
        made = GpuKernel(self.kernel, text, e.declared, launches, self.parts.bytes, [e.globals()])
        if self.parts.needed:
            self.parts.add_to(made)
        if plan.tiling.held and not self.clamped:
            made.inplace = inplace_pairs(self.kernel)
        return made

    # ---- rows ----

    def _all_rows(self) -> list[str]:
        """The accumulators when all rows of the thread are through."""
        tiling, e, op = self.plan.tiling, self.e, self.values.op
        first = self.at.split
        if first != "0":
            first = op("mul nsw", first, tiling.rounds * tiling.teams)
        starts = self.sums.starts()
        if tiling.rounds == 1:
            return self._row(first, [v for _, v in starts])

        def turn(i: str, now: list[str]) -> list[str]:
            i = self.values.narrow(i)
            step = i if tiling.teams == 1 else op("mul nsw", i, tiling.teams)
            return self._row(step if first == "0" else op("add nsw", first, step), now)

        self.team.repeated = self._tables() < 2
        return e.loop(("0", str(tiling.rounds), 1), starts, turn)

    def _tables(self) -> int:
        """How often the team exchanges sums in a row. Behind the second exchange everybody has read the first one's
        table, which may be written again without a barrier."""
        local = {id(r) for r in self.plan.local}
        return sum(any(id(r) in local for r in reduces) for reduces, _ in self.plan.sweeps.levels)

    def _row(self, number: str, now: list[str]) -> list[str]:
        """One row; ``now`` are the accumulators."""
        plan, tiling, op, ty = self.plan, self.plan.tiling, self.values.op, self.at.ty
        if ty != "0":
            number = ty if number == "0" else op("add nsw", number, ty)
        self.live = ""
        if tiling.rounds * tiling.teams * tiling.splits != tiling.steps:
            self.live = op("icmp slt", number, tiling.steps)
            number = self._clamp(self.live, number)
        self.values.move(number, plan.turned)
        self.values.numbers, self.values.vectors, self.row_numbers, self.chunks = {}, {}, {}, {}
        self._read_early()
        for level in range(len(plan.sweeps.levels)):
            now = self._sweep(level, now)
        self._row_stores()
        return now

    def _read_early(self) -> None:
        """Read what only later sweeps need before the first sum is waited for: memory is waited for once."""
        plan = self.plan
        if len(plan.sweeps.levels) < 2 or not plan.tiling.held:
            return
        first = {id(inst) for inst in plan.sweeps.reach(0)}
        late = [i for i in plan.insts if i.op == "load" and id(i) not in first and self.values.is_vector(i)]
        rows = [i for i in late if any(i.attr.strides[d] for d in plan.turned)]
        for k in range(plan.tiling.chunks if rows else 0):
            self._enter(k, str(k * plan.tiling.width))
            for inst in rows:
                self.values.vector(inst)
            self._leave(k)

    def _clamp(self, test: str, counter: str) -> str:
        """0 where there is nothing for a counter."""
        self.clamped = True
        return self.e.ins(f"select i1 {test}, {self.values.kind} {counter}, {self.values.kind} 0")

    def _row_stores(self) -> None:
        values = self.values
        for access, value, name in [(a, v, self._row_number(v)) for a, v in self.plan.sweeps.row_stores]:
            first = values.op("icmp eq", self.at.tx, 0)
            tile = values.op("icmp eq", self.at.tile, 0) if self.at.tile != "0" else ""
            tests = [first, tile, self.live, values.first_only(access.strides, self.plan.outer)]
            values.when(tests, partial(values.write, access, value, name))

    def _row_number(self, inst: Inst) -> str:
        """A value that does not change along the row."""
        self.values.numbers = self.row_numbers
        return self.values.number(inst)

    # ---- sweeps ----

    def _sweep(self, level: int, now: list[str]) -> list[str]:
        plan = self.plan
        reduces, _ = plan.sweeps.levels[level]
        for inst in self._reach(plan.sweeps.roots(level)):
            for a in (inst, *inst.args):
                if a.op != "const" and not plan.kernel.along(a):
                    self._row_number(a)
        local = [r for r in reduces if any(r is x for x in plan.local)]
        starts = [self.sums.start(r) for r in local]
        sums = len(starts)
        if plan.tiling.held:
            state = [v for _, v in starts] + now
            for k in range(plan.tiling.chunks):
                state = self._chunk(level, k, str(k * plan.tiling.width), state, sums)
        else:
            types = [t for t, _ in self.sums.starts()]
            state = self._loop(level, starts + list(zip(types, now)), sums)
        self._finish_local(local, state[:sums])
        return state[sums:]

    def _loop(self, level: int, starts: list[tuple[str, str]], sums: int) -> list[str]:
        """Long rows: a few chunks a turn, read again for every sweep."""
        tiling, op = self.plan.tiling, self.values.op

        def turn(i: str, state: list[str]) -> list[str]:
            i = self.values.narrow(i)
            for k in range(UNROLLED):
                self.chunks.pop(k, None)
                ahead = i if not k else op("add nsw", i, k)
                state = self._chunk(level, k, op("mul nsw", ahead, tiling.width), state, sums)
            return state

        found = self.e.loop(("0", str(tiling.chunks), UNROLLED), starts, turn)
        self.chunks.clear()
        return found

    def _reach(self, roots: list[Inst]) -> list[Inst]:
        seen: dict[int, Inst] = {}
        stack = list(roots)
        while stack:
            inst = stack.pop()
            if id(inst) not in seen:
                seen[id(inst)] = inst
                stack.extend(a for a in inst.args if self.kernel.along(a))
        return list(seen.values())

    def _chunk(self, level: int, k: int, ahead: str, state: list[str], sums: int) -> list[str]:
        """The points of one access: ``ahead`` is how far along the row, from the thread's first column."""
        plan = self.plan
        reduces, stores = plan.sweeps.levels[level]
        (column, valid), first = self._enter(k, ahead), ""
        if any(plan.once_a_row(r) for r in reduces):
            first = self.values.op("icmp eq", column, 0)
        names = [self.values.vector(r.args[0]) for r in reduces]
        found = [(a, v, self.values.vector(v)) for a, v in stores]
        state = self._add(reduces, names, state, sums, k, (self.values.all([valid, self.live]), first))
        for access, value, name in found:
            self._store(access, value, name, valid)
        self._leave(k)
        return state

    def _enter(self, k: int, ahead: str) -> tuple[str, str]:
        """Go to the points of one access; gives its column, and a test that it lies in the row ("" where all do)."""
        column, valid = self.at.ahead(ahead)
        self.values.move(self._clamp(valid, column) if valid else column, self.plan.inner)
        numbers, vectors = self.chunks.get(k, ({}, {}))
        self.values.numbers, self.values.vectors = {**self.row_numbers, **numbers}, vectors
        self.e.lanes = self.plan.tiling.lanes
        return column, valid

    def _leave(self, k: int) -> None:
        """Keep what is known of the points for the sweeps to come."""
        self.e.lanes = 1
        if self.plan.tiling.held:
            along = {id(i) for i in self.plan.insts if self.kernel.along(i)}
            self.chunks[k] = {n: v for n, v in self.values.numbers.items() if n in along}, self.values.vectors

    def _add(
        self, reduces: list[Inst], names: list[str], state: list[str], sums: int, k: int, tests: tuple[str, str]
    ) -> list[str]:
        """The next state of local sums (the first ``sums`` of it) and accumulators.

        Args:
            reduces: what is added to; names: what is added; state: what there is; k: the chunk.
            tests: that the points are there, and that they are the first of the row.
        """
        state, plan, mine = list(state), self.plan, 0
        for r, name in zip(reduces, names):
            if any(r is x for x in plan.local):
                at, mine = mine, mine + 1
            else:
                at = sums + self.sums.slot(r, k)
            name = self._masked(r, name, tests[0])
            if plan.once_a_row(r):
                name = self._masked(r, self._first_lane(r, name), tests[1])
            state[at] = combine(self.e, r.attr.kind, r.dtype, state[at], name)
        return state

    def _first_lane(self, r: Inst, name: str) -> str:
        """The value in the first lane alone."""
        lanes = self.plan.tiling.lanes
        if lanes == 1:
            return name
        mask = ", ".join(f"i1 {str(k == 0).lower()}" for k in range(lanes))
        return self._select(r, f"{self.e.t('i1')} <{mask}>", name)

    def _masked(self, r: Inst, name: str, test: str) -> str:
        return self._select(r, f"i1 {test}", name) if test else name

    def _select(self, r: Inst, test: str, name: str) -> str:
        """A value, or what adds nothing."""
        kind = type_name(r.dtype)
        start = self.e.const(identity(r.attr.kind, r.dtype), kind)
        return self.e.ins(f"select {test}, {self.e.t(kind)} {name}, {self.e.t(kind)} {start}")

    def _store(self, access: Access, value: Inst, name: str, valid: str) -> None:
        values, inner = self.values, self.plan.inner
        tests = [values.all([valid, self.live, values.first_only(access.strides, self.plan.outer)])]
        if any(not access.strides[d] and self.kernel.sizes[d] != 1 for d in inner):
            tests.append(values.first_only(access.strides, inner))
        values.when(tests, partial(values.put, access, value, name))

    def _finish_local(self, local: list[Inst], parts: list[str]) -> None:
        """Sums of the row: lanes, then the team."""
        items = [(r, self.sums.over_lanes(r, v)) for r, v in zip(local, parts)]
        totals = self.team.totals(items, self.plan.tiling.team)
        self.row_numbers.update({id(r): t for r, t in zip(local, totals)})
