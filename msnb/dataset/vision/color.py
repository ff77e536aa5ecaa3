"""Colours: brighter, greyer, turned around the wheel; each by a fixed amount, or by one drawn per picture.

    out = grey + factor * (image - grey)      brightness: grey is black, contrast: the mean, saturation: the pixel's own

Whole numbers go from 0 to 255 and stay there; floats are not cut.
Source: `mindspore.dataset.vision` (AdjustBrightness, RandomColorAdjust ...)
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DatasetError
from msnb.dataset.pipeline import Array, describe, draws
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.images import ImageTransform, like

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustHue", "AdjustSaturation", "Grayscale", "RandomColorAdjust",
    "RandomGrayscale",
]  # fmt: skip

_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)


def _need_colours(value: Array, what: str) -> None:
    if value.shape[-1] != 3:
        raise DatasetError(f"{what} expects three colours on the last axis, got {describe(value)}")


def grey_of(image: Array) -> Array:
    """How bright each pixel is, [..., h, w, 1]."""
    return np.asarray((image.astype(np.float32) @ _WEIGHTS)[..., np.newaxis])


def _towards(image: Array, grey: Any, factor: float) -> Array:
    return like(grey + np.float32(factor) * (image.astype(np.float32) - grey), image)


def brightened(image: Array, factor: float) -> Array:
    """0 is black, 1 the image."""
    return _towards(image, np.float32(0), factor)


def contrasted(image: Array, factor: float) -> Array:
    """0 is the mean everywhere, 1 the image."""
    return _towards(image, np.rint(grey_of(image).mean(axis=(-3, -2), keepdims=True)), factor)


def saturated(image: Array, factor: float) -> Array:
    """0 is grey, 1 the image; of whole numbers the greys are whole, as OpenCV's."""
    grey = grey_of(image)
    return _towards(image, grey if image.dtype.kind == "f" else np.rint(grey), factor)


def enhanced(picture: Any, what: str, factor: float) -> Any:
    """A picture of Pillow's, changed and rounded as Pillow does it: its "Brightness", "Contrast", "Color" or "Hue"."""
    if what != "Hue":
        return getattr(importlib.import_module("PIL.ImageEnhance"), what)(picture).enhance(factor)
    if picture.mode in ("L", "1", "I", "F"):
        return picture
    hue, *rest = picture.convert("HSV").split()
    moved = hue.point([(level + int(factor * 255)) % 256 for level in range(256)])
    return importlib.import_module("PIL.Image").merge("HSV", (moved, *rest)).convert(picture.mode)


def turned(image: Array, factor: float) -> Array:
    """Hues moved by ``factor`` of the whole wheel; brightness and saturation stay."""
    top = np.float32(1 if image.dtype.kind == "f" else 255)
    rgb = image.astype(np.float32) / top
    high, low = rgb.max(-1), rgb.min(-1)
    span = np.where(high > low, high - low, np.float32(1))
    r, g, b = np.moveaxis(rgb, -1, 0)
    sector = np.where(high == r, (g - b) / span, np.where(high == g, 2 + (b - r) / span, 4 + (r - g) / span))
    places = (np.array([5, 3, 1], np.float32) + (sector + 6 * factor)[..., np.newaxis]) % 6
    depth = (high - low)[..., np.newaxis] * np.clip(np.minimum(places, 4 - places), 0, 1)
    return like((high[..., np.newaxis] - depth) * top, image)


class _Adjust(ImageTransform):
    change: Any
    enhancement: str
    least, most = 0.0, float("inf")

    def __init__(self, factor: float) -> None:
        name = type(self).__name__
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not self.least <= factor <= self.most:
            raise AttributeValueError(f"{name}: the factor lies from {self.least} to {self.most}, got {factor!r}")
        self.factor = float(factor)

    def image(self, value: Array) -> Array:
        _need_colours(value, type(self).__name__)
        return np.asarray(type(self).change(value, self.factor))

    def of_picture(self, value: Any) -> Any:
        return enhanced(value, self.enhancement, self.factor)


