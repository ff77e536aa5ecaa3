"""Windows over images, as threads walk them: a thread has one place of an image and, channels last, some channels.

    forwards     the places (i, j) of the window of (row, column) of the results
    backwards    the windows that see a place of the image, in the order of the places at which they see it

Both formats of images; with channels first a thread has one element. Short walks are written out, long ones are loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msnb.core import DType, TensorType
from msnb.devices.gpu.kernels.kernel_builder import Term, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import WIDEST
from msnb.ir.graph import Node
from msnb.ops.definition.data_format import NHWC, channels_of, places_of

UNROLLED = 64
Carried = Sequence[tuple[str, str]]
Body = Callable[["WindowPlace", list[str]], Sequence[str]]


class ImagePlace(NamedTuple):
    """Where a thread is: image, channel (the first of its own), row and column."""

    image: str
    channel: str
    row: str
    column: str


class WindowPlace(NamedTuple):
    """One place of a window: which of the window's, where in the image, and whether there ("" always).

    Attributes:
        place: i times the window's width plus j; spot: inside the image, whatever ``inside`` says.
        inside: a test, or "".
    """

    place: Term
    spot: ImagePlace
    inside: str


class WindowWalk:
    """Windows of a node.

    Args:
        node: a pooling; images, windows: types of what is seen, and of what has one element per window.
        itemsize: of the largest element that a thread reads or writes; aligned: at how many bytes operands begin.

    Attributes:
        lanes: channels of a thread.
        kind: of counters.
    """

    size: list[int]
    outs: list[int]
    lanes: int

    def __init__(self, node: Node, images: TensorType, windows: TensorType, itemsize: int, aligned: int) -> None:
        form = node.attrs["data_format"]
        self.last = form == NHWC
        self.images: TensorType = images
        self.windows: TensorType = windows
        self.channels: int = int(channels_of(images.shape, form))
        self.size, self.outs = ([int(d) for d in places_of(t.shape, form)] for t in (images, windows))
        self.kernel, self.stride = node.attrs["kernel"], node.attrs["stride"]
        pads = node.attrs["pads"]
        self.before, self.after = (pads[0], pads[2]), (pads[1], pads[3])
        self.lanes = max(1, min(WIDEST, aligned) // itemsize) if self.last else 1
        while self.channels % self.lanes:
            self.lanes //= 2
        self.kind: str = counter_kind(images.size, windows.size)

    @property
    def places(self) -> int:
        """How many places a window has."""
        return int(self.kernel[0] * self.kernel[1])

    def units(self, seen: bool) -> int:
        """Threads for images (``seen``) or windows."""
        return (self.images if seen else self.windows).size // self.lanes

    # ---- places ----

    def spot(self, e: ThreadCode, unit: str, seen: bool) -> ImagePlace:
        """Where a unit is, in images or windows."""
        rows, columns = self.size if seen else self.outs
        count = (self.images if seen else self.windows).ints()[0]
        if self.last:
            n, r, c, k = e.split(unit, [count, rows, columns, self.channels // self.lanes])
            return ImagePlace(n, e.count("mul", k, self.lanes), r, c)
        n, k, r, c = e.split(unit, [count, self.channels, rows, columns])
        return ImagePlace(n, k, r, c)

    def index(self, e: ThreadCode, spot: ImagePlace, seen: bool) -> str:
        """The element of a spot."""
        rows, columns = self.size if seen else self.outs
        if self.last:
            strides = rows * columns * self.channels, 1, columns * self.channels, self.channels
        else:
            strides = self.channels * rows * columns, rows * columns, columns, 1
        return e.dot(spot, strides)

    def read(self, e: ThreadCode, dtype: DType, base: str, spot: ImagePlace, seen: bool) -> str:
        """The elements of a spot."""
        place = self.index(e, spot, seen)
        with e.wide(self.lanes):
            return e.get(dtype, base, place)

    # ---- walks ----

    def forwards(self, e: ThreadCode, at: ImagePlace, carried: Carried, body: Body) -> list[str]:
        """Over the places of the window at a spot of the results; ``body`` takes each and what is carried."""
        corner = [e.count("sub", e.count("mul", o, self.stride[d]), self.before[d]) for d, o in enumerate(at[2:])]

        def one(i: Term, j: Term, now: list[str]) -> Sequence[str]:
            rows, columns = (self._held(e, d, e.count("add", corner[d], k)) for d, k in enumerate((i, j)))
            place = e.count("add", e.count("mul", i, self.kernel[1]), j)
            spot = ImagePlace(at.image, at.channel, rows[0], columns[0])
            return body(WindowPlace(place, spot, e.both(rows[1], columns[1])), now)

        return _walk(e, self.kernel, carried, one)

    def backwards(self, e: ThreadCode, at: ImagePlace, carried: Carried, body: Body) -> list[str]:
        """Over the windows that see a spot of the images; ``place`` says at which of their places."""
        counts = [-(-k // s) for k, s in zip(self.kernel, self.stride)]
        padded = [e.count("add", p, self.before[d]) for d, p in enumerate(at[2:])]

        def one(i: Term, j: Term, now: list[str]) -> Sequence[str]:
            rows, columns = (self._window(e, d, padded[d], k) for d, k in enumerate((i, j)))
            place = e.count("add", e.count("mul", rows[2], self.kernel[1]), columns[2])
            spot = ImagePlace(at.image, at.channel, rows[0], columns[0])
            return body(WindowPlace(place, spot, e.both(rows[1], columns[1])), now)

        return _walk(e, counts, carried, one)

    def _held(self, e: ThreadCode, d: int, place: str) -> tuple[str, str]:
        """A row (or column) of the image, moved inside it, and the test that it was."""
        size = self.size[d]
        reached = (self.outs[d] - 1) * self.stride[d] + self.kernel[d] - self.before[d]
        tests, held = [], place
        if self.before[d]:
            tests.append(e.compare("sge", place, 0))
            held = e.choose(tests[-1], held, 0)
        if reached > size:
            tests.append(e.compare("slt", place, size))
            held = e.choose(tests[-1], held, size - 1)
        return held, e.both(*tests)

    def _window(self, e: ThreadCode, d: int, padded: str, turn: Term) -> tuple[str, str, str]:
        """The row of the window that begins ``turn`` windows before the last to see a row, whether there is one, and at
        which of its own rows it sees it."""
        nearest = e.count("udiv", padded, self.stride[d])
        row = e.count("sub", nearest, turn)
        own = e.count("sub", padded, e.count("mul", row, self.stride[d]))
        tests = [e.compare("slt", row, self.outs[d]), e.compare("slt", own, self.kernel[d]), e.compare("sge", row, 0)]
        there = e.both(*tests)
        return e.choose(there, row, 0), there, own


def _walk(
    e: ThreadCode, sizes: Sequence[int], carried: Carried, one: Callable[[Term, Term, list[str]], Sequence[str]]
) -> list[str]:
    """Over the places of a box, rows first."""
    if sizes[0] * sizes[1] <= UNROLLED:
        now = [first for _, first in carried]
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                now = list(one(i, j, now))
        return now

    def row(i: str, outer: list[str]) -> Sequence[str]:
        kinds = [kind for kind, _ in carried]
        return e.turns((0, sizes[1], 1), list(zip(kinds, outer)), lambda j, now: one(i, j, now))

    return e.turns((0, sizes[0], 1), carried, row)
