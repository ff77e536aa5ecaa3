"""MindSpore's primitives of poolings that give places, have no common step or pool regions, and of bent windows.

A gradient by places (``MaxPoolGradWithArgmaxV2``) writes each number where its maximum stood, plane by plane; a second
one (``MaxPoolGradGradWithArgmax``) reads there.

Position-sensitive pooling cuts a region into group x group bins; bin (i, j) of result channel c is the mean of input
channel (c group + i) group + j over the pixels of the bin. Bins are products of rows and columns, so the sums are
products with two masks.

Source: Dai et al. 2016, "R-FCN: object detection via region-based fully convolutional networks".
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_ints, operand_lines
from msnb.ops.spatial import fractional_pooling as fractional
from msnb.ops.spatial.deformable import deformable_offsets
from msnb.ops.spatial.max_pooling import largest_of_windows

NEEDED: Any = inspect.Parameter.empty


def _last(value: Any, count: int) -> tuple[int, ...]:
    """One int per axis of space, of an int or of MindSpore's longer tuples."""
    return (value,) * count if isinstance(value, int) else tuple(value)[-count:]


def _with_places(name: str, count: int) -> Callable[..., Any]:
    def pool(
        x: Any, size: Any, strides: Any, pads: Any, dilation: Any, ceil_mode: bool, argmax_type: Any, mode: str = "pad"
    ) -> tuple[Any, Any]:
        kernel = _last(size, count)
        steps = kernel if strides is None else _last(strides, count)
        sides, holes = 0 if mode == "same" else _last(pads, count), _last(dilation, count)
        found = largest_of_windows(name, x, count, kernel, steps, mode, sides, holes, True, ceil_mode)
        return found[0], found[1].astype(argmax_type)

    return pool


def _with_argmax(x: Any, kernel_size: Any, strides: Any, pad_mode: str, data_format: str) -> tuple[Any, Any]:
    """Places are those in the whole image, all channels, unlike V2's."""
    if data_format != "NCHW":
        raise AttributeValueError(f"MaxPoolWithArgmax takes data_format='NCHW', not {data_format!r}.")
    pool, mode = _with_places("MaxPoolWithArgmax", 2), pad_mode.lower()
    values, places = pool(x, kernel_size, strides, 0, 1, False, dtypes.int32, mode if mode == "same" else "pad")
    channels = ops.arange(x.shape[1], dtype=places.dtype).reshape((-1, 1, 1))
    return values, places + channels * (x.shape[2] * x.shape[3])


def pool3d(name: str) -> Callable[..., Any]:
    """A pooling of volumes by windows that move by ``strides``, 1 by default."""

    def pool(x: Any, kernel_size: Any, strides: Any, pad_mode: str, pad: Any, ceil_mode: Any, data_format: str,
             divisor_override: int = 0, **more: Any) -> Any:  # fmt: skip
        _need_channels_second(data_format)
        sides = pad
        if isinstance(pad, (tuple, list)) and len(pad) == 6:
            if any(a != b for a, b in zip(pad[::2], pad[1::2])):
                raise AttributeValueError(f"{name}: both sides of an axis are padded alike here, got {pad!r}.")
            sides = tuple(pad[::2])
        if divisor_override:
            more["divisor_override"] = divisor_override
        return getattr(ops, name)(x, kernel_size, strides, pad_mode.lower(), sides, bool(ceil_mode), **more)

    return pool


def _max_pool3d(x: Any, pad_list: Any, **attrs: Any) -> Any:
    return pool3d("max_pool3d")(x, pad=pad_list, **attrs)


def _adaptive(name: str, places: Any) -> Callable[..., Any]:
    def pool(x: Any, output_size: Any) -> tuple[Any, Any]:
        sizes = output_size.tolist() if isinstance(output_size, Tensor) else output_size
        values, found = getattr(ops, name)(x, sizes, True)
        return values, found.astype(places)

    return pool


def _unpool(name: str) -> Callable[..., Any]:
    def unpool(x: Any, argmax: Any, ksize: Any, strides: Any, pads: Any, output_shape: Any, data_format: str) -> Any:
        _need_channels_second(data_format)
        return getattr(ops, name)(x, argmax, ksize, strides, pads, output_shape or None)

    return unpool


