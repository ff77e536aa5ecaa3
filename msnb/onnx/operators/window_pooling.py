"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, known, operator
from msnb.onnx.pooling_windows import WindowGeometry, counts, geometry, windows


def _kernel_axes(ndim: int) -> tuple[int, ...]:
    return tuple(range(3, 2 * ndim - 2, 2))


def _is_plain(x: Any, found: WindowGeometry) -> bool:
    """Whether the library's pooling of images has these windows."""
    return (
        x.ndim == 4
        and x.dtype.is_float
        and set(found.dilations) == {1}
        and all(p < k for p, k in zip((*found.before, *found.after), found.kernel * 2))
    )


def _edges(found: WindowGeometry) -> tuple[int, int, int, int]:
    return found.before[0], found.after[0], found.before[1], found.after[1]


@operator("MaxPool")
def max_pool(x: Tensor, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
             pads: Any = None, storage_order: int = 0, strides: Any = None, results: int = 1) -> Any:  # fmt: skip
    """The largest value of each window, and its place in the tensor."""
    space = tuple(x.shape[2:])
    found = geometry(space, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if results == 1 and not ceil_mode and _is_plain(x, found):
        return ops.max_pool2d(x, found.kernel, found.strides, "pad", _edges(found))
    low = np.iinfo(x.dtype.numpy).min if x.dtype.numpy.kind in "iu" else -np.inf
    spread = windows(x, found, low)
    best = ops.amax(spread, _kernel_axes(x.ndim))
    return best if results == 1 else (best, _places(x, spread, found, storage_order))


def _places(x: Any, spread: Any, found: WindowGeometry, column_major: int) -> Any:
    """The flat place of each window's first maximum."""
    axes, n, c = len(found.kernel), x.shape[0], x.shape[1]
    order = (0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 3 + 2 * axes, 2))
    rows = ops.reshape(ops.transpose(spread, order), (n, c, *found.sizes, -1))
    place = np.zeros((*found.sizes, *found.kernel), np.int64)
    space = x.shape[2:]
    strides = [int(np.prod(space[:i] if column_major else space[i + 1 :])) for i in range(axes)]
    for axis in range(axes):
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = found.sizes[axis], found.kernel[axis]
        place = place + found.places(axis).reshape(shape) * strides[axis]
    table = Tensor(np.broadcast_to(place.reshape(*found.sizes, -1), rows.shape).copy())
    first = ops.expand_dims(ops.argmax(rows, -1).astype("int64"), -1)
    inner = ops.squeeze(ops.gather_d(table, rows.ndim - 1, first), -1)
    plane = Tensor((np.arange(n * c) * int(np.prod(space))).reshape(n, c, *(1,) * axes))
    return inner + plane


