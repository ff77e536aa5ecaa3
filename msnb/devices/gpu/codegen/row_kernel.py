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
from msnb.devices.gpu.codegen.row_schedule import UNROLLED, RowSchedule
from msnb.devices.gpu.codegen.team_reduction import TeamReduction
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm.emitter import type_name
from msnb.devices.llvm.scalar_ops import across, combine, identity
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

    kernel: Kernel
    plan: RowSchedule
    e: ThreadEmitter
    place: str
    split: str

    def __init__(self, kernel: Kernel, symbol: str, target: GpuTarget) -> None:
        check(kernel)
        self.kernel, self.plan, self.e = kernel, RowSchedule(kernel), ThreadEmitter(symbol, target)
        self.kind: str = index_kind(kernel)
        self.values: PointValues = PointValues(self.e, kernel, self.plan.lanes, self.kind)
        self.team: TeamReduction = TeamReduction(self.e, self.plan.team, self.plan.team * self.plan.teams)
        self.parts: PartialSums = PartialSums(kernel, self.plan, symbol, self.kind, target)
        self.clamped = False
        self.row_numbers: Names = {}
        self.chunks: dict[int, tuple[Names, Names]] = {}

    def made(self) -> GpuKernel:
        """The functions and how they are launched."""
        e, plan = self.e, self.plan
        self._find_place()
        found = self._all_rows()
        self._finish(found)
        buffers, threads = len(self.values.buffers), plan.team * plan.teams
        extra = (buffers,) if self.parts.needed else ()
        text = e.kernel(buffers + len(extra), threads=threads)
        launches = [Launch(e.symbol, plan.grid, (threads, 1, 1), (*range(buffers), *extra))]
        made = GpuKernel(self.kernel, text, e.declared, launches, self.parts.bytes, [e.globals()])
        if self.parts.needed:
            self.parts.add_to(made)
        if plan.held and not self.clamped:
            made.inplace = inplace_pairs(self.kernel)
        return made

    # ---- where the thread is ----

    def _special(self, register: str) -> str:
        found = self.e.special(register)
        return found if self.kind == "i64" else self.e.ins(f"trunc i64 {found} to i32")

    def op(self, word: str, a: str, b: str | int) -> str:
        """Arithmetic of counters."""
        return self.e.ins(f"{word} {self.kind} {a}, {b}")

    def _find_place(self) -> None:
        plan = self.plan
        tid = self._special("tid.x")
        self.tid = tid
        self.tx: str = self.op("and", tid, plan.team - 1) if plan.teams > 1 else tid
        self.ty: str = self.op("lshr", tid, plan.team.bit_length() - 1) if plan.teams > 1 else "0"
        self.tile: str = self._special("ctaid.z") if plan.tiles > 1 else "0"
        if plan.accumulators:
            self.place = self._special("ctaid.x") if plan.places > 1 else "0"
            self.split = self._special("ctaid.y") if plan.splits > 1 else "0"
        else:
            self.place, self.split = "0", self._special("ctaid.x") if plan.splits > 1 else "0"
        self._coordinates(self.place, plan.kept)
        start = self.op("mul nsw", self.tx, plan.lanes)
        if plan.tiles > 1:
            start = self.op("add nsw", start, self.op("mul nsw", self.tile, plan.width * plan.chunks))
        self.column = start

    def _coordinates(self, number: str, dims: list[int]) -> None:
        for d in reversed(dims[1:]):
            size = self.kernel.sizes[d]
            self.values.at[d] = self.op("urem", number, size) if number != "0" else "0"
            number = self.op("udiv", number, size) if number != "0" else "0"
        if dims:
            self.values.at[dims[0]] = number

    # ---- rows ----

    def _all_rows(self) -> list[str]:
        """The accumulators when all rows of the thread are through, in the order of ``_carried``."""
        plan, e = self.plan, self.e
        first = self.split
        if first != "0":
            first = self.op("mul nsw", first, plan.rounds * plan.teams)
        starts = self._carried()
        if plan.rounds == 1:
            return self._row(first, [v for _, v in starts])

        def turn(i: str, now: list[str]) -> list[str]:
            i = i if self.kind == "i64" else e.ins(f"trunc i64 {i} to i32")
            step = i if plan.teams == 1 else self.op("mul nsw", i, plan.teams)
            return self._row(step if first == "0" else self.op("add nsw", first, step), now)

        self.team.repeated = True
        return e.loop(("0", str(plan.rounds), 1), starts, turn)

    def _carried(self) -> list[tuple[str, str]]:
        """Type and first value of all accumulators: one vector, or one for each chunk where the row is kept."""
        found: list[tuple[str, str]] = []
        self.e.lanes = self.plan.lanes
        for r in self.plan.accumulators:
            kind = type_name(r.dtype)
            start = (self.e.t(kind), self.e.const(identity(r.attr.kind, r.dtype), kind))
            found += [start] * (1 if self.plan.is_number(r) else self.plan.chunks)
        self.e.lanes = 1
        return found

    def _row(self, number: str, now: list[str]) -> list[str]:
        """One row; ``now`` are the accumulators."""
        plan, e = self.plan, self.e
        if self.ty != "0":
            number = self.ty if number == "0" else self.op("add nsw", number, self.ty)
        self.live = ""
        if plan.rounds * plan.teams * plan.splits != plan.steps:
            self.clamped = True
            self.live = e.ins(f"icmp slt {self.kind} {number}, {plan.steps}")
            number = e.ins(f"select i1 {self.live}, {self.kind} {number}, {self.kind} 0")
        self._coordinates(number, plan.turned)
        self.values.numbers, self.values.vectors, self.row_numbers, self.chunks = {}, {}, {}, {}
        for level in range(len(plan.levels)):
            now = self._sweep(level, now)
        self._row_stores()
        return now

    def _row_stores(self) -> None:
        stores = self.plan.row_stores
        for access, value, name in [(a, v, self._row_number(v)) for a, v in stores]:
            first = self.e.ins(f"icmp eq {self.kind} {self.tx}, 0")
            tile = self.e.ins(f"icmp eq {self.kind} {self.tile}, 0") if self.tile != "0" else ""
            test = self.values.all([first, tile, self.live, self.values.first_only(access.strides, self.plan.outer)])
            self._store_number(access, value, name, test)

    def _store_number(self, access: Access, value: Inst, name: str, test: str) -> None:
        def store() -> None:
            self.e.write(value.dtype, name, self.values.place(access))

        self.e.when(test, store) if test else store()

    def _row_number(self, inst: Inst) -> str:
        """A value that does not change along the row."""
        self.values.numbers = self.row_numbers
        return self.values.number(inst)

    # ---- sweeps ----

    def _sweep(self, level: int, now: list[str]) -> list[str]:
        plan = self.plan
        reduces, stores = plan.levels[level]
        for inst in self._reach([r.args[0] for r in reduces] + [v for _, v in stores]):
            for a in (inst, *inst.args):
                if a.op != "const" and not plan.along(a):
                    self._row_number(a)
        local = [r for r in reduces if any(r is x for x in plan.local)]
        starts = [self._start(r) for r in local]
        sums = len(starts)
        if plan.held:
            state = [v for _, v in starts] + now
            for k in range(plan.chunks):
                state = self._chunk(level, k, str(k * plan.width), state, sums)
        else:
            state = self._loop(level, starts + self._typed(now), sums)
        self._finish_local(local, state[:sums])
        return state[sums:]

    def _start(self, r: Inst) -> tuple[str, str]:
        self.e.lanes = self.plan.lanes
        kind = type_name(r.dtype)
        found = (self.e.t(kind), self.e.const(identity(r.attr.kind, r.dtype), kind))
        self.e.lanes = 1
        return found

    def _typed(self, now: list[str]) -> list[tuple[str, str]]:
        return [(t, v) for (t, _), v in zip(self._carried(), now)]

    def _loop(self, level: int, starts: list[tuple[str, str]], sums: int) -> list[str]:
        """Long rows: a few chunks a turn, read again for every sweep."""

        def turn(i: str, state: list[str]) -> list[str]:
            i = i if self.kind == "i64" else self.e.ins(f"trunc i64 {i} to i32")
            for k in range(UNROLLED):
                self.chunks.pop(k, None)
                ahead = i if not k else self.op("add nsw", i, k)
                state = self._chunk(level, k, self.op("mul nsw", ahead, self.plan.width), state, sums)
            return state

        found = self.e.loop(("0", str(self.plan.chunks), UNROLLED), starts, turn)
        self.chunks.clear()
        return found

    def _reach(self, roots: list[Inst]) -> list[Inst]:
        seen: dict[int, Inst] = {}
        stack = list(roots)
        while stack:
            inst = stack.pop()
            if id(inst) not in seen:
                seen[id(inst)] = inst
                stack.extend(a for a in inst.args if self.plan.along(a))
        return list(seen.values())

    def _chunk(self, level: int, k: int, ahead: str, state: list[str], sums: int) -> list[str]:
        """The points of one access: ``ahead`` is how far along the row, from the thread's first column."""
        plan, e = self.plan, self.e
        reduces, stores = plan.levels[level]
        column = self.column if ahead == "0" else self.op("add nsw", self.column, ahead)
        valid, first = self._inside(column, ahead), ""
        if any(plan.once_a_row(r) for r in reduces):
            first = e.ins(f"icmp eq {self.kind} {column}, 0")
        if valid:
            self.clamped = True
            column = e.ins(f"select i1 {valid}, {self.kind} {column}, {self.kind} 0")
        self._coordinates(column, plan.inner)
        numbers, vectors = self.chunks.get(k, ({}, {}))
        self.values.numbers, self.values.vectors = {**self.row_numbers, **numbers}, vectors
        e.lanes = plan.lanes
        names = [self.values.vector(r.args[0]) for r in reduces]
        found = [(a, v, self.values.vector(v)) for a, v in stores]
        state = self._add(reduces, names, state, sums, k, (self.values.all([valid, self.live]), first))
        for access, value, name in found:
            self._store(access, value, name, valid)
        e.lanes = 1
        if plan.held:
            along = {id(i) for i in plan.insts if plan.along(i)}
            self.chunks[k] = {n: v for n, v in self.values.numbers.items() if n in along}, self.values.vectors
        return state

    def _inside(self, column: str, ahead: str) -> str:
        """A test that a chunk lies in the row; "" where all do."""
        plan = self.plan
        known = ahead.isdigit() and plan.tiles == 1
        if known and int(ahead) + plan.width <= plan.length:
            return ""
        if plan.tiles * plan.chunks * plan.width == plan.length and plan.held:
            return ""
        return self.e.ins(f"icmp slt {self.kind} {column}, {plan.length}")

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
                at = sums + self._slot(r, k)
            name = self._masked(r, name, tests[0])
            if plan.once_a_row(r):
                name = self._masked(r, self._first_lane(r, name), tests[1])
            state[at] = combine(self.e, r.attr.kind, r.dtype, state[at], name)
        return state

    def _slot(self, r: Inst, k: int) -> int:
        """Where an accumulator stands among all."""
        at = 0
        for other in self.plan.accumulators:
            if other is r:
                return at + (0 if self.plan.is_number(r) else k)
            at += 1 if self.plan.is_number(other) else self.plan.chunks
        raise AssertionError("no accumulator")

    def _first_lane(self, r: Inst, name: str) -> str:
        """The value in the first lane alone."""
        if self.plan.lanes == 1:
            return name
        kind, lanes = type_name(r.dtype), ", ".join(f"i1 {str(k == 0).lower()}" for k in range(self.plan.lanes))
        start = self.e.const(identity(r.attr.kind, r.dtype), kind)
        return self.e.ins(f"select {self.e.t('i1')} <{lanes}>, {self.e.t(kind)} {name}, {self.e.t(kind)} {start}")

    def _masked(self, r: Inst, name: str, test: str) -> str:
        if not test:
            return name
        kind = type_name(r.dtype)
        start = self.e.const(identity(r.attr.kind, r.dtype), kind)
        return self.e.ins(f"select i1 {test}, {self.e.t(kind)} {name}, {self.e.t(kind)} {start}")

    def _store(self, access: Access, value: Inst, name: str, valid: str) -> None:
        test = self.values.all([valid, self.live, self.values.first_only(access.strides, self.plan.outer)])
        walked = [d for d in self.plan.inner if access.strides[d] or self.kernel.sizes[d] == 1]
        if len(walked) < len(self.plan.inner):
            test = self.values.all([test, self.values.first_only(access.strides, self.plan.inner)])
        action = partial(self._put, access, value, name)
        self.e.when(test, action) if test else action()

    def _put(self, access: Access, value: Inst, name: str) -> None:
        if access.strides[-1] or self.plan.lanes == 1:
            self.values.store(access, value, name)
            return
        part = self.e.part(type_name(value.dtype), name, 0)
        lanes, self.e.lanes = self.e.lanes, 1
        self.e.write(value.dtype, part, self.values.place(access))
        self.e.lanes = lanes

    # ---- sums ----

    def _finish_local(self, local: list[Inst], parts: list[str]) -> None:
        """Sums of the row: lanes, then the team."""
        totals = self.team.totals([(r, self._across(r, v)) for r, v in zip(local, parts)], self.plan.team)
        self.row_numbers.update({id(r): t for r, t in zip(local, totals)})

    def _across(self, r: Inst, value: str) -> str:
        self.e.lanes = self.plan.lanes
        found = across(self.e, r.attr.kind, r.dtype, value)
        self.e.lanes = 1
        return found

    def _finish(self, state: list[str]) -> None:
        """Accumulators of the block: into the workspace, or made into results at once."""
        plan = self.plan
        if not plan.accumulators:
            return
        over = [r for r in plan.accumulators if plan.is_number(r)]
        block = plan.team * plan.teams
        totals = self.team.totals([(r, self._across(r, state[self._slot(r, 0)])) for r in over], block)
        self.values.numbers, self.values.vectors = {}, {}
        self.values.numbers.update({id(r): t for r, t in zip(over, totals)})
        first = self.e.ins(f"icmp eq {self.kind} {self.tid}, 0")
        if self.parts.needed:
            for r, total in zip(over, totals):
                share = self._share()
                self._keep(r, total, share, self.place, first)
        else:
            for access, value in plan.final_stores:
                if not plan.walks(access, value):
                    name = self.values.number(value)
                    test = self.values.all([first, self.values.first_only(access.strides, plan.kept)])
                    self._store_number(access, value, name, test)
        self._finish_columns(state)

    def _share(self) -> str:
        if self.plan.tiles == 1:
            return self.split
        if self.split == "0":
            return self.tile
        return self.op("add nsw", self.op("mul nsw", self.split, self.plan.tiles), self.tile)

    def _keep(self, r: Inst, name: str, share: str, point: str, test: str) -> None:
        """A part of a sum into the workspace."""
        pointer = self.parts.place(self.e, r, share, point)
        self.e.when(test, lambda: self.e.write(r.dtype, name, pointer))

    def _finish_columns(self, state: list[str]) -> None:
        """Accumulators that keep the row: teams are added up, the first team has the sums."""
        plan, e = self.plan, self.e
        columns = [r for r in plan.accumulators if not plan.is_number(r)]
        if not columns:
            return
        for k in range(plan.chunks):
            ahead = str(k * plan.width)
            column = self.column if ahead == "0" else self.op("add nsw", self.column, ahead)
            valid = self._inside(column, ahead)
            sums = [self.team.over_teams(r, state[self._slot(r, k)], plan) for r in columns]
            mine = e.ins(f"icmp eq {self.kind} {self.ty}, 0") if self.ty != "0" else ""
            test = self.values.all([valid, mine])
            store = partial(self._columns, columns, sums, column)
            e.when(test, store) if test else store()

    def _columns(self, columns: list[Inst], sums: list[str], column: str) -> None:
        plan, e = self.plan, self.e
        self._coordinates(column, plan.inner)
        e.lanes = plan.lanes
        if self.parts.needed:
            start = self.op("mul nsw", self.place, plan.length) if self.place != "0" else "0"
            point = column if start == "0" else self.op("add nsw", start, column)
            for r, name in zip(columns, sums):
                lanes, e.lanes = e.lanes, 1
                pointer = self.parts.place(e, r, self.split, point)
                e.lanes = lanes
                e.write(r.dtype, name, pointer)
        else:
            self.values.vectors = {id(r): s for r, s in zip(columns, sums)}
            self.values.numbers.update({} if plan.lanes > 1 else {id(r): s for r, s in zip(columns, sums)})
            found = [(a, v, self.values.vector(v)) for a, v in plan.final_stores if plan.walks(a, v)]
            self.live = ""
            for access, value, name in found:
                test = self.values.first_only(access.strides, plan.kept)
                action = partial(self._put, access, value, name)
                e.when(test, action) if test else action()
        e.lanes = 1
