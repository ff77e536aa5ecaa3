"""Pairs of tiles that pass by: one pair arrives in shared memory while the other one is read.

turn k    wait for the copies of pair k; meet: nobody reads pair k - 1 any more; begin the copies of pair k + 1,
          which lands where k - 1 was; work on pair k
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msnb.devices.gpu.kernels.attention.shared_tile import TileCopy, TilePlaces, TileShape, TileView
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word


class TilePair(NamedTuple):
    """Where two tiles lie in shared memory, and what is behind them."""

    first: str
    second: str
    behind: str


class TileStream:
    """Two tensors whose tiles pass by.

    Args:
        e: of the kernel.
        shape: of the tiles.
        copies: of the two tensors.
        start: where their room in shared memory begins.
        more: bytes behind each pair.
    """

    def __init__(self, e: TileEmitter, shape: TileShape, copies: Sequence[TileCopy], start: int, more: int = 0) -> None:
        self.e: TileEmitter = e
        self.shape: TileShape = shape
        self.copies: Sequence[TileCopy] = copies
        self.start: int = start
        self.pair: int = 2 * shape.size + more
        self.end: int = start + 2 * self.pair
        self._down, self._across = TileView(e, shape, down=True), TileView(e, shape, down=False)

    def places(self, turn: Word) -> TilePair:
        """The pair of a turn."""
        e, size = self.e, self.shape.size
        at = e.calc("add", e.calc("mul", e.calc("and", turn, 1), self.pair), self.start)
        first = e.in_shared(at)
        return TilePair(first, e.beside(first, size), e.beside(first, 2 * size))

    def begin(self, turn: Word, first: Word, more: Sequence[str] = ("", "")) -> TilePair:
        """Begin the copies of the rows from ``first`` on, ``more`` bytes behind where the tensors begin."""
        pair = self.places(turn)
        for copy, place, distance in zip(self.copies, pair, more):
            copy.begin(place, first, distance)
        return pair

    def turn(self, turn: Word, end: Word, begin: Callable[[Word], None]) -> TilePair:
        """The pair of this turn, which has arrived; ``begin`` begins the copies of the next one, if there is one."""
        e = self.e
        e.wait(0)
        e.barrier()
        following = e.calc("add", turn, 1)
        e.when(e.less(following, end), lambda: begin(following))
        return self.places(turn)

    def down(self, tile: str) -> TilePlaces:
        """A tile whose rows are summed over."""
        return self._down.of(tile)

    def across(self, tile: str) -> TilePlaces:
        """A tile whose features are summed over."""
        return self._across.of(tile)
