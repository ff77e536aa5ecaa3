"""The gradient of attention by the queries: a block owns queries, and tiles of keys and values pass by.

    S = q k^T       P = 2^(c S - lse')       dP = dy v^T       dS = P (dP - delta)       dq += dS k

with c = scale log2(e) and lse' = lse log2(e): P comes out right at once, for the forward pass has left the sums. The
rows of a warp stay in registers, queries and dy as well as dq. What is left out is the factor ``scale`` of dS; dq gets
it in the end. No block writes what another one does, so the sums have one order at every run.

Source: the formulas are Dao et al. 2022, FlashAttention (arXiv 2205.14135); its algorithm makes dq together with dk and
dv, with atomic additions. Two kernels make S and dP twice, and need none.
"""

from __future__ import annotations

from msnb.devices.gpu.kernels.attention import warp_product as warps
from msnb.devices.gpu.kernels.attention.attention_block import QueryBlock
from msnb.devices.gpu.kernels.attention.attention_case import LOG2E
from msnb.devices.gpu.kernels.attention.block_place import Band, keys_for
from msnb.devices.gpu.kernels.attention.shared_tile import TileCopy, TileView
from msnb.devices.gpu.kernels.attention.tile_emitter import TileEmitter, Word
from msnb.devices.gpu.kernels.attention.tile_stream import TileStream

Q, K, V, DY, LSE, DELTA, DQ = range(7)


class QueryGradientKernel(QueryBlock):
    """The code."""

    q: warps.Parts
    dy: warps.Parts

    def made(self) -> TileEmitter:
        """The emitter with the code in it."""
        e, case = self.e, self.case
        self._own_queries()
        self.band = Band.of(e, self.tiling)
        batch, head = self._head(case.q.heads)
        copies = self._copies(batch, head, e.calc("udiv", head, case.group))
        self.passing = keys_for(e, case, self.tiling, self.first)
        self._hold(copies)
        self._run()
        return e

    def _copies(self, batch: Word, head: Word, shared: Word) -> list[TileCopy]:
        """Those of the block's queries and dy."""
        case = self.case
        assert case.dy is not None
        copies = [self._copy(self.other, buffer, rows, batch, shared) for buffer, rows in ((K, case.k), (V, case.v))]
        self.stream = TileStream(self.e, self.other, copies, 0)
        self.e.shared_bytes = max(self.stream.end, 2 * self.own.size)
        return [self._copy(self.own, buffer, rows, batch, head) for buffer, rows in ((Q, case.q), (DY, case.dy))]

    def _run(self) -> None:
        e = self.e
        self._begin(0)
        empty = warps.zeros(self.tiling.bands, self.case.features // 8)
        carried = [("float", x) for x in warps.flat(empty)]
        bounds = ("0", e.long(self.passing.end), 1)
        found = e.loop(bounds, carried, lambda j, c: self._tile(e.short(j), warps.shaped(c, empty)))
        dq = warps.times(e, warps.shaped(found, empty), e.number(self.case.scale))
        self._store(DQ, dq, self.case.q.count)

    def _hold(self, copies: list[TileCopy]) -> None:
        """The block's rows through shared memory, in the room where tiles will pass, into registers."""
        e = self.e
        for k, copy in enumerate(copies):
            copy.begin(e.in_shared(k * self.own.size), self.first)
        e.commit()
        self.lse: list[str] = self._numbers(LSE, LOG2E)
        self.delta: list[str] = self._numbers(DELTA, 1.0)
        e.wait(0)
        e.barrier()
        view, start = TileView(e, self.own, down=True), e.calc("mul", self.band.warp_row, self.own.row_bytes)
        self.q, self.dy = (self._parts(view, e.calc("add", start, k * self.own.size)) for k in (0, 1))
        e.barrier()

    def _parts(self, view: TileView, start: Word) -> warps.Parts:
        places = view.of(self.e.in_shared(start))
        steps = range(self.own.steps)
        return [[self.e.pieces(places.at(b, k), turned=False) for k in steps] for b in range(self.tiling.bands)]

    def _numbers(self, buffer: int, factor: float) -> list[str]:
        """A number of each of the lane's rows; 0 behind the last one."""
        e, count = self.e, self.case.q.count
        line, found = e.calc("mul", self.row, count), list[str]()
        for k in range(2 * self.tiling.bands):
            row = e.calc("add", e.calc("add", e.calc("add", self.first, self.band.warp_row), self.band.g), 8 * k)
            at = e.calc("add", line, e.least(row, count - 1))
            place = e.in_global(f"%a{buffer}", e.i64("mul", e.long(at), 4))
            value = e.ins(f"load float, ptr addrspace(1) {place}, align 4")
            found.append(value if factor == 1.0 else e.f32("fmul", value, e.number(factor)))
        return found

    def _tile(self, tile: str, dq: warps.Sums) -> list[str]:
        """One tile of keys and values."""
        e, bands, stream = self.e, self.tiling.bands, self.stream
        keys, values, _ = stream.turn(tile, self.passing.end, self._begin)
        scores = warps.over_features(e, bands, lambda b, k: self.q[b][k], stream.across(keys))
        scores = self._seen(tile, scores)
        products = warps.over_features(e, bands, lambda b, k: self.dy[b][k], stream.across(values))
        changes = [
            [[self._change(s, p, 2 * b + k // 2) for k, (s, p) in enumerate(zip(*pair))] for pair in zip(*rows)]
            for b, rows in enumerate(zip(scores, products))
        ]
        return warps.flat(warps.over_rows(e, dq, warps.packed(e, changes), stream.down(keys)))

    def _change(self, score: str, product: str, row: int) -> str:
        """dS without ``scale``, of one score."""
        e = self.e
        shifted = e.fma(score, e.number(self.case.scale * LOG2E), e.ins(f"fneg float {self.lse[row]}"))
        return e.f32("fmul", e.exp2(shifted), e.f32("fsub", product, self.delta[row]))
