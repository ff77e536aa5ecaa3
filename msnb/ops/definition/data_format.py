"""Where images keep their channels: ``data_format`` "NCHW" or "NHWC".

    NCHW    n, channels, rows, columns        one plane after another: a pixel's channels lie rows * columns apart
    NHWC    n, rows, columns, channels        channels last: a pixel is one run of memory, which is what libraries
                                              of convolutions like best

Only images have a format; weights are [out, in / groups, rows, columns] either way. Bodies are written once, for NCHW:
an array in the other format is looked at through transposed axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core.types import Dim, Shape, Size
from msnb.ops.definition.window_geometry import Pair

NCHW, NHWC = "NCHW", "NHWC"
TO_FIRST = (0, 3, 1, 2)
"""Axes that turn NHWC into NCHW."""
TO_LAST = (0, 2, 3, 1)
"""Axes that turn NCHW into NHWC."""


def need_format(name: str, data_format: Any) -> None:
    """Raise AttributeValueError unless ``data_format`` is one of the two."""
    if data_format != NCHW and data_format != NHWC:
        raise AttributeValueError(f"{name}: data_format must be 'NCHW' or 'NHWC', got {data_format!r}.")


def channel_axis(data_format: str) -> int:
    """The axis of the channels."""
    return 3 if data_format == NHWC else 1


def place_axes(data_format: str) -> Pair:
    """The axes of rows and columns."""
    return (1, 2) if data_format == NHWC else (2, 3)


def channels_of(shape: Shape, data_format: str) -> Size:
    """How many channels images of this shape have."""
    return shape[channel_axis(data_format)]


def places_of(shape: Shape, data_format: str) -> tuple[Size, Size]:
    """Rows and columns of images of this shape."""
    rows, columns = place_axes(data_format)
    return shape[rows], shape[columns]


def known_places(name: str, x: Any, data_format: str) -> Pair:
    """Rows and columns of images for the gradient of the op ``name``; raises ShapeError where they are known only at
    run time."""
    h, w = places_of(x.shape, data_format)
    if isinstance(h, Dim) or isinstance(w, Dim):
        raise ShapeError(f"the gradient of {name} needs images of known size, these have {h} rows and {w} columns.")
    return h, w


def channels_last(images: Any) -> Any:
    """NCHW arrays as NHWC, in memory of their own."""
    return np.asarray(np.moveaxis(images, 1, 3), order="C")


def image_shape(n: Size, channels: Size, places: tuple[Size, Size], data_format: str) -> Shape:
    """The shape of n images."""
    return (n, *places, channels) if data_format == NHWC else (n, channels, *places)


def image_labels(data_format: str, channels: str = "c", rim: str = "") -> str:
    """The axis labels of images; ``rim="~"``: of those whose rows and columns windows see, with those of neighbours."""
    places = f"h{rim} w{rim}"
    return f"n {places} {channels}" if data_format == NHWC else f"n {channels} {places}"


def formatted(body: Callable[..., Any], *images: int, result: bool = True) -> Callable[..., Any]:
    """A body written for NCHW with the attribute ``data_format``.

    Args:
        body: takes and gives NCHW.
        images: the positions of its inputs that are images.
        result: whether what it gives are images.
    """

    def run(xp: Any, *arrays: Any, data_format: str = NCHW, **attrs: Any) -> Any:
        if data_format == NCHW:
            return body(xp, *arrays, **attrs)
        turned = [a.transpose(TO_FIRST) if i in images else a for i, a in enumerate(arrays)]
        out = body(xp, *turned, **attrs)
        return out.transpose(TO_LAST).copy() if result else out

    return run
