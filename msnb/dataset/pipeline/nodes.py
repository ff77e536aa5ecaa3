"""The chain under a data set: immutable nodes that pull rows from their parents.

    source <- shuffle <- map <- batch <- repeat           each node: columns, height, count(), rows(epoch)
       ^                                    |
       '---------- rows are pulled ---------'

`rows(epoch)` is a fresh generator every time, and all chance comes from the epoch, so a node keeps no state and can be
shared by many chains. `count()` is the number of rows in one epoch: an int, `inf` for an endless repeat, or None where
only a pass can tell (a generator source, a filter).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError, DatasetError
from msnb.base.source_location import users_frame
from msnb.dataset.pipeline import prefetch
from msnb.dataset.pipeline.epoch_rng import Epoch, Path, row_draws
from msnb.dataset.pipeline.rows import Row, describe_columns, name_of, positions

Count = float | int | None


class Node:
    """One step of a chain."""

    label = "node"

    def __init__(self, columns: Sequence[str], parents: Sequence[Node] = ()) -> None:
        self.columns = tuple(columns)
        self.parents = tuple(parents)
        self.height: int = 1 + max((p.height for p in self.parents), default=0)

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        raise NotImplementedError

    def count(self) -> Count:
        raise NotImplementedError

    def stacked(self, epoch: Epoch, size: int) -> Iterator[Row] | None:
        """The rows of ``rows(epoch)``, ``size`` at a time and stacked; None where they are had one by one only."""
        return None

    def describe(self) -> str:
        return self.label


class UnaryNode(Node):
    """A node with one parent that keeps its columns unless a subclass says otherwise."""

    def __init__(self, parent: Node, columns: Sequence[str] | None = None) -> None:
        super().__init__(parent.columns if columns is None else columns, (parent,))
        self.parent = parent

    def count(self) -> Count:
        return self.parent.count()


class Shuffle(UnaryNode):
    """Keeps `size` rows in hand and gives out a random one of them, each time taking in the next row instead."""

    label = "shuffle"

    def __init__(self, parent: Node, size: int) -> None:
        super().__init__(parent)
        self.size = size

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        source = self.parent.rows(epoch)
        generator = epoch.order_generator(self.height)
        hand = list(itertools.islice(source, self.size))
        for row in source:
            slot = int(generator.integers(len(hand)))
            hand[slot], row = row, hand[slot]
            yield row
        for index in generator.permutation(len(hand)):
            yield hand[index]

    def describe(self) -> str:
        return f"shuffle({self.size})"


class Repeat(UnaryNode):
    """The parent's epoch `times` times over (None: for ever), each pass with its own draws."""

    label = "repeat"

    def __init__(self, parent: Node, times: int | None) -> None:
        super().__init__(parent)
        self.times = times

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        passes = itertools.count() if self.times is None else range(self.times)
        for index in passes:
            empty = True
            for row in self.parent.rows(epoch.again(index)):
                empty = False
                yield row
            if empty and self.times is None:
                raise DatasetError(
                    "repeat() for ever over a dataset without rows never gives a row", hint="check the source"
                )

    def count(self) -> Count:
        below = self.parent.count()
        if self.times is None:
            return 0 if below == 0 else math.inf
        return None if below is None else below * self.times

    def describe(self) -> str:
        return f"repeat({'' if self.times is None else self.times})"


class RowRange(UnaryNode):
    """Rows `start` to `stop` of the parent: `take` and `skip`."""

    def __init__(self, parent: Node, start: int, stop: int | None) -> None:
        super().__init__(parent)
        self.start, self.stop = start, stop

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        if self.stop == self.start:
            return iter(())
        return itertools.islice(self.parent.rows(epoch), self.start, self.stop)

    def count(self) -> Count:
        below = self.parent.count()
        if below is None:
            return 0 if self.stop == self.start else None
        return max(0, min(below, math.inf if self.stop is None else self.stop) - self.start)

    def describe(self) -> str:
        return f"skip({self.start})" if self.stop is None else f"take({self.stop})"


class Zip(Node):
    """Rows side by side, as long as the shortest; a column name may come from one side only."""

    label = "zip"

    def __init__(self, parents: Sequence[Node]) -> None:
        columns = [name for parent in parents for name in parent.columns]
        double = sorted({name for name in columns if columns.count(name) > 1})
        if double:
            raise AttributeValueError(
                f"zip: column {double[0]!r} comes from two datasets",
                hint=f".rename({double[0]!r}, 'another_name') on one of them first",
            )
        super().__init__(columns, parents)

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        sides = [parent.rows(epoch.branch(i)) for i, parent in enumerate(self.parents)]
        for parts in zip(*sides):
            yield tuple(itertools.chain.from_iterable(parts))

    def count(self) -> Count:
        counts = [parent.count() for parent in self.parents]
        return None if None in counts else min(c for c in counts if c is not None)


