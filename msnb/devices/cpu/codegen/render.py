"""The loops of one thread: rows, sweeps along a row, accumulators.

    for row in begin..end                    mode "rows"; one pass over a part of the row in mode "range"
      values that the row does not change
      sweep 0   for i: loads, arithmetic, partial reductions, stores of level 0
      values made of the reductions
      sweep 1   ...

Buffers are parameters marked ``noalias`` (results are fresh memory), which is what lets LLVM vectorise. Counters and
partial results live in ``alloca`` variables; LLVM turns them into registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msnb.core import dtypes
from msnb.devices.cpu.codegen.emit import Emitter, literal, memory_name, type_name
from msnb.devices.cpu.codegen.ops import combine, emit, identity
from msnb.devices.cpu.codegen.plan import BLOCK, Plan, Scratch
from msnb.ir.kernel import Access, Inst

Names = dict[int, str]


class Body:
    """The loops of one thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.kernel = plan, plan.kernel
        self.e = Emitter()
        self.row: Names = {}
        self.at: dict[int, str] = {}
        self.bases: dict[object, str] = {}
        self.pointers: dict[int, str] = {}
        for key in (*plan.accs, *plan.caches):
            self.pointers[key] = f"%s{len(self.pointers)}"

    def lines(self) -> list[str]:
        """The instructions of the body."""
        self._begin_accumulators()
        if self.plan.mode == "rows":
            with_loop(self.e, "%begin", "%end", self._row)
        else:
            self._row("%begin")
        self.e.do("ret void")
        return [*self.e.entry, *self.e.lines]

    # ---- places -----------------------------------------------------------------------------------------------------

    def _index(self, strides: tuple[int, ...], dims: list[int], start: str) -> str:
        """start + sum of stride * counter."""
        for d in dims:
            if strides[d]:
                term = self.at[d] if strides[d] == 1 else self.e.ins(f"mul nsw i64 {self.at[d]}, {strides[d]}")
                start = term if start == "0" else self.e.ins(f"add nsw i64 {start}, {term}")
        return start

    def _base(self, key: object, strides: tuple[int, ...], offset: int) -> str:
        """The part of an index that a row does not change."""
        if key not in self.bases:
            self.bases[key] = self._index(strides, self.plan.outer, str(offset))
        return self.bases[key]

    def _address(self, access: Access, dims: list[int]) -> str:
        index = self._index(access.strides, dims, self._base(access, access.strides, access.offset))
        buffers = [*self.kernel.reads, *self.kernel.writes]
        kind = memory_name(buffers[access.buffer].dtype)
        return self.e.ins(f"getelementptr {kind}, ptr %b{access.buffer}, i64 {index}")

    def _place(self, key: int, memory: Scratch, dims: list[int]) -> str:
        index = self._index(memory.strides, dims, self._base(key, memory.strides, 0))
        return self.e.ins(f"getelementptr {memory_name(memory.dtype)}, ptr {self.pointers[key]}, i64 {index}")

    # ---- a row ------------------------------------------------------------------------------------------------------

    def _row(self, number: str) -> None:
        if self.plan.mode == "rows":
            self._coordinates(number)
        for access, _ in self.kernel.stores:
            self._base(access, access.strides, access.offset)
        for inst in self.plan.insts:
            if inst.op == "load":
                self._base(inst.attr, inst.attr.strides, inst.attr.offset)
        for key, memory in (*self.plan.accs.items(), *self.plan.caches.items()):
            self._base(key, memory.strides, 0)
        done: set[int] = set()
        for level in range(len(self.plan.levels)):
            Sweep(self, level, done).run()
        for r in self.plan.row_accs:
            self._add_to(r, self._value(r.args[0]), [])
        for access, value in self.plan.row_stores:
            name = self._value(value)
            self.guarded(access.strides, partial(self._store, access, name, value, []))

    def _coordinates(self, number: str) -> None:
        for d in reversed(self.plan.outer[1:]):
            size = self.kernel.sizes[d]
            self.at[d] = self.e.ins(f"urem i64 {number}, {size}")
            number = self.e.ins(f"udiv i64 {number}, {size}")
        self.at[self.plan.outer[0]] = number

    def _value(self, inst: Inst) -> str:
        """A value that does not change along the row."""
        if inst.op == "const":
            return literal(inst.attr, inst.dtype)
        if id(inst) not in self.row:
            stack = [inst]
            while stack:
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
            return self.e.load(inst.dtype, self._address(inst.attr, []))
        return emit(self.e, inst, [self._value(a) for a in inst.args])

    def _store(self, access: Access, value: str, inst: Inst, dims: list[int]) -> None:
        self.e.store(inst.dtype, value, self._address(access, dims))

    def guarded(self, strides: tuple[int, ...], action: Callable[[], None], extra: tuple[int, ...] = ()) -> None:
        """Run ``action`` only where the counters of dims that have no stride are 0: once, not for every iteration."""
        dims = [d for d in (*self.plan.outer, *extra) if not strides[d] and self.kernel.sizes[d] > 1]
        if self.plan.mode == "range" and not extra:
            tests = [self.e.ins("icmp eq i64 %begin, 0")]
        else:
            tests = [self.e.ins(f"icmp eq i64 {self.at[d]}, 0") for d in dims]
        if not tests:
            action()
            return
        test = tests[0]
        for other in tests[1:]:
            test = self.e.ins(f"and i1 {test}, {other}")
        then, after = self.e.name("then"), self.e.name("after")
        self.e.do(f"br i1 {test}, label %{then}, label %{after}")
        self.e.label(then)
        action()
        self.e.do(f"br label %{after}")
        self.e.label(after)

    # ---- accumulators -----------------------------------------------------------------------------------------------

    def _begin_accumulators(self) -> None:
        for r in self.plan.acc_insts:
            memory = self.plan.accs[id(r)]
            start = identity(r.attr.kind, memory.dtype)

            def clear(i: str, r: Inst = r, memory: Scratch = memory, start: str = start) -> None:
                pointer = self.e.ins(f"getelementptr {memory_name(memory.dtype)}, ptr {self.pointers[id(r)]}, i64 {i}")
                self.e.store(memory.dtype, start, pointer)

            with_loop(self.e, "0", str(memory.count), clear)

    def _add_to(self, r: Inst, value: str, dims: list[int]) -> None:
        """Combine a value (in the dtype of the reduction or of its memory) into an accumulator."""
        memory = self.plan.accs[id(r)]

        def add() -> None:
            pointer = self._place(id(r), memory, dims)
            old = self.e.load(memory.dtype, pointer)
            self.e.store(memory.dtype, combine(self.e, r.attr.kind, memory.dtype, old, value), pointer)

        if r.attr.kind in ("sum", "prod"):
            reads = tuple(1 if d in r.args[0].dims else 0 for d in range(len(self.kernel.sizes)))
            self.guarded(reads, add, tuple(dims)) if self.plan.mode == "rows" else add()
        else:
            add()


