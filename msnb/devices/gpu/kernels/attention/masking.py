"""Scores that a query does not see become minus infinity; what lies behind the last key is not seen by anybody."""

from __future__ import annotations

from collections.abc import Callable

from msnb.devices.gpu.kernels.attention.online_softmax import LEAST
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.warp_product import Sums, flat, shaped


def masked(e: TileEmitter, scores: Sums, seen: Callable[[int, int, int], str]) -> Sums:
    """Scores with what is not seen replaced; ``seen(band, eight, number)`` tests one of a lane's numbers."""
    return [
        [
            [e.ins(f"select i1 {seen(band, n, k)}, float {x}, float {LEAST}") for k, x in enumerate(eight)]
            for n, eight in enumerate(row)
        ]
        for band, row in enumerate(scores)
    ]


def where_needed(e: TileEmitter, test: str, scores: Sums, mask: Callable[[Sums], Sums]) -> Sums:
    """``mask(scores)`` where the test, the same for the whole block, holds; else the scores."""
    before, then, after = e.block, e.name("mask"), e.name("seen")
    e.do(f"br i1 {test}, label %{then}, label %{after}")
    e.label(then)
    made = flat(mask(scores))
    last = e.block
    e.do(f"br label %{after}")
    e.label(after)
    old = flat(scores)
    found = [e.ins(f"phi float [ {a}, %{before} ], [ {b}, %{last} ]") for a, b in zip(old, made)]
    return shaped(found, scores)


def seen_by_row(e: TileEmitter, query: Word, key: Word, keys: int, causal: bool) -> Callable[[int, int, int], str]:
    """The test where rows are queries and columns are keys.

    Args:
        query: the lane's first query (g of band 0).
        key: the lane's first key (2 t of the first eight).
        keys: how many there are.
        causal: query i sees the keys 0 to i.
    """
    limits: dict[tuple[int, int], Word] = {}

    def limit(band: int, half: int) -> Word:
        """The first key that a row does not see."""
        at = band, half
        if at not in limits:
            behind = e.calc("add", query, 16 * band + 8 * half + 1)
            limits[at] = e.least(behind, keys) if causal else keys
        return limits[at]

    def seen(band: int, n: int, k: int) -> str:
        return e.less(e.calc("add", key, 8 * n + k % 2), limit(band, k // 2))

    return seen


def seen_by_column(e: TileEmitter, key: Word, query: Word) -> Callable[[int, int, int], str]:
    """The test where rows are keys and columns are queries, which see the keys up to themselves.

    Args:
        key: the lane's first key (g of band 0).
        query: the lane's first query (2 t of the first eight).
    """

    def seen(band: int, n: int, k: int) -> str:
        return e.less(e.calc("add", key, 16 * band + 8 * (k // 2)), e.calc("add", query, 8 * n + k % 2 + 1))

    return seen
