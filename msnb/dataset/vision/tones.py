"""Tones: levels spread, cut, turned around; edges softened or sharpened; colour orders and spaces.

    AutoContrast  darkest to 0, brightest to 255       Equalize   as many pixels on every level
    Posterize     upper bits only                      Solarize   values of a range inverted

Source: `mindspore.dataset.vision`; the arithmetic of levels is Pillow's ImageOps.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline import Array, check_count, describe, draws
from msnb.dataset.transforms.basic import Transform
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.color import enhanced, grey_of, saturated
from msnb.dataset.vision.images import ImageTransform, as_range, check_number, like
from msnb.dataset.vision.pixel_values import Invert

__all__ = [
    "AdjustGamma", "AdjustSharpness", "AutoContrast", "ConvertColor", "ConvertMode", "Equalize", "GaussianBlur",
    "HsvToRgb", "Posterize", "RandomAdjustSharpness", "RandomAutoContrast", "RandomColor", "RandomEqualize",
    "RandomInvert", "RandomLighting", "RandomPosterize", "RandomSharpness", "RandomSolarize", "RgbToHsv", "Solarize",
]  # fmt: skip


class Chance:
    """Before an image transform among the bases: it is done with probability `prob`, else the image stays."""

    prob: float = 0.5

    def __init__(self, prob: float = 0.5) -> None:
        super().__init__()
        self.prob = check_probability(prob, type(self).__name__)

    def apply(self, value: Array) -> Any:
        return super().apply(value) if draws().random() < self.prob else value  # type: ignore[misc]


def _by_table(image: Array, table_of: Callable[[Array], Array], what: str) -> Array:
    """Each channel of each image through a table of 256 levels, made from how often each level occurs."""
    if image.dtype != np.uint8:
        raise DatasetError(f"{what} expects uint8 pixels, got {describe(image)}", hint="before Rescale and Normalize")
    out = np.empty_like(image)
    for place in np.ndindex(*image.shape[:-3]):
        for channel in range(image.shape[-1]):
            plane = image[(*place, ..., channel)]
            out[(*place, ..., channel)] = table_of(np.bincount(plane.ravel(), minlength=256))[plane]
    return out


def stretched(image: Array, cutoff: float = 0.0, ignore: Sequence[int] = ()) -> Array:
    """Levels spread so that the darkest is 0 and the brightest 255, `cutoff` percent left out at either end."""

    def table(counts: Array) -> Array:
        counts = counts.copy()
        counts[list(ignore)] = 0
        cut = int(counts.sum() * cutoff // 100)
        low = int(np.searchsorted(np.cumsum(counts), cut, "right")) if counts.any() else 0
        high = 255 - int(np.searchsorted(np.cumsum(counts[::-1]), cut, "right")) if counts.any() else 0
        if high <= low:
            return np.arange(256, dtype=np.uint8)
        scale = 255.0 / (high - low)
        return np.asarray(np.clip(np.trunc(np.arange(256) * scale - low * scale), 0, 255), np.uint8)

    return _by_table(image, table, "AutoContrast")


def equalized(image: Array) -> Array:
    """Levels moved so that all occur equally often."""

    def table(counts: Array) -> Array:
        darkest = int(np.argmax(counts > 0))
        others = int(counts.sum() - counts[darkest])
        if not others:
            return np.arange(256, dtype=np.uint8)
        above = np.maximum(np.cumsum(counts) - counts[darkest], 0).astype(np.float32)
        return np.asarray(np.rint(above * np.float32(255.0 / others)), np.uint8)

    return _by_table(image, table, "Equalize")


def posterized(image: Array, bits: int) -> Array:
    """The upper `bits` bits of every level."""
    if image.dtype != np.uint8:
        raise DatasetError(f"Posterize expects uint8 pixels, got {describe(image)}")
    return image & np.uint8(256 - (1 << (8 - bits)))


def solarized(image: Array, low: float, high: float) -> Array:
    """Levels from `low` to `high` inverted; where both are one level, all from there on."""
    return np.where((image >= low) & ((image <= high) | (low == high)), np.asarray(255 - image, image.dtype), image)


def sharpened(image: Array, factor: float) -> Array:
    """0 is softened, 1 the image, above 1 sharper; the border stays."""
    real = image.astype(np.float32)
    soft = real.copy()
    if min(image.shape[-3:-1]) > 2:
        height, width = image.shape[-3:-1]
        around = sum(real[..., dy : height - 2 + dy, dx : width - 2 + dx, :] for dy in range(3) for dx in range(3))
        inner = (around + 4 * real[..., 1:-1, 1:-1, :]) / np.float32(13)
        soft[..., 1:-1, 1:-1, :] = inner if image.dtype.kind == "f" else np.trunc(inner + 0.5)
    return like(soft + np.float32(factor) * (real - soft), image)


class AutoContrast(ImageTransform):
    """The darkest level becomes 0, the brightest 255, channel by channel; `cutoff` percent at either end do not count,
    nor the levels `ignore`."""

    def __init__(self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None) -> None:
        super().__init__()
        self.cutoff: float = check_number(cutoff, f"{type(self).__name__}: cutoff", 0, 49.999)
        listed = ignore if isinstance(ignore, (list, tuple)) else () if ignore is None else (ignore,)
        self.ignore: list[int] = [int(check_number(level, "ignore", 0, 255)) for level in listed]

    def image(self, value: Array) -> Array:
        return stretched(value, self.cutoff, self.ignore)


class Equalize(ImageTransform):
    """As many pixels on every level, channel by channel: of arrays as OpenCV does, of Pillow's pictures as Pillow."""

    def image(self, value: Array) -> Array:
        return equalized(value)

    def of_picture(self, value: Any) -> Any:
        return importlib.import_module("PIL.ImageOps").equalize(value)


