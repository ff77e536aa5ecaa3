"""Images of a batch mixed with each other, labels alike: `MixUp` (all of both) and `CutMixBatch` (a window of one).

    image = share * image + (1 - share) * other          label = share * label + (1 - share) * its label

Source: `mindspore.dataset.vision`; Zhang et al., "mixup", 2018; Yun et al., "CutMix", 2019.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.dataset.pipeline import Array, check_count, describe, draws, to_array
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.images import check_number, like

__all__ = ["CutMixBatch", "ImageBatchFormat", "MixUp", "MixUpBatch"]


class ImageBatchFormat(enum.Enum):
    """The order of the axes of a batch of images."""

    NHWC = 0
    NCHW = 1


def _pair(image: Any, label: Any, what: str) -> tuple[Array, Array]:
    """A batch [n, ...] and its labels [n, classes] (or [n, k, classes]).

    Raises:
        ShapeError: they do not fit.
    """
    images, labels = to_array(image), to_array(label)
    if images.ndim != 4 or labels.ndim not in (2, 3) or len(images) != len(labels):
        raise ShapeError(
            f"{what} expects a batch of images [n, ., ., .] and labels [n, classes], got {describe(images)} and "
            f"{describe(labels)}",
            hint="OneHot for the labels, batch, then .map(..., ['image', 'label'])",
        )
    return images, labels


def _blended(a: Array, b: Array, share: float) -> Array:
    return np.asarray(share * a + (1 - share) * b, np.float32)


class MixUpBatch:
    """Every image of a batch mixed with another one; the share is drawn from Beta(alpha, alpha), once per batch."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha: float = check_number(alpha, "MixUpBatch: alpha", 1e-12)

    def __call__(self, image: Any, label: Any) -> tuple[Array, Array]:
        images, labels = _pair(image, label, "MixUpBatch")
        share, other = float(draws().beta(self.alpha, self.alpha)), draws().permutation(len(images))
        return like(_blended(images, images[other], share), images), _blended(labels, labels[other], share)


class MixUp(MixUpBatch):
    """`MixUpBatch` for batches of `batch_size`, with float32 images.

    Args:
        alpha: of the Beta distribution of the share.
        is_single: True; a row of a pipeline does not know the batch before, which False would mix in.
    """

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True) -> None:
        super().__init__(alpha)
        self.size: int = check_count(batch_size, "batch_size")
        if not is_single:
            raise AttributeValueError(
                "MixUp(is_single=False) mixes with the batch before, and then a row depends on how many workers there "
                "are, which no pipeline allows",
                hint="is_single=True mixes within the batch",
            )

    def __call__(self, image: Any, label: Any) -> tuple[Array, Array]:
        images, labels = _pair(image, label, "MixUp")
        if len(images) != self.size:
            raise ShapeError(f"MixUp was made for batches of {self.size}, got {len(images)} images")
        return super().__call__(images.astype(np.float32), labels)


class CutMixBatch:
    """With probability `prob` per batch, a drawn window of every image comes from another image of the batch.

    Args:
        image_batch_format: ImageBatchFormat.NHWC or NCHW.
        alpha: of the Beta distribution of the part that stays.
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0) -> None:
        if not isinstance(image_batch_format, ImageBatchFormat):
            raise ArgumentError(f"CutMixBatch takes an ImageBatchFormat, got {image_batch_format!r}")
        self.last: bool = image_batch_format is ImageBatchFormat.NHWC
        self.alpha: float = check_number(alpha, "CutMixBatch: alpha", 1e-12)
        self.prob: float = check_probability(prob, "CutMixBatch")

    def __call__(self, image: Any, label: Any) -> tuple[Array, Array]:
        images, labels = _pair(image, label, "CutMixBatch")
        if draws().random() >= self.prob:
            return images, labels.astype(np.float32)
        height, width = images.shape[1:3] if self.last else images.shape[2:4]
        side = math.sqrt(1 - float(draws().beta(self.alpha, self.alpha)))
        other = draws().permutation(len(images))
        rows, columns = (_around(int(draws().integers(n)), int(n * side), n) for n in (height, width))
        place = (slice(None), rows, columns) if self.last else (slice(None), slice(None), rows, columns)
        out = images.copy()
        out[place] = images[other][place]
        share = 1 - (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
        return out, _blended(labels, labels[other], share)


def _around(middle: int, length: int, most: int) -> slice:
    return slice(max(0, middle - length // 2), min(most, middle + length - length // 2))
