"""Image transforms as data (`chains.transform_record`): what a kernel can run of them, and what they do to its maps.

Each trace says in terms of rows and columns what the transform of the same name does to pixels, draws and raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.dataset.chains import transform_record as records
from msnb.dataset.chains.image_map import ImageMap
from msnb.dataset.chains.transform_record import GEOMETRY, LAYOUT, OPENING, PIXELS, Draws, Record
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.transforms import TypeCast
from msnb.dataset.vision.decode import RandomCropDecodeResize
from msnb.dataset.vision.enums import Border
from msnb.dataset.vision.geometry import CenterCrop, Crop, HorizontalFlip, Pad, Resize, VerticalFlip, check_window
from msnb.dataset.vision.pixel_values import HWC2CHW, Invert, Normalize, Rescale, ToTensor, ToType
from msnb.dataset.vision.random import RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip
from msnb.dataset.vision.resampling import linear_places, nearest_places


def _fill_of(fill: Any, border: Border) -> Any:
    return fill if border is Border.CONSTANT else None


def _crop_fill(crop: RandomCrop) -> Any:
    return None if crop.sides is None and not crop.pad_if_needed else _fill_of(crop.fill, crop.border)


def _cropped(image: ImageMap, top: Any, left: Any, size: tuple[int, int], what: str) -> ImageMap:
    height, width, _ = image.shape
    check_window(height, width, int(np.max(top)), int(np.max(left)), size, what)
    return image.window(top, left, size)


def _random_crop(crop: RandomCrop, image: ImageMap, draws: Draws) -> ImageMap:
    if crop.sides is not None:
        image = image.padded(crop.sides, crop.fill, crop.border.value)
    height, width, _ = image.shape
    need_h, need_w = max(0, crop.size[0] - height), max(0, crop.size[1] - width)
    if crop.pad_if_needed and (need_h or need_w):
        image = image.padded((need_w, need_h, need_w, need_h), crop.fill, crop.border.value)
        height, width, _ = image.shape
    top = draws.integers(max(0, height - crop.size[0]) + 1)
    left = draws.integers(max(0, width - crop.size[1]) + 1)
    return _cropped(image, top, left, crop.size, "RandomCrop")


def _center_crop(crop: CenterCrop, image: ImageMap, draws: Draws) -> ImageMap:
    need_h, need_w = (max(0, want - have) for want, have in zip(crop.size, image.shape))
    if need_h or need_w:
        image = image.padded((need_w // 2, need_h // 2, need_w - need_w // 2, need_h - need_h // 2), 0, "constant")
    height, width, _ = image.shape
    return image.window((height - crop.size[0]) // 2, (width - crop.size[1]) // 2, crop.size)


def _resized(image: ImageMap, size: tuple[int, int], method: str) -> ImageMap:
    if 0 in image.shape[:2]:
        raise ShapeError(f"an image without pixels, uint8[{','.join(map(str, image.shape))}], cannot be resized")
    axes = []
    for axis, length in ((image.rows, size[0]), (image.columns, size[1])):
        if axis.size != length:
            many = nearest_places(axis.size, length) if method == "nearest" else None
            axis = axis.blended(*linear_places(axis.size, length)) if many is None else axis.taken(many)
        axes.append(axis)
    return ImageMap(axes[0], axes[1], image.channels, image.fill)


def _random_resized_crop(crop: RandomResizedCrop, image: ImageMap, draws: Draws) -> ImageMap:
    top, left, height, width = crop.part(*image.shape[:2])
    return _resized(image.window(top, left, (height, width)), crop.size, crop.method)


def _opened(crop: RandomCropDecodeResize, value: Array) -> tuple[Array, ImageMap]:
    image, (top, left, height, width) = crop.opened(value)
    part = ImageMap.whole(*image.shape).window(top, left, (height, width))
    return image, _resized(part, crop.size, crop.method)


def _is_linear(resize: Any) -> bool:
    return bool(resize.method in ("bilinear", "nearest"))


def _is_blended(resize: Any) -> bool:
    return bool(resize.method != "nearest")


def enter_all() -> None:
    """Enter the records of this module's transforms."""
    records.enter(Record(GEOMETRY, _random_crop, fill=_crop_fill), RandomCrop)
    records.enter(Record(GEOMETRY, _center_crop, fill=lambda crop: 0), CenterCrop)
    records.enter(
        Record(GEOMETRY, lambda crop, image, draws: _cropped(image, crop.top, crop.left, crop.size, "Crop"),
               picks=True), Crop)  # fmt: skip
    records.enter(
        Record(GEOMETRY, lambda pad, image, draws: image.padded(pad.sides, pad.fill, pad.border.value),
               fill=lambda pad: _fill_of(pad.fill, pad.border)), Pad)  # fmt: skip
    _enter_flips()
    records.enter(
        Record(GEOMETRY, lambda op, image, draws: _resized(image, op._target(*image.shape[:2]), op.method),
               blends=_is_blended, fits=_is_linear), Resize)  # fmt: skip
    records.enter(
        Record(GEOMETRY, _random_resized_crop, many=False, blends=_is_blended, fits=_is_linear), RandomResizedCrop
    )
    records.enter(
        Record(OPENING, opened=_opened, many=False, blends=_is_blended, fits=_is_linear), RandomCropDecodeResize
    )
    records.enter(Record(PIXELS), Rescale, Normalize, Invert)
    records.enter(Record(PIXELS, stacks=True), TypeCast, ToType)
    records.enter(Record(LAYOUT), HWC2CHW, ToTensor)


def _enter_flips() -> None:
    def flip(**axes: bool) -> records.Trace:
        return lambda op, image, draws: image.flipped(**axes)

    def random_flip(axis: str) -> records.Trace:
        return lambda op, image, draws: image.flipped(**{axis: draws.random() < op.prob})

    records.enter(Record(GEOMETRY, flip(columns=True), picks=True), HorizontalFlip)
    records.enter(Record(GEOMETRY, flip(rows=True), picks=True), VerticalFlip)
    records.enter(Record(GEOMETRY, random_flip("columns"), picks=True), RandomHorizontalFlip)
    records.enter(Record(GEOMETRY, random_flip("rows"), picks=True), RandomVerticalFlip)

