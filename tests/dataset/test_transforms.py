"""Transforms by hand: values, dtypes, shapes, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb.dataset as ds
from msnb.core.dtypes import float16, int32
from msnb.dataset import transforms as T, vision as V


def numbered(*shape, dtype=np.float32):
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype)


def test_type_cast_takes_every_kind_of_dtype():
    for name in (int32, "int32", np.int32, np.dtype("int32")):
        assert T.TypeCast(name)(np.float64([1.9])).dtype == np.int32
    assert T.TypeCast(float16)(3).dtype == np.float16
    assert T.TypeCast("bfloat16")([1.5]).astype(np.float32).tolist() == [1.5]
    with pytest.raises(TypeError, match="float33"):
        T.TypeCast("float33")


def test_one_hot_smoothed():
    assert np.allclose(T.OneHot(4, 0.2)(np.int32(1)), [0.05, 0.85, 0.05, 0.05])
    assert T.OneHot(3)(np.uint32(2)).dtype == np.uint32
    with pytest.raises(RuntimeError, match="integer labels"):
        T.OneHot(3)(1.0)
    with pytest.raises(ValueError, match="label -1 is outside"):
        T.OneHot(3)(np.array([0, -1]))
    for wrong in ((0,), (3, 1.5)):
        with pytest.raises(ValueError):
            T.OneHot(*wrong)


def test_slices_keep_axes():
    table = numbered(3, 4)
    assert T.Slice(0, -1)(table).tolist() == [[3]] and T.Slice(..., 1)(table).tolist() == [[1], [5], [9]]
    assert T.Slice([0, 2], [1, 3])(table).tolist() == [[1, 3], [9, 11]] and T.Slice(True, 2)(table).shape == (3, 1)
    with pytest.raises(RuntimeError, match="Slice"):
        T.Slice(0, 0, 0)(table)


def test_small_ones():
    assert T.PadEnd([2, 2], 7)(np.array([[1], [2], [3]])).tolist() == [[1, 7], [2, 7]]
    assert T.Fill(-3)(np.ones(2, np.uint8)).tolist() == [253, 253]
    assert T.Fill(b"abc")(np.array([b"a"])).tolist() == [b"abc"]
    assert T.Concatenate(0, [0], [9])(np.array([1]), np.array([2])).tolist() == [0, 1, 2, 9]
    assert [a.tolist() for a in T.Duplicate()([1, 2])] == [[1, 2], [1, 2]]
    assert T.Fill(7)(np.uint8([1, 2])).dtype == np.uint8
    assert T.Slice(None, [0, 2])(numbered(2, 3)).tolist() == [[0, 2], [3, 5]]
    assert T.Slice(..., -1)(numbered(2, 3)).tolist() == [[2], [5]]
    assert [a.tolist() for a in T.Unique()([3, 1, 2, 3])] == [[3, 1, 2], [0, 1, 2, 0], [2, 1, 1]]
    assert T.PadEnd([None, 3], 5)(np.zeros((1, 2))).tolist() == [[0, 0, 5]]
    for relation, want in zip(T.Relational, ([0, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0])):
        assert T.Mask(relation, 2, "int32")(np.array([1, 2, 3])).tolist() == want


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.Concatenate()(np.zeros(2), np.zeros((1, 1))), "Concatenate"),
        (lambda: T.PadEnd([1, 1])(np.zeros(2)), "cannot fill up"),
        (lambda: T.Fill("a")(np.zeros(2)), "same data type"),
        (lambda: V.CutOut(5)(np.zeros((4, 9, 3))), "do not fit"),
        (lambda: T.Slice(5)(np.zeros(2)), "Slice"),
        (lambda: T.Slice(), "at least one index"),
        (lambda: T.Compose([]), "non-empty list"),
        (lambda: T.Compose([T.Duplicate]), "call the class"),
        (lambda: T.RandomApply([T.Duplicate()], 1.5), r"\[0, 1\]"),
        (lambda: T.RandomApply([T.Duplicate()], "x"), "must be a number"),
        (lambda: T.Mask("EQ", 1), "Relational"),
        (lambda: T.TypeCast("int32")({"a": 1}), "got dict"),
    ],
)
def test_refusals(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_random_combinations():
    ds.config.set_seed(0)
    add, double = (lambda x: x + 1), (lambda x: x * 2)
    assert {int(T.RandomOrder([add, double])(3)) for _ in range(40)} == {7, 8}
    assert {int(T.RandomChoice([add, double])(3)) for _ in range(40)} == {4, 6}
    assert {int(T.RandomApply([add, double])(3)) for _ in range(40)} == {3, 8}
    assert T.RandomApply([add], 1.0)(3) == 4 and T.RandomApply([add], 0.0)(3) == 3


def test_rescale_normalize_and_axes():
    image = numbered(4, 5, 3, dtype=np.uint8)
    assert np.allclose(V.Rescale(2, 1)(image), image * 2.0 + 1) and V.Rescale(2, 1)(image).dtype == np.float32
    mean, std = [1.0, 2.0, 3.0], [2.0, 4.0, 8.0]
    want = (image - np.array(mean)) / std
    assert np.allclose(V.Normalize(mean, std)(image), want, atol=1e-5)
    moved = V.HWC2CHW()(image)
    assert np.array_equal(moved, image.transpose(2, 0, 1)) and moved.flags["C_CONTIGUOUS"]
    assert np.allclose(V.Normalize(mean, std, is_hwc=False)(moved), want.transpose(2, 0, 1), atol=1e-5)
    assert np.array_equal(V.CHW2HWC()(moved), image) and V.HWC2CHW()(image[..., 0]).shape == (4, 5)
    assert np.allclose(V.ToTensor()(image), moved / 255.0) and V.ToTensor("float16")(image).dtype == np.float16
    assert V.Invert()(image).tolist() == (255 - image).tolist()


def test_geometry():
    image = numbered(4, 6, 1)
    assert np.array_equal(V.Crop((1, 2), (2, 3))(image), image[1:3, 2:5])
    assert np.array_equal(V.CenterCrop(2)(image), image[1:3, 2:4])
    assert V.CenterCrop((7, 3))(image).shape == (7, 3, 1)
    assert np.array_equal(V.HorizontalFlip()(image), image[:, ::-1])
    assert np.array_equal(V.VerticalFlip()(image[..., 0]), image[::-1, :, 0])
    padded = V.Pad((1, 2, 3, 4), 9)(image)
    assert padded.shape == (10, 10, 1) and np.array_equal(padded[2:6, 1:7], image) and padded[0, 0, 0] == 9
    assert np.array_equal(V.Pad(1, padding_mode=V.Border.EDGE)(image), np.pad(image, [(1, 1), (1, 1), (0, 0)], "edge"))
    assert V.Pad((2, 1), (1, 2, 3))(numbered(4, 6, 3))[0, 0].tolist() == [1, 2, 3]
    assert V.Resize(2)(image).shape == (2, 3, 1) and V.Resize((3, 3))(image[..., 0]).shape == (3, 3)


def test_a_batch_is_transformed_like_its_images():
    images = numbered(5, 6, 8, 3, dtype=np.uint8)
    chain = T.Compose(
        [V.Resize((4, 7)), V.Pad(1), V.Rescale(1 / 255, 0), V.Normalize([0.1] * 3, [0.3] * 3), V.HWC2CHW()]
    )
    assert np.allclose(chain(images), np.stack([chain(image) for image in images]), atol=1e-6)


@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_bilinear_against_the_formula_pixel_by_pixel(h, w, out_h, out_w, seed):
    image = np.random.default_rng(seed).standard_normal((h, w))
    got = V.Resize((out_h, out_w))(image)
    for i in range(out_h):
        for j in range(out_w):
            y = min(max((i + 0.5) * h / out_h - 0.5, 0), h - 1)
            x = min(max((j + 0.5) * w / out_w - 0.5, 0), w - 1)
            y0, x0 = int(y), int(x)
            y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
            top = image[y0, x0] * (1 - (x - x0)) + image[y0, x1] * (x - x0)
            low = image[y1, x0] * (1 - (x - x0)) + image[y1, x1] * (x - x0)
            assert abs(got[i, j] - (top * (1 - (y - y0)) + low * (y - y0))) < 1e-9


def test_resize_of_integers_rounds_and_nearest_keeps_values():
    image = np.uint8([[0, 255]])
    assert V.Resize((1, 4))(image).tolist() == [[0, 64, 191, 255]]
    assert V.Resize((2, 4), V.Inter.NEAREST)(image).tolist() == [[0, 0, 255, 255]] * 2
    assert V.Inter.LINEAR is V.Inter.BILINEAR


def test_random_crops_stay_inside_and_reach_every_place():
    ds.config.set_seed(0)
    image = numbered(5, 5, 1)
    corners = {int(V.RandomCrop(3)(image)[0, 0, 0]) for _ in range(300)}
    assert corners == {5 * i + j for i in range(3) for j in range(3)}
    assert V.RandomCrop(5, padding=2)(image).shape == (5, 5, 1)
    assert V.RandomCrop(8, pad_if_needed=True)(image).shape == (8, 8, 1)
    for _ in range(50):
        part = V.RandomResizedCrop((4, 6))(numbered(9, 7, 3))
        assert part.shape == (4, 6, 3) and 0 <= part.min() <= part.max() < 9 * 7 * 3
    flipped = sum(V.RandomHorizontalFlip(0.25)(image)[0, 0, 0] == 4 for _ in range(1000))
    assert 180 < flipped < 320
    assert V.RandomVerticalFlip(1.0)(image)[0, 0, 0] == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: V.Rescale("a", 0), "rescale must be a number"),
        (lambda: V.Rescale(1, 0)(np.zeros(3)), "expects an image"),
        (lambda: V.Normalize([1, 2], [1]), "one number per channel"),
        (lambda: V.Normalize([1], [0]), "std must be positive"),
        (lambda: V.Normalize([1, 2], [1, 2])(np.zeros((4, 4, 3))), "2 channels, the image .* has 3"),
        (lambda: V.Resize(0), "at least 1"),
        (lambda: V.Resize((1, 2, 3)), "height, width"),
        (lambda: V.Resize(3, "bilinear"), "Inter.BILINEAR"),
        (lambda: V.Resize(3)(np.zeros((0, 3, 1))), "without pixels"),
        (lambda: V.Crop((0, 0), 5)(np.zeros((4, 4))), "reaches over the image 4x4"),
        (lambda: V.Crop(0, 5), "row, column"),
        (lambda: V.RandomCrop(5)(np.zeros((4, 4))), "reaches over"),
        (lambda: V.RandomHorizontalFlip(2), r"\[0, 1\]"),
        (lambda: V.Pad((1, 2, 3)), "1, 2 or 4"),
        (lambda: V.Pad(-1), "at least 0"),
        (lambda: V.Pad(1, padding_mode="edge"), "must be a Border"),
        (lambda: V.Pad(1, (1, 2))(np.zeros((2, 2, 3))), "one per channel"),
        (lambda: V.RandomResizedCrop(3, scale=(1, 0.5)), "low <= high"),
        (lambda: V.HWC2CHW()(np.array([["a"]])), "image of numbers"),
    ],
)
def test_vision_refusals(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
