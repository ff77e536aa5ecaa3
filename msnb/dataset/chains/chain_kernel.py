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

from msnb.base.settings import get_context
from msnb.dataset.chains.image_map import AxisMap, ImageMap
from msnb.dataset.chains.kernel_kind import AT, Images, KernelKind, Work
from msnb.dataset.pipeline.rows import Array
from msnb.devices.cpu import thread_pool

MOST_CHANNELS = 4
SHARE = 1 << 20  # pixels' values that are worth a thread: half a millisecond, what it takes to wake one


def at_hand(channels: int) -> bool:
    """Whether machine code can be made, and is wanted."""
    return channels <= MOST_CHANNELS and get_context("jit_level") != "O0" and _compiler()


@functools.lru_cache(maxsize=1)
def _compiler() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def run(work: Work, threads: int = 1) -> None:
    """Make the pixels; so many threads share the images."""
    kind, images, out = work.kind, work.images, work.out
    height, width, channels = work.maps[0].shape
    jobs = np.zeros((len(images), len(AT)), np.int64)
    jobs[:, AT["out"]] = out.ctypes.data + np.arange(len(out)) * out.strides[0]
    kept: list[Any] = []
    _enter_sources(jobs, images)
    if len(work.maps) == 1:
        _enter_map(jobs, work.maps[0], kind.blends, kept)
    else:
        for i, image_map in enumerate(work.maps):
            _enter_map(jobs[i : i + 1], image_map, kind.blends, kept)
    wide = int(jobs[:, AT["width"]].max())
    lines = np.empty((len(images) if kind.blends else 1, (wide + 1) * channels), np.float32)
    row = np.tile(work.border, wide) if kind.blends else work.border
    jobs[:, AT["row"]] = row.ctypes.data
    worth = max(1, min(threads, out.size // SHARE))
    call = (len(images), worth, height, width, work.table, work.border, lines, lines.shape[1], jobs)
    words = np.array([part.ctypes.data if isinstance(part, np.ndarray) else part for part in call], np.int64)
    allowed = np.array([1 if thread_pool.forked() else min(worth, thread_pool.cores())], np.int64)
    _function(kind)(0, words.ctypes.data, allowed.ctypes.data)


def _enter_sources(jobs: Array, images: Images) -> None:
    if isinstance(images, np.ndarray):
        jobs[:, AT["source"]] = images.ctypes.data + np.arange(len(images)) * images.strides[0]
        jobs[:, AT["width"]] = images.shape[2]
        return
    jobs[:, AT["source"]] = [image.__array_interface__["data"][0] for image in images]
    jobs[:, AT["width"]] = [image.shape[1] for image in images]


def _enter_map(jobs: Array, image_map: ImageMap, blends: bool, kept: list[Any]) -> None:
    """The addresses of a map's tables, for all images of these jobs."""
    _enter_axis(jobs, "y", image_map.rows, blends, kept)
    columns = image_map.columns
    if blends:  # the border's pixel lies behind the last one
        width = np.int32(jobs[0, AT["width"]])
        low, high, weight = columns.full()
        inside = low[low >= 0]
        last = np.maximum(high, low)
        jobs[:, AT["begin"]] = inside.min() if inside.size else 0
        jobs[:, AT["end"]] = last.max() + 1
        columns = AxisMap(np.where(low < 0, width, low), np.where(high < 0, width, high), weight)
    _enter_axis(jobs, "x", columns, blends, kept)


def _enter_axis(jobs: Array, axis: str, places: AxisMap, blends: bool, kept: list[Any]) -> None:
    parts = zip(("low", "high", "weight"), places.full()) if blends else [("low", places.low)]
    for name, part in parts:
        table = np.asarray(part, np.float32 if name == "weight" else np.int32, order="C")
        kept.append(table)
        step = table.strides[0] if len(table) > 1 else 0
        jobs[:, AT[f"{axis}_{name}"]] = table.ctypes.data + np.arange(len(jobs)) * step


@functools.lru_cache(maxsize=64)
def _function(kind: KernelKind) -> Any:
    from msnb.dataset.chains import kernel_text  # llvmlite is imported with it

    library = kernel_text.library(kind)
    made: Any = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(library.address("msnb_chain"))
    made.library = library  # the code lives as long
    return made
