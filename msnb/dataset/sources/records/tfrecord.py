"""`TFRecordDataset`: rows in TensorFlow's files of records.

    8 bytes length | 4 bytes masked CRC-32C of these | the record, a tf.train.Example | 4 bytes CRC-32C of it

Source: TensorFlow, "TFRecord and tf.train.Example"; `mindspore.dataset.TFRecordDataset`.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.base.files.bounded_reader import Refuse, need_room, open_file, read_bytes, read_file, room, size_of
from msnb.dataset.pipeline.rows import Array, Row, as_columns, positions
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.records.checksum import masked
from msnb.dataset.sources.records.example_message import Feature, decode_example
from msnb.dataset.sources.records.schema import Schema, SchemaColumn
from msnb.dataset.sources.tables.file_parts import Name, chosen
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset
from msnb.dataset.sources.texts.line_files import listed_files

_HEAD, _TAIL = 12, 4
Place = tuple[Path, int, int]


class TFRecordDataset(TableDataset):
    """The rows of TFRecord files.

    Args:
        dataset_files: a file, a pattern, or a list of these.
        schema: a Schema or its file: types and shapes; a column of bytes with a type of numbers has these bytes as
            such numbers. Default: the columns of the first row, in alphabetical order: int64[n], float32[n], text [n].
        columns_list: which columns, in this order; default: all.
        shard_equal_rows: True and False are the same: all shards have equally many rows.
        compression_type: None, "", "GZIP" or "ZLIB".
        num_samples and the others: as of every data set.

    Raises:
        DatasetError: also where a checksum is wrong, a column is missing, or bytes without a type are no text.

    Source: `mindspore.dataset.TFRecordDataset`.
    """

    def __init__(
        self, dataset_files: Name | Sequence[Name], schema: Schema | str | os.PathLike[str] | None = None,
        columns_list: Sequence[str] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = True, num_shards: int | None = None,
        shard_id: int | None = None, shard_equal_rows: bool = False, cache: DatasetCache | None = None,
        compression_type: str | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        if not isinstance(shard_equal_rows, bool):
            raise ArgumentError(f"{name}: shard_equal_rows is True or False, got {shard_equal_rows!r}")
        packing = chosen(name, "compression_type", compression_type, ("", "GZIP", "ZLIB"), "")
        files = [_Records(name, path, packing) for path in listed_files(name, dataset_files)]
        known = schema if isinstance(schema, Schema) or schema is None else Schema(schema)
        columns = _columns(name, files, known, as_columns(columns_list, "columns_list"))
        rows = [(file, index) for file in files for index in range(len(file.places))]

        def read(row: tuple[_Records, int]) -> Row:
            return row[0].row(row[1], columns)

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        table = Table([column.name for column in columns], rows, read, [len(file.places) for file in files])
        super().__init__(table, choice)


def _columns(
    name: str, files: Sequence[_Records], schema: Schema | None, wanted: tuple[str, ...]
) -> Sequence[SchemaColumn]:
    """The columns: those of the schema, or of the first row."""
    if schema is not None:
        every = schema.columns
    else:
        filled = next((file for file in files if file.places), None)
        if filled is None:
            raise AttributeValueError(f"{name}: the files have no record.", hint="with a Schema the columns are known.")
        first = filled.example(0)
        every = [SchemaColumn(key, None if isinstance(first[key], list) else _dtype(first[key]), None)
                 for key in sorted(first)]  # fmt: skip
    if not every:
        raise AttributeValueError(f"{name}: the schema has no column.")
    names = [column.name for column in every]
    return [every[i] for i in positions(wanted, names, "columns_list")] if wanted else every


def _dtype(value: Feature) -> np.dtype[Any]:
    return np.dtype(np.int64) if isinstance(value, list) else value.dtype


class _Records:
    """A file and where its records begin; a packed file is unpacked in memory."""

    def __init__(self, name: str, path: Path, packing: str) -> None:
        self.name, self.path = name, path
        refuse = refusal(name, path)
        self.plain = _unpacked(path, packing, refuse) if packing else None
        with self._open(refuse) as file:
            size = len(self.plain) if self.plain is not None else size_of(file)
            self.places = _places(file, size, refuse)

    def _open(self, refuse: Refuse) -> IO[bytes]:
        return open_file(self.path, refuse) if self.plain is None else io.BytesIO(self.plain)

    def example(self, index: int) -> Mapping[str, Feature]:
        refuse = refusal(self.name, self.path, index)
        start, size = self.places[index]
        with self._open(refuse) as file:
            file.seek(start)
            content = read_bytes(file, size + _TAIL, refuse)
        if masked(content[:size]) != int.from_bytes(content[size:], "little"):
            raise refuse("its checksum is wrong", hint="the file is damaged: fetch it again")
        return decode_example(content[:size], refuse)

    def row(self, index: int, columns: Sequence[SchemaColumn]) -> Row:
        refuse, found = refusal(self.name, self.path, index), self.example(index)
        missing = next((c.name for c in columns if c.name not in found), None)
        if missing is not None:
            raise refuse(f"it has no column {missing!r}; it has {sorted(found)}")
        return tuple(_value(found[column.name], column, refuse) for column in columns)


def _places(file: IO[bytes], size: int, refuse: Refuse) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(_HEAD)
        if len(head) < _HEAD:
            raise refuse(f"it was cut short inside record {len(found)}")
        length, crc = struct.unpack("<QI", head)
        if masked(head[:8]) != crc:
            raise refuse(f"it is no TFRecord file, or record {len(found)} is damaged: its length has another checksum",
                         hint="a packed file needs compression_type='GZIP' or 'ZLIB'")  # fmt: skip
        if at + _HEAD + length + _TAIL > size:
            raise refuse(f"it was cut short inside record {len(found)}")
        found.append((at + _HEAD, length))
        at += _HEAD + length + _TAIL
    return found


def _unpacked(path: Path, packing: str, refuse: Refuse) -> bytes:
    content = read_file(path, refuse)
    most = room(len(content)) + 1
    try:
        if packing == "GZIP":
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                plain = file.read(most)
        else:
            plain = zlib.decompressobj().decompress(content, most)
    except (EOFError, zlib.error, OSError) as error:
        raise refuse(f"it is no file packed by {packing}, or damaged: {error}") from None
    need_room(len(content), len(plain), refuse)
    return plain


def _value(feature: Feature, column: SchemaColumn, refuse: Refuse) -> Array:
    """A feature with the type and shape of its column."""
    if isinstance(feature, list):
        array = _texts(feature, column, refuse) if column.dtype is None else _numbers(feature, column, refuse)
    elif column.dtype is None:
        raise refuse(f"the column {column.name!r} is of numbers, and should be text")
    else:
        array = feature.astype(column.dtype)
        if feature.dtype.kind == "i" and column.dtype.kind in "iu" and not np.array_equal(array, feature):
            raise refuse(f"a number of the column {column.name!r} is too large for {column.dtype}")
    if column.shape is None:
        return array
    known = math.prod(n for n in column.shape if n >= 0)
    fits = array.size == known if -1 not in column.shape else known and array.size % known == 0
    if not fits:
        raise refuse(f"the column {column.name!r} has {array.size} elements, its shape is {list(column.shape)}")
    return array.reshape(column.shape)


def _texts(parts: list[bytes], column: SchemaColumn, refuse: Refuse) -> Array:
    try:
        return np.array([part.decode() for part in parts], dtype=np.str_)
    except UnicodeDecodeError:
        raise refuse(
            f"the column {column.name!r} is no text",
            hint=f"give its type: schema = Schema(); schema.add_column({column.name!r}, 'uint8')",
        ) from None


def _numbers(parts: list[bytes], column: SchemaColumn, refuse: Refuse) -> Array:
    joined, dtype = b"".join(parts), column.dtype
    if dtype is None or len(joined) % dtype.itemsize:
        raise refuse(f"the column {column.name!r} has {len(joined)} bytes, which are no {dtype}")
    return np.frombuffer(joined, dtype).copy()
