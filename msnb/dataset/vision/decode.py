"""From a picture's file to its pixels. JPEGs are read by simplejpeg, where it is installed, at once or at a fraction of
their size; Pillow reads the rest, and is imported here only, when a picture comes. Both give the same pixels.

Source: `mindspore.dataset.vision` (Decode, RandomCropDecodeResize, ToPIL)
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import DatasetError, reraise_interrupt
from msnb.base.files.bounded_reader import need_room
from msnb.dataset.pipeline.rows import Array, describe
from msnb.dataset.transforms.basic import Transform
from msnb.dataset.vision.geometry import resized
from msnb.dataset.vision.images import as_picture, check_image
from msnb.dataset.vision.random import RandomResizedCrop

__all__ = ["Decode", "RandomCropDecodeResize", "ToNumpy", "ToPIL"]

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

Least = Callable[[int, int], tuple[int, int]]
_JPEG, _COLOURS = b"\xff\xd8", ("YCbCr", "RGB", "Gray")
FORMATS = ("BMP", "DIB", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # Pillow knows more; some of them run programs


def decoded(content: Array, name: str = "the image", formats: Sequence[str] = FORMATS) -> Array:
    """The pixels uint8[h,w,3] of a file's bytes.

    Args:
        content: the bytes; name: for messages; formats: Pillow's names of those that are read.

    Raises:
        DatasetError: they are no picture, a damaged one, or far more pixels than such a file can have.
        ModuleNotFoundError: Pillow is not installed.
    """
    return scaled(content, None, name, formats)


def scaled(content: Array, least: Least | None, name: str = "the image", formats: Sequence[str] = FORMATS) -> Array:
    """As `decoded`; a JPEG may be decoded at a half, a quarter or an eighth of its sides, which takes less time.

    Args:
        least: from height and width of the file to those that must be left at least; None: all of them.
    """

    def refuse(why: str, hint: str = "") -> DatasetError:
        start = f"it starts with {content[:8].tobytes()!r}, {content.size} bytes"
        return DatasetError(f"{name} is no picture that can be read: {why} ({start})", hint=hint)

    if "JPEG" in formats and content[:2].tobytes() == _JPEG:
        found = _fast(content, least, refuse)
        if found is not None:
            return found
    image = pillow()
    try:
        with image.open(io.BytesIO(content.tobytes()), formats=formats) as picture:
            width, height = picture.size
            need_room(content.size, 3 * width * height, refuse)
            factor = 1 if least is None or picture.format != "JPEG" else _factor(height, width, least)
            if factor > 1:
                picture.draft("RGB", (width // factor, height // factor))
            # a picture in colours is not copied once more
            return np.array(picture if picture.mode == "RGB" else picture.convert("RGB"))
    except DatasetError:
        raise
    except Exception as error:  # decoders of seven formats, written in C and Python, each with errors of its own
        reraise_interrupt(error)
        raise refuse(f"{type(error).__name__}: {error}") from error


def size_of(content: Array, name: str = "the image") -> tuple[int, int]:
    """Height and width of a picture, without its pixels; of one that cannot be read, its error."""
    try:
        if simplejpeg is not None and content[:2].tobytes() == _JPEG:
            return simplejpeg.decode_jpeg_header(content)[:2]  # type: ignore[no-any-return]
        with pillow().open(io.BytesIO(content.tobytes()), formats=FORMATS) as picture:
            return picture.size[1], picture.size[0]
    except ModuleNotFoundError:
        raise
    except Exception as error:  # as above; reading all of it says what is wrong
        reraise_interrupt(error)
        height, width, _ = decoded(content, name).shape
        return height, width


def _factor(height: int, width: int, least: Least) -> int:
    """By how much a JPEG is decoded smaller."""
    high, wide = least(height, width)
    return next((f for f in (8, 4, 2) if -(-height // f) >= high and -(-width // f) >= wide), 1)


def _fast(content: Array, least: Least | None, refuse: Callable[..., DatasetError]) -> Array | None:
    """A JPEG by simplejpeg, which gives the pixels that Pillow gives; None where it cannot: Pillow says why, or can."""
    if simplejpeg is None:
        return None
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(content)
        if colours not in _COLOURS:
            return None
        need_room(content.size, 3 * width * height, refuse)
        factor = 1 if least is None else _factor(height, width, least)
        sides = {"min_height": -(-height // factor), "min_width": -(-width // factor), "min_factor": factor}
        out: Array = simplejpeg.decode_jpeg(content, "RGB", False, False, **(sides if factor > 1 else {}))
        return out
    except ValueError:
        return None


class Decode(Transform):
    """The bytes of a picture file, uint8[n], to its pixels, uint8[h,w,3].

    Args:
        to_pil: whether a picture of Pillow's is given, for functions that take such. Transforms take both.

    Raises:
        TypeError: not a row of bytes. DatasetError: no picture.
    """

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = to_pil

    def __call__(self, value: Any) -> Any:
        out = super().__call__(value)
        return as_picture(out, pillow()) if self.to_pil else out

    def apply(self, value: Array) -> Array:
        check_bytes(value, "Decode")
        return decoded(value)


def check_bytes(value: Array, what: str) -> None:
    """Refuse what is no row of bytes."""
    if value.ndim != 1 or value.dtype != np.uint8:
        hint = f"these look like pixels: leave {what} out." if value.ndim > 1 else ""
        raise DatasetError(f"{what} expects the bytes of a file, uint8[n], got {describe(value)}", hint=hint)


class RandomCropDecodeResize(RandomResizedCrop):
    """`Decode` and `RandomResizedCrop` in one; arguments as the latter.

    A JPEG whose drawn part is twice as large as `size`, or more, is decoded at a half (a quarter, an eighth) of its
    sides: the part is averaged before it is resized, and is had sooner.
    """

    def apply(self, value: Array) -> Any:
        image, (top, left, height, width) = self.opened(value)
        return resized(image[top : top + height, left : left + width], self.size, self.method)

    def opened(self, value: Array) -> tuple[Array, tuple[int, int, int, int]]:
        """The picture, decoded no larger than it must be, and the drawn part of it: row, column, height, width."""
        check_bytes(value, "RandomCropDecodeResize")
        full = size_of(value)
        part = self.part(*full)
        ratios = [max(1.0, have / want) for have, want in zip(part[2:], self.size)]
        image = scaled(value, lambda *sides: _least(sides, ratios))
        (top, high), (left, wide) = (
            _at_scale(first, count, small / large)
            for first, count, small, large in zip(part[:2], part[2:], image.shape, full)
        )
        return image, (top, left, high, wide)


def _least(sides: Sequence[int], ratios: Sequence[float]) -> tuple[int, int]:
    """The sides at which a part still has the pixels that it is resized to."""
    height, width = (math.ceil(side / ratio) for side, ratio in zip(sides, ratios))
    return height, width


def _at_scale(first: int, count: int, scale: float) -> tuple[int, int]:
    """First and number of the pixels of a part, in a picture decoded at a scale."""
    return int(first * scale), max(1, int(count * scale))


class ToPIL(Transform):
    """Pixels [h,w,3] or [h,w], 0 to 255, to a picture of Pillow's, which knows ``show()``.

    All transforms take such pictures, and what pipelines give are arrays.
    """

    def apply(self, value: Array) -> Any:
        check_image(value, "ToPIL")
        pixels = value[..., 0] if value.ndim == 3 and value.shape[-1] == 1 else value
        return pillow().fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


class ToNumpy(Transform):
    """The way back from `ToPIL`: pixels as an array."""

    def apply(self, value: Array) -> Array:
        check_image(value, "ToNumpy")
        return value


def pillow() -> Any:
    """The module of Pillow, imported when it is needed."""
    try:
        from PIL import Image
    except ImportError:
        raise ModuleNotFoundError("pictures take Pillow: pip install 'msnb[images]'") from None
    return Image
