"""Images in other sizes and at other places.

Resizing is linear and works axis by axis, so each axis is one matrix [new size, old size], known before the program
runs; the whole is a product with each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Tensor
from msnb.dataset.vision.decode import FORMATS, decoded
from msnb.onnx.operator_table import Known, operator
from msnb.onnx.operators.shape_manipulation import ints

Array = np.ndarray[Any, Any]
_NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda v: np.ceil(v - 0.5), "round_prefer_ceil": lambda v: np.floor(v + 0.5),
    "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


def coordinates(kind: str, old: int, new: int, scale: float, roi: tuple[float, float]) -> Array:
    """Where each new element lies among the old ones."""
    at = np.arange(new, dtype=np.float64)
    length = scale * old  # not always a whole number
    ways: dict[str, Callable[[], Any]] = {
        "half_pixel": lambda: (at + 0.5) / scale - 0.5,
        "half_pixel_symmetric": lambda: old / 2 * (1 - new / length) + (at + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda: (at + 0.5) / scale - 0.5 if length > 1 else np.full(new, -0.5),
        "align_corners": lambda: at * (old - 1) / (length - 1) if length > 1 and new > 1 else np.zeros(new),
        "asymmetric": lambda: at / scale,
        "tf_half_pixel_for_nn": lambda: (at + 0.5) / scale,
        "tf_crop_and_resize": lambda: (
            roi[0] * (old - 1) + at * (roi[1] - roi[0]) * (old - 1) / (length - 1)
            if length > 1 and new > 1
            else np.full(new, 0.5 * (roi[0] + roi[1]) * (old - 1))
        ),
    }
    if kind not in ways:
        raise AttributeValueError(f"Resize: no coordinate_transformation_mode {kind!r}; there are {', '.join(ways)}.")
    return np.asarray(ways[kind](), np.float64)


def _cubic(v: Array, a: float) -> Array:
    v = np.abs(v)
    near = ((a + 2) * v - (a + 3)) * v * v + 1
    far = ((v - 5) * v + 8) * v * a - 4 * a
    return np.where(v <= 1, near, np.where(v < 2, far, 0.0))


def axis_matrix(at: Array, old: int, scale: float, mode: str, nearest: str, a: float, exclude: bool,
                antialias: bool) -> Array:  # fmt: skip
    """The share of each old element in each new one."""
    out = np.zeros((len(at), old))
    if mode == "nearest":
        chosen = np.clip(_NEAREST[nearest](at), 0, old - 1).astype(int)
        out[np.arange(len(at)), chosen] = 1
        return out
    stretch = min(scale, 1.0) if antialias else 1.0
    reach = int(np.ceil((2 if mode == "cubic" else 1) / stretch)) + 1
    places = np.floor(at).astype(int)[:, None] + np.arange(-reach, reach + 1)
    distance = (at[:, None] - places) * stretch
    shares = _cubic(distance, a) if mode == "cubic" else np.maximum(1 - np.abs(distance), 0)
    if exclude:
        shares = np.where((places >= 0) & (places < old), shares, 0)
    if exclude or antialias:
        shares = shares / shares.sum(1, keepdims=True)
    np.add.at(out, (np.arange(len(at))[:, None], np.clip(places, 0, old - 1)), shares)
    return out


def along(x: Any, matrix: Array, axis: int) -> Any:
    """x with its axis mapped by a matrix; where each row takes one element, that element."""
    if ((matrix == 0) | (matrix == 1)).all() and (matrix.sum(1) == 1).all():
        return ops.gather(x, Tensor(matrix.argmax(1).astype(np.int32)), axis)
    wide = x if x.dtype.is_float else x.astype("float32")
    last = wide.ndim - 1
    moved = ops.swapaxes(wide, axis, last)
    return ops.swapaxes(ops.matmul(moved, Tensor(matrix.T.astype(wide.dtype.numpy))), axis, last)


@operator("Upsample")
def old_upsample(x: Tensor, *, mode: str = "nearest", scales: Any = None, height_scale: float = 1.0,
                 width_scale: float = 1.0) -> Any:  # fmt: skip
    """Larger by factors that are attributes."""
    factors = scales or [1.0, 1.0, height_scale, width_scale]
    return upsample(x, np.asarray(factors, np.float32), mode=mode)


@operator("Upsample", since=9)
def upsample(x: Tensor, scales: Known, *, mode: str = "nearest") -> Any:
    """Larger by factors."""
    return resize(x, None, scales, mode="linear" if mode != "nearest" else mode,
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip


@operator("Resize", since=10)
def old_resize(x: Tensor, scales: Known, *, mode: str = "nearest") -> Any:
    """Version 10: factors alone."""
    return upsample(x, scales, mode=mode)


@operator("Resize", since=11)
def resize(x: Tensor, roi: Known | None = None, scales: Known | None = None, sizes: Known | None = None, *,
           antialias: int = 0, axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
           cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
           keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
           nearest_mode: str = "round_prefer_floor") -> Any:  # fmt: skip
    """Another size, by factors or by sizes, in any of the format's ways to place and to weigh."""
    chosen = [a % x.ndim for a in axes] if axes is not None else list(range(x.ndim))
    factors, lengths = _targets(x, chosen, scales, sizes, keep_aspect_ratio_policy)
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    window = roi.reshape(2, -1).T.tolist() if crop and roi is not None and roi.size else [(0.0, 1.0)] * len(chosen)
    y, dtype = x, x.dtype
    for axis, factor, new, part in zip(chosen, factors, lengths, window):
        old = x.shape[axis]
        if factor == 1 and new == old and not crop:
            continue
        at = coordinates(coordinate_transformation_mode, old, new, factor, tuple(part))
        matrix = axis_matrix(at, old, factor, mode, nearest_mode, cubic_coeff_a, bool(exclude_outside), bool(antialias))
        y = along(y, matrix, axis)
        if crop:
            outside = ((at < 0) | (at > old - 1)).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
            y = ops.where(Tensor(outside), Tensor(np.array(extrapolation_value, y.dtype.numpy)), y)
    return y.astype(dtype) if dtype.is_float else ops.round(y).astype(dtype) if y.dtype.is_float else y


