"""Convolution whose windows bend: each element of a window is read beside its place, and weighted.

    deformable_offsets   [n, c, h, w] -> [n, c, rows * kh, columns * kw], the bent windows side by side
    deformable_conv2d    a convolution of these, from window to window

``offsets`` lie as (along x, along y, weight) x group x kh x kw. Between pixels the four around a place are blended;
outside of the image all is 0.

Source: Zhu et al. 2019, "Deformable ConvNets v2" (arXiv:1811.11168).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise import floor, where
from msnb.ops.indexing.gather import gather_elements
from msnb.ops.shape.views import broadcast_to, expand_dims, reshape, transpose
from msnb.ops.spatial.convolution import conv2d

__all__ = ["deformable_conv2d"]


def deformable_conv2d(
    x: Any, weight: Any, offsets: Any, kernel_size: Sequence[int], strides: Sequence[int], padding: Sequence[int],
    bias: Any = None, dilations: Sequence[int] = (1, 1, 1, 1), groups: int = 1, deformable_groups: int = 1,
    modulated: bool = True,
) -> Any:  # fmt: skip
    """Convolution whose windows bend by ``offsets``.

    Args:
        x: [n, c, h, w], float16 or float32.
        weight: [out channels, c / groups, kh, kw].
        offsets: [n, 3 * deformable_groups * kh * kw, rows, columns]: along x, along y, and a weight (a mask).
        kernel_size: (kh, kw).
        strides, dilations: (1, 1, along y, along x).
        padding: (top, bottom, left, right).
        bias: [out channels], or None.
        groups: of the convolution.
        deformable_groups: of channels that share offsets.
        modulated: True.

    Returns:
        [n, out channels, rows, columns].

    Raises:
        ShapeError: shapes that do not fit. ValueError: attributes that are not legal.

    Source: `mindspore.ops.deformable_conv2d`

    Examples:
        >>> import msnb as ms
        >>> x, still = ms.ops.ones((1, 1, 3, 3)), ms.ops.zeros((1, 8, 2, 2))
        >>> offsets = ms.ops.concat((still, ms.ops.ones((1, 4, 2, 2))), 1)
        >>> ms.ops.deformable_conv2d(x, ms.ops.ones((1, 1, 2, 2)), offsets, (2, 2), (1,) * 4, (0,) * 4).tolist()
        [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    if modulated is not True:
        raise AttributeValueError("deformable_conv2d: modulated must be True.")
    bent = deformable_offsets(x, offsets, strides, padding, kernel_size, dilations, deformable_groups)
    return conv2d(bent, weight, bias, tuple(kernel_size), "valid", 0, 1, groups)


def deformable_offsets(
    x: Any, offsets: Any, strides: Sequence[int], pads: Sequence[int], kernel: Sequence[int],
    dilations: Sequence[int] = (1, 1, 1, 1), groups: int = 1,
) -> Any:  # fmt: skip
    """The bent windows of ``deformable_conv2d`` side by side, [n, c, rows * kh, columns * kw]."""
    t, o = as_tensor(x), as_tensor(offsets)
    _legal(strides, pads, kernel, dilations, groups)
    rows, columns = _need_shapes(t, o, strides, pads, kernel, dilations, groups)
    (n, c, height, width), (kh, kw) = t.shape, kernel
    at_y = np.arange(rows)[:, None] * strides[2] + np.arange(kh)[:, None, None, None] * dilations[2] - pads[0]
    at_x = np.arange(columns) * strides[3] + np.arange(kw)[:, None, None] * dilations[3] - pads[2]
    parts = reshape(o, (n, 3, groups, kh, kw, rows, columns))
    y, z = (reshape(parts[:, i] + Tensor(at, o.dtype), (n, groups, 1, -1)) for i, at in ((1, at_y), (0, at_x)))
    image = reshape(t, (n, groups, c // groups, height * width))
    found = _between(image, y, z, height, width)
    found = reshape(found, (n, groups, c // groups, kh, kw, rows, columns)) * expand_dims(parts[:, 2], 2)
    return reshape(transpose(found, (0, 1, 2, 5, 3, 6, 4)), (n, c, rows * kh, columns * kw))


def _between(image: Any, y: Any, x: Any, height: int, width: int) -> Any:
    """[n, groups, channels, places]: values of ``image`` at places [n, groups, 1, places] between its pixels."""
    top, left = floor(y), floor(x)
    found: Any = 0.0
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = where(inside, row, 0).astype(dtypes.int64) * width + where(inside, column, 0).astype(dtypes.int64)
            pixel = gather_elements(image, 3, broadcast_to(place, (*image.shape[:3], place.shape[3])))
            share = (y - top if down else 1 - (y - top)) * (x - left if right else 1 - (x - left))
            found = found + where(inside, pixel, 0.0) * share
    return found


def _legal(
    strides: Sequence[int], pads: Sequence[int], kernel: Sequence[int], dilations: Sequence[int], groups: int
) -> None:
    parts = {"strides": strides, "pads": pads, "ksize": kernel, "dilations": dilations}
    for what, given in parts.items():
        count = 2 if what == "ksize" else 4
        if len(given) != count or not all(isinstance(v, int) for v in given):
            raise AttributeValueError(f"DeformableOffsets: {what} are {count} ints, got {given!r}.")
        if what in ("strides", "dilations") and tuple(given[:2]) != (1, 1):
            raise AttributeValueError(f"DeformableOffsets: {what} of images and channels are 1, got {given!r}.")
    if not isinstance(groups, int) or groups < 1:
        raise AttributeValueError(f"DeformableOffsets: deformable_groups is an int from 1, got {groups!r}.")


def _need_shapes(
    x: Any, offsets: Any, strides: Sequence[int], pads: Sequence[int], kernel: Sequence[int],
    dilations: Sequence[int], groups: int,
) -> tuple[int, int]:  # fmt: skip
    """(rows, columns) of windows."""
    lines = operand_lines(x._type, offsets._type, names=("x", "offsets"))
    if x.ndim != 4 or offsets.ndim != 4 or x.shape[1] % groups:
        raise ShapeError(f"DeformableOffsets takes four axes, channels in {groups} equal groups.", operands=lines)
    rows, columns = (
        (x.shape[2 + i] + pads[2 * i] + pads[2 * i + 1] - dilations[2 + i] * (kernel[i] - 1) - 1) // strides[2 + i] + 1
        for i in (0, 1)
    )
    wanted = (x.shape[0], 3 * groups * kernel[0] * kernel[1], rows, columns)
    if tuple(offsets.shape) != wanted:
        raise ShapeError(f"DeformableOffsets: offsets must have shape {list(wanted)}.", operands=lines)
    return rows, columns
