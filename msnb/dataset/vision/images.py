"""What image transforms share: the one idea of what an image is.

An image is [..., height, width, channel]; a plain [height, width] is taken as one channel and given back as it came.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError, ShapeError
from msnb.dataset.pipeline.rows import Array, check_count, describe, is_picture
from msnb.dataset.transforms.basic import Transform
from msnb.dataset.vision.enums import Border, Inter


class ImageTransform(Transform):
    """A transform of [..., h, w, c]: subclasses define `image(array) -> array`; [h, w] is lent a channel axis.

    Called with a picture of Pillow's it gives one, or several.
    """

    gives_pictures = True

    def __call__(self, value: Any) -> Any:
        if not self.gives_pictures or not is_picture(value):
            return super().__call__(value)
        return as_picture(self.of_picture(value), sys.modules["PIL.Image"])

    def of_picture(self, value: Any) -> Any:
        """What becomes of a picture of Pillow's: pixels, or a picture."""
        return super().__call__(value)

    def apply(self, value: Array) -> Any:
        check_image(value, type(self).__name__)
        return self.image(value[..., np.newaxis])[..., 0] if value.ndim == 2 else self.image(value)

    def image(self, value: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define image(array)")


def as_picture(value: Any, pillow: Any) -> Any:
    """Pixels, bytes from 0 to 255, as a picture of Pillow's (``Image`` is its module); each of several; others as they
    are."""
    if isinstance(value, tuple):
        return tuple([as_picture(part, pillow) for part in value])
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim not in (2, 3):
        return value
    if value.ndim == 3 and value.shape[2] == 1:
        value = value[..., 0]
    return pillow.fromarray(value) if value.ndim == 2 or value.shape[2] in (3, 4) else value


def check_image(value: Array, what: str) -> None:
    if value.ndim < 2:
        raise DatasetError(
            f"{what} expects an image [height, width, channel] or [height, width], got {describe(value)}"
        )
    if value.dtype.kind not in "biuf":
        raise DatasetError(f"{what} expects an image of numbers, got {describe(value)}")


def two_sides(size: Any, what: str) -> tuple[int, int]:
    """`n` or (height, width)."""
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2:
        raise AttributeValueError(f"{what} must be an integer or (height, width), got {size!r}")
    return check_count(sides[0], f"{what}: height"), check_count(sides[1], f"{what}: width")


def check_interpolation(value: Any) -> str:
    if not isinstance(value, Inter):
        raise ArgumentError(f"interpolation must be Inter.BILINEAR, Inter.BICUBIC or Inter.NEAREST, got {value!r}")
    if value is Inter.ANTIALIAS:
        raise ArgumentError("Inter.ANTIALIAS is for images of PIL only", hint="Inter.AREA or Inter.PILCUBIC.")
    return str(value.value)


def four_sides(padding: Any) -> tuple[int, int, int, int]:
    """MindSpore's padding as (left, top, right, bottom): one number, (left/right, top/bottom), or all four."""
    parts = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)
    numbers = [check_count(p, "padding", least=0) for p in parts]
    if len(numbers) == 1:
        return (numbers[0],) * 4
    if len(numbers) == 2:
        return (numbers[0], numbers[1], numbers[0], numbers[1])
    if len(numbers) == 4:
        return (numbers[0], numbers[1], numbers[2], numbers[3])
    raise AttributeValueError(f"padding must be 1, 2 or 4 numbers, got {padding!r}")


def pad_image(value: Array, sides: tuple[int, int, int, int], fill: Any, border: Border) -> Array:
    """Pads [..., h, w, c] by (left, top, right, bottom); `fill` is a number or one per channel."""
    left, top, right, bottom = sides
    if border is not Border.CONSTANT:
        widths = [(0, 0)] * (value.ndim - 3) + [(top, bottom), (left, right), (0, 0)]
        return np.pad(value, widths, mode=border.value)
    *lead, height, width, channels = value.shape
    filling = np.asarray(fill)
    if filling.ndim and filling.shape != (channels,):
        raise ShapeError(f"fill_value must be one number or one per channel ({channels}), got {fill!r}")
    out = np.empty((*lead, top + height + bottom, left + width + right, channels), value.dtype)
    out[...] = filling
    out[..., top : top + height, left : left + width, :] = value
    return out


def check_number(value: Any, what: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ArgumentError(f"{what} must be a number, got {type(value).__name__} {value!r}")
    if not least <= value <= most:
        raise AttributeValueError(f"{what} must lie from {least} to {most}, got {value}")
    return float(value)


def as_range(value: Any, what: str, least: float = -math.inf, most: float = math.inf) -> tuple[float, float]:
    """(low, high), or d for (-d, d)."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (-check_number(value, what, 0), value)
    if len(pair) != 2:
        raise AttributeValueError(f"{what} is a number or (low, high), got {value!r}")
    low, high = (check_number(part, what, least, most) for part in pair)
    if low > high:
        raise AttributeValueError(f"{what}: low {low} is above high {high}")
    return low, high


def like(value: Array, image: Array) -> Array:
    """A result as pixels of the image's kind: whole numbers are rounded and stay from 0 to 255, floats are not cut."""
    if image.dtype.kind == "f":
        return value.astype(image.dtype)
    return np.clip(np.rint(value), 0, 255).astype(image.dtype)
