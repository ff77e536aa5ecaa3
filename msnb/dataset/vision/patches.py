"""Parts of images: erased, cut out, sliced into tiles, padded to a size; several crops of one image.

Source: `mindspore.dataset.vision` (Erase, CutOut, FiveCrop, SlicePatches ...)
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.core import as_dtype
from msnb.dataset.pipeline import Array, check_count, describe, draws
from msnb.dataset.transforms.basic import Transform
from msnb.dataset.transforms.random import check_probability
from msnb.dataset.vision.enums import Border, Inter
from msnb.dataset.vision.geometry import CenterCrop, check_window, resized, resized_picture, window
from msnb.dataset.vision.images import ImageTransform, as_range, check_image, check_interpolation, pad_image, two_sides
from msnb.dataset.vision.pixel_values import Normalize

__all__ = [
    "CutOut", "Erase", "FiveCrop", "LinearTransformation", "NormalizePad", "PadToSize", "RandomErasing", "ResizedCrop",
    "SliceMode", "SlicePatches", "TenCrop",
]  # fmt: skip


class SliceMode(enum.Enum):
    """What `SlicePatches` does where the tiles do not fit: fill up, or leave the rest out."""

    PAD = 0
    DROP = 1


class Erase(ImageTransform):
    """The window of `height` x `width` at (top, left) filled with `value`, a number or one per channel."""

    def __init__(self, top: int, left: int, height: int, width: int, value: Any = 0, inplace: bool = False) -> None:
        self.corner: tuple[int, int] = check_count(top, "Erase: top", 0), check_count(left, "Erase: left", 0)
        self.size: tuple[int, int] = check_count(height, "Erase: height"), check_count(width, "Erase: width")
        self.value: Any = value
        self.inplace: bool = inplace

    def image(self, value: Array) -> Array:
        out = value if self.inplace else value.copy()
        window(out, *self.corner, self.size, "Erase")[...] = self.value
        return out


class RandomErasing(Transform):
    """With probability `prob` a drawn window of an image [..., channel, height, width] is erased.

    Args:
        scale: range of the window's part of the area. ratio: range of its height / width.
        value: a number, one per channel, or "random" for noise.
        inplace: change the array itself. max_attempts: windows that are tried.
    """

    def __init__(
        self, prob: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0, inplace: bool = False, max_attempts: int = 10,
    ) -> None:  # fmt: skip
        self.prob: float = check_probability(prob, "RandomErasing")
        self.scale: tuple[float, float] = as_range(scale, "RandomErasing: scale", 0, 1)
        self.ratio: tuple[float, float] = as_range(ratio, "RandomErasing: ratio", 1e-6)
        if isinstance(value, str) and value != "random":
            raise AttributeValueError(f"RandomErasing: value is a number, one per channel, or 'random', got {value!r}")
        self.value = value
        self.inplace: bool = inplace
        self.attempts: int = check_count(max_attempts, "max_attempts")

    def apply(self, value: Array) -> Array:
        check_image(value, "RandomErasing")
        if draws().random() >= self.prob:
            return value
        height, width = value.shape[-2:]
        for _ in range(self.attempts):
            area = height * width * draws().uniform(*self.scale)
            ratio = math.exp(draws().uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            h, w = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < h < height and 0 < w < width:
                top, left = (int(draws().integers(n)) for n in (height - h + 1, width - w + 1))
                out = value if self.inplace else value.copy()
                part = out[..., top : top + h, left : left + w]
                fill = np.asarray(draws().normal(size=part.shape) if isinstance(self.value, str) else self.value)
                part[...] = fill[:, np.newaxis, np.newaxis] if fill.ndim == 1 else fill
                return out
        return value


class CutOut(Transform):
    """`num_patches` squares of side `length` around drawn pixels become 0."""

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True) -> None:
        self.length: int = check_count(length, "CutOut: length")
        self.patches: int = check_count(num_patches, "num_patches")
        self.is_hwc = is_hwc

    def apply(self, value: Array) -> Array:
        check_image(value, "CutOut")
        out = value.copy()
        image = out if self.is_hwc or value.ndim == 2 else np.moveaxis(out, -3, -1)
        height, width = image.shape[-3:-1] if value.ndim > 2 else image.shape
        if self.length > min(height, width):
            raise DatasetError(f"CutOut: squares of {self.length} do not fit into {describe(value)}")
        for _ in range(self.patches):
            y, x = int(draws().integers(height)), int(draws().integers(width))
            top, left = max(0, y - self.length // 2), max(0, x - self.length // 2)
            rows = slice(top, y + self.length - self.length // 2)
            columns = slice(left, x + self.length - self.length // 2)
            image[(..., rows, columns, slice(None)) if value.ndim > 2 else (rows, columns)] = 0
        return out


class FiveCrop(ImageTransform):
    """Five images: the upper left, upper right, lower left, lower right corner, and the middle."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size: tuple[int, int] = two_sides(size, "size")

    def apply(self, value: Array) -> tuple[Array, ...]:
        check_image(value, type(self).__name__)
        return self.crops(value[..., np.newaxis] if value.ndim == 2 else value)

    def crops(self, value: Array) -> tuple[Array, ...]:
        height, width = value.shape[-3:-1]
        low, right = height - self.size[0], width - self.size[1]
        if low < 0 or right < 0:
            raise DatasetError(f"{type(self).__name__}: the crops {self.size} are larger than {describe(value)}")
        corners = [(0, 0), (0, right), (low, 0), (low, right)]
        found = [window(value, top, left, self.size, "FiveCrop").copy() for top, left in corners]
        return (*found, CenterCrop(self.size).image(value).copy())