class Concat(Node):
    """All rows of the first parent, then of the next; all must have the same columns (order may differ)."""

    label = "concat"

    def __init__(self, parents: Sequence[Node]) -> None:
        columns = parents[0].columns
        for parent in parents[1:]:
            if sorted(parent.columns) != sorted(columns):
                raise AttributeValueError(
                    f"concat: the datasets must have the same columns, got {list(columns)} and {list(parent.columns)}",
                    hint=".rename(...) or .project(...) one of them first",
                )
        super().__init__(columns, parents)

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        for index, parent in enumerate(self.parents):
            order = positions(self.columns, parent.columns, "concat")
            for row in parent.rows(epoch.branch(index)):
                yield tuple(row[i] for i in order)

    def count(self) -> Count:
        counts = [parent.count() for parent in self.parents]
        return None if None in counts else sum(c for c in counts if c is not None)


class Project(UnaryNode):
    """Some columns, in the order asked for."""

    label = "project"

    def __init__(self, parent: Node, columns: Sequence[str]) -> None:
        super().__init__(parent, columns)
        self.order = positions(columns, parent.columns, "project")

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        for row in self.parent.rows(epoch):
            yield tuple(row[i] for i in self.order)

    def describe(self) -> str:
        return f"project({', '.join(self.columns)})"


class Rename(UnaryNode):
    """Other names for columns; rows pass untouched."""

    label = "rename"

    def __init__(self, parent: Node, old: Sequence[str], new: Sequence[str]) -> None:
        if len(old) != len(new):
            raise AttributeValueError(
                f"rename: {len(old)} input columns {list(old)} but {len(new)} new names {list(new)}"
            )
        columns = list(parent.columns)
        for position, name in zip(positions(old, parent.columns, "rename"), new, strict=True):
            columns[position] = name
        if len(set(columns)) != len(columns):
            raise AttributeValueError(f"rename: two columns would have one name: {columns}")
        super().__init__(parent, columns)

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        return self.parent.rows(epoch)

    def stacked(self, epoch: Epoch, size: int) -> Iterator[Row] | None:
        return self.parent.stacked(epoch, size)


class Filter(UnaryNode):
    """Rows for which the predicate is true."""

    label = "filter"

    def __init__(self, parent: Node, predicate: Callable[..., Any], columns: Sequence[str], workers: int) -> None:
        super().__init__(parent)
        self.predicate, self.workers = predicate, workers
        self.seen = tuple(columns) or parent.columns
        self.order = positions(self.seen, parent.columns, "filter")

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        def judge(item: tuple[int, Row]) -> tuple[bool, Row]:
            return self._keep(epoch, *item), item[1]

        for kept, row in prefetch.ordered_map(judge, enumerate(self.parent.rows(epoch)), self.workers):
            if kept:
                yield row

    def count(self) -> Count:
        return 0 if self.parent.count() == 0 else None

    def _keep(self, epoch: Epoch, index: int, row: Row) -> bool:
        values = [row[i] for i in self.order]
        try:
            with row_draws(epoch, self.height, index):
                verdict = np.asarray(self.predicate(*values))
        except Exception as error:
            raise failure("filter", self.predicate, index, self.seen, values, error) from error
        if verdict.size != 1 or verdict.dtype.kind not in "biuf":
            raise DatasetError(
                f"filter: predicate {name_of(self.predicate)} must answer True or False, "
                f"got {verdict.dtype}{list(verdict.shape)} at row {index}"
            )
        return bool(verdict.reshape(()))

    def describe(self) -> str:
        return f"filter({name_of(self.predicate)})"


class SplitPart(UnaryNode):
    """One part of a split: rows whose numbers are in `chosen`, out of an order that is the same in every epoch."""

    label = "split"

    def __init__(self, parent: Node, seed: int, low: int, high: int, total: int, randomize: bool) -> None:
        super().__init__(parent)
        self.seed, self.low, self.high, self.total, self.randomize = seed, low, high, total, randomize

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        chosen = self._chosen()
        for index, row in enumerate(self.parent.rows(epoch.frozen(self.seed))):
            if index in chosen:
                yield row

    def count(self) -> Count:
        return self.high - self.low

    def _chosen(self) -> set[int] | range:
        if not self.randomize:
            return range(self.low, self.high)
        order = Path(self.seed, (0,)).generator().permutation(self.total)
        return set(order[self.low : self.high].tolist())

    def describe(self) -> str:
        return f"split({self.high - self.low} of {self.total})"


class Prefetch(UnaryNode):
    """The parent's rows, read ahead by a background thread."""

    label = "prefetch"

    def __init__(self, parent: Node, size: int) -> None:
        super().__init__(parent)
        self.size = size

    def rows(self, epoch: Epoch) -> Iterator[Row]:
        return prefetch.read_ahead(self.parent.rows(epoch), self.size)

    def describe(self) -> str:
        return f"prefetch({self.size})"


def failure(
    what: str, function: Any, index: int, columns: Sequence[str], values: Sequence[Any], error: Exception
) -> DatasetError:
    """The error for a user's function that raised: operation, row, columns, and the original message."""
    shown = describe_columns(columns, values) if all(isinstance(v, np.ndarray) for v in values) else ", ".join(columns)
    made = DatasetError(
        f"{what}: {name_of(function)} failed at row {index}: {type(error).__name__}: {error}",
        operands=[shown] if shown else [],
    )
    made.where = users_frame(error.__traceback__) or made.where  # the stack of a worker holds no line of the user
    return made