def _written(like: Any, dout: Any, places: Any) -> Any:
    """Zeros of the shape of ``like`` with ``dout`` added at places [N, C, ...] in its planes."""
    flat = ops.zeros((*like.shape[:2], math.prod(like.shape[2:])), dtype=dout.dtype)
    at, values = (part.reshape((*like.shape[:2], -1)) for part in (places, dout))
    return ops.tensor_scatter_elements(flat, at, values, 2, "add").reshape(like.shape)


def _read(grad: Any, places: Any, axes: int) -> Any:
    """``grad`` at places in the flat of its last ``axes`` axes."""
    flat, at = (part.reshape((*part.shape[: part.ndim - axes], -1)) for part in (grad, places))
    return ops.gather_elements(flat, flat.ndim - 1, at).reshape(places.shape)


def _by_places(x: Any, dout: Any, argmax: Any, data_format: str = "NCHW", **_window: Any) -> Any:
    """The gradient of a pooling that gave places: they say all that the window said."""
    _need_channels_second(data_format)
    return _written(x, dout, argmax)


def _in_volumes(x: Any, ksize: Any, data_format: str, **attrs: Any) -> Any:
    _need_channels_second(data_format)
    return _with_places("MaxPool3DWithArgmax", 3)(x, ksize, **attrs)


def _need_channels_second(data_format: str) -> None:
    if data_format not in ("NCHW", "NCDHW"):
        raise AttributeValueError(f"data_format must put the channels second, got {data_format!r}.")


def _second(count: int) -> Callable[..., Any]:
    """The gradient of a pooling's gradient by ``dout``: ``grad`` where the maxima of x stand."""

    def gradient(
        x: Any, _out: Any, grad: Any, kernel_size: Any, strides: Any, pad_mode: str, data_format: str = "NCHW"
    ) -> Any:
        _need_channels_second(data_format)
        pool, mode = _with_places(f"MaxPool{count}DGradGrad", count), pad_mode.lower()
        at = pool(x, kernel_size, strides, 0, 1, False, dtypes.int64, mode if mode == "same" else "pad")[1]
        return _read(grad, at, count)

    return gradient


def _fractional(name: str, means: bool) -> Callable[..., Any]:
    def pool(x: Any, pooling_ratio: Any, pseudo_random: bool, overlapping: bool, **drawn: Any) -> tuple[Any, ...]:
        if x.ndim != 4 or x.dtype not in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
            text = f"{name} takes x [N, H, W, C] of float32, float64, int32 or int64."
            raise DTypeError(text, operands=operand_lines(x._type))
        rows, columns = fractional.parts_of(pooling_ratio, pseudo_random, **drawn)(x)
        if not means:
            return fractional.maxima_between(x, rows, columns, overlapping)[0], rows, columns
        own, counts = _members(x.shape, rows, columns, overlapping)
        sums = ops.einsum("nhwc,ih,jw->nijc", x.astype(dtypes.float64), *own)
        return (sums / counts).astype(x.dtype), rows, columns

    return pool


def _members(shape: Any, rows: Any, columns: Any, overlapping: bool) -> tuple[Any, Any]:
    """(which rows and columns are in which window, how many elements each window has [rows, columns, 1])."""
    own = [fractional.members_between(b, n, overlapping) for b, n in ((rows, shape[1]), (columns, shape[2]))]
    return own, (own[0].sum(1).expand_dims(1) * own[1].sum(1)).expand_dims(-1)


def _fractional_max_grad(x: Any, _out: Any, dout: Any, rows: Any, columns: Any, overlapping: bool) -> Any:
    places = fractional.maxima_between(x, rows, columns, overlapping)[1]
    planes = (part.transpose((0, 3, 1, 2)) for part in (x, dout, places))
    return _written(*planes).transpose((0, 2, 3, 1))


def _fractional_avg_grad(shape: Any, dout: Any, rows: Any, columns: Any, overlapping: bool) -> Any:
    sizes = as_ints("FractionalAvgPoolGrad", (shape,))
    own, counts = _members(sizes, rows, columns, overlapping)
    return ops.einsum("nijc,ih,jw->nhwc", dout.astype(dtypes.float64) / counts, *own).astype(dout.dtype)


