"""A tile of rows in shared memory, laid so that nobody waits for a bank.

A row of 64 two-byte elements is eight chunks of 16 bytes, as wide as all banks together: chunk c of every row lies in
the same banks, and a load of the matrix unit, which takes one chunk of eight rows, would take eight turns. So

    chunk c of row r lies at place c xor (r mod 8)           64, 128 features
                                 c xor (r div 2 mod 4)       32, 96 features: a row is an odd multiple of half the banks

and eight neighbouring rows have a chunk in eight different places. Rows of 16 are the same again, so where a lane
looks is: its own row and chunk once, then distances that are known when the kernel is made. A step along the features
flips bits of the chunk: there are two or four such places in a lane, all others are one of them plus a constant.
"""

from __future__ import annotations

from dataclasses import dataclass

from msnb.devices.gpu.kernels.attention.attention_case import Rows
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word

ELEMENT, CHUNK = 2, 16


@dataclass(frozen=True)
class TileShape:
    """So many rows of so many two-byte features."""

    rows: int
    features: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return ELEMENT * self.features

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.rows * self.row_bytes

    @property
    def steps(self) -> int:
        """Steps of 16 features."""
        return self.features // 16

    @property
    def mask(self) -> int:
        """The bits of a chunk's place that rows flip."""
        return 7 if self.features % 64 == 0 else 3

    @property
    def span(self) -> int:
        """Chunks, a power of two, that threads copy side by side."""
        chunks = self.row_bytes // CHUNK
        return chunks & -chunks


def flips(e: TileEmitter, shape: TileShape, row: Word) -> Word:
    """What the chunks of a row are flipped with."""
    return e.calc("and", row if shape.mask == 7 else e.calc("lshr", row, 1), shape.mask)


class TileCopy:
    """Copies of tiles of a tensor's rows into shared memory, by all threads of a block.

    Args:
        e: of the kernel.
        shape: of the tiles.
        rows: how the tensor lies.
        base: where its first row lies in global memory (batch and head are chosen).
        threads: of the block.
    """

    def __init__(self, e: TileEmitter, shape: TileShape, rows: Rows, base: str, threads: int) -> None:
        self.e: TileEmitter = e
        self.shape: TileShape = shape
        self.rows: Rows = rows
        tid = e.register("tid.x")
        self.first: Word = e.calc("udiv", tid, shape.span)
        self.apart: int = threads // shape.span
        column = e.calc("and", tid, shape.span - 1)
        place = e.calc("shl", e.calc("xor", column, flips(e, shape, self.first)), 4)
        self._to = e.calc("add", e.calc("mul", self.first, shape.row_bytes), place)
        step = ELEMENT * rows.strides[2]
        from_row = e.i64("mul", e.long(self.first), step)
        self._from = e.in_global(base, e.i64("add", from_row, e.long(e.calc("shl", column, 4))))

    def begin(self, tile: str, first: Word, more: str = "") -> None:
        """Begin to copy.

        Args:
            tile: the place of the tile in shared memory.
            first: its first row; rows behind the last one are zeros.
            more: bytes between the base and where rows are counted from: another head.
        """
        e, shape = self.e, self.shape
        step = ELEMENT * self.rows.strides[2]
        distance = e.i64("mul", e.long(first), step)
        source = e.in_global(self._from, e.i64("add", distance, more) if more else distance)
        to = e.ins(f"getelementptr i8, ptr addrspace(3) {tile}, i32 {self._to}")
        ragged = self.rows.count % shape.rows
        for row in range(0, shape.rows, self.apart):
            inside = ""
            if ragged:
                inside = e.less(e.calc("add", e.calc("add", first, self.first), row), self.rows.count)
            for chunk in range(0, shape.row_bytes // CHUNK, shape.span):
                there = e.beside(to, row * shape.row_bytes + chunk * CHUNK)
                e.copy(there, e.in_global(source, row * step + chunk * CHUNK), inside=inside)


class TileView:
    """What a lane sees of tiles of a shape: the rows that it names to ``ldmatrix``.

    Two ways to lay the four pieces: ``down`` (8 more rows, then 8 more features) is an A, or a B that is turned;
    otherwise (8 more features, then 8 more rows) a B that is not.
    """

    def __init__(self, e: TileEmitter, shape: TileShape, down: bool) -> None:
        self.e: TileEmitter = e
        self.shape: TileShape = shape
        lane = e.calc("and", e.register("tid.x"), 31)
        low, eight, sixteen = (e.calc("and", lane, n) for n in (7, 8, 16))
        row = e.calc("add", low, eight if down else e.calc("lshr", sixteen, 1))
        chunk = e.calc("lshr", sixteen if down else eight, 4 if down else 3)
        flipped = e.calc("shl", e.calc("xor", chunk, flips(e, shape, row)), 4)
        start = e.calc("mul", row, shape.row_bytes)
        self.period: int = (shape.mask + 1) // 2
        self._places = [e.calc("add", start, e.calc("xor", flipped, 32 * k)) for k in range(self.period)]

    def of(self, tile: str) -> TilePlaces:
        """The places in one tile."""
        e = self.e
        return TilePlaces(
            e, self.shape, [e.ins(f"getelementptr i8, ptr addrspace(3) {tile}, i32 {p}") for p in self._places]
        )


class TilePlaces:
    """The rows of one tile that a lane names."""

    def __init__(self, e: TileEmitter, shape: TileShape, places: list[str]) -> None:
        self.e: TileEmitter = e
        self.shape: TileShape = shape
        self.places: list[str] = places

    def at(self, band: int, step: int) -> str:
        """For rows 16 band to 16 band + 15 and features 16 step to 16 step + 15."""
        turn, period = step % len(self.places), len(self.places)
        distance = 16 * band * self.shape.row_bytes + (step - turn) // period * period * 2 * CHUNK
        return self.e.beside(self.places[turn], distance)
