"""MindSpore's primitives that choose boxes: greedy suppression of what overlaps, and boxes drawn at random.

Boxes are (y0, x0, y1, x1); either corner may be the first. Suppression goes through the boxes by falling scores: a box
stays unless its overlap with a better one that stays is above the threshold.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.ops.primitive.html (Detection Operator)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_size, as_tensor, operand_lines
from msnb.ops.random.draws import drawn_uniform
from msnb.ops.sparse.sparse_tensor import is_known
from msnb.ops.spatial.bounding_boxes import UNSUPPRESSED


def _number(name: str, value: Any) -> int:
    """A count that shapes depend on."""
    count = as_size(name, as_tensor(value).reshape(()))
    if not isinstance(count, int) or count < 0:
        raise AttributeValueError(f"CombinedNonMaxSuppression: {name} is a known number from 0, got {value!r}.")
    return count


def _overlaps(boxes: Any) -> Any:
    """[..., n, 4] -> [..., n, n]: shared area over the area of both; nothing for a box without area."""
    low = ops.minimum(boxes[..., :2], boxes[..., 2:])
    high = ops.maximum(boxes[..., :2], boxes[..., 2:])
    ends, begins = ops.minimum(high.expand_dims(-2), high.expand_dims(-3)), low.expand_dims(-2)
    sides = ops.maximum(ends - ops.maximum(begins, low.expand_dims(-3)), 0)
    shared, area = sides[..., 0] * sides[..., 1], (high - low)[..., 0] * (high - low)[..., 1]
    whole = area.expand_dims(-1) + area.expand_dims(-2) - shared
    return ops.where(whole > 0, shared / ops.where(whole > 0, whole, 1), 0)


def _chosen(overlap: Any, scores: Any, max_output_size: Any, threshold: Any, score_threshold: Any) -> Any:
    """The numbers of the boxes that stay, the best one first."""
    order = ops.argsort(scores, descending=True)
    ranked = ops.gather(ops.gather(overlap, order, 0), order, 1)
    kept = UNSUPPRESSED((ranked > threshold).T)
    kept = ops.logical_and(kept, ops.gather(scores, order, 0) > score_threshold)
    kept = ops.logical_and(kept, ops.cumsum(kept.astype(dtypes.int32), 0) <= max_output_size)
    return ops.masked_select(order.astype(dtypes.int32), kept)


def _need(name: str, boxes: Any, scores: Any, columns: Any) -> None:
    if boxes.ndim != 2 or scores.ndim != 1 or tuple(boxes.shape) != (scores.shape[0], columns):
        what = "overlaps [n, n]" if columns is scores.shape[0] else "boxes [n, 4]"
        raise ShapeError(f"{name} takes {what} and scores [n].", operands=operand_lines(boxes._type, scores._type))


def _with_overlaps(
    overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any, score_threshold: Any
) -> Any:
    name, count = "NonMaxSuppressionWithOverlaps", as_tensor(max_output_size)
    _need(name, overlaps, scores, scores.shape[0])
    if is_known(count) and count.item() < 0:
        raise AttributeValueError(f"{name}: max_output_size is a number from 0, got {count.item()}.")
    return _chosen(overlaps, scores, count, overlap_threshold, score_threshold)


def _suppressed(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, score_threshold: Any) -> Any:
    _need("NonMaxSuppressionV3", boxes, scores, 4)
    return _chosen(_overlaps(boxes), scores, as_tensor(max_output_size), iou_threshold, score_threshold)


def _combined(
    boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: Any,
    score_threshold: Any, pad_per_class: bool, clip_boxes: bool,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """(boxes, scores, classes, how many count) of all classes together, per image; filled up with 0."""
    name, threshold = "CombinedNonMaxSuppression", as_tensor(iou_threshold)
    if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2] or boxes.shape[3] != 4 or (
        boxes.shape[2] not in (1, scores.shape[2])
    ):  # fmt: skip
        raise ShapeError(f"{name} takes boxes [batch, n, 1 or classes, 4] and scores [batch, n, classes].",
                         operands=operand_lines(boxes._type, scores._type))  # fmt: skip
    if is_known(threshold) and not 0 <= threshold.item() <= 1:
        raise AttributeValueError(f"{name}: iou_threshold lies from 0 to 1, got {threshold.item()}.")
    each = _number("max_output_size_per_class", max_output_size_per_class)
    total = _number("max_total_size", max_total_size)
    batch, n, classes = scores.shape
    order = ops.argsort(scores, 1, True).swapaxes(1, 2)  # [batch, classes, n]
    ranked = ops.gather_elements(scores.swapaxes(1, 2), 2, order)
    spread = ops.broadcast_to(boxes.swapaxes(1, 2), (batch, classes, n, 4))
    sorted_boxes = ops.gather_elements(spread, 2, ops.broadcast_to(order.expand_dims(-1), (batch, classes, n, 4)))
    kept = UNSUPPRESSED(_overlaps(sorted_boxes) > threshold)
    kept = ops.logical_and(kept, ranked > score_threshold)
    kept = ops.logical_and(kept, ops.cumsum(kept.astype(dtypes.int32), 2) <= each)
    count = min(total, each * classes) if pad_per_class else total
    flat = ops.where(kept, ranked, float("-inf")).reshape((batch, -1))
    flat = ops.pad(flat, (0, max(0, count - classes * n)), value=float("-inf"))
    best, places = ops.sort(flat, 1, True)
    best, places = best[:, :count], ops.minimum(places[:, :count], classes * n - 1)
    valid = best > float("-inf")
    wide = ops.broadcast_to(places.expand_dims(-1), (batch, count, 4))
    found = ops.gather_elements(sorted_boxes.reshape((batch, -1, 4)), 1, wide)
    found = ops.clip(found, 0.0, 1.0) if clip_boxes else found
    kinds = ops.where(valid, places // n, 0).astype(dtypes.float32)
    found, best = ops.where(valid.expand_dims(-1), found, 0.0), ops.where(valid, best, 0.0)
    return found, best, kinds, valid.astype(dtypes.int32).sum(1).astype(dtypes.int32)


def _candidates(draws: Any, height: Any, width: Any, ratios: Any, areas: Any) -> tuple[Any, ...]:
    """(top, left, rows, columns, legal) of as many boxes as there are draws [4, attempts]."""
    ratio = ratios[0] + draws[0] * (ratios[1] - ratios[0])
    least, most = areas[0] * height * width, areas[1] * height * width
    low, high = ops.round(ops.sqrt(least / ratio)), ops.round(ops.sqrt(most / ratio))
    high = ops.minimum(ops.minimum(high, ops.floor((width + 0.499) / ratio)), height)
    low = ops.minimum(low, high)
    rows = low + ops.floor(draws[1] * (high - low + 1))
    rows = ops.where(rows * ops.round(rows * ratio) < least, rows + 1, rows)
    rows = ops.where(rows * ops.round(rows * ratio) > most, rows - 1, rows)
    columns = ops.round(rows * ratio)
    area = rows * columns
    legal = [area >= least, area <= most, columns <= width, rows <= height, columns > 0, rows > 0]
    inside = legal[0]
    for test in legal[1:]:
        inside = ops.logical_and(inside, test)
    top, left = ops.floor(draws[2] * (height - rows + 1)), ops.floor(draws[3] * (width - columns + 1))
    return top, left, rows, columns, inside


def _distorted(
    image_size: Any, bounding_boxes: Any, min_object_covered: Any, aspect_ratio_range: Any, area_range: Any,
    max_attempts: int, use_image_if_no_bounding_boxes: bool, key: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(begin, size, box) of a random part of an image that covers enough of some box; of the whole one if none does."""
    sizes, boxes = as_tensor(image_size), as_tensor(bounding_boxes).reshape((-1, 4))
    if sizes.ndim != 1 or sizes.shape[0] != 3:
        raise ShapeError("SampleDistortedBoundingBoxV2 takes image_size [3]: height, width and channels.",
                         operands=operand_lines(sizes._type))  # fmt: skip
    if boxes.shape[0] == 0:
        if not use_image_if_no_bounding_boxes:
            raise AttributeValueError("SampleDistortedBoundingBoxV2: there is no bounding box; "
                                      "use_image_if_no_bounding_boxes=True takes the whole image for one.")  # fmt: skip
        boxes = Tensor([[0.0, 0.0, 1.0, 1.0]])
    height, width = sizes[0].astype(dtypes.float32), sizes[1].astype(dtypes.float32)
    top, left, rows, columns, legal = _candidates(
        drawn_uniform((4, max_attempts), key), height, width, aspect_ratio_range, area_range
    )
    scale = ops.stack([height, width, height, width])
    y0, x0, y1, x1 = (side.reshape((-1, 1)) for side in ops.unstack(ops.trunc(boxes * scale), -1))
    down = ops.maximum(ops.minimum(top + rows, y1) - ops.maximum(top, y0), 0)
    across = ops.maximum(ops.minimum(left + columns, x1) - ops.maximum(left, x0), 0)
    area = (y1 - y0) * (x1 - x0)
    least = as_tensor(min_object_covered).reshape(())
    covered = ops.logical_and(area > 0, down * across / ops.maximum(area, 1) >= least)
    good = ops.logical_and(legal, covered.any(0))
    first = ops.argmax(good.astype(dtypes.int32), 0)
    whole = (0.0, 0.0, height, width)
    y, x, h, w = (ops.where(good.any(), side[first], all_) for side, all_ in zip((top, left, rows, columns), whole))
    kind = sizes.dtype
    last = Tensor(255 if kind is dtypes.uint8 else -1).astype(kind)
    begin = ops.stack([y.astype(kind), x.astype(kind), (last * 0).astype(kind)])
    size = ops.stack([h.astype(kind), w.astype(kind), last])
    return begin, size, (ops.stack([y, x, y + h, x + w]) / scale).reshape((1, 1, 4))


BOXES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "CombinedNonMaxSuppression": (_combined, {"pad_per_class": False, "clip_boxes": True}),
    "NonMaxSuppressionWithOverlaps": (_with_overlaps, {}),
    "NonMaxSuppressionV3": (_suppressed, {}),
}
"""Name -> (function of tensors and attributes, attributes with defaults)."""
DRAWN_BOXES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "SampleDistortedBoundingBoxV2": (_distorted, {
        "seed": 0, "seed2": 0, "aspect_ratio_range": (0.75, 1.33), "area_range": (0.05, 1.0), "max_attempts": 100,
        "use_image_if_no_bounding_boxes": False}),
}  # fmt: skip
"""Those that draw: they take ``key`` too."""
