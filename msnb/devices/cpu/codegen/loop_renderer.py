"""The loops of one thread: rows, sweeps along a row, accumulators.

    for row in begin..end                    mode "rows"; one pass over a part of the row in mode "range"
      values that the row does not change                                                      scalars
      sweep 0   for i: loads, arithmetic, partial reductions, stores of level 0                vectors of the last dim
      values made of the reductions                                                            scalars
      sweep 1   ...

The innermost loop works on vectors, written as such, so no pass has to discover them: a wide main part, a narrow rest.

    0 ............................ n - n % 64 ........... n         64 lanes are four registers in flight; the rest is
    |      64 lanes a turn        | 16 a turn, masked     |         masked, or one by one where the CPU has no masks

At every point all loads come before all stores, and a buffer is never read again once its element is stored: so an
operand may be the result's own memory (see ``plan.inplace``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msnb.core import dtypes
from msnb.devices.cpu.codegen.accumulator_epilogue import AccumulatorEpilogue, size_operand
from msnb.devices.cpu.codegen.kernel_schedule import BLOCK, FLUSHED, KernelSchedule, Scratch, Segment
from msnb.devices.llvm import Emitter, across, combine, emit, identity, literal, memory_name, type_name
from msnb.ir.kernel.kernel_ir import Access, Inst

Names = dict[int, str]


class Body:
    """The loops of one thread."""

    plan: KernelSchedule

    def __init__(self, plan: KernelSchedule) -> None:
        self.plan, self.kernel = plan, plan.kernel
        self.e: Emitter = Emitter(scalef=plan.target.scalef)
        self.row: Names = {}
        self.at: dict[int, str] = {}
        self.bases: dict[object, str] = {}
        self.pointers: dict[int, str] = {}
        for key in (*plan.scratch.accs, *plan.scratch.caches):
            self.pointers[key] = f"%s{len(self.pointers)}"
        self.wide: dict[int, str] = {key: f"%s{len(self.pointers) + i}" for i, key in enumerate(plan.scratch.wide)}

    def lines(self) -> list[str]:
        """The instructions of the body."""
        if self.plan.shared:
            self.e.loop(("%begin", "%end", 1), [], self._whole)
        else:
            self._begin_accumulators()
            self._rows("%begin", "%end")
        if self.plan.streams:
            self.e.act("llvm.x86.sse.sfence")
        self.e.do("ret void")
        return [*self.e.entry, *self.e.lines]

    # ---- places ----

    def size(self, n: int) -> str:
        """A size as an operand of instructions."""
        return size_operand(self.e, self.kernel, n)

    def index(self, strides: tuple[int, ...], dims: list[int], start: str) -> str:
        """start + sum of stride * counter."""
        for d in dims:
            if strides[d]:
                step = self.size(strides[d])
                term = self.at[d] if step == "1" else self.e.ins(f"mul nsw i64 {self.at[d]}, {step}")
                start = term if start == "0" else self.e.ins(f"add nsw i64 {start}, {term}")
        return start

    def base(self, key: object, kind: str, buffer: str, strides: tuple[int, ...], offset: int) -> str:
        """Where a buffer begins for this row."""
        if key not in self.bases:
            index = self.index(strides, self.plan.outer, self.size(offset))
            self.bases[key] = buffer if index == "0" else self.e.ins(f"getelementptr {kind}, ptr {buffer}, i64 {index}")
        return self.bases[key]

    def place(self, access: Access, dims: list[int]) -> str:
        """A pointer to an element of a buffer."""
        kind = memory_name(self.plan.kernel.buffers[access.buffer].dtype)
        base = self.base(access, kind, f"%b{access.buffer}", access.strides, access.offset)
        return self._moved(kind, base, access.strides, dims)

    def places(self, access: Access, dtype: dtypes.DType) -> str:
        """Pointers to the elements of the lanes, which are points along the last dim."""
        *before, d = self.plan.inner
        base, first = self.place(access, before), self.index(access.strides, [d], "0")
        step = access.strides[d]
        kind, steps = memory_name(dtype), self.e.steps(first, step if type(step) is int else self.size(step))
        return self.e.ins(f"getelementptr {kind}, ptr {base}, {self.e.t('i64')} {steps}")

    def kept(self, key: int, memory: Scratch, dims: list[int]) -> str:
        """A pointer to an element of scratch memory."""
        kind = memory_name(memory.dtype)
        base = self.base(key, kind, self.pointers[key], memory.strides, 0)
        return self._moved(kind, base, memory.strides, dims)

    def _moved(self, kind: str, base: str, strides: tuple[int, ...], dims: list[int]) -> str:
        index = self.index(strides, dims, "0")
        return base if index == "0" else self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {index}")

    # ---- a row ----

    def _whole(self, number: str, _: list[str]) -> list[str]:
        """All rows that are added up at one place of the shared dims, and what is made of the sums."""
        self._coordinates(number, self.plan.shared)
        self._begin_accumulators()
        self._rows("0", self.size(math.prod(self.kernel.sizes[d] for d in self.plan.turned)))
        AccumulatorEpilogue(self.plan, self.e, {d: self.at[d] for d in self.plan.shared}).stores()
        return []

    def _rows(self, begin: str, end: str) -> None:
        if self.wide:
            self.e.loop((begin, end, FLUSHED), [], partial(self._some_rows, end))
        elif self.plan.mode == "rows":
            self.e.loop((begin, end, 1), [], self._row)
        else:
            self._row(begin, [])

    def _row(self, number: str, _: list[str]) -> list[str]:
        if self.plan.mode == "rows":
            self._coordinates(number, self.plan.turned)
        for access, _value in self.kernel.stores:
            self.place(access, [])
        for inst in self.plan.insts:
            if inst.op == "load":
                self.place(inst.attr, [])
        for key, memory in (*self.plan.scratch.accs.items(), *self.plan.scratch.caches.items()):
            self.kept(key, memory, [])
        done: set[int] = set()
        for level in range(len(self.plan.sweeps.levels)):
            RowPass(self, level, done).run()
        for r in (r for r in self.plan.acc_insts if not self.plan.kernel.along(r.args[0])):
            self._add_to(r, self.value(r.args[0]))
        names = [self.value(value) for _, value in self.plan.sweeps.row_stores]
        for (access, value), name in zip(self.plan.sweeps.row_stores, names):
            store = partial(self._store, access, name, value)
            if self.plan.mode == "range":
                self.e.when(self.e.ins("icmp eq i64 %begin, 0"), store)
            else:
                self.guarded(access.strides, [], store)
        return []

    def _coordinates(self, number: str, dims: list[int]) -> None:
        for d in reversed(dims[1:]):
            size = self.size(self.kernel.sizes[d])
            self.at[d] = self.e.ins(f"urem i64 {number}, {size}")
            number = self.e.ins(f"udiv i64 {number}, {size}")
        self.at[dims[0]] = number

    def value(self, inst: Inst) -> str:
        """A value that does not change along the row."""
        if inst.op == "const":
            return literal(inst.attr, inst.dtype)
        stack = [inst]
        while stack and id(inst) not in self.row:
            top = stack[-1]
            missing = [a for a in top.args if a.op != "const" and id(a) not in self.row]
            if missing and top.op != "load":
                stack.extend(missing)
                continue
            stack.pop()
            if id(top) not in self.row:
                self.row[id(top)] = self._fresh(top)
        return self.row[id(inst)]

    def _fresh(self, inst: Inst) -> str:
        if inst.op == "load":
            return self.e.load(inst.dtype, self.place(inst.attr, []))
        return emit(self.e, inst, [self.value(a) for a in inst.args])

    def _store(self, access: Access, value: str, inst: Inst) -> None:
        self.e.store(inst.dtype, value, self.place(access, []))

    def guarded(self, strides: tuple[int, ...], inner: list[int], action: Callable[[], None]) -> None:
        """Run ``action`` only where the counters of dims that have no stride are 0: once, not for every turn."""
        dims = [d for d in (*self.plan.outer, *inner) if not strides[d] and self.kernel.sizes[d] > 1]
        tests = [self.e.ins(f"icmp eq i64 {self.at[d]}, 0") for d in dims]
        if not tests:
            action()
            return
        test = tests[0]
        for other in tests[1:]:
            test = self.e.ins(f"and i1 {test}, {other}")
        self.e.when(test, action)

    # ---- accumulators ----

    def _begin_accumulators(self) -> None:
        for r in self.plan.acc_insts:
            if id(r) in self.wide:
                self._clear(r, self.plan.scratch.wide[id(r)], self.wide[id(r)])
            else:
                self._clear(r, self.plan.scratch.accs[id(r)], self.pointers[id(r)])

    def _clear(self, r: Inst, memory: Scratch, base: str) -> None:
        lanes, kind = self.plan.target.lanes, memory_name(memory.dtype)
        self.e.lanes = lanes
        start = self.e.const(identity(r.attr.kind, memory.dtype), type_name(memory.dtype))

        def clear(i: str, _: list[str]) -> list[str]:
            self.e.store(memory.dtype, start, self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {i}"))
            return []

        self.e.loop(("0", self.size(memory.count), lanes), [], clear)
        self.e.lanes = 1

    def _some_rows(self, stop: str, start: str, _: list[str]) -> list[str]:
        """Rows whose sums are still short enough for float32."""
        long = [r for r in self.plan.acc_insts if id(r) in self.wide]
        for r in long:
            self._clear(r, self.plan.scratch.accs[id(r)], self.pointers[id(r)])
        end = self.e.smaller(self.e.i64("add nsw", start, FLUSHED), stop)
        self.e.loop((start, end, 1), [], self._row)
        for r in long:
            self._flush(r)
        return []

    def _flush(self, r: Inst) -> None:
        """float64 sum += float32 sum."""
        self.e.lanes = self.plan.target.lanes
        wide, short = self.e.t("double"), self.e.t("float")

        def add(i: str, _: list[str]) -> list[str]:
            source = self.e.ins(f"getelementptr float, ptr {self.pointers[id(r)]}, i64 {i}")
            target = self.e.ins(f"getelementptr double, ptr {self.wide[id(r)]}, i64 {i}")
            part = self.e.ins(f"fpext {short} {self.e.load(dtypes.float32, source)} to {wide}")
            total = self.e.ins(f"fadd {wide} {self.e.load(dtypes.float64, target)}, {part}")
            self.e.store(dtypes.float64, total, target)
            return []

        self.e.loop(("0", self.size(self.plan.scratch.accs[id(r)].count), self.e.lanes), [], add)
        self.e.lanes = 1

    def _add_to(self, r: Inst, value: str) -> None:
        """Combine a scalar (in the dtype of the accumulator) into an accumulator."""
        memory = self.plan.scratch.accs[id(r)]
        self.guard_sum(r, [], partial(self.add, r, value, memory, []))

    def guard_sum(self, r: Inst, dims: list[int], action: Callable[[], None]) -> None:
        """A value that lacks dims is added once; a maximum may be taken as often as one likes."""
        if r.attr.kind in ("sum", "prod") and self.plan.mode == "rows":
            reads = tuple(1 if d in r.args[0].dims else 0 for d in range(len(self.kernel.sizes)))
            self.guarded(reads, dims, action)
        else:
            action()

    def add(self, r: Inst, value: str, memory: Scratch, dims: list[int]) -> None:
        """accumulator = accumulator (+) value."""
        pointer = self.kept(id(r), memory, dims)
        old = self.e.load(memory.dtype, pointer)
        self.e.store(memory.dtype, combine(self.e, r.attr.kind, memory.dtype, old, value), pointer)


class RowPass:
    """One pass along the row."""

    plan: KernelSchedule
    reduces: list[Inst]
    stores: list[tuple[Access, Inst]]

    def __init__(self, body: Body, level: int, done: set[int]) -> None:
        self.body, self.plan, self.e, self.done, self.level = body, body.plan, body.e, done, level
        self.inner: list[int] = body.plan.inner
        self.reduces, self.stores = body.plan.sweeps.levels[level]
        self.over_row: list[Inst] = [r for r in self.reduces if r.attr.over >= body.kernel.row]
        self.over_outer: list[Inst] = [r for r in self.reduces if not r.attr.over >= body.kernel.row]
        self.insts: list[Inst] = self._needed()
        self.scalars: Names = {}
        self.mask = ""
        self.blocks: bool = bool(self.over_row) and body.kernel.sizes[self.inner[-1]] > BLOCK
        self.two: bool = self.blocks or len(self.inner) > 1

    def _needed(self) -> list[Inst]:
        """What is computed in this sweep; operands that only a kept value needed are left out."""
        insts = self.plan.sweeps.reach(self.level)
        needed = {id(v) for v in self.plan.sweeps.roots(self.level)}
        for inst in reversed(insts):
            if id(inst) in needed and not (id(inst) in self.plan.scratch.caches and id(inst) in self.done):
                needed.update(id(a) for a in inst.args)
        return [i for i in insts if id(i) in needed]

    def run(self) -> None:
        """Emit the loops."""
        for inst in self.insts:
            for a in inst.args:
                if not self.plan.kernel.along(a) and not self._is_kept(inst):
                    self.body.value(a)
        for _, value in self.stores:
            if not self.plan.kernel.along(value):
                self.body.value(value)
        self._finish(self._nest(0, [""] * len(self.over_row)))

    def _is_kept(self, inst: Inst) -> bool:
        return id(inst) in self.plan.scratch.caches and id(inst) in self.done

    # ---- loops ----

    def _depth(self, dims: frozenset[int]) -> int:
        """The deepest loop that changes what depends on these dims; -1 for none."""
        return max((k for k, d in enumerate(self.inner) if d in dims), default=-1)

    def _nest(self, depth: int, totals: list[str]) -> list[str]:
        """The loops from ``depth`` on; ``totals`` are the reductions so far, as scalars ("" before the first)."""
        d = self.inner[depth]
        ranged = self.plan.mode == "range" and depth == 0
        low, high = ("%begin", "%end") if ranged else ("0", self.body.size(self.body.kernel.sizes[d]))
        if depth < len(self.inner) - 1:

            def deeper(i: str, now: list[str]) -> list[str]:
                self.body.at[d] = i
                outside = dict(self.scalars)
                self._scalars(depth)
                now = self._nest(depth + 1, now)
                self._scalar_stores(depth)
                self.scalars = outside
                return now

            return self.e.loop((low, high, 1), self._carried(totals), deeper)
        if self.blocks:
            return self.e.loop((low, high, BLOCK), self._carried(totals), partial(self._block, high))
        return self._innermost(low, high, totals)

    def _block(self, high: str, start: str, totals: list[str]) -> list[str]:
        return self._innermost(start, self.e.smaller(self.e.i64("add nsw", start, BLOCK), high), totals)

    def _carried(self, totals: list[str]) -> list[tuple[str, str]]:
        held = [(self._total_dtype(r), r, t) for r, t in zip(self.over_row, totals)]
        return [(type_name(dtype), t or identity(r.attr.kind, dtype)) for dtype, r, t in held]

    def _total_dtype(self, r: Inst) -> dtypes.DType:
        """Sums in float32 are carried on in float64 from block to block."""
        return self.plan.carried(r) if self.two or id(r) in self.plan.scratch.accs else r.dtype

    def _innermost(self, low: str, high: str, totals: list[str]) -> list[str]:
        d = self.inner[-1]
        size = None if low != "0" or not high.isdigit() else int(high)
        for segment in self.plan.segments(self.level, size):
            low, stop = self._bounds(segment, low, high)
            self.e.lanes = segment.lanes
            wide = self._splats()
            starts = [(self.e.t(type_name(r.dtype)), self._identity(r)) for r in self.over_row]

            def turn(i: str, now: list[str], lanes: int = segment.lanes, masked: bool = segment.masked,
                     wide: Names = wide, stop: str = stop) -> list[str]:  # fmt: skip
                self.e.lanes = lanes
                self.body.at[d] = i
                self.mask = self._mask(i, stop) if masked else ""
                found = self._point(dict(wide), now)
                self.e.lanes = 1
                return found

            if segment.once:
                found = turn(low, [first for _, first in starts])
            else:
                self.e.lanes = 1
                found = self.e.loop((low, stop, segment.lanes), starts, turn)
            self.e.lanes = segment.lanes
            parts = [across(self.e, r.attr.kind, r.dtype, x) for r, x in zip(self.over_row, found)]
            self.e.lanes = 1
            totals = [self._joined(*each) for each in zip(self.over_row, totals, parts)]
            low = stop
        return totals

    def _identity(self, r: Inst) -> str:
        return self.e.const(identity(r.attr.kind, r.dtype), type_name(r.dtype))

    def _bounds(self, segment: Segment, low: str, high: str) -> tuple[str, str]:
        """Where a segment begins and ends; the main part ends at a whole number of turns."""
        if segment.bounds is not None:
            return str(segment.bounds[0]), str(segment.bounds[1])
        if segment.last:
            return low, high
        length = self.e.ins(f"sub i64 {high}, {low}")
        whole = self.e.ins(f"and i64 {length}, {-segment.lanes}")
        return low, self.e.ins(f"add i64 {low}, {whole}")

    def _mask(self, i: str, stop: str) -> str:
        left = self.e.ins(f"sub i64 {stop}, {i}")
        short = self.e.ins(f"trunc i64 {self.e.smaller(left, '64')} to i32")
        numbers = ", ".join(f"i32 {k}" for k in range(self.e.lanes))
        return self.e.ins(f"icmp slt {self.e.t('i32')} <{numbers}>, {self.e.splat('i32', short)}")

    def _joined(self, r: Inst, total: str, part: str) -> str:
        dtype = self._total_dtype(r)
        if dtype is not r.dtype:
            part = self.e.ins(f"fpext float {part} to double")
        return combine(self.e, r.attr.kind, dtype, total, part) if total else part

    def _finish(self, totals: list[str]) -> None:
        self.done.update(id(i) for i in self.insts if id(i) in self.plan.scratch.caches)
        for r, total in zip(self.over_row, totals):
            if id(r) in self.plan.scratch.accs:
                self.body._add_to(r, total)
            else:
                carried = self._total_dtype(r) is not r.dtype
                self.body.row[id(r)] = self.e.ins(f"fptrunc double {total} to float") if carried else total

    # ---- scalars of loops that are not the innermost ----

    def _scalars(self, depth: int) -> None:
        for inst in self.insts:
            if self._depth(inst.dims) == depth and id(inst) not in self.scalars:
                self.scalars[id(inst)] = self._scalar(inst, self.inner[: depth + 1])

    def _scalar(self, inst: Inst, dims: list[int]) -> str:
        if inst.op == "load":
            return self.e.load(inst.dtype, self.body.place(inst.attr, dims))
        return emit(self.e, inst, [self._one(a) for a in inst.args])

    def _one(self, inst: Inst) -> str:
        return self.scalars[id(inst)] if id(inst) in self.scalars else self.body.value(inst)

    def _scalar_stores(self, depth: int) -> None:
        dims = self.inner[: depth + 1]
        for r in self.over_outer:
            if self._depth(r.args[0].dims) == depth:
                memory, name = self.plan.scratch.accs[id(r)], self._one(r.args[0])
                self.body.guard_sum(r, dims, partial(self.body.add, r, name, memory, dims))
        for access, value in self.stores:
            if self._store_depth(access, value) == depth:
                place = partial(self.body.place, access, dims)
                store = partial(self._store_scalar, value, self._one(value), place)
                self.body.guarded(access.strides, dims, store)

    def _store_scalar(self, value: Inst, name: str, place: Callable[[], str]) -> None:
        self.e.store(value.dtype, name, place())

    def _store_depth(self, access: Access, value: Inst) -> int:
        walked = frozenset(d for d in self.inner if access.strides[d])
        return self._depth(walked | value.dims)

    # ---- vectors ----

    def _splats(self) -> Names:
        """What the innermost loop reads and does not change, in all lanes."""
        wide: Names = {}
        vectors = [i for i in self.insts if self._is_vector(i) and not self._is_kept(i)]
        readers = [a for i in vectors for a in i.args] + self.plan.sweeps.roots(self.level)
        for a in readers:
            if a.op != "const" and not self._is_vector(a) and id(a) not in wide:
                wide[id(a)] = self.e.splat(type_name(a.dtype), self._one(a))
        return wide

    def _is_vector(self, inst: Inst) -> bool:
        return self.inner[-1] in inst.dims

    def _point(self, names: Names, now: list[str]) -> list[str]:
        """Everything at some neighbouring points of the row."""
        for inst in self.insts:
            if self._is_vector(inst):
                names[id(inst)] = self._compute(inst, names)
        found = [self._into(r, old, self._of(r.args[0], names)) for r, old in zip(self.over_row, now)]
        last = len(self.inner) - 1
        for r in self.over_outer:
            if self._depth(r.args[0].dims) == last:
                name, memory = self._of(r.args[0], names), self.plan.scratch.accs[id(r)]
                self.body.guard_sum(r, self.inner[:-1], partial(self.body.add, r, name, memory, self.inner))
        for access, value in self.stores:
            if self._store_depth(access, value) == last:
                store = partial(self._store, access, self._of(value, names), value)
                self.body.guarded(access.strides, self.inner[:-1], store)
        return found

    def _of(self, inst: Inst, names: Names) -> str:
        return self.e.literal(inst.attr, inst.dtype) if inst.op == "const" else names[id(inst)]

    def _compute(self, inst: Inst, names: Names) -> str:
        memory = self.plan.scratch.caches.get(id(inst))
        if memory is not None and id(inst) in self.done:
            return self.e.load(memory.dtype, self.body.kept(id(inst), memory, self.inner))
        if inst.op == "load":
            return self._load(inst)
        value = emit(self.e, inst, [self._of(a, names) for a in inst.args])
        if memory is not None:
            self.e.store(memory.dtype, value, self.body.kept(id(inst), memory, self.inner))
        return value

    def _load(self, inst: Inst) -> str:
        access: Access = inst.attr
        if access.strides[self.inner[-1]] == 1 or self.e.lanes == 1:
            return self.e.load(inst.dtype, self.body.place(access, self.inner), self.mask)
        return self.e.gather(inst.dtype, self.body.places(access, inst.dtype), self.mask)

    def _store(self, access: Access, name: str, value: Inst) -> None:
        stride = access.strides[self.inner[-1]]
        if access in self.plan.streams and self.e.lanes > 1 and not self.mask:
            self._stream(name, value, self.body.place(access, self.inner))
        elif stride == 1 or self.e.lanes == 1:
            self.e.store(value.dtype, name, self.body.place(access, self.inner), self.mask)
        else:
            self.e.scatter(value.dtype, name, self.body.places(access, value.dtype), self.mask)

    def _stream(self, name: str, value: Inst, pointer: str) -> None:
        """Past the caches where the memory allows it: nothing is fetched that will be overwritten as a whole."""
        past = partial(self.e.store, value.dtype, name, pointer, align=64, stream=True)
        self.e.when("%stream", past, partial(self.e.store, value.dtype, name, pointer))

    def _into(self, r: Inst, old: str, value: str) -> str:
        """A step of a reduction; lanes beyond the end keep what they had."""
        t = self.e.t(type_name(r.dtype))
        if self.mask:
            value = self.e.ins(f"select {self.e.t('i1')} {self.mask}, {t} {value}, {t} {self._identity(r)}")
        return combine(self.e, r.attr.kind, r.dtype, old, value)
