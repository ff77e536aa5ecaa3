"""argmax and argmin: where the first largest (smallest) element of a line stands; the first NaN wins.

lines that lie apart (inner > 1)    a thread for each line: neighbours read neighbours
lines that lie in one piece         a warp or a block for each line: every thread keeps its best, then shuffles
very long lines                     cut into segments first; their winners are a line of their own

a pair beats another where its value is better, or as good and further ahead
"""

from __future__ import annotations

from msnb.core import dtypes
from msnb.devices.gpu.codegen import WARP, GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import THREADS, KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import accumulator, operands
from msnb.devices.gpu.kernels.lines.line_layout import lines_of
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm import compare, identity, type_name
from msnb.ir.graph import Node, type_of

SEGMENT, LONG, MOST_SEGMENTS = 4096, 16384, 1024
SLOT = 8
Pair = list[str]
"""A value and where it stands."""


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How argmax and argmin run."""
    if node.op.name not in ("argmax", "argmin") or operands(node)[0].weak:
        return None
    return LoweredNode(list(node.inputs), [KernelPart(ExtremumPlaces(node).builder.made(), [0], [0])])


class ExtremumPlaces:
    """The functions of one node."""

    def __init__(self, node: Node) -> None:
        (t,) = operands(node)
        self.kind = "max" if node.op.name == "argmax" else "min"
        self.dtype: dtypes.DType = dtypes.uint8 if t.dtype is dtypes.bool_ else t.dtype
        self.compared: dtypes.DType = accumulator(self.dtype)
        self.lines = lines_of(t, node.attrs["axis"])
        self.counters: str = counter_kind(t.size, self.lines.lines)
        self.place: dtypes.DType = dtypes.int32 if self.counters == "i32" else dtypes.int64
        self.last: str = str(2 ** (8 * self.place.itemsize - 1) - 1)
        segments = self.lines.inner == 1 and self.lines.n > LONG
        self.builder: KernelBuilder = KernelBuilder(node.op.name, [t], [type_of(node.out)], workspace=segments)
        if self.lines.inner > 1:
            self.builder.units(self.lines.lines, self.counters, self._column)
        elif segments:
            self._segments()
        else:
            self._team(self.lines.lines, self.lines.n, self._walked, self._kept)

    # ---- pairs ----

    @property
    def _kinds(self) -> tuple[str, str]:
        return type_name(self.compared), self.counters

    def _none(self) -> list[tuple[str, str]]:
        """What every pair beats."""
        return list(zip(self._kinds, (identity(self.kind, self.compared), self.last)))

    def _better(self, e: ThreadCode, a: Pair, b: Pair) -> Pair:
        """The better of two pairs."""
        kind, earlier = type_name(self.compared), e.compare("slt", b[1], a[1])
        if self.compared.is_float:
            order = "ugt" if self.kind == "max" else "ult"
            number = e.ins(f"fcmp ord {kind} {a[0]}, {a[0]}")
            above = e.ins(f"and i1 {e.ins(f'fcmp {order} {kind} {b[0]}, {a[0]}')}, {number}")
            nans = e.ins(
                f"and i1 {e.ins(f'fcmp uno {kind} {a[0]}, {a[0]}')}, {e.ins(f'fcmp uno {kind} {b[0]}, {b[0]}')}"
            )
            equal = e.ins(f"or i1 {e.ins(f'fcmp oeq {kind} {a[0]}, {b[0]}')}, {nans}")
        else:
            above = compare(e, "gt" if self.kind == "max" else "lt", self.compared, b[0], a[0])
            equal = compare(e, "eq", self.compared, a[0], b[0])
        test = e.ins(f"or i1 {above}, {e.ins(f'and i1 {equal}, {earlier}')}")
        return [e.ins(f"select i1 {test}, {t} {y}, {t} {x}") for t, x, y in zip(self._kinds, a, b)]

    def _element(self, e: ThreadCode, line: str, k: str) -> Pair:
        raw = e.get(self.dtype, e.source(0), self.lines.place(e, line, k))
        return [e.cast(raw, self.dtype, self.compared), k]

    def _kept(self, e: ThreadCode, line: str, best: Pair) -> None:
        """The result of a line."""
        e.put(dtypes.int64, e.widened(best[1]), e.result(), line)

    # ---- lines that lie apart ----

    def _column(self, e: ThreadCode, line: str) -> None:
        one = lambda k, now: self._better(e, now, self._element(e, line, k))
        self._kept(e, line, e.turns((0, self.lines.n, 1), self._none(), one))

    # ---- lines in one piece ----

    def _walked(self, e: ThreadCode, line: str, first: str, step: int) -> Pair:
        """The best of every ``step``-th element of a line."""
        one = lambda k, now: self._better(e, now, self._element(e, line, k))
        return e.turns((first, self.lines.n, step), self._none(), one)

    def _team(self, count: int, length: int, walked: object, kept: object) -> None:
        """A warp, or a block, for each line."""
        team = WARP if length <= 8 * WARP else THREADS
        per_block = THREADS // team
        e = self.builder.function(self.counters, THREADS)
        thread = e.thread()
        line = e.count("add", e.count("mul", e.block_number(), per_block), e.count("udiv", thread, team))
        inside = e.compare("slt", line, count)
        safe = e.choose(inside, line, 0)
        best = walked(e, safe, e.count("urem", thread, team), team)  # type: ignore[operator]
        best = self._over_team(e, best, team)
        first = e.compare("eq", e.count("urem", thread, team), 0)
        e.when(e.both(first, inside), lambda: kept(e, line, best))  # type: ignore[operator]
        self.builder.launch(e, -(-count // per_block))

    def _over_team(self, e: ThreadCode, best: Pair, team: int) -> Pair:
        for distance in (16, 8, 4, 2, 1):
            other = [e.shuffle(t, v, distance) for t, v in zip((self.compared, self.place), best)]
            best = self._better(e, best, other)
        if team == WARP:
            return best
        warps = team // WARP
        values, places = e.shared(SLOT * warps), e.shared(SLOT * warps)
        thread = e.thread()
        warp, lane = e.count("udiv", thread, WARP), e.count("urem", thread, WARP)

        def leave() -> None:
            e.put(self.compared, best[0], values, e.count("mul", warp, SLOT // self.compared.itemsize))
            e.put(self.place, best[1], places, e.count("mul", warp, SLOT // self.place.itemsize))

        e.when(e.compare("eq", lane, 0), leave)
        e.barrier()
        found: Pair = []
        for w in range(warps):
            value = e.get(self.compared, values, w * SLOT // self.compared.itemsize)
            pair = [value, e.get(self.place, places, w * SLOT // self.place.itemsize)]
            found = self._better(e, found, pair) if found else pair
        return found

    # ---- very long lines ----

    def _segments(self) -> None:
        """The winners of segments into the workspace, and the best of them."""
        count, n = self.lines.lines, self.lines.n
        segments = min(MOST_SEGMENTS, -(-n // SEGMENT))
        length = -(-n // segments)
        values = self.builder.room(count * segments * self.compared.itemsize)
        places = self.builder.room(count * segments * self.place.itemsize)

        def walked(e: ThreadCode, unit: str, first: str, step: int) -> Pair:
            line, segment = e.split(unit, [count, segments])
            start = e.count("mul", segment, length)
            end = e.count("add", start, length)
            end = e.choose(e.compare("slt", end, n), end, n)
            one = lambda k, now: self._better(e, now, self._element(e, line, k))
            return e.turns((e.count("add", start, first), end, step), self._none(), one)

        def left(e: ThreadCode, unit: str, best: Pair) -> None:
            e.put(self.compared, best[0], e.room(values), unit)
            e.put(self.place, best[1], e.room(places), unit)

        def winners(e: ThreadCode, line: str, first: str, step: int) -> Pair:
            row = e.count("mul", line, segments)

            def one(k: str, now: Pair) -> Pair:
                at = e.count("add", row, k)
                pair = [e.get(self.compared, e.room(values), at), e.get(self.place, e.room(places), at)]
                return self._better(e, now, pair)

            return e.turns((first, segments, step), self._none(), one)

        self._team(count * segments, length, walked, left)
        self._team(count, segments, winners, self._kept)
