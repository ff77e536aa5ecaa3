"""`FileWriter`: rows into MindRecord files, which MindSpore reads too.

    writer = FileWriter("cats.mindrecord")
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    writer.write_raw_data([{"image": b"...", "label": 0}, ...])
    writer.commit()                                     cats.mindrecord and its index, cats.mindrecord.db

Rows wait in a nameless file of the same folder; `commit` makes the files of it, and each appears whole or not at all.

Source: `mindspore.mindrecord`
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.base.files.atomic_write import write_whole
from msnb.dataset.pipeline.rows import Array, as_columns, check_count, positions
from msnb.dataset.sources.mindrecord import row_bytes
from msnb.dataset.sources.mindrecord.page_file import FIELD_NAME, HEADER_SIZES, PAGE_SIZES, VERSION, PageFile

_TYPES = (*row_bytes.PLAIN, "bytes")
_MOST_SHARDS = 1000


class FileWriter:
    """Writes rows into one file, or several (shards), each with an index (``.db``) beside it.

    Args:
        file_name: where; with several shards a number is put behind the name.
        shard_num: how many files, 1 to 1000.
        overwrite: replace what is there.

    Raises:
        ValueError: the schema or a row does not fit. FileExistsError: the file is there, and ``overwrite`` is False.

    Source: `mindspore.mindrecord.FileWriter`. Rows that do not fit the schema raise here, where MindSpore leaves them
    out with a warning.
    """

    def __init__(self, file_name: str | os.PathLike[str], shard_num: int = 1, overwrite: bool = False) -> None:
        if check_count(shard_num, "shard_num") > _MOST_SHARDS:
            raise AttributeValueError(f"FileWriter: shard_num is at most {_MOST_SHARDS}, got {shard_num}")
        name, width = os.fspath(file_name), len(str(shard_num - 1))
        numbers = [""] if shard_num == 1 else [f"{i:0{width}}" for i in range(shard_num)]
        self.files: list[Path] = [Path(f"{name}{number}") for number in numbers]
        taken = next((file for file in self.files if file.exists()), None)
        if taken is not None and not overwrite:
            raise FileExistsError(f"FileWriter: {str(taken)!r} exists; overwrite=True replaces it")
        self._schema: dict[str, dict[str, Any]] = {}
        self._desc = ""
        self._index: list[str] | None = None
        self._sizes = {"header_size": 1 << 24, "page_size": 1 << 25}
        self._shards: list[_Shard] = []
        self._names = [file.name for file in self.files]
        self._closed = False

    @classmethod
    def open_for_append(cls, file_name: str | os.PathLike[str]) -> FileWriter:
        """A writer that adds rows to a file; its schema, index and sizes stay."""
        old = PageFile("FileWriter.open_for_append", Path(file_name))
        writer = cls(file_name, overwrite=True)
        writer._schema = {name: dict(entry) for name, entry in old.schema.items()}
        writer._desc, writer._index = old.header["schema"][0].get("desc", ""), list(old.index_fields)
        writer._sizes = {key: old.header[key] for key in writer._sizes}
        number = old.shards.index(old.path.name) if old.path.name in old.shards else 0
        writer._names = old.shards if old.path.name in old.shards else [old.path.name]
        writer._shards = [_Shard(old.path, number, writer._sizes["page_size"], old)]
        return writer

    def add_schema(self, content: Mapping[str, Mapping[str, Any]], desc: str | None = None) -> None:
        """Say which columns there are: ``{"label": {"type": "int32"}, "place": {"type": "float32", "shape": [2]}}``.

        Args:
            content: columns, each with its type and, if it holds arrays, their shape (-1: any size of one axis).
            desc: a remark, kept in the file.
        """
        if self._schema:
            raise AttributeValueError("FileWriter: there is a schema already; a file has one.")
        if not isinstance(content, Mapping) or not content:
            raise AttributeValueError(f"FileWriter: the schema is a dict of columns, got {content!r}")
        for name, entry in content.items():
            _check_field(name, entry)
        self._schema = {name: dict(content[name]) for name in sorted(content)}
        self._desc = str(desc or "")

    def add_index(self, index_fields: Sequence[str]) -> None:
        """Which columns the index has; `MindPage` groups rows by them. Default: all numbers and texts."""
        names = as_columns(index_fields, "add_index")
        positions(names, tuple(self._schema), "add_index")
        blob = next((name for name in names if name in row_bytes.blob_fields(self._schema)), None)
        if blob is not None:
            raise AttributeValueError(
                f"FileWriter: column {blob!r} holds bytes or arrays; an index has numbers and texts"
            )
        self._index = [*(self._index or ()), *(name for name in names if name not in (self._index or ()))]

    def set_header_size(self, header_size: int) -> None:
        """Bytes for the header, 16 KB to 128 MB (default 16 MB): each page has about 200 of them."""
        self._set("header_size", header_size, HEADER_SIZES)

    def set_page_size(self, page_size: int) -> None:
        """Bytes of a page, 32 KB to 256 MB (default 32 MB); the largest row has to fit in."""
        self._set("page_size", page_size, PAGE_SIZES)

    def write_raw_data(self, raw_data: Sequence[Mapping[str, Any]], parallel_writer: bool = False) -> None:
        """Take rows: dicts with a value for every column. Other keys are not written.

        Args:
            raw_data: the rows; with several shards, each call gives every shard its part of them.
            parallel_writer: rows are written by this thread either way.
        """
        if parallel_writer:
            events.ignored("FileWriter.write_raw_data(parallel_writer=True)", "rows are written by one thread")
        if not self._schema:
            raise AttributeValueError("FileWriter: add_schema comes before the first row.")
        if self._closed:
            raise AttributeValueError("FileWriter: commit() was called; FileWriter.open_for_append adds more rows")
        if not isinstance(raw_data, (list, tuple)):
            raise ArgumentError(f"FileWriter: raw_data is a list of dicts, got {type(raw_data).__name__}")
        rows = [self._packed(number, row) for number, row in enumerate(raw_data)]
        for shard, count in zip(self._opened(), _shares([shard.rows for shard in self._opened()], len(rows))):
            for raw, blob in rows[:count]:
                shard.add(raw, blob)
            rows = rows[count:]

    def commit(self) -> None:
        """Write the files and their indexes."""
        if not self._schema:
            raise AttributeValueError("FileWriter: add_schema comes before commit.")
        for shard in self._opened():
            shard.write({
                **self._sizes, "index_fields": [{"index_field": n, "schema_id": 0} for n in self._indexed()] or None,
                "compression_size": 0, "statistics": None, "version": VERSION, "shard_addresses": self._names,
                "schema": [{"blob_fields": row_bytes.blob_fields(self._schema), "desc": self._desc,
                            "schema": self._schema}],
            })  # fmt: skip
        self._closed = True

    def _indexed(self) -> list[str]:
        blobs = row_bytes.blob_fields(self._schema)
        return [n for n in self._schema if n not in blobs] if self._index is None else self._index

    def _set(self, name: str, size: int, bounds: tuple[int, int]) -> None:
        if self._shards:
            raise AttributeValueError(f"FileWriter: set_{name} comes before the first row.")
        if not bounds[0] <= check_count(size, name) <= bounds[1]:
            raise AttributeValueError(f"FileWriter: {name} lies between {bounds[0]} and {bounds[1]}, got {size}")
        self._sizes[name] = size

    def _opened(self) -> list[_Shard]:
        if not self._shards:
            self._shards = [_Shard(file, i, self._sizes["page_size"]) for i, file in enumerate(self.files)]
        return self._shards

    def _packed(self, number: int, row: Mapping[str, Any]) -> tuple[bytes, bytes]:
        if not isinstance(row, Mapping) or not set(self._schema) <= set(row):
            has = sorted(row) if isinstance(row, Mapping) else type(row).__name__
            raise AttributeValueError(f"FileWriter: row {number} has {has}, the schema {list(self._schema)}")
        values = {name: row_bytes.checked_value(name, entry, row[name]) for name, entry in self._schema.items()}
        blobs = row_bytes.blob_fields(self._schema)
        plain = {name: value for name, value in values.items() if name not in blobs}
        return row_bytes.packed_map(plain or row_bytes.NO_FIELD), row_bytes.packed_blob([values[n] for n in blobs])


def _check_field(name: Any, entry: Any) -> None:
    if not isinstance(name, str) or not FIELD_NAME.fullmatch(name):
        raise AttributeValueError(f"FileWriter: a column's name has letters, digits and _, got {name!r}")
    kind = entry.get("type") if isinstance(entry, Mapping) else entry
    if kind not in _TYPES:
        raise AttributeValueError(f"FileWriter: column {name!r} has the type {kind!r}; legal: {', '.join(_TYPES)}")
    more = sorted(set(entry) - {"type", "shape"})
    if more or ("shape" in entry and kind in ("string", "bytes")):
        raise AttributeValueError(f"FileWriter: column {name!r} of {kind} has no {(more or ['shape'])[0]!r}")
    if "shape" in entry and not _is_shape(entry["shape"]):
        fault = f"a shape is a list of sizes, one of them may be -1; got {entry['shape']!r}"
        raise AttributeValueError(f"FileWriter: column {name!r}: {fault}")


def _is_shape(shape: Any) -> bool:
    if not isinstance(shape, list) or not shape or shape.count(-1) > 1:
        return False
    return all(type(size) is int and size >= -1 for size in shape)


def _shares(held: Sequence[int], count: int) -> list[int]:
    """How many of so many new rows each shard gets: the same for all, what is left to those that hold least."""
    shares = [count // len(held)] * len(held)
    for index in sorted(range(len(held)), key=lambda i: (held[i], i))[: count % len(held)]:
        shares[index] += 1
    return shares


class _Shard:
    """One file while it is written: its pages, in a nameless file."""

    def __init__(self, path: Path, number: int, page_size: int, old: PageFile | None = None) -> None:
        self.path, self.number, self.page_size = path, number, page_size
        self.rows = self._first = old.rows if old else 0
        self._pages: list[dict[str, Any]] = []
        self._blob, self._raw, self._group = bytearray(), bytearray(), bytearray()
        self._groups: list[dict[str, int]] = []  # of the raw page that is being filled
        folder = path.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"FileWriter: there is no folder {str(folder)!r}")
        self._spool = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it ends with the writer
        if old is not None:
            for page in sorted(old.header["page"], key=lambda entry: int(entry["page_id"])):
                self._pages.append({**page, "page_id": len(self._pages)})
                self._spool.write(old.page(page))
        self._count = sum(page["page_type"] == "BLOB_DATA" for page in self._pages)

    def add(self, raw: bytes, blob: bytes) -> None:
        """A row."""
        parts = [len(part).to_bytes(8, "little") + part for part in (raw, blob)]
        longest = max(map(len, parts))
        if longest > self.page_size:
            raise AttributeValueError(f"FileWriter: a row of {longest} bytes is longer than a page of {self.page_size}",
                                      hint="set_page_size before the first row")  # fmt: skip
        if any(len(held) + len(part) > self.page_size for held, part in zip((self._group, self._blob), parts)):
            self._close_group()
        self._group += parts[0]
        self._blob += parts[1]
        self.rows += 1

    def write(self, header: Mapping[str, Any]) -> None:
        """The file, then its index."""
        self._close_group()
        self._close_raw()
        text = json.dumps({**header, "shard_id": self.number, "page": self._pages}, separators=(",", ":")).encode()
        if len(text) + 8 > header["header_size"]:
            raise AttributeValueError(f"FileWriter: the header has {len(text)} bytes, of {header['header_size']}",
                                      hint="set_header_size or set_page_size before the first row")  # fmt: skip

        def fill(target: Any) -> None:
            target.write(len(text).to_bytes(8, "little") + text)
            self._spool.seek(0)
            for page in self._pages:
                target.seek(header["header_size"] + page["page_id"] * self.page_size)
                target.write(self._spool.read(page["page_size"]))

        write_whole(os.fspath(self.path), fill)
        self._spool.close()
        write_index(self.path)

    def _close_group(self) -> None:
        if self.rows == self._first:
            return
        if len(self._raw) + len(self._group) > self.page_size:
            self._close_raw()
        self._groups.append({"id": self._count, "offset": len(self._raw)})
        self._raw += self._group
        self._page("BLOB_DATA", self._blob, [{"id": 0, "offset": 0}], self._first, self.rows)
        self._count, self._first = self._count + 1, self.rows
        self._blob, self._group = bytearray(), bytearray()

    def _close_raw(self) -> None:
        if self._groups:
            self._page("RAW_DATA", self._raw, self._groups, 0, 0)
        self._raw, self._groups = bytearray(), []

    def _page(self, kind: str, content: bytearray, groups: list[dict[str, int]], first: int, stop: int) -> None:
        number = sum(page["page_type"] == kind for page in self._pages)
        self._pages.append({
            "page_id": len(self._pages), "page_type": kind, "page_type_id": number, "page_size": len(content),
            "start_row_id": first, "end_row_id": stop, "row_group_ids": groups, "shard_id": self.number,
        })  # fmt: skip
        self._spool.write(content)


_PLACES = ("ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END", "ROW_GROUP_ID", "PAGE_ID_BLOB",
           "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END")  # fmt: skip
_KINDS = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL"}


def write_index(path: Path) -> None:
    """The index of a file, as MindSpore has it: where each row lies, and its values in the columns of the index."""
    file = PageFile("FileWriter", path)
    fields = file.index_fields
    kinds = [_KINDS[file.schema[name]["type"]] for name in fields]
    made = [f"INC_{i} INT, {name}_0 {kind}" for i, (name, kind) in enumerate(zip(fields, kinds))]
    keys = ", ".join(["ROW_ID", *(f"INC_{i}" for i in range(len(fields)))])
    columns = ", ".join([*(f"{name} INT NOT NULL" for name in _PLACES), *made, f"PRIMARY KEY({keys})"])
    marks = ", ".join("?" * (len(_PLACES) + 2 * len(fields)))

    def row(spot: list[int]) -> list[Any]:
        values = file.row(spot[0], fields) if fields else {}
        return [*spot, *(part for name in fields for part in (0, values[name]))]

    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "index")
        base = sqlite3.connect(place)
        try:
            base.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
            base.execute("INSERT INTO SHARD_NAME VALUES (?)", (path.name,))
            base.execute(f"CREATE TABLE INDEXES({columns})")
            base.executemany(f"INSERT INTO INDEXES VALUES ({marks})", map(row, file.spots()))
            base.commit()
        finally:
            base.close()
        with open(place, "rb") as made_file:
            write_whole(f"{path}.db", lambda target: shutil.copyfileobj(made_file, target))


def save(dataset: Any, file_name: str, num_files: int) -> None:
    """Write one epoch of a data set."""
    rows = [
        {name: np.asarray(value) for name, value in row.items()}
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]
    if not rows:
        raise AttributeValueError("save: the data set has no row.")
    writer = FileWriter(file_name, num_files, overwrite=True)
    writer.add_schema({name: _field_of(name, [row[name] for row in rows]) for name in rows[0]})
    writer.write_raw_data(rows)
    writer.commit()


def _field_of(name: str, arrays: Sequence[Array]) -> dict[str, Any]:
    """The entry of a schema for a column of such arrays."""
    first = arrays[0]
    kind = _kind(first)
    if kind in ("string", "bytes") or not first.ndim:
        return {"type": kind}
    if any(array.ndim != first.ndim for array in arrays):
        raise AttributeValueError(f"save: column {name!r} has arrays of several ranks, which no file holds")
    sizes = [sorted({array.shape[axis] for array in arrays}) for axis in range(first.ndim)]
    shape = [found[0] if len(found) == 1 else -1 for found in sizes]
    if shape.count(-1) > 1:
        raise AttributeValueError(f"save: column {name!r} varies in {shape.count(-1)} axes; a file holds one",
                                  hint="pad the rows, or flatten them")  # fmt: skip
    return {"type": kind, "shape": shape}


def _kind(array: Array) -> str:
    """The type of a file's column that holds such arrays."""
    if array.dtype.kind in "US":
        return "string"
    if array.dtype == np.uint8 and array.ndim == 1:
        return "bytes"
    if array.dtype.kind == "f":
        return "float64" if array.dtype.itemsize > 4 else "float32"
    return "int64" if array.dtype.itemsize > 4 or array.dtype == np.uint32 else "int32"
