"""What a transform is, as data: how a chain knows it without running it.

    opening    RandomCropDecodeResize       bytes of a file become an image of bytes, and an ImageMap of it
    geometry   RandomCrop, flips, Resize ...    an ImageMap becomes another, by drawn numbers
    pixels     Normalize, Rescale, TypeCast ... a value depends on the value and the channel alone
    layout     HWC2CHW, ToTensor ...            as pixels, and axes change places

A record belongs to a class and not to those derived from it, which may do something else. Whoever defines a transform
enters its record; a transform without one runs as it is, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from msnb.base import reraise_interrupt
from msnb.dataset.chains.image_map import ImageMap

OPENING, GEOMETRY, PIXELS, LAYOUT = "opening", "geometry", "pixels", "layout"


class Draws(Protocol):
    """Draws for one row or for many: an array with one entry per row, or a number that serves the only one."""

    def random(self) -> Any: ...

    def integers(self, high: int) -> Any: ...


Trace = Callable[[Any, ImageMap, Draws], ImageMap]
_records: dict[type, Record] = {}


@dataclass(frozen=True)
class Record:
    """A transform as data.

    Args:
        kind: OPENING, GEOMETRY, PIXELS or LAYOUT.
        opened: of an opening: the image, of three channels, and the map.
        trace: of geometry: what it makes of a map, with what it draws.
        many: one trace serves rows of one size; else rows are traced one by one, inside the draws of the row.
        picks: of geometry: it makes no pixel, blended or of a border, so it may stand behind changes of values.
        blends: of geometry: whether an operation makes pixels of several.
        fill: of geometry: the value of the border that an operation adds; None where it adds none.
        stacks: an operation does to stacked rows of any shape what it does to each.
        fits: whether an operation of the class is one that the record describes.
    """

    kind: str
    trace: Trace | None = None
    opened: Callable[[Any, NDArray[Any]], tuple[NDArray[Any], ImageMap]] | None = None
    many: bool = True
    picks: bool = False
    stacks: bool = False
    blends: Callable[[Any], bool] = lambda operation: False
    fill: Callable[[Any], Any] = lambda operation: None
    fits: Callable[[Any], bool] = lambda operation: True


def enter(record: Record, *classes: type) -> None:
    """The record of these classes."""
    for each in classes:
        _records[each] = record


def record_of(operation: Any) -> Record | None:
    """The record of an operation, or None."""
    found = _records.get(type(operation))
    return found if found is not None and found.fits(operation) else None


def runs_stacked(operation: Any) -> bool:
    """Whether an operation does to stacked rows, of whatever shape, what it does to each."""
    found = record_of(operation)
    return found is not None and found.stacks


def table_of(operations: tuple[Any, ...], channels: int) -> tuple[NDArray[Any], bool] | None:
    """What changes of values make of each byte: [channels, 256], and whether channels are the first axis then.

    The operations run themselves, on a picture of all bytes, so the table holds their very numbers. None: they refuse
    such a picture, or what they make of it is none.
    """
    picture = np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis, np.newaxis], channels, 2)
    made: Any = picture
    try:
        with np.errstate(all="ignore"):
            for operation in operations:
                made = operation(made)
    except Exception as error:  # whatever it is, it comes again where the operations run on the row, and is told there
        reraise_interrupt(error)
        return None
    if not isinstance(made, np.ndarray) or made.dtype.kind not in "biuf" or made.dtype.itemsize > 8:
        return None
    if made.shape == picture.shape:
        return np.asarray(made[:, 0].T, order="C"), False
    if made.shape == (channels, 256, 1):
        return np.asarray(made[:, :, 0], order="C"), True
    return None
