"""Pictures as files: read and decoded, encoded and written, and asked for their sizes."""

from __future__ import annotations

import enum
import io
import os
from typing import Any, BinaryIO

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError, reraise_interrupt
from msnb.base.files import bounded_reader
from msnb.base.files.atomic_write import write_whole
from msnb.dataset.pipeline.rows import Array, describe
from msnb.dataset.vision.decode import pillow

__all__ = [
    "ImageReadMode", "encode_jpeg", "encode_png", "get_image_num_channels", "get_image_size", "read_file", "read_image",
    "write_file", "write_jpeg", "write_png",
]  # fmt: skip


class ImageReadMode(enum.IntEnum):
    """Which channels `read_image` gives: those of the file, one, or three."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


_READ = ("BMP", "DIB", "JPEG", "PNG", "TIFF")


def read_file(filename: str) -> Array:
    """The bytes of a file, uint8[n].

    Raises:
        FileNotFoundError: there is none. DatasetError: it is a folder, a pipe or a device.

    Source: `mindspore.dataset.vision.read_file`.

    Examples:
        >>> import os, tempfile
        >>> import numpy as np
        >>> name = os.path.join(tempfile.mkdtemp(), "a")
        >>> write_file(name, np.array([1, 2], np.uint8))
        >>> read_file(name)
        array([1, 2], dtype=uint8)
    """
    name = _path("read_file", filename)

    def refuse(why: str, hint: str = "") -> DatasetError:
        return DatasetError(f"read_file: {name!r} cannot be read: {why}.", hint=hint)

    return np.frombuffer(bounded_reader.read_file(name, refuse), np.uint8).copy()


def write_file(filename: str, data: Any) -> None:
    """Write bytes, uint8[n], into a file, all of them or none.

    Args:
        filename: where. data: an array or a Tensor.

    Source: `mindspore.dataset.vision.write_file`.

    Examples:
        See `read_file`.
    """
    content = _array("write_file", data)
    if content.ndim != 1:
        raise AttributeValueError(f"write_file: data is uint8[n], got {describe(content)}")
    _write("write_file", filename, content)


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> Array:
    """The pixels uint8[h,w,c] of a picture: JPEG, PNG, BMP or TIFF.

    Args:
        filename: the file.
        mode: UNCHANGED: 1 channel for grey, 3 for colours, uint16 for grey of 16 bits; GRAYSCALE: 1; COLOR: 3. Alpha is
            left out.

    Raises:
        FileNotFoundError: there is none. DatasetError: it is no such picture, or a damaged one.

    Source: `mindspore.dataset.vision.read_image`.

    Examples:
        >>> import os, tempfile
        >>> import numpy as np
        >>> name = os.path.join(tempfile.mkdtemp(), "a.png")
        >>> write_png(name, np.zeros((4, 5), np.uint8))
        >>> read_image(name).shape, read_image(name, ImageReadMode.COLOR).shape
        ((4, 5, 1), (4, 5, 3))
    """
    if not isinstance(mode, ImageReadMode):
        raise ArgumentError(f"read_image: mode is an ImageReadMode, got {mode!r}")
    content = read_file(filename)

    def refuse(why: str, hint: str = "") -> DatasetError:
        return DatasetError(f"read_image: {filename!r} is no picture that can be read: {why}", hint=hint)

    try:
        with pillow().open(io.BytesIO(content.tobytes()), formats=_READ) as picture:
            width, height = picture.size
            bounded_reader.need_room(content.size, 4 * width * height, refuse)
            return _pixels(picture, mode)
    except (DatasetError, ModuleNotFoundError):
        raise
    except Exception as error:  # decoders of many formats, each with errors of its own
        reraise_interrupt(error)
        raise refuse(f"{type(error).__name__}: {error}") from error


def _pixels(picture: Any, mode: ImageReadMode) -> Array:
    deep, grey = picture.mode.startswith("I;16"), picture.mode in ("1", "L", "I", "F")
    if mode is ImageReadMode.GRAYSCALE and picture.mode == "RGB":
        picture.draft("L", picture.size)  # a JPEG has its brightness
    if deep:
        values = np.array(picture).astype(np.uint16)
        pixels: Array = values if mode is ImageReadMode.UNCHANGED else (values >> 8).astype(np.uint8)
        return np.repeat(pixels[..., None], 3 if mode is ImageReadMode.COLOR else 1, axis=2)
    if grey or picture.mode == "L":
        kind = "RGB" if mode is ImageReadMode.COLOR else "L"
        return np.array(picture.convert(kind)).reshape(picture.height, picture.width, -1)
    colours: Array = np.array(picture if picture.mode == "RGB" else picture.convert("RGB"))
    if mode is not ImageReadMode.GRAYSCALE:
        return colours
    # shares of red, green and blue: libpng's, which cuts off, and OpenCV's
    shares, bits, half = ([9798, 19235, 3735], 15, 0) if picture.format == "PNG" else ([4899, 9617, 1868], 14, 1 << 13)
    bright: Array = (colours.astype(np.int64) @ np.array(shares) + half) >> bits
    return bright.astype(np.uint8)[..., None]


def encode_jpeg(image: Any, quality: int = 75) -> Array:
    """A picture as the bytes uint8[n] of a JPEG.

    Args:
        image: uint8[h,w], [h,w,1] or [h,w,3], an array or a Tensor.
        quality: 1 (small) to 100 (good).

    Source: `mindspore.dataset.vision.encode_jpeg`.

    Examples:
        >>> import numpy as np
        >>> encode_jpeg(np.zeros((8, 8, 3), np.uint8))[:2]
        array([255, 216], dtype=uint8)
    """
    return _encoded("encode_jpeg", image, "JPEG", quality=_within("encode_jpeg", "quality", quality, 1, 100))


def encode_png(image: Any, compression_level: int = 6) -> Array:
    """A picture as the bytes uint8[n] of a PNG.

    Args:
        image: uint8[h,w], [h,w,1] or [h,w,3], an array or a Tensor.
        compression_level: 0 (none) to 9 (small and slow).

    Source: `mindspore.dataset.vision.encode_png`.

    Examples:
        >>> import numpy as np
        >>> encode_png(np.zeros((8, 8, 3), np.uint8))[1:4].tobytes()
        b'PNG'
    """
    level = _within("encode_png", "compression_level", compression_level, 0, 9)
    return _encoded("encode_png", image, "PNG", compress_level=level)


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write a picture as a JPEG; see `encode_jpeg`.

    Source: `mindspore.dataset.vision.write_jpeg`.
    """
    _write("write_jpeg", filename, encode_jpeg(image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write a picture as a PNG; see `encode_png`.

    Source: `mindspore.dataset.vision.write_png`.
    """
    _write("write_png", filename, encode_png(image, compression_level))


def get_image_size(image: Any) -> list[int]:
    """Height and width of a picture: an array [..., h, w, c] or [h, w], or one of Pillow's.

    Source: `mindspore.dataset.vision.get_image_size`.

    Examples:
        >>> import numpy as np
        >>> get_image_size(np.zeros((4, 5, 3))), get_image_num_channels(np.zeros((4, 5, 3)))
        ([4, 5], 3)
    """
    if isinstance(image, np.ndarray):
        shape = _picture_shape("get_image_size", image)
        return [int(n) for n in (shape if len(shape) == 2 else shape[-3:-1])]
    width, height = _of_pillow("get_image_size", image).size
    return [height, width]


def get_image_num_channels(image: Any) -> int:
    """How many channels a picture has: an array [..., h, w, c] or [h, w], or one of Pillow's.

    Source: `mindspore.dataset.vision.get_image_num_channels`.

    Examples:
        See `get_image_size`.
    """
    if isinstance(image, np.ndarray):
        shape = _picture_shape("get_image_num_channels", image)
        return 1 if len(shape) == 2 else int(shape[-1])
    return len(_of_pillow("get_image_num_channels", image).getbands())


def _picture_shape(what: str, image: Array) -> tuple[int, ...]:
    if image.ndim < 2:
        raise AttributeValueError(f"{what}: a picture has at least 2 axes, got {describe(image)}")
    return image.shape


def _of_pillow(what: str, image: Any) -> Any:
    if not (hasattr(image, "getbands") and hasattr(image, "size")):
        raise ArgumentError(f"{what}: image is an array or a picture of Pillow, got {type(image).__name__}")
    return image


def _path(what: str, filename: Any) -> str:
    if not isinstance(filename, str):
        raise ArgumentError(f"{what}: filename is a str, got {type(filename).__name__}")
    return filename


def _array(what: str, value: Any) -> Array:
    array = value.asnumpy() if hasattr(value, "asnumpy") else value
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{what} takes an array or a Tensor, got {type(value).__name__}")
    if array.dtype != np.uint8:
        raise AttributeValueError(f"{what} takes uint8, got {describe(array)}", hint="image.astype(np.uint8)")
    return array


def _within(what: str, name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(f"{what}: {name} is an int, got {type(value).__name__}")
    if not least <= value <= most:
        raise AttributeValueError(f"{what}: {name} lies between {least} and {most}, got {value}")
    return value


def _encoded(what: str, image: Any, kind: str, **options: Any) -> Array:
    pixels = _array(what, image)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)) or not pixels.size:
        raise AttributeValueError(f"{what} takes a picture [h,w], [h,w,1] or [h,w,3], got {describe(pixels)}")
    target = io.BytesIO()
    plain = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    pillow().fromarray(np.asarray(plain, order="C")).save(target, kind, **options)
    return np.frombuffer(target.getvalue(), np.uint8).copy()


def _write(what: str, filename: Any, content: Array) -> None:
    name = _path(what, filename)
    if os.path.exists(name) and not os.path.isfile(name):
        raise DatasetError(f"{what}: {name!r} is a folder, a pipe or a device, and no file")

    def fill(target: BinaryIO) -> None:
        target.write(content.tobytes())

    write_whole(name, fill)
