"""Where transforms of images put pixels and how they round, against values of MindSpore 2.10 on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from msnb.dataset import vision
from msnb.dataset.vision import Inter

RAMP = (np.add.outer(np.arange(4) * 40, np.arange(5) * 11)[..., None] + np.array([0, 20, 40])).astype(np.uint8)
PICTURE = Image.fromarray(RAMP)
PHOTO = np.random.default_rng(0).integers(0, 256, (24, 32, 3)).astype(np.uint8)


EXPANDED: list[tuple[float, Any, Inter, Any]] = [
    (
        30,
        None,
        Inter.BILINEAR,
        [
            [0, 0, 1, 21, 27, 0],
            [0, 5, 21, 48, 78, 25],
            [0, 19, 48, 78, 107, 101],
            [11, 48, 78, 107, 137, 141],
            [0, 64, 106, 136, 78, 5],
            [0, 36, 80, 21, 0, 0],
        ],
    ),
    (
        30,
        (1, 1),
        Inter.BILINEAR,
        [
            [0, 0, 11, 33, 62, 10],
            [0, 8, 32, 62, 91, 73],
            [4, 32, 62, 91, 121, 150],
            [3, 57, 91, 121, 138, 69],
            [0, 39, 119, 79, 13, 0],
            [0, 0, 21, 0, 0, 0],
        ],
    ),
    (
        -45.5,
        None,
        Inter.BICUBIC,
        [
            [0, 0, 0, 0, 0, 0],
            [0, 38, 36, 15, 4, 0],
            [77, 109, 71, 47, 31, 10],
            [52, 137, 114, 87, 66, 50],
            [0, 53, 153, 131, 109, 32],
            [0, 0, 66, 182, 60, 0],
        ],
    ),
    (
        90,
        (1, 2),
        Inter.NEAREST,
        [[124, 164, 0, 0], [113, 153, 0, 0], [102, 142, 0, 0], [91, 131, 0, 0], [80, 120, 0, 0]],
    ),
    (
        90,
        None,
        Inter.NEAREST,
        [[44, 84, 124, 164], [33, 73, 113, 153], [22, 62, 102, 142], [11, 51, 91, 131], [0, 40, 80, 120]],
    ),
    (
        180,
        None,
        Inter.BILINEAR,
        [[164, 153, 142, 131, 120], [124, 113, 102, 91, 80], [84, 73, 62, 51, 40], [44, 33, 22, 11, 0]],
    ),
]


@pytest.mark.parametrize(("degrees", "center", "method", "expected"), EXPANDED)
def test_expanded_rotations(degrees: float, center: Any, method: Inter, expected: Any) -> None:
    found = vision.Rotate(degrees, method, True, center)(RAMP)[..., 0]
    assert found.shape == np.shape(expected)
    assert np.abs(found.astype(int) - expected).max() <= 1  # OpenCV's weights are whole numbers


def test_cubic_is_not_linear() -> None:
    linear, cubic = (vision.Rotate(30, method)(PHOTO).astype(int) for method in (Inter.BILINEAR, Inter.BICUBIC))
    assert np.abs(linear - cubic).max() > 20
    start, end = [[0, 0], [31, 0], [31, 23], [0, 23]], [[2, 3], [28, 1], [30, 20], [1, 22]]
    linear, cubic = (vision.Perspective(start, end, method)(PHOTO) for method in (Inter.BILINEAR, Inter.BICUBIC))
    assert (linear != cubic).mean() > 0.5
    with pytest.raises(ValueError, match="on one line"):
        vision.Perspective([[0, 0], [1, 1], [2, 2], [3, 3]], [[0, 0], [1, 1], [2, 2], [3, 3]])(PICTURE)


def test_turns_that_change_nothing() -> None:
    for method in (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC):
        np.testing.assert_array_equal(vision.Rotate(0, method)(PHOTO), PHOTO)
        for quarter in (1, 2, 3):
            turned = vision.Rotate(90 * quarter, method, True)(PHOTO)
            np.testing.assert_array_equal(turned, np.rot90(PHOTO, quarter))


def test_perspective_of_a_picture_is_pillows() -> None:
    start, end = [[0, 0], [4, 0], [4, 3], [0, 3]], [[0, 0], [4, 0], [4, 3], [0, 3]]
    for method in (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC):
        found = vision.Perspective(start, end, method)(PICTURE)
        assert isinstance(found, Image.Image)
        np.testing.assert_array_equal(np.asarray(found), RAMP)


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 1.7])
def test_colours_of_a_picture_are_pillows(factor: float) -> None:
    kinds = {"Brightness": vision.AdjustBrightness, "Contrast": vision.AdjustContrast, "Color": vision.AdjustSaturation}
    for name, transform in kinds.items():
        for picture in (PICTURE, PICTURE.convert("L")):
            wanted = np.asarray(getattr(ImageEnhance, name)(picture).enhance(factor))
            np.testing.assert_array_equal(np.asarray(transform(factor)(picture)), wanted)
    drawn = vision.RandomColorAdjust((factor, factor), (1, 1), (1, 1), (0, 0))(PICTURE)
    np.testing.assert_array_equal(np.asarray(drawn), np.asarray(ImageEnhance.Brightness(PICTURE).enhance(factor)))
    assert isinstance(vision.RandomColor((factor, factor))(PICTURE), Image.Image)


def test_hue_of_a_picture() -> None:
    hue = np.asarray(PICTURE.convert("HSV"))[..., 0]
    found = vision.AdjustHue(0.25)(PICTURE)
    assert isinstance(found, Image.Image)
    moved = np.asarray(found.convert("HSV"))[..., 0].astype(int)
    assert np.abs((moved - hue.astype(int)) % 256 - 63).max() <= 3  # HSV of bytes there and back
    assert vision.AdjustHue(0.25)(PICTURE.convert("L")).mode == "L"


def test_saturation_of_bytes_has_whole_greys() -> None:
    found = vision.AdjustSaturation(0.3)(np.array([[[10, 50, 91]]], np.uint8))  # grey 42.71: 43
    np.testing.assert_array_equal(found, [[[33, 45, 57]]])


def test_width_gives_the_deviation() -> None:
    blurred = vision.GaussianBlur((3, 5))(PHOTO)
    np.testing.assert_array_equal(blurred, vision.GaussianBlur((3, 5), (0.8, 0.8))(PHOTO))
    with pytest.raises(ValueError):
        vision.GaussianBlur((4, 5))
