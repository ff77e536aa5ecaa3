"""What lies around every kernel's loops, compiled once: operands are found, work is shared out, the loops are called.

    rows      words = [body, last, n, reads, bytes, total, limit, cut, large,  n slots,  scratch slot]
              thread t of T calls      body(table, scratch of t, stream, t total / T, (t + 1) total / T)
              and at the end           last(table, scratch, T)            adds up what each thread has accumulated

    chains    words = [body, count, n, reads, each, large,  n slots and an extent, n slots and an extent, ...]
              work     ..............................................|.......       all extents as one long row
                             thread 0             |     thread 1

    repeated  words = [body, n, each, outer, inner, extent,  n times: slot, bytes per turn of outer, of inner]
              the body of a chain for every row of a result: operands that broadcast stand still, or move on slower

A chain is a kernel of one dim for any extent: a step that updates 160 parameters is one instruction and one fork of the
threads. ``each``: elements that are worth a thread. Shares begin and end at whole vectors (``cut`` for rows).
``large``: bits of the results that are stored past the caches, if their memory is aligned and is not an operand's.

``n slots``: each with the bytes behind its pointer where the operand begins, in the bits from ``SLOT_BITS`` on.
``table`` holds the data pointers. ``@msnb_parallel`` and ``@msnb_thread`` are set after loading: libgomp's, or null.
"""

from __future__ import annotations

import functools

from msnb.devices.cpu.codegen.kernel_schedule import ALIGNED, STREAMED
from msnb.devices.cpu.llvm.jit import Library, attributes
from msnb.devices.llvm.loop_builder import LoopBuilder, module, shared

ROWS, CHAINS, REPEATED = 9, 6, 6
SLOT_BITS = 24


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """The frames as machine code: ``msnb_rows``, ``msnb_chains`` and ``msnb_repeated``."""
    parts = ("rows", _rows, _rows_share), ("chains", _chains, _chains_share), ("repeated", _repeated, _repeated_share)
    builders, texts = list[LoopBuilder](), []
    for name, entry, share in parts:
        main, each = LoopBuilder(), LoopBuilder()
        entry(main)
        share(each)
        builders += [main, each]
        texts.append(shared(f"msnb_{name}", attributes(), main, each))
    return Library(module(builders, *texts))


def _fill(e: LoopBuilder, slots: str, words: str, n: str) -> str:
    """A table of the pointers that ``n`` words name."""
    table = e.ins(f"alloca ptr, i64 {n}")

    def one(i: str, _: list[str]) -> list[str]:
        pointer = _pointer(e, slots, e.field("i64", words, i))
        e.do(f"store ptr {pointer}, ptr {e.ins(f'getelementptr ptr, ptr {table}, i64 {i}')}")
        return []

    e.loop(("0", n, 1), [], one)
    return table


def _pointer(e: LoopBuilder, slots: str, word: str) -> str:
    """Where an operand begins."""
    base = e.field("ptr", slots, e.ins(f"and i64 {word}, {(1 << SLOT_BITS) - 1}"))
    return e.ins(f"getelementptr i8, ptr {base}, i64 {e.ins(f'lshr i64 {word}, {SLOT_BITS}')}")


def _may_stream(e: LoopBuilder, table: str, n: str, reads: str, large: str) -> str:
    """True where all results among ``large`` are aligned and no operand lies there."""

    def result(i: str, now: list[str]) -> list[str]:
        pointer = e.field("ptr", table, i)
        bits = e.ins(f"and i64 {e.ins(f'ptrtoint ptr {pointer} to i64')}, {ALIGNED - 1}")

        def operand(j: str, so_far: list[str]) -> list[str]:
            apart = e.ins(f"icmp ne ptr {pointer}, {e.field('ptr', table, j)}")
            return [e.ins(f"and i1 {so_far[0]}, {apart}")]

        fine = e.loop(("0", reads, 1), [("i1", e.ins(f"icmp eq i64 {bits}, 0"))], operand)[0]
        chosen = e.ins(f"trunc i64 {e.ins(f'lshr i64 {large}, {i}')} to i1")
        return [e.ins(f"and i1 {now[0]}, {e.ins(f'select i1 {chosen}, i1 {fine}, i1 true')}")]

    some = e.ins(f"icmp ne i64 {large}, 0")
    bits = e.smaller(n, "64")
    end = e.ins(f"select i1 {some}, i64 {bits}, i64 0")
    return e.loop((reads, end, 1), [("i1", some)], result)[0]


