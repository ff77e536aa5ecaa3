"""Resizing images: bilinear, bicubic and nearest neighbour, with pixel centres at half coordinates.

Output pixel o of n_out covers the input around   x = (o + 1/2) * n_in / n_out - 1/2.   Bilinear takes the two pixels
next to x, weighted by their distance; outside the image the border pixel counts. Rows and columns are independent, so
the image is gathered along one axis after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from msnb.dataset.pipeline.rows import Array


def resize(images: Array, size: Sequence[int], method: str) -> Array:
    """Images [..., h, w, c] to [..., size[0], size[1], c].

    Args:
        method: "bilinear" or "bicubic" (floating-point result) or "nearest" (dtype kept).

    >>> resize(np.array([0., 1.]).reshape(1, 2, 1), (1, 4), "bilinear").ravel().tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    along = _METHODS[method]
    out = images
    for axis, length in ((-3, size[0]), (-2, size[1])):
        if out.shape[axis] != length:
            out = along(out, length, axis)
    return out


def _nearest(images: Array, length: int, axis: int) -> Array:
    return np.asarray(np.take(images, nearest_places(images.shape[axis], length), axis))


def nearest_places(have: int, length: int) -> Array:
    """Which of `have` pixels each of `length` is."""
    return np.minimum(np.arange(length) * have // length, have - 1)


def linear_places(have: int, length: int) -> tuple[Array, Array, Array]:
    """Between which of `have` pixels each of `length` lies, and the weight of the second, float64."""
    at = np.clip((np.arange(length) + 0.5) * (have / length) - 0.5, 0, have - 1)
    low = np.floor(at).astype(np.int64)
    return low, np.minimum(low + 1, have - 1), at - low


def _linear(images: Array, length: int, axis: int) -> Array:
    have = images.shape[axis]
    kind = images.dtype if images.dtype.kind == "f" else np.dtype(np.float32)
    low, high, distance = linear_places(have, length)
    shape = [1] * images.ndim
    shape[axis] = length
    weight = distance.astype(kind).reshape(shape)
    left, right = np.take(images, low, axis).astype(kind), np.take(images, high, axis).astype(kind)
    result: Array = left + (right - left) * weight
    return result


def _cubic(images: Array, length: int, axis: int) -> Array:
    """Four neighbours, weighted by Keys' kernel (a = -0.75, as OpenCV has it)."""
    have = images.shape[axis]
    kind = images.dtype if images.dtype.kind == "f" else np.dtype(np.float32)
    at = (np.arange(length) + 0.5) * (have / length) - 0.5
    low = np.floor(at).astype(np.int64)
    shape = [1] * images.ndim
    shape[axis] = length
    out: Array = np.zeros([length if i == axis % images.ndim else n for i, n in enumerate(images.shape)], kind)
    for tap in (-1, 0, 1, 2):
        weight = _keys(at - (low + tap)).astype(kind).reshape(shape)
        out += weight * np.take(images, np.clip(low + tap, 0, have - 1), axis)
    return out


def _keys(distance: Array, a: float = -0.75) -> Array:
    d = np.abs(distance)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


_METHODS = {"bilinear": _linear, "bicubic": _cubic, "nearest": _nearest}
