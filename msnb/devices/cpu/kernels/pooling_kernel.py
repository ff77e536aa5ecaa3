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
from msnb.devices.cpu.llvm.emitter import Emitter
from msnb.devices.cpu.llvm.loop_builder import LoopBuilder, units

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


class _Body:
    """The loops of one kernel."""

    def __init__(self, pool: Pool, floats: int) -> None:
        self.pool, self.kind = pool, pool.element
        self.dtype = dtypes.float32 if pool.element == "float" else dtypes.float64
        self.lanes = floats if pool.element == "float" else floats // 2
        self.code = c = Emitter(self.lanes)
        self.vector, self.mask, self.ints = c.t(self.kind), c.t("i1"), c.t("i64")
        self.scatters = "grad" in pool.kind
        self.disjoint = pool.stride[0] >= pool.kernel[0] and pool.stride[1] >= pool.kernel[1]
        self.size = {extent: c.word(_FIRST_WORD + i) for i, extent in enumerate(EXTENTS)}
        self.data = [c.slot(_FIRST_WORD + len(EXTENTS) + i) for i in range(pool.reads + 1)]
        c.loop(("%begin", "%end", 1), [], self._unit)
        c.do("ret void")

    # ---- where things are --------------------------------------------------------------------------------------------

    def _unit(self, u: str, _: list[str]) -> list[str]:
        """One image and chunk of channels, or one plane."""
        c, s = self.code, self.size
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
        self.images = {
            i: c.place(self.kind, p, large if self._is_image(i) else little) for i, p in enumerate(self.data)
        }
        clears = self.scatters and not self.pool.tiled
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
        c, w, target = self.code, self.size["w"], self.images[len(self.data) - 1]
        begin, end = c.i64("mul", begin, w), c.i64("mul", end, w)
        if not self.pool.last:
            c.loop((begin, end, self.lanes), [], lambda x, _: self._zero(target, x, end))
            return

        def at_pixel(p: str, _: list[str]) -> list[str]:
            start = c.place(self.kind, target, c.i64("mul", p, self.size["c"]))
            c.loop((self.low, self.high, self.lanes), [], lambda x, _: self._zero(start, x, self.high))
            return []

        c.loop((begin, end, 1), [], at_pixel)

    def _zero(self, base: str, x: str, end: str) -> list[str]:
        self._store("zeroinitializer", self.code.place(self.kind, base, x), self._below(x, end))
        return []

    def _turned(self, i: str, last: str) -> str:
        """Gradients go through the windows from the last to the first."""
        return self.code.i64("sub", last, i) if self.scatters else i

    def _row(self, i: str, cleared: list[str]) -> list[str]:
        c, s = self.code, self.size
        self.y = y = self._turned(i, c.i64("sub", s["oh"], "1"))
        self.top = c.i64("sub", c.i64("mul", y, str(self.pool.stride[0])), s["top"])
        if cleared:
            begin = c.larger(self.top, "0")
            self._clear(begin, cleared[0])
            cleared = [c.smaller(begin, cleared[0])]
        if self.pool.kind.startswith("avg"):
            self.rows = self._count(self.top, 0, "top", "bottom", "h")
        step = 1 if self.pool.last else self.lanes
        last = c.i64("sub", s["ow"], "1")
        self.last_column = c.i64("sub", last, c.i64("urem", last, str(step)))
        c.loop(("0", s["ow"], step), [], self._column)
        return cleared

    def _column(self, i: str, _: list[str]) -> list[str]:
        c, s = self.code, self.size
        x = self._turned(i, self.last_column)
        self.left = c.i64("sub", c.i64("mul", x, str(self.pool.stride[1])), s["left"])
        window = c.i64("mul", c.i64("add", c.i64("mul", self.y, s["ow"]), x), self.pixel)
        if self.pool.last:
            divisor = self._divisor(None)
            self.corners = self._corners()
            c.loop((self.low, self.high, self.lanes), [], lambda ch, _: self._vector(ch, window, divisor))
        else:
            self._lanes_of_row(x, window)
        return []

    def _lanes_of_row(self, x: str, window: str) -> None:
        self.inner = self._below(x, self.size["ow"])
        self.columns = self.code.steps(self.left, self.pool.stride[1])
        self.channel = "0"
        self.corners = self._corners()
        self._window(window, self._divisor(self.columns))

    def _vector(self, channel: str, window: str, divisor: str) -> list[str]:
        self.inner = self._below(channel, self.high)
        self.channel = channel
        self._window(self.code.i64("add", window, channel), divisor)
        return []

    def _below(self, first: str, end: str) -> str:
        """Lanes whose number, counted from ``first``, is below ``end``."""
        return self.code.below(self.code.i64("sub", end, first))

    def _corners(self) -> list[tuple[str, str]]:
        """For each place of the window: its index (channel 0, lane 0), and the lanes that see data there."""
        c, found = self.code, []
        for i in range(self.pool.kernel[0]):
            row = c.i64("add", self.top, str(i))
            start = c.i64("mul", row, self.size["w"])
            for j in range(self.pool.kernel[1]):
                column = c.i64("add", self.left, str(j))
                index = c.i64("mul", c.i64("add", start, column), self.pixel)
                found.append((index, "" if self.pool.inside else self._visible(row, column, j)))
        return found

    def _visible(self, row: str, column: str, j: int) -> str:
        c, s = self.code, self.size
        seen = c.ins(f"icmp ult i64 {row}, {s['h']}")
        if self.pool.last:
            seen = c.ins(f"and i1 {seen}, {c.ins(f'icmp ult i64 {column}, ' + s['w'])}")
            return c.splat("i1", seen)
        columns = c.ins(f"add {self.ints} {self.columns}, {c.const(str(j), 'i64')}")
        lanes = c.ins(f"icmp ult {self.ints} {columns}, {c.splat('i64', s['w'])}")
        return c.ins(f"and {self.mask} {lanes}, {c.splat('i1', seen)}")

    def _places(self) -> Iterator[tuple[str, str]]:
        """For each place of the window: its index, and the lanes that are wanted and see data there."""
        for index, seen in self.corners:
            here = index if self.channel == "0" else self.code.i64("add", index, self.channel)
            yield here, self.code.ins(f"and {self.mask} {self.inner}, {seen}") if seen else self.inner

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _load(self, address: str, mask: str, other: str) -> str:
        return self.code.call(
            f"llvm.masked.load.{self.code.suffix(self.kind)}.p0", self.vector,
            ("ptr", address), ("i32", "1"), (self.mask, mask), (self.vector, other),
        )  # fmt: skip

    def _store(self, value: str, address: str, mask: str) -> None:
        self.code.store(self.dtype, value, address, mask)

    def _far(self) -> bool:
        """True where the lanes' places in the image do not lie side by side."""
        return not self.pool.last and self.pool.stride[1] != 1

    def _pointers(self, address: str) -> str:
        steps = ", ".join(f"i64 {i * self.pool.stride[1]}" for i in range(self.lanes))
        return self.code.ins(f"getelementptr {self.kind}, ptr {address}, {self.ints} <{steps}>")

    def _read(self, which: int, index: str, mask: str, other: str) -> str:
        """A vector of the image."""
        address = self.code.place(self.kind, self.images[which], index)
        if not self._far():
            return self._load(address, mask, other)
        pointers = self._pointers(address)
        return self.code.call(
            f"llvm.masked.gather.{self.code.suffix(self.kind)}.v{self.lanes}p0", self.vector,
            (f"<{self.lanes} x ptr>", pointers), ("i32", "1"), (self.mask, mask), (self.vector, other),
        )  # fmt: skip

    def _write(self, which: int, index: str, mask: str, value: str) -> None:
        address = self.code.place(self.kind, self.images[which], index)
        if not self._far():
            self._store(value, address, mask)
            return
        self.code.act(
            f"llvm.masked.scatter.{self.code.suffix(self.kind)}.v{self.lanes}p0",
            (self.vector, value), (f"<{self.lanes} x ptr>", self._pointers(address)), ("i32", "1"), (self.mask, mask),
        )  # fmt: skip

    def _give(self, which: int, index: str, mask: str, value: str) -> None:
        """Add to the image; windows that never meet only write."""
        if not self.disjoint:
            old = self._read(which, index, mask, "zeroinitializer")
            value = self.code.ins(f"fadd {self.vector} {old}, {value}")
        self._write(which, index, mask, value)

    # ---- what is computed --------------------------------------------------------------------------------------------

    def _window(self, index: str, divisor: str) -> None:
        steps: dict[str, Callable[[str, str], None]] = {
            "max": self._max, "avg": self._avg, "max_grad": self._max_grad, "avg_grad": self._avg_grad,
        }  # fmt: skip
        steps[self.pool.kind](index, divisor)

    def _max(self, index: str, _: str) -> None:
        c, v = self.code, self.vector
        lowest = self._all(_LOWEST)
        best = lowest
        for place, mask in self._places():
            seen = self._read(0, place, mask, lowest)
            keep = c.ins(f"fcmp oge {v} {best}, {seen}")
            nan = c.ins(f"fcmp uno {v} {best}, {best}")
            keep = c.ins(f"or {self.mask} {keep}, {nan}")
            best = c.ins(f"select {self.mask} {keep}, {v} {best}, {v} {seen}")
        self._store(best, c.place(self.kind, self.images[1], index), self.inner)

    def _max_grad(self, index: str, _: str) -> None:
        c, v, m = self.code, self.vector, self.mask
        y, dy = (self._load(c.place(self.kind, self.images[i], index), self.inner, "zeroinitializer") for i in (1, 2))
        free = self._true()
        for place, mask in self._places():
            seen = self._read(0, place, mask, self._all(_LOWEST))
            same = c.ins(f"fcmp oeq {v} {seen}, {y}")
            nan = c.ins(f"fcmp uno {v} {seen}, {seen}")
            hit = c.ins(f"or {m} {same}, {nan}")
            won = c.ins(f"and {m} {hit}, {free}")
            gets = c.ins(f"select {m} {won}, {v} {dy}, {v} zeroinitializer")
            self._give(3, place, mask, gets)
            free = c.ins(f"and {m} {free}, {c.ins(f'xor {m} {won}, {self._true()}')}")

    def _avg(self, index: str, divisor: str) -> None:
        c, v = self.code, self.vector
        total = "zeroinitializer"
        for place, mask in self._places():
            total = c.ins(f"fadd {v} {total}, {self._read(0, place, mask, 'zeroinitializer')}")
        mean = c.ins(f"fdiv {v} {total}, {divisor}")
        self._store(mean, c.place(self.kind, self.images[1], index), self.inner)

    def _avg_grad(self, index: str, divisor: str) -> None:
        c, v = self.code, self.vector
        dy = self._load(c.place(self.kind, self.images[0], index), self.inner, "zeroinitializer")
        share = c.ins(f"fdiv {v} {dy}, {divisor}")
        for place, mask in self._places():
            self._give(1, place, mask, share)

    def _all(self, value: str) -> str:
        return self.code.const(value, self.kind)

    def _true(self) -> str:
        return self.code.const("true", "i1")

    # ---- how many places a window averages over ----------------------------------------------------------------------

    def _count(self, start: str, axis: int, before: str, after: str, size: str) -> str:
        """Along one axis: the window's end minus its begin, both cut at the image (or at its padding)."""
        c, s = self.code, self.size
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
            return c.splat(self.kind, c.ins(f"sitofp i64 {n} to {self.kind}"))
        counts = self._counts(columns)
        rows = c.splat("i64", self.rows)
        return c.ins(f"sitofp {self.ints} {c.ins(f'mul {self.ints} {counts}, {rows}')} to {self.vector}")

    def _counts(self, columns: str) -> str:
        c, s, v = self.code, self.size, self.ints
        low, high = "0", s["w"]
        if self.pool.counts_padding:
            low, high = c.i64("sub", "0", s["left"]), c.i64("add", s["w"], s["right"])
        end = c.ins(f"add {v} {columns}, {c.const(str(self.pool.kernel[1]), 'i64')}")
        end = self._extreme("smin", end, c.splat("i64", high))
        return c.ins(f"sub {v} {end}, {self._extreme('smax', columns, c.splat('i64', low))}")

    def _extreme(self, which: str, a: str, b: str) -> str:
        return self.code.call(f"llvm.{which}.v{self.lanes}i64", self.ints, (self.ints, a), (self.ints, b))
