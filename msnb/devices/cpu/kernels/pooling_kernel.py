"""Pooling kernels: windows over images, vectors along the channels ("last") or along a row of windows ("first").

    last    [n, h, w, c]   one window at a time, 16 channels at once
    first   [n, c, h, w]   one plane at a time, 16 neighbouring windows at once; lane l sees columns l*stride further on

    max         y = the largest value, the first of equals, NaN if there is one     padding is -infinity
    max_grad    dx[first place that holds y, or NaN] += dy                          also (what it wins is lost)
    avg         y = sum / count
    avg_grad    dx[every place of the window] += dy / count

The window's size and stride stand in the code, so its places are unrolled; extents and padding come in words. Where a
window may leave the image, places outside are masked off. Units (images times chunks of channels, or planes) are
shared out to threads: windows of one unit may overlap, units do not. Gradients visit the windows from the last to the
first: so each element adds up in the order of the places, as in the reference bodies, and has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msnb.core import dtypes
from msnb.devices.llvm import Emitter, LoopBuilder, units

EXTENTS = ("n", "c", "h", "w", "oh", "ow", "top", "left", "bottom", "right", "chunks")
CHUNK = 64
_FIRST_WORD = 2
_LOWEST = "0xFFF0000000000000"


class Pool(NamedTuple):
    """Which kernel: kind, channels last or first, element type, window, stride, and what may be left out."""

    kind: str
    last: bool
    element: str
    kernel: tuple[int, int]
    stride: tuple[int, int]
    inside: bool  # no window leaves the image
    tiled: bool  # windows cover the image exactly once
    counts_padding: bool = True

    @property
    def symbol(self) -> str:
        """A name for the function."""
        flags = "".join("01"[f] for f in (self.last, self.inside, self.tiled, self.counts_padding))
        return "_".join(map(str, ("msnb_pool", self.kind, self.element, *self.kernel, *self.stride, flags)))

    @property
    def scatters(self) -> bool:
        """True where it adds to an image."""
        return "grad" in self.kind

    @property
    def disjoint(self) -> bool:
        """True where no two windows meet."""
        return self.stride[0] >= self.kernel[0] and self.stride[1] >= self.kernel[1]

    @property
    def far(self) -> bool:
        """True where the lanes' places in the image do not lie side by side."""
        return not self.last and self.stride[1] != 1

    @property
    def reads(self) -> int:
        """How many operands it has."""
        return 3 if self.kind == "max_grad" else 1


def render(pool: Pool, attributes: str, floats: int) -> tuple[str, LoopBuilder]:
    """The kernel's functions, and who knows what they declare.

    Args:
        pool: the kernel.
        attributes: of every function.
        floats: how many float32 a vector register holds.
    """
    code = _Body(pool, floats).code
    return units(pool.symbol, attributes, code), code


