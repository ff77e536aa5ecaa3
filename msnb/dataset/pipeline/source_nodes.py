"""The two ends where rows enter a chain.

    IndexedSource   fetch(i) -> row for i in 0..n-1; a sampler chooses the order    arrays, __getitem__ objects
    StreamSource    a fresh iterator per epoch; order and length are its own        generator functions, iterables

Both check what the user's code returns (number of columns, dtypes if promised) and name the row where it fails.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.core import as_dtype
from msnb.dataset.pipeline.epoch_rng import Epoch, row_draws
from msnb.dataset.pipeline.nodes import Count, Node, UnaryNode, failure
from msnb.dataset.pipeline.rows import Array, Row, name_of, positions, to_column
from msnb.dataset.pipeline.samplers import Sampler
from msnb.dataset.pipeline.workers import prefetch, worker_pool

Gather = Callable[[Array], Row]
Types = tuple["np.dtype[Any]", ...] | None


def numpy_types(column_types: Any, columns: Sequence[str]) -> Types:
    """The promised dtypes of the columns (msnb or NumPy ones), or None."""
    if column_types is None:
        return None
    listed = list(column_types) if isinstance(column_types, (list, tuple)) else [column_types]
    if len(listed) != len(columns):
        raise AttributeValueError(f"column_types has {len(listed)} entries for {len(columns)} columns {list(columns)}")
    return tuple(as_dtype(t).numpy for t in listed)


class Reader:
    """Turns what a user's source returns into a row, or says what is wrong with it."""

    def __init__(self, name: str, columns: Sequence[str], types: Types = None) -> None:
        self.name: str = name
        self.columns: tuple[str, ...] = tuple(columns)
        self.types = types

    def row(self, value: Any, index: int) -> Row:
        if isinstance(value, dict) and len(self.columns) != 1:
            raise self._wrong(index, f"a dict with keys {list(value)}", "return a tuple in the order of column_names")
        if isinstance(value, Iterator):  # ``return (column[index] for column in self.columns)``
            value = tuple(value)
        parts = value if isinstance(value, (tuple, list)) else (value,)
        if len(parts) != len(self.columns):
            raise self._wrong(
                index,
                f"{len(parts)} values",
                f"return a tuple, one value for each of {list(self.columns)}; a list that is one value: np.array(...)",
            )
        return tuple(self._array(part, i, index) for i, part in enumerate(parts))

    def _array(self, part: Any, column: int, index: int) -> Array:
        try:
            array = to_column(part)
        except TypeError as error:
            raise DatasetError(f"{self.name}: row {index}, column {self.columns[column]!r}: {error}") from error
        if self.types is not None and array.dtype != self.types[column]:
            raise DatasetError(
                f"{self.name}: row {index}, column {self.columns[column]!r} should be {self.types[column]} "
                f"as column_types says, got {array.dtype}",
                hint="convert it in the source, or with .map(transforms.TypeCast(...))",
            )
        return array

    def _wrong(self, index: int, what: str, hint: str) -> DatasetError:
        return DatasetError(f"{self.name}: row {index} gave {what}, expected {len(self.columns)} columns", hint=hint)


