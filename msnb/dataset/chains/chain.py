"""A map's operations as a chain: what runs row by row, then what one kernel does to the rows of a batch.

    operations   Decode()   RandomCrop   RandomHorizontalFlip   Rescale   Normalize   HWC2CHW
    chain        first      geometry: an ImageMap               tail: a table of 256 values per channel, and a layout

The geometry only writes down where pixels come from, so what remains for a row of bytes is one pass over its pixels.
Whatever a chain cannot say (floats as input, five-fold blending, functions) stays in ``first``, or runs as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.dataset.chains import chain_kernel, plain_kernel
from msnb.dataset.chains.image_map import ImageMap
from msnb.dataset.chains.kernel_kind import Images, Work
from msnb.dataset.chains.transform_record import GEOMETRY, LAYOUT, OPENING, PIXELS, Record, record_of, table_of
from msnb.dataset.pipeline.rows import Array


@dataclass(frozen=True)
class Chain:
    """Operations, cut in three.

    Args:
        first: run row by row. opening: makes an image of bytes, if there is one. geometry: with their records.
        tail: changes of values and layout.
    """

    first: tuple[Any, ...]
    opening: tuple[Any, Record] | None
    geometry: tuple[tuple[Any, Record], ...]
    tail: tuple[Any, ...]
    _tables: dict[int, tuple[Array, bool] | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def many(self) -> bool:
        """Whether rows of one size are traced all at once."""
        return not self.first and self.opening is None and all(record.many for _, record in self.geometry)

    @property
    def of_arrays(self) -> bool:
        """Whether pictures of Pillow's have another answer than their pixels: an operation has its own for them."""
        return any("of_picture" in vars(type(operation)) for operation, _ in self.geometry)

    def takes(self, value: Any) -> bool:
        """Whether the kernel can do the rest for this value: an image of bytes."""
        return (
            type(value) is np.ndarray
            and value.dtype == np.uint8
            and value.ndim == 3
            and value.size > 0
            and self.table(value.shape[2]) is not None
        )

    def table(self, channels: int) -> tuple[Array, bool] | None:
        """See `transform_record.table_of`; None too where the border's value is none for so many channels."""
        if channels not in self._tables:
            found = table_of(self.tail, channels) if channels < 256 else None
            self._tables[channels] = found if self._border(channels) is not None else None
        return self._tables[channels]

    def _border(self, channels: int) -> Array | None:
        """The border's pixel, uint8[channels]."""
        fills = [record.fill(operation) for operation, record in self.geometry]
        fill = np.asarray(next((value for value in fills if value is not None), 0))
        if fill.dtype.kind not in "biuf" or (fill.ndim and fill.shape != (channels,)):
            return None
        out = np.empty(channels, np.uint8)
        with np.errstate(all="ignore"):
            out[...] = fill
        return out

    def opens(self, value: Any) -> bool:
        """Whether `opened` may be asked for this value."""
        return self.opening is not None and type(value) is np.ndarray and self.table(3) is not None

    def opened(self, value: Array) -> tuple[Array, ImageMap]:
        """The image that the opening makes of a value, and where its pixels go.

        Raises:
            ChainError: as `traced`.
        """
        assert self.opening is not None and self.opening[1].opened is not None
        try:
            return self.opening[1].opened(self.opening[0], value)
        except Exception as error:
            raise ChainError(self.opening[0], value) from error

    def traced(self, image: ImageMap, draws: Any) -> ImageMap:
        """What the geometry makes of images.

        Raises:
            ChainError: an operation refuses; it says which, and what it was given.
        """
        for operation, record in self.geometry:
            assert record.trace is not None
            try:
                image = record.trace(operation, image, draws)
            except Exception as error:
                raise ChainError(operation, np.broadcast_to(np.uint8(0), image.shape)) from error
        return image

    def made(self, images: Images, maps: list[ImageMap], threads: int = 1) -> Array:
        """The rest of the chain for images that it takes, stacked.

        Args:
            maps: one for all, or one each, of one output shape. threads: that share the images, in machine code.
        """
        height, width, channels = maps[0].shape
        found, border = self.table(channels), self._border(channels)
        assert found is not None and border is not None
        table, first = found
        shape = (channels, height, width) if first else (height, width, channels)
        out = np.empty((len(images), *shape), table.dtype)
        work = Work(_contiguous(images), maps, border, table, first, out)
        if out.size and chain_kernel.at_hand(channels):
            chain_kernel.run(work, threads)
        elif out.size:
            plain_kernel.run(work)
        return out


class ChainError(Exception):
    """An operation of a chain refuses a value; its own error is the cause."""

    def __init__(self, operation: Any, value: Array) -> None:
        super().__init__(operation, value)
        self.operation: Any = operation
        self.value = value


def _contiguous(images: Images) -> Images:
    if isinstance(images, np.ndarray):
        return np.asarray(images, order="C")
    return [np.asarray(image, order="C") for image in images]


def chain_of(operations: Sequence[Any]) -> Chain | None:
    """The chain of a map's operations; None where no kernel can do any of them.

    The longest end of the list that a kernel can do is behind ``first``.
    """
    for begin in range(len(operations)):
        listed = [(operation, record_of(operation)) for operation in operations[begin:]]
        known = [(operation, record) for operation, record in listed if record is not None]
        if len(known) == len(listed) and _is_chain(known):
            geometry = tuple(pair for pair in known if pair[1].kind == GEOMETRY)
            tail = tuple(operation for operation, record in known if record.kind in (PIXELS, LAYOUT))
            opening = known[0] if known[0][1].kind == OPENING else None
            return Chain(tuple(operations[:begin]), opening, geometry, tail)
    return None


def _is_chain(known: Sequence[tuple[Any, Record]]) -> bool:
    """Whether an opening, geometry, values and layout, in this order, say it all, with one blending and one border."""
    fills = [record.fill(operation) for operation, record in known]
    borders = [np.asarray(fill) for fill in fills if fill is not None]
    if sum(record.blends(operation) for operation, record in known) > 1:
        return False
    return all(np.array_equal(border, borders[0]) for border in borders) and _in_order([r for _, r in known])


def _in_order(listed: Sequence[Record]) -> bool:
    """Whether no pixel is made of values that were changed, and none is moved when the layout is another."""
    kinds = [record.kind for record in listed]
    for place, record in enumerate(listed):
        before = kinds[:place]
        if record.kind == OPENING and place:
            return False
        if record.kind == GEOMETRY and (LAYOUT in before or (PIXELS in before and not record.picks)):
            return False
    return True
