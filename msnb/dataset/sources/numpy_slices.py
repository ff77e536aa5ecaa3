"""`NumpySlicesDataset`: rows are slices along the first axis of arrays that are already in memory.

    {"x": f32[n,3], "y": i64[n]}   ->   row i = (x[i], y[i])

Rows are copies, so a transform that works in place never changes the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline import Array, Dataset, IndexedSource, Row, Sampler, as_columns, choose, to_array, workers_of
from msnb.dataset.pipeline.source_nodes import Gather

Column = Array | list[Array]


class NumpySlicesDataset(Dataset):
    """Slices of arrays as rows.

    Args:
        data: a dict (column -> array), a tuple of arrays (one per column), or one array or list (one column). A list
            of arrays is one column, unless `column_names` gives a name for each of its entries.
        column_names: default: the keys of a dict, else column_0, column_1, ...
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
            True shuffle.

    Raises:
        TypeError, ValueError: no data, columns of different lengths, wrong number of names.

    Source: `mindspore.dataset.NumpySlicesDataset`.

    >>> ds = NumpySlicesDataset({"x": [[1., 2.], [3., 4.]], "y": [0, 1]}, shuffle=False)
    >>> ds.get_col_names(), ds.output_shapes()
    (['x', 'y'], [[2], []])
    """

    def __init__(
        self, data: Any, column_names: str | Sequence[str] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        names, parts = _columns(data, as_columns(column_names, "column_names"))
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        columns = [_column(name, part) for name, part in zip(names, parts, strict=True)]
        super().__init__(sliced("NumpySlicesDataset", names, columns, order, workers_of(num_parallel_workers)))


def sliced(name: str, names: Sequence[str], columns: Sequence[Column], sampler: Sampler, workers: int) -> IndexedSource:
    """The source node over columns of one length."""
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        shown = [f"{n}: {len(c)} rows" for n, c in zip(names, columns, strict=True)]
        raise AttributeValueError(f"{name}: all columns must have the same number of rows", operands=shown)
    size = lengths.pop()
    return IndexedSource(name, _slicer(tuple(columns)), lambda: size, names, sampler, workers, _gatherer(columns))


def _slicer(columns: tuple[Column, ...]) -> Callable[[int], Row]:
    def fetch(index: int) -> Row:
        return tuple(np.array(column[index]) for column in columns)

    return fetch


def _gatherer(columns: Sequence[Column]) -> Gather | None:
    """Many rows by one index per column. Texts are as wide as the longest of a batch, and are stacked row by row."""
    arrays = [c for c in columns if isinstance(c, np.ndarray) and c.dtype.kind not in "US"]
    return (lambda order: tuple(a[order] for a in arrays)) if len(arrays) == len(columns) else None


def _columns(data: Any, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[Any]]:
    if data is None or isinstance(data, (str, bytes)):
        raise ArgumentError(f"NumpySlicesDataset expects a dict, tuple, list or array, got {type(data).__name__}")
    if isinstance(data, dict):
        parts, default = list(data.values()), as_columns([str(k) for k in data], "data")
    else:
        # a list is one column, as in MindSpore, unless it has an entry for each of several names
        as_many = isinstance(data, list) and 1 < len(names) == len(data)
        parts = list(data) if isinstance(data, tuple) or as_many else [data]
        default = tuple(f"column_{i}" for i in range(len(parts)))
    if not parts:
        raise AttributeValueError(f"NumpySlicesDataset needs at least one column, got an empty {type(data).__name__}")
    if names and len(names) != len(parts):
        raise AttributeValueError(
            f"NumpySlicesDataset: {len(names)} column_names {list(names)} for {len(parts)} columns"
        )
    return names or default, parts


def _column(name: str, part: Any) -> Column:
    try:
        array = to_array(part)
    except TypeError as error:
        if isinstance(part, list) and part:
            return _ragged(name, part)
        raise DatasetError(f"NumpySlicesDataset: column {name!r}: {error}") from error
    if array.ndim == 0:
        raise DatasetError(
            f"NumpySlicesDataset: column {name!r} is a single number, which has no rows", hint="wrap it in a list"
        )
    return array


def _ragged(name: str, part: list[Any]) -> list[Array]:
    try:
        return [to_array(entry) for entry in part]
    except TypeError as error:
        raise DatasetError(f"NumpySlicesDataset: column {name!r}: {error}") from error
