"""Nodes that passes put in the place of those that the user wrote: the same rows, had in fewer or earlier steps.

    MapStages      map <- map                 one after the other on one thread
    EarlyShuffle shuffle, below its map     rows are shuffled before they are decoded, and keep their numbers
    ChainBatch     batch <- maps              the ends of maps run over the rows of a batch at once

Draws are named by the height of a node and the number of a row, so a fused node keeps the maps it is made of: each
draws by its own height, and by the number that the row had when the user's map saw it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from msnb.dataset.chains import row_draws as many_rows
from msnb.dataset.chains.chain import Chain, ChainError, chain_of
from msnb.dataset.chains.image_map import ImageMap
from msnb.dataset.chains.transform_record import runs_stacked
from msnb.dataset.pipeline.batch import Batch, BatchInfo, stack
from msnb.dataset.pipeline.epoch_rng import Epoch, draws, many_draws, row_draws
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.nodes import Node, Shuffle, UnaryNode, failure
from msnb.dataset.pipeline.rows import Array, Row, is_picture, to_array
from msnb.dataset.pipeline.workers import prefetch


class MapStages(UnaryNode):
    """Maps that follow one another, on one crew of threads; `stages` from below to above."""

    label = "map"

    def __init__(self, parent: Node, stages: Sequence[Map]) -> None:
        super().__init__(parent, stages[-1].columns)
        self.stages: tuple[Map, ...] = tuple(stages)
        self.height: int = stages[-1].height
        self.workers: int = max(stage.workers for stage in stages)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return self._mapped(epoch, self.parent.numbered(epoch, start))

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        found = self.parent.numbered_pick(epoch, numbers)
        return None if found is None else self._mapped(epoch, found)

    def _mapped(self, epoch: Epoch, numbered: Iterator[tuple[int, Row]]) -> Iterator[Row]:
        def work(item: tuple[int, Row]) -> Row:
            index, row = item
            for stage in self.stages:
                row = stage.row(epoch, index, row)
            return row

        return prefetch.ordered_map(work, numbered, self.workers)

    def describe(self) -> str:
        return " + ".join(stage.describe() for stage in self.stages)


class EarlyShuffle(Shuffle):
    """A shuffle of rows that maps above it still have to make: each keeps the number that it had before."""

    def __init__(self, shuffle: Shuffle, parent: Node) -> None:
        super().__init__(parent, shuffle.size)
        self.height: int = shuffle.height  # its own order

    def numbered(self, epoch: Epoch, start: int = 0) -> Iterator[tuple[int, Row]]:
        if start and isinstance(self.parent.count(), int):
            found = self.parent.numbered_pick(epoch, self._order(epoch)[start:])
            if found is not None:
                return found
        return itertools.islice(self._through(epoch, self.parent.numbered(epoch)), start, None)

    def numbered_pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[tuple[int, Row]] | None:
        if not isinstance(self.parent.count(), int):
            return None
        order = self._order(epoch)
        return self.parent.numbered_pick(epoch, [order[number] for number in numbers])


class LazyImage:
    """An image whose chain was traced, and not run."""

    def __init__(self, chain: Chain, image: Array, image_map: ImageMap) -> None:
        self.chain: Chain = chain
        self.image = image
        self.map: ImageMap = image_map

    def made(self) -> Array:
        out: Array = self.chain.made([self.image], [self.map])[0]
        return out


Column = Array | list[Any]  # many rows of a column: stacked already, or one by one


class ChainBatch(Batch):
    """A batch of what maps make: the ends of their chains run over all rows at once, into the batch's memory."""

    as_they_are = False

    def __init__(self, batch: Batch, stages: Sequence[Map], parent: Node) -> None:
        super().__init__(stages[-1], batch.size, batch.drop)
        self.parent: Node = parent
        self.parents: tuple[Node] = (parent,)
        self.stages: tuple[Map, ...] = tuple(stages)
        self.height: int = batch.height
        self.workers: int = max(batch.workers, *(stage.workers for stage in stages))
        self.chains: list[Chain | None] = chains_of(self.stages)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        whole = self._whole(epoch, start)
        if whole is None:
            return super().rows(epoch, start)
        # where nothing but machine code takes time, it has the threads
        workers = 1 if all(map(at_once, self.stages, self.chains)) else self.workers
        return prefetch.ordered_map(lambda item: self._made(epoch, *item), whole, workers)

    def _whole(self, epoch: Epoch, start: int) -> Iterator[tuple[BatchInfo, Array, list[Column]]] | None:
        """Batches whose rows are stacked below; None where they come one by one, or something runs row by row."""
        if not isinstance(self.size, int) or any(chain is not None and chain.first for chain in self.chains):
            return None
        size = self.size
        found = self.parent.stacked(epoch, size, start * size)
        if found is None:
            return None
        full = ((i, row) for i, row in enumerate(found, start) if not self.drop or len(row[0]) == size)
        return ((BatchInfo(i, epoch.number), i * size + np.arange(len(row[0])), list(row)) for i, row in full)

    def _rows_below(self, epoch: Epoch, start: int) -> Iterator[Any]:
        return self.parent.numbered(epoch, start)

    def _picked_below(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Any] | None:
        return self.parent.numbered_pick(epoch, numbers)

    def _assemble(self, epoch: Epoch, info: BatchInfo, group: list[Any]) -> Row:
        numbers, rows = zip(*group)
        return self._made(epoch, info, np.asarray(numbers), [list(column) for column in zip(*rows, strict=True)])

    def _made(self, epoch: Epoch, info: BatchInfo, numbers: Array, columns: list[Column]) -> Row:
        """The batch of these rows of the parent, column by column."""
        for stage, chain in zip(self.stages, self.chains):
            taken = [columns[i] for i in stage.taken]
            if chain is not None:
                fresh = [chained(stage, chain, epoch, numbers, taken[0], self.workers)]
            else:
                fresh = mapped(stage, epoch, numbers, taken)
            columns = list(stage.joined(columns, fresh))
        return tuple(stacked(name, column, info.batch) for name, column in zip(self.columns, columns, strict=True))

    def describe(self) -> str:
        return " + ".join([*(stage.describe() for stage in self.stages), super().describe()])


