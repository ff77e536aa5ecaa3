"""A kernel as LLVM functions.

    k.body(buffers..., scratch..., begin, end)      the loops over rows begin..end, for one thread
    k.last(buffers..., scratch, threads)            adds up the accumulators of all threads and stores them
    k.part(task)                                    what a thread runs: finds its share, calls the body
    k(threads, scratch, objects...)                 what Python calls: array objects in, the data pointers are read from them

Pointers are parameters marked ``noalias`` (results are fresh memory), which is what lets LLVM vectorise. ``@msnb_parallel``
and ``@msnb_thread`` are set once after loading: libgomp's, or null for serial work.
"""

from __future__ import annotations

from msnb.core import dtypes
from msnb.devices.cpu.codegen.emit import Emitter, literal, memory_name, type_name
from msnb.devices.cpu.codegen.ops import combine, emit, identity
from msnb.devices.cpu.codegen.plan import BLOCK, Plan, Scratch
from msnb.ir.kernel import Access, Inst, Kernel

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

    # ---- places -------------------------------------------------------------------------------------------------------

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

    # ---- a row --------------------------------------------------------------------------------------------------------

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
            self.guarded(access.strides, lambda a=access, v=value, n=name: self._store(a, n, v, []))  # type: ignore[misc]

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

    def guarded(self, strides: tuple[int, ...], action: object, extra: tuple[int, ...] = (), free: frozenset[int] = frozenset()) -> None:
        """Run ``action`` only where the counters of dims that have no stride are 0: once, not for every iteration."""
        dims = [d for d in (*self.plan.outer, *extra) if not strides[d] and d not in free and self.kernel.sizes[d] > 1]
        if self.plan.mode == "range" and not extra:
            tests = [self.e.ins("icmp eq i64 %begin, 0")]
        else:
            tests = [self.e.ins(f"icmp eq i64 {self.at[d]}, 0") for d in dims]
        if not tests:
            action()  # type: ignore[operator]
            return
        test = tests[0]
        for other in tests[1:]:
            test = self.e.ins(f"and i1 {test}, {other}")
        then, after = self.e.name("then"), self.e.name("after")
        self.e.do(f"br i1 {test}, label %{then}, label %{after}")
        self.e.label(then)
        action()  # type: ignore[operator]
        self.e.do(f"br label %{after}")
        self.e.label(after)

    # ---- accumulators -------------------------------------------------------------------------------------------------

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
            self.guarded(reads, add, tuple(dims), frozenset()) if self.plan.mode == "rows" else add()
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
                lambda a=access, v=value, n=name: body._store(a, n, v, self.plan.inner),  # type: ignore[misc]
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
            name = self.e.ins(f"load {'double' if carried else type_name(r.dtype)}, ptr {(self.long if carried else self.short)[id(r)]}")
            if id(r) in self.plan.accs:
                self.body._add_to(r, self._widened(r, name, carried), [])
            else:
                self.body.row[id(r)] = self.e.ins(f"fptrunc double {name} to float") if carried else name

    def _widened(self, r: Inst, name: str, carried: bool) -> str:
        wide = self.plan.accs[id(r)].dtype is not r.dtype
        return self.e.ins(f"fpext float {name} to double") if wide and not carried else name


def with_loop(e: Emitter, low: str, high: str, body: object, step: int = 1) -> None:
    """for i in range(low, high, step): body(i)."""
    counter = e.alloca("i64")
    head, inside, after = e.name("head"), e.name("loop"), e.name("done")
    e.do(f"store i64 {low}, ptr {counter}")
    e.do(f"br label %{head}")
    e.label(head)
    i = e.ins(f"load i64, ptr {counter}")
    e.do(f"br i1 {e.ins(f'icmp slt i64 {i}, {high}')}, label %{inside}, label %{after}")
    e.label(inside)
    body(i)  # type: ignore[operator]
    e.do(f"store i64 {e.ins(f'add nsw i64 {i}, {step}')}, ptr {counter}")
    e.do(f"br label %{head}")
    e.label(after)


