"""Resizing by what a pixel covers, and by a kernel that is as wide: numbers of OpenCV's INTER_AREA and of Pillow."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from msnb.dataset import vision
from msnb.dataset.vision import Inter

PICTURE = np.random.default_rng(0).integers(0, 256, (12, 17, 3), dtype=np.uint8)


@pytest.mark.parametrize("size", [(6, 5), (20, 30), (12, 17), (3, 4)])
def test_pilcubic_is_pillows(size: tuple[int, int]) -> None:
    want = np.asarray(Image.fromarray(PICTURE).resize(size[::-1], Image.Resampling.BICUBIC))
    np.testing.assert_array_equal(vision.Resize(size, Inter.PILCUBIC)(PICTURE), want)


def test_area_is_the_mean_of_what_a_pixel_covers() -> None:
    row = np.array([[0.0, 1.0, 2.0, 6.0]], np.float32)
    np.testing.assert_allclose(vision.Resize((1, 2), Inter.AREA)(row), [[0.5, 4.0]])
    np.testing.assert_allclose(vision.Resize((1, 3), Inter.AREA)(row), [[0.25, 1.5, 5.0]], rtol=1e-6)
    blocks = PICTURE[:, :16].reshape(6, 2, 8, 2, 3).mean((1, 3))
    np.testing.assert_allclose(vision.Resize((6, 8), Inter.AREA)(PICTURE[:, :16].astype(np.float32)), blocks, rtol=1e-5)


def test_area_to_a_larger_size_keeps_pixels_whole() -> None:
    row = np.array([[0.0, 1.0]], np.float32)
    assert vision.Resize((1, 4), Inter.AREA)(row).tolist() == [[0.0, 0.0, 1.0, 1.0]]
    np.testing.assert_allclose(vision.Resize((1, 3), Inter.AREA)(row), [[0.0, 0.5, 1.0]])


def test_antialias_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Inter.ANTIALIAS is for images of PIL only"):
        vision.Resize(4, Inter.ANTIALIAS)
    assert vision.RandomResize((5, 6))(PICTURE).shape == (5, 6, 3)
