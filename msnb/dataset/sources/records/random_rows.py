"""`RandomDataset`: rows of random numbers, to try a pipeline before there are data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.dataset.pipeline import Array, Row, as_columns, check_count, config, positions
from msnb.dataset.pipeline.epoch_rng import Path
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.records.schema import Schema, SchemaColumn
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

_MOST_ROWS, _MOST_COLUMNS, _MOST_SIZE = 1000, 4, 8
_TYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)


class RandomDataset(TableDataset):
    """Rows of random numbers; the same seed (`config.set_seed`) gives the same rows.

    Whole numbers are drawn from all that their type holds, others from 0 to 1, texts are eight small letters.

    Args:
        total_rows: how many; None: a random number, at most 1000.
        schema: the columns, a Schema or its file; a column without a shape gets a random one. None: random columns.
        columns_list: which columns of the schema, in this order; without a schema: the names of the columns, which are
            otherwise c0, c1 and so on.
        num_samples, num_parallel_workers, cache, shuffle, num_shards, shard_id: as in GeneratorDataset.

    Source: `mindspore.dataset.RandomDataset`.

    >>> schema = Schema()
    >>> schema.add_column("image", "uint8", [2])
    >>> [row["image"].shape for row in RandomDataset(2, schema).create_dict_iterator(1, output_numpy=True)]
    [(2,), (2,)]
    """

    def __init__(
        self, total_rows: int | None = None, schema: Schema | str | os.PathLike[str] | None = None,
        columns_list: Sequence[str] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, cache: DatasetCache | None = None, shuffle: Order = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        seed = config.effective_seed()
        chance = Path(seed, (0,)).generator()
        count = int(chance.integers(1, _MOST_ROWS + 1)) if total_rows is None else check_count(total_rows, "total_rows")
        columns = [
            _whole(column, chance) for column in _columns(schema, as_columns(columns_list, "columns_list"), chance)
        ]

        def read(index: int) -> Row:
            drawn = Path(seed, (1, index)).generator()
            return tuple(_drawn(column, drawn) for column in columns)

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        super().__init__(Table([column.name for column in columns], range(count), read), choice)


def _columns(schema: Any, names: tuple[str, ...], chance: np.random.Generator) -> list[SchemaColumn]:
    if schema is not None:
        every = (schema if isinstance(schema, Schema) else Schema(schema)).columns
        if not every:
            raise AttributeValueError("RandomDataset: the schema has no column.")
        return [every[i] for i in positions(names, [c.name for c in every], "columns_list")] if names else list(every)
    called = names or tuple(f"c{i}" for i in range(int(chance.integers(1, _MOST_COLUMNS + 1))))
    return [SchemaColumn(name, np.dtype(_TYPES[int(chance.integers(len(_TYPES)))]), None) for name in called]


def _whole(column: SchemaColumn, chance: np.random.Generator) -> SchemaColumn:
    """The column with a shape of known sizes."""
    shape = column.shape
    if shape is None:
        shape = (-1,) * int(chance.integers(1, 4))
    return SchemaColumn(column.name, column.dtype,
                        tuple(int(chance.integers(1, _MOST_SIZE + 1)) if n < 0 else n for n in shape))  # fmt: skip


def _drawn(column: SchemaColumn, chance: np.random.Generator) -> Array:
    dtype, shape = column.dtype, column.shape or ()
    if dtype is None:
        letters = chance.integers(97, 123, (*shape, 8)).astype(np.uint32)
        return letters.view("<U8")[..., 0].copy()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(chance.integers(limits.min, limits.max, shape, dtype, endpoint=True))
    if dtype.kind == "b":
        return np.asarray(chance.integers(0, 2, shape).astype(bool))
    return np.asarray(chance.random(shape)).astype(dtype)
