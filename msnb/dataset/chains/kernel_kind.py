"""What a kernel of chains is asked to do, which kernels there are, and the words that one is called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from msnb.dataset.chains.image_map import ImageMap
from msnb.dataset.pipeline.rows import Array

Images = Array | list[Array]
CALL = ("images", "threads", "height", "width", "table", "border", "lines", "line", "jobs")
"""The words of a call; those of `WORDS` stand in a row of its jobs, one row per image."""
WORDS = ("source", "width", "y_low", "y_high", "y_weight", "x_low", "x_high", "x_weight", "out", "begin", "end", "row")
AT = {name: i for i, name in enumerate(WORDS)}


class KernelKind(NamedTuple):
    """Which kernel: channels, bytes of a result, channels the first axis, rows and columns blended."""

    channels: int
    size: int
    first: bool
    blends: bool


@dataclass(frozen=True)
class Work:
    """Pixels to be made.

    Args:
        images: uint8[n,h,w,c], or uint8[h,w,c] each. maps: one for all, or one per image.
        border: uint8[c]. table: [c,256]. first: channels are the first axis of ``out[i]``.
        out: where the pixels go, contiguous.
    """

    images: Images
    maps: list[ImageMap]
    border: Array
    table: Array
    first: bool
    out: Array

    @property
    def kind(self) -> KernelKind:
        blends = any(image_map.blends for image_map in self.maps)
        return KernelKind(len(self.table), self.table.dtype.itemsize, self.first, blends)
