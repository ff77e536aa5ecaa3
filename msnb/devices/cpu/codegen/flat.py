"""Kernels that are one long chain: compiled once for all extents, run over many sets of operands at a time.

    sgd, for every parameter:   p - lr * g            one kernel  k(i0 < n)

    words     [2,   p1 g1 lr out1 800,   p2 g2 lr out2 120]
    work       ............................................|.......       920 elements, shared out as one long row
                     thread 0             |     thread 1

So a step that updates 160 parameters compiles one kernel, is one instruction and one fork of the threads. A thread's
share begins and ends at whole vectors within each operand.
"""

from __future__ import annotations

from msnb.devices.cpu.codegen.emit import Emitter
from msnb.devices.cpu.codegen.plan import ALIGNED, ANY, SHARED_WORK, STREAMED, Plan
from msnb.ir.kernel import Access, Buffer, Kernel


def generic(kernel: Kernel) -> Kernel | None:
    """The kernel for any extent, where it is a plain chain of one dim; else None."""
    if len(kernel.sizes) != 1 or kernel.sizes[0] == 1:
        return None
    insts = kernel.insts()
    loads = [i.attr for i in insts if i.op == "load"]
    stores = [a for a, _ in kernel.stores]
    if any(i.op == "reduce" for i in insts) or any(a.strides != (1,) for a in stores):
        return None
    if any(a.offset or a.strides[0] not in (0, 1) for a in (*loads, *stores)):
        return None
    if any(not _fits(kernel, a) for a in loads):
        return None
    size = kernel.sizes[0]
    reads = [Buffer(b.dtype, ANY if b.size == size else 1) for b in kernel.reads]
    writes = [Buffer(b.dtype, ANY) for b in kernel.writes]
    return Kernel(kernel.name, (ANY,), kernel.row, reads, writes, kernel.stores)


def _fits(kernel: Kernel, access: Access) -> bool:
    return kernel.reads[access.buffer].size == (kernel.sizes[0] if access.strides[0] else 1)


def is_generic(kernel: Kernel) -> bool:
    """True for a kernel whose extent is known at run time only."""
    return kernel.sizes == (ANY,)


def share(e: Emitter, symbol: str, plan: Plan) -> None:
    """Thread t's part of every set of operands: task = { slots, words, threads, total }."""
    slots, words = e.ins("load ptr, ptr %task"), _field(e, "ptr", 1)
    threads, total = _field(e, "i64", 2), _field(e, "i64", 3)
    ends = [e.ins(f"udiv i64 {e.ins(f'mul i64 {t}, {total}')}, {threads}") for t in ("%t", e.ins("add i64 %t, 1"))]
    n = len(plan.buffers)

    def each(k: str, now: list[str]) -> list[str]:
        record = _record(e, words, k, n)
        extent = _word(e, record, n)
        low, high = (_cut(e, end, now[0], extent) for end in ends)

        def work() -> None:
            pointers = [_pointer(e, slots, _word(e, record, i)) for i in range(n)]
            stream = may_stream(e, plan, pointers)
            if plan.streams:
                large = e.ins(f"icmp uge i64 {extent}, {STREAMED // 4}")
                stream = e.ins(f"and i1 {stream}, {large}")
            args = [*(f"ptr {p}" for p in pointers), f"i1 {stream}", f"i64 {low}", f"i64 {high}"]
            e.do(f"call void @{symbol}.body({', '.join(args)})")

        e.when(e.ins(f"icmp slt i64 {low}, {high}"), work)
        return [e.ins(f"add i64 {now[0]}, {extent}")]

    e.loop(("0", e.ins(f"load i64, ptr {words}"), 1), [("i64", "0")], each)
    e.do("ret void")


