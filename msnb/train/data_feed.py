"""Rows for a run: a data set (or any sized iterable of tuples) read epoch by epoch.

Feed(dataset, epochs=3).epoch() -> rows of one epoch, each a tuple of Tensors
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msnb.base import ArgumentError, DatasetError
from msnb.core import Tensor


class DataFeed:
    """Reads a data set.

    Args:
        dataset: a Dataset of msnb, or an iterable with a length that starts anew for every loop.
        epochs: how often it will be read.

    Attributes:
        size: rows (batches) per epoch.
    """

    def __init__(self, dataset: Any, epochs: int) -> None:
        self._dataset = dataset
        self._iterator: Any = None
        if hasattr(dataset, "create_tuple_iterator"):
            self.size: int = int(dataset.get_dataset_size())
            self._iterator = dataset.create_tuple_iterator(num_epochs=epochs)
        elif hasattr(dataset, "__iter__") and hasattr(dataset, "__len__"):
            self.size = len(dataset)
        else:
            raise ArgumentError(
                f"a data set is a Dataset or a list of rows, not {type(dataset).__name__}.",
                hint="wrap a Python generator in ms.dataset.GeneratorDataset.",
            )
        if self.size == 0:
            raise DatasetError("the data set has no rows.", hint="is the batch size larger than the data?")

    def epoch(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the next epoch."""
        for row in self._dataset if self._iterator is None else self._iterator:
            yield as_row(row)

    def endless(self) -> Iterator[tuple[Any, ...]]:
        """Row after row, epoch after epoch, without end."""
        while True:
            yield from self.epoch()

    def close(self) -> None:
        """End reading ahead."""
        if hasattr(self._iterator, "stop"):  # data of a program's own may have none
            with suppress(ValueError):  # a thread that still waits for a slow row ends by itself
                self._iterator.stop()


def as_row(row: Any) -> tuple[Any, ...]:
    """A row as a tuple of Tensors; dicts give their values in order."""
    values = row.values() if isinstance(row, dict) else row if isinstance(row, (tuple, list)) else (row,)
    return tuple(v if isinstance(v, (Tensor, bool, int, float)) else Tensor(v) for v in values)


def columns(dataset: Any) -> str:
    """The names of a data set's columns for an error, '' where it has none."""
    names = getattr(dataset, "get_col_names", None)
    return f" ({', '.join(names())})" if names is not None else ""
