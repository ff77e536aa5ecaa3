"""`batch` and `padded_batch`: rows stacked along a new first axis.

    f32[28,28]  f32[28,28]  f32[28,28]   --batch(3)-->   f32[3,28,28]

All rows of a batch must agree in shape and dtype, column by column; the first that differs is named. `padded_batch`
makes them agree by filling up at the end of each axis.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import DatasetError
from msnb.dataset.pipeline.epoch_rng import Epoch, row_draws
from msnb.dataset.pipeline.map import ColumnNode
from msnb.dataset.pipeline.nodes import Count, Node, enter, failure
from msnb.dataset.pipeline.rows import (
    Array,
    Row,
    boxed,
    check_count,
    describe,
    holds_dict,
    name_of,
    opened,
    positions,
    stacked_dicts,
    to_column,
)
from msnb.dataset.pipeline.workers import prefetch, worker_pool


@dataclass(frozen=True)
class BatchInfo:
    """The argument of `per_batch_map` and of a batch-size function: which batch of which epoch."""

    batch: int
    epoch: int

    def get_batch_num(self) -> int:
        return self.batch

    def get_epoch_num(self) -> int:
        return self.epoch


def number_of(item: tuple[BatchInfo, Any]) -> int:
    return item[0].batch


BatchSize = int | Callable[[BatchInfo], int]
PadInfo = Mapping[str, tuple[Sequence[int | None] | None, Any]]


def stack(name: str, parts: Sequence[Array], batch: int) -> Array:
    """Stacks one column of a batch.

    Raises:
        DatasetError: a row has another shape or dtype than the first.
    """
    first = parts[0]
    if holds_dict(first):
        return boxed(stacked_dicts(name, [opened(part) for part in parts], batch, stack), np.asarray)
    text = first.dtype.kind in "US"
    for index, part in enumerate(parts):
        if part.shape != first.shape or (part.dtype != first.dtype and not (text and part.dtype.kind in "US")):
            raise DatasetError(
                f"batch: column {name!r} of batch {batch} mixes rows of different kinds",
                operands=[f"row 0 of the batch: {describe(first)}", f"row {index} of the batch: {describe(part)}"],
                hint="map the column to one shape and dtype first, or use padded_batch(pad_info=...)",
            )
    if text:
        return np.stack(parts)
    out = np.empty((len(parts), *first.shape), first.dtype)
    for index, part in enumerate(parts):
        out[index] = part
    return out


class Batch(ColumnNode):
    """Groups of rows, stacked; optionally put through `per_batch_map` before stacking."""

    label = "batch"
    as_they_are = True  # rows are stacked and nothing else

    def __init__(
        self, parent: Node, size: BatchSize, drop: bool, function: Callable[..., Any] | None = None,
        inputs: Sequence[str] = (), outputs: Sequence[str] = (), workers: int = 1, processes: bool = False,
    ) -> None:  # fmt: skip
        self.size = size
        self.drop: bool = drop
        self.function: Callable[..., Any] | None = function
        self.workers: int = workers
        self.processes: bool = processes and function is not None
        super().__init__(parent, "batch", tuple(inputs) or parent.columns, outputs)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        if self.as_they_are and self.function is None and isinstance(self.size, int):
            whole = self.parent.stacked(epoch, self.size, start * self.size)
            if whole is not None:
                return (row for row in whole if not self.drop or len(row[0]) == self.size)
        if isinstance(self.size, int):
            source = self._rows_below(epoch, start * self.size)
            return self._batched(epoch, self._groups(epoch, source, itertools.count(start)))
        done, read = epoch.progress.at(epoch.place(self.height), start) or (0, 0)
        groups = self._groups(epoch, self._rows_below(epoch, read), itertools.count(done), read)
        return self._batched(epoch, itertools.islice(groups, start - done, None))

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        below = self.parent.count()
        if not isinstance(self.size, int) or not isinstance(below, int):
            return None
        size = self.size
        spans = [range(number * size, min(below, (number + 1) * size)) for number in numbers]
        source = self._picked_below(epoch, list(itertools.chain.from_iterable(spans)))
        if source is None:
            return None
        groups = ((BatchInfo(n, epoch.number), list(itertools.islice(source, len(s)))) for n, s in zip(numbers, spans))
        return self._batched(epoch, groups)

    def _rows_below(self, epoch: Epoch, start: int) -> Iterator[Any]:
        return self.parent.rows(epoch, start)

    def _picked_below(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Any] | None:
        return self.parent.pick(epoch, numbers)

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        if isinstance(self.size, int):
            self.parent.marks(epoch, done * self.size, found)
        else:
            enter(self, epoch, done, found)

    def _batched(self, epoch: Epoch, groups: Iterator[tuple[BatchInfo, list[Row]]]) -> Iterator[Row]:
        if self.processes:
            return self._by_processes(epoch, groups)

        def work(item: tuple[BatchInfo, list[Row]]) -> Row:
            return self._assemble(epoch, *item)

        return prefetch.ordered_map(work, groups, self.workers)

    def count(self) -> Count:
        below = self.parent.count()
        if below is None or callable(self.size):
            return None
        if below == math.inf:
            return math.inf
        return int(below) // self.size if self.drop else -(-int(below) // self.size)

    def _groups(
        self, epoch: Epoch, source: Iterator[Row], numbers: Iterable[int], read: int = 0
    ) -> Iterator[tuple[BatchInfo, list[Row]]]:
        """The rows of the batches with these numbers; `read` rows of the parent came before them."""
        place = None if isinstance(self.size, int) else epoch.place(self.height)
        for number in numbers:
            info = BatchInfo(number, epoch.number)
            size = self._size_for(info)
            group = list(itertools.islice(source, size))
            if not group or (self.drop and len(group) < size):
                return
            if place is not None:
                read += len(group)
                epoch.progress.note(place, number + 1, read)
            yield info, group

    def _size_for(self, info: BatchInfo) -> int:
        if isinstance(self.size, int):
            return self.size
        try:
            answer = self.size(info)
        except Exception as error:
            raise failure("batch size function", self.size, info.batch, (), (), error) from error
        return check_count(answer, f"batch size from {name_of(self.size)} for batch {info.batch}")

    def _assemble(self, epoch: Epoch, info: BatchInfo, group: list[Row]) -> Row:
        columns: list[Sequence[Array]] = list(zip(*group, strict=True))
        if self.function is None:
            return tuple(stack(n, c, info.batch) for n, c in zip(self.parent.columns, columns, strict=True))
        return self._joined(info, columns, self.made(epoch, info, [list(columns[i]) for i in self.taken]))

    def _by_processes(self, epoch: Epoch, groups: Iterator[tuple[BatchInfo, list[Row]]]) -> Iterator[Row]:
        """`per_batch_map` in worker processes. Only the columns that it takes travel; the others wait here."""
        waiting: deque[tuple[BatchInfo, list[Sequence[Array]]]] = deque()

        def items() -> Iterator[tuple[BatchInfo, list[list[Array]]]]:
            for info, group in groups:
                waiting.append((info, list(zip(*group, strict=True))))
                yield info, [list(waiting[-1][1][i]) for i in self.taken]

        job = worker_pool.Job(worker_pool.alone(self), "made", epoch, "batch: per_batch_map", self.function, number_of)
        for fresh in worker_pool.ordered_map(self, job, items(), self.workers):
            yield self._joined(*waiting.popleft(), fresh)

    def _joined(self, info: BatchInfo, columns: list[Sequence[Array]], fresh: list[Array]) -> Row:
        return tuple(fresh[i] if new else stack(name, columns[i], info.batch) for name, new, i in self.plan)

    def made(self, epoch: Epoch, info: BatchInfo, taken: list[list[Array]]) -> list[Array]:
        """What `per_batch_map` makes of the columns that it takes of a batch, stacked."""
        fresh = self._call(epoch, info, taken)
        return [self._column(name, value, info.batch) for name, value in zip(self.outputs, fresh, strict=True)]

    def _call(self, epoch: Epoch, info: BatchInfo, values: list[list[Array]]) -> tuple[Any, ...]:
        assert self.function is not None
        try:
            with row_draws(epoch, self.height, info.batch):
                result = self.function(*map(opened, values), info)
        except Exception as error:
            raise failure("batch: per_batch_map", self.function, info.batch, self.inputs, values, error) from error
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(self.outputs):
            raise DatasetError(
                f"batch: per_batch_map {name_of(self.function)} returned {len(result)} columns for batch {info.batch}, "
                f"expected {len(self.outputs)}: {list(self.outputs)}",
                hint="return a tuple with one list (or array) per output column",
            )
        return result

    def _column(self, name: str, value: Any, batch: int) -> Array:
        try:
            return stack(name, [to_column(v) for v in value], batch) if isinstance(value, list) else to_column(value)
        except TypeError as error:
            raise DatasetError(f"batch: per_batch_map, column {name!r} of batch {batch}: {error}") from error

    def describe(self) -> str:
        size = self.size if isinstance(self.size, int) else name_of(self.size)
        return f"batch({size}{', drop_remainder' if self.drop else ''})"


class PaddedBatch(Batch):
    """A batch whose rows are filled up at the end of each axis to a common shape."""

    label = "padded_batch"
    as_they_are = False

    def __init__(self, parent: Node, size: BatchSize, drop: bool, pad: PadInfo | None, workers: int = 1) -> None:
        super().__init__(parent, size, drop, workers=workers)
        self.pad: PadInfo = dict.fromkeys(parent.columns, (None, 0)) if not pad else dict(pad)
        positions(tuple(self.pad), parent.columns, "padded_batch")

    def _assemble(self, epoch: Epoch, info: BatchInfo, group: list[Row]) -> Row:
        return self.assembled(group, info)

    def assembled(self, group: list[Row], info: BatchInfo) -> Row:
        """These rows, filled up and stacked."""
        columns = list(zip(*group, strict=True))
        return tuple(
            stack(name, self._padded(name, column, info.batch), info.batch)
            for name, column in zip(self.columns, columns, strict=True)
        )

    def _padded(self, name: str, parts: Sequence[Array], batch: int) -> Sequence[Array]:
        if name not in self.pad or holds_dict(parts[0]):
            return parts
        shape, value = self.pad[name]
        # rows may differ in sizes, never in rank
        rank = parts[0].ndim
        if any(part.ndim != rank for part in parts) or (shape is not None and len(shape) != rank):
            ranks = sorted({part.ndim for part in parts})
            raise DatasetError(
                f"padded_batch: column {name!r} of batch {batch}: rows have rank {ranks}, pad shape {shape}"
            )
        wanted = _padded_shape(name, parts, shape or [None] * rank)
        return [_fill_up(part, wanted, value) for part in parts]

    def describe(self) -> str:
        return "padded_" + super().describe()


def _padded_shape(name: str, parts: Sequence[Array], shape: Sequence[int | None]) -> list[int]:
    """The shape that all rows get: the pad shape's sizes, and the largest row's where it has None."""
    wanted: list[int] = []
    for axis, want in enumerate(shape):
        have = max(part.shape[axis] for part in parts)
        if want is not None and want < have:
            raise DatasetError(
                f"padded_batch: column {name!r}, axis {axis}: a row has {have} entries, pad shape {want}"
            )
        wanted.append(have if want is None else want)
    return wanted


def _fill_up(part: Array, shape: Sequence[int], value: Any) -> Array:
    out = np.full(tuple(shape), value, part.dtype)
    out[tuple(slice(0, n) for n in part.shape)] = part
    return out
