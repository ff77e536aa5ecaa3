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

from msnb.base.errors import DatasetError
from msnb.core.tensor import Tensor
from msnb.dataset.pipeline.rows import Array, Row

T = TypeVar("T")
_open: weakref.WeakSet[EpochIterator[Any]] = weakref.WeakSet()


def to_tensor(column: str, value: Array) -> Any:
    """A Tensor of the array; text has no Tensor."""
    if value.dtype.kind in "USO":
        raise DatasetError(
            f"column {column!r} holds text ({value.dtype}), which a Tensor cannot",
            hint="map it to numbers, leave it out with .project(...), or use output_numpy=True",
        )
    return Tensor(value)


class EpochIterator(Generic[T]):
    """Iterates epoch after epoch; made by `create_dict_iterator` and `create_tuple_iterator`."""

    def __init__(
        self,
        start: Callable[[], Iterator[Row]],
        columns: Sequence[str],
        finish: Callable[[Sequence[str], Sequence[Any]], T],
        num_epochs: int,
        output_numpy: bool,
    ) -> None:
        self._start, self._columns, self._finish = start, tuple(columns), finish
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
            self._left -= self._left > 0
            self._rows = self._start()
        try:
            row = next(self._rows)
        except BaseException:
            self._rows = None
            raise
        return self._finish(self._columns, row if self._numpy else self._tensors(row))

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
