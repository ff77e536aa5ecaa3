"""Iterators over a data set: one `for` loop per epoch.

    it = ds.create_dict_iterator(num_epochs=2)
    for row in it: ...      epoch 0          the loop ends at the end of an epoch, the iterator lives on
    for row in it: ...      epoch 1
    for row in it: ...      RuntimeError: both epochs were read

Rows leave as Tensors, or as NumPy arrays with `output_numpy=True`.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from msnb.base import DatasetError
from msnb.core import Tensor
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.nodes import Node
from msnb.dataset.pipeline.rows import Array, Row, holds_dict, mapped, opened
from msnb.dataset.pipeline.state import IteratorState
from msnb.dataset.string_tensor import StringTensor

T = TypeVar("T")
_open: weakref.WeakSet[EpochIterator[Any]] = weakref.WeakSet()


def to_tensor(column: str, value: Array) -> Any:
    """A Tensor of the array, or of every array in a dict."""
    if holds_dict(value):
        return mapped(value[()], lambda leaf: to_tensor(column, leaf))
    if value.dtype.kind in "US":
        return StringTensor(value)
    if value.dtype.kind == "O":
        raise DatasetError(
            f"column {column!r} holds Python objects, which a Tensor cannot",
            hint="map it to numbers, leave it out with .project(...), or use output_numpy=True",
        )
    return Tensor(value)


class EpochIterator(Generic[T]):
    """Iterates epoch after epoch; made by `create_dict_iterator` and `create_tuple_iterator`."""

    def __init__(
        self, node: Node, next_state: Callable[[bool], IteratorState],
        start: Callable[[IteratorState], tuple[Epoch, Iterator[Row]]], state: IteratorState | None,
        columns: Sequence[str], finish: Callable[[Sequence[str], Sequence[Any]], T], num_epochs: int,
        output_numpy: bool,
    ) -> None:  # fmt: skip
        self._node, self._next_state, self._start = node, next_state, start
        self._columns, self._finish = tuple(columns), finish
        self._state = state  # where to begin
        self._epoch: Epoch | None = None
        self._seed = self._row = 0
        self._left = num_epochs
        self._numpy = output_numpy
        self._rows: Iterator[Row] | None = None
        _open.add(self)

    def __iter__(self) -> EpochIterator[T]:
        if self._left == 0 and self._rows is None:
            raise RuntimeError(
                "this iterator has no epoch left: it was made for a fixed num_epochs, and all were read; "
                "make a new one, or pass a larger num_epochs"
            )
        return self

    def __next__(self) -> T:
        if self._rows is None:
            if self._left == 0:
                raise StopIteration
            self._begin()
        try:
            row = next(self._rows)  # type: ignore[arg-type]
        except BaseException:
            self._rows = None
            raise
        self._row += 1
        return self._finish(self._columns, [*map(opened, row)] if self._numpy else self._tensors(row))

    get_next = __next__

    def _begin(self) -> None:
        """Open the next epoch, where a state says so in the middle of it."""
        self._left -= self._left > 0
        state, self._state = self._state, None
        first = self._next_state(True)
        state = first if state is None else state
        self._seed, self._row = state.seed, state.row
        self._epoch, self._rows = self._start(state)

    def state(self) -> dict[str, Any]:
        """Where this iterator is: a small JSON value. `create_dict_iterator(state=...)` goes on at the next row, in
        another process too, with any number of workers.

        The rows are the same as long as sources and functions give the same for the same row; what functions draw with
        the row's generator (all random transforms) does. A source that cannot seek, or a filter below a shuffle, is
        read again up to that row.

        Returns:
            A dict that `json.dumps` takes, mostly below 2 kB.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> it = NumpySlicesDataset([1, 2, 3], "x").create_dict_iterator()
        >>> row = next(it)
        >>> it.state()["row"]
        1
        """
        if self._rows is None or self._epoch is None:
            return (self._state or self._next_state(False)).page(self._node)
        marks: dict[str, tuple[int, int]] = {}
        self._node.marks(self._epoch, self._row, marks)
        return IteratorState(self._seed, self._epoch.number, self._row, marks).page(self._node)

    def stop(self) -> None:
        """Ends the current epoch and all further ones; threads that read ahead end too."""
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()
        self._rows, self._left = None, 0

    def get_col_names(self) -> list[str]:
        return list(self._columns)

    def _tensors(self, row: Row) -> list[Any]:
        return [to_tensor(name, value) for name, value in zip(self._columns, row, strict=True)]


def as_dict(columns: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns, values, strict=True))


def as_list(columns: Sequence[str], values: Sequence[Any]) -> list[Any]:
    return list(values)


def _stop_all() -> None:
    """Iterators in the middle of an epoch end while Python still can: later their generators would wake up among
    modules that are gone."""
    for iterator in list(_open):
        iterator.stop()


# Before the threads of executors are waited for, where Python says when that is: what they do may take for ever.
getattr(threading, "_register_atexit", atexit.register)(_stop_all)
