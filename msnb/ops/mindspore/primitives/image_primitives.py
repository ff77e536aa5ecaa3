"""MindSpore's primitives of images: colours, other sizes, windows.

    AdjustHue, AdjustSaturation, RGBToHSV ...    [..., 3], red, green and blue behind one another
    ResizeArea, ScaleAndTranslate                [n, height, width, channels]
    ResizeBicubic, Dilation2D ...                [n, channels, height, width]

Resizing along an axis is a product with a matrix [new, old], as in ``msnb.ops.spatial.interpolate``.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.ops.primitive.html (Image Processing)
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import dtypes
from msnb.ops.definition import as_tensor, need_float, operand_lines
from msnb.ops.random.draws import drawn_normal, drawn_uniform
from msnb.ops.spatial.bounding_boxes import wide
from msnb.ops.spatial.resize import sizes_of

NEEDED: Any = inspect.Parameter.empty


# ---- colours ----


def _channels(name: str, image: Any, rank: int) -> tuple[Any, Any, Any]:
    t = as_tensor(image)
    need_float(name, t._type)
    if t.ndim < rank or t.shape[-1] != 3:
        lead = ", ".join(["..."] if rank == 1 else ["...", "height", "width"])
        raise ShapeError(f"{name} takes images [{lead}, 3].", operands=operand_lines(t._type))
    return wide(t)[..., 0], wide(t)[..., 1], wide(t)[..., 2]


def _hue(r: Any, g: Any, b: Any) -> tuple[Any, Any, Any]:
    """(the place on the wheel of colours from 0 to 6, the largest channel, its distance to the least)."""
    most, least = ops.maximum(ops.maximum(r, g), b), ops.minimum(ops.minimum(r, g), b)
    chroma = most - least
    by = ops.where(chroma == 0, 1, chroma)
    hue = ops.where(r == most, (g - b) / by, ops.where(g == most, 2 + (b - r) / by, 4 + (r - g) / by))
    return ops.where(chroma == 0, 0, ops.where(hue < 0, hue + 6, hue)), most, chroma


def _colours(hue: Any, most: Any, chroma: Any, like: Any) -> Any:
    parts = (ops.abs(hue - 3) - 1, 2 - ops.abs(hue - 2), 2 - ops.abs(hue - 4))
    return ops.stack([most - chroma * (1 - ops.clip(p, 0.0, 1.0)) for p in parts], -1).astype(like.dtype)


def _share(chroma: Any, most: Any) -> Any:
    return ops.where(most == 0, 0, chroma / ops.where(most == 0, 1, most))


def _adjust_hue(image: Any, delta: Any) -> Any:
    hue, most, chroma = _hue(*_channels("AdjustHue", image, 3))
    return _colours(ops.floor_mod(hue + delta * 6, 6), most, chroma, image)


def _adjust_saturation(image: Any, scale: Any) -> Any:
    hue, most, chroma = _hue(*_channels("AdjustSaturation", image, 3))
    return _colours(hue, most, ops.clip(_share(chroma, most) * scale, 0.0, 1.0) * most, image)


def _rgb_to_hsv(images: Any) -> Any:
    hue, most, chroma = _hue(*_channels("RGBToHSV", images, 1))
    return ops.stack([hue / 6, _share(chroma, most), most], -1).astype(images.dtype)


def _hsv_to_rgb(x: Any) -> Any:
    hue, share, most = _channels("HSVToRGB", x, 1)
    return _colours(ops.floor_mod(hue, 1) * 6, most, share * most, x)


# ---- other sizes ----


def _along(x: Any, axis: int, matrix: Any) -> Any:
    return ops.moveaxis(ops.tensordot(x, as_tensor(matrix).astype(x.dtype), ([axis], [1])), -1, axis)


def _steps(new: int, old: int, align_corners: bool) -> float:
    return (old - 1) / (new - 1) if align_corners and new > 1 else old / new


def _overlaps(new: int, old: int, align_corners: bool) -> Any:
    """[new, old]: how much of every old pixel lies in the stretch of each new one; the last pixel goes on for ever."""
    step = _steps(new, old, align_corners)
    begin, pixel = np.arange(new)[:, None] * step, np.arange(old)
    ends = np.where(pixel == old - 1, np.inf, pixel + 1)
    return np.maximum(np.minimum(begin + step, ends) - np.maximum(begin, pixel), 0.0) / step


def _resize_area(images: Any, size: Any, align_corners: bool) -> Any:
    t = as_tensor(images)
    if t.ndim != 4:
        raise ShapeError("ResizeArea takes images [n, height, width, channels].", operands=operand_lines(t._type))
    t = t.astype(dtypes.float32)
    for axis, new in enumerate(sizes_of("ResizeArea", size), start=1):
        t = _along(t, axis, _overlaps(new, t.shape[axis], align_corners))
    return t


def _volume(mode: str) -> Callable[..., Any]:
    def resize(x: Any, output_size: Any = None, scales: Any = None, **attrs: Any) -> Any:
        if as_tensor(x).ndim != 5:
            raise ShapeError("volumes are [n, channels, depth, height, width].", operands=operand_lines(x._type))
        size = output_size if output_size is None else tuple(output_size)
        return ops.interpolate(x, size, scales if scales is None else tuple(scales), mode, **attrs)

    return resize


def _sinc_window(radius: float) -> Callable[[Any], Any]:
    return lambda x: ops.where(x > radius, 0.0, ops.sinc(x) * ops.sinc(x / radius))


def _piecewise(near: tuple[float, ...], far: tuple[float, ...]) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        one, two = (sum(c * ops.pow(x, k) for k, c in enumerate(part)) for part in (near, far))
        return ops.where(x >= 2, 0.0, ops.where(x >= 1, two, one))

    return kernel


_KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    **{f"lanczos{r}": (float(r), _sinc_window(float(r))) for r in (1, 3, 5)},
    "gaussian": (1.5, lambda x: ops.where(x >= 1.5, 0.0, ops.exp(x * x * -2.0))),
    "box": (1.0, lambda x: ops.where(x < 0.5, 1.0, ops.where(x == 0.5, 0.5, 0.0))),
    "triangle": (1.0, lambda x: ops.where(x < 1, 1 - x, 0.0)),
    "keyscubic": (2.0, _piecewise((1.0, 0.0, -2.5, 1.5), (2.0, -4.0, 2.5, -0.5))),
    "mitchellcubic": (2.0, _piecewise((8 / 9, 0.0, -2.0, 7 / 6), (16 / 9, -10 / 3, 2.0, -7 / 18))),
}
"""Kernels of resampling: how far each reaches, and its value at a distance."""


def _scale_and_translate(
    images: Any, size: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
    name, t = "ScaleAndTranslate", as_tensor(images)
    if kernel_type not in _KERNELS:
        raise AttributeValueError(f"{name}: kernel_type is one of {', '.join(_KERNELS)}, not {kernel_type!r}.")
    if t.ndim != 4:
        raise ShapeError(f"{name} takes images [n, height, width, channels].", operands=operand_lines(t._type))
    t = t.astype(dtypes.float32)
    reach, kernel = _KERNELS[kernel_type]
    for k, new in enumerate(sizes_of(name, size)):
        old = t.shape[k + 1]
        back = 1 / scale[k]
        at = (as_tensor(np.arange(new, dtype=np.float32)) + 0.5) * back - back * translation[k]
        width = ops.maximum(back, 1.0) if antialias else 1.0
        away = ops.abs(as_tensor(np.arange(old, dtype=np.float32)) + 0.5 - at.reshape((-1, 1)))
        weight = ops.where(away > reach * width, 0.0, kernel(away / width))
        total = ops.sum(weight, -1, True)
        inside = ops.logical_and(at >= 0, at <= old).reshape((-1, 1))
        weight = ops.where(ops.logical_and(inside, total != 0), weight / ops.where(total == 0, 1, total), 0.0)
        t = _along(t, k + 1, weight)
    return t


# ---- windows ----


def _glimpse(
    x: Any, size: Any, offsets: Any, centered: bool, normalized: bool, uniform_noise: bool, noise: str
) -> Any:  # fmt: skip
    """Windows of images around a point each; what lies outside is noise."""
    if noise not in ("uniform", "gaussian", "zero") or (uniform_noise and noise != "uniform"):
        raise AttributeValueError("ExtractGlimpse: noise is 'uniform', 'gaussian' or 'zero', and 'uniform' with "
                                  f"uniform_noise; got {noise!r}.")  # fmt: skip
    t, n = as_tensor(x), as_tensor(x).shape[0]
    places: list[Any] = []
    inside: Any = None
    for k, new in enumerate(sizes_of("ExtractGlimpse", size)):
        old, at = t.shape[k + 1], as_tensor(offsets)[:, k].astype(dtypes.float32)
        at = at * old if normalized else at
        first = ops.trunc(((at + old) / 2 if centered else at) - new / 2).astype(dtypes.int32)
        rows = first.reshape((-1, 1)) + as_tensor(np.arange(new, dtype=np.int32))
        within = ops.logical_and(rows >= 0, rows < old)
        shape = (n, new, 1) if k == 0 else (n, 1, new)
        places.append(ops.clip(rows, 0, old - 1).reshape(shape))
        within = within.reshape(shape)
        inside = within if inside is None else ops.logical_and(inside, within)
    lines = as_tensor(np.arange(n, dtype=np.int32).reshape(n, 1, 1))
    found = t[lines, places[0], places[1]]
    return ops.where(inside.expand_dims(-1), found, _noise(found, uniform_noise, noise))


def _noise(like: Any, uniform_noise: bool, noise: str) -> Any:
    if noise == "zero":
        return 0.0
    return (drawn_uniform(like.shape) if noise == "uniform" else drawn_normal(like.shape)).astype(like.dtype)


def _dilation(x: Any, filter: Any, stride: Any, dilation: Any, pad_mode: str, data_format: str) -> Any:
    """The largest of image and filter added up, window by window."""
    if data_format != "NCHW" or pad_mode.lower() not in ("same", "valid"):
        raise AttributeValueError(f"Dilation2D: data_format is 'NCHW' and pad_mode 'same' or 'valid', got "
                                  f"{data_format!r} and {pad_mode!r}.")  # fmt: skip
    t, f = as_tensor(x), as_tensor(filter)
    if t.ndim != 4 or f.ndim != 3 or f.shape[0] != t.shape[1]:
        raise ShapeError("Dilation2D takes [n, channels, height, width] and a filter [channels, rows, columns].",
                         operands=operand_lines(t._type, f._type))  # fmt: skip
    step, gap = _two("stride", stride), _two("dilation", dilation)
    least = float(np.finfo(t.dtype.numpy).min) if t.dtype.is_float else 0
    out = None
    for place, part in _elements(t, f.shape[1:], step, gap, pad_mode.lower() == "same", least):
        part = part + f[(slice(None), *place)].reshape((-1, 1, 1))
        out = part if out is None else ops.maximum(out, part)
    return out


def _two(name: str, value: Any) -> tuple[int, int]:
    each = (value,) * 2 if isinstance(value, int) else tuple(value)[-2:]
    if min(each) < 1:
        raise AttributeValueError(f"Dilation2D: {name} is a number from 1, or one for rows and one for columns.")
    return each[0], each[1]


def _elements(x: Any, kernel: Any, step: Any, rate: Any, same: bool, outside: float) -> Any:
    """(place in the window, that element of every window [n, channels, *windows]), place by place."""
    reach = [(k - 1) * r + 1 for k, r in zip(kernel, rate)]
    new = [-(-h // s) if same else (h - w) // s + 1 for h, s, w in zip(x.shape[2:], step, reach)]
    if same:
        lacks = [max((o - 1) * s + w - h, 0) for o, s, w, h in zip(new, step, reach, x.shape[2:])]
        x = ops.pad(x, [side for lack in reversed(lacks) for side in (lack // 2, lack - lack // 2)], value=outside)
    for place in itertools.product(*map(range, kernel)):
        cut = [slice(p * r, p * r + (o - 1) * s + 1, s) for p, r, o, s in zip(place, rate, new, step)]
        yield place, x[(slice(None), slice(None), *cut)]


def _patches(x: Any, kernel: Any, step: Any, rate: Any, same: bool) -> Any:
    """[n, kernel elements * channels, *windows]: the elements of each window behind one another, its channels last."""
    found = ops.stack([part for _, part in _elements(as_tensor(x), kernel, step, rate, same, 0.0)], 1)
    return found.reshape((found.shape[0], -1, *found.shape[3:]))


def _padding(name: str, padding: str) -> bool:
    if padding.upper() not in ("SAME", "VALID"):
        raise AttributeValueError(f"{name}: padding is 'SAME' or 'VALID', not {padding!r}.")
    return padding.upper() == "SAME"


def _image_patches(x: Any, ksizes: Any, strides: Any, rates: Any, padding: str) -> Any:
    kernel, step, rate = (tuple(v)[-2:] for v in (ksizes, strides, rates))
    return _patches(x, kernel, step, rate, _padding("ExtractImagePatches", padding))


def _volume_patches(x: Any, kernel_size: Any, strides: Any, padding: str) -> Any:
    kernel, step = ((v,) * 3 if isinstance(v, int) else tuple(v)[-3:] for v in (kernel_size, strides))
    return _patches(x, kernel, step, (1, 1, 1), _padding("ExtractVolumePatches", padding))


_SIDES = {"align_corners": False, "half_pixel_centers": False}
IMAGES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "AdjustHue": (_adjust_hue, {}), "AdjustSaturation": (_adjust_saturation, {}), "RGBToHSV": (_rgb_to_hsv, {}),
    "HSVToRGB": (_hsv_to_rgb, {}),
    "ResizeBicubic": (lambda x, size, **sides: ops.resize_bicubic(x, size, **sides), _SIDES),
    "ResizeNearestNeighborV2": (lambda x, size, **sides: ops.resize_nearest_neighbor(x, size, **sides), _SIDES),
    "ResizeArea": (_resize_area, {"align_corners": False}), "UpsampleNearest3D": (_volume("nearest"), {}),
    "UpsampleTrilinear3D": (_volume("trilinear"), {"align_corners": False}),
    "ScaleAndTranslate": (_scale_and_translate, {"kernel_type": "lanczos3", "antialias": True}),
    "GridSampler3D": (lambda x, grid, **attrs: ops.grid_sample(x, grid, *attrs.values()), {
        "interpolation_mode": "bilinear", "padding_mode": "zeros", "align_corners": False}),
    "ExtractGlimpse": (_glimpse, {"centered": True, "normalized": True, "uniform_noise": True, "noise": "uniform"}),
    "ExtractImagePatches": (_image_patches, {
        "ksizes": NEEDED, "strides": NEEDED, "rates": NEEDED, "padding": "VALID"}),
    "ExtractVolumePatches": (_volume_patches, dict.fromkeys(("kernel_size", "strides", "padding"), NEEDED)),
    "Dilation2D": (_dilation, {"stride": NEEDED, "dilation": NEEDED, "pad_mode": "SAME", "data_format": "NCHW"}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