class TenCrop(FiveCrop):
    """`FiveCrop` of the image and of its mirror image (left to right; `use_vertical_flip`: top to bottom)."""

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical = use_vertical_flip

    def crops(self, value: Array) -> tuple[Array, ...]:
        mirrored = value[..., ::-1, :, :] if self.vertical else value[..., ::-1, :]
        return (*super().crops(value), *super().crops(mirrored))


class SlicePatches(ImageTransform):
    """An image as num_height x num_width tiles of one size, row by row, one column of the data set for each."""

    gives_pictures = False

    def __init__(
        self, num_height: int = 1, num_width: int = 1, slice_mode: SliceMode = SliceMode.PAD, fill_value: int = 0
    ) -> None:
        self.counts: tuple[int, int] = check_count(num_height, "num_height"), check_count(num_width, "num_width")
        if not isinstance(slice_mode, SliceMode):
            raise ArgumentError(f"SlicePatches: slice_mode is a SliceMode, got {slice_mode!r}")
        self.mode: SliceMode = slice_mode
        self.fill: int = fill_value

    def apply(self, value: Array) -> Any:
        check_image(value, "SlicePatches")
        image = value[..., np.newaxis] if value.ndim == 2 else value
        (rows, columns), (height, width) = self.counts, image.shape[-3:-1]
        if rows > height or columns > width:
            raise DatasetError(f"SlicePatches: {rows}x{columns} tiles of {describe(value)}")
        pad = self.mode is SliceMode.PAD
        h, w = (-(-height // rows), -(-width // columns)) if pad else (height // rows, width // columns)
        if pad:
            image = pad_image(image, (0, 0, w * columns - width, h * rows - height), self.fill, Border.CONSTANT)
        if value.ndim == 2:
            image = image[..., 0]
        found = tuple(image[_part(value.ndim, r * h, h, c * w, w)] for r in range(rows) for c in range(columns))
        return found if len(found) > 1 else found[0]


def _part(rank: int, top: int, height: int, left: int, width: int) -> tuple[Any, ...]:
    rows, columns = slice(top, top + height), slice(left, left + width)
    return (rows, columns) if rank == 2 else (..., rows, columns, slice(None))


class PadToSize(ImageTransform):
    """Padded to `size`: the image lies at `offset` (top, left; one number for both), or in the middle."""

    def __init__(
        self, size: int | Sequence[int], offset: int | Sequence[int] | None = None, fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:  # fmt: skip
        if not isinstance(padding_mode, Border):
            raise ArgumentError(f"padding_mode must be a Border, got {padding_mode!r}")
        self.size: tuple[int, int] = two_sides(size, "size")
        self.fill: Any = fill_value
        self.border: Border = padding_mode
        listed = None if offset is None or offset == [] else offset
        pair = listed if isinstance(listed, (tuple, list)) else (listed, listed)
        self.offset: list[int] | None = None if listed is None else [check_count(part, "offset", 0) for part in pair]

    def image(self, value: Array) -> Array:
        room = [want - have for want, have in zip(self.size, value.shape[-3:-1], strict=True)]
        top, left = self.offset or [part // 2 for part in room]
        if min(room) < 0 or top > room[0] or left > room[1]:
            raise DatasetError(f"PadToSize: {describe(value)} at ({top}, {left}) does not fit into {self.size}")
        return pad_image(value, (left, top, room[1] - left, room[0] - top), self.fill, self.border)


class NormalizePad(Normalize):
    """`Normalize`, and a fourth channel of zeros behind; as `dtype`, float32 or float16."""

    def __init__(
        self, mean: Sequence[float], std: Sequence[float], dtype: Any = "float32", is_hwc: bool = True
    ) -> None:
        super().__init__(mean, std, is_hwc)
        self.dtype: np.dtype[Any] = as_dtype(dtype).numpy
        if self.dtype not in (np.float32, np.float16):
            raise AttributeValueError(f"NormalizePad: dtype is float32 or float16, got {dtype!r}")

    def apply(self, value: Array) -> Array:
        out = super().apply(value).astype(self.dtype)
        axis = -1 if self.is_hwc else -3
        return np.concatenate([out, np.zeros_like(np.take(out, [0], axis))], axis)


class LinearTransformation(Transform):
    """An image [..., c, h, w] as one row, less `mean_vector`, times `transformation_matrix` (whitening)."""

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        self.matrix: Any = np.asarray(transformation_matrix)
        self.mean: Any = np.asarray(mean_vector)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise AttributeValueError(f"LinearTransformation: the matrix is square, got {self.matrix.shape}")
        if self.mean.shape != self.matrix.shape[:1]:
            raise AttributeValueError(
                f"LinearTransformation: mean_vector {self.mean.shape}, matrix {self.matrix.shape}"
            )

    def apply(self, value: Array) -> Array:
        if value.ndim < 3 or math.prod(value.shape[-3:]) != len(self.matrix):
            count = len(self.matrix)
            raise DatasetError(f"LinearTransformation: {describe(value)} has not the {count} values per image")
        rows = value.reshape(*value.shape[:-3], -1) - self.mean
        return np.asarray((rows @ self.matrix).reshape(value.shape))


class ResizedCrop(ImageTransform):
    """The window of `height` x `width` at (top, left), resized to `size`."""

    corner: tuple[int, int]
    part: tuple[int, int]

    def __init__(
        self, top: int, left: int, height: int, width: int, size: int | Sequence[int],
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:  # fmt: skip
        self.corner = check_count(top, "ResizedCrop: top", 0), check_count(left, "ResizedCrop: left", 0)
        self.part = check_count(height, "ResizedCrop: height"), check_count(width, "ResizedCrop: width")
        self.size: tuple[int, int] = two_sides(size, "size")
        self.method: str = check_interpolation(interpolation)

    def image(self, value: Array) -> Array:
        return resized(window(value, *self.corner, self.part, "ResizedCrop"), self.size, self.method)

    def of_picture(self, value: Any) -> Any:
        (top, left), (height, width) = self.corner, self.part
        check_window(value.height, value.width, top, left, self.part, "ResizedCrop")
        return resized_picture(value.crop((left, top, left + width, top + height)), self.size, self.method)
