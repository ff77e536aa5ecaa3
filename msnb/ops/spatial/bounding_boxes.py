"""Boxes around objects: how much they overlap, offsets between them, and which of many to keep.

    iou                     [n, 4], [m, 4] -> [m, n]     overlap of all pairs, from 0 to 1
    bounding_box_encode     boxes -> offsets              what a network learns to say about its anchors
    bounding_box_decode     offsets -> boxes              the inverse, kept inside of the image
    check_valid             [n, 4] -> bool[n]             lies a box inside of the image?
    nms_with_mask           [n, 5] -> mask [n]            the best of every heap of boxes
    rotated_iou             [b, n, 5], [b, m, 5] -> [b, n, m]

A box is x0, y0, x1, y1. Most of these count pixels: corners belong to the box, so its width is x1 - x0 + 1. Only
``nms_with_mask`` measures lengths, x1 - x0, as MindSpore does. Numbers of 16 bits are computed in 32: the area of a
box of 256 pixels' side overflows float16.

Everything is made of other ops, so gradients, vmap and compiled graphs follow; only the choice of the boxes to keep, in
which each answer depends on the one before, has a record.

Source: Ren et al. 2015 (arXiv:1506.01497) for the offsets; the pages named at each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, TensorType, dtypes, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, Work, as_tensor, define, need_float, operand_lines
from msnb.ops.elementwise import arithmetic, stop_gradient, transcendental, where
from msnb.ops.indexing.gather import GATHER, gather_elements
from msnb.ops.indexing.rearrange import narrow, roll
from msnb.ops.math.clip_norm_interpolate import clip
from msnb.ops.math.sort import argsort
from msnb.ops.reduction.functional import sum as total
from msnb.ops.shape import arange, broadcast_to, concat, expand_dims, reshape, stack, unstack

__all__ = ["bounding_box_decode", "bounding_box_encode", "check_valid", "iou", "nms_with_mask", "rotated_iou"]

FAMILY = "boxes"  # of the records in this module: pictures and the JSON of graphs name it

_LEAST_AREA = 1e-12  # divides where two empty boxes meet: their overlap is 0, and its gradient too
_FOUR_ZEROS, _FOUR_ONES = (0.0,) * 4, (1.0,) * 4


def rows_of(name: str, columns: int, **given: Any) -> tuple[Any, ...]:
    """The tensors, once they are known to be float [n, columns]."""
    tensors = tuple(as_tensor(x) for x in given.values())
    types = [t._type for t in tensors]
    if any(t.ndim != 2 or t.shape[1] != columns for t in types):
        raise ShapeError(f"{name} takes [n, {columns}].", operands=operand_lines(*types, names=tuple(given)))
    need_float(name, *types)
    return tensors


def wide(t: Any) -> Any:
    """In at least 32 bits."""
    return t if t.dtype is dtypes.float64 else t.astype(dtypes.float32)


def _overlap(a: Any, b: Any, edge: float, union: bool) -> Tensor:
    """[n, 4] and [m, 4] -> [m, n]: the shared area over the area of both, or over that of b. ``edge`` is what a
    length counts beyond the difference of its ends."""
    ax0, ay0, ax1, ay1 = unstack(a, -1)
    bx0, by0, bx1, by1 = (expand_dims(side, 1) for side in unstack(b, -1))
    width = arithmetic.minimum(ax1, bx1) - arithmetic.maximum(ax0, bx0) + edge
    height = arithmetic.minimum(ay1, by1) - arithmetic.maximum(ay0, by0) + edge
    shared = arithmetic.maximum(width, 0) * arithmetic.maximum(height, 0)
    whole = (bx1 - bx0 + edge) * (by1 - by0 + edge)
    if union:
        whole = whole + (ax1 - ax0 + edge) * (ay1 - ay0 + edge) - shared
    return shared / arithmetic.maximum(whole, _LEAST_AREA)


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Tensor:
    """How much every pair of boxes overlaps.

    Args:
        anchor_boxes: [n, 4], float.
        gt_boxes: [m, 4], float.
        mode: "iou", the shared area over the area that either covers; "iof", over the area of the box in gt_boxes.

    Returns:
        [m, n] in the dtype of anchor_boxes. A box without area overlaps nothing.

    Raises:
        ShapeError: other shapes. DTypeError: integers. AttributeValueError: another mode.

    Source: `mindspore.ops.iou`

    Examples:
        >>> import msnb as ms
        >>> anchors = ms.Tensor([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 4.0, 9.0]])
        >>> ms.ops.iou(anchors, ms.Tensor([[0.0, 0.0, 9.0, 9.0]])).tolist()
        [[1.0, 0.5]]
    """
    if mode not in ("iou", "iof"):
        raise AttributeValueError(f"iou: mode={mode!r} is not legal; legal: 'iou', 'iof'.")
    anchors, truth = rows_of("iou", 4, anchor_boxes=anchor_boxes, gt_boxes=gt_boxes)
    return _overlap(wide(anchors), wide(truth), 1.0, mode == "iou").astype(anchors.dtype)


# ---- rotated boxes ----


def rotated_iou(
    boxes: Any, query_boxes: Any, trans: bool = False, mode: int = 0, is_cross: bool = True, v_threshold: float = 0.0,
    e_threshold: float = 0.0,
) -> Tensor:  # fmt: skip
    """How much pairs of rotated boxes overlap.

    The shared polygon has corners of each box that lie in the other, and crossings of sides; sorted by their angle
    around their middle they give its area.

    Args:
        boxes: [b, n, 5], float: middle x, middle y, width, height, degrees.
        query_boxes: [b, m, 5].
        trans: boxes are x0, y0, x1, y1, degrees, the corners those of the box before it is turned.
        mode: 0: the shared area over the area that either covers; 1: over the area of the box in ``boxes``.
        is_cross: all pairs; else box i with query box i.
        v_threshold: how far outside of a box a corner still counts as inside.
        e_threshold: sides whose directions' cross product is not above it are parallel: they do not cross.

    Returns:
        [b, n, m], or without ``is_cross`` [b, n], in the dtype of boxes.

    Raises:
        ValueError: other shapes or another mode. TypeError: no floats.

    Source: `mindspore.ops.rotated_iou`

    Examples:
        >>> import msnb as ms
        >>> box = lambda degrees: ms.Tensor([[[0.0, 0.0, 4.0, 2.0, degrees]]])
        >>> round(ms.ops.rotated_iou(box(0.0), box(90.0)).item(), 5)
        0.33333
    """
    a, b = as_tensor(boxes), as_tensor(query_boxes)
    lines = operand_lines(a._type, b._type, names=("boxes", "query_boxes"))
    need_float("rotated_iou", a._type, b._type)
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or (a.shape[2], b.shape[2]) != (5, 5):
        raise ShapeError("rotated_iou takes [b, n, 5] and [b, m, 5].", operands=lines)
    if mode not in (0, 1):
        raise AttributeValueError(f"rotated_iou: mode is 0 (of both) or 1 (of boxes), got {mode!r}.")
    if not is_cross and a.shape != b.shape:
        raise ShapeError("rotated_iou: one to one (is_cross=False) needs as many boxes on both sides.", operands=lines)
    first, second = [*unstack(wide(a), -1)], [*unstack(wide(b), -1)]
    if is_cross:
        first, second = [expand_dims(t, 2) for t in first], [expand_dims(t, 1) for t in second]
    one, other = (_turned_box(side, trans) for side in (first, second))
    shared = _shared_area(one, other, v_threshold, e_threshold)
    area, other_area = one[2] * one[3], other[2] * other[3]
    whole = area if mode else area + other_area - shared
    found: Tensor = (shared / arithmetic.maximum(whole, _LEAST_AREA)).astype(a.dtype)
    return found


def _turned_box(box: Sequence[Any], trans: bool) -> tuple[Any, ...]:
    """(x, y, width, height, cosine, sine)."""
    x, y, w, h, degrees = box
    if trans:
        x, y, w, h = (x + w) / 2, (y + h) / 2, w - x, h - y
    angle = degrees * (pi / 180)
    return x, y, w, h, transcendental.cos(angle), transcendental.sin(angle)


def _corners(box: Any, x0: Any, y0: Any) -> tuple[Any, Any]:
    """x and y of the four corners as seen from (x0, y0), in a new last axis."""
    x, y, w, h, c, s = (expand_dims(t, -1) for t in box)
    dx, dy = w * Tensor([-0.5, 0.5, 0.5, -0.5], w.dtype), h * Tensor([-0.5, -0.5, 0.5, 0.5], w.dtype)
    return dx * c - dy * s + (x - expand_dims(x0, -1)), dx * s + dy * c + (y - expand_dims(y0, -1))


def _shared_area(one: Any, other: Any, near: float, parallel: float) -> Any:
    x0, y0 = one[:2]
    (ax, ay), (bx, by) = _corners(one, x0, y0), _corners(other, x0, y0)

    def inside(x: Any, y: Any, box: Any) -> Any:
        bx, by, w, h, c, s = (expand_dims(t, -1) for t in box)
        dx, dy = x - (bx - expand_dims(x0, -1)), y - (by - expand_dims(y0, -1))
        slack = near + 1e-6 * (w + h)  # of rounding: corners of equal boxes lie in each other
        along, across = arithmetic.abs(dx * c + dy * s), arithmetic.abs(dy * c - dx * s)
        return (along <= w / 2 + slack) & (across <= h / 2 + slack)

    px, py = expand_dims(ax, -1), expand_dims(ay, -1)
    rx, ry = expand_dims(roll(ax, -1, -1) - ax, -1), expand_dims(roll(ay, -1, -1) - ay, -1)
    qx, qy = expand_dims(bx, -2), expand_dims(by, -2)
    sx, sy = expand_dims(roll(bx, -1, -1) - bx, -2), expand_dims(roll(by, -1, -1) - by, -2)
    cross = rx * sy - ry * sx
    meet = arithmetic.abs(cross) > parallel
    t = ((qx - px) * sy - (qy - py) * sx) / where(meet, cross, 1.0)
    u = ((qx - px) * ry - (qy - py) * rx) / where(meet, cross, 1.0)
    meet = meet & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    sizes = (*meet.shape[:-2], 16)
    corners = (*sizes[:-1], 4)
    xs = concat([reshape(px + t * rx, sizes), broadcast_to(ax, corners), broadcast_to(bx, corners)], -1)
    ys = concat([reshape(py + t * ry, sizes), broadcast_to(ay, corners), broadcast_to(by, corners)], -1)
    valid = concat([reshape(meet, sizes), inside(ax, ay, other), inside(bx, by, one)], -1)
    return _area_of_points(xs, ys, valid)


def _area_of_points(xs: Any, ys: Any, valid: Any) -> Any:
    """The area of the convex polygon of the valid points."""
    count = arithmetic.maximum(total(valid.astype(xs.dtype), -1, True), 1)
    cx, cy = (total(where(valid, stop_gradient(v), 0.0), -1, True) / count for v in (xs, ys))
    dx, dy = where(valid, xs - cx, 0.0), where(valid, ys - cy, 0.0)
    angle = transcendental.arctan2(stop_gradient(dy), stop_gradient(dx))
    order = argsort(where(valid, angle, 10.0), -1)
    dx, dy = gather_elements(dx, -1, order), gather_elements(dy, -1, order)
    sorted_valid = gather_elements(valid, -1, order)
    dx, dy = (where(sorted_valid, v, v[..., :1]) for v in (dx, dy))  # what is left over lies on the first point
    return total(dx * roll(dy, -1, -1) - dy * roll(dx, -1, -1), -1) / 2


# ---- offsets ----


def _pairs_of(name: str, **given: Any) -> tuple[Any, ...]:
    tensors = rows_of(name, 4, **given)
    if tensors[0].shape != tensors[1].shape:
        raise ShapeError(f"{name} takes as many boxes as anchors.",
                         operands=operand_lines(*[t._type for t in tensors], names=tuple(given)))  # fmt: skip
    return tensors


def _four(name: str, **given: Sequence[float]) -> tuple[Any, ...]:
    for said, values in given.items():
        if not isinstance(values, (tuple, list)) or len(values) != 4:
            raise AttributeValueError(f"{name}: {said} holds four numbers, for x, y, width and height; got {values!r}.")
    return tuple(as_tensor(np.array(values, np.float32)) for values in given.values())


def _centers(boxes: Any) -> tuple[Any, ...]:
    """The middle's x and y, width and height in pixels."""
    x0, y0, x1, y1 = unstack(wide(boxes), -1)
    return (x0 + x1) * 0.5, (y0 + y1) * 0.5, x1 - x0 + 1, y1 - y0 + 1


