"""Convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, operator
from msnb.onnx.operators.shape_manipulation import ints, padded
from msnb.onnx.pooling_windows import WindowGeometry, geometry


def with_bias(y: Any, bias: Any) -> Any:
    """y plus a number per channel."""
    return y if bias is None else y + ops.reshape(bias, (-1, *(1,) * (y.ndim - 2)))


@operator("Conv")
def conv(x: Tensor, w: Tensor, b: Tensor | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
         group: int = 1, kernel_shape: Any = None, pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """A convolution over one, two or three axes."""
    found = geometry(tuple(x.shape[2:]), tuple(w.shape[2:]), strides, dilations, pads, auto_pad)
    return slide(x, w, b, found, group)


def slide(x: Any, w: Any, b: Any, found: WindowGeometry, group: int) -> Any:
    """A convolution by these windows."""
    if x.ndim == 4:
        edges = (found.before[0], found.after[0], found.before[1], found.after[1])
        return ops.conv2d(x, w, b, found.strides, "pad", edges, found.dilations, group)
    if x.ndim == 3:
        edges1 = (found.before[0], found.after[0])
        return ops.conv1d(x, w, b, found.strides[0], "pad", edges1, found.dilations[0], group)
    if x.ndim != 5:
        raise AttributeValueError(f"Conv: one to three spatial axes, got {x.ndim - 2}.")
    wide = padded(x, [0, 0, *found.before], [0, 0, *found.after], "constant", 0)
    return with_bias(ops.conv3d(wide, w, None, found.strides, "valid", 0, found.dilations, group), b)


def _spread(x: Any, strides: Any) -> Any:
    """x with ``stride - 1`` zeros between its elements along each spatial axis."""
    for axis, step in enumerate(strides, 2):
        if step == 1:
            continue
        n = x.shape[axis]
        parts = ops.expand_dims(x, axis + 1)
        filled = padded(parts, [0] * parts.ndim, [step - 1 if i == axis + 1 else 0 for i in range(parts.ndim)],
                        "constant", 0)  # fmt: skip
        shape = (*x.shape[:axis], n * step, *x.shape[axis + 1 :])
        cut = [slice(None)] * x.ndim
        cut[axis] = slice(0, (n - 1) * step + 1)
        x = ops.reshape(filled, shape)[tuple(cut)]
    return x


def _swapped(w: Any, group: int) -> Any:
    """[in, out / group, k...] -> [out, in / group, k...], turned round."""
    n, m, *kernel = w.shape
    parts = ops.reshape(w, (group, n // group, m, *kernel))
    order = (0, 2, 1, *range(3, parts.ndim))
    turned = ops.reshape(ops.transpose(parts, order), (group * m, n // group, *kernel))
    for axis in range(2, 2 + len(kernel)):
        turned = ops.flip(turned, axis)
    return turned


@operator("ConvTranspose")
def conv_transpose(x: Tensor, w: Tensor, b: Tensor | None = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
                   group: int = 1, kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None,
                   pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """The transposed map of a convolution."""
    axes = x.ndim - 2
    steps, gaps = list(strides or [1] * axes), list(dilations or [1] * axes)
    more = list(output_padding or [0] * axes)
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], steps, w.shape[2:], gaps)]
    before, after = _transposed_pads(full, more, steps, list(x.shape[2:]), pads, output_shape, auto_pad)
    if axes == 2 and all(p >= 0 for p in (*before, *after)) and not any(more):
        edges = (before[0], after[0], before[1], after[1])
        return ops.conv_transpose2d(x, w, b, tuple(steps), "pad", edges, 0, tuple(gaps), group)
    reach = [(k - 1) * d for k, d in zip(w.shape[2:], gaps)]
    wide = padded(_spread(x, steps), [0, 0, *reach], [0, 0, *reach], "constant", 0)
    found = geometry(tuple(wide.shape[2:]), tuple(w.shape[2:]), None, gaps, None, "VALID")
    y = slide(wide, _swapped(w, group), None, found, group)
    ends = [m - a for m, a in zip(more, after)]
    return with_bias(padded(y, [0, 0, *(-p for p in before)], [0, 0, *ends], "constant", 0), b)


def _transposed_pads(full: list[int], more: list[int], steps: list[int], space: list[int], pads: Any, shape: Any,
                     auto_pad: str) -> tuple[list[int], list[int]]:  # fmt: skip
    """How much is cut at both ends."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and shape is None:
        shape = [n * s for n, s in zip(space, steps)]
    if shape is None:
        widths = list(pads or [0] * (2 * len(full)))
        return widths[: len(full)], widths[len(full) :]
    total = [n + m - wanted for n, m, wanted in zip(full, more, list(shape)[-len(full) :])]
    small, large = [t // 2 for t in total], [t - t // 2 for t in total]
    return (large, small) if auto_pad != "SAME_UPPER" else (small, large)


@operator("ConvInteger")
def conv_integer(x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None, *,
                 auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None,
                 pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """A convolution of 8-bit integers in 32 bits; float64 holds all its sums exactly."""
    wide = x.astype("float64") - (0.0 if x_zero is None else x_zero.astype("float64"))
    zero = 0.0 if w_zero is None else ops.reshape(w_zero.astype("float64"), (-1, *(1,) * (w.ndim - 1)))
    found = geometry(tuple(x.shape[2:]), tuple(w.shape[2:]), strides, dilations, pads, auto_pad)
    return slide(wide, w.astype("float64") - zero, None, found, group).astype("int32")


@operator("Col2Im")
def col2im(x: Tensor, image: Known, block: Known, *, dilations: Any = None, pads: Any = None,
           strides: Any = None) -> Any:  # fmt: skip
    """Columns of windows added up to images, any number of axes."""
    space, kernel = ints(image), ints(block)
    found = geometry(space, kernel, strides, dilations, pads, "NOTSET")
    n, channels = x.shape[0], x.shape[1] // int(np.prod(kernel))
    place: Any = np.zeros((1, 1), np.int64)
    inside: Any = np.ones((1, 1), bool)
    for axis in range(len(space)):  # [kernel places, windows], row by row
        at = found.places(axis).T
        place = place[:, None, :, None] * space[axis] + at[None, :, None, :]
        inside = inside[:, None, :, None] & ((at >= 0) & (at < space[axis]))[None, :, None, :]
        place, inside = (v.reshape(v.shape[0] * v.shape[1], -1) for v in (place, inside))
    size = int(np.prod(space))
    target = np.where(inside, place, size)  # padding goes to a place that is cut off
    rows = ops.reshape(x, (n * channels, -1))
    empty = ops.zeros((size + 1, n * channels), dtype=x.dtype)
    full = ops.tensor_scatter_add(empty, Tensor(target.reshape(-1, 1)), ops.transpose(rows, (1, 0)))
    return ops.reshape(ops.transpose(full[:size], (1, 0)), (n, channels, *space))


@operator("DeformConv")
def deform_conv(x: Tensor, w: Tensor, offset: Tensor, b: Tensor | None = None, mask: Tensor | None = None, *,
                dilations: Any = None, group: int = 1, kernel_shape: Any = None, offset_group: int = 1,
                pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """A convolution whose windows take their elements at offsets, between the pixels."""
    n, c, h, wide = x.shape
    kh, kw = w.shape[2:]
    found = geometry((h, wide), (kh, kw), strides, dilations, pads, "NOTSET")
    oh, ow = found.sizes
    moves = ops.reshape(offset, (n, offset_group, kh * kw, 2, oh, ow))
    rows = np.broadcast_to(found.places(0).T[:, None, :, None], (kh, kw, oh, ow)).reshape(kh * kw, oh, ow)
    columns = np.broadcast_to(found.places(1).T[None, :, None, :], (kh, kw, oh, ow)).reshape(kh * kw, oh, ow)
    dtype = x.dtype.numpy
    y = moves[:, :, :, 0] + Tensor(rows.astype(dtype))
    z = moves[:, :, :, 1] + Tensor(columns.astype(dtype))
    taken = bilinear(ops.reshape(x, (n, offset_group, c // offset_group, h, wide)), y, z)
    if mask is not None:
        taken = taken * ops.reshape(mask, (n, offset_group, 1, kh * kw, oh, ow))
    parts = ops.reshape(taken, (n, group, c // group * kh * kw, oh * ow))
    weights = ops.reshape(w, (group, w.shape[0] // group, -1))
    return with_bias(ops.reshape(ops.matmul(weights, parts), (n, w.shape[0], oh, ow)), b)


def bilinear(x: Any, y: Any, z: Any) -> Any:
    """x [n, g, c, h, w] at points y, z [n, g, ...], zeros around it: [n, g, c, ...]."""
    n, g, c, h, w = x.shape
    flat = ops.reshape(x, (n, g, c, h * w))
    low_y, low_z = ops.floor(y), ops.floor(z)
    total: Any = None
    for dy in (0, 1):
        for dz in (0, 1):
            at_y, at_z = low_y + dy, low_z + dz
            share = (1 - ops.abs(y - at_y)) * (1 - ops.abs(z - at_z))
            inside = (at_y >= 0) & (at_y < h) & (at_z >= 0) & (at_z < w)
            place = ops.clamp(at_y, 0, h - 1) * w + ops.clamp(at_z, 0, w - 1)
            index = ops.reshape(place.astype("int64"), (n, g, 1, -1))
            taken = ops.gather_d(flat, 3, ops.broadcast_to(index, (n, g, c, index.shape[-1])))
            part = ops.reshape(taken, (n, g, c, *y.shape[2:])) * ops.expand_dims(share * inside.astype(x.dtype), 2)
            total = part if total is None else total + part
    return total
