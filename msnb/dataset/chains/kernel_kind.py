"""Which kernels of chains there are, and the words that one is called with: a row per image."""

from __future__ import annotations

from typing import NamedTuple

WORDS = ("source", "width", "y_low", "y_high", "y_weight", "x_low", "x_high", "x_weight", "out", "begin", "end", "row")
AT = {name: i for i, name in enumerate(WORDS)}


class KernelKind(NamedTuple):
    """Which kernel: channels, bytes of a result, channels the first axis, rows and columns blended."""

    channels: int
    size: int
    first: bool
    blends: bool
