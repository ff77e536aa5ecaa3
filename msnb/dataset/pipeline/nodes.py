"""The chain under a data set: immutable nodes that pull rows from their parents.

    source <- shuffle <- map <- batch <- repeat           each node: columns, height, count(), rows(epoch)
       ^                                    |
       '---------- rows are pulled ---------'

`rows(epoch, start)` is a fresh generator every time, from any row on, and all chance comes from the epoch, so a node
keeps no state and can be shared by many chains. That is why the state of an iterator is small: seed, epoch, number of
the row. `pick(epoch, numbers)` has rows by number where the source can seek. `count()` is the number of rows in one
epoch: an int, `inf` for an endless repeat, or None where only a pass can tell (a generator source, a filter).
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from msnb.base import AttributeValueError, DatasetError, reraise_interrupt
from msnb.base.source_location import users_frame
from msnb.dataset.pipeline.epoch_rng import Epoch, Path, row_draws
from msnb.dataset.pipeline.rows import Row, describe_columns, name_of, opened, positions
from msnb.dataset.pipeline.workers import prefetch

Count = float | int | None
A = TypeVar("A")


class Node:
    """One step of a chain."""

    label = "node"
    origin: tuple[dict[str, Any], str] | None = None  # of a source: its arguments as JSON, and its class
    classes: Mapping[str, Any] = MappingProxyType({})  # of a source: name of a class -> label

    def __init__(self, columns: Sequence[str], parents: Sequence[Node] = ()) -> None:
        self.columns: tuple[str, ...] = tuple(columns)
        self.parents: tuple[Node, ...] = tuple(parents)
        self.height: int = 1 + max((p.height for p in self.parents), default=0)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        """The rows of an epoch, from number `start` on."""
        raise NotImplementedError

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        """The rows of these numbers, in this order; None where a row can only be had after those before it."""
        return None

    def numbered(self, epoch: Epoch, start: int = 0) -> Iterator[tuple[int, Row]]:
        """`rows`, each with the number that its draws go by: its place, unless it was moved before it was mapped."""
        return enumerate(self.rows(epoch, start), start)

    def numbered_pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[tuple[int, Row]] | None:
        """`pick`, each row with the number that its draws go by."""
        found = self.pick(epoch, numbers)
        return None if found is None else zip(numbers, found)

    def count(self) -> Count:
        raise NotImplementedError

    def stacked(self, epoch: Epoch, size: int, start: int = 0) -> Iterator[Row] | None:
        """The rows of ``rows(epoch)`` from number ``start`` on, ``size`` at a time and stacked; None where they are had
        one by one only."""
        return None

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        """Enter what a later `rows(epoch, done)` needs to know, so that it need not read the rows before."""

    def describe(self) -> str:
        return self.label


class UnaryNode(Node):
    """A node with one parent that keeps its columns, and gives one row per row, unless a subclass says otherwise."""

    def __init__(self, parent: Node, columns: Sequence[str] | None = None) -> None:
        super().__init__(parent.columns if columns is None else columns, (parent,))
        self.parent = parent

    def count(self) -> Count:
        return self.parent.count()

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        self.parent.marks(epoch, done, found)


def enter(node: UnaryNode, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
    """Enter what a node noted when it had given out `done` rows (or before), and what nodes below it did."""
    place = epoch.place(node.height)
    entry = epoch.progress.at(place, done)
    if entry is not None:
        found[place] = entry
        node.parent.marks(epoch, entry[1], found)


Pick = Callable[[Sequence[int]], "Iterator[Row] | None"]


def dealt(
    numbers: Sequence[int], sides: Mapping[int, Pick], side_of: Callable[[int], tuple[int, int]]
) -> Iterator[Row] | None:
    """The rows of these numbers, where `side_of` says which side has a row, and under which number there."""
    placed = [side_of(number) for number in numbers]
    wanted: dict[int, list[int]] = {}
    for side, number in placed:
        wanted.setdefault(side, []).append(number)
    streams: dict[int, Iterator[Row]] = {}
    for side, listed in wanted.items():
        found = sides[side](listed)
        if found is None:
            return None
        streams[side] = found
    return (row for side, _ in placed for row in itertools.islice(streams[side], 1))


class Shuffle(UnaryNode):
    """Keeps `size` rows in hand and gives out a random one of them, each time taking in the next row instead."""

    label = "shuffle"

    def __init__(self, parent: Node, size: int) -> None:
        super().__init__(parent)
        self.size = size

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        if start:
            # the order follows from the draws alone: where the parent has rows by number, none is read in vain
            total = self.parent.count()
            order = self._order(epoch)[start:] if isinstance(total, int) else None
            found = None if order is None else self.parent.pick(epoch, order)
            if found is not None:
                return found
        return itertools.islice(self._through(epoch, self.parent.rows(epoch)), start, None)

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        if not isinstance(self.parent.count(), int):
            return None
        order = self._order(epoch)
        return self.parent.pick(epoch, [order[number] for number in numbers])

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        """Nothing: rows in hand may be from anywhere."""

    def _order(self, epoch: Epoch) -> list[int]:
        return list(self._through(epoch, iter(range(int(self.parent.count() or 0)))))

    def _through(self, epoch: Epoch, source: Iterator[A]) -> Iterator[A]:
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

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        entry = self._begin(epoch, start)
        begin, first = entry or (0, 0)
        at = 0 if entry is None else start - begin
        place, done = epoch.place(self.height), begin + at
        for index in itertools.count(first) if self.times is None else range(first, self.times):
            epoch.progress.note(place, done - at, index)
            empty = at == 0
            for row in self.parent.rows(epoch.again(index), at):
                empty = False
                done += 1
                if done > start:
                    yield row
            at = 0
            if empty and self.times is None:
                raise DatasetError(
                    "repeat() for ever over a dataset without rows never gives a row", hint="check the source"
                )

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        below = self.parent.count()
        if not isinstance(below, int) or not below or self.times is None:
            return None
        sides = {i: functools.partial(self.parent.pick, epoch.again(i)) for i in range(self.times)}
        return dealt(numbers, sides, lambda number: divmod(number, below))

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        entry = self._begin(epoch, done)
        if entry is None:
            return
        found[epoch.place(self.height)] = entry
        self.parent.marks(epoch.again(entry[1]), done - entry[0], found)

    def _begin(self, epoch: Epoch, start: int) -> tuple[int, int] | None:
        """The number of the first row of the pass that row `start` is in, and the number of that pass."""
        below = self.parent.count()
        if isinstance(below, int) and below:
            index = start // below
            return index * below, index
        return epoch.progress.at(epoch.place(self.height), start)

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
        self.start: int = start
        self.stop: int | None = stop

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        first = self.start + start
        if self.stop is not None and self.stop <= first:
            return iter(())
        count = None if self.stop is None else self.stop - first
        return itertools.islice(self.parent.rows(epoch, first), count)

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        return self.parent.pick(epoch, [self.start + number for number in numbers])

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        self.parent.marks(epoch, self.start + done, found)

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

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return _side_by_side([parent.rows(epoch.branch(i), start) for i, parent in enumerate(self.parents)])

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        sides = [parent.pick(epoch.branch(i), numbers) for i, parent in enumerate(self.parents)]
        return None if None in sides else _side_by_side([side for side in sides if side is not None])

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        for index, parent in enumerate(self.parents):
            parent.marks(epoch.branch(index), done, found)

    def count(self) -> Count:
        counts = [parent.count() for parent in self.parents]
        return None if None in counts else min(c for c in counts if c is not None)


def _side_by_side(sides: Sequence[Iterator[Row]]) -> Iterator[Row]:
    for parts in zip(*sides):
        yield tuple(itertools.chain.from_iterable(parts))


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
        self.orders: list[tuple[int, ...]] = [positions(columns, parent.columns, "concat") for parent in parents]

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        begin, first, known = self._begin(epoch, start)
        at = start - begin if known else 0
        place, done = epoch.place(self.height), begin + at
        for index in range(first, len(self.parents)):
            epoch.progress.note(place, done - at, index)
            for row in self._side(index, self.parents[index].rows(epoch.branch(index), at)):
                done += 1
                if done > start:
                    yield row
            at = 0

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        counts = [parent.count() for parent in self.parents]
        if not all(isinstance(count, int) for count in counts):
            return None
        starts = [0, *itertools.accumulate(int(count or 0) for count in counts)]

        def side_of(number: int) -> tuple[int, int]:
            index = bisect.bisect_right(starts, number) - 1
            return index, number - starts[index]

        def side(index: int, listed: Sequence[int]) -> Iterator[Row] | None:
            found = self.parents[index].pick(epoch.branch(index), listed)
            return None if found is None else self._side(index, found)

        return dealt(numbers, {i: functools.partial(side, i) for i in range(len(self.parents))}, side_of)

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        begin, index, known = self._begin(epoch, done)
        if known:
            found[epoch.place(self.height)] = begin, index
            self.parents[index].marks(epoch.branch(index), done - begin, found)

    def _begin(self, epoch: Epoch, start: int) -> tuple[int, int, bool]:
        """The first row of the parent that row `start` comes from, which parent, and whether this is known."""
        begin = 0
        for index, parent in enumerate(self.parents):
            count = parent.count()
            if not isinstance(count, int):
                entry = epoch.progress.at(epoch.place(self.height), start)
                return (*entry, True) if entry is not None and entry[1] >= index else (0, 0, start == 0)
            if start < begin + count or index == len(self.parents) - 1:
                return begin, index, True
            begin += count
        raise AssertionError("a concat has parents")

    def _side(self, index: int, rows: Iterator[Row]) -> Iterator[Row]:
        order = self.orders[index]
        return (tuple(row[i] for i in order) for row in rows)

    def count(self) -> Count:
        counts = [parent.count() for parent in self.parents]
        return None if None in counts else sum(c for c in counts if c is not None)


class Project(UnaryNode):
    """Some columns, in the order asked for."""

    label = "project"

    def __init__(self, parent: Node, columns: Sequence[str]) -> None:
        super().__init__(parent, columns)
        self.order: tuple[int, ...] = positions(columns, parent.columns, "project")

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return self._chosen(self.parent.rows(epoch, start))

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        found = self.parent.pick(epoch, numbers)
        return None if found is None else self._chosen(found)

    def stacked(self, epoch: Epoch, size: int, start: int = 0) -> Iterator[Row] | None:
        found = self.parent.stacked(epoch, size, start)
        return None if found is None else self._chosen(found)

    def _chosen(self, rows: Iterator[Row]) -> Iterator[Row]:
        return (tuple(row[i] for i in self.order) for row in rows)

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

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return self.parent.rows(epoch, start)

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        return self.parent.pick(epoch, numbers)

    def stacked(self, epoch: Epoch, size: int, start: int = 0) -> Iterator[Row] | None:
        return self.parent.stacked(epoch, size, start)


class Filter(UnaryNode):
    """Rows for which the predicate is true."""

    label = "filter"

    def __init__(self, parent: Node, predicate: Callable[..., Any], columns: Sequence[str], workers: int) -> None:
        super().__init__(parent)
        self.predicate: Callable[..., Any] = predicate
        self.workers: int = workers
        self.seen: tuple[str, ...] = tuple(columns) or parent.columns
        self.order: tuple[int, ...] = positions(self.seen, parent.columns, "filter")

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        def judge(item: tuple[int, Row]) -> tuple[bool, int, Row]:
            return self._keep(epoch, *item), item[0], item[1]

        place = epoch.place(self.height)
        done, read = epoch.progress.at(place, start) or (0, 0)
        items = enumerate(self.parent.rows(epoch, read), read)
        for kept, index, row in prefetch.ordered_map(judge, items, self.workers):
            if kept:
                done += 1
                epoch.progress.note(place, done, index + 1)
                if done > start:
                    yield row

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        enter(self, epoch, done, found)

    def count(self) -> Count:
        return 0 if self.parent.count() == 0 else None

    def _keep(self, epoch: Epoch, index: int, row: Row) -> bool:
        values = [opened(row[i]) for i in self.order]
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
        self.seed: int = seed
        self.low: int = low
        self.high: int = high
        self.total: int = total
        self.randomize: bool = randomize

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        chosen = self._chosen()
        if start >= len(chosen):
            return
        members = frozenset(chosen[start:]) if self.randomize else chosen[start:]
        first = chosen[start]
        for index, row in enumerate(self.parent.rows(epoch.frozen(self.seed), first), first):
            if index in members:
                yield row

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        chosen = self._chosen()
        return self.parent.pick(epoch.frozen(self.seed), [chosen[number] for number in numbers])

    def marks(self, epoch: Epoch, done: int, found: dict[str, tuple[int, int]]) -> None:
        chosen = self._chosen()
        if done < len(chosen):
            self.parent.marks(epoch.frozen(self.seed), chosen[done], found)

    def count(self) -> Count:
        return self.high - self.low

    def _chosen(self) -> Sequence[int]:
        """The numbers of the part's rows, upwards."""
        if not self.randomize:
            return range(self.low, self.high)
        order = Path(self.seed, (0,)).generator().permutation(self.total)
        return [int(number) for number in np.sort(order[self.low : self.high])]

    def describe(self) -> str:
        return f"split({self.high - self.low} of {self.total})"


class Prefetch(UnaryNode):
    """The parent's rows, read ahead by a background thread."""

    label = "prefetch"

    def __init__(self, parent: Node, size: int) -> None:
        super().__init__(parent)
        self.size = size
        self.height: int = parent.height  # reading ahead changes no draw of the nodes behind

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return prefetch.read_ahead(self.parent.rows(epoch, start), self.size)

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        found = self.parent.pick(epoch, numbers)
        return None if found is None else prefetch.read_ahead(found, self.size)

    def describe(self) -> str:
        return f"prefetch({self.size})"


def failure(
    what: str, function: Any, index: int, columns: Sequence[str], values: Sequence[Any], error: Exception
) -> DatasetError:
    """The error for a user's function that raised: operation, row, columns, and the original message."""
    reraise_interrupt(error)
    described = all(isinstance(v, (np.ndarray, dict)) for v in values)
    shown = describe_columns(columns, values) if described else ", ".join(columns)
    made = DatasetError(
        f"{what}: {name_of(function)} failed at row {index}: {type(error).__name__}: {error}",
        operands=[shown] if shown else [],
    )
    made.where = users_frame(error.__traceback__) or made.where  # the stack of a worker holds no line of the user
    return made