def chains_of(stages: Sequence[Map]) -> list[Chain | None]:
    """The chain of each map; None where it has none, or what it makes is read by another map."""
    return [
        _chain_of(stage) if not any(stage.outputs[0] in later.inputs for later in stages[i + 1 :]) else None
        for i, stage in enumerate(stages)
    ]


def _chain_of(stage: Map) -> Chain | None:
    if len(stage.inputs) != 1 or len(stage.outputs) != 1 or all(map(runs_stacked, stage.operations)):
        return None
    return chain_of(stage.operations)


def mapped(stage: Map, epoch: Epoch, numbers: Array, columns: list[Column]) -> list[Column]:
    """What a map makes of rows, given by column: row by row, or at once where that is the same."""
    if len(columns) == len(stage.outputs) == 1 and isinstance(columns[0], np.ndarray):
        if all(map(runs_stacked, stage.operations)):
            made: Any = columns[0]
            for operation in stage.operations:
                made = operation(made)
            return [made]
    rows = zip(*map(_listed, columns), strict=True)
    done = [stage.made(epoch, int(number), row) for number, row in zip(numbers, rows)]
    return [list(column) for column in zip(*done, strict=True)]


def at_once(stage: Map, chain: Chain | None) -> bool:
    """Whether a map does nothing row by row where rows are stacked."""
    return all(map(runs_stacked, stage.operations)) if chain is None else chain.many


def chained(stage: Map, chain: Chain, epoch: Epoch, numbers: Array, column: Column, threads: int) -> Column:
    """What a map with a chain makes of rows of a column: all at once, or images that are not made yet."""
    shape = _common(chain, column) if chain.many and many_rows.exact() else None
    if shape is None or numbers.max(initial=0) >= 2**32:
        return [_deferred(stage, chain, epoch, int(number), value) for number, value in zip(numbers, _listed(column))]
    source = many_draws(epoch, stage.height, numbers)
    with refusals(stage, int(numbers[0])):
        image_map = chain.traced(ImageMap.whole(*shape), source)
    return chain.made(column, [image_map], threads)


def _common(chain: Chain, column: Column) -> tuple[int, int, int] | None:
    """The shape that all these images have; None where they differ, or the chain does not take them."""
    if isinstance(column, np.ndarray):
        return column[0].shape if column.ndim == 4 and chain.takes(column[0]) else None
    shape: Any = np.shape(column[0])
    return shape if all(chain.takes(value) and value.shape == shape for value in column) else None


def _deferred(stage: Map, chain: Chain, epoch: Epoch, number: int, value: Array) -> Any:
    """A row of a chain, up to its pixels; all of it where the kernel does not take the row."""
    with row_draws(epoch, stage.height, number):
        values = stage.called(chain.first, (value,), number)
        if not chain.of_arrays:
            values = tuple([to_array(v) if is_picture(v) else v for v in values])
        with refusals(stage, number):
            if len(values) == 1 and chain.opens(values[0]):
                image, image_map = chain.opened(values[0])
                return LazyImage(chain, image, chain.traced(image_map, draws()))
            if len(values) == 1 and chain.opening is None and chain.takes(values[0]):
                return LazyImage(chain, values[0], chain.traced(ImageMap.whole(*values[0].shape), draws()))
        values = stage.called(stage.operations[len(chain.first) :], values, number)
    return stage.checked(values, number)[0]


@contextlib.contextmanager
def refusals(stage: Map, number: int) -> Iterator[None]:
    """What an operation of a chain refuses is told as a map tells it."""
    try:
        yield
    except ChainError as error:
        assert isinstance(error.__cause__, Exception)
        cause = error.__cause__
        raise failure("map", error.operation, number, stage.inputs, [error.value], cause) from cause


def stacked(name: str, column: Column, batch: int) -> Array:
    """A column of a batch."""
    if isinstance(column, np.ndarray):
        return column
    first = column[0]
    if all(isinstance(part, LazyImage) and part.map.shape == first.map.shape for part in column):
        out: Array = first.chain.made([part.image for part in column], [part.map for part in column])
        return out
    return stack(name, [part.made() if isinstance(part, LazyImage) else part for part in column], batch)


def _listed(column: Column) -> list[Any]:
    """The rows of a column, one by one."""
    if isinstance(column, np.ndarray):
        return [column[i, ...] for i in range(len(column))]
    return [part.made() if isinstance(part, LazyImage) else part for part in column]
