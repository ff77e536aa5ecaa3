"""The gradients of attention by keys and values: a block owns keys, and tiles of queries and dy pass by.

    S^T = k q^T     P^T = 2^(c S^T - lse')     dv += P^T dy     dP^T = v dy^T     dS^T = P^T (dP^T - delta)
    dk += dS^T q

Everything is transposed, so that the block's rows are keys: then P^T and dS^T are left where the next product wants
them, as the A of it, in the registers of the same lane. What a query brings along, lse and delta, stands at its column;
a tile of them travels with the tile of queries. Heads of queries that share the block's keys pass by one after another,
so their sum needs no other block.

Queries behind the last one are zeros, and so are their dy, lse and delta: they add nothing.
"""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention import warp_product as warps
from msnb.devices.gpu.kernels.attention.attention_block import AttentionBlock
from msnb.devices.gpu.kernels.attention.attention_case import LOG2E, Tiling
from msnb.devices.gpu.kernels.attention.block_place import Band, queries_for
from msnb.devices.gpu.kernels.attention.masking import masked, seen_by_column, where_needed
from msnb.devices.gpu.kernels.attention.shared_tile import ELEMENT, TileCopy, TilePlaces, TileView
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.tile_stream import TileStream

Q, K, V, DY, LSE, DELTA, DK, DV = range(8)


class NumberCopy:
    """Copies of what queries bring along: the first threads of a block copy lse, the next delta, one number each.

    Args:
        e: of the kernel.
        count: how many queries a head has.
        tiling: how the kernel is cut.
        line: heads before this one.
    """

    def __init__(self, e: TileEmitter, count: int, tiling: Tiling, line: Word) -> None:
        self.e: TileEmitter = e
        self.count: int = count
        self.many: int = tiling.other
        self.threads: int = tiling.threads
        self.tid: str = e.register("tid.x")
        self.mine: Word = e.calc("and", self.tid, self.many - 1)
        source = e.ins(f"select i1 {e.less(self.tid, self.many)}, ptr addrspace(1) %a{LSE}, ptr addrspace(1) %a{DELTA}")
        at = e.calc("add", e.calc("mul", line, count), self.mine)
        self.source: str = e.in_global(source, e.i64("mul", e.long(at), 4))

    def begin(self, place: str, head: Word, first: Word) -> None:
        """Begin to copy the numbers of a tile of queries of a head further on."""
        if self.threads == 2 * self.many:
            self._copy(place, head, first)
        else:
            self.e.when(self.e.less(self.tid, 2 * self.many), lambda: self._copy(place, head, first))

    def _copy(self, place: str, head: Word, first: Word) -> None:
        e = self.e
        at = e.calc("add", e.calc("mul", head, self.count), first)
        to = e.ins(f"getelementptr float, ptr addrspace(3) {place}, i32 {self.tid}")
        inside = e.less(e.calc("add", first, self.mine), self.count) if self.count % self.many else ""
        e.copy(to, e.in_global(self.source, e.i64("mul", e.long(at), 4)), size=4, inside=inside)