def _cut(e: LoopBuilder, end: str, total: str) -> str:
    """Down to a whole vector, except at the very end."""
    whole = e.ins(f"and i64 {end}, {-ALIGNED}")
    return e.ins(f"select i1 {e.ins(f'icmp eq i64 {end}, {total}')}, i64 {total}, i64 {whole}")


# ---- rows ----


def _rows(e: LoopBuilder) -> None:
    last, n, reads, size = e.field("ptr", "%words", 1), *(e.field("i64", "%words", i) for i in (2, 3, 4))
    limit, large = e.field("i64", "%words", 6), e.field("i64", "%words", 8)
    operands = e.ins(f"getelementptr i64, ptr %words, i64 {ROWS}")
    table = _fill(e, "%slots", operands, n)
    some = e.ins(f"icmp ne i64 {size}, 0")
    slot = e.ins(f"select i1 {some}, i64 {n}, i64 0")
    scratch = _pointer(e, "%slots", e.field("i64", operands, slot))
    stream = e.ins(f"zext i1 {_may_stream(e, table, n, reads, large)} to i64")
    threads = e.thread_count(limit)
    task = [("ptr", table), ("ptr", scratch), ("i64", threads), ("ptr", "%words"), ("i64", stream)]
    e.fork("msnb_rows", task, threads)
    sums = e.ins(f"icmp ne ptr {last}, null")
    e.when(sums, lambda: e.do(f"call void {last}(ptr {table}, ptr {scratch}, i64 {threads})"))
    e.do("ret i32 0")


def _rows_share(e: LoopBuilder) -> None:
    table, scratch, words = (e.field("ptr", "%task", i) for i in (0, 1, 3))
    threads, stream = e.field("i64", "%task", 2), e.ins(f"trunc i64 {e.field('i64', '%task', 4)} to i1")
    body, size, total = e.field("ptr", words, 0), e.field("i64", words, 4), e.field("i64", words, 5)
    cut = e.ins(f"icmp ne i64 {e.field('i64', words, 7)}, 0")
    ends = [e.ins(f"select i1 {cut}, i64 {_cut(e, x, total)}, i64 {x}") for x in e.ends(total, threads)]
    mine = e.ins(f"getelementptr i8, ptr {scratch}, i64 {e.ins(f'mul i64 %t, {size}')}")
    e.do(f"call void {body}(ptr {table}, ptr {mine}, i1 {stream}, i64 {ends[0]}, i64 {ends[1]})")
    e.do("ret void")


# ---- chains ----


def _record(e: LoopBuilder, words: str, k: str, n: str) -> str:
    """The words of operand set k: n slots and an extent each."""
    skip = e.ins(f"mul i64 {k}, {e.ins(f'add i64 {n}, 1')}")
    return e.ins(f"getelementptr i64, ptr {words}, i64 {e.ins(f'add i64 {skip}, {CHAINS}')}")


def _chains(e: LoopBuilder) -> None:
    count, n, each = (e.field("i64", "%words", i) for i in (1, 2, 4))

    def more(k: str, now: list[str]) -> list[str]:
        return [e.ins(f"add i64 {now[0]}, {e.field('i64', _record(e, '%words', k, n), n)}")]

    total = e.loop(("0", count, 1), [("i64", "0")], more)[0]
    threads = e.thread_count(e.ins(f"udiv i64 {total}, {each}"))
    e.fork("msnb_chains", [("ptr", "%slots"), ("ptr", "%words"), ("i64", threads), ("i64", total)], threads)
    e.do("ret i32 0")


