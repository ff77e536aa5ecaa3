"""Which rows a block works on, and which tiles pass by it.

    grid    x  the tiles of rows that blocks own       y  batch and head

Where a query sees only the keys before it, tiles on the wrong side of the diagonal are left out, those on it are
masked, and blocks with the most work begin first.
"""

from __future__ import annotations

from dataclasses import dataclass

from msnb.devices.gpu.kernels.attention.attention_case import AttentionCase, Rows, Tiling
from msnb.devices.gpu.kernels.attention.shared_tile import ELEMENT
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word


def tiles(count: int, size: int) -> int:
    """How many tiles cover so many rows."""
    return -(-count // size)


def base_of(e: TileEmitter, buffer: int, rows: Rows, batch: Word, head: Word) -> str:
    """Where the rows of one batch and head lie."""
    at = e.i64("mul", e.long(batch), ELEMENT * rows.strides[0])
    at = e.i64("add", at, e.i64("mul", e.long(head), ELEMENT * rows.strides[1]))
    return e.in_global(f"%a{buffer}", e.i64("add", at, ELEMENT * rows.offset))


@dataclass
class Band:
    """Where a warp and a lane are in the block's rows: the warp's first row, and g and t of the lane."""

    warp_row: Word
    g: Word
    t: Word

    @staticmethod
    def of(e: TileEmitter, tiling: Tiling) -> Band:
        """For this thread."""
        tid = e.register("tid.x")
        lane = e.calc("and", tid, 31)
        warp_row = e.calc("mul", e.calc("lshr", tid, 5), 16 * tiling.bands)
        return Band(warp_row, e.calc("lshr", lane, 2), e.calc("and", lane, 3))


@dataclass
class KeyTiles:
    """Tiles of keys that pass by a tile of queries: [0, end) in all, those from ``masked`` on with a test."""

    masked: Word
    end: Word


def keys_for(e: TileEmitter, case: AttentionCase, tiling: Tiling, first: Word) -> KeyTiles:
    """The tiles of keys for the queries from ``first`` on."""
    keys, size = case.k.count, tiling.other
    if not case.causal:
        return KeyTiles(keys // size, tiles(keys, size))
    whole = e.least(e.calc("udiv", e.calc("add", first, 1), size), keys // size)
    seen = e.calc("udiv", e.calc("add", first, tiling.own + size - 1), size)
    return KeyTiles(whole, e.least(seen, tiles(keys, size)))


@dataclass
class QueryTiles:
    """Tiles of queries that pass by a tile of keys: ``each`` of a head from ``start`` on, ``end`` of all heads that
    share the keys; those before ``whole`` with a test."""

    start: Word
    whole: Word
    each: Word
    end: Word


def queries_for(e: TileEmitter, case: AttentionCase, tiling: Tiling, first: Word) -> QueryTiles:
    """The tiles of queries for the keys from ``first`` on."""
    size, start, whole = tiling.other, 0, 0
    count = tiles(case.q.count, size)
    if not case.causal:
        return QueryTiles(start, whole, count, count * case.group)
    begin = e.calc("udiv", first, size)
    each = e.calc("sub", count, e.least(begin, count))
    behind = e.calc("udiv", e.calc("add", first, tiling.own + size - 2), size)
    return QueryTiles(begin, behind, each, e.calc("mul", each, case.group))