class Posterize(ImageTransform):
    """The upper `bits` (0 to 8) bits of every level."""

    def __init__(self, bits: int) -> None:
        self.bits: int = int(check_number(check_count(bits, "Posterize: bits", 0), "Posterize: bits", 0, 8))

    def image(self, value: Array) -> Array:
        return posterized(value, self.bits)


class Solarize(ImageTransform):
    """Levels within `threshold`, (low, high), are inverted; of one level, all from there on."""

    low: float
    high: float

    def __init__(self, threshold: float | Sequence[float]) -> None:
        pair = threshold if isinstance(threshold, (tuple, list)) else (threshold, threshold)
        self.low, self.high = as_range(pair, "Solarize: threshold", 0, 255)

    def image(self, value: Array) -> Array:
        return solarized(value, self.low, self.high)


class AdjustGamma(ImageTransform):
    """256 * gain * (level / 255) ** gamma, cut off to a level; floats, from 0 to 1: gain * value ** gamma."""

    def __init__(self, gamma: float, gain: float = 1.0) -> None:
        self.gamma: float = check_number(gamma, "AdjustGamma: gamma", 0)
        self.gain: float = check_number(gain, "AdjustGamma: gain")

    def image(self, value: Array) -> Array:
        if value.dtype.kind == "f":
            return like(np.clip(self.gain * value ** np.float32(self.gamma), 0, 1), value)
        # just under 256, so that the brightest level stays and each level has an equal share
        return like(np.floor(255.999 * self.gain * (value / 255.0) ** self.gamma), value)


class AdjustSharpness(ImageTransform):
    """0 softens, 1 keeps, 2 sharpens."""

    def __init__(self, sharpness_factor: float) -> None:
        self.factor: float = check_number(sharpness_factor, "AdjustSharpness: sharpness_factor", 0)

    def image(self, value: Array) -> Array:
        return sharpened(value, self.factor)