@operator("AveragePool")
def average_pool(x: Tensor, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
                 count_include_pad: int = 0, pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """The mean of each window."""
    space = tuple(x.shape[2:])
    found = geometry(space, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if not ceil_mode and _is_plain(x, found):
        return ops.avg_pool2d(x, found.kernel, found.strides, "pad", _edges(found),
                              count_include_pad=bool(count_include_pad))  # fmt: skip
    total = ops.sum(windows(x, found, 0), _kernel_axes(x.ndim))
    number = counts(space, found, bool(count_include_pad)).astype(x.dtype.numpy)
    return total / Tensor(number)


@operator("LpPool")
def lp_pool(x: Tensor, *, kernel_shape: Any, p: int = 2, auto_pad: str = "NOTSET", ceil_mode: int = 0,
            dilations: Any = None, pads: Any = None, strides: Any = None) -> Any:  # fmt: skip
    """The p-norm of each window."""
    found = geometry(tuple(x.shape[2:]), kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = ops.sum(ops.pow(ops.abs(windows(x, found, 0)), float(p)), _kernel_axes(x.ndim))
    return ops.pow(total, 1.0 / p)


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Any:
    """The mean over all places."""
    return ops.mean(x, tuple(range(2, x.ndim)), True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Any:
    """The maximum over all places."""
    return ops.amax(x, tuple(range(2, x.ndim)), True)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: int = 2) -> Any:
    """The p-norm over all places."""
    return ops.pow(ops.sum(ops.pow(ops.abs(x), float(p)), tuple(range(2, x.ndim)), True), 1.0 / p)


@operator("MaxUnpool")
def max_unpool(x: Tensor, places: Tensor, shape: Known | None = None, *, kernel_shape: Any, pads: Any = None,
               strides: Any = None) -> Any:  # fmt: skip
    """The maxima at their places, zeros elsewhere."""
    axes = x.ndim - 2
    steps, widths = strides or [1] * axes, pads or [0] * (2 * axes)
    space = [(x.shape[2 + i] - 1) * steps[i] + kernel_shape[i] - widths[i] - widths[axes + i] for i in range(axes)]
    natural = (*x.shape[:2], *space)
    wanted = natural if shape is None else tuple(int(n) for n in shape)
    if wanted != natural:  # indices are of the natural size
        flat = places.astype("int64")
        parts = []
        for n in reversed(natural):
            parts.append(ops.floor_mod(flat, n))
            flat = ops.floor_divide(flat, n)
        total = parts[-1]
        for n, part in zip(wanted[1:], reversed(parts[:-1])):
            total = total * n + part
        places = total
    size = int(np.prod(wanted))
    zeros = ops.zeros((size,), dtype=x.dtype)
    rows = ops.reshape(places.astype("int64"), (-1, 1))
    return ops.reshape(ops.tensor_scatter_update(zeros, rows, ops.reshape(x, (-1,))), wanted)


@operator("MaxRoiPool")
def max_roi_pool(x: Tensor, rois: Known, *, pooled_shape: Any, spatial_scale: float = 1.0) -> Any:
    """The maxima of a grid of cells over each region."""
    found = []
    for batch, *corners in rois.tolist():
        x0, y0, x1, y1 = (round(v * spatial_scale) for v in corners)
        cells = []
        for i in range(pooled_shape[0]):
            top, bottom = _cell(y0, y1, i, pooled_shape[0], x.shape[2])
            for j in range(pooled_shape[1]):
                left, right = _cell(x0, x1, j, pooled_shape[1], x.shape[3])
                part = x[int(batch), :, top:bottom, left:right]
                cells.append(ops.amax(part, (1, 2)) if part.size else ops.zeros((x.shape[1],), dtype=x.dtype))
        found.append(ops.reshape(ops.stack(cells, -1), (x.shape[1], *pooled_shape)))
    return ops.stack(found, 0)


def _cell(first: int, last: int, i: int, count: int, size: int) -> tuple[int, int]:
    length = max(last - first + 1, 1) / count
    low, high = first + int(np.floor(i * length)), first + int(np.ceil((i + 1) * length))
    return min(max(low, 0), size), min(max(high, 0), size)


@operator("RoiAlign")
def roi_align(x: Tensor, rois: Tensor, batch: Tensor, *, coordinate_transformation_mode: str = "half_pixel",
              mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
              spatial_scale: float = 1.0, opset: int = 16) -> Any:  # fmt: skip
    """A grid of bilinear samples over each region, averaged or maximal per cell."""
    half = 0.5 if coordinate_transformation_mode == "half_pixel" and opset >= 16 else 0.0
    corners, owners = known(rois) * spatial_scale - half, known(batch)
    found = []
    for (x0, y0, x1, y1), owner in zip(corners.tolist(), owners.tolist()):
        wide, high = x1 - x0, y1 - y0
        if not half:
            wide, high = max(wide, 1.0), max(high, 1.0)
        across = sampling_ratio or int(np.ceil(wide / output_width))
        down = sampling_ratio or int(np.ceil(high / output_height))
        rows = _samples(y0, high, output_height, down, x.shape[2])
        columns = _samples(x0, wide, output_width, across, x.shape[3])
        found.append(_aligned(x[int(owner)], rows, columns, (output_height, down, output_width, across), mode))
    return ops.stack(found, 0)


def _samples(first: float, length: float, cells: int, per_cell: int, size: int) -> tuple[Any, ...]:
    """Two neighbours and their weights for each sample along an axis."""
    place = first + (np.arange(cells * per_cell) + 0.5) * length / (cells * per_cell)
    outside = (place < -1) | (place > size)
    place = np.maximum(place, 0)
    low = np.minimum(np.floor(place).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = np.where(low >= size - 1, 0.0, place - low)
    return low, high, np.where(outside, 0, 1 - share), np.where(outside, 0, share)


def _aligned(x: Any, rows: Any, columns: Any, cells: tuple[int, int, int, int], mode: str) -> Any:
    parts = []
    for r, rw in ((rows[0], rows[2]), (rows[1], rows[3])):
        for c, cw in ((columns[0], columns[2]), (columns[1], columns[3])):
            taken = ops.gather(ops.gather(x, Tensor(r), 1), Tensor(c), 2)
            parts.append(taken * Tensor(np.outer(rw, cw).astype(x.dtype.numpy)))
    h, down, w, across = cells
    shape = (x.shape[0], h, down, w, across)
    if mode == "max":
        best = parts[0]
        for part in parts[1:]:
            best = ops.maximum(best, part)
        return ops.amax(ops.reshape(best, shape), (2, 4))
    return ops.mean(ops.reshape(parts[0] + parts[1] + parts[2] + parts[3], shape), (2, 4))
