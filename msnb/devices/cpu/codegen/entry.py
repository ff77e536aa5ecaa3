"""A kernel as LLVM functions, around the loops of ``render``.

    k.body(buffers..., scratch..., begin, end)      the loops over rows begin..end, for one thread
    k.last(buffers..., scratch, threads)            adds up the accumulators of all threads and stores them
    k.share(task, t)                                thread t finds its share of the rows and calls the body
    k.part(task)                                    what libgomp runs on every thread: share, by the thread's number
    i32 k(slots, words, env)                        the instruction of a program: words are the slots of the buffers and
                                                    of the scratch memory, env[0] is how many threads it may use

Kernels for any extent have another frame around their body: see ``flat``.

``@msnb_parallel`` and ``@msnb_thread`` are set once after loading: libgomp's, or null for serial work.
"""

from __future__ import annotations

from functools import partial

from msnb.devices.cpu.codegen import flat
from msnb.devices.cpu.codegen.emit import Emitter, memory_name, type_name
from msnb.devices.cpu.codegen.flat import is_generic
from msnb.devices.cpu.codegen.ops import combine, emit, identity
from msnb.devices.cpu.codegen.plan import ALIGNED, Plan, Scratch, Target
from msnb.devices.cpu.codegen.render import Body
from msnb.ir.kernel import Access, Inst, Kernel


