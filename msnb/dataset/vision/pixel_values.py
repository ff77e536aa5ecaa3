"""Transforms of pixel values and of the order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import as_dtype
from msnb.dataset.pipeline.rows import Array, describe
from msnb.dataset.transforms.basic import Transform, TypeCast
from msnb.dataset.vision.images import check_image

__all__ = ["CHW2HWC", "HWC2CHW", "Invert", "Normalize", "Rescale", "ToTensor", "ToType"]


class Rescale(Transform):
    """value * rescale + shift, as float32.

    >>> Rescale(1 / 255, 0)(np.array([[0, 255]], np.uint8)).tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, rescale: float, shift: float) -> None:
        for name, number in (("rescale", rescale), ("shift", shift)):
            if isinstance(number, bool) or not isinstance(number, (int, float, np.number)):
                raise ArgumentError(f"Rescale: {name} must be a number, got {number!r}")
        self.rescale: Any = np.float32(rescale)
        self.shift: Any = np.float32(shift)

    def apply(self, value: Array) -> Array:
        check_image(value, "Rescale")
        return np.asarray(value.astype(np.float32) * self.rescale + self.shift, np.float32)


class Normalize(Transform):
    """(value - mean) / std, channel by channel, as float32.

    Args:
        mean, std: one number per channel; a single one serves all channels. std must not be zero.
        is_hwc: channels are the last axis; otherwise the third from the end.

    >>> Normalize([1.0], [2.0])(np.full((1, 1, 1), 5.0)).item()
    2.0
    """

    mean: Any
    std: Any

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        self.mean, self.std = (np.atleast_1d(np.asarray(v, np.float32)) for v in (mean, std))
        if self.mean.ndim != 1 or self.mean.shape != self.std.shape or not self.mean.size:
            raise AttributeValueError(
                f"Normalize: mean and std need one number per channel each, got {mean!r} and {std!r}"
            )
        if not (self.std > 0).all():
            raise AttributeValueError(f"Normalize: std must be positive, got {std!r}")
        self.is_hwc = is_hwc

    def apply(self, value: Array) -> Array:
        check_image(value, "Normalize")
        mean, std = (self._along(value, v) for v in (self.mean, self.std))
        return np.asarray((value.astype(np.float32) - mean) / std, np.float32)

    def _along(self, value: Array, numbers: Array) -> Array:
        if numbers.size == 1:
            return numbers.reshape(())
        axis = -1 if self.is_hwc else -3
        channels = 1 if value.ndim == 2 else value.shape[axis]
        if channels != numbers.size:
            raise ShapeError(
                f"Normalize has {numbers.size} channels, the image {describe(value)} has {channels}",
                hint="set is_hwc to the order of axes of the image",
            )
        return numbers if self.is_hwc else numbers[:, np.newaxis, np.newaxis]


class _MoveChannels(Transform):
    source, target = -1, -3

    def apply(self, value: Array) -> Array:
        check_image(value, type(self).__name__)
        return value if value.ndim == 2 else np.asarray(np.moveaxis(value, self.source, self.target), order="C")


class HWC2CHW(_MoveChannels):
    """[..., height, width, channel] to [..., channel, height, width]; [height, width] stays.

    >>> HWC2CHW()(np.zeros((28, 20, 3))).shape
    (3, 28, 20)
    """


class CHW2HWC(_MoveChannels):
    """[..., channel, height, width] to [..., height, width, channel]; [height, width] stays."""

    source, target = -3, -1


class ToTensor(Transform):
    """[h, w, c] or [h, w] with 0..255 to [c, h, w] with 0..1, as float32 or `output_type`.

    >>> ToTensor()(np.full((2, 2), 255, np.uint8)).shape
    (1, 2, 2)
    """

    def __init__(self, output_type: Any = np.float32) -> None:
        self.dtype: np.dtype[Any] = as_dtype(output_type).numpy

    def apply(self, value: Array) -> Array:
        check_image(value, "ToTensor")
        image = value[..., np.newaxis] if value.ndim == 2 else value
        scaled = image.astype(np.float32) / np.float32(255)
        return np.asarray(np.moveaxis(scaled, -1, -3), order="C").astype(self.dtype)


class ToType(TypeCast):
    """Casts to a dtype (MindSpore's name for TypeCast among image transforms)."""


class Invert(Transform):
    """255 - value: ink becomes paper."""

    def apply(self, value: Array) -> Array:
        check_image(value, "Invert")
        return np.asarray(255 - value, value.dtype)