def _targets(x: Any, axes: list[int], scales: Any, sizes: Any, policy: str) -> tuple[list[float], list[int]]:
    """The factor and the new size of each axis."""
    if sizes is None or not sizes.size:
        factors = [float(s) for s in scales]
        return factors, [int(np.floor(x.shape[a] * s)) for a, s in zip(axes, factors)]
    lengths = ints(sizes)
    if policy == "stretch":
        return [n / x.shape[a] for a, n in zip(axes, lengths)], lengths
    ratios = [n / x.shape[a] for a, n in zip(axes, lengths)]
    one = min(ratios) if policy == "not_larger" else max(ratios)
    return [one] * len(axes), [int(np.floor(x.shape[a] * one + 0.5)) for a in axes]


# ---- samples at points ----


@operator("GridSample")
def grid_sample(x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear",
                padding_mode: str = "zeros") -> Any:  # fmt: skip
    """x at points of a grid from -1 to 1, any number of axes."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    space = x.shape[2:]
    points = [_unscaled(grid[..., len(space) - 1 - i], n, bool(align_corners)) for i, n in enumerate(space)]
    if padding_mode != "zeros" and mode != "cubic":
        points = [_brought_in(p, n, padding_mode, bool(align_corners)) for p, n in zip(points, space)]
    neighbours = [_neighbours(p, mode) for p in points]
    total: Any = None
    for choice in np.ndindex(*(len(each) for each in neighbours)):
        places = [neighbours[i][k][0] for i, k in enumerate(choice)]
        part = _taken(x, places, padding_mode, bool(align_corners))
        for i, k in enumerate(choice):
            share = neighbours[i][k][1]
            part = part if share is None else part * ops.expand_dims(share, 1)
        total = part if total is None else total + part
    return total


def _unscaled(v: Any, n: int, corners: bool) -> Any:
    return (v + 1) / 2 * (n - 1) if corners else ((v + 1) * n - 1) / 2


def _brought_in(v: Any, n: int, padding_mode: str, corners: bool) -> Any:
    if padding_mode == "border":
        return ops.clamp(v, 0, n - 1)
    low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
    span = high - low
    if span == 0:
        return ops.zeros_like(v)
    off = ops.fmod(ops.abs(v - low), 2 * span)
    return ops.clamp(low + ops.where(off > span, 2 * span - off, off), 0, n - 1)


def _neighbours(p: Any, mode: str) -> list[tuple[Any, Any]]:
    """Places along an axis, and their shares."""
    if mode == "nearest":
        return [(ops.round(p), None)]
    low = ops.floor(p)
    if mode == "linear":
        share = p - low
        return [(low, 1 - share), (low + 1, share)]
    return [(low + k, _cubic_share(p - low - k)) for k in (-1, 0, 1, 2)]


def _cubic_share(v: Any, a: float = -0.75) -> Any:
    v = ops.abs(v)
    near = ((a + 2) * v - (a + 3)) * v * v + 1
    far = ((v - 5) * v + 8) * v * a - 4 * a
    return ops.where(v <= 1, near, ops.where(v < 2, far, ops.zeros_like(v)))


def _taken(x: Any, places: list[Any], padding_mode: str, corners: bool) -> Any:
    """The elements at whole places; outside by the padding mode."""
    n, c, *space = x.shape
    inside, flat = None, None
    for p, size in zip(places, space):
        if padding_mode != "zeros":
            p = ops.round(_brought_in(p, size, padding_mode, corners))
        ok = (p >= 0) & (p <= size - 1)
        inside = ok if inside is None else inside & ok
        at = ops.clamp(p, 0, size - 1).astype("int64")
        flat = at if flat is None else flat * size + at
    index = ops.reshape(flat, (n, 1, -1))
    rows = ops.reshape(x, (n, c, -1))
    found = ops.gather_d(rows, 2, ops.broadcast_to(index, (n, c, index.shape[-1])))
    found = ops.reshape(found, (n, c, *places[0].shape[1:]))
    return found if padding_mode != "zeros" else found * ops.expand_dims(inside, 1).astype(x.dtype)


# ---- pictures ----


@operator("ImageDecoder")
def image_decoder(content: Known, *, pixel_format: str = "RGB") -> Any:
    """A picture's pixels, [rows, columns, channels], by Pillow."""
    pixels = decoded(content, "ImageDecoder's input", (*FORMATS, "JPEG2000"))
    if pixel_format == "Grayscale":  # luminance by ITU-R 601-2, in fixed point
        light = pixels.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32)
        return ((light + (1 << 15)) >> 16).astype(np.uint8)[:, :, None]
    return (pixels[:, :, ::-1] if pixel_format == "BGR" else pixels).copy()
