"""Entries in the order of the rows they mean, those of one row in their own order: what sums by index rest on.

    rows of the entries     4 1 4 2 1            keys
    sorted                  1 1 2 4 4            positions 1 4 3 0 2        stable
    ends                    2 - 3 5 -            where a row's run begins: where it ends

Few entries: each counts those that come before it. Many: radix sort by digits of eight bits, tile by tile,

    1. count    how often each digit stands in each tile         table [digit][tile]
    2. scan     a block for each digit: running totals over the tiles
    3. scatter  digits before + same digit in earlier tiles + same digit earlier in the tile

Within a tile every thread looks at all entries before its own, which costs little and needs no atomics.
Source: Satish, Harris, Garland: Designing efficient sorting algorithms for manycore GPUs. IPDPS 2009.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import dtypes
from msnb.devices.gpu.kernels.indexing.index_entries import IndexEntries
from msnb.devices.gpu.kernels.kernel_builder import NARROW, KernelBuilder, ThreadCode
from msnb.devices.gpu.kernels.lines.block_scan import BlockScan
from msnb.ir.kernel.scalar_expressions import UnsupportedKernel

TILE, DIGITS, BITS, FEW = 256, 256, 8, 2048
WORD: dtypes.DType = dtypes.uint32


class RowSort:
    """The functions that sort the entries of a node, in a builder.

    Args:
        builder: which gets them; it has a workspace.
        entries: the index tensors.
        first: the number of the first of them among the operands.

    Attributes:
        count: how many entries there are.
        keys, order, ends: where in the workspace the sorted rows, the positions and the ends of runs lie.

    Raises:
        UnsupportedKernel: rows that do not fit into 30 bits.
    """

    tiles: int
    table: int
    totals: int

    def __init__(self, builder: KernelBuilder, entries: IndexEntries, first: int) -> None:
        self.builder: KernelBuilder = builder
        self.entries: IndexEntries = entries
        self.first: int = first
        self.count: int = entries.walk.entries
        if max(entries.rows, self.count) >= NARROW:
            raise UnsupportedKernel("an index of more than 2^30 rows or entries")
        self.keys: int = builder.room(4 * self.count)
        self.order: int = builder.room(4 * self.count)
        builder.units(self.count, "i32", self._key)
        if self.count <= FEW:
            self._by_counting()
        else:
            self._by_digits()
        self.ends: int = builder.room(4 * self.count)
        builder.units(self.count, "i32", self._end)

    # ---- rows ----

    def _key(self, e: ThreadCode, q: str) -> None:
        walk = self.entries.walk
        found = self.entries.read(e, self.first, e.split(q, walk.joint))
        e.put(WORD, self.entries.row(e, found), e.room(self.keys), q)

    # ---- few ----

    def _by_counting(self) -> None:
        keys, order = self.builder.room(4 * self.count), self.builder.room(4 * self.count)
        source = self.keys

        def work(e: ThreadCode, q: str) -> None:
            base = e.room(source)
            mine = e.get(WORD, base, q)

            def one(j: str, now: list[str]) -> list[str]:
                key = e.get(WORD, base, j)
                earlier = e.ins(f"and i1 {e.compare('eq', key, mine)}, {e.compare('slt', j, q)}")
                ahead = e.ins(f"or i1 {e.compare('ult', key, mine)}, {earlier}")
                return [e.ins(f"add i32 {now[0]}, {e.ins(f'zext i1 {ahead} to i32')}")]

            rank = e.turns((0, self.count, 1), [("i32", "0")], one)[0]
            e.put(WORD, mine, e.room(keys), rank)
            e.put(WORD, q, e.room(order), rank)

        self.builder.units(self.count, "i32", work)
        self.keys, self.order = keys, order

    # ---- many ----

    def _by_digits(self) -> None:
        builder, self.tiles = self.builder, -(-self.count // TILE)
        self.table, self.totals = builder.room(4 * DIGITS * self.tiles), builder.room(4 * DIGITS)
        other = builder.room(4 * self.count), builder.room(4 * self.count)
        for shift in range(0, max(1, (self.entries.rows - 1).bit_length()), BITS):
            self._launched(self.tiles, lambda e, s=shift: self._count(e, s))  # type: ignore[misc]
            self._launched(DIGITS, self._scan)
            here = self.keys, self.order
            self._launched(self.tiles, lambda e, s=shift, a=here, b=other: self._scatter(e, s, a, b))  # type: ignore[misc]
            (self.keys, self.order), other = other, here

    def _launched(self, blocks: int, write: Callable[[ThreadCode], None]) -> None:
        e = self.builder.function("i32", TILE)
        write(e)
        self.builder.launch(e, blocks)

    def _digit(self, e: ThreadCode, shift: int, keys: int) -> tuple[str, str, str, str]:
        """A thread's place, whether there is an entry, its key and its digit (DIGITS where there is none)."""
        place = e.count("add", e.count("mul", e.block_number(), TILE), e.thread())
        inside = e.compare("slt", place, self.count)
        key = e.get(WORD, e.room(keys), e.choose(inside, place, 0))
        digit = e.ins(f"and i32 {e.ins(f'lshr i32 {key}, {shift}')}, {DIGITS - 1}")
        return place, inside, key, e.choose(inside, digit, DIGITS)

    def _equal(self, e: ThreadCode, shared: str, digit: str, before: str) -> str:
        """How many of a tile's digits in shared memory are this one; ``before``: only those ahead of this thread."""

        def four(j: str, now: list[str]) -> list[str]:
            with e.wide(4):
                there = e.get(WORD, shared, j)
                parts = [e.part("i32", there, k) for k in range(4)]
            total = now[0]
            for k, part in enumerate(parts):
                hit = e.compare("eq", part, digit)
                if before:
                    hit = e.ins(f"and i1 {hit}, {e.compare('slt', e.count('add', j, k), before)}")
                total = e.ins(f"add i32 {total}, {e.ins(f'zext i1 {hit} to i32')}")
            return [total]

        return e.turns((0, TILE, 4), [("i32", "0")], four)[0]

    def _count(self, e: ThreadCode, shift: int) -> None:
        shared, thread = e.shared(4 * TILE), e.thread()
        *_, digit = self._digit(e, shift, self.keys)
        e.put(WORD, digit, shared, thread)
        e.barrier()
        found = self._equal(e, shared, thread, "")
        at = e.count("add", e.count("mul", thread, self.tiles), e.block_number())
        e.put(WORD, found, e.room(self.table), at)

    def _scan(self, e: ThreadCode) -> None:
        """A block has the tiles of one digit."""
        scan, digit, thread = _sums(e), e.block_number(), e.thread()
        table = e.element(WORD, e.room(self.table), e.count("mul", digit, self.tiles))

        def some(start: str, now: list[str]) -> list[str]:
            tile = e.count("add", start, thread)
            inside = e.compare("slt", tile, self.tiles)
            count = e.guarded(inside, "i32", lambda: e.get(WORD, table, tile), "0")
            before, _, whole = scan.scan(count)
            total = e.ins(f"add i32 {before}, {now[0]}")
            e.when(inside, lambda: e.put(WORD, total, table, tile))
            return [e.ins(f"add i32 {now[0]}, {whole}")]

        total = e.turns((0, self.tiles, TILE), [("i32", "0")], some)[0]
        e.when(e.compare("eq", thread, 0), lambda: e.put(WORD, total, e.room(self.totals), digit))

    def _scatter(self, e: ThreadCode, shift: int, here: tuple[int, int], there: tuple[int, int]) -> None:
        shared, starts, thread = e.shared(4 * TILE), e.shared(4 * DIGITS), e.thread()
        place, inside, key, digit = self._digit(e, shift, here[0])
        e.put(WORD, digit, shared, thread)
        start, _, _ = _sums(e).scan(e.get(WORD, e.room(self.totals), thread))
        e.put(WORD, start, starts, thread)
        e.barrier()
        rank = self._equal(e, shared, digit, thread)

        def write() -> None:
            before = e.get(
                WORD, e.room(self.table), e.count("add", e.count("mul", digit, self.tiles), e.block_number())
            )
            at = e.count("add", e.count("add", e.get(WORD, starts, digit), before), rank)
            e.put(WORD, key, e.room(there[0]), at)
            e.put(WORD, place if not shift else e.get(WORD, e.room(here[1]), place), e.room(there[1]), at)

        e.when(inside, write)

    # ---- runs ----

    def _end(self, e: ThreadCode, p: str) -> None:
        """Where the run ends that begins at p, found by halving; 0 where none begins."""
        keys = e.room(self.keys)
        mine = e.get(WORD, keys, p)
        first = e.compare("eq", p, 0)
        earlier = e.get(WORD, keys, e.choose(first, 0, e.ins(f"sub i32 {p}, 1")))
        head = e.ins(f"or i1 {first}, {e.compare('ne', earlier, mine)}")

        def halve(_: str, now: list[str]) -> list[str]:
            """The end is above now[0] and not above now[1]."""
            middle = e.ins(f"lshr i32 {e.ins(f'add i32 {now[0]}, {now[1]}')}, 1")
            same = e.compare("eq", e.get(WORD, keys, middle), mine)
            return [e.choose(same, middle, now[0]), e.choose(same, now[1], middle)]

        turns = self.count.bit_length()

        def search() -> None:
            _, end = e.turns((0, turns, 1), [("i32", p), ("i32", str(self.count))], halve)
            e.put(WORD, end, e.room(self.ends), p)

        e.when(head, search, lambda: e.put(WORD, "0", e.room(self.ends), p))


def _sums(e: ThreadCode) -> BlockScan:
    return BlockScan(e, WORD, lambda a, b: e.ins(f"add i32 {a}, {b}"), "0")
