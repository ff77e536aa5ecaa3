"""A chain's pixels by machine code: one pass over the rows of a batch, into its buffer, without the interpreter's lock.

    picked     out[y, x, c] = table[c][source[low row y, low column x, c]]
    blended    line   = low row + (high row - low row) * weight of y           one line of floats, eight at once
               value  = line[low x] + (line[high x] - line[low x]) * weight of x
               out    = table[c][value, rounded half to even]

Each value is rounded where NumPy rounds it, so these are the numbers of `Resize` on one image. Changes of values are a
look-up: a byte has 256 of them. A kernel knows the number of channels, the size of a result and the order of axes; all
else comes in a table of words, a row per image.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base.settings import get_context
from msnb.dataset.chains.image_map import AxisMap, ImageMap
from msnb.dataset.chains.kernel_kind import AT, KernelKind

Array = NDArray[Any]
MOST_CHANNELS = 4


def at_hand(channels: int) -> bool:
    """Whether machine code can be made, and is wanted."""
    return channels <= MOST_CHANNELS and get_context("jit_level") != "O0" and _compiler()


@functools.lru_cache(maxsize=1)
def _compiler() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def run(images: Array | list[Array], maps: list[ImageMap], border: Array, table: Array, first: bool, out: Array) -> None:
    """As `plain_kernel.run`."""
    kind = KernelKind(len(table), table.dtype.itemsize, first, any(m.blends for m in maps))
    height, width, channels = maps[0].shape
    words = np.zeros((len(images), len(AT)), np.int64)
    words[:, AT["out"]] = out.ctypes.data + np.arange(len(out)) * out.strides[0]
    kept: list[Any] = []
    _enter_sources(words, images)
    if len(maps) == 1:
        _enter_map(words, maps[0], kind.blends, kept)
    else:
        for i, image_map in enumerate(maps):
            _enter_map(words[i : i + 1], image_map, kind.blends, kept)
    wide = int(words[:, AT["width"]].max())
    line = np.empty((wide + 1) * channels, np.float32) if kind.blends else border
    row = np.tile(border, wide) if kind.blends else border
    words[:, AT["row"]] = row.ctypes.data
    places = (words, len(images), height, width, table, border, line)
    _function(kind)(*(part.ctypes.data if isinstance(part, np.ndarray) else part for part in places))


def _enter_sources(words: Array, images: Array | list[Array]) -> None:
    if isinstance(images, np.ndarray):
        words[:, AT["source"]] = images.ctypes.data + np.arange(len(images)) * images.strides[0]
        words[:, AT["width"]] = images.shape[2]
        return
    words[:, AT["source"]] = [image.__array_interface__["data"][0] for image in images]
    words[:, AT["width"]] = [image.shape[1] for image in images]


def _enter_map(words: Array, image_map: ImageMap, blends: bool, kept: list[Any]) -> None:
    """The addresses of a map's tables, for all images of these words."""
    _enter_axis(words, "y", image_map.rows, blends, kept)
    columns = image_map.columns
    if blends:  # the border's pixel lies behind the last one
        width = np.int32(words[0, AT["width"]])
        low, high, weight = columns.full()
        inside = low[low >= 0]
        last = np.maximum(high, low)
        words[:, AT["begin"]] = inside.min() if inside.size else 0
        words[:, AT["end"]] = last.max() + 1
        columns = AxisMap(np.where(low < 0, width, low), np.where(high < 0, width, high), weight)
    _enter_axis(words, "x", columns, blends, kept)


def _enter_axis(words: Array, axis: str, places: AxisMap, blends: bool, kept: list[Any]) -> None:
    parts = zip(("low", "high", "weight"), places.full()) if blends else [("low", places.low)]
    for name, part in parts:
        table = np.ascontiguousarray(part, np.float32 if name == "weight" else np.int32)
        kept.append(table)
        step = table.strides[0] if len(table) > 1 else 0
        words[:, AT[f"{axis}_{name}"]] = table.ctypes.data + np.arange(len(words)) * step


@functools.lru_cache(maxsize=64)
def _function(kind: KernelKind) -> Any:
    from msnb.dataset.chains import kernel_text  # llvmlite is imported with it

    library = kernel_text.library(kind)
    made: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(library.address("msnb_chain"))
    made.library = library  # the code lives as long
    return made
