"""Regions of images as small images of one size: values between pixels, at places that the data say.

    crop_and_resize   images [b, h, w, c], boxes [n, 4]     ->  [n, rows, columns, c]
    roi_align         features [b, c, h, w], rois [n, 5]    ->  [n, c, rows, columns]

The places of a region are a grid: rows times columns. Each value is blended from the four pixels around its place,
which are read as rows of one long table [b * h * w, c].

Source: He et al. 2017 (arXiv:1703.06870); the pages named at each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import dtypes
from msnb.ops.definition import as_tensor, need_float, operand_lines
from msnb.ops.elementwise import arithmetic, where
from msnb.ops.indexing.gather import GATHER
from msnb.ops.math.clip_norm_interpolate import clip
from msnb.ops.reduction.functional import mean
from msnb.ops.shape import expand_dims, reshape, transpose, unstack
from msnb.ops.spatial.bounding_boxes import rows_of, wide
from msnb.ops.spatial.unfold import need_images

__all__ = ["crop_and_resize", "roi_align"]


def _within(at: Any, low: float, high: float) -> Any:
    return (at >= low) & (at <= high)


def _on_grid(rows: Any, columns: Any) -> Any:
    """[n, rows] and [n, columns], both booleans -> [n, rows, columns, 1]."""
    return expand_dims(expand_dims(rows, 2) & expand_dims(columns, 1), 3)


def _read(x: Any, image: Any, row: Any, column: Any) -> Any:
    """Pixels [n, rows, columns, c] of x [b, h, w, c] at whole places [n, rows] and [n, columns] of the images [n]."""
    b, h, w, c = x.shape
    first = image.astype(dtypes.int64) * (h * w)
    line = expand_dims(first, 1) + row.astype(dtypes.int64) * w
    at = expand_dims(line, 2) + expand_dims(column.astype(dtypes.int64), 1)
    return GATHER(reshape(x, (b * h * w, c)), at, axis=0)


def _blended(x: Any, image: Any, row: Any, column: Any) -> Any:
    """Values [n, rows, columns, c] of x [b, h, w, c] at places between its pixels."""
    ends = []
    for at, size in ((row, x.shape[1]), (column, x.shape[2])):
        low = arithmetic.floor(at)
        part = at - low
        ends.append(((low, 1 - part), (arithmetic.minimum(low + 1, size - 1), part)))
    out = None
    for line, weight_line in ends[0]:
        for place, weight_place in ends[1]:
            weight = expand_dims(expand_dims(weight_line, 2) * expand_dims(weight_place, 1), 3)
            one = _read(x, image, line, place) * weight
            out = one if out is None else out + one
    return out


# ---- crops ----


def _stretched(start: Any, end: Any, size: int, out: int) -> Any:
    """Places [n, out] from start to end (0 and 1 are the first and the last pixel); one alone lies in the middle."""
    steps = as_tensor(np.arange(out, dtype=np.float32) if out > 1 else np.array([0.5], np.float32))
    step = (end - start) * (size - 1) / max(out - 1, 1)  # in MindSpore's order, which "nearest" shows
    return expand_dims(start * (size - 1), 1) + expand_dims(step, 1) * steps


def _middles(start: Any, end: Any, size: int, out: int) -> Any:
    """Places [n, out]: the middles of equal parts of the pixels between two ends, within them and the image."""
    first, last = (arithmetic.trunc(v * size) for v in (start, end))
    last = arithmetic.maximum(first, last)
    at = _sampled(first, last + 1, out, 1) - 0.5
    return clip(arithmetic.minimum(arithmetic.maximum(at, expand_dims(first, 1)), expand_dims(last, 1)), 0, size - 1)


def crop_and_resize(image: Any, boxes: Any, box_indices: Any, crop_size: Sequence[int], method: str = "bilinear",
                    extrapolation_value: float = 0.0) -> Any:  # fmt: skip
    """Parts of images, each made as large as ``crop_size``.

    Args:
        image: [b, height, width, c].
        boxes: [n, 4], float: y1, x1, y2, x2 of each part; 0 and 1 are the first and the last pixel. With y1 > y2 the
            part is upside down.
        box_indices: integers [n]: which image each box cuts (negative ones count from the back).
        crop_size: (rows, columns) of the results.
        method: "bilinear"; "nearest" (of two pixels as near, the one behind); "bilinear_v2", which cuts whole pixels
            and stretches them from border to border.
        extrapolation_value: what lies outside of the image.

    Returns:
        [n, rows, columns, c] in float32.

    Raises:
        ShapeError: other shapes. DTypeError: other dtypes. AttributeValueError: another method or size.
        IndexOutOfRange: a box for an image that is not there.

    Source: `mindspore.ops.crop_and_resize`

    Examples:
        >>> import msnb as ms
        >>> image = ms.Tensor([[[[1.0], [2.0], [3.0]]]])
        >>> box = ms.Tensor([[0.0, 0.0, 1.0, 0.5]])
        >>> ms.ops.crop_and_resize(image, box, ms.Tensor([0]), (1, 3)).flatten().tolist()
        [1.0, 1.5, 2.0]
    """
    name = "crop_and_resize"
    t, at = as_tensor(image), as_tensor(box_indices)
    (corners,) = rows_of(name, 4, boxes=boxes)
    _need_crops(name, t, corners, at, method, crop_size)
    h, w = t.shape[1:3]
    y1, x1, y2, x2 = unstack(wide(corners), -1)
    pixels = t.astype(dtypes.float32)
    if method == "bilinear_v2":
        return _blended(pixels, at, _middles(y1, y2, h, crop_size[0]), _middles(x1, x2, w, crop_size[1]))
    row, column = _stretched(y1, y2, h, crop_size[0]), _stretched(x1, x2, w, crop_size[1])
    inside = _on_grid(_within(row, 0, h - 1), _within(column, 0, w - 1))
    row, column = clip(row, 0, h - 1), clip(column, 0, w - 1)
    if method == "nearest":
        found = _read(pixels, at, arithmetic.floor(row + 0.5), arithmetic.floor(column + 0.5))
    else:
        found = _blended(pixels, at, row, column)
    return where(inside, found, extrapolation_value).astype(dtypes.float32)


def _need_crops(name: str, t: Any, corners: Any, at: Any, method: str, crop_size: Any) -> None:
    # all checks before the first op: a wrong call leaves nothing in a graph
    if t.ndim != 4 or at.ndim != 1 or at.shape[0] != corners.shape[0]:
        raise ShapeError(f"{name} takes images [b, height, width, c] and an index for each box.",
                         operands=operand_lines(t._type, corners._type, at._type,
                                                names=("image", "boxes", "box_indices")))  # fmt: skip
    if not at.dtype.is_int:
        raise DTypeError(f"{name}: box_indices are integers.", operands=operand_lines(at._type, names=("box_indices",)))
    if method not in ("bilinear", "nearest", "bilinear_v2"):
        raise AttributeValueError(f"{name}: method={method!r} is not legal: 'bilinear', 'nearest', 'bilinear_v2'.")
    if not isinstance(crop_size, (tuple, list)) or len(crop_size) != 2 or min(crop_size) < 1:
        raise AttributeValueError(f"{name}: crop_size is (rows, columns), both at least 1; got {crop_size!r}.")


# ---- regions of features ----


def _sampled(start: Any, end: Any, bins: int, samples: int) -> Any:
    """Places [n, bins * samples]: the middles of as many equal parts of each line from start to end."""
    parts = as_tensor(((np.arange(bins * samples) + 0.5) / (bins * samples)).astype(np.float32))
    return expand_dims(start, 1) + expand_dims(end - start, 1) * parts


def _need_counts(**given: Any) -> None:
    for said, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise AttributeValueError(f"roi_align: {said} is an int from 1 on, got {value!r}.")


def roi_align(features: Any, rois: Any, pooled_height: int, pooled_width: int, spatial_scale: float,
              sample_num: int = 2, roi_end_mode: int = 1) -> Any:  # fmt: skip
    """Regions of feature maps in one size, without rounding their corners to pixels.

    Each region is cut into pooled_height x pooled_width bins; a bin's value is the mean of sample_num x sample_num
    values between the pixels. A place more than one pixel outside of the map counts 0, one nearer the border's value.

    Args:
        features: [b, c, height, width], float.
        rois: [n, 5], float: the image's number and x0, y0, x1, y1 of the region in it.
        pooled_height: how many rows of bins.
        pooled_width: how many columns of bins.
        spatial_scale: the size of the map over the size of the image.
        sample_num: how many values per bin and axis. (MindSpore's 0, a count by the region's size, is not legal here:
            every region is read at equally many places.)
        roi_end_mode: 1: the pixel at x1, y1 belongs to the region; 0: it does not, and no region is smaller than 1.

    Returns:
        [n, c, pooled_height, pooled_width] in the dtype of features.

    Raises:
        ShapeError: other shapes. DTypeError: integers. AttributeValueError: other counts or modes.

    Source: `mindspore.ops.ROIAlign`

    Examples:
        >>> import msnb as ms
        >>> features = ms.ops.arange(16.0).reshape(1, 1, 4, 4)
        >>> ms.ops.roi_align(features, ms.Tensor([[0.0, 0.0, 0.0, 1.0, 1.0]]), 1, 2, 1.0).tolist()
        [[[[4.5, 5.5]]]]
    """
    _need_counts(pooled_height=pooled_height, pooled_width=pooled_width, sample_num=sample_num)
    if roi_end_mode not in (0, 1):
        raise AttributeValueError(f"roi_align: roi_end_mode={roi_end_mode!r} is not legal; legal: 0, 1.")
    t = need_images("roi_align", features)
    need_float("roi_align", t._type)
    (regions,) = rows_of("roi_align", 5, rois=rois)
    h, w = t.shape[2:]
    image, *sides = unstack(wide(regions), -1)
    x0, y0, x1, y1 = (side * spatial_scale for side in sides)
    if roi_end_mode:
        x1, y1 = x1 + spatial_scale, y1 + spatial_scale
    else:
        x1, y1 = arithmetic.maximum(x1, x0 + 1), arithmetic.maximum(y1, y0 + 1)
    row, column = _sampled(y0, y1, pooled_height, sample_num), _sampled(x0, x1, pooled_width, sample_num)
    near = _on_grid(_within(row, -1, h), _within(column, -1, w))
    pixels = transpose(t, (0, 2, 3, 1))
    found = where(near, _blended(pixels, image, clip(row, 0, h - 1), clip(column, 0, w - 1)), 0.0)
    bins = reshape(found, (found.shape[0], pooled_height, sample_num, pooled_width, sample_num, t.shape[1]))
    return transpose(mean(bins, (2, 4)), (0, 3, 1, 2)).astype(t.dtype)
