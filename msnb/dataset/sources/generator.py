"""`GeneratorDataset`: any Python source of rows.

source                              how rows are read                          order
object with __getitem__, __len__    by number, through a sampler               shuffled unless shuffle=False
function that returns an iterator   a fresh iterator per epoch                 its own
other iterable                      iter(source) per epoch                     its own
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.dataset.pipeline import Dataset, IndexedSource, as_columns, check_count, choose, flag, workers_of
from msnb.dataset.pipeline.batch import stack
from msnb.dataset.pipeline.nodes import Node, Shuffle
from msnb.dataset.pipeline.rows import name_of
from msnb.dataset.pipeline.source_nodes import GuardedFetch, Reader, StreamSource, checked_length, numpy_types


class GeneratorDataset(Dataset):
    """Rows from a Python object: random access, a generator function, or an iterable.

    Args:
        source: see the table at the head of this file. A row is a tuple of arrays or numbers, one per column; a bare
            value stands for a row of one column.
        column_names: a name or a list of names, required.
        column_types: dtypes that the rows are checked against.
        num_samples: at most so many rows per epoch.
        num_parallel_workers: threads that fetch rows from a random-access source; the order is kept.
        shuffle: random access: None and True shuffle, False keeps the order. An iterable with a length: True shuffles.
        sampler: random access only: a Sampler or an iterable of row numbers.
        num_shards, shard_id: random access only: read this part of the rows.
        python_multiprocessing: random access only: fetch rows in so many worker processes (num_parallel_workers)
            instead of threads; the same rows in the same order. The source is sent to them anew in every epoch, by
            value; what they change of it stays with them.
        max_rowsize: MindSpore's; rows of any size travel.
        batch_sampler: random access only: an iterable of lists of row numbers; the rows of each are one batch.
        collate_fn: called with a list per column, makes the batch (default: it stacks them).

    Raises:
        TypeError, ValueError: unusable source or contradictory arguments.
        DatasetError: while iterating, when a row fails or does not fit the columns.

    Source: `mindspore.dataset.GeneratorDataset`.

    >>> def squares():
    ...     for i in range(3):
    ...         yield i, i * i
    >>> ds = GeneratorDataset(squares, ["n", "square"])
    >>> [int(row["square"]) for row in ds.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [0, 1, 4]
    """

    def __init__(
        self, source: Any, column_names: str | Sequence[str] | None = None, column_types: Any = None,
        schema: None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        python_multiprocessing: bool = False, max_rowsize: Any = None, batch_sampler: Any = None,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        processes = flag(python_multiprocessing)
        if max_rowsize is not None:
            events.ignored("GeneratorDataset(max_rowsize=)", "rows of any size travel between processes")
        if schema is not None:
            raise AttributeValueError("schema is not supported", hint="pass column_names and column_types")
        columns = as_columns(column_names, "column_names")
        if not columns:
            raise AttributeValueError("GeneratorDataset needs column_names", hint='for instance ["data", "label"]')
        if isinstance(source, (str, bytes, dict)):
            raise ArgumentError(f"GeneratorDataset cannot read rows from a {type(source).__name__}")
        reader = Reader("GeneratorDataset", columns, numpy_types(column_types, columns))
        workers = workers_of(num_parallel_workers)
        if batch_sampler is not None or collate_fn is not None:
            order_given = (shuffle, sampler, num_samples, num_shards, shard_id) != (None,) * 5
            _check_batches(source, batch_sampler, collate_fn, order_given)
            fetch, known = GuardedFetch(source, reader), hasattr(batch_sampler, "__len__")
            start = functools.partial(_batches, fetch, batch_sampler, collate_fn)
            node: Node = StreamSource(start, Reader(reader.name, columns), None, len(batch_sampler) if known else None)
        elif _is_indexed(source):
            order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
            fetch, length = GuardedFetch(source, reader), checked_length(source)
            node = IndexedSource(reader.name, fetch, length, columns, order, workers, None, True, processes)
        else:
            # no random access: only a source of known length can be shuffled, through a buffer of all its rows
            whole = hasattr(source, "__iter__") and hasattr(source, "__len__")
            _refuse_order(None if whole else shuffle, sampler, num_shards, shard_id)
            if processes:
                events.notice(
                    "python_multiprocessing has no effect on a GeneratorDataset whose source is read one row after the "
                    "other: worker processes fetch rows of a source with __getitem__ and __len__."
                )
            node = _stream(source, reader, num_samples)
            if whole and shuffle:
                node = Shuffle(node, max(len(source), 1))
        super().__init__(node)


def _is_indexed(source: Any) -> bool:
    return hasattr(source, "__getitem__") and hasattr(source, "__len__")


def _check_batches(source: Any, batch_sampler: Any, collate_fn: Any, order_given: bool) -> None:
    if batch_sampler is None or order_given:
        raise AttributeValueError("collate_fn needs a batch_sampler, which decides alone: no num_samples, shuffle, "
                                  "num_shards, shard_id or sampler with it")  # fmt: skip
    if not (hasattr(batch_sampler, "__iter__") or hasattr(batch_sampler, "__getitem__")) or not _is_indexed(source):
        raise ArgumentError(f"batch_sampler: lists of row numbers of a random-access source, got {batch_sampler!r}")
    if not callable(collate_fn or len):
        raise ArgumentError(f"collate_fn must be callable, got {collate_fn!r}")


def _batches(fetch: GuardedFetch, batch_sampler: Any, collate_fn: Callable[..., Any] | None) -> Iterator[Any]:
    """The batches of one epoch: a list per column, put together."""
    for number, listed in enumerate(batch_sampler):
        if not isinstance(listed, (list, tuple, np.ndarray)):
            raise ArgumentError(f"batch_sampler must give lists of row numbers, got {listed!r}")
        rows = [fetch(check_count(i, "a row number of batch_sampler", least=-len(fetch.source))) for i in listed]
        parts = [list(column) for column in zip(*rows, strict=True)]
        if collate_fn is None:
            yield tuple(stack(name, part, number) for name, part in zip(fetch.reader.columns, parts, strict=True))
        else:
            yield collate_fn(*parts)


def _stream(source: Any, reader: Reader, num_samples: int | None) -> StreamSource:
    limit = None if num_samples is None else check_count(num_samples, "num_samples", least=0) or None
    if _is_one_shot(source):
        return StreamSource(_Rereading(source), reader, limit, None)
    if hasattr(source, "__iter__"):
        size = len(source) if hasattr(source, "__len__") else None
        return StreamSource(lambda: iter(source), reader, limit, size)
    if callable(source):
        return StreamSource(_calling(source), reader, limit, None)
    raise ArgumentError(
        f"GeneratorDataset cannot read from {type(source).__name__}",
        hint="pass an object with __getitem__ and __len__, a generator function, or an iterable",
    )


def _calling(source: Callable[[], Any]) -> Callable[[], Iterator[Any]]:
    def start() -> Iterator[Any]:
        made = source()
        if not hasattr(made, "__iter__") and not hasattr(made, "__next__"):
            raise ArgumentError(f"{name_of(source)}() must return an iterator, it returned {type(made).__name__}")
        return iter(made)

    start.__name__ = name_of(source)
    return start


class _Rereading:
    """A generator or another built-in iterator: its rows are kept for the next reading."""

    def __init__(self, source: Any) -> None:
        self.source: Iterator[Any] = source
        self.__name__: str = type(source).__name__

    def __call__(self) -> Iterator[Any]:
        self.source, rows = itertools.tee(self.source)
        return rows


def _is_one_shot(source: Any) -> bool:
    return hasattr(source, "__next__") and type(source).__module__ in ("builtins", "itertools", "_io", "_csv")


def _refuse_order(shuffle: Any, sampler: Any, num_shards: Any, shard_id: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "num_shards": num_shards, "shard_id": shard_id}
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise AttributeValueError(
            f"{', '.join(wrong)}: only a source with __getitem__ and __len__ can be read in another order",
            hint="use .shuffle(buffer_size), or make the source random-access",
        )
