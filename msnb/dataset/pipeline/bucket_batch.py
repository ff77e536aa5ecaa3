"""Nodes that give another number of rows than they read: `bucket_batch_by_length` and `flat_map`.

lengths  3 9 4 8 2      boundaries [5], sizes [3, 2]   ->   batch of 9 8, then batch of 3 4 2
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline.batch import BatchInfo, PaddedBatch, PadInfo
from msnb.dataset.pipeline.epoch_rng import Epoch, row_draws
from msnb.dataset.pipeline.nodes import Count, Node, UnaryNode, enter, failure
from msnb.dataset.pipeline.rows import Row, as_columns, check_count, name_of, positions


class BucketBatch(UnaryNode):
    """Rows of similar length in one batch, each bucket with a batch size of its own; padded."""

    label = "bucket_batch_by_length"

    def __init__(
        self, parent: Node, columns: Sequence[str], boundaries: Sequence[int], sizes: Sequence[int],
        length: Callable[..., Any] | None, pad: PadInfo | None, to_boundary: bool, drop: bool,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self.taken: tuple[str, ...] = as_columns(columns, "column_names")
        self.order: tuple[int, ...] = positions(self.taken, parent.columns, self.label)
        self.boundaries: list[int] = [check_count(b, "a bucket boundary") for b in boundaries]
        self.sizes: list[int] = [check_count(size, "a bucket's batch size") for size in sizes]
        if not self.boundaries or sorted(set(self.boundaries)) != self.boundaries:
            raise AttributeValueError(f"{self.label}: bucket_boundaries must go up, got {list(boundaries)}")
        if len(self.sizes) != len(self.boundaries) + 1:
            raise AttributeValueError(
                f"{self.label}: {len(self.boundaries)} boundaries make {len(self.boundaries) + 1} buckets, got "
                f"{len(self.sizes)} bucket_batch_sizes"
            )
        if length is None and len(self.taken) != 1:
            raise AttributeValueError(
                f"{self.label}: without element_length_function the length is that of one column, got "
                f"{list(self.taken)}"
            )
        self.length: Callable[..., Any] | None = length
        self.to_boundary: bool = to_boundary
        self.drop: bool = drop
        self.padding: PaddedBatch = PaddedBatch(parent, 1, False, pad)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return itertools.islice(self._batches(epoch), start, None)

    def _batches(self, epoch: Epoch) -> Iterator[Row]:
        buckets: list[list[Row]] = [[] for _ in self.sizes]
        numbers = itertools.count()
        for index, row in enumerate(self.parent.rows(epoch)):
            bucket = bisect.bisect_right(self.boundaries, self._length(epoch, index, row))
            buckets[bucket].append(row)
            if len(buckets[bucket]) == self.sizes[bucket]:
                yield self._stacked(buckets[bucket], bucket, BatchInfo(next(numbers), epoch.number))
                buckets[bucket] = []
        for bucket, group in enumerate(buckets):
            if group and not self.drop:
                yield self._stacked(group, bucket, BatchInfo(next(numbers), epoch.number))

    def _length(self, epoch: Epoch, index: int, row: Row) -> int:
        values = [row[i] for i in self.order]
        if self.length is None:
            return len(values[0]) if values[0].ndim else 1
        try:
            with row_draws(epoch, self.height, index):
                found = np.asarray(self.length(*values))
        except Exception as error:
            raise failure(self.label, self.length, index, self.taken, values, error) from error
        if found.size != 1 or found.dtype.kind not in "iu" or int(found.reshape(())) < 0:
            raise DatasetError(
                f"{self.label}: {name_of(self.length)} must give a length, an integer from 0 on, got {found!r} at row "
                f"{index}"
            )
        return int(found.reshape(()))

    def _stacked(self, group: list[Row], bucket: int, info: BatchInfo) -> Row:
        if not self.to_boundary or bucket == len(self.boundaries):
            return self.padding.assembled(group, info)
        room = self.boundaries[bucket] - 1
        pad = {name: (self._shape(name, shape, group, room), fill) for name, (shape, fill) in self.padding.pad.items()}
        return PaddedBatch(self.parent, 1, False, pad).assembled(group, info)

    def _shape(self, name: str, shape: Any, group: list[Row], room: int) -> list[int | None]:
        rank = group[0][self.columns.index(name)].ndim
        return [room if size is None else size for size in (shape or [None] * rank)]

    def count(self) -> Count:
        return 0 if self.parent.count() == 0 else None

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        """Nothing: buckets may hold rows from anywhere."""

    def describe(self) -> str:
        return f"{self.label}({', '.join(self.taken)}; {self.boundaries}: {self.sizes})"


class FlatMap(UnaryNode):
    """Every row becomes the rows of a data set that a function makes of it.

    Args:
        expand: the user's function with its result as a node.
    """

    label = "flat_map"

    def __init__(self, parent: Node, function: Callable[..., Any], expand: Callable[[Any], Node]) -> None:
        self.function: Callable[..., Any] = function
        self.expand: Callable[..., Node] = expand
        super().__init__(parent)
        self.columns: tuple[str, ...] = self._inner(0, next(parent.rows(Epoch.start(0, 0)), None)).columns

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        entry = epoch.progress.at(epoch.place(self.height), start)
        begin, first = entry or (0, 0)
        at = 0 if entry is None else start - begin
        done, place = begin + at, epoch.place(self.height)
        for index, row in enumerate(self.parent.rows(epoch, first), first):
            epoch.progress.note(place, done - at, index)
            inner = self._inner(index, row)
            order = positions(self.columns, inner.columns, self.label)
            for found in inner.rows(epoch.branch(index), at):
                done += 1
                if done > start:
                    yield tuple(found[i] for i in order)
            at = 0

    def _inner(self, index: int, row: Row | None) -> Node:
        if row is None:
            raise DatasetError("flat_map: the dataset has no row, so the columns of what comes out are not known")
        try:
            made = self.function(*row)
        except Exception as error:
            raise failure(self.label, self.function, index, self.parent.columns, row, error) from error
        try:
            return self.expand(made)
        except TypeError:
            raise ArgumentError(
                f"flat_map: {name_of(self.function)} must return a Dataset, it returned {type(made).__name__} at row "
                f"{index}"
            ) from None

    def count(self) -> Count:
        return None

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        enter(self, epoch, done, found)

    def describe(self) -> str:
        return f"flat_map({name_of(self.function)})"
