"""From a picture's file to its pixels. Pillow reads the formats; it is imported here only, when a picture comes.

Source: `mindspore.dataset.vision` (Decode, RandomCropDecodeResize, ToPIL)
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base.errors import ArgumentError, DatasetError
from msnb.base.files.bounded_reader import need_room
from msnb.dataset.pipeline.rows import Array, describe
from msnb.dataset.transforms.basic import Transform
from msnb.dataset.vision.enums import check_image
from msnb.dataset.vision.random import RandomResizedCrop

FORMATS = ("BMP", "DIB", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # Pillow knows more; some of them run programs


def decoded(content: Array, name: str = "the image", formats: Sequence[str] = FORMATS) -> Array:
    """The pixels uint8[h,w,3] of a file's bytes.

    Args:
        content: the bytes; name: for messages; formats: Pillow's names of those that are read.

    Raises:
        DatasetError: they are no picture, a damaged one, or far more pixels than such a file can have.
        ModuleNotFoundError: Pillow is not installed.
    """
    image = _pillow()

    def refuse(why: str, hint: str = "") -> DatasetError:
        start = f"it starts with {content[:8].tobytes()!r}, {content.size} bytes"
        return DatasetError(f"{name} is no picture that can be read: {why} ({start})", hint=hint)

    try:
        with image.open(io.BytesIO(content.tobytes()), formats=formats) as picture:
            width, height = picture.size
            need_room(content.size, 3 * width * height, refuse)
            # a picture in colours is not copied once more
            return np.array(picture if picture.mode == "RGB" else picture.convert("RGB"))
    except DatasetError:
        raise
    except Exception as error:  # decoders of seven formats, written in C and Python, each with errors of its own
        raise refuse(f"{type(error).__name__}: {error}") from error


class Decode(Transform):
    """The bytes of a picture file, uint8[n], to its pixels, uint8[h,w,3].

    Args:
        to_pil: accepted; pixels are arrays here, and every transform takes them.

    Raises:
        TypeError: not a row of bytes. DatasetError: no picture.
    """

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = to_pil

    def apply(self, value: Array) -> Array:
        if value.ndim != 1 or value.dtype != np.uint8:
            hint = "these look like pixels: leave Decode out." if value.ndim > 1 else ""
            raise ArgumentError(f"Decode expects the bytes of a file, uint8[n], got {describe(value)}", hint=hint)
        return decoded(value)


class RandomCropDecodeResize(RandomResizedCrop):
    """`Decode` and `RandomResizedCrop` in one; arguments as the latter."""

    def apply(self, value: Array) -> Any:
        return super().apply(Decode()(value))


class ToPIL(Transform):
    """Pixels [h,w,3] or [h,w], 0 to 255, to a picture of Pillow's, which knows ``show()``.

    All transforms take such pictures, and pipelines keep them as arrays.
    """

    def apply(self, value: Array) -> Any:
        check_image(value, "ToPIL")
        pixels = value[..., 0] if value.ndim == 3 and value.shape[-1] == 1 else value
        return _pillow().fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


class ToNumpy(Transform):
    """The way back from `ToPIL`: pixels as an array."""

    def apply(self, value: Array) -> Array:
        check_image(value, "ToNumpy")
        return value


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ModuleNotFoundError("pictures take Pillow: pip install 'msnb[images]'") from None
    return Image
