"""A chain's pixels by NumPy: what `chain_kernel` does where there is no compiler, and what it must agree with."""

from __future__ import annotations

import numpy as np

from msnb.dataset.chains.image_map import BORDER, ImageMap
from msnb.dataset.chains.kernel_kind import Work
from msnb.dataset.pipeline.rows import Array


def run(work: Work) -> None:
    """Make the pixels."""
    images, maps = work.images, work.maps
    if isinstance(images, np.ndarray) and len(maps) == 1 and not maps[0].blends:
        _entered(_whole(images, maps[0], work.border), work, work.out)
        return
    for i, image in enumerate(images):
        found, j = (maps[0], i) if len(maps) == 1 else (maps[i], 0)
        _entered(_pixels(image, found, j, work.border), work, work.out[i])


def _whole(images: Array, image_map: ImageMap, border: Array) -> Array:
    """The pixels of all images at once."""
    rows, columns = image_map.rows.low, image_map.columns.low
    numbers = np.arange(len(images))[:, np.newaxis, np.newaxis]
    pixels: Array = images[numbers, rows.clip(0)[:, :, np.newaxis], columns.clip(0)[:, np.newaxis, :]]
    outside = (rows == BORDER)[:, :, np.newaxis] | (columns == BORDER)[:, np.newaxis, :]
    return np.where(outside[..., np.newaxis], border, pixels) if outside.any() else pixels


def _entered(pixels: Array, work: Work, out: Array) -> None:
    """The table's values for pixels [..., h, w, c], in the order of axes of ``out``."""
    for c, values in enumerate(work.table):
        (out[..., c, :, :] if work.first else out[..., c])[...] = values[pixels[..., c]]


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