def entry(e: Emitter, symbol: str, plan: Plan) -> None:
    """How much work there is, hence how many threads."""
    n = len(plan.buffers)

    def each(k: str, now: list[str]) -> list[str]:
        return [e.ins(f"add i64 {now[0]}, {_word(e, _record(e, '%words', k, n), n)}")]

    total = e.loop(("0", e.ins("load i64, ptr %words"), 1), [("i64", "0")], each)[0]
    worth = e.ins(f"udiv i64 {total}, {max(1, SHARED_WORK // (2 * plan.weight()))}")
    given = e.call("llvm.smin.i64", "i64", ("i64", e.ins("load i64, ptr %env")), ("i64", worth))
    alone = e.ins(f"icmp eq ptr {e.ins('load ptr, ptr @msnb_parallel')}, null")
    few = e.ins(f"or i1 {alone}, {e.ins(f'icmp slt i64 {given}, 1')}")
    threads = e.ins(f"select i1 {few}, i64 1, i64 {given}")
    task = e.alloca("[4 x i64]")
    for i, (kind, value) in enumerate((("ptr", "%slots"), ("ptr", "%words"), ("i64", threads), ("i64", total))):
        e.do(f"store {kind} {value}, ptr {e.ins(f'getelementptr i64, ptr {task}, i64 {i}')}")
    run(e, symbol, task, threads)
    e.do("ret i32 0")


def run(e: Emitter, symbol: str, task: str, threads: str) -> None:
    """The task on all threads, or here where there is one."""

    def fork() -> None:
        number = e.ins(f"trunc i64 {threads} to i32")
        parallel = e.ins("load ptr, ptr @msnb_parallel")
        e.do(f"call void {parallel}(ptr @{symbol}.part, ptr {task}, i32 {number}, i32 0)")

    def here() -> None:
        e.do(f"call void @{symbol}.share(ptr {task}, i64 0)")

    e.when(e.ins(f"icmp sgt i64 {threads}, 1"), fork, here)


def may_stream(e: Emitter, plan: Plan, pointers: list[str]) -> str:
    """True where all memory that is streamed to is aligned and is not an operand's."""
    if not plan.streams:
        return "false"
    numbers, first = sorted({a.buffer for a in plan.streams}), len(plan.kernel.reads)
    bits = "0"
    for b in numbers:
        bits = e.ins(f"or i64 {bits}, {e.ins(f'ptrtoint ptr {pointers[b]} to i64')}")
    fine = e.ins(f"icmp eq i64 {e.ins(f'and i64 {bits}, 63')}, 0")
    for read, write in plan.pairs:
        if write + first in numbers:
            apart = e.ins(f"icmp ne ptr {pointers[read]}, {pointers[write + first]}")
            fine = e.ins(f"and i1 {fine}, {apart}")
    return fine


def _field(e: Emitter, kind: str, i: int) -> str:
    return e.ins(f"load {kind}, ptr {e.ins(f'getelementptr i64, ptr %task, i64 {i}')}")


def _record(e: Emitter, words: str, k: str, n: int) -> str:
    """Where the words of operand set k begin: after the count, n slots and an extent each."""
    at = e.ins(f"add i64 {e.ins(f'mul i64 {k}, {n + 1}')}, 1")
    return e.ins(f"getelementptr i64, ptr {words}, i64 {at}")


def _word(e: Emitter, record: str, i: int) -> str:
    return e.ins(f"load i64, ptr {e.ins(f'getelementptr i64, ptr {record}, i64 {i}')}")


def _pointer(e: Emitter, slots: str, number: str) -> str:
    return e.ins(f"load ptr, ptr {e.ins(f'getelementptr ptr, ptr {slots}, i64 {number}')}")


def _cut(e: Emitter, end: str, offset: str, extent: str) -> str:
    """The end of a share within one operand: between 0 and its extent, at a whole vector."""
    here = e.ins(f"sub i64 {end}, {offset}")
    here = e.call("llvm.smax.i64", "i64", ("i64", here), ("i64", "0"))
    here = e.call("llvm.smin.i64", "i64", ("i64", here), ("i64", extent))
    whole = e.ins(f"and i64 {here}, {-ALIGNED}")
    return e.ins(f"select i1 {e.ins(f'icmp eq i64 {here}, {extent}')}, i64 {extent}, i64 {whole}")