class GaussianBlur(ImageTransform):
    """Softened by a Gaussian of `kernel_size` (odd; or (width, height)) and `sigma` (default: 0.3 * ((width - 1) / 2
    - 1) + 0.8, upwards too); the image is mirrored at its border."""

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> None:
        sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
        self.sizes: list[int] = [check_count(size, "GaussianBlur: kernel_size") for size in sizes]
        if len(self.sizes) != 2 or any(size % 2 == 0 for size in self.sizes):
            raise AttributeValueError(f"GaussianBlur: kernel_size is odd, or two odd numbers, got {kernel_size!r}")
        wide, high = sigma if isinstance(sigma, (tuple, list)) else (sigma, sigma)
        wide = wide or 0.3 * ((self.sizes[0] - 1) * 0.5 - 1) + 0.8
        self.sigmas: list[float] = [check_number(s, "GaussianBlur: sigma", 0) for s in (wide, high or wide)]

    def image(self, value: Array) -> Array:
        out = value.astype(np.float32)
        for axis, size, sigma in zip((-2, -3), self.sizes, self.sigmas, strict=True):
            half, length = size // 2, value.shape[axis]
            weights = np.exp(-((np.arange(size) - half) ** 2) / (2 * sigma * sigma))
            weights = (weights / weights.sum()).astype(np.float32)
            places = np.arange(-half, length + half)
            period = max(2 * (length - 1), 1)
            places = np.abs((places + period // 2) % period - period // 2) if length > 1 else places * 0
            wide = np.take(out, places, axis)
            out = sum(w * np.take(wide, np.arange(k, k + length), axis) for k, w in enumerate(weights))
        return like(out, value)


class RandomAutoContrast(Chance, AutoContrast):
    """`AutoContrast` with probability `prob`."""

    def __init__(self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None, prob: float = 0.5) -> None:
        AutoContrast.__init__(self, cutoff, ignore)
        self.prob: float = check_probability(prob, "RandomAutoContrast")


class RandomEqualize(Chance, Equalize):
    """`Equalize` with probability `prob`."""

    def of_picture(self, value: Any) -> Any:
        return super().of_picture(value) if draws().random() < self.prob else value


class RandomInvert(Chance, Invert):
    """`Invert` with probability `prob`."""


class RandomAdjustSharpness(Chance, AdjustSharpness):
    """`AdjustSharpness(degree)` with probability `prob`."""

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        AdjustSharpness.__init__(self, degree)
        self.prob: float = check_probability(prob, "RandomAdjustSharpness")


class RandomSharpness(ImageTransform):
    """Sharpness by a factor drawn from `degrees`."""

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees: tuple[float, float] = as_range(degrees, "RandomSharpness: degrees", 0)

    def image(self, value: Array) -> Array:
        return sharpened(value, draws().uniform(*self.degrees))


class RandomColor(ImageTransform):
    """Saturation by a factor drawn from `degrees`: 0 is grey, 1 the image."""

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees: tuple[float, float] = as_range(degrees, "RandomColor: degrees", 0)

    def image(self, value: Array) -> Array:
        return saturated(value, draws().uniform(*self.degrees))

    def of_picture(self, value: Any) -> Any:
        return enhanced(value, "Color", draws().uniform(*self.degrees))


class RandomPosterize(ImageTransform):
    """`Posterize` with a number of bits drawn from `bits`, (low, high) or one number, 1 to 8."""

    def __init__(self, bits: int | Sequence[int] = (8, 8)) -> None:
        pair = bits if isinstance(bits, (tuple, list)) else (bits, bits)
        self.bits: tuple[float, float] = as_range(pair, "RandomPosterize: bits", 1, 8)

    def image(self, value: Array) -> Array:
        return posterized(value, int(draws().integers(int(self.bits[0]), int(self.bits[1]) + 1)))


class RandomSolarize(ImageTransform):
    """Levels within a range drawn inside `threshold` are inverted."""

    def __init__(self, threshold: Sequence[int] = (0, 255)) -> None:
        self.threshold: tuple[float, float] = as_range(threshold, "RandomSolarize: threshold", 0, 255)

    def image(self, value: Array) -> Array:
        low, high = np.sort(draws().integers(int(self.threshold[0]), int(self.threshold[1]) + 1, 2))
        return solarized(value, low, high)


class RandomLighting(ImageTransform):
    """AlexNet's change of light: along the principal colours of ImageNet, by amounts drawn with deviation `alpha`."""

    _axes = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], np.float32)
    _spread = np.array([55.46, 4.794, 1.148], np.float32)

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha: float = check_number(alpha, "RandomLighting: alpha", 0)

    def image(self, value: Array) -> Array:
        if value.shape[-1] != 3:
            raise DatasetError(f"RandomLighting expects three colours on the last axis, got {describe(value)}")
        amount = draws().normal(0, self.alpha, 3).astype(np.float32) * self._spread
        return like(value.astype(np.float32) + self._axes @ amount, value)


