"""Products of a warp's bands of 16 rows with a tile in shared memory.

    over features    R[band, row of the tile] += sum over the features of A[band, feature] tile[row, feature]
    over rows        R[band, feature] += sum over the rows of A[band, row] tile[row, feature]

R is float32 in registers, ``sums[band][n]``: four numbers of a lane for the n-th eight columns. A is packed:
``parts[band][k]``, four words of a lane for the k-th sixteen columns.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.devices.gpu.kernels.attention.shared_tile import TilePlaces
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter

Sums = list[list[list[str]]]
Parts = list[list[list[str]]]
PartsOf = Callable[[int, int], list[str]]


def zeros(bands: int, eights: int) -> Sums:
    """Sums of nothing."""
    return [[["0.0"] * 4 for _ in range(eights)] for _ in range(bands)]


def over_features(e: TileEmitter, bands: int, parts: PartsOf, tile: TilePlaces) -> Sums:
    """The products of all bands with all rows of a tile.

    Args:
        parts: gives A for a band and a step of 16 features.
        tile: seen with ``down=False``.
    """
    sums = zeros(bands, tile.shape.rows // 8)
    for k in range(tile.shape.steps):
        a = [parts(band, k) for band in range(bands)]
        for n in range(tile.shape.rows // 16):
            b = e.pieces(tile.at(n, k), turned=False)
            for band in range(bands):
                for side in (0, 1):
                    at = 2 * n + side
                    sums[band][at] = e.mma(sums[band][at], a[band], b[2 * side : 2 * side + 2])
    return sums


def over_rows(e: TileEmitter, sums: Sums, parts: Parts, tile: TilePlaces) -> Sums:
    """``sums`` and the products of all bands with all features of a tile, which is seen with ``down=True``."""
    sums = [list(row) for row in sums]
    for k in range(tile.shape.rows // 16):
        for n in range(tile.shape.steps):
            b = e.pieces(tile.at(k, n), turned=True)
            for band, row in enumerate(sums):
                for side in (0, 1):
                    at = 2 * n + side
                    row[at] = e.mma(row[at], parts[band][k], b[2 * side : 2 * side + 2])
    return sums


def packed(e: TileEmitter, sums: Sums) -> Parts:
    """Sums rounded to two bytes: the A of the next product, in the same lanes."""
    return [[_packed(e, row[2 * k], row[2 * k + 1]) for k in range(len(row) // 2)] for row in sums]


def _packed(e: TileEmitter, left: list[str], right: list[str]) -> list[str]:
    return [e.packed(side[i], side[i + 1]) for side in (left, right) for i in (0, 2)]


def flat(sums: Sums) -> list[str]:
    """All numbers, as loops carry them."""
    return [x for row in sums for eight in row for x in eight]


def shaped(numbers: list[str], like: Sums) -> Sums:
    """Carried numbers as sums again."""
    left = iter(numbers)
    return [[[next(left) for _ in eight] for eight in row] for row in like]


def times(e: TileEmitter, sums: Sums, factor: str) -> Sums:
    """All sums times a number."""
    return [[[e.f32("fmul", x, factor) for x in eight] for eight in row] for row in sums]
