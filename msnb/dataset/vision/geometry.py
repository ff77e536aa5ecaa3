"""Transforms of an image's geometry: resize, crop, pad, flip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, DatasetError, ShapeError
from msnb.dataset.pipeline.rows import Array, check_count, describe
from msnb.dataset.vision.enums import Border, Inter
from msnb.dataset.vision.images import ImageTransform, check_interpolation, four_sides, pad_image, two_sides
from msnb.dataset.vision.resampling import resize

__all__ = ["CenterCrop", "Crop", "HorizontalFlip", "Pad", "Resize", "VerticalFlip"]


def resized(value: Array, size: tuple[int, int], method: str) -> Array:
    """[..., h, w, c] to `size`, dtype kept: integers are rounded and clipped to their range."""
    if 0 in value.shape[-3:-1]:
        raise DatasetError(f"an image without pixels, {describe(value)}, cannot be resized")
    out = resize(value, size, method)
    if value.dtype.kind in "iu" and out.dtype != value.dtype:
        limits = np.iinfo(value.dtype)
        return np.rint(out).clip(limits.min, limits.max).astype(value.dtype)
    return out.astype(value.dtype, copy=False)


_FILTERS = {"nearest": 0, "bilinear": 2, "bicubic": 3}


def resized_picture(picture: Any, size: tuple[int, int], method: str) -> Any:
    """A picture of Pillow's as Pillow resizes it: where it becomes smaller, all pixels count."""
    if method not in _FILTERS:
        raise ArgumentError(f"a picture of Pillow's is not resized with {method!r}",
                            hint="Inter.BILINEAR, BICUBIC or NEAREST; or ToNumpy() before.")  # fmt: skip
    return picture.resize(size[::-1], _FILTERS[method])


class Resize(ImageTransform):
    """To (height, width); with one number the shorter side gets it and the shape is kept.

    Arrays are resized as OpenCV does, pictures of Pillow's as Pillow does.

    >>> Resize((4, 6))(np.zeros((2, 2, 1), np.uint8)).shape
    (4, 6, 1)
    """

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR) -> None:
        self.keeps_shape: bool = not isinstance(size, (tuple, list))
        self.size: tuple[int, int] = two_sides(size, "size")
        self.method: str = check_interpolation(interpolation)

    def image(self, value: Array) -> Array:
        return resized(value, self._target(value.shape[-3], value.shape[-2]), self.method)

    def of_picture(self, value: Any) -> Any:
        return resized_picture(value, self._target(value.height, value.width), self.method)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not self.keeps_shape or not height or not width:
            return self.size
        side = self.size[0]
        return (side, side * width // height) if height <= width else (side * height // width, side)


class Crop(ImageTransform):
    """The window of `size` whose upper left corner is at coordinates (row, column)."""

    top: int
    left: int

    def __init__(self, coordinates: Sequence[int], size: int | Sequence[int]) -> None:
        if not isinstance(coordinates, (tuple, list)) or len(coordinates) != 2:
            raise ArgumentError(f"Crop: coordinates must be (row, column), got {coordinates!r}")
        self.top, self.left = (check_count(c, "Crop: coordinate", least=0) for c in coordinates)
        self.size: tuple[int, int] = two_sides(size, "size")

    def image(self, value: Array) -> Array:
        return window(value, self.top, self.left, self.size, "Crop")


def window(value: Array, top: int, left: int, size: tuple[int, int], what: str) -> Array:
    """The part of an image, or an error if it reaches over the edge."""
    height, width = value.shape[-3:-1]
    check_window(height, width, top, left, size, what)
    return value[..., top : top + size[0], left : left + size[1], :]


def check_window(height: int, width: int, top: int, left: int, size: tuple[int, int], what: str) -> None:
    """Raises a ShapeError where a window reaches over the edge of an image."""
    if top + size[0] > height or left + size[1] > width:
        raise ShapeError(
            f"{what}: a window of {size[0]}x{size[1]} at ({top}, {left}) reaches over the image {height}x{width}",
            hint="resize or pad the image first",
        )


class CenterCrop(ImageTransform):
    """The middle `size` of the image; where the image is smaller it is padded with zeros.

    >>> CenterCrop(1)(np.arange(9).reshape(3, 3)).item()
    4
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size: tuple[int, int] = two_sides(size, "size")

    def image(self, value: Array) -> Array:
        need_h, need_w = (max(0, want - have) for want, have in zip(self.size, value.shape[-3:-1], strict=True))
        if need_h or need_w:
            sides = (need_w // 2, need_h // 2, need_w - need_w // 2, need_h - need_h // 2)
            value = pad_image(value, sides, 0, Border.CONSTANT)
        height, width = value.shape[-3:-1]
        return window(value, (height - self.size[0]) // 2, (width - self.size[1]) // 2, self.size, "CenterCrop")


class Pad(ImageTransform):
    """Adds a border: `padding` is one width, (left/right, top/bottom) or (left, top, right, bottom).

    >>> Pad(2)(np.ones((28, 28, 1))).shape
    (32, 32, 1)
    """

    def __init__(
        self, padding: int | Sequence[int], fill_value: Any = 0, padding_mode: Border = Border.CONSTANT
    ) -> None:
        if not isinstance(padding_mode, Border):
            raise ArgumentError(f"padding_mode must be a Border, got {padding_mode!r}")
        self.sides: tuple[int, int, int, int] = four_sides(padding)
        self.fill: Any = fill_value
        self.border: Border = padding_mode

    def image(self, value: Array) -> Array:
        return pad_image(value, self.sides, self.fill, self.border)


class HorizontalFlip(ImageTransform):
    """Left becomes right."""

    def image(self, value: Array) -> Array:
        return value[..., ::-1, :].copy()


class VerticalFlip(ImageTransform):
    """Top becomes bottom."""

    def image(self, value: Array) -> Array:
        return value[..., ::-1, :, :].copy()
