"""Boxes and regions against loops over boxes and pixels, in both modes; derivatives; lanes; what is refused.

Corners are drawn as whole eighths, so that no place lies within rounding of an edge where the answer jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from tests.gradient_check import check_grads

Array = np.ndarray[Any, Any]
MEANS, STDS = (0.1, 0.2, 0.3, 0.4), (0.5, 0.6, 0.7, 0.8)


def drawn(rng: np.random.Generator, n: int) -> Array:
    """Boxes [n, 4] of sides from 1 to 10."""
    start = rng.integers(0, 80, (n, 2)) / 8
    return np.concatenate([start, start + rng.integers(8, 80, (n, 2)) / 8], 1).astype(np.float32)


def shared(a: Array, b: Array, edge: float, of_both: bool = True) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + edge
    height = min(a[3], b[3]) - max(a[1], b[1]) + edge
    common = max(width, 0.0) * max(height, 0.0)
    areas = [(s[2] - s[0] + edge) * (s[3] - s[1] + edge) for s in (a, b)]
    return float(common / (sum(areas) - common if of_both else areas[1]))


def test_overlaps_of_all_pairs(mode: int, rng: np.random.Generator) -> None:
    a, b = drawn(rng, 5), drawn(rng, 3)
    for way in ("iou", "iof"):
        want = [[shared(p, q, 1.0, way == "iou") for p in a] for q in b]
        found = ops.IOU(way)(ms.Tensor(a), ms.Tensor(b)).asnumpy()
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
        half = ops.iou(ms.Tensor(a, ms.float16), ms.Tensor(b, ms.float16), way)
        assert half.dtype is ms.float16
        np.testing.assert_allclose(half.asnumpy(), want, rtol=2e-3, atol=1e-3)
    large = ms.Tensor([[0.0, 0.0, 999.0, 999.0]], ms.float16)  # an area that float16 does not hold
    assert ops.iou(large, large).tolist() == [[1.0]]
    empty = ms.Tensor([[5.0, 5.0, 4.0, 4.0]])
    assert ops.iou(empty, empty).tolist() == [[0.0]]
    gradient = ms.grad(lambda x: ops.iou(x, empty).sum())(empty)
    assert gradient.tolist() == [[0.0] * 4]


def test_offsets_lead_from_anchors_to_boxes_and_back(mode: int, rng: np.random.Generator) -> None:
    anchors, truth = drawn(rng, 6), drawn(rng, 6)

    def middle(s: Array) -> Array:
        return np.stack(
            [(s[:, 0] + s[:, 2]) / 2, (s[:, 1] + s[:, 3]) / 2, s[:, 2] - s[:, 0] + 1, s[:, 3] - s[:, 1] + 1]
        )

    (ax, ay, aw, ah), (x, y, w, h) = middle(anchors), middle(truth)
    want = (np.stack([(x - ax) / aw, (y - ay) / ah, np.log(w / aw), np.log(h / ah)], 1) - MEANS) / STDS
    encode = ops.BoundingBoxEncode(means=MEANS, stds=STDS)
    offsets = encode(ms.Tensor(anchors), ms.Tensor(truth))
    np.testing.assert_allclose(offsets.asnumpy(), want, rtol=1e-4, atol=1e-5)
    decode = ops.BoundingBoxDecode(max_shape=(100, 100), means=MEANS, stds=STDS)
    np.testing.assert_allclose(decode(ms.Tensor(anchors), offsets).asnumpy(), truth, rtol=1e-4, atol=1e-4)
    assert encode(ms.Tensor(anchors, ms.float16), ms.Tensor(truth, ms.float16)).dtype is ms.float16


def test_decoded_boxes_stay_inside_and_keep_a_size(mode: int) -> None:
    # the example of MindSpore's page, and sides that would grow e^9 times but may only double
    anchors = ms.Tensor([[4.0, 1.0, 2.0, 1.0], [2.0, 2.0, 2.0, 3.0]])
    deltas = ms.Tensor([[3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.0, 4.0]])
    found = ops.BoundingBoxDecode(max_shape=(768, 1280), wh_ratio_clip=0.016)(anchors, deltas)
    want = [[4.194528, 0.0, 0.0, 5.194528], [2.1408591, 0.0, 3.8591409, 60.598152]]
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-5)
    still = ms.Tensor([[0.0, 0.0, 9.0, 9.0]])
    wider = ops.bounding_box_decode(still, ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), (14, 12), wh_ratio_clip=0.5)
    np.testing.assert_allclose(wider.asnumpy(), [[0.0, 0.0, 12.0, 14.0]], rtol=1e-5)


def test_boxes_inside_of_an_image(mode: int) -> None:
    boxes = ms.Tensor(
        [[0.0, 0, 9, 9], [0, 0, 9, 9.5], [-0.5, 0, 3, 3], [0, -0.5, 3, 3], [0, 0, 19, 3], [0, 0, 19.5, 3]]
    )
    assert ops.CheckValid()(boxes, ms.Tensor([5.0, 10.0, 2.0])).tolist() == [True, False, False, False, True, False]
    whole = ops.check_valid(ms.Tensor([[0, 0, 9, 4], [0, 0, 9, 5]], ms.uint8), ms.Tensor([5, 10, 1], ms.uint8))
    assert whole.tolist() == [True, False]


def kept(boxes: Array, threshold: float) -> list[bool]:
    chosen: list[Array] = []
    mask = []
    for box in boxes:
        mask.append(all(shared(box, best, 0.0) <= threshold for best in chosen))
        if mask[-1]:
            chosen.append(box)
    return mask


def test_the_best_box_of_every_heap_stays(mode: int, rng: np.random.Generator) -> None:
    scored = np.concatenate([drawn(rng, 30), rng.permutation(30)[:, None] / 32], 1).astype(np.float32)
    in_order = scored[np.argsort(-scored[:, 4])]
    for threshold in (0.10002, 0.30003, 0.7001):  # far from the quotients of small whole numbers
        boxes, rows, mask = ops.NMSWithMask(threshold)(ms.Tensor(scored))
        np.testing.assert_array_equal(boxes.asnumpy(), in_order)
        assert rows.dtype is ms.int32 and rows.tolist() == list(range(30))
        assert mask.tolist() == kept(in_order, threshold)
    equal = ms.Tensor([[0.0, 0.0, 8.0, 8.0, 0.9], [0.0, 0.0, 8.0, 4.0, 0.5]])  # they share just one half
    assert ops.nms_with_mask(equal, 0.5)[2].tolist() == [True, True]


def test_boxes_in_lanes(mode: int, rng: np.random.Generator) -> None:
    scored = np.concatenate([drawn(rng, 16), rng.permutation(16)[:, None] / 16], 1).reshape(2, 8, 5).astype(np.float32)
    masks = ms.vmap(lambda b: ops.nms_with_mask(b, 0.30003)[2])(ms.Tensor(scored)).asnumpy()
    for lane, mask in zip(scored, masks):
        assert mask.tolist() == kept(lane[np.argsort(-lane[:, 4])], 0.30003)


def between(image: Array, row: float, column: float) -> Array:
    """The value [c] of an image [h, w, c] at a place inside of it."""
    h, w = image.shape[:2]
    top, left = min(int(row), h - 1), min(int(column), w - 1)
    low, right = min(top + 1, h - 1), min(left + 1, w - 1)
    p, q = row - top, column - left
    upper = image[top, left] * (1 - q) + image[top, right] * q
    lower = image[low, left] * (1 - q) + image[low, right] * q
    return np.asarray(upper * (1 - p) + lower * p)


@pytest.mark.parametrize("size", [(3, 5), (1, 3)])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_crops(mode: int, rng: np.random.Generator, method: str, size: tuple[int, int]) -> None:
    x = rng.standard_normal((2, 5, 9, 3)).astype(np.float32)
    boxes = (rng.integers(-4, 21, (4, 4)) / 16).astype(np.float32)  # exact: 4 and 8 steps between pixels' middles
    which = np.array([0, 1, 1, 0])
    want = np.full((4, *size, 3), 0.25, np.float32)
    for k, i, j in np.ndindex(4, *size):
        row, column = (
            (boxes[k, a] + (boxes[k, a + 2] - boxes[k, a]) * (at / (n - 1) if n > 1 else 0.5)) * (x.shape[1 + a] - 1)
            for a, (at, n) in enumerate(zip((i, j), size))
        )
        if 0 <= row <= 4 and 0 <= column <= 8:
            near = x[which[k], int(row + 0.5), int(column + 0.5)] if method == "nearest" else None
            want[k, i, j] = between(x[which[k]], row, column) if near is None else near
    found = ops.CropAndResize(method, 0.25)(ms.Tensor(x), ms.Tensor(boxes), ms.Tensor(which), size)
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("end", [0, 1])
def test_regions_of_features(mode: int, rng: np.random.Generator, end: int) -> None:
    x = rng.standard_normal((2, 3, 8, 9)).astype(np.float32)
    corners = rng.integers(-12, 40, (6, 4)) / 2
    rois = np.concatenate([rng.integers(0, 2, (6, 1)), corners], 1).astype(np.float32)
    want = np.zeros((6, 3, 2, 4), np.float32)
    for k, (b, x0, y0, x1, y1) in enumerate(rois):
        spans = [(a * 0.5, (e + end) * 0.5 if end else max(e * 0.5, a * 0.5 + 1)) for a, e in ((y0, y1), (x0, x1))]
        for i, j, p, q in np.ndindex(2, 4, 2, 2):
            row, column = (s + (e - s) * (at + 0.5) / n for (s, e), at, n in zip(spans, (i * 2 + p, j * 2 + q), (4, 8)))
            if -1 <= row <= 8 and -1 <= column <= 9:
                place = min(max(row, 0.0), 7.0), min(max(column, 0.0), 8.0)
                want[k, :, i, j] += between(x[int(b)].transpose(1, 2, 0), *place) / 4
    pool = ops.ROIAlign(2, 4, 0.5, 2, end)
    np.testing.assert_allclose(pool(ms.Tensor(x), ms.Tensor(rois)).asnumpy(), want, rtol=1e-5, atol=1e-5)
    half = pool(ms.Tensor(x, ms.float16), ms.Tensor(rois, ms.float16))
    assert half.dtype is ms.float16
    np.testing.assert_allclose(half.asnumpy(), want, rtol=1e-2, atol=1e-2)


class SecondStage(nn.Cell):
    """The end of a two-stage detector: decode, keep the best, read their features."""

    def __init__(self) -> None:
        super().__init__()
        self.decode = ops.BoundingBoxDecode(max_shape=(15, 15), means=MEANS, stds=STDS)
        self.nms = ops.NMSWithMask(0.30003)
        self.pool = ops.ROIAlign(2, 2, 0.5, 2, 0)
        self.crop = ops.CropAndResize()

    def construct(self, anchors: Any, deltas: Any, scores: Any, features: Any) -> Any:
        boxes, rows, mask = self.nms(ops.concat((self.decode(anchors, deltas), scores), axis=1))
        rois = ops.concat((ops.zeros_like(scores), boxes[:, :4]), axis=1)
        crops = self.crop(features.transpose(0, 2, 3, 1), boxes[:, :4] / 16, rows * 0, (2, 2))
        return self.pool(features, rois) * mask.reshape(-1, 1, 1, 1), crops, mask


def test_a_detector_is_one_program(rng: np.random.Generator) -> None:
    features = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    offsets, scores = rng.integers(-4, 5, (6, 4)) / 8, rng.permutation(6)[:, None] / 8
    inputs = [ms.Tensor(x.astype(np.float32)) for x in (drawn(rng, 6), offsets, scores, features)]
    found = {}
    for way in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=way)
        found[way] = [x.asnumpy() for x in SecondStage()(*inputs)]
    assert found[ms.GRAPH_MODE][0].shape == (6, 3, 2, 2) and found[ms.GRAPH_MODE][1].shape == (6, 2, 2, 3)
    # machine code rounds exp differently: corners move by some ulp, and values with them
    for eager, graph in zip(found[ms.PYNATIVE_MODE], found[ms.GRAPH_MODE]):
        np.testing.assert_allclose(eager, graph, rtol=1e-4, atol=1e-4)


def test_whole_pixels_from_border_to_border(mode: int) -> None:
    image, index = ops.arange(32.0).reshape(1, 4, 8, 1), ms.Tensor([0, 0, 0])
    boxes = ms.Tensor([[0.1, 0.1, 0.8, 0.3], [0.5, 0.5, 1.5, 1.5], [0.8, 0.9, 0.1, 0.2]])
    found = ops.crop_and_resize(image, boxes, index, (2, 3), "bilinear_v2", -1.0)[..., 0]
    want = [[[4, 5, 6], [20, 21, 22]], [[27, 29, 29], [29, 31, 31]], [[31, 31, 31], [31, 31, 31]]]
    np.testing.assert_allclose(found.asnumpy(), want)


def test_the_pixel_behind_is_nearest_at_a_middle(mode: int) -> None:
    row, box = ops.arange(4.0).reshape(1, 1, 4, 1), ms.Tensor([[0.0, 0.1, 0.0, 0.9]])
    assert ops.crop_and_resize(row, box, ms.Tensor([0]), (1, 3), "nearest").flatten().tolist() == [0, 2, 3]


def test_derivatives(mode: int, rng: np.random.Generator) -> None:
    rois = ms.Tensor([[0.0, 1.0, 1.0, 7.0, 9.0], [1.0, -3.0, 2.0, 5.0, 30.0]])
    check_grads(lambda x: ops.roi_align(x, rois, 2, 2, 0.5), [rng.standard_normal((2, 2, 4, 5))])
    anchors, truth = (np.array([[1.0, 2.0, 9.0, 7.0]]), np.array([[2.5, 1.0, 8.0, 5.5]]))
    check_grads(ops.iou, [anchors, truth])
    check_grads(ops.bounding_box_encode, [anchors, truth])
    check_grads(lambda a, d: ops.bounding_box_decode(a, d, (20, 20)), [anchors, np.array([[0.1, -0.2, 0.3, 0.1]])])


def test_what_is_refused(mode: int) -> None:
    four, whole = ops.ones((2, 4)), ops.ones((2, 4), dtype=ms.int32)
    image, features, index = ops.ones((1, 2, 2, 1)), ops.ones((1, 1, 2, 2)), ms.Tensor([0, 0])
    wrong: list[tuple[Any, str]] = [
        (lambda: ops.iou(four, ops.ones((2, 5))), r"iou takes \[n, 4\]"),
        (lambda: ops.iou(four, whole), "floating-point"),
        (lambda: ops.iou(four, four, "giou"), "legal: 'iou', 'iof'"),
        (lambda: ops.bounding_box_encode(four, ops.ones((3, 4))), "as many boxes as anchors"),
        (lambda: ops.bounding_box_encode(four, four, means=(0.0,)), "means holds four numbers"),
        (lambda: ops.bounding_box_decode(four, four, 7), "max_shape is"),
        (lambda: ops.bounding_box_decode(four, four, (7, 7), wh_ratio_clip=2.0), "wh_ratio_clip is a ratio"),
        (lambda: ops.check_valid(four, ops.ones((2,))), r"img_metas of \[3\]"),
        (lambda: ops.nms_with_mask(four), r"nms_with_mask takes \[n, 5\]"),
        (lambda: ops.crop_and_resize(image, four, ms.Tensor([0]), (1, 1)), "an index for each box"),
        (lambda: ops.crop_and_resize(image, four, ms.Tensor([0.0, 0.0]), (1, 1)), "box_indices are integers"),
        (lambda: ops.crop_and_resize(image, four, index, (1, 1), "cubic"), "legal: 'bilinear', 'nearest'"),
        (lambda: ops.crop_and_resize(image, four, index, (0, 1)), "both at least 1"),
        (lambda: ops.crop_and_resize(image, four, index + 1, (1, 1)), "outside"),
        (lambda: ops.roi_align(features, four, 1, 1, 1.0), r"roi_align takes \[n, 5\]"),
        (lambda: ops.roi_align(features, ops.ones((1, 5)), 1, 1, 1.0, 0), "sample_num is an int from 1 on"),
        (lambda: ops.roi_align(features, ops.ones((1, 5)), 1, 1, 1.0, 2, 3), "legal: 0, 1"),
    ]
    for call, sentence in wrong:
        with pytest.raises((ValueError, TypeError, IndexError), match=sentence):
            call()
