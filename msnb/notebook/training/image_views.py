"""``ms.show.images`` and ``ms.show.features``: a batch as a grid of pictures, each with its label.

    a picture's line      7            its label
                          7 (is 1)     what was predicted, where that is wrong: in red, with a heavy border

Pixels are PNGs inside the SVG. All pictures of a batch share one scale of brightness, features have one each: channels
of a layer have sizes of their own.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, ShapeError
from msnb.core import Array, Tensor, plain_numbers
from msnb.notebook.charts.html_fragments import count, pre
from msnb.notebook.charts.plot import card
from msnb.notebook.drawing import ALARM, INK, LINE_COLOUR, SOFT, number, rect, shortened, text as words
from msnb.notebook.views.tensor_view import grey, png_of
from msnb.notebook.views.view import Section, View

W, HEAD, MARGIN, GAP, WORD = 720.0, 36.0, 16.0, 10.0, 16.0
LARGEST, MOST_SIDE = 96.0, 512


def host_array(value: Any, what: str) -> Array:
    """A Tensor or something that NumPy reads, as numbers.

    Raises:
        ArgumentError: something else.
    """
    found = np.asarray(value._host() if isinstance(value, Tensor) else value)
    found = np.asarray(plain_numbers(found))
    if found.dtype.kind not in "fiub":
        raise ArgumentError(f"{what} must be numbers, not {type(value).__name__} of {found.dtype}.")
    return found


def pictures_of(array: Array) -> list[Array]:
    """The pictures of a batch: [n, h, w], [n, c, h, w] or [n, h, w, c] with 1 or 3 channels; [h, w] is one.

    Raises:
        ShapeError: another shape, or pictures that are too large to be stored in a notebook.
    """
    if array.ndim == 2:
        array = array[None]
    if array.ndim == 4 and array.shape[1] in (1, 3):
        array = np.moveaxis(array, 1, -1)
    if array.ndim == 4 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[-1] != 3) or 0 in array.shape:
        raise ShapeError(
            f"images shows [h, w], [n, h, w], [n, c, h, w] or [n, h, w, c], c is 1 or 3, got {list(array.shape)}.",
            hint="one picture of three dimensions: x[None]; the channels of a layer: ms.show.features(layer, x).",
        )
    if max(array.shape[1:3]) > MOST_SIDE:
        raise ShapeError(f"images shows pictures of at most {MOST_SIDE} points a side, got {list(array.shape)}.")
    return list(array)


class ImagesView(View):
    """Pictures in a grid.

    Args:
        pictures: arrays [h, w] or [h, w, 3].
        captions: one per picture, or none.
        marked: the numbers of the pictures that are marked as wrong.
        left_out: how many there are beside these.
        title: above all.
        columns: pictures side by side.
        apart: every picture has its own scale of brightness.
    """

    kind = "images"

    def __init__(
        self, pictures: Sequence[Array], captions: Sequence[str] = (), marked: Sequence[int] = (), left_out: int = 0,
        title: str = "images", columns: int = 8, apart: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(title)
        self.pictures: list[Array] = list(pictures)
        self.captions: list[str] = list(captions)
        self.marked: frozenset[int] = frozenset(marked)
        self.left_out: int = left_out
        self.columns: int = columns
        self.apart: bool = apart

    @property
    def svg(self) -> str:
        """The grid."""
        rows, cols = self.pictures[0].shape[:2]
        side = min(LARGEST * 2 if len(self.pictures) < 4 else LARGEST, (W - 2 * MARGIN + GAP) / self.columns - GAP)
        scale = side / max(rows, cols)
        w, h = cols * scale, rows * scale
        line = h + GAP + (WORD if self.captions else 0.0)
        parts: list[str] = []
        spans = self._spans()
        for k, picture in enumerate(self.pictures):
            x, y = MARGIN + (k % self.columns) * (side + GAP), HEAD + (k // self.columns) * line
            data = base64.b64encode(png_of(grey(picture, *spans[k]))).decode()
            place = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
            parts.append(f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" '
                         f'href="data:image/png;base64,{data}"/>')  # fmt: skip
            colour, width = (ALARM, 2.5) if k in self.marked else (LINE_COLOUR, 1.0)
            parts.append(rect(x, y, w, h, "none", colour, width=width))
            if self.captions:
                ink, weight = (ALARM, 700) if k in self.marked else (INK, 400)
                caption = shortened(self.captions[k], max(int(side / 6), 3))
                parts.append(words(x + w / 2, y + h + 13, caption, 11, ink, weight))
        bottom = HEAD + -(-len(self.pictures) // self.columns) * line
        if self.left_out:
            parts.append(words(MARGIN, bottom + 10, f"and {self.left_out} more", 11, SOFT, anchor="start"))
            bottom += WORD
        return card(W, bottom + 8, self.title, parts)

    def _spans(self) -> list[tuple[float, float]]:
        finite = [p[np.isfinite(p)].astype(np.float64) for p in self.pictures]
        spans = [(float(f.min()), float(f.max())) if f.size else (0.0, 1.0) for f in finite]
        return spans if self.apart else [(min(s[0] for s in spans), max(s[1] for s in spans))] * len(spans)

    @property
    def text(self) -> str:
        """Size and captions."""
        shape = " x ".join(map(str, self.pictures[0].shape[:2]))
        wrong = f", {len(self.marked)} wrong" if self.marked else ""
        more = f" and {self.left_out} more" if self.left_out else ""
        head = f"{self.title}: {count(len(self.pictures), 'picture')} of {shape}{wrong}{more}"
        lines = [self.captions[i : i + self.columns] for i in range(0, len(self.captions), self.columns)]
        return "\n".join([head, *("  ".join(line) for line in lines)])

    @property
    def sections(self) -> list[Section]:
        """The captions."""
        return [("Text", pre(self.text))]

    @property
    def data(self) -> dict[str, Any]:
        """Captions, and which are marked."""
        return {"captions": self.captions, "marked": sorted(self.marked), "left out": self.left_out}


def labelled(
    pictures: list[Array], labels: Any, predicted: Any, names: Sequence[str] | None
) -> tuple[list[str], list[int]]:
    """Captions, and the numbers of the pictures whose prediction is wrong.

    Raises:
        ShapeError: not one label per picture.
    """
    true = class_numbers(labels, "labels", len(pictures)) if labels is not None else None
    told = class_numbers(predicted, "predicted", len(pictures)) if predicted is not None else true
    if told is None:
        return [], []
    said = [name_of_class(k, names) for k in told]
    if true is None or predicted is None:
        return said, []
    wrong = [i for i, (a, b) in enumerate(zip(told, true)) if a != b]
    for i in wrong:
        said[i] += f" (is {name_of_class(true[i], names)})"
    return said, wrong


def class_numbers(value: Any, what: str, size: int | None = None) -> list[int]:
    """Class numbers: integers [n], or scores [n, classes], whose largest counts.

    Raises:
        ArgumentError: no numbers of classes. ShapeError: not one per picture.
    """
    array = host_array(value, what)
    if array.ndim == 2 and array.dtype.kind == "f":
        array = array.argmax(1)
    if array.ndim != 1:
        raise ShapeError(f"{what} must be classes [n] or scores [n, classes], got {list(array.shape)}.")
    if size is not None and len(array) < size:
        raise ShapeError(f"{what} must have one entry per picture: {size} pictures, {len(array)} {what}.")
    if array.dtype.kind == "f" and not np.array_equal(array, np.trunc(array)):
        hint = "scores are [n, classes]."
        raise ArgumentError(f"{what} must be numbers of classes, got {array.flat[0]:g}.", hint=hint)
    return [int(v) for v in array[:size]]


def name_of_class(index: int, names: Sequence[str] | None) -> str:
    """A class by its name, where it has one."""
    return str(names[index]) if names is not None and 0 <= index < len(names) else str(index)
