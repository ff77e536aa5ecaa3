"""Elements at indices: gathered, scattered, found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, known, operator, tensor
from msnb.onnx.operators.shape_manipulation import plain


def from_start(index: Any, size: int) -> Any:
    """Indices that count from the start: ONNX counts negative ones from the end."""
    index = index if index.dtype.name in ("int32", "int64") else index.astype("int64")
    return ops.where(index < 0, index + size, index)


@operator("Gather")
def gather(x: Any, index: Any, *, axis: int = 0) -> Any:
    """Slices at indices along an axis."""
    if plain(x):
        return np.take(x, known(index), axis)
    x = tensor(x)
    return ops.gather(x, from_start(tensor(index), x.shape[axis]), axis)


@operator("GatherElements")
def gather_elements(x: Tensor, index: Tensor, *, axis: int = 0) -> Any:
    """An element per index along an axis."""
    return ops.gather_d(x, axis, from_start(index, x.shape[axis]))


@operator("GatherND")
def gather_nd(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Any:
    """Slices at rows of indices, batch by batch."""
    sizes = np.array(x.shape[batch_dims : batch_dims + index.shape[-1]], np.int64)
    index = index.astype("int64")
    index = ops.where(index < 0, index + Tensor(sizes), index)
    if not batch_dims:
        return ops.gather_nd(x, index)
    lead = tuple(index.shape[:-1])
    grids = np.meshgrid(*(np.arange(n) for n in lead), indexing="ij")[:batch_dims]
    rows = Tensor(np.stack([g.astype(np.int64) for g in grids], -1))
    return ops.gather_nd(x, ops.concat([rows, index], -1))


def _combined(x: Any, flat_index: Any, updates: Any, reduction: str) -> Any:
    """A flat tensor with updates at flat indices, combined as asked."""
    kinds: dict[str, Callable[..., Any]] = {
        "none": ops.tensor_scatter_update, "add": ops.tensor_scatter_add, "mul": ops.tensor_scatter_mul,
        "max": ops.tensor_scatter_max, "min": ops.tensor_scatter_min,
    }  # fmt: skip
    if reduction not in kinds:
        raise AttributeValueError(f"reduction is one of {', '.join(kinds)}, got {reduction!r}.")
    return kinds[reduction](x, ops.expand_dims(flat_index, -1), updates)


@operator("Scatter", "ScatterElements")
def scatter_elements(x: Tensor, index: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Any:
    """Elements put at indices along an axis."""
    axis %= x.ndim
    index = from_start(index, x.shape[axis])
    strides = [int(np.prod(x.shape[i + 1 :])) for i in range(x.ndim)]
    base = np.zeros(tuple(index.shape), np.int64)
    for i, n in enumerate(index.shape):
        if i != axis:
            base = base + (np.arange(n) * strides[i]).reshape([-1 if j == i else 1 for j in range(x.ndim)])
    flat = ops.reshape(index.astype("int64") * strides[axis] + Tensor(base), (-1,))
    done = _combined(ops.reshape(x, (-1,)), flat, ops.reshape(updates, (-1,)), reduction)
    return ops.reshape(done, x.shape)


@operator("ScatterND")
def scatter_nd(x: Tensor, index: Tensor, updates: Tensor, *, reduction: str = "none") -> Any:
    """Slices put at rows of indices."""
    depth = index.shape[-1]
    sizes = x.shape[:depth]
    strides = np.array([int(np.prod(sizes[i + 1 :])) for i in range(depth)], np.int64)
    index = index.astype("int64")
    index = ops.where(index < 0, index + Tensor(np.array(sizes, np.int64)), index)
    rows = ops.reshape(ops.sum(index * Tensor(strides), -1, dtype=index.dtype), (-1,))
    rest = x.shape[depth:]
    flat = ops.reshape(x, (int(np.prod(sizes)), *rest))
    done = _combined(flat, rows, ops.reshape(updates, (rows.shape[0], *rest)), reduction)
    return ops.reshape(done, x.shape)


@operator("TensorScatter")
def tensor_scatter(cache: Tensor, update: Tensor, places: Tensor | None = None, *, axis: int = -2,
                   mode: str = "linear") -> Any:  # fmt: skip
    """A cache with rows written at a position per batch entry, around its end if circular."""
    axis %= cache.ndim
    batch, length, count = cache.shape[0], cache.shape[axis], update.shape[axis]
    first = Tensor(np.zeros(batch, np.int64)) if places is None else places.astype("int64")
    shape = [1] * cache.ndim
    shape[0] = batch
    start = ops.reshape(first, tuple(shape))
    shape[0], shape[axis] = 1, length
    row = Tensor(np.arange(length).reshape(shape))
    offset = row - start
    if mode == "circular":
        offset = ops.floor_mod(offset, length)
    taken = ops.broadcast_to(ops.clamp(offset, 0, count - 1), cache.shape)
    inside = ops.logical_and(offset >= 0, offset < count)
    return ops.where(inside, ops.gather_d(update, axis, taken), cache)


@operator("OneHot")
def one_hot(index: Tensor, depth: Known, values: Tensor, *, axis: int = -1) -> Any:
    """A value at the index, another elsewhere."""
    size = int(depth.reshape(-1)[0])
    index = index.astype("int64")
    index = ops.where(index < 0, index + size, index)
    axis = axis % (index.ndim + 1)
    shape = [1] * (index.ndim + 1)
    shape[axis] = size
    hit = ops.equal(ops.expand_dims(index, axis), Tensor(np.arange(size).reshape(shape)))
    return ops.where(hit, values[1], values[0])


@operator("NonZero")
def nonzero(x: Tensor) -> Any:
    """The indices of elements that are not zero, a row per axis."""
    return ops.transpose(ops.nonzero(x), (1, 0)).astype("int64")


@operator("Compress")
def compress(x: Tensor, condition: Known, *, axis: int | None = None) -> Any:
    """The slices where the condition holds."""
    places = Tensor(np.flatnonzero(condition.reshape(-1)).astype(np.int64))
    return ops.gather(ops.reshape(x, (-1,)) if axis is None else x, places, axis or 0)


@operator("Unique")
def unique(x: Known, *, axis: int | None = None, sorted: int = 1, results: int = 1) -> Any:
    """Different elements (or slices), where each is first, which of them each is, and how often."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        rank = np.argsort(order)
        values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
        inverse = rank[inverse]
    return (values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64))[:results]