# ---- orders and spaces of colours ----

ConvertMode: Enum = enum.Enum(  # type: ignore[misc]
    "ConvertMode",
    {f"COLOR_{a}2{b}": (a, b) for a, b in (
        ("BGR", "BGRA"), ("RGB", "RGBA"), ("BGRA", "BGR"), ("RGBA", "RGB"), ("BGR", "RGBA"), ("RGB", "BGRA"),
        ("RGBA", "BGR"), ("BGRA", "RGB"), ("BGR", "RGB"), ("RGB", "BGR"), ("BGRA", "RGBA"), ("RGBA", "BGRA"),
        ("BGR", "GRAY"), ("RGB", "GRAY"), ("GRAY", "BGR"), ("GRAY", "RGB"), ("GRAY", "BGRA"), ("GRAY", "RGBA"),
        ("BGRA", "GRAY"), ("RGBA", "GRAY"),
    )},
    module=__name__,
)  # fmt: skip


class ConvertColor(ImageTransform):
    """Colours in another order, with or without a last channel of opacity, or as grey: a `ConvertMode`."""

    source: Any
    target: Any

    def __init__(self, convert_mode: Any) -> None:
        if not isinstance(convert_mode, ConvertMode):
            raise ArgumentError(f"ConvertColor takes a ConvertMode, got {convert_mode!r}")
        self.source, self.target = convert_mode.value

    def apply(self, value: Array) -> Array:
        channels = 1 if self.source == "GRAY" else len(self.source)
        if value.ndim == 2:
            value = value[..., np.newaxis]
        if value.ndim < 3 or value.shape[-1] != channels:
            raise DatasetError(f"ConvertColor from {self.source} expects {channels} channels, got {describe(value)}")
        full = value.dtype.type(1 if value.dtype.kind == "f" else 255)
        rgb = value[..., [self.source.index(c) for c in "RGB"]] if channels > 1 else np.repeat(value, 3, -1)
        if self.target == "GRAY":
            return like(grey_of(rgb), value)[..., 0]
        alpha = value[..., 3:] if channels == 4 else np.full_like(value[..., :1], full)
        return np.concatenate([rgb, alpha], -1)[..., ["RGBA".index(c) for c in self.target]]


class RgbToHsv(Transform):
    """Red, green, blue from 0 to 1 to hue, saturation, value from 0 to 1, float64; channels last with `is_hwc`, else
    first."""

    def __init__(self, is_hwc: bool = False) -> None:
        self.axis = -1 if is_hwc else -3

    def apply(self, value: Array) -> Array:
        return np.stack(self.turned(self._parts(value)), self.axis)

    def _parts(self, value: Array) -> Array:
        if value.ndim < 3 or value.shape[self.axis] != 3:
            name = type(self).__name__
            raise DatasetError(f"{name} expects three channels on axis {self.axis}, got {describe(value)}")
        return np.moveaxis(value.astype(np.float64), self.axis, 0)

    def turned(self, parts: Array) -> list[Array]:
        r, g, b = parts
        high, low = parts.max(0), parts.min(0)
        span = np.where(high > low, high - low, 1.0)
        hue = np.where(high == r, (g - b) / span, np.where(high == g, 2 + (b - r) / span, 4 + (r - g) / span))
        hue = np.where(high > low, hue / 6 % 1, 0)
        return [hue, np.where(high > 0, (high - low) / np.where(high > 0, high, 1), 0), high]


class HsvToRgb(RgbToHsv):
    """The way back from `RgbToHsv`."""

    def turned(self, parts: Array) -> list[Array]:
        h, s, v = parts
        places = [(n + 6 * h) % 6 for n in (5, 3, 1)]
        return [v - v * s * np.clip(np.minimum(k, 4 - k), 0, 1) for k in places]