def _fixed(x: Any, random_samples: Any, ksize: Any, output_shape: Any, data_format: str) -> tuple[Any, Any]:
    _need_channels_second(data_format)
    return fractional.at_samples("FractionalMaxPoolWithFixedKsize", x, random_samples, ksize, output_shape)


def _bent(x: Any, offsets: Any, strides: Any, pads: Any, ksize: Any, dilations: Any, data_format: str,
          deformable_groups: int, modulated: bool) -> Any:  # fmt: skip
    if data_format != "NCHW" or modulated is not True:
        raise AttributeValueError("DeformableOffsets takes data_format='NCHW' and modulated=True.")
    return deformable_offsets(x, offsets, strides, pads, ksize, dilations, deformable_groups)


# ---- regions ----


def _bins(low: Any, high: Any, group: int, size: int) -> Any:
    """[regions, group, size]: which rows (or columns) of an image lie in which bin."""
    step = ops.maximum(high - low, 0.1) / group
    at = ops.arange(group).astype(dtypes.float32)
    begin = ops.floor(low.reshape((-1, 1)) + step.reshape((-1, 1)) * at)
    end = ops.ceil(low.reshape((-1, 1)) + step.reshape((-1, 1)) * (at + 1))
    pixel = ops.arange(size).astype(dtypes.float32)
    return ops.logical_and(pixel >= begin.expand_dims(-1), pixel < end.expand_dims(-1)).astype(dtypes.float32)


def _masks(rois: Any, spatial_scale: float, group: int, height: int, width: int) -> tuple[Any, Any, Any, Any]:
    """(image of each region, masks of rows, masks of columns, 1 / pixels of each bin)."""
    if rois.ndim != 3 or rois.shape[1] != 5:
        raise ShapeError("regions are [batch, 5, count].", operands=operand_lines(rois._type, names=("rois",)))
    flat = rois.astype(dtypes.float32).transpose((0, 2, 1)).reshape((-1, 5))
    ends = flat[:, 1:] * spatial_scale
    ends = ops.trunc(ends) + ops.trunc(2 * (ends - ops.trunc(ends)))  # to the nearest pixel, halves away from 0
    low, high = ends[:, :2], ops.maximum(ends[:, 2:], ends[:, :2] + 1)
    rows = _bins(low[:, 1], high[:, 1], group, height)
    cols = _bins(low[:, 0], high[:, 0], group, width)
    pixels = rows.sum(-1).expand_dims(-1) * cols.sum(-1).expand_dims(1)
    return flat[:, 0].astype(dtypes.int32), rows, cols, ops.where(pixels > 0, 1.0 / ops.maximum(pixels, 1.0), 0.0)


def _pooled(features: Any, rois: Any, spatial_scale: float, group_size: int, output_dim: int) -> Any:
    n, channels, height, width = features.shape
    if channels != output_dim * group_size**2:
        text = f"PSROIPooling: {output_dim} x {group_size} x {group_size} channels are needed, not {channels}."
        raise ShapeError(text, operands=operand_lines(features._type, names=("features",)))
    image, rows, cols, share = _masks(rois, spatial_scale, group_size, height, width)
    parts = features.astype(dtypes.float32).reshape((n, output_dim, group_size, group_size, height, width))
    own = ops.gather(parts, image, 0)
    return (ops.einsum("rcijhw,rih,rjw->rcij", own, rows, cols) * share.expand_dims(1)).astype(features.dtype)


def _pooled_gradient(
    dy: Any, rois: Any, input_size: Any, spatial_scale: float, group_size: int, output_dim: int
) -> Any:
    height, width = input_size
    image, rows, cols, share = _masks(rois, spatial_scale, group_size, height, width)
    spread = ops.einsum("rcij,rih,rjw->rcijhw", dy.astype(dtypes.float32) * share.expand_dims(1), rows, cols)
    owner = ops.equal(ops.arange(rois.shape[0]).reshape((-1, 1)), image).astype(dtypes.float32)
    total = ops.matmul(owner, spread.reshape((spread.shape[0], -1)))
    return total.reshape((rois.shape[0], output_dim * group_size**2, height, width)).astype(dy.dtype)


