"""Random image transforms. Inside `map` the draws belong to the row (seed, epoch, row), so they repeat exactly with the
same seed whatever the number of threads; see `msnb.dataset.pipeline.epoch_rng`. A batch is transformed as a whole by
one draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Array, draws
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.enums import ANY_INTERPOLATION, Border, Inter
from msnb.dataset.vision.geometry import HorizontalFlip, Resize, VerticalFlip, resized, resized_picture, window
from msnb.dataset.vision.images import ImageTransform, check_interpolation, four_sides, pad_image, two_sides

__all__ = ["RandomCrop", "RandomHorizontalFlip", "RandomResize", "RandomResizedCrop", "RandomVerticalFlip"]


class RandomHorizontalFlip(HorizontalFlip):
    """Left becomes right with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = check_probability(prob, "RandomHorizontalFlip")

    def image(self, value: Array) -> Array:
        return super().image(value) if draws().random() < self.prob else value


class RandomVerticalFlip(VerticalFlip):
    """Top becomes bottom with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = check_probability(prob, "RandomVerticalFlip")

    def image(self, value: Array) -> Array:
        return super().image(value) if draws().random() < self.prob else value


class RandomWindow:
    """A window of `size` at a random place, after padding: what crops with and without boxes share."""

    def __init__(
        self, size: int | Sequence[int], padding: int | Sequence[int] | None = None, pad_if_needed: bool = False,
        fill_value: Any = 0, padding_mode: Border = Border.CONSTANT,
    ) -> None:  # fmt: skip
        if not isinstance(padding_mode, Border):
            raise ArgumentError(f"padding_mode must be a Border, got {padding_mode!r}")
        self.size: tuple[int, int] = two_sides(size, "size")
        self.sides: tuple[int, int, int, int] | None = None if padding is None else four_sides(padding)
        self.pad_if_needed: bool = pad_if_needed
        self.fill: Any = fill_value
        self.border: Border = padding_mode

    def padded(self, value: Array) -> tuple[Array, tuple[int, int]]:
        """The image with its border, and how much of that is at the left and at the top."""
        left = top = 0
        if self.sides is not None:
            value = pad_image(value, self.sides, self.fill, self.border)
            left, top = self.sides[:2]
        need_h, need_w = (max(0, want - have) for want, have in zip(self.size, value.shape[-3:-1], strict=True))
        if self.pad_if_needed and (need_h or need_w):
            value = pad_image(value, (need_w, need_h, need_w, need_h), self.fill, self.border)
            left, top = left + need_w, top + need_h
        return value, (left, top)

    def corner(self, value: Array) -> tuple[int, int]:
        """Row and column of a drawn window."""
        room_h, room_w = (max(0, have - want) for want, have in zip(self.size, value.shape[-3:-1], strict=True))
        return int(draws().integers(room_h + 1)), int(draws().integers(room_w + 1))


class RandomCrop(RandomWindow, ImageTransform):
    """A window of `size` at a random place, after padding.

    Args:
        size: side, or (height, width).
        padding: as in `Pad`, or None.
        pad_if_needed: pad images smaller than `size` instead of refusing them.
        fill_value, padding_mode: as in `Pad`.
    """

    def image(self, value: Array) -> Array:
        value, _ = self.padded(value)
        return window(value, *self.corner(value), self.size, "RandomCrop")


class RandomResize(ImageTransform):
    """`Resize` with a drawn interpolation."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.all: list[Resize] = [Resize(size, method) for method in ANY_INTERPOLATION]

    def image(self, value: Array) -> Array:
        return self.all[int(draws().integers(len(self.all)))].image(value)


class RandomPart:
    """A random part of the image, resized to `size`: what crops with and without boxes share."""

    def __init__(
        self, size: int | Sequence[int], scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        for name, (low, high) in (("scale", scale), ("ratio", ratio)):
            if not 0 < low <= high:
                raise AttributeValueError(
                    f"RandomResizedCrop: {name} must be (low, high) with 0 < low <= high, got {(low, high)}"
                )
        self.size: tuple[int, int] = two_sides(size, "size")
        self.method: str = check_interpolation(interpolation)
        self.scale: tuple[float, float] = (scale[0], scale[1])
        self.ratio: tuple[float, float] = (ratio[0], ratio[1])
        self.attempts: int = max_attempts

    def part(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Row, column, height and width of a drawn part."""
        generator = draws()
        for _ in range(self.attempts):
            area = height * width * generator.uniform(*self.scale)
            ratio = math.exp(generator.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            h, w = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < h <= height and 0 < w <= width:
                return int(generator.integers(height - h + 1)), int(generator.integers(width - w + 1)), h, w
        return self._centred(height, width)

    def _centred(self, height: int, width: int) -> tuple[int, int, int, int]:
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        h, w = min(height, max(1, round(width / ratio))), min(width, max(1, round(height * ratio)))
        return (height - h) // 2, (width - w) // 2, h, w


class RandomResizedCrop(RandomPart, ImageTransform):
    """A random part of the image, resized to `size`.

    Args:
        scale: range of the part's area, as a fraction of the image's.
        ratio: range of its width / height, drawn evenly on a logarithmic scale.
        max_attempts: draws before the largest centred part of a legal ratio is taken.
    """

    def image(self, value: Array) -> Array:
        top, left, height, width = self.part(*value.shape[-3:-1])
        return resized(value[..., top : top + height, left : left + width, :], self.size, self.method)

    def of_picture(self, value: Any) -> Any:
        top, left, height, width = self.part(value.height, value.width)
        return resized_picture(value.crop((left, top, left + width, top + height)), self.size, self.method)
