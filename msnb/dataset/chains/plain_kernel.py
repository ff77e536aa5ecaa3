"""A chain's pixels by NumPy: what `chain_kernel` does where there is no compiler, and what it must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.dataset.chains.image_map import BORDER, ImageMap

Array = NDArray[Any]


def run(images: Array | list[Array], maps: list[ImageMap], border: Array, table: Array, first: bool, out: Array) -> None:
    """Write the pixels of images into ``out``.

    Args:
        images: uint8[n,h,w,c], or uint8[h,w,c] each. maps: one for all, or one per image.
        border: uint8[c]. table: [c,256]. first: channels are the first axis of ``out[i]``.
    """
    if isinstance(images, np.ndarray) and len(maps) == 1 and not maps[0].blends:
        _whole(images, maps[0], border, table, first, out)
        return
    for i, image in enumerate(images):
        found, j = (maps[0], i) if len(maps) == 1 else (maps[i], 0)
        pixels = _pixels(image, found, j, border)
        _entered(pixels, table, first, out[i])


def _whole(images: Array, image_map: ImageMap, border: Array, table: Array, first: bool, out: Array) -> None:
    """All images at once."""
    rows, columns = image_map.rows.low, image_map.columns.low
    numbers = np.arange(len(images))[:, np.newaxis, np.newaxis]
    pixels = images[numbers, rows.clip(0)[:, :, np.newaxis], columns.clip(0)[:, np.newaxis, :]]
    outside = (rows == BORDER)[:, :, np.newaxis] | (columns == BORDER)[:, np.newaxis, :]
    if outside.any():
        pixels = np.where(outside[..., np.newaxis], border, pixels)
    _entered(pixels, table, first, out)


def _entered(pixels: Array, table: Array, first: bool, out: Array) -> None:
    """The table's values for pixels [..., h, w, c], in the order of axes of ``out``."""
    for c, values in enumerate(table):
        (out[..., c, :, :] if first else out[..., c])[...] = values[pixels[..., c]]


def _pixels(image: Array, image_map: ImageMap, i: int, border: Array) -> Array:
    """The pixels of image number ``i`` of a map."""
    made = image if not image_map.blends else image.astype(np.float32)
    for axis, along in enumerate((image_map.rows, image_map.columns)):
        low, high, weight = (part[i if len(part) > 1 else 0] for part in along.full())
        shape = (-1, 1, 1) if axis == 0 else (1, -1, 1)
        left = _taken(made, low, axis, border)
        if image_map.blends:
            left = left + (_taken(made, high, axis, border) - left) * weight.reshape(shape)
        made = left
    return np.rint(made).astype(np.uint8) if image_map.blends else made


def _taken(image: Array, places: Array, axis: int, border: Array) -> Array:
    found = np.take(image, places.clip(0), axis)
    outside = (places == BORDER).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    return np.where(outside, border.astype(image.dtype), found) if outside.any() else found
