"""MindSpore's primitives of images and boxes, in both modes.

What has a kernel on MindSpore 2.10's CPU is compared with its numbers, the rest with the examples of its documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

INF, LEAST = float("inf"), float(np.finfo(np.float32).min)


def wave(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape)) * 1.7 + 0.3).reshape(shape).astype(np.float32)


def share(*shape: int) -> Any:
    return np.abs(wave(*shape))


def ints(*values: Any) -> Any:
    return np.array(values if len(values) > 1 else values[0], np.int32)


def longs(*values: Any) -> Any:
    return ints(*values).astype(np.int64)


def floats(*values: Any) -> Any:
    return np.array(values if len(values) > 1 else values[0], np.float32)


def run(op: Any, args: tuple[Any, ...]) -> Any:
    """Arrays are the operands of a program, everything else stands in its text."""
    tensors = [ms.Tensor(a) for a in args if isinstance(a, (np.ndarray, np.generic))]

    def fn(*given: Any) -> Any:
        rest = iter(given)
        return op(*[next(rest) if isinstance(a, (np.ndarray, np.generic)) else a for a in args])

    return ms.jit(fn)(*tensors) if ms.get_context("mode") == ms.GRAPH_MODE else fn(*tensors)


def check(name: str, make: Any, args: tuple[Any, ...], expected: Any) -> None:
    found = run(make(), args)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(expected), name
    for got, want in zip(found, expected):
        np.testing.assert_allclose(got.asnumpy().ravel(), np.array(want), rtol=3e-4, atol=3e-5, err_msg=name)


CASES: dict[str, Any] = {
    "AdjustHue": (lambda: ops.AdjustHue(), (share(1,2,3), floats(0.2),),
        [[0.29552, 0.55223, 0.9093, 0.59114, 0.77276, 0.58492]]),
    "AdjustSaturation": (lambda: ops.AdjustSaturation(), (share(1,2,3), floats(0.5),),
        [[0.60241, 0.9093, 0.71957, 0.77276, 0.75087, 0.67884]]),
    "RGBToHSV": (lambda: ops.RGBToHSV(), (share(2,3),), [[0.39696, 0.675, 0.9093, 0.12781, 0.24308, 0.77276]]),
    "HSVToRGB": (lambda: ops.HSVToRGB(), (share(1,1,2,3),),
        [[0.15736, 0.52984, 0.048057, 0.42996, 0.15853, 0.58492]]),
    "ResizeBicubic": (lambda: ops.ResizeBicubic(), (wave(1,1,2,3), (3,2),),
        [[0.29552, 0.24727, -0.43683, 0.62463, -0.89146, 0.85889]]),
    "ResizeBicubic#half": (lambda: ops.ResizeBicubic(half_pixel_centers=True), (wave(1,1,2,3), (3,2),),
        [[0.50467, -0.30181, -0.020546, 0.20093, -0.54576, 0.70368]]),
    "ResizeNearestNeighborV2": (lambda: ops.ResizeNearestNeighborV2(half_pixel_centers=True), (wave(1,1,2,3), (3,2),),
        [[0.29552, -0.52984, -0.77276, 0.58492, -0.77276, 0.58492]]),
    "ResizeArea": (lambda: ops.ResizeArea(), (wave(1,2,3,1), (1,2),), [[0.11396, 0.2914]]),
    "ScaleAndTranslate": (lambda: ops.ScaleAndTranslate(), (wave(1,2,3,1), (2,2), floats(.6,1.4), floats(.3,-.2),),
        [[0.023261, 0.75635, -0.66594, 0.35144]]),
    "ScaleAndTranslate#box": (lambda: ops.ScaleAndTranslate("box",False),
        (wave(1,2,3,1), (2,2), floats(.6,1.4), floats(.3,-.2),),
        [[0.29552, 0.9093, -0.77276, 0.72897]]),
    "ScaleAndTranslate#cubic": (lambda: ops.ScaleAndTranslate("mitchellcubic"),
        (wave(1,2,3,1), (2,2), floats(.6,1.4), floats(.3,-.2),),
        [[0.065309, 0.64849, -0.54334, 0.36546]]),
    "UpsampleNearest3D": (lambda: ops.UpsampleNearest3D(), (wave(1,1,1,2,2), (1,2,3),),
        [[0.29552, 0.29552, 0.9093, -0.52984, -0.52984, -0.77276]]),
    "UpsampleTrilinear3D": (lambda: ops.UpsampleTrilinear3D(), (wave(1,1,1,2,2), (1,2,3),),
        [[0.29552, 0.60241, 0.9093, -0.52984, -0.6513, -0.77276]]),
    "GridSampler3D": (lambda: ops.GridSampler3D(padding_mode="reflection"), (wave(1,1,2,2,2), wave(1,1,1,2,3)*1.5,),
        [[-0.75899, -0.8797]]),
    "GridSampler3D#zeros": (lambda: ops.GridSampler3D("nearest"), (wave(1,1,2,2,2), wave(1,1,1,2,3),),
        [[-0.77276, -0.8797]]),
    "ExtractGlimpse": (lambda: ops.ExtractGlimpse(True,True,False,"zero"), (wave(1,2,3,1), (2,2), floats([[.2,-.9]]),),
        [[0.29552, 0.9093, -0.77276, 0.72897]]),
    "ExtractVolumePatches": (lambda: ops.ExtractVolumePatches(2,1,"SAME"), (wave(1,1,1,2,2),),
        [[0.29552, 0.9093, -0.52984, -0.77276, 0.9093, 0.0, -0.77276, 0.0, -0.52984, -0.77276, 0.0, 0.0,
        -0.77276] + [0.0] * 19]),
    "NonMaxSuppressionWithOverlaps": (lambda: ops.NonMaxSuppressionWithOverlaps(),
        (share(4,4), share(4), ints(4), floats(.8), floats(.1),),
        [[1, 3, 2]]),
    "CombinedNonMaxSuppression": (lambda: ops.CombinedNonMaxSuppression(),
        (floats([[[[0,0,1,1]],[[0,0,1,.9]],[[.5,.5,1.5,1]]]]), floats([[[.9,.2],[.8,.3],[.7,.6]]]), 2, 3,
         floats(.5), floats(.25)),
        [[0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.5, 0.5, 1.0, 1.0], [0.9, 0.7, 0.6], [0.0, 0.0, 1.0], [3]]),
    "NonMaxSuppressionV3": (lambda: ops.NonMaxSuppressionV3(),
        (floats([[1, 2, 3, 4], [1, 3, 3, 4], [1, 3, 4, 4], [1, 1, 4, 4], [1, 1, 3, 4]]), floats(.4, .5, .72, .9, .45),
         5, floats(.5), floats(0.)), [[3, 2, 0]]),
    "ExtractImagePatches": (lambda: ops.ExtractImagePatches([1, 1, 2, 1], [1, 1, 1, 2], [1, 1, 1, 1]),
        (np.arange(6.).reshape(1, 1, 2, 3),), [[0., 2., 3., 5.]]),
    "Dilation2D": (lambda: ops.Dilation2D(1, 1, "VALID"), (np.arange(6.).reshape(1, 1, 2, 3), floats([[[0., 9.]]])),
        [[10., 11., 13., 14.]]),
    "Dilation2D#same": (lambda: ops.Dilation2D(2, 1), (np.arange(6.).reshape(1, 1, 2, 3), floats([[[0., 9.]]])),
        [[10., 2.]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, mode: Any) -> None:
    check(name, *CASES[name])


SMOOTH = ("AdjustSaturation", "HSVToRGB", "ResizeBicubic", "ResizeArea", "ScaleAndTranslate", "GridSampler3D",
          "ExtractVolumePatches", "Dilation2D")  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    from tests.gradient_check import check_grads

    make, args, _ = CASES[name]
    rest = [ms.Tensor(a.astype(np.float64)) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in args]
    if name in ("AdjustSaturation", "ResizeArea", "ScaleAndTranslate"):
        tolerance = 2e-2  # they compute in float32
    else:
        tolerance = 1e-5
    first = args[0].astype(np.float64)
    check_grads(lambda x: make()(x, *rest[1:]), [first], order=1, tolerance=tolerance, forward=False)


def test_random_boxes_cover_the_object(mode: Any) -> None:
    op = ops.SampleDistortedBoundingBoxV2(seed=3, aspect_ratio_range=(0.9, 1.1), area_range=(0.1, 1.0))
    for _ in range(5):
        begin, size, box = run(op, (ints(640, 480, 3), floats([[[0.38, 0.17, 0.95, 0.40]]]), floats([0.8])))
        (y, x, _), (h, w, last) = begin.tolist(), size.tolist()
        np.testing.assert_allclose(box.asnumpy()[0, 0], [y / 640, x / 480, (y + h) / 640, (x + w) / 480], atol=1e-5)
        covered = (min(y + h, 608) - max(y, 243)) * (min(x + w, 192) - max(x, 81))
        assert last == -1 and begin.dtype is ms.int32 and covered >= 0.8 * 365 * 111 - 1 and 0.85 < w / h < 1.15
    whole = ops.SampleDistortedBoundingBoxV2(area_range=(0.9, 0.9), max_attempts=1, use_image_if_no_bounding_boxes=True)
    found = whole(ms.Tensor(ints(4, 5, 3)), ops.zeros((1, 0, 4)), ms.Tensor([1.0]))
    assert found[0].tolist() == [0, 0, 0] and found[1].tolist() == [4, 5, -1]


def test_glimpses_outside_are_noise(mode: Any) -> None:
    far = (wave(1, 2, 3, 1), (2, 2), floats([[9.0, 9.0]]))
    uniform = run(ops.ExtractGlimpse(), far).asnumpy()
    assert 0 <= uniform.min() < uniform.max() < 1
    assert run(ops.ExtractGlimpse(True, True, False, "gaussian"), far).shape == (1, 2, 2, 1)


def test_wrong_calls_teach() -> None:
    x = ms.Tensor(wave(1, 2, 3, 3))
    boxes, scores = ms.Tensor(wave(1, 2, 1, 4)), ms.Tensor(share(1, 2, 1))
    wrong = [
        (lambda: ops.AdjustHue()(x[0, 0], 0.1), r"images \[..., height, width, 3\]"),
        (lambda: ops.RGBToHSV()(ms.Tensor([1, 2, 3])), "floating-point"),
        (lambda: ops.ResizeBicubic(True, True)(x, (2, 2)), "exclude one another"),
        (lambda: ops.ResizeBicubic()(x, (0, 2)), "above 0"),
        (lambda: ops.ScaleAndTranslate("sinc")(x, (2, 2), ops.ones(2), ops.ones(2)), "kernel_type is one of lanczos1"),
        (lambda: ops.ResizeArea()(x[0], (2, 2)), r"\[n, height, width, channels\]"),
        (lambda: ops.ExtractGlimpse(noise="zero")(x, (2, 2), ops.ones((1, 2))), "noise is 'uniform'"),
        (lambda: ops.ExtractImagePatches([1] * 4, [1] * 4, [1] * 4, "FULL")(x), "'SAME' or 'VALID'"),
        (lambda: ops.Dilation2D(1, 1, data_format="NHWC")(x, x[0]), "data_format is 'NCHW'"),
        (lambda: ops.Dilation2D(1, 1)(x, x), "a filter"),
        (lambda: ops.GridSampler3D()(x, x), "a grid"),
        (lambda: ops.UpsampleNearest3D()(x, (1, 1, 1)), "volumes are"),
        (lambda: ops.CombinedNonMaxSuppression()(boxes, scores, 1, 1, 1.5, 0.0), "iou_threshold lies from 0 to 1"),
        (lambda: ops.CombinedNonMaxSuppression()(boxes, scores, -1, 1, 0.5, 0.0), "known number from 0"),
        (lambda: ops.NonMaxSuppressionV3()(boxes[0, :, 0], scores[0], 1, 0.5, 0.0), r"boxes \[n, 4\] and scores"),
        (lambda: ops.NonMaxSuppressionWithOverlaps()(ops.ones((2, 2)), ops.ones(2), -1, 0.5, 0.0), "from 0, got -1"),
        (lambda: ops.SampleDistortedBoundingBoxV2()(ms.Tensor([4, 5, 3]), ops.zeros((1, 0, 4)), 0.5), "no bounding"),
    ]  # fmt: skip
    for call, sentence in wrong:
        with pytest.raises((ValueError, TypeError), match=sentence):
            call()