class _Vectors(Emitter):
    """Vectors of elements, masks and numbers of places, and how they move between registers and images."""

    def __init__(self, pool: Pool, floats: int) -> None:
        super().__init__(floats if pool.element == "float" else floats // 2)
        self.pool, self.kind = pool, pool.element
        self.dtype = dtypes.float32 if pool.element == "float" else dtypes.float64
        self.vector, self.mask, self.ints = self.t(self.kind), self.t("i1"), self.t("i64")
        self.size = {extent: self.word(_FIRST_WORD + i) for i, extent in enumerate(EXTENTS)}
        self.data = [self.slot(_FIRST_WORD + len(EXTENTS) + i) for i in range(pool.reads + 1)]

    def extreme(self, which: str, a: str, b: str) -> str:
        """The smaller or larger numbers."""
        return self.call(f"llvm.{which}.v{self.lanes}i64", self.ints, (self.ints, a), (self.ints, b))

    def side_by_side(self, address: str, mask: str, other: str) -> str:
        """Elements from ``address`` on; ``other`` where the mask is off."""
        return self.call(
            f"llvm.masked.load.{self.suffix(self.kind)}.p0", self.vector,
            ("ptr", address), ("i32", "1"), (self.mask, mask), (self.vector, other),
        )  # fmt: skip

    def read(self, address: str, mask: str, other: str) -> str:
        """A vector of an image."""
        if not self.pool.far:
            return self.side_by_side(address, mask, other)
        return self.call(
            f"llvm.masked.gather.{self.suffix(self.kind)}.v{self.lanes}p0", self.vector,
            (self.t("ptr"), self._pointers(address)), ("i32", "1"), (self.mask, mask), (self.vector, other),
        )  # fmt: skip

    def write(self, address: str, mask: str, value: str) -> None:
        """A vector into an image."""
        if not self.pool.far:
            self.store(self.dtype, value, address, mask)
            return
        self.act(
            f"llvm.masked.scatter.{self.suffix(self.kind)}.v{self.lanes}p0",
            (self.vector, value), (self.t("ptr"), self._pointers(address)), ("i32", "1"), (self.mask, mask),
        )  # fmt: skip

    def give(self, address: str, mask: str, value: str) -> None:
        """Add to an image; windows that never meet only write."""
        if not self.pool.disjoint:
            value = self.ins(f"fadd {self.vector} {self.read(address, mask, 'zeroinitializer')}, {value}")
        self.write(address, mask, value)

    def _pointers(self, address: str) -> str:
        steps = ", ".join(f"i64 {i * self.pool.stride[1]}" for i in range(self.lanes))
        return self.ins(f"getelementptr {self.kind}, ptr {address}, {self.ints} <{steps}>")


class _Body:
    """The loops of one kernel."""

    def __init__(self, pool: Pool, floats: int) -> None:
        self.pool = pool
        self.code = c = _Vectors(pool, floats)
        c.loop(("%begin", "%end", 1), [], self._unit)
        c.do("ret void")

    # ---- where things are ----

    def _unit(self, u: str, _: list[str]) -> list[str]:
        """One image and chunk of channels, or one plane."""
        c, s = self.code, self.code.size
        if self.pool.last:
            image, chunk = c.i64("udiv", u, s["chunks"]), c.i64("urem", u, s["chunks"])
            self.low = c.i64("mul", chunk, str(CHUNK))
            self.high = c.smaller(c.i64("add", self.low, str(CHUNK)), s["c"])
            pixel = s["c"]
        else:
            image, pixel = u, "1"
        self.pixel = pixel
        big = c.i64("mul", c.i64("mul", s["h"], s["w"]), pixel)
        small = c.i64("mul", c.i64("mul", s["oh"], s["ow"]), pixel)
        large, little = c.i64("mul", image, big), c.i64("mul", image, small)
        self.images = {i: c.place(c.kind, p, large if self._is_image(i) else little) for i, p in enumerate(c.data)}
        clears = self.pool.scatters and not self.pool.tiled
        carried = [("i64", s["h"])] if clears else []
        done = c.loop(("0", s["oh"], 1), carried, self._row)
        if clears:
            self._clear("0", done[0])
        return []

    def _is_image(self, i: int) -> bool:
        """True for operands of the size of x; the others have that of y."""
        return i in {"max": (0,), "avg": (0,), "max_grad": (0, 3), "avg_grad": (1,)}[self.pool.kind]

    def _clear(self, begin: str, end: str) -> None:
        """dx = 0 in these rows of this unit: just before they are needed, so that they are still in the cache then."""
        c, w, target = self.code, self.code.size["w"], self.images[len(self.code.data) - 1]
        begin, end = c.i64("mul", begin, w), c.i64("mul", end, w)
        if not self.pool.last:
            c.loop((begin, end, c.lanes), [], lambda x, _: self._zero(target, x, end))
            return

        def at_pixel(p: str, _: list[str]) -> list[str]:
            start = c.place(c.kind, target, c.i64("mul", p, c.size["c"]))
            c.loop((self.low, self.high, c.lanes), [], lambda x, _: self._zero(start, x, self.high))
            return []

        c.loop((begin, end, 1), [], at_pixel)

    def _zero(self, base: str, x: str, end: str) -> list[str]:
        c = self.code
        c.store(c.dtype, "zeroinitializer", c.place(c.kind, base, x), c.below(x, end))
        return []

    def _turned(self, i: str, last: str) -> str:
        """Gradients go through the windows from the last to the first."""
        return self.code.i64("sub", last, i) if self.pool.scatters else i

    def _row(self, i: str, cleared: list[str]) -> list[str]:
        c, s = self.code, self.code.size
        self.y = y = self._turned(i, c.i64("sub", s["oh"], "1"))
        self.top = c.i64("sub", c.i64("mul", y, str(self.pool.stride[0])), s["top"])
        if cleared:
            begin = c.larger(self.top, "0")
            self._clear(begin, cleared[0])
            cleared = [c.smaller(begin, cleared[0])]
        if self.pool.kind.startswith("avg"):
            self.rows = self._count(self.top, 0, "top", "bottom", "h")
        step = 1 if self.pool.last else c.lanes
        last = c.i64("sub", s["ow"], "1")
        self.last_column = c.i64("sub", last, c.i64("urem", last, str(step)))
        c.loop(("0", s["ow"], step), [], self._column)
        return cleared

    def _column(self, i: str, _: list[str]) -> list[str]:
        c, s = self.code, self.code.size
        x = self._turned(i, self.last_column)
        self.left = c.i64("sub", c.i64("mul", x, str(self.pool.stride[1])), s["left"])
        window = c.i64("mul", c.i64("add", c.i64("mul", self.y, s["ow"]), x), self.pixel)
        if self.pool.last:
            divisor = self._divisor(None)
            self.corners = self._corners()
            c.loop((self.low, self.high, c.lanes), [], lambda ch, _: self._vector(ch, window, divisor))
        else:
            self._lanes_of_row(x, window)
        return []

    def _lanes_of_row(self, x: str, window: str) -> None:
        self.inner = self.code.below(x, self.code.size["ow"])
        self.columns = self.code.steps(self.left, self.pool.stride[1])
        self.channel = "0"
        self.corners = self._corners()
        self._window(window, self._divisor(self.columns))

    def _vector(self, channel: str, window: str, divisor: str) -> list[str]:
        self.inner = self.code.below(channel, self.high)
        self.channel = channel
        self._window(self.code.i64("add", window, channel), divisor)
        return []

    def _corners(self) -> list[tuple[str, str]]:
        """For each place of the window: its index (channel 0, lane 0), and the lanes that see data there."""
        c, found = self.code, []
        for i in range(self.pool.kernel[0]):
            row = c.i64("add", self.top, str(i))
            start = c.i64("mul", row, c.size["w"])
            for j in range(self.pool.kernel[1]):
                column = c.i64("add", self.left, str(j))
                index = c.i64("mul", c.i64("add", start, column), self.pixel)
                found.append((index, "" if self.pool.inside else self._visible(row, column, j)))
        return found

    def _visible(self, row: str, column: str, j: int) -> str:
        c, s = self.code, self.code.size
        seen = c.ins(f"icmp ult i64 {row}, {s['h']}")
        if self.pool.last:
            seen = c.ins(f"and i1 {seen}, {c.ins(f'icmp ult i64 {column}, ' + s['w'])}")
            return c.splat("i1", seen)
        columns = c.ins(f"add {c.ints} {self.columns}, {c.const(str(j), 'i64')}")
        lanes = c.ins(f"icmp ult {c.ints} {columns}, {c.splat('i64', s['w'])}")
        return c.ins(f"and {c.mask} {lanes}, {c.splat('i1', seen)}")

    def _at(self, which: int, index: str) -> str:
        """An element of an operand's part that belongs to this unit."""
        return self.code.place(self.code.kind, self.images[which], index)

    def _places(self) -> Iterator[tuple[str, str]]:
        """For each place of the window: its index, and the lanes that are wanted and see data there."""
        for index, seen in self.corners:
            here = index if self.channel == "0" else self.code.i64("add", index, self.channel)
            yield here, self.code.ins(f"and {self.code.mask} {self.inner}, {seen}") if seen else self.inner

    # ---- what is computed ----

    def _window(self, index: str, divisor: str) -> None:
        steps: dict[str, Callable[[str, str], None]] = {
            "max": self._max, "avg": self._avg, "max_grad": self._max_grad, "avg_grad": self._avg_grad,
        }  # fmt: skip
        steps[self.pool.kind](index, divisor)

    def _max(self, index: str, _: str) -> None:
        c, v = self.code, self.code.vector
        lowest = c.const(_LOWEST, c.kind)
        best = lowest
        for place, mask in self._places():
            seen = c.read(self._at(0, place), mask, lowest)
            keep = c.ins(f"fcmp oge {v} {best}, {seen}")
            nan = c.ins(f"fcmp uno {v} {best}, {best}")
            keep = c.ins(f"or {c.mask} {keep}, {nan}")
            best = c.ins(f"select {c.mask} {keep}, {v} {best}, {v} {seen}")
        c.store(c.dtype, best, self._at(1, index), self.inner)

    def _max_grad(self, index: str, _: str) -> None:
        c, v, m = self.code, self.code.vector, self.code.mask
        lowest, all_lanes = c.const(_LOWEST, c.kind), c.const("true", "i1")
        y, dy = (c.side_by_side(self._at(i, index), self.inner, "zeroinitializer") for i in (1, 2))
        free = all_lanes
        for place, mask in self._places():
            seen = c.read(self._at(0, place), mask, lowest)
            same = c.ins(f"fcmp oeq {v} {seen}, {y}")
            nan = c.ins(f"fcmp uno {v} {seen}, {seen}")
            hit = c.ins(f"or {m} {same}, {nan}")
            won = c.ins(f"and {m} {hit}, {free}")
            gets = c.ins(f"select {m} {won}, {v} {dy}, {v} zeroinitializer")
            c.give(self._at(3, place), mask, gets)
            free = c.ins(f"and {m} {free}, {c.ins(f'xor {m} {won}, {all_lanes}')}")

    def _avg(self, index: str, divisor: str) -> None:
        c, v = self.code, self.code.vector
        total = "zeroinitializer"
        for place, mask in self._places():
            total = c.ins(f"fadd {v} {total}, {c.read(self._at(0, place), mask, 'zeroinitializer')}")
        mean = c.ins(f"fdiv {v} {total}, {divisor}")
        c.store(c.dtype, mean, self._at(1, index), self.inner)

    def _avg_grad(self, index: str, divisor: str) -> None:
        c, v = self.code, self.code.vector
        dy = c.side_by_side(self._at(0, index), self.inner, "zeroinitializer")
        share = c.ins(f"fdiv {v} {dy}, {divisor}")
        for place, mask in self._places():
            c.give(self._at(1, place), mask, share)

    # ---- how many places a window averages over ----

    def _count(self, start: str, axis: int, before: str, after: str, size: str) -> str:
        """Along one axis: the window's end minus its begin, both cut at the image (or at its padding)."""
        c, s = self.code, self.code.size
        low, high = "0", s[size]
        if self.pool.counts_padding:
            low, high = c.i64("sub", "0", s[before]), c.i64("add", s[size], s[after])
        end = c.smaller(c.i64("add", start, str(self.pool.kernel[axis])), high)
        return c.i64("sub", end, c.larger(start, low))

    def _divisor(self, columns: str | None) -> str:
        """A vector of the number of places; ``columns`` are the lanes' first columns where lanes are windows."""
        if not self.pool.kind.startswith("avg"):
            return ""
        c = self.code
        if columns is None:
            n = c.i64("mul", self.rows, self._count(self.left, 1, "left", "right", "w"))
            return c.splat(c.kind, c.ins(f"sitofp i64 {n} to {c.kind}"))
        counts = self._counts(columns)
        rows = c.splat("i64", self.rows)
        return c.ins(f"sitofp {c.ints} {c.ins(f'mul {c.ints} {counts}, {rows}')} to {c.vector}")

    def _counts(self, columns: str) -> str:
        c, s, v = self.code, self.code.size, self.code.ints
        low, high = "0", s["w"]
        if self.pool.counts_padding:
            low, high = c.i64("sub", "0", s["left"]), c.i64("add", s["w"], s["right"])
        end = c.ins(f"add {v} {columns}, {c.const(str(self.pool.kernel[1]), 'i64')}")
        end = c.extreme("smin", end, c.splat("i64", high))
        return c.ins(f"sub {v} {end}, {c.extreme('smax', columns, c.splat('i64', low))}")