class AdjustBrightness(_Adjust):
    """Every colour times `brightness_factor`."""

    change: Any = staticmethod(brightened)
    enhancement = "Brightness"

    def __init__(self, brightness_factor: float) -> None:
        super().__init__(brightness_factor)


class AdjustContrast(_Adjust):
    """Every colour's distance to the mean times `contrast_factor`."""

    change: Any = staticmethod(contrasted)
    enhancement = "Contrast"

    def __init__(self, contrast_factor: float) -> None:
        super().__init__(contrast_factor)


class AdjustSaturation(_Adjust):
    """Every colour's distance to the pixel's grey times `saturation_factor`."""

    change: Any = staticmethod(saturated)
    enhancement = "Color"

    def __init__(self, saturation_factor: float) -> None:
        super().__init__(saturation_factor)


class AdjustHue(_Adjust):
    """Hues moved by `hue_factor`, from -0.5 to 0.5 of the wheel."""

    change, least, most = staticmethod(turned), -0.5, 0.5
    enhancement = "Hue"

    def __init__(self, hue_factor: float) -> None:
        super().__init__(hue_factor)


def _factors(name: str, given: Any) -> tuple[float, float]:
    low, high = given if isinstance(given, (tuple, list)) else (max(1 - given, 0), 1 + given)
    if not 0 <= low <= high:
        raise AttributeValueError(f"RandomColorAdjust: {name} is a number or (low, high) from 0 on, got {given!r}")
    return float(low), float(high)


def _shares(given: Any) -> tuple[float, float]:
    low, high = given if isinstance(given, (tuple, list)) else (-given, given)
    if not -0.5 <= low <= high <= 0.5:
        raise AttributeValueError(f"RandomColorAdjust: hue lies within -0.5 and 0.5, got {given!r}")
    return float(low), float(high)


class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue, each changed by an amount that is drawn per picture.

    Args:
        brightness, contrast, saturation: (low, high) of the factor, or a number b for (1 - b, 1 + b).
        hue: (low, high) within -0.5 and 0.5, or a number h for (-h, h).
    """

    spans: list[tuple[float, float]]

    def __init__(
        self, brightness: Any = (1, 1), contrast: Any = (1, 1), saturation: Any = (1, 1), hue: Any = (0, 0)
    ) -> None:
        factors = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
        self.spans = [*(_factors(name, given) for name, given in factors.items()), _shares(hue)]

    def image(self, value: Array) -> Array:
        _need_colours(value, "RandomColorAdjust")
        return np.asarray(self._changed(value, (brightened, contrasted, saturated, turned)))

    def of_picture(self, value: Any) -> Any:
        names = ("Brightness", "Contrast", "Color", "Hue")
        return self._changed(value, [partial(enhanced, what=name) for name in names])

    def _changed(self, value: Any, changes: Any) -> Any:
        for change, (low, high), still in zip(changes, self.spans, (1, 1, 1, 0)):
            if low < high or low != still:
                value = change(value, factor=float(draws().uniform(low, high)))
        return value


class Grayscale(ImageTransform):
    """Colours to grey, in one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise AttributeValueError(f"Grayscale: num_output_channels is 1 or 3, got {num_output_channels!r}")
        self.channels = num_output_channels

    def image(self, value: Array) -> Array:
        _need_colours(value, "Grayscale")
        return np.repeat(like(grey_of(value), value), self.channels, axis=-1)


class RandomGrayscale(Grayscale):
    """Colours to three equal greys with probability `prob`."""

    def __init__(self, prob: float = 0.1) -> None:
        super().__init__(3)
        self.prob: float = check_probability(prob, "RandomGrayscale")

    def image(self, value: Array) -> Array:
        return super().image(value) if draws().random() < self.prob else value
