"""Image transforms that keep bounding boxes in step: (image, boxes) in, (image, boxes) out.

    boxes float32[n, 4 or more]:   x, y of the upper left corner, width, height, and what else a row holds

A box that a crop cuts is cut; one that it leaves out goes; where none is left, one box of the whole image with zeros.
Source: `mindspore.dataset.vision` (*WithBBox, BoundingBoxAugment)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import ArgumentError, DatasetError
from msnb.dataset.pipeline import Array, describe, draws, to_array
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.enums import ANY_INTERPOLATION, Inter
from msnb.dataset.vision.geometry import Resize, resized, window
from msnb.dataset.vision.images import check_image
from msnb.dataset.vision.random import RandomPart, RandomWindow

__all__ = [
    "BoundingBoxAugment", "RandomCropWithBBox", "RandomHorizontalFlipWithBBox", "RandomResizeWithBBox",
    "RandomResizedCropWithBBox", "RandomVerticalFlipWithBBox", "ResizeWithBBox",
]  # fmt: skip


def _checked(image: Any, boxes: Any, what: str) -> tuple[Array, Array]:
    """The two as arrays.

    Raises:
        ShapeError: a box is none, or reaches over the image.
    """
    picture, found = to_array(image), to_array(boxes)
    check_image(picture, what)
    if found.ndim != 2 or found.shape[1] < 4:
        raise DatasetError(f"{what} expects boxes [n, 4 or more] (x, y, width, height), got {describe(found)}")
    real, (height, width) = found.astype(np.float32), picture.shape[:2]
    over = (real[:, :2] < 0).any(1) | (real[:, 2:4] <= 0).any(1)
    over |= (real[:, 0] + real[:, 2] > width) | (real[:, 1] + real[:, 3] > height)
    if over.any():
        row = int(np.flatnonzero(over)[0])
        raise DatasetError(f"{what}: the box {real[row, :4].tolist()} does not lie in the image {describe(picture)}")
    return picture, real


def _scaled(boxes: Array, before: tuple[int, ...], after: tuple[int, ...]) -> Array:
    out = boxes.copy()
    down, across = after[0] / before[0], after[1] / before[1]
    out[:, :4] *= np.array([across, down, across, down], np.float32)
    return out


def _cropped(boxes: Array, top: int, left: int, height: int, width: int) -> Array:
    """Boxes as the window sees them."""
    start = np.maximum(boxes[:, :2] - [left, top], 0)
    end = np.minimum(boxes[:, :2] + boxes[:, 2:4] - [left, top], [width, height])
    keep = (end > start).all(1)
    if not keep.any():
        whole = np.zeros((1, boxes.shape[1]), np.float32)
        whole[0, 2:4] = width, height
        return whole
    out: Array = boxes[keep].copy()
    out[:, :2], out[:, 2:4] = start[keep], (end - start)[keep]
    return out


class _WithBBox:
    """A transform of an image and its boxes."""

    def __call__(self, image: Any, bboxes: Any) -> tuple[Array, Array]:
        return self.both(*_checked(image, bboxes, type(self).__name__))

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        raise NotImplementedError(f"{type(self).__name__} must define both(image, boxes)")


class RandomHorizontalFlipWithBBox(_WithBBox):
    """Left becomes right with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = check_probability(prob, type(self).__name__)

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        return self.flipped(image, boxes) if draws().random() < self.prob else (image, boxes)

    def flipped(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        out = boxes.copy()
        out[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
        return image[:, ::-1].copy(), out


class RandomVerticalFlipWithBBox(RandomHorizontalFlipWithBBox):
    """Top becomes bottom with probability `prob`."""

    def flipped(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        out = boxes.copy()
        out[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
        return image[::-1].copy(), out


class ResizeWithBBox(_WithBBox):
    """`Resize`, boxes too."""

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR) -> None:
        self.resize: Resize = Resize(size, interpolation)

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        out = self.resize.apply(image)
        return out, _scaled(boxes, image.shape, out.shape)


class RandomResizeWithBBox(_WithBBox):
    """`Resize` with a drawn interpolation, boxes too."""

    def __init__(self, size: Any) -> None:
        self.all: list[ResizeWithBBox] = [ResizeWithBBox(size, method) for method in ANY_INTERPOLATION]

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        return self.all[int(draws().integers(len(self.all)))].both(image, boxes)


class RandomCropWithBBox(_WithBBox, RandomWindow):
    """`RandomCrop`, boxes too."""

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        lent = image[..., np.newaxis] if image.ndim == 2 else image
        padded, border = self.padded(lent)
        moved, size = boxes.copy(), self.size
        moved[:, :2] += np.array(border, np.float32)
        row, column = self.corner(padded)
        out = window(padded, row, column, size, "RandomCropWithBBox")
        return (out[..., 0] if image.ndim == 2 else out), _cropped(moved, row, column, *size)


class RandomResizedCropWithBBox(_WithBBox, RandomPart):
    """`RandomResizedCrop`, boxes too."""

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        lent, size = image[..., np.newaxis] if image.ndim == 2 else image, self.size
        top, left, height, width = self.part(*lent.shape[:2])
        out = resized(lent[top : top + height, left : left + width], size, self.method)
        found = _scaled(_cropped(boxes, top, left, height, width), (height, width), size)
        return (out[..., 0] if image.ndim == 2 else out), found


class BoundingBoxAugment(_WithBBox):
    """`transform`, which keeps sizes, inside each box with probability `ratio`."""

    def __init__(self, transform: Callable[..., Any], ratio: float = 0.3) -> None:
        if isinstance(transform, type) or not callable(transform):
            raise ArgumentError(f"BoundingBoxAugment takes a transform object, got {transform!r}")
        self.transform: Callable[..., Any] = transform
        self.ratio: float = check_probability(ratio, "BoundingBoxAugment")

    def both(self, image: Array, boxes: Array) -> tuple[Array, Array]:
        out = image.copy()
        for x, y, width, height in boxes[:, :4].astype(int):
            if draws().random() < self.ratio:
                part = out[y : y + height, x : x + width]
                made = to_array(self.transform(part.copy()))
                out[y : y + height, x : x + width] = (
                    made if made.shape == part.shape else resized(made, (height, width), "bilinear")
                )
        return out, boxes