# ---- around the body ---------------------------------------------------------------------------------------------------


class Last:
    """Adds up accumulators and stores what was made of them."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.kernel, self.e = plan, plan.kernel, Emitter()

    def lines(self) -> list[str]:
        """The instructions."""
        for access, value in self.plan.final_stores:
            self._nest(access, value, [d for d, s in enumerate(access.strides) if s], {})
        self.e.do("ret void")
        return [*self.e.entry, *self.e.lines]

    def _nest(self, access: Access, value: Inst, dims: list[int], at: dict[int, str]) -> None:
        if dims:
            size = str(self.kernel.sizes[dims[0]])
            with_loop(self.e, "0", size, lambda i: self._nest(access, value, dims[1:], {**at, dims[0]: i}))
            return
        kind = memory_name(value.dtype)
        pointer = self.e.ins(f"getelementptr {kind}, ptr %b{access.buffer}, i64 {self._index(access.strides, at)}")
        self.e.store(value.dtype, self._value(value, at), pointer)

    def _index(self, strides: tuple[int, ...], at: dict[int, str]) -> str:
        total = "0"
        for d, i in at.items():
            if strides[d]:
                term = self.e.ins(f"mul nsw i64 {i}, {strides[d]}")
                total = self.e.ins(f"add nsw i64 {total}, {term}")
        return total

    def _value(self, inst: Inst, at: dict[int, str]) -> str:
        if inst.op == "const":
            return literal(inst.attr, inst.dtype)
        if id(inst) in self.plan.accs:
            return self._sum(inst, at)
        return emit(self.e, inst, [self._value(a, at) for a in inst.args])

    def _sum(self, inst: Inst, at: dict[int, str]) -> str:
        memory = self.plan.accs[id(inst)]
        kind = memory_name(memory.dtype)
        held = self.e.alloca(kind)
        self.e.store(memory.dtype, identity(inst.attr.kind, memory.dtype), held)
        index = self._index(memory.strides, at)

        def one(t: str) -> None:
            skip = self.e.ins(f"mul nsw i64 {t}, {self.plan.scratch}")
            start = self.e.ins(f"add nsw i64 {skip}, {memory.offset}")
            base = self.e.ins(f"getelementptr i8, ptr %scratch, i64 {start}")
            found = self.e.load(memory.dtype, self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {index}"))
            old = self.e.load(memory.dtype, held)
            self.e.store(memory.dtype, combine(self.e, inst.attr.kind, memory.dtype, old, found), held)

        with_loop(self.e, "0", "%threads", one)
        total = self.e.load(memory.dtype, held)
        return total if memory.dtype is inst.dtype else self.e.cast(total, memory.dtype, inst.dtype)


def render(kernel: Kernel, symbol: str, data_offset: int, attributes: str) -> tuple[str, dict[str, str], Plan]:
    """The functions of a kernel as text, the declarations they need, and the plan."""
    plan = Plan(kernel)
    body, last = Body(plan), Last(plan)
    n = len(kernel.reads) + len(kernel.writes)
    memories = [*plan.accs.values(), *plan.caches.values()]
    buffers = ", ".join(f"ptr noalias %b{i}" for i in range(n))
    scratch = "".join(f", ptr noalias %s{i}" for i in range(len(memories)))
    parts = [
        _function(f"internal void @{symbol}.body({buffers}{scratch}, i64 %begin, i64 %end)", body.lines(), f"noinline {attributes}"),
        _function(f"internal void @{symbol}.last({buffers}, ptr %scratch, i64 %threads)", last.lines(), f"noinline {attributes}"),
        _part(symbol, plan, n, memories, attributes),
        _entry(symbol, plan, n, data_offset, attributes),
    ]
    return "\n".join(parts), {**body.e.declared, **last.e.declared}, plan


def _function(head: str, lines: list[str], attributes: str) -> str:
    return "\n".join([f"define {head} {attributes} {{", "entry:", *lines, "}"])


def _part(symbol: str, plan: Plan, n: int, memories: list[Scratch], attributes: str) -> str:
    """task = { table of pointers, scratch, threads }: thread t takes rows [t total / threads, (t + 1) total / threads)."""
    e = Emitter()
    table = e.ins("load ptr, ptr %task")
    scratch = e.ins(f"load ptr, ptr {e.ins('getelementptr i8, ptr %task, i64 8')}")
    threads = e.ins(f"load i64, ptr {e.ins('getelementptr i8, ptr %task, i64 16')}")
    ends = [e.ins(f"udiv i64 {e.ins(f'mul i64 {t}, {plan.total}')}, {threads}") for t in ("%t", e.ins("add i64 %t, 1"))]
    mine = e.ins(f"getelementptr i8, ptr {scratch}, i64 {e.ins(f'mul i64 %t, {plan.scratch}')}")
    args = [f"ptr {e.ins(f'load ptr, ptr ' + e.ins(f'getelementptr ptr, ptr {table}, i64 {i}'))}" for i in range(n)]
    args += [f"ptr {e.ins(f'getelementptr i8, ptr {mine}, i64 {m.offset}')}" for m in memories]
    e.do(f"call void @{symbol}.body({', '.join([*args, f'i64 {ends[0]}', f'i64 {ends[1]}'])})")
    e.do("ret void")
    share = _function(f"internal void @{symbol}.share(ptr %task, i64 %t)", e.lines, f"noinline {attributes}")
    e = Emitter()
    which = e.ins("load ptr, ptr @msnb_thread")
    t = e.ins(f"sext i32 {e.ins(f'call i32 {which}()')} to i64")
    e.do(f"call void @{symbol}.share(ptr %task, i64 {t})")
    e.do("ret void")
    return share + "\n" + _function(f"internal void @{symbol}.part(ptr %task)", e.lines, attributes)


def _entry(symbol: str, plan: Plan, n: int, data_offset: int, attributes: str) -> str:
    e = Emitter()
    table, task = e.alloca(f"[{max(n, 1)} x ptr]"), e.alloca("[3 x i64]")
    pointers = []
    for i in range(n):
        found = e.ins(f"load ptr, ptr {e.ins(f'getelementptr i8, ptr %o{i}, i64 {data_offset}')}")
        pointers.append(found)
        e.do(f"store ptr {found}, ptr {e.ins(f'getelementptr ptr, ptr {table}, i64 {i}')}")
    e.do(f"store ptr {table}, ptr {task}")
    scratch = e.ins(f"load ptr, ptr {e.ins(f'getelementptr i8, ptr %memory, i64 {data_offset}')}")
    e.do(f"store ptr {scratch}, ptr {e.ins(f'getelementptr i8, ptr {task}, i64 8')}")
    e.do(f"store i64 %threads, ptr {e.ins(f'getelementptr i8, ptr {task}, i64 16')}")
    e.do(f"br i1 {e.ins('icmp sgt i64 %threads, 1')}, label %many, label %one")
    e.label("many")
    e.do(f"call void {e.ins('load ptr, ptr @msnb_parallel')}(ptr @{symbol}.part, ptr {task}, "
         f"i32 {e.ins('trunc i64 %threads to i32')}, i32 0)")  # fmt: skip
    e.do("br label %end")
    e.label("one")
    e.do(f"call void @{symbol}.share(ptr {task}, i64 0)")
    e.do("br label %end")
    e.label("end")
    if plan.final_stores:
        e.do(f"call void @{symbol}.last({', '.join(f'ptr {p}' for p in pointers)}, ptr {scratch}, i64 %threads)")
    e.do("ret void")
    objects = "".join(f", ptr %o{i}" for i in range(n))
    return _function(f"void @{symbol}(i64 %threads, ptr %memory{objects})", [*e.entry, *e.lines], attributes)