_WINDOW = {"kernel_size": 1, "strides": 1, "pad_mode": "valid"}
_PLACES = {"dilation": (1, 1), "ceil_mode": False, "argmax_type": dtypes.int64}
_VOLUMES = {"ksize": NEEDED, "strides": NEEDED, "pads": NEEDED, "dilation": (1, 1, 1), "ceil_mode": False,
            "data_format": "NCDHW"}  # fmt: skip
_FIXED = {"ksize": NEEDED, "output_shape": NEEDED}
_RATIO = {"pooling_ratio": NEEDED, "pseudo_random": False, "overlapping": False, "deterministic": False, "seed": 0,
          "seed2": 0}  # fmt: skip
_MOVED = {"ksize": NEEDED, "strides": 0, "pads": 0, "output_shape": ()}
_REGIONS = {"spatial_scale": NEEDED, "group_size": NEEDED, "output_dim": NEEDED}
POOLINGS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "DeformableOffsets": (_bent, {"strides": NEEDED, "pads": NEEDED, "ksize": NEEDED, "dilations": (1, 1, 1, 1),
                                  "data_format": "NCHW", "deformable_groups": 1, "modulated": True}),
    "FractionalAvgPool": (_fractional("FractionalAvgPool", True), _RATIO),
    "FractionalAvgPoolGrad": (_fractional_avg_grad, {"overlapping": False}),
    "FractionalMaxPool": (_fractional("FractionalMaxPool", False), _RATIO),
    "FractionalMaxPoolGrad": (_fractional_max_grad, {"overlapping": False}),
    "FractionalMaxPoolWithFixedKsize": (_fixed, {**_FIXED, "data_format": "NCHW"}),
    "FractionalMaxPool3DWithFixedKsize": (_fixed, {**_FIXED, "data_format": "NCDHW"}),
    "FractionalMaxPoolGradWithFixedKsize": (_by_places, {"data_format": "NCHW"}),
    "FractionalMaxPool3DGradWithFixedKsize": (_by_places, {"data_format": "NCDHW"}),
    "AdaptiveMaxPool2D": (_adaptive("adaptive_max_pool2d", dtypes.int64), {"output_size": NEEDED}),
    "AdaptiveMaxPool3D": (_adaptive("adaptive_max_pool3d", dtypes.int32), {}),
    "AvgPool3D": (pool3d("avg_pool3d"), {**_WINDOW, "pad": 0, "ceil_mode": False, "count_include_pad": True,
                                         "divisor_override": 0, "data_format": "NCDHW"}),
    "MaxPool3D": (_max_pool3d, {**_WINDOW, "pad_list": 0, "ceil_mode": None, "data_format": "NCDHW"}),
    "MaxUnpool2D": (_unpool("max_unpool2d"), {**_MOVED, "data_format": "NCHW"}),
    "MaxUnpool3D": (_unpool("max_unpool3d"), {**_MOVED, "data_format": "NCDHW"}),
    "MaxPoolWithArgmax": (_with_argmax, {**_WINDOW, "data_format": "NCHW"}),
    "MaxPoolWithArgmaxV2": (lambda x, kernel_size, **attrs: _with_places("MaxPoolWithArgmaxV2", 2)(
        x, kernel_size, **attrs), {"kernel_size": NEEDED, "strides": None, "pads": 0, **_PLACES}),
    "MaxPool3DWithArgmax": (_in_volumes, {**_VOLUMES, "argmax_type": dtypes.int64}),
    "MaxPoolGradWithArgmaxV2": (_by_places, {"kernel_size": NEEDED, "strides": None, "pads": 0, **_PLACES}),
    "MaxPool3DGradWithArgmax": (_by_places, _VOLUMES), "MaxPoolGradGrad": (_second(2), _WINDOW),
    "MaxPool3DGradGrad": (_second(3), {**_WINDOW, "data_format": "NCDHW"}),
    "MaxPoolGradGradWithArgmax": (lambda x, grad, argmax, **attrs: _read(grad, argmax, 3), _WINDOW),
    "PSROIPooling": (_pooled, _REGIONS), "PSROIPoolingGrad": (_pooled_gradient, {"input_size": NEEDED, **_REGIONS}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
