"""Where each pixel of an output comes from: what crops, borders, flips and resizing of images are, one after the other.

    output row     0     1     2            low     row of the source, -1 for the border
    low           -1     0     1            high    the other one of two rows that are blended, where something is
    high          -1     1     2            weight  how much of it counts
    weight        0.0   0.25  0.75

These operations treat rows and columns apart, so two short tables say all about an image; for many images of one size
they are arrays [n, size] (or [1, size], where all images have the same). A crop takes a part of the tables, a flip
turns them round, a border puts -1 at their ends. No pixel is touched before the whole chain is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from msnb.dataset.pipeline.rows import Array

BORDER = -1


@dataclass(frozen=True)
class AxisMap:
    """The sources of the places along one axis.

    Args:
        low, high: int32[n or 1, size]; weight: float32[n or 1, size]. high and weight are None where none is blended.
    """

    low: Array
    high: Array | None = None
    weight: Array | None = None

    @classmethod
    def whole(cls, size: int) -> AxisMap:
        """All places, as they are."""
        return cls(np.arange(size, dtype=np.int32)[np.newaxis])

    @property
    def size(self) -> int:
        return int(self.low.shape[1])

    def taken(self, places: Array) -> AxisMap:
        """These places: [k], or one list per image, [n, k]."""
        parts = (None if part is None else _at(part, places) for part in (self.low, self.high, self.weight))
        return AxisMap(*parts)  # type: ignore[arg-type]

    def window(self, first: Any, size: int) -> AxisMap:
        """``size`` places from ``first`` on, a number or one per image."""
        begins = np.asarray(first)
        if begins.ndim == 0:
            return self.taken(np.arange(int(begins), int(begins) + size))
        return self.taken(begins[:, np.newaxis] + np.arange(size))

    def turned(self, which: Any) -> AxisMap:
        """The other way round; ``which``: True, or one answer per image."""
        back = self.taken(np.arange(self.size)[::-1])
        asked = np.asarray(which, bool)
        if asked.ndim == 0:
            return back if asked else self
        pairs = zip(_parts(self), _parts(back), strict=True)
        parts = (None if a is None or b is None else np.where(asked[:, np.newaxis], b, a) for a, b in pairs)
        return AxisMap(*parts)  # type: ignore[arg-type]

    def padded(self, before: int, after: int, mode: str) -> AxisMap:
        """With places before and behind: "constant" is the border, others are names of `numpy.pad`."""
        if mode != "constant":
            return self.taken(np.pad(np.arange(self.size), (before, after), mode=mode))  # type: ignore[call-overload]
        widths = ((0, 0), (before, after))
        filled = [None if part is None else np.pad(part, widths, constant_values=value)
                  for part, value in zip(_parts(self), (BORDER, BORDER, 0))]  # fmt: skip
        return AxisMap(*filled)  # type: ignore[arg-type]

    def blended(self, low: Array, high: Array, weight: Array) -> AxisMap:
        """Each place between two: once only, so nothing is blended so far."""
        assert self.high is None
        return AxisMap(_at(self.low, low), _at(self.low, high), weight.astype(np.float32)[np.newaxis])

    def full(self) -> tuple[Array, Array, Array]:
        """low, high and weight, where nothing is blended too."""
        if self.high is None or self.weight is None:
            return self.low, self.low, np.zeros(self.low.shape, np.float32)
        return self.low, self.high, np.broadcast_to(self.weight, self.low.shape)


def _parts(axis: AxisMap) -> tuple[Array | None, Array | None, Array | None]:
    return axis.low, axis.high, axis.weight


def _at(part: Array, places: Array) -> Array:
    if places.ndim == 1:
        return part[:, places]
    return part[0][places] if len(part) == 1 else np.take_along_axis(part, places, 1)


@dataclass(frozen=True)
class ImageMap:
    """Where the pixels of images come from; a transform takes one and gives another.

    Args:
        rows, columns: the sources along both axes.
        fill: what the border holds, one value of the image's dtype, or one per channel.
    """

    rows: AxisMap
    columns: AxisMap
    channels: int
    fill: Any = 0

    @classmethod
    def whole(cls, height: int, width: int, channels: int) -> ImageMap:
        """Images as they are."""
        return cls(AxisMap.whole(height), AxisMap.whole(width), channels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the output."""
        return self.rows.size, self.columns.size, self.channels

    @property
    def blends(self) -> bool:
        return self.rows.high is not None or self.columns.high is not None

    def window(self, top: Any, left: Any, size: Sequence[int]) -> ImageMap:
        """A part of ``size``, from (top, left) on."""
        return replace(self, rows=self.rows.window(top, size[0]), columns=self.columns.window(left, size[1]))

    def padded(self, sides: Sequence[int], fill: Any, mode: str) -> ImageMap:
        """With a border of (left, top, right, bottom)."""
        left, top, right, bottom = sides
        rows, columns = self.rows.padded(top, bottom, mode), self.columns.padded(left, right, mode)
        return ImageMap(rows, columns, self.channels, fill if mode == "constant" else self.fill)

    def flipped(self, rows: Any = False, columns: Any = False) -> ImageMap:
        """Turned upside down, left to right, or both; each an answer, or one per image."""
        return replace(self, rows=self.rows.turned(rows), columns=self.columns.turned(columns))
