"""Resizing images: bilinear, bicubic, area and nearest neighbour, with pixel centres at half coordinates.

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
        method: "bilinear", "bicubic", "smooth_cubic" or "area" (floating-point result) or "nearest" (dtype kept).

    >>> resize(np.array([0., 1.]).reshape(1, 2, 1), (1, 4), "bilinear").ravel().tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    if method == "area" and (size[0] > images.shape[-3] or size[1] > images.shape[-2]):
        method = "stretched"
    along = _METHODS[method]
    out, steps = images, ((-3, size[0]), (-2, size[1]))
    for axis, length in steps[::-1] if method == "smooth_cubic" else steps:
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


def _area(images: Array, length: int, axis: int) -> Array:
    """Means over what a pixel of the result covers, as OpenCV has them (to a smaller size)."""
    have = images.shape[axis]
    edges = np.arange(length + 1) * (have / length)
    pixels = np.arange(have)
    low, high = np.maximum(edges[:-1, None], pixels), np.minimum(edges[1:, None], pixels + 1)
    return _weighted(images, np.maximum(high - low, 0), axis)


def _stretched(images: Array, length: int, axis: int) -> Array:
    """OpenCV's "area" to a larger size: constant inside a pixel, bilinear where a pixel of the result covers two."""
    have = images.shape[axis]
    places = np.arange(length)
    low = np.floor(places * (have / length)).astype(np.int64)
    share = places + 1 - (low + 1) * (length / have)
    share = np.where(share <= 0, 0.0, share - np.floor(share))
    weights = np.zeros((length, have))
    weights[places, np.minimum(low, have - 1)] += 1 - share
    weights[places, np.minimum(low + 1, have - 1)] += share
    return _weighted(images, weights, axis)


def _smooth_cubic(images: Array, length: int, axis: int) -> Array:
    """Keys' kernel (a = -0.5), as wide as a pixel of the result: Pillow's "bicubic", whose bytes stay bytes."""
    have = images.shape[axis]
    scale = have / length
    at = (np.arange(length) + 0.5) * scale - 0.5
    out = _weighted(images, _keys((np.arange(have) - at[:, None]) / max(scale, 1.0), -0.5), axis)
    return np.rint(out).clip(0, 255).astype(images.dtype) if images.dtype == np.uint8 else out


def _weighted(images: Array, weights: Array, axis: int) -> Array:
    """Means along ``axis`` with ``weights`` [length, have]."""
    kind = images.dtype if images.dtype.kind == "f" else np.dtype(np.float32)
    normed = (weights / weights.sum(1, keepdims=True)).astype(kind)
    return np.moveaxis(np.tensordot(images.astype(kind), normed, (axis, 1)), -1, axis)


_METHODS = {
    "bilinear": _linear, "bicubic": _cubic, "nearest": _nearest, "area": _area, "stretched": _stretched,
    "smooth_cubic": _smooth_cubic,
}  # fmt: skip