class Sweep:
    """One pass along the row."""

    def __init__(self, body: Body, level: int, done: set[int]) -> None:
        self.body, self.plan, self.e, self.done = body, body.plan, body.e, done
        self.reduces, self.stores = body.plan.levels[level]
        self.insts = body.plan.reach(body.plan.roots(level))
        self.over_row = [r for r in self.reduces if r.attr.over >= body.kernel.row]
        self.over_outer = [r for r in self.reduces if not r.attr.over >= body.kernel.row]
        self.short: Names = {}
        self.long: Names = {}

    def run(self) -> None:
        """Emit the loops."""
        body, inner = self.body, self.plan.inner
        for inst in self.insts:
            for a in inst.args:
                if not self.plan.along(a):
                    body._value(a)
        for _, value in self.stores:
            if not self.plan.along(value):
                body._value(value)
        extent = body.kernel.sizes[inner[-1]]
        self.blocks = extent > BLOCK and bool(self.over_row)
        self.two = self.blocks or len(inner) > 1
        for r in self.over_row:
            self._variables(r)
        self._nest(list(inner))
        self._finish()

    def _variables(self, r: Inst) -> None:
        kind = type_name(r.dtype)
        self.short[id(r)] = self.e.alloca(kind)
        self.e.do(f"store {kind} {identity(r.attr.kind, r.dtype)}, ptr {self.short[id(r)]}")
        if self._carries(r):
            self.long[id(r)] = self.e.alloca("double")
            self.e.do(f"store double {identity(r.attr.kind, dtypes.float64)}, ptr {self.long[id(r)]}")

    def _carries(self, r: Inst) -> bool:
        return self.two and self.plan.carried(r) is not r.dtype

    def _nest(self, dims: list[int]) -> None:
        d = dims[0]
        ranged = self.plan.mode == "range" and d == self.plan.inner[0]
        low, high = ("%begin", "%end") if ranged else ("0", str(self.body.kernel.sizes[d]))
        if len(dims) > 1:

            def deeper(i: str) -> None:
                self.body.at[d] = i
                self._nest(dims[1:])

            with_loop(self.e, low, high, deeper)
        elif self.blocks:
            with_loop(self.e, low, high, lambda start: self._block(d, start, high), BLOCK)
        else:
            self._innermost(d, low, high)

    def _block(self, d: int, start: str, high: str) -> None:
        end = self.e.ins(f"add nsw i64 {start}, {BLOCK}")
        end = self.e.call("llvm.smin.i64", "i64", ("i64", end), ("i64", high))
        self._innermost(d, start, end)

    def _innermost(self, d: int, low: str, high: str) -> None:
        def point(i: str) -> None:
            self.body.at[d] = i
            self._point()

        with_loop(self.e, low, high, point)
        for r in self.over_row:
            if self._carries(r):
                self._carry(r)

    def _carry(self, r: Inst) -> None:
        """A block is done: on with the sum in float64."""
        part = self.e.ins(f"load float, ptr {self.short[id(r)]}")
        wide = self.e.ins(f"fpext float {part} to double")
        old = self.e.ins(f"load double, ptr {self.long[id(r)]}")
        self.e.do(f"store double {combine(self.e, r.attr.kind, dtypes.float64, old, wide)}, ptr {self.long[id(r)]}")
        self.e.do(f"store float {identity(r.attr.kind, r.dtype)}, ptr {self.short[id(r)]}")

    def _point(self) -> None:
        """Everything at one point of the row."""
        body, names = self.body, dict[int, str]()
        skipped = self._skipped()
        for inst in self.insts:
            if id(inst) not in skipped:
                names[id(inst)] = self._compute(inst, names)
        for r in self.over_row:
            self._into(r, self._of(r.args[0], names))
        for r in self.over_outer:
            body._add_to(r, self._of(r.args[0], names), self.plan.inner)
        for access, value in self.stores:
            name = self._of(value, names)
            body.guarded(
                access.strides,
                partial(body._store, access, name, value, self.plan.inner),
                tuple(self.plan.inner),
            )

    def _skipped(self) -> set[int]:
        """Operands that only a kept value needed."""
        needed = {id(r.args[0]) for r in self.reduces} | {id(v) for _, v in self.stores}
        for inst in reversed(self.insts):
            if id(inst) in needed and not (id(inst) in self.plan.caches and id(inst) in self.done):
                needed.update(id(a) for a in inst.args)
        return {id(i) for i in self.insts} - needed

    def _of(self, inst: Inst, names: Names) -> str:
        return names[id(inst)] if id(inst) in names else self.body._value(inst)

    def _compute(self, inst: Inst, names: Names) -> str:
        memory = self.plan.caches.get(id(inst))
        if memory is not None and id(inst) in self.done:
            return self.e.load(memory.dtype, self.body._place(id(inst), memory, self.plan.inner))
        if inst.op == "load":
            return self.e.load(inst.dtype, self.body._address(inst.attr, self.plan.inner))
        value = emit(self.e, inst, [self._of(a, names) for a in inst.args])
        if memory is not None:
            self.e.store(memory.dtype, value, self.body._place(id(inst), memory, self.plan.inner))
        return value

    def _into(self, r: Inst, value: str) -> None:
        kind = type_name(r.dtype)
        old = self.e.ins(f"load {kind}, ptr {self.short[id(r)]}")
        self.e.do(f"store {kind} {combine(self.e, r.attr.kind, r.dtype, old, value)}, ptr {self.short[id(r)]}")

    def _finish(self) -> None:
        self.done.update(k for k in self.plan.caches if any(id(i) == k for i in self.insts))
        for r in self.over_row:
            carried = self._carries(r)
            kind, held = ("double", self.long) if carried else (type_name(r.dtype), self.short)
            name = self.e.ins(f"load {kind}, ptr {held[id(r)]}")
            if id(r) in self.plan.accs:
                self.body._add_to(r, self._widened(r, name, carried), [])
            else:
                self.body.row[id(r)] = self.e.ins(f"fptrunc double {name} to float") if carried else name

    def _widened(self, r: Inst, name: str, carried: bool) -> str:
        wide = self.plan.accs[id(r)].dtype is not r.dtype
        return self.e.ins(f"fpext float {name} to double") if wide and not carried else name


def with_loop(e: Emitter, low: str, high: str, body: Callable[[str], None], step: int = 1) -> None:
    """for i in range(low, high, step): body(i)."""
    counter = e.alloca("i64")
    head, inside, after = e.name("head"), e.name("loop"), e.name("done")
    e.do(f"store i64 {low}, ptr {counter}")
    e.do(f"br label %{head}")
    e.label(head)
    i = e.ins(f"load i64, ptr {counter}")
    e.do(f"br i1 {e.ins(f'icmp slt i64 {i}, {high}')}, label %{inside}, label %{after}")
    e.label(inside)
    body(i)
    e.do(f"store i64 {e.ins(f'add nsw i64 {i}, {step}')}, ptr {counter}")
    e.do(f"br label %{head}")
    e.label(after)