@operator("ReverseSequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """The first elements of each row, backwards."""
    return ops.reverse_sequence(x, lengths.astype("int64"), time_axis, batch_axis)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(x: Tensor, index: Tensor) -> Any:
    """Columns."""
    return ops.gather(x, ops.reshape(index, (-1,)), x.ndim - 1)


@operator("NonMaxSuppression")
def non_max_suppression(boxes: Known, scores: Known, most: Known | None = None, overlap: Known | None = None,
                        least: Known | None = None, *, center_point_box: int = 0) -> Any:  # fmt: skip
    """Boxes that no better box of the class overlaps: rows of (batch, class, box)."""
    limit = int(most.reshape(-1)[0]) if most is not None else 0
    threshold = float(overlap.reshape(-1)[0]) if overlap is not None else 0.0
    lowest = float(least.reshape(-1)[0]) if least is not None else -np.inf
    corners = _corners(boxes, center_point_box)
    rows = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _kept(corners[batch], scores[batch, kind], limit, threshold, lowest)
    ]
    return np.array(rows, np.int64).reshape(-1, 3)


def _corners(boxes: Any, centred: int) -> Any:
    if centred:
        x, y, w, h = (boxes[..., i] for i in range(4))
        return np.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], -1)
    a, b = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], -1)


def _kept(boxes: Any, scores: Any, limit: int, threshold: float, lowest: float) -> list[int]:
    found: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(found) == limit or not scores[i] > lowest:
            break
        if all(_overlap(boxes[i], boxes[j]) <= threshold for j in found):
            found.append(int(i))
    return found


def _overlap(a: Any, b: Any) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = float(np.prod(sides))
    whole = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - common
    return common / whole if whole > 0 else 0.0