def bounding_box_encode(anchor_box: Any, groundtruth_box: Any, means: Sequence[float] = _FOUR_ZEROS,
                        stds: Sequence[float] = _FOUR_ONES) -> Any:  # fmt: skip
    """The offsets that lead from anchors to boxes: (x - x') / w', (y - y') / h', log(w / w'), log(h / h').

    Args:
        anchor_box: [n, 4], float; its middles and sizes are x', y', w', h'.
        groundtruth_box: [n, 4], float, a box for each anchor.
        means: four numbers that are subtracted from the offsets.
        stds: four numbers by which they are divided then.

    Returns:
        [n, 4] in the dtype of anchor_box.

    Raises:
        ShapeError: other shapes. DTypeError: integers. AttributeValueError: means or stds that are not four.

    Source: `mindspore.ops.BoundingBoxEncode`

    Examples:
        >>> import msnb as ms
        >>> anchors, truth = ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), ms.Tensor([[5.0, 0.0, 14.0, 9.0]])
        >>> ms.ops.bounding_box_encode(anchors, truth).tolist()
        [[0.5, 0.0, 0.0, 0.0]]
    """
    name = "bounding_box_encode"
    anchors, truth = _pairs_of(name, anchor_box=anchor_box, groundtruth_box=groundtruth_box)
    mean, std = _four(name, means=means, stds=stds)
    ax, ay, aw, ah = _centers(anchors)
    x, y, w, h = _centers(truth)
    offsets = ((x - ax) / aw, (y - ay) / ah, transcendental.log(w / aw), transcendental.log(h / ah))
    return ((stack(offsets, -1) - mean) / std).astype(anchors.dtype)


