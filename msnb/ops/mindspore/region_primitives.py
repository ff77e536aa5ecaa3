"""MindSpore's primitives of regions: position-sensitive pooling, and its gradient.

A region is cut into group x group bins; bin (i, j) of result channel c is the mean of input channel
(c group + i) group + j over the pixels of the bin. Bins are products of rows and columns, so the sums are products
with two masks.

Source: Dai et al. 2016, "R-FCN: object detection via region-based fully convolutional networks".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base.errors import ShapeError
from msnb.core import dtypes
from msnb.ops.definition.type_inference import operand_lines

NEEDED: Any = inspect.Parameter.empty


def _bins(low: Any, high: Any, group: int, size: int) -> Any:
    """[regions, group, size]: which rows (or columns) of an image lie in which bin."""
    step = ops.maximum(high - low, 0.1) / group
    at = ops.arange(group).astype(dtypes.float32)
    begin = ops.floor(low.reshape((-1, 1)) + step.reshape((-1, 1)) * at)
    end = ops.ceil(low.reshape((-1, 1)) + step.reshape((-1, 1)) * (at + 1))
    pixel = ops.arange(size).astype(dtypes.float32)
    inside = ops.logical_and(pixel >= begin.expand_dims(-1), pixel < end.expand_dims(-1))
    return inside.astype(dtypes.float32)


def _masks(rois: Any, spatial_scale: float, group: int, height: int, width: int) -> tuple[Any, Any, Any, Any]:
    """(image of each region, masks of rows, masks of columns, 1 / pixels of each bin)."""
    if rois.ndim != 3 or rois.shape[1] != 5:
        raise ShapeError("regions are [batch, 5, count].", operands=operand_lines(rois._type, names=("rois",)))
    flat = rois.astype(dtypes.float32).transpose((0, 2, 1)).reshape((-1, 5))
    low = ops.round(flat[:, 1:3]) * spatial_scale
    high = ops.round(flat[:, 3:5] + 1.0) * spatial_scale
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
    found = ops.einsum("rcijhw,rih,rjw->rcij", own, rows, cols)
    return (found * share.expand_dims(1)).astype(features.dtype)


def _pooled_gradient(
    dy: Any, rois: Any, input_size: Any, spatial_scale: float, group_size: int, output_dim: int
) -> Any:
    height, width = input_size
    image, rows, cols, share = _masks(rois, spatial_scale, group_size, height, width)
    spread = ops.einsum("rcij,rih,rjw->rcijhw", dy.astype(dtypes.float32) * share.expand_dims(1), rows, cols)
    owner = ops.equal(ops.arange(rois.shape[0]).reshape((-1, 1)), image).astype(dtypes.float32)
    total = ops.matmul(owner, spread.reshape((spread.shape[0], -1)))
    return total.reshape((rois.shape[0], output_dim * group_size**2, height, width)).astype(dy.dtype)


_ATTRIBUTES = {"spatial_scale": NEEDED, "group_size": NEEDED, "output_dim": NEEDED}
REGIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "PSROIPooling": (_pooled, _ATTRIBUTES),
    "PSROIPoolingGrad": (_pooled_gradient, {"input_size": NEEDED, **_ATTRIBUTES}),
}
"""Name -> (function of tensors and attributes, attributes with defaults)."""