def _chains_share(e: LoopBuilder) -> None:
    slots, words = (e.field("ptr", "%task", i) for i in (0, 1))
    threads, total = (e.field("i64", "%task", i) for i in (2, 3))
    body, (count, n, reads, large) = e.field("ptr", words, 0), (e.field("i64", words, i) for i in (1, 2, 3, 5))
    ends = e.ends(total, threads)
    stack = e.call("llvm.stacksave.p0", "ptr")

    def one(k: str, now: list[str]) -> list[str]:
        record = _record(e, words, k, n)
        extent = e.field("i64", record, n)
        low, high = (_within(e, end, now[0], extent) for end in ends)

        def work() -> None:
            table = _fill(e, slots, record, n)
            long = e.ins(f"icmp uge i64 {extent}, {STREAMED // 4}")
            stream = e.ins(f"and i1 {long}, {_may_stream(e, table, n, reads, large)}")
            e.do(f"call void {body}(ptr {table}, ptr null, i1 {stream}, i64 {low}, i64 {high})")
            e.act("llvm.stackrestore.p0", ("ptr", stack))

        e.when(e.ins(f"icmp slt i64 {low}, {high}"), work)
        return [e.ins(f"add i64 {now[0]}, {extent}")]

    e.loop(("0", count, 1), [("i64", "0")], one)
    e.do("ret void")


def _within(e: LoopBuilder, end: str, offset: str, extent: str) -> str:
    """The end of a share within one operand set: between 0 and its extent, at a whole vector."""
    here = e.ins(f"sub i64 {end}, {offset}")
    here = e.larger(here, "0")
    return _cut(e, e.smaller(here, extent), extent)


# ---- repeated ----


def _repeated(e: LoopBuilder) -> None:
    each, *sizes = (e.field("i64", "%words", i) for i in (2, 3, 4, 5))
    total = sizes[0]
    for size in sizes[1:]:
        total = e.ins(f"mul i64 {total}, {size}")
    threads = e.thread_count(e.ins(f"udiv i64 {total}, {each}"))
    e.fork("msnb_repeated", [("ptr", "%slots"), ("ptr", "%words"), ("i64", threads), ("i64", total)], threads)
    e.do("ret i32 0")


def _repeated_share(e: LoopBuilder) -> None:
    slots, words = (e.field("ptr", "%task", i) for i in (0, 1))
    threads, total = (e.field("i64", "%task", i) for i in (2, 3))
    body, (n, inner, extent) = e.field("ptr", words, 0), (e.field("i64", words, i) for i in (1, 4, 5))
    begin, end = e.ends(total, threads)
    table = e.ins(f"alloca ptr, i64 {n}")
    first = e.ins(f"udiv i64 {begin}, {extent}")
    behind = e.ins(f"add i64 {end}, {e.ins(f'sub i64 {extent}, 1')}")

    def row(r: str, _: list[str]) -> list[str]:
        counters = e.ins(f"udiv i64 {r}, {inner}"), e.ins(f"urem i64 {r}, {inner}")
        _move(e, slots, words, (table, n), counters)
        offset = e.ins(f"mul i64 {r}, {extent}")
        low, high = (_within(e, x, offset, extent) for x in (begin, end))
        work = f"call void {body}(ptr {table}, ptr null, i1 false, i64 {low}, i64 {high})"
        e.when(e.ins(f"icmp slt i64 {low}, {high}"), lambda: e.do(work))
        return []

    e.loop((first, e.ins(f"udiv i64 {behind}, {extent}"), 1), [], row)
    e.do("ret void")


def _move(e: LoopBuilder, slots: str, words: str, table: tuple[str, str], counters: tuple[str, str]) -> None:
    """The table of the data pointers of one row."""

    def one(i: str, _: list[str]) -> list[str]:
        skip = e.ins(f"mul i64 {i}, 3")
        at = e.ins(f"getelementptr i64, ptr {words}, i64 {e.ins(f'add i64 {skip}, {REPEATED}')}")
        far, near = (e.ins(f"mul i64 {c}, {e.field('i64', at, k)}") for k, c in enumerate(counters, 1))
        base = e.field("ptr", slots, e.field("i64", at, 0))
        pointer = e.ins(f"getelementptr i8, ptr {base}, i64 {e.ins(f'add i64 {far}, {near}')}")
        e.do(f"store ptr {pointer}, ptr {e.ins(f'getelementptr i64, ptr {table[0]}, i64 {i}')}")
        return []

    e.loop(("0", table[1], 1), [], one)