class IndexedSource(Node):
    """Rows by number, in the order of a sampler, fetched by threads or processes if asked; ``gather`` has many at once,
    stacked. ``users``: the rows come from code of the user, which may draw."""

    label = "source"

    def __init__(
        self, name: str, fetch: Callable[[int], Row], length: Callable[[], int], columns: Sequence[str],
        sampler: Sampler, workers: int = 1, gather: Gather | None = None, users: bool = False, processes: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(columns)
        self.users: bool = users
        self.processes: bool = processes
        self.name: str = name
        self.fetch: Callable[..., Any] = fetch
        self.length: Callable[..., Any] = length
        self.sampler: Sampler = sampler
        self.workers: int = workers
        self.gather = gather

    def with_sampler(self, sampler: Sampler) -> IndexedSource:
        made = IndexedSource(self.name, self.fetch, self.length, self.columns, sampler, self.workers, self.gather,
                             self.users, self.processes)  # fmt: skip
        made.classes = self.classes
        return made

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        order = self._order(epoch)
        return self._fetched(epoch, order[start:], range(start, len(order)))

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        return self._fetched(epoch, self._order(epoch)[np.asarray(numbers, np.int64)], numbers)

    def _fetched(self, epoch: Epoch, order: Array, places: Sequence[int]) -> Iterator[Row]:
        """The rows `order` of the source, which are at `places` of the epoch."""
        numbers = map(int, order)
        if not self.users:
            return prefetch.ordered_map(self.fetch, numbers, self.workers)
        items = zip(places, numbers)
        if self.processes:
            job = worker_pool.Job(FetchSource(self), "row", epoch, self.name, self.fetch, worker_pool.first)
            return worker_pool.ordered_map(self, job, items, self.workers)
        fetch = functools.partial(FetchSource(self).row, epoch)
        if self.workers == 1:
            return itertools.starmap(fetch, items)
        return prefetch.ordered_map(lambda item: fetch(*item), items, self.workers)

    def stacked(self, epoch: Epoch, size: int, start: int = 0) -> Iterator[Row] | None:
        if self.gather is None or self.workers > 1:
            return None
        order = self._order(epoch)
        return map(self.gather, (order[first : first + size] for first in range(start, len(order), size)))

    def _order(self, epoch: Epoch) -> Array:
        return self.sampler.indices(self.length(), epoch.order_generator(self.height), self.column)

    def count(self) -> Count:
        return self.sampler.count(self.length())

    def column(self, name: str) -> Array:
        """One column of all rows, for samplers that choose by class."""
        place = positions((name,), self.columns, type(self.sampler).__name__)[0]
        return np.array([self.fetch(i)[place] for i in range(self.length())])

    def describe(self) -> str:
        return f"{self.name}({', '.join(self.columns)}; {type(self.sampler).__name__})"


class RowSelection(UnaryNode):
    """The rows of a chain in the order of a sampler; all are in memory where the chain has no rows by number."""

    label = "sampled"

    def __init__(self, parent: Node, sampler: Sampler) -> None:
        super().__init__(parent)
        self.sampler: Sampler = sampler

    def with_sampler(self, sampler: Sampler) -> RowSelection:
        return RowSelection(self.parent, sampler)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        total = self.parent.count()
        whole = None if isinstance(total, int) else list(self.parent.rows(epoch))
        size = int(total or 0) if whole is None else len(whole)
        order = self.sampler.indices(size, epoch.order_generator(self.height))[start:].tolist()
        found = self.parent.pick(epoch, order) if whole is None else None
        return map((whole or list(self.parent.rows(epoch))).__getitem__, order) if found is None else found

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        """Nothing: the sampler tells which rows are next."""

    def count(self) -> Count:
        total = self.parent.count()
        return self.sampler.count(total) if isinstance(total, int) else None


class FetchSource:
    """How a source that is the user's own code has its rows: what is drawn there belongs to the row, as in a map."""

    def __init__(self, source: IndexedSource) -> None:
        self.fetch: Callable[..., Row] = source.fetch
        self.height: int = source.height

    def row(self, epoch: Epoch, place: int, index: int) -> Row:
        """Row `index` of the source, at `place` of this epoch."""
        with row_draws(epoch, self.height, place):
            return self.fetch(index)


class StreamSource(Node):
    """Rows from an iterator that `start()` makes anew for each epoch; at most `limit` of them."""

    label = "source"

    def __init__(self, start: Callable[[], Iterator[Any]], reader: Reader, limit: int | None, size: Count) -> None:
        super().__init__(reader.columns)
        self.start: Callable[..., Any] = start
        self.reader: Reader = reader
        self.limit: int | None = limit
        self.size = size

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        values = self._guarded()
        stop = self.limit if self.limit is None else max(start, self.limit)
        for index, value in enumerate(itertools.islice(values, start, stop), start):
            yield self.reader.row(value, index)

    def count(self) -> Count:
        return self.size if self.size is None or self.limit is None else min(self.size, self.limit)

    def _guarded(self) -> Iterator[Any]:
        index = 0
        try:
            for value in self.start():
                yield value
                index += 1
        except DatasetError:
            raise
        except Exception as error:
            raise failure(self.reader.name, self.start, index, self.columns, (), error) from error

    def describe(self) -> str:
        return f"{self.reader.name}({', '.join(self.columns)})"


class GuardedFetch:
    """`source[i]` as a row, with errors that name the row."""

    def __init__(self, source: Any, reader: Reader) -> None:
        self.source: Any = source
        self.reader: Reader = reader
        self.__name__: str = name_of(source)

    def __call__(self, index: int) -> Row:
        try:
            value = self.source[np.int64(index)]  # a number of NumPy, as in MindSpore: programs call index.item()
        except Exception as error:
            raise failure(self.reader.name, self.source, index, self.reader.columns, (), error) from error
        return self.reader.row(value, index)


def checked_length(source: Any) -> Callable[[], int]:
    """`len(source)`, asked anew in each epoch."""

    def length() -> int:
        value = len(source)
        if value < 0:
            raise ArgumentError(f"len(source) is {value}")
        return value

    return length