def bounding_box_decode(anchor_box: Any, deltas: Any, max_shape: Sequence[int],
                        means: Sequence[float] = _FOUR_ZEROS, stds: Sequence[float] = _FOUR_ONES,
                        wh_ratio_clip: float = 0.016) -> Any:  # fmt: skip
    """The boxes to which offsets lead from anchors: the inverse of ``bounding_box_encode``, inside of an image.

    Args:
        anchor_box: [n, 4], float.
        deltas: [n, 4], float: the offsets for each anchor.
        max_shape: (height, width) of the image, the largest y and x.
        means: four numbers that are added to the offsets.
        stds: four numbers by which they are multiplied before.
        wh_ratio_clip: no side becomes shorter than this part of the anchor's, or longer than its inverse.

    Returns:
        [n, 4] in the dtype of anchor_box.

    Raises:
        ShapeError: other shapes. DTypeError: integers. AttributeValueError: means, stds, max_shape or wh_ratio_clip
            that are not as said.

    Source: `mindspore.ops.BoundingBoxDecode`

    Examples:
        >>> import msnb as ms
        >>> anchors, deltas = ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), ms.Tensor([[0.5, 0.0, 0.0, 0.0]])
        >>> ms.ops.bounding_box_decode(anchors, deltas, max_shape=(20, 12)).tolist()
        [[5.0, 0.0, 12.0, 9.0]]
    """
    name = "bounding_box_decode"
    anchors, offsets = _pairs_of(name, anchor_box=anchor_box, deltas=deltas)
    mean, std = _four(name, means=means, stds=stds)
    if not isinstance(max_shape, (tuple, list)) or len(max_shape) != 2:
        raise AttributeValueError(f"{name}: max_shape is (height, width), got {max_shape!r}.")
    if not 0 < wh_ratio_clip <= 1:
        raise AttributeValueError(f"{name}: wh_ratio_clip is a ratio above 0 and at most 1, got {wh_ratio_clip!r}.")
    height, width = max_shape
    limit = -log(wh_ratio_clip)
    ax, ay, aw, ah = _centers(anchors)
    dx, dy, dw, dh = unstack(wide(offsets) * std + mean, -1)
    x, y = ax + dx * aw, ay + dy * ah
    reach_x, reach_y = (
        (transcendental.exp(clip(d, -limit, limit)) * size - 1) * 0.5 for d, size in ((dw, aw), (dh, ah))
    )
    sides = (clip(x - reach_x, 0, width), clip(y - reach_y, 0, height),
             clip(x + reach_x, 0, width), clip(y + reach_y, 0, height))  # fmt: skip
    return stack(sides, -1).astype(anchors.dtype)


