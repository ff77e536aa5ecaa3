"""Results from registers to global memory: dense rows, those behind the last one left out."""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention.block_place import Band
from msnb.devices.gpu.kernels.attention.shared_tile import ELEMENT
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.warp_product import Sums


def store_rows(e: TileEmitter, buffer: str, sums: Sums, line: Word, row: Word, count: int, band: Band) -> None:
    """Sums as rows of two-byte numbers.

    Args:
        buffer: where the first row of all lies.
        sums: of a warp.
        line: rows of the batches and heads before this one.
        row: the warp's first row; count: how many there are.
        band: where the lane is.
    """
    features = 8 * len(sums[0])
    for b, eights in enumerate(sums):
        for half in (0, 1):
            mine = e.calc("add", e.calc("add", row, band.g), 16 * b + 8 * half)

            def store(mine: Word = mine, eights: list[list[str]] = eights, half: int = half) -> None:
                at = e.i64("mul", e.long(e.calc("add", line, mine)), ELEMENT * features)
                at = e.i64("add", at, e.long(e.calc("shl", band.t, 2)))
                place = e.in_global(buffer, at)
                for n, eight in enumerate(eights):
                    word = e.packed(eight[2 * half], eight[2 * half + 1])
                    e.do(f"store i32 {word}, ptr addrspace(1) {e.in_global(place, 8 * ELEMENT * n)}, align 4")

            e.when(e.less(mine, count), store)


def store_numbers(
    e: TileEmitter, buffer: str, numbers: list[str], line: Word, row: Word, count: int, band: Band
) -> None:
    """One float32 for each row, by the first of its lanes."""
    first = e.ins(f"icmp eq i32 {band.t}, 0")
    for k, number in enumerate(numbers):
        mine = e.calc("add", e.calc("add", row, band.g), 8 * k)
        inside = e.ins(f"and i1 {first}, {e.less(mine, count)}")

        def store(mine: Word = mine, number: str = number) -> None:
            place = e.in_global(buffer, e.i64("mul", e.long(e.calc("add", line, mine)), 4))
            e.do(f"store float {number}, ptr addrspace(1) {place}, align 4")

        e.when(inside, store)