class Last:
    """Adds up accumulators and stores what was made of them."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.kernel, self.e = plan, plan.kernel, Emitter(scalef=plan.target.scalef)
        self.known: dict[int, str] = {}

    def lines(self) -> list[str]:
        """The instructions."""
        for access, value in self.plan.final_stores:
            self._nest(access, value, [d for d, s in enumerate(access.strides) if s], {})
        self.e.do("ret void")
        return [*self.e.entry, *self.e.lines]

    def _nest(self, access: Access, value: Inst, dims: list[int], at: dict[int, str]) -> None:
        if not dims:
            self._point(access, value, at)
            return
        d, size = dims[0], self.kernel.sizes[dims[0]]
        lanes = self.plan.target.lanes
        alike = all(self.plan.accs[id(i)].strides[d] == 1 for i in self.plan.insts if id(i) in self.plan.accs)
        if len(dims) > 1 or access.strides[d] != 1 or not alike:
            lanes = 1

        def turn(i: str, _: list[str], lanes: int) -> list[str]:
            self.e.lanes = lanes
            self._nest(access, value, dims[1:], {**at, d: i})
            self.e.lanes = 1
            return []

        cut = size - size % lanes
        for low, high, width in ((0, cut, lanes), (cut, size, 1)):
            if low < high:
                self.e.loop((str(low), str(high), width), [], partial(turn, lanes=width))

    def _point(self, access: Access, value: Inst, at: dict[int, str]) -> None:
        kind = memory_name(value.dtype)
        pointer = self.e.ins(f"getelementptr {kind}, ptr %b{access.buffer}, i64 {self._index(access.strides, at)}")
        self.known = {}
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
            return self.e.literal(inst.attr, inst.dtype)
        if id(inst) not in self.known:
            made = id(inst) in self.plan.accs
            found = self._sum(inst, at) if made else emit(self.e, inst, [self._value(a, at) for a in inst.args])
            self.known[id(inst)] = found
        return self.known[id(inst)]

    def _sum(self, inst: Inst, at: dict[int, str]) -> str:
        memory, lanes = self.plan.accs[id(inst)], self.e.lanes
        kind, index = memory_name(memory.dtype), self._index(memory.strides, at)
        first = self.e.const(identity(inst.attr.kind, memory.dtype), type_name(memory.dtype))

        def one(t: str, now: list[str]) -> list[str]:
            skip = self.e.ins(f"mul nsw i64 {t}, {self.plan.scratch}")
            start = self.e.ins(f"add nsw i64 {skip}, {memory.offset}")
            base = self.e.ins(f"getelementptr i8, ptr %scratch, i64 {start}")
            found = self.e.load(memory.dtype, self.e.ins(f"getelementptr {kind}, ptr {base}, i64 {index}"))
            return [combine(self.e, inst.attr.kind, memory.dtype, now[0], found)]

        total = self.e.loop(("0", "%threads", 1), [(self.e.t(type_name(memory.dtype)), first)], one)[0]
        self.e.lanes = lanes
        return total if memory.dtype is inst.dtype else self.e.cast(total, memory.dtype, inst.dtype)


def render(kernel: Kernel, symbol: str, attributes: str, target: Target) -> tuple[str, dict[str, str], Plan]:
    """The functions of a kernel as text, the declarations they need, and the plan."""
    plan = Plan(kernel, target)
    body, last = Body(plan), Last(plan)
    n = len(kernel.reads) + len(kernel.writes)
    memories = [*plan.accs.values(), *plan.caches.values()]
    buffers = ", ".join(f"ptr %b{i}" for i in range(n))
    scratch = "".join(f", ptr %s{i}" for i in range(len(memories)))
    parts = [
        _function(
            f"internal void @{symbol}.body({buffers}{scratch}, i1 %stream, i64 %begin, i64 %end)",
            body.lines(),
            f"noinline {attributes}",
        )
    ]
    if plan.final_stores:
        head = f"internal void @{symbol}.last({buffers}, ptr %scratch, i64 %threads)"
        parts.append(_function(head, last.lines(), f"noinline {attributes}"))
    around = Emitter(), Emitter()
    if is_generic(kernel):
        flat.share(around[0], symbol, plan)
        flat.entry(around[1], symbol, plan)
    else:
        _share(around[0], symbol, plan, n, memories)
        _entry(around[1], symbol, plan, n)
    declared = {**body.e.declared, **last.e.declared, **around[0].declared, **around[1].declared}
    parts += [
        _whole(f"internal void @{symbol}.share(ptr %task, i64 %t)", around[0], f"noinline {attributes}"),
        _part(symbol, attributes),
        _whole(f"i32 @{symbol}(ptr %slots, ptr %words, ptr %env)", around[1], attributes),
    ]
    return "\n".join(parts), declared, plan


def _whole(head: str, e: Emitter, attributes: str) -> str:
    return _function(head, [*e.entry, *e.lines], attributes)


def _function(head: str, lines: list[str], attributes: str) -> str:
    return "\n".join([f"define {head} {attributes} {{", "entry:", *lines, "}"])


def _share(e: Emitter, symbol: str, plan: Plan, n: int, memories: list[Scratch]) -> None:
    """task = { table of pointers, scratch, threads }: thread t takes rows from t total / threads on."""
    table = e.ins("load ptr, ptr %task")
    scratch = e.ins(f"load ptr, ptr {e.ins('getelementptr i8, ptr %task, i64 8')}")
    threads = e.ins(f"load i64, ptr {e.ins('getelementptr i8, ptr %task, i64 16')}")
    ends = [_boundary(e, t, threads, plan) for t in ("%t", e.ins("add i64 %t, 1"))]
    mine = e.ins(f"getelementptr i8, ptr {scratch}, i64 {e.ins(f'mul i64 %t, {plan.scratch}')}")
    pointers = [e.ins("load ptr, ptr " + e.ins(f"getelementptr ptr, ptr {table}, i64 {i}")) for i in range(n)]
    stream = flat.may_stream(e, plan, pointers)
    pointers += [e.ins(f"getelementptr i8, ptr {mine}, i64 {m.offset}") for m in memories]
    args = [*(f"ptr {p}" for p in pointers), f"i1 {stream}", f"i64 {ends[0]}", f"i64 {ends[1]}"]
    e.do(f"call void @{symbol}.body({', '.join(args)})")
    e.do("ret void")


def _part(symbol: str, attributes: str) -> str:
    e = Emitter()
    which = e.ins("load ptr, ptr @msnb_thread")
    t = e.ins(f"sext i32 {e.ins(f'call i32 {which}()')} to i64")
    e.do(f"call void @{symbol}.share(ptr %task, i64 {t})")
    e.do("ret void")
    return _whole(f"internal void @{symbol}.part(ptr %task)", e, attributes)


def _boundary(e: Emitter, t: str, threads: str, plan: Plan) -> str:
    """Where the share of thread t begins; a row is cut at whole vectors."""
    found = e.ins(f"udiv i64 {e.ins(f'mul i64 {t}, {plan.total}')}, {threads}")
    if plan.mode != "range" or len(plan.inner) > 1:
        return found
    whole = e.ins(f"and i64 {found}, {-ALIGNED}")
    return e.ins(f"select i1 {e.ins(f'icmp eq i64 {t}, {threads}')}, i64 {plan.total}, i64 {whole}")


def _entry(e: Emitter, symbol: str, plan: Plan, n: int) -> None:
    table, task = e.alloca(f"[{max(n, 1)} x ptr]"), e.alloca("[3 x i64]")
    pointers = [_slot(e, i) for i in range(n)]
    for i, found in enumerate(pointers):
        e.do(f"store ptr {found}, ptr {e.ins(f'getelementptr ptr, ptr {table}, i64 {i}')}")
    e.do(f"store ptr {table}, ptr {task}")
    scratch = _slot(e, n) if plan.scratch else "null"
    e.do(f"store ptr {scratch}, ptr {e.ins(f'getelementptr i8, ptr {task}, i64 8')}")
    threads = _threads(e, plan.most_threads())
    e.do(f"store i64 {threads}, ptr {e.ins(f'getelementptr i8, ptr {task}, i64 16')}")
    if threads == "1":
        e.do(f"call void @{symbol}.share(ptr {task}, i64 0)")
    else:
        flat.run(e, symbol, task, threads)
    if plan.final_stores:
        e.do(f"call void @{symbol}.last({', '.join(f'ptr {p}' for p in pointers)}, ptr {scratch}, i64 {threads})")
    e.do("ret i32 0")


def _slot(e: Emitter, i: int) -> str:
    """The pointer in the slot that word ``i`` names."""
    number = e.ins(f"load i64, ptr {e.ins(f'getelementptr i64, ptr %words, i64 {i}')}")
    return e.ins(f"load ptr, ptr {e.ins(f'getelementptr ptr, ptr %slots, i64 {number}')}")


def _threads(e: Emitter, most: int) -> str:
    """As many as the program has, as the work is worth, and one where nothing runs in parallel."""
    if most == 1:
        return "1"
    given = e.call("llvm.smin.i64", "i64", ("i64", e.ins("load i64, ptr %env")), ("i64", str(most)))
    alone = e.ins(f"icmp eq ptr {e.ins('load ptr, ptr @msnb_parallel')}, null")
    return e.ins(f"select i1 {alone}, i64 1, i64 {given}")