def check_valid(bboxes: Any, img_metas: Any) -> Tensor:
    """Whether boxes lie inside of an image.

    Args:
        bboxes: [n, 4].
        img_metas: [3]: the image's height and width, and the ratio by which both are scaled.

    Returns:
        bool [n].

    Raises:
        ShapeError: other shapes.

    Source: `mindspore.ops.CheckValid`

    Examples:
        >>> import msnb as ms
        >>> boxes = ms.Tensor([[0.0, 0.0, 9.0, 4.0], [0.0, 0.0, 9.0, 5.0]])
        >>> ms.ops.check_valid(boxes, ms.Tensor([5.0, 10.0, 1.0])).tolist()
        [True, False]
    """
    (boxes,), metas = rows_of("check_valid", 4, bboxes=wide(as_tensor(bboxes))), as_tensor(img_metas)
    if metas.ndim != 1 or metas.shape[0] != 3:
        raise ShapeError("check_valid takes img_metas of [3]: height, width, ratio.",
                         operands=operand_lines(metas._type, names=("img_metas",)))  # fmt: skip
    x0, y0, x1, y1 = unstack(boxes, -1)
    height, width, ratio = unstack(wide(metas))
    return (x0 >= 0) & (y0 >= 0) & (x1 <= width * ratio - 1) & (y1 <= height * ratio - 1)


