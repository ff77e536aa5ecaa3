"""unindex: zeros with y added at index tensors, in a fixed order. The gradients of embeddings and of indexing.

    y [entries, 768], index [entries]     out [32000, 768]

    1. zeros
    2. the entries sorted by the row they mean (``row_sort``); each row is one run of them
    3. pieces of 32, then of 32 x 32 sorted entries that lie in one run: their sums
    4. a thread for each run and some columns adds up, whole pieces where it can, and writes its row

Nobody else writes that row, so there are no atomics, and the order of additions is that of the entries, in float32 for
floats of two bytes. Pieces keep a run of many thousand entries (a padding token) from waiting for one thread.
"""

from __future__ import annotations

from msnb.core import dtypes
from msnb.devices.gpu.codegen import GpuKernel, GpuTarget
from msnb.devices.gpu.kernels.indexing.index_entries import IndexEntries
from msnb.devices.gpu.kernels.indexing.place_columns import PlaceColumns
from msnb.devices.gpu.kernels.indexing.row_sort import WORD, RowSort
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import WIDEST, accumulator, alignment, are_real, operands
from msnb.devices.gpu.kernels.memory_fill import zero_fill
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm.emitter import literal, type_name
from msnb.ir.graph import Node, type_of

PIECE, LEVELS = 32, 3


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How unindex with index tensors runs."""
    if node.op.name != "unindex" or len(node.inputs) < 2:
        return None
    if not are_real(operands(node)) or any(t.weak for t in operands(node)):
        return None
    kernel = ScatterAdd(node, alignment(node.inputs[0], view_of), target).made
    return LoweredNode(list(node.inputs), [KernelPart(kernel, list(range(len(node.inputs))), [0])])


class ScatterAdd:
    """The functions of one node; ``aligned``: at how many bytes y begins."""

    builder: KernelBuilder

    def __init__(self, node: Node, aligned: int, target: GpuTarget) -> None:
        y, *indices = operands(node)
        out = type_of(node.out)
        self.entries: IndexEntries = IndexEntries(out, indices, node.attrs["spec"])
        self.dtype, self.sum = y.dtype, accumulator(y.dtype)
        self.columns: PlaceColumns = PlaceColumns(self.entries.walk, min(WIDEST, aligned), y.dtype.itemsize)
        builder = self.builder = KernelBuilder("scatter_add", [y, *indices], [out], self.entries.faults, True, target)
        zero_fill(builder, out)
        self.sorted: RowSort = RowSort(builder, self.entries, 1)
        self.kind: str = counter_kind(y.size, out.size, self.sorted.count * self.columns.units)
        self.levels: list[int] = []
        while PIECE ** (len(self.levels) + 1) <= self.sorted.count and len(self.levels) < LEVELS:
            self._level()
        builder.units(self.sorted.count * self.columns.units, self.kind, self._run)

    @property
    def made(self) -> GpuKernel:
        """All of them."""
        return self.builder.made()

    # ---- arithmetic ----

    def _add(self, e: ThreadCode, a: str, b: str) -> str:
        t = e.t(type_name(self.sum))
        word = "fadd" if self.sum.is_float else "or" if self.sum is dtypes.bool_ else "add"
        return e.ins(f"{word} {t} {a}, {b}")

    def _entry(self, e: ThreadCode, p: str, columns: str) -> str:
        """The columns of the entry in sorted place p."""
        q = e.get(WORD, e.room(self.sorted.order), p)
        place = self.columns.entry(e, e.counter(q), columns)
        with e.wide(self.columns.lanes):
            return e.cast(e.get(self.dtype, e.source(0), place), self.dtype, self.sum)

    def _part(self, e: ThreadCode, level: int, piece: str, columns: str) -> str:
        """The sum of a piece of a level; level 0 are the entries."""
        if not level:
            return self._entry(e, piece, columns)
        place = e.count("add", e.count("mul", piece, self.columns.units), columns)
        with e.wide(self.columns.lanes):
            base = e.room(self.levels[level - 1])
            return e.get(self.sum, base, e.count("mul", place, self.columns.lanes))

    def _zero(self, e: ThreadCode) -> str:
        with e.wide(self.columns.lanes):
            return e.const(literal(0, self.sum), type_name(self.sum))

    def _added(self, e: ThreadCode, bounds: tuple[str, str], level: int, total: str, columns: str) -> str:
        with e.wide(self.columns.lanes):
            kind = e.t(type_name(self.sum))

        def one(piece: str, now: list[str]) -> list[str]:
            part = self._part(e, level, piece, columns)
            with e.wide(self.columns.lanes):
                return [self._add(e, now[0], part)]

        return e.turns((*bounds, 1), [(kind, total)], one)[0]

    # ---- functions ----

    def _level(self) -> None:
        """Sums of the pieces that lie in one run."""
        level = len(self.levels) + 1
        size = PIECE**level
        pieces = self.sorted.count // size
        units = pieces * self.columns.units

        def work(e: ThreadCode, unit: str) -> None:
            piece, columns = e.split(unit, [pieces, self.columns.units])
            keys, start = e.room(self.sorted.keys), e.count("mul", piece, size)
            ends = [e.get(WORD, keys, p) for p in (start, e.count("add", start, size - 1))]

            def add() -> None:
                first = e.count("mul", piece, PIECE)
                bounds = first, e.count("add", first, PIECE)
                total = self._added(e, bounds, level - 1, self._zero(e), columns)
                with e.wide(self.columns.lanes):
                    e.put(self.sum, total, e.room(room), e.count("mul", unit, self.columns.lanes))

            e.when(e.ins(f"icmp eq i32 {ends[0]}, {ends[1]}"), add)

        room = self.builder.room(units * self.columns.lanes * max(self.sum.itemsize, 1))
        self.builder.units(units, self.kind, work)
        self.levels.append(room)

    def _run(self, e: ThreadCode, unit: str) -> None:
        """A run, where one begins, and some of its columns."""
        p, columns = e.split(unit, [self.sorted.count, self.columns.units])
        end = e.counter(e.get(WORD, e.room(self.sorted.ends), p))
        e.when(e.compare("ne", end, 0), lambda: self._sum(e, p, end, columns))

    def _sum(self, e: ThreadCode, p: str, end: str, columns: str) -> None:
        total = self._climb(e, p, end, columns)
        row = e.counter(e.get(WORD, e.room(self.sorted.keys), p))
        place = self.columns.whole(e, self.entries.entries(e, row), columns)
        with e.wide(self.columns.lanes):
            e.put(self.dtype, e.cast(total, self.sum, self.dtype), e.result(), place)

    def _climb(self, e: ThreadCode, p: str, end: str, columns: str) -> str:
        """Entries up to a whole piece, pieces up to a piece of pieces, and so on; then down again to the end."""
        total, at, top = self._zero(e), p, len(self.levels)
        for level in range(top):
            size = PIECE**level
            above = e.count("mul", e.count("udiv", e.count("add", at, PIECE * size - 1), PIECE * size), PIECE * size)
            total, at = self._stretch(e, (at, end, above), level, total, columns)
        for level in range(top, -1, -1):
            total, at = self._stretch(e, (at, end, end), level, total, columns)
        return total

    def _stretch(
        self, e: ThreadCode, ends: tuple[str, str, str], level: int, total: str, columns: str
    ) -> tuple[str, str]:
        """Whole pieces of a level from where the sum stands to the end of the run, or of the piece above.

        Where no whole piece follows, both lie in one piece of the level, so the loop has no turn.
        """
        at, end, above = ends
        size = PIECE**level
        stop = e.count("mul", e.count("udiv", end, size), size)
        stop = stop if above is end else e.choose(e.compare("slt", stop, above), stop, above)
        bounds = e.count("udiv", at, size), e.count("udiv", stop, size)
        total = self._added(e, bounds, level, total, columns)
        return total, e.choose(e.compare("sgt", stop, at), stop, at)
