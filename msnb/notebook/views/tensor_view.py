"""``ms.show.tensor``: a tensor as a picture: type, spread of its values, and, where it looks like one, the image.

    f32[3,32,32] on CPU, 12.0 KB        a histogram of the values            images, one per channel or per example

An array of 2 to 4 axes with at most MOST_SIDE points along the last two is drawn as images, light is large. The pixels
are a PNG inside the SVG (written here: a PNG is a header, rows with a filter byte, zlib and checksums).
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import ArgumentError
from msnb.core import Array, Tensor
from msnb.core.tensor_summary import plain_numbers, sparkline, value_words
from msnb.ir.text.literals import write_type
from msnb.notebook.charts.html_fragments import bytes_word, figure, number_word, pre
from msnb.notebook.charts.plot import Scale, card, tick_word
from msnb.notebook.drawing import INK, SOFT, number, page, rect, text as words
from msnb.notebook.views.view import Section, View

MOST_SIDE, MOST_IMAGES, BINS = 512, 24, 40
LEAST_SIDE, UNASKED = 8, 6
W, GAP = 720.0, 8.0


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file: pixels are [rows, columns] (grey) or [rows, columns, 3]."""
    rows, cols = pixels.shape[:2]
    raw = b"".join(b"\0" + pixels[i].tobytes() for i in range(rows))
    head = struct.pack(">IIBBBBB", cols, rows, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def images_of(array: Array) -> list[Array]:
    """The images in an array: [h, w], [c, h, w] (one per channel; three are a colour image), [n, c, h, w]."""
    if not 2 <= array.ndim <= 4 or array.dtype.kind not in "fiub" or array.size == 0:
        return []
    if max(array.shape[-2:]) > MOST_SIDE or min(array.shape[-2:]) < 2:
        return []
    if array.ndim == 2:
        return [array]
    flat = array.reshape(-1, *array.shape[-3:]) if array.ndim == 4 else array[None]
    if flat.shape[1] == 3:
        return [np.moveaxis(image, 0, -1) for image in flat]
    return list(flat.reshape(-1, *flat.shape[-2:]))


def grey(image: Array, low: float, high: float) -> NDArray[np.uint8]:
    """Values from ``low`` to ``high`` as 0 to 255; what is not finite is black."""
    wide = plain_numbers(image).astype(np.float64)
    scaled = (wide - low) / (high - low) * 255 if high > low else np.full(wide.shape, 128.0)
    return np.nan_to_num(np.clip(scaled, 0, 255), nan=0.0).astype(np.uint8)


def looks_like_images(array: Array) -> bool:
    """True for what a cell shows as pictures unasked: channels of an image, a batch of them, a matrix of some size."""
    if not images_of(array) or min(array.shape[-2:]) < LEAST_SIDE:
        return False
    return array.ndim == 2 or array.shape[-3] in (1, 3)


def tensor_with_images(tensor: Tensor) -> str:
    """What a cell shows for a tensor; of image-like ones also the images, and how many are left out."""
    plain = tensor._repr_html_()
    array = np.asarray(tensor._host())
    if not looks_like_images(array):
        return plain
    images, numbers = images_of(array), TensorView(tensor).numbers
    drawn, bottom = _images(images[:UNASKED], numbers, 0.0)
    w = max(_width(images[0], min(len(images), UNASKED)), 1.0)
    more = f" and {len(images) - UNASKED} more; ms.show.tensor shows them" if len(images) > UNASKED else ""
    words_ = f"light is large{more}"
    told = f"the values as images, {words_}"
    return f"<div>{plain}{figure(page(w, bottom, drawn, told), told)}<div>{words_}</div></div>"


class TensorView(View):
    """A tensor to look at.

    Attributes:
        array: its values.
    """

    kind = "tensor"

    def __init__(self, value: Any, title: str = "") -> None:
        if not isinstance(value, (Tensor, np.ndarray)):
            raise ArgumentError(f"tensor shows a Tensor or an array, not {type(value).__name__}.")
        tensor = value if isinstance(value, Tensor) else Tensor(value)
        super().__init__(title or getattr(tensor, "name", "") or "tensor")
        self.array: Array = np.asarray(tensor._host())
        self.head: str = f"{write_type(tensor._type)} on {tensor.device}, {bytes_word(self.array.nbytes)}"

    @property
    def numbers(self) -> Array:
        """The finite values."""
        wide = plain_numbers(self.array).ravel()
        return wide[np.isfinite(wide)].astype(np.float64) if wide.dtype.kind in "fiub" else np.zeros(0)

    @property
    def text(self) -> str:
        """Type, range, mean, a histogram in one line."""
        found = self.numbers
        more = f", mean {number_word(float(found.mean()))}, std {number_word(float(found.std()))}" if found.size else ""
        return f"{self.title}: {self.head}\n{value_words(self.array)}{more}\n{sparkline(self.array)}".rstrip()

    @property
    def svg(self) -> str:
        """Histogram and images."""
        parts = [words(16, 44, self.head, 11, SOFT, anchor="start", mono=True),
                 words(16, 61, self.text.split("\n")[1], 11, SOFT, anchor="start", mono=True)]  # fmt: skip
        bottom = 74.0
        if np.unique(self.numbers).size > 2:
            parts += _histogram(self.numbers, bottom)
            bottom += 118
        images = images_of(self.array)
        if images:
            drawn, bottom = _images(images[:MOST_IMAGES], self.numbers, bottom)
            parts += drawn
            if len(images) > MOST_IMAGES:
                parts.append(words(16, bottom + 12, f"and {len(images) - MOST_IMAGES} more", 11, SOFT, anchor="start"))
                bottom += 18
        return card(W, bottom + 10, self.title, parts)

    @property
    def sections(self) -> list[Section]:
        """The values."""
        return [("Values", pre(str(Tensor(self.array)) if self.array.dtype.kind != "V" else str(self.array)))]

    @property
    def data(self) -> dict[str, Any]:
        """Type, shape and range."""
        return {"type": self.head, "shape": list(self.array.shape), "values": value_words(self.array)}


def _histogram(values: Array, top: float) -> list[str]:
    scale = float(np.abs(values).max()) or 1.0  # scaled: the range of extreme values overflows
    counts, edges = np.histogram(values / scale, BINS)
    x = Scale(float(edges[0]), float(edges[-1]), 30, W - 30)
    most, base = int(counts.max()), top + 92
    parts = []
    for count, a, b in zip(counts, edges, edges[1:]):
        h = 84 * count / most
        parts.append(rect(x(a) + 0.5, base - h, max(x(b) - x(a) - 1, 0.5), h, "#5f8fd0") if count else "")
    ends = ((30.0, edges[0], "start"), (W - 30, edges[-1], "end"))
    parts += [words(at, base + 15, tick_word(float(f"{v * scale:.3g}")), 10.5, SOFT, anchor=a) for at, v, a in ends]
    if edges[0] < 0 < edges[-1]:
        parts.append(rect(x(0.0), base - 88, 0.8, 92, INK))
        parts.append(words(x(0.0), base + 15, "0", 10.5, SOFT))
    return parts


def _size(image: Array, count: int) -> tuple[float, float]:
    rows, cols = image.shape[:2]
    side = 220.0 if count < 3 else 104.0
    scale = min(side / rows, side / cols)
    return cols * scale, rows * scale


def _width(image: Array, count: int) -> float:
    return 16 + count * (_size(image, count)[0] + GAP)


def _images(images: list[Array], numbers: Array, top: float) -> tuple[list[str], float]:
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    w, h = _size(images[0], len(images))
    per_row = max(1, int((W - 32 + GAP) // (w + GAP)))
    parts = []
    for k, image in enumerate(images):
        x, y = 16 + (k % per_row) * (w + GAP), top + (k // per_row) * (h + GAP)
        data = base64.b64encode(png_of(grey(image, low, high))).decode()
        place = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
        parts.append(f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" '
                     f'href="data:image/png;base64,{data}"/>')  # fmt: skip
    return parts, top + -(-len(images) // per_row) * (h + GAP)