# ---- which boxes to keep ----


def _unsuppressed_type(over: TensorType) -> TensorType:
    if over.ndim < 2 or over.shape[-1] != over.shape[-2]:
        raise ShapeError("unsuppressed takes [..., n, n].", operands=operand_lines(over, names=("over",)))
    if over.dtype is not dtypes.bool_:
        raise DTypeError("unsuppressed takes booleans.", operands=operand_lines(over, names=("over",)))
    return tensor_type(over.shape[:-1], dtypes.bool_)


def _unsuppressed_body(xp: Any, over: Any) -> Any:
    kept = xp.ones(over.shape[:-1], dtype=bool)
    for i in range(over.shape[-1] - 1):
        kept[..., i + 1 :] &= ~(over[..., i, i + 1 :] & kept[..., i : i + 1])
    return kept


_OVER = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)

UNSUPPRESSED: Op = define(
    "unsuppressed",
    "over",
    infer=_unsuppressed_type,
    body=_unsuppressed_body,
    no_grad="a choice does not change with small changes of values",
    axes="... n! m! -> ... m!",
    work=lambda types, out_types, attrs: Work(vector=float(types[0].size) if types[0].is_static else 0.0),
    doc="Greedy choice in order: an element stays unless one before it that stays lies over it.",
    examples=(Example((_OVER,)), Example((np.stack([_OVER, ~_OVER]),)), Example((np.zeros((0, 0), bool),))),
    wrong=(
        InvalidExample((_OVER[:2],), {}, "unsuppressed takes", ShapeError),
        InvalidExample((_OVER * 0.5,), {}, "unsuppressed takes booleans", DTypeError),
    ),
)


def nms_with_mask(bboxes: Any, iou_threshold: float = 0.5) -> tuple[Any, Any, Any]:
    """Non-maximum suppression: of boxes that lie over each other only the one with the best score stays.

    The result has one row per box whatever is kept, so it fits a graph of fixed shapes: the mask says which rows count.

    Args:
        bboxes: [n, 5], float: x0, y0, x1, y1 and the score.
        iou_threshold: a box goes if its overlap with a better one that stays is larger than this.

    Returns:
        The boxes [n, 5] in the order of falling scores (of equal ones the first stays first), the numbers of these
        rows, int32 [n], and a mask, bool [n], True for the rows that stay.

    Raises:
        ShapeError: another shape. DTypeError: integers.

    Source: `mindspore.ops.NMSWithMask`

    Examples:
        >>> import msnb as ms
        >>> boxes = ms.Tensor([[0.0, 0.0, 4.0, 4.0, 0.5], [0.0, 0.0, 4.0, 3.0, 0.9], [8.0, 8.0, 9.0, 9.0, 0.1]])
        >>> ordered, rows, mask = ms.ops.nms_with_mask(boxes, 0.5)
        >>> mask.tolist(), ordered[:, 4].tolist() == boxes[:, 4].sort(descending=True)[0].tolist()
        ([True, False, True], True)
    """
    (boxes,) = rows_of("nms_with_mask", 5, bboxes=bboxes)
    order = argsort(boxes[:, 4], descending=True)
    ordered = GATHER(boxes, order, axis=0)
    corners = narrow(wide(ordered), 1, 0, 4)
    kept = UNSUPPRESSED(_overlap(corners, corners, 0.0, True) > iou_threshold)
    return ordered, arange(boxes.shape[0], dtype=dtypes.int32), kept
