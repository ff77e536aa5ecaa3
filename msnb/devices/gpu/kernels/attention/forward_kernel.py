"""Attention, forward: a block owns 128 queries of a head, and tiles of 64 keys and values pass by.

    once        the block's queries go to shared memory (and, for few features, from there to registers)
    each tile   wait for its keys and values, meet, begin the copies of the next tile, and while those travel:
                S = q k^T; weights by the online softmax; out = out * factor + weights v
    at the end  out / z, and the logarithms of the sums

Two tiles have room: one is read while the other arrives. A warp owns 32 queries, so that a piece of keys that it loads
meets two bands of 16: shared memory, which gives 128 bytes a cycle, would starve the matrix unit with one.

Source: the algorithm is Dao 2023, FlashAttention-2 (arXiv 2307.08691).
"""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention.attention_block import QueryBlock
from msnb.devices.gpu.kernels.attention.attention_case import LOG2E
from msnb.devices.gpu.kernels.attention.block_place import Band, keys_for
from msnb.devices.gpu.kernels.attention.online_softmax import OnlineSoftmax, RowState, times_rows
from msnb.devices.gpu.kernels.attention.row_writer import store_numbers, store_rows
from msnb.devices.gpu.kernels.attention.shared_tile import TileCopy, TileView
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.tile_stream import TileStream
from msnb.devices.gpu.kernels.attention.warp_product import Sums, flat, over_features, over_rows, packed, shaped, zeros

Q, K, V, OUT, LSE = range(5)


class ForwardKernel(QueryBlock):
    """The code."""

    def made(self) -> TileEmitter:
        """The emitter with the code in it."""
        e = self.e
        self._own_queries()
        batch, head = self._head(self.case.q.heads)
        shared = e.calc("udiv", head, self.case.group)
        self.band = Band.of(e, self.tiling)
        self._copies(batch, head, shared)
        self._run()
        return e

    def _copies(self, batch: Word, head: Word, shared: Word) -> None:
        case = self.case
        self.q_copy: TileCopy = self._copy(self.own, Q, case.q, batch, head)
        copies = [self._copy(self.other, buffer, rows, batch, shared) for buffer, rows in ((K, case.k), (V, case.v))]
        self.stream = TileStream(self.e, self.other, copies, self.own.size)
        self.e.shared_bytes = self.stream.end

    def _run(self) -> None:
        e, case, bands = self.e, self.case, self.tiling.bands
        self.q_copy.begin(e.in_shared(0), self.first)
        self._begin(0)
        self.passing = keys_for(e, case, self.tiling, self.first)
        self.softmax: OnlineSoftmax = OnlineSoftmax(e, case.scale * LOG2E)
        rows = TileView(e, self.own, down=True)
        start = e.in_shared(e.calc("mul", self.band.warp_row, self.own.row_bytes))
        self.queries = rows.of(start)
        self.held: list[list[list[str]]] = []
        if self.tiling.held:
            e.wait(0)
            e.barrier()
            self.held = [[self._query(b, k) for k in range(self.own.steps)] for b in range(bands)]
        empty, state = zeros(bands, case.features // 8), RowState.empty(bands)
        carried = [("float", x) for x in (*flat(empty), *state.most, *state.sums)]
        found = e.loop(("0", e.long(self.passing.end), 1), carried, lambda j, c: self._tile(e.short(j), c, empty))
        self._finish(*self._parted(found, empty))

    def _query(self, band: int, step: int) -> list[str]:
        return self.held[band][step] if self.held else self.e.pieces(self.queries.at(band, step), turned=False)

    def _parted(self, carried: list[str], like: Sums) -> tuple[Sums, RowState]:
        many = len(flat(like))
        rows = carried[many:]
        return shaped(carried[:many], like), RowState(rows[: len(rows) // 2], rows[len(rows) // 2 :])

    def _tile(self, tile: str, carried: list[str], like: Sums) -> list[str]:
        """One tile of keys and values."""
        e = self.e
        out, state = self._parted(carried, like)
        keys, values, _ = self.stream.turn(tile, self.passing.end, self._begin)
        scores = over_features(e, self.tiling.bands, self._query, self.stream.across(keys))
        scores = self._seen(tile, scores)
        weights, state, factors = self.softmax.step(scores, state)
        out = over_rows(e, times_rows(e, out, factors), packed(e, weights), self.stream.down(values))
        return [*flat(out), *state.most, *state.sums]

    def _finish(self, out: Sums, state: RowState) -> None:
        e, case = self.e, self.case
        inverse, logs = self.softmax.totals(state)
        out = times_rows(e, out, inverse)
        row = e.calc("add", self.first, self.band.warp_row)
        line = e.calc("mul", self.row, case.q.count)
        store_rows(e, f"%a{OUT}", out, line, row, case.q.count, self.band)
        store_numbers(e, f"%a{LSE}", logs, line, row, case.q.count, self.band)