class KeyGradientKernel(AttentionBlock):
    """The code."""

    keys: warps.PartsOf
    values: warps.PartsOf

    def made(self) -> TileEmitter:
        """The emitter with the code in it."""
        e, case = self.e, self.case
        self.first = e.calc("mul", e.register("ctaid.x"), self.tiling.own)
        self.row = e.register("ctaid.y")
        self.band = Band.of(e, self.tiling)
        batch, shared = self._head(case.k.heads)
        head = e.calc("mul", shared, case.group)
        copies = self._copies(batch, head, shared)
        line = e.calc("add", e.calc("mul", batch, case.q.heads), head)
        self.numbers: NumberCopy = NumberCopy(e, case.q.count, self.tiling, line)
        self.turns = queries_for(e, case, self.tiling, self.first)
        self._run(copies)
        return e

    def _copies(self, batch: Word, head: Word, shared: Word) -> list[TileCopy]:
        """Those of the block's keys and values."""
        case = self.case
        assert case.dy is not None
        copies = [self._copy(self.other, buffer, rows, batch, head) for buffer, rows in ((Q, case.q), (DY, case.dy))]
        self.stream = TileStream(self.e, self.other, copies, 2 * self.own.size, more=8 * self.tiling.other)
        self.e.shared_bytes = self.stream.end
        return [self._copy(self.own, buffer, rows, batch, shared) for buffer, rows in ((K, case.k), (V, case.v))]

    def _run(self, copies: list[TileCopy]) -> None:
        e, case = self.e, self.case
        for k, copy in enumerate(copies):
            copy.begin(e.in_shared(k * self.own.size), self.first)
        if self.tiling.held:
            e.commit()
            e.wait(0)
            e.barrier()
        e.when(e.less(0, self.turns.end), lambda: self._begin(0))
        view, start = TileView(e, self.own, down=True), e.calc("mul", self.band.warp_row, self.own.row_bytes)
        places = [view.of(e.in_shared(e.calc("add", start, k * self.own.size))) for k in (0, 1)]
        self.keys, self.values = (self._rows(p) for p in places)
        empty = warps.zeros(self.tiling.bands, case.features // 8)
        many, carried = len(warps.flat(empty)), [("float", x) for x in warps.flat(empty) * 2]

        def body(j: str, c: list[str]) -> list[str]:
            return self._tile(e.short(j), warps.shaped(c[:many], empty), warps.shaped(c[many:], empty))

        found = e.loop(("0", e.long(self.turns.end), 1), carried, body)
        self._store(DK, warps.times(e, warps.shaped(found[:many], empty), e.number(case.scale)), case.k.count)
        self._store(DV, warps.shaped(found[many:], empty), case.k.count)

    # ---- what passes by ----

    def _query_of(self, turn: Word) -> tuple[Word, Word]:
        """(head within the group, first query) of a turn."""
        e, head, turns = self.e, 0, self.turns
        if self.case.group == 1:
            return head, e.calc("mul", e.calc("add", turn, turns.start), self.tiling.other)
        within = e.calc("urem", turn, turns.each)
        return e.calc("udiv", turn, turns.each), e.calc("mul", e.calc("add", within, turns.start), self.tiling.other)

    def _begin(self, turn: Word) -> None:
        """Begin the copies of a turn's queries, dy, and numbers."""
        e, case = self.e, self.case
        assert case.dy is not None
        head, first = self._query_of(turn)
        heads = [e.i64("mul", e.long(head), ELEMENT * rows.strides[1]) for rows in (case.q, case.dy) if head != 0]
        pair = self.stream.begin(turn, first, heads or ("", ""))
        self.numbers.begin(pair.behind, head, first)
        e.commit()

    def _tile(self, turn: str, dk: warps.Sums, dv: warps.Sums) -> list[str]:
        """One tile of queries."""
        e, stream = self.e, self.stream
        queries, dy, numbers = stream.turn(turn, self.turns.end, self._begin)
        weights = self._weights(turn, self._over(self.keys, stream.across(queries)), numbers)
        dv = warps.over_rows(e, dv, warps.packed(e, weights), stream.down(dy))
        products = self._over(self.values, stream.across(dy))
        deltas = self._columns(e.beside(numbers, 4 * self.tiling.other))
        changes = [
            [
                [e.f32("fmul", w, e.f32("fsub", p, deltas[2 * n + k % 2])) for k, (w, p) in enumerate(zip(*pair))]
                for n, pair in enumerate(zip(*rows))
            ]
            for rows in zip(weights, products)
        ]
        dk = warps.over_rows(e, dk, warps.packed(e, changes), stream.down(queries))
        return [*warps.flat(dk), *warps.flat(dv)]

    def _rows(self, places: TilePlaces) -> warps.PartsOf:
        """The warp's own rows, by band and step: in registers, or read when they are asked for."""
        if not self.tiling.held:
            return lambda band, step: self.e.pieces(places.at(band, step), turned=False)
        bands, steps = range(self.tiling.bands), range(self.own.steps)
        held = [[self.e.pieces(places.at(b, k), turned=False) for k in steps] for b in bands]
        return lambda band, step: held[band][step]

    def _over(self, rows: warps.PartsOf, tile: TilePlaces) -> warps.Sums:
        return warps.over_features(self.e, self.tiling.bands, rows, tile)

    def _columns(self, numbers: str) -> list[str]:
        """The numbers at the columns of this lane: two of every eight."""
        e, found = self.e, list[str]()
        place = e.ins(f"getelementptr float, ptr addrspace(3) {numbers}, i32 {e.calc('shl', self.band.t, 1)}")
        for n in range(self.tiling.other // 8):
            pair = e.ins(f"load <2 x float>, ptr addrspace(3) {e.beside(place, 32 * n)}, align 8")
            found += [e.ins(f"extractelement <2 x float> {pair}, i64 {k}") for k in (0, 1)]
        return found

    def _weights(self, turn: str, scores: warps.Sums, numbers: str) -> warps.Sums:
        """P^T."""
        e = self.e
        scores = self._seen(turn, scores)
        scale, log = e.number(self.case.scale * LOG2E), e.number(-LOG2E)
        down = [e.f32("fmul", x, log) for x in self._columns(numbers)]
        return [
            [[e.exp2(e.fma(s, scale, down[2 * n + k % 2])) for k, s in enumerate(eight)] for n, eight in enumerate(row)]
            for row in scores
        ]

    def _seen(self, turn: str, scores: warps.Sums) -> warps.Sums:
        e = self.e
        if not self.case.causal:
            return scores
        _, first = self._query_of(turn)
        test = e.less(first, e.calc("mul", self.turns.whole, self.tiling.other))

        def mask(found: warps.Sums) -> warps.Sums:
            key = e.calc("add", e.calc("add", self.first, self.band.warp_row), self.band.g)
            query = e.calc("add", first, e.calc("shl", self.band.t, 1))
            return masked(e, found, seen_by_column(e, key, query))

        return where_needed(e, test, scores, mask)
