"""What the kernels of attention have in common: a block owns rows of a head, and tiles of other rows pass by."""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention.attention_case import AttentionCase, Rows, Tiling
from msnb.devices.gpu.kernels.attention.block_place import Band, KeyTiles, base_of, tiles
from msnb.devices.gpu.kernels.attention.masking import masked, seen_by_row, where_needed
from msnb.devices.gpu.kernels.attention.row_writer import store_rows
from msnb.devices.gpu.kernels.attention.shared_tile import TileCopy, TileShape
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.tile_stream import TileStream
from msnb.devices.gpu.kernels.attention.warp_product import Sums


class AttentionBlock:
    """The code of one block.

    Args:
        case: what for.
        tiling: how it is cut.
        symbol: the name.

    Attributes:
        own, other: the shapes of tiles: the block's, and those that pass by.
        first, row: the block's first row, and which head of which sequence it has.
        band: the rows of a warp; stream: the tiles that pass by.
    """

    first: Word
    row: str
    band: Band
    stream: TileStream

    def __init__(self, case: AttentionCase, tiling: Tiling, symbol: str) -> None:
        self.case, self.tiling = case, tiling
        self.e: TileEmitter = TileEmitter(symbol, case.dtype)
        self.own: TileShape = TileShape(tiling.own, case.features)
        self.other: TileShape = TileShape(tiling.other, case.features)

    def _copy(self, shape: TileShape, buffer: int, rows: Rows, batch: Word, head: Word) -> TileCopy:
        """How tiles of a head come to shared memory."""
        return TileCopy(self.e, shape, rows, base_of(self.e, buffer, rows, batch, head), self.tiling.threads)

    def _head(self, heads: int) -> tuple[Word, Word]:
        """The sequence and the head of the block's rows."""
        return self.e.calc("udiv", self.row, heads), self.e.calc("urem", self.row, heads)

    def _store(self, buffer: int, sums: Sums, count: int) -> None:
        """The rows of a warp into a result of so many rows a head."""
        row = self.e.calc("add", self.first, self.band.warp_row)
        store_rows(self.e, f"%a{buffer}", sums, self.e.calc("mul", self.row, count), row, count, self.band)


class QueryBlock(AttentionBlock):
    """A block that owns queries; keys and values pass by.

    Attributes:
        passing: which tiles of them.
    """

    passing: KeyTiles

    def _own_queries(self) -> None:
        """Begin the code: queries that see much come first."""
        e, case = self.e, self.case
        tile = e.register("ctaid.x")
        if case.causal:
            tile = str(e.calc("sub", tiles(case.q.count, self.tiling.own) - 1, tile))
        self.first, self.row = e.calc("mul", tile, self.tiling.own), e.register("ctaid.y")

    def _begin(self, tile: Word) -> None:
        """Begin the copies of a tile of keys and values."""
        self.stream.begin(tile, self.e.calc("mul", tile, self.tiling.other))
        self.e.commit()

    def _seen(self, tile: str, scores: Sums) -> Sums:
        """Scores with those gone that a query may not see."""
        e, case = self.e, self.case
        if not case.causal and case.k.count % self.tiling.other == 0:
            return scores
        test = e.ins(f"icmp sge i32 {tile}, {self.passing.masked}")

        def mask(found: Sums) -> Sums:
            query = e.calc("add", e.calc("add", self.first, self.band.warp_row), self.band.g)
            key = e.calc("add", e.calc("mul", tile, self.tiling.other), e.calc("shl", self.band.t, 1))
            return masked(e, found, seen_by_row(e, query, key, case.k.count, case.causal))

        return where_needed(e, test, scores, mask)
