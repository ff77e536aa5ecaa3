"""Rows in one file: `FileWriter` writes them, `MindDataset` reads them.

    writer = FileWriter("cats.mindrecord")
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    writer.write_raw_data([{"image": b"...", "label": 0}, ...]); writer.commit()

A file is an archive of NumPy arrays: per column all elements in a row, where each row ends, and its shape. It is data
and never code. Files that MindSpore wrote are of another kind, and the other way round: names and calls are the same.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.mindrecord.html
"""

from __future__ import annotations

import bisect
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.array_archive import Archive
from msnb.base.files.atomic_write import write_whole
from msnb.base.files.bounded_reader import MOST_AXES, MOST_BYTES, Refuse, read_json
from msnb.base.files.json_schema import TEXT, OneOf, Record, Rows, Table
from msnb.dataset.pipeline.dataset import Dataset, no_cache, register_writer, workers_of
from msnb.dataset.pipeline.rows import Array, Row, as_columns, check_count, positions
from msnb.dataset.pipeline.samplers import choose
from msnb.dataset.pipeline.source_nodes import IndexedSource

_TYPES = ("int32", "int64", "float32", "float64", "string", "bytes")
_HEADER = "msnb.json"


class FileWriter:
    """Writes rows into one file, or several (shards).

    Args:
        file_name: where; with several shards a number is put behind the name.
        shard_num: how many files.
        overwrite: replace what is there.

    Raises:
        ValueError: the schema or a row does not fit. FileExistsError: the file is there, and ``overwrite`` is False.

    Source: `mindspore.mindrecord.FileWriter`.
    """

    def __init__(self, file_name: str | os.PathLike[str], shard_num: int = 1, overwrite: bool = False) -> None:
        count = check_count(shard_num, "shard_num")
        name = os.fspath(file_name)
        self.files: list[Path] = [Path(name)] if count == 1 else [Path(f"{name}{i}") for i in range(count)]
        taken = next((file for file in self.files if file.exists()), None)
        if taken is not None and not overwrite:
            raise FileExistsError(f"FileWriter: {str(taken)!r} exists; overwrite=True replaces it")
        self._schema: dict[str, str] = {}
        self._rows: list[dict[str, Array]] = []

    def add_schema(self, content: Mapping[str, Mapping[str, Any]], desc: str | None = None) -> int:
        """Say which columns there are: ``{"label": {"type": "int32"}, "place": {"type": "float32", "shape": [2]}}``.

        Returns:
            0, the number of the schema.
        """
        for name, entry in content.items():
            if entry.get("type") not in _TYPES:
                raise AttributeValueError(
                    f"FileWriter: column {name!r} has the type {entry.get('type')!r}; legal: {', '.join(_TYPES)}"
                )
        self._schema = {name: str(entry["type"]) for name, entry in content.items()}
        return 0

    def add_index(self, index_fields: Sequence[str]) -> None:
        """Accepted, as in MindSpore; rows are found by their number."""
        positions(as_columns(index_fields, "add_index"), tuple(self._schema), "add_index")

    def write_raw_data(self, raw_data: Sequence[Mapping[str, Any]], parallel_writer: bool = False) -> None:
        """Take rows: dicts with a value for every column."""
        if parallel_writer:
            events.ignored("FileWriter.write_raw_data(parallel_writer=True)", "rows are written at commit(), in one go")
        if not self._schema:
            raise AttributeValueError("FileWriter: add_schema comes before the first row.")
        for number, row in enumerate(raw_data, start=len(self._rows)):
            if set(row) != set(self._schema):
                fault = f"row {number} has {sorted(row)}, the schema {sorted(self._schema)}"
                raise AttributeValueError(f"FileWriter: {fault}")
            self._rows.append({name: _stored(name, kind, row[name]) for name, kind in self._schema.items()})

    def commit(self) -> None:
        """Write the files; they appear whole or not at all."""
        for i, file in enumerate(self.files):
            header = {"schema": self._schema, "files": [other.name for other in self.files]}
            _write(file, header, self._rows[i :: len(self.files)])


def _stored(name: str, kind: str, value: Any) -> Array:
    if kind == "bytes":
        if not isinstance(value, (bytes, bytearray, np.ndarray)):
            raise ArgumentError(f"FileWriter: column {name!r} takes bytes, got {type(value).__name__}")
        return np.frombuffer(value if isinstance(value, (bytes, bytearray)) else value.tobytes(), np.uint8)
    if kind == "string":
        return np.frombuffer(str(value).encode(), np.uint8)
    try:
        return np.asarray(value).astype(kind)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"FileWriter: column {name!r} takes {kind}, got {value!r}") from error


def _write(file: Path, header: Mapping[str, Any], rows: Sequence[Mapping[str, Array]]) -> None:
    arrays: dict[str, Array] = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}
    # rows of any shapes in four arrays: elements end to end, where each row ends, its number of axes, and its sizes
    for name in header["schema"]:
        cells = [row[name] for row in rows]
        arrays[f"{name}/data"] = np.concatenate([c.ravel() for c in cells]) if cells else np.zeros(0, np.uint8)
        arrays[f"{name}/ends"] = np.cumsum([c.size for c in cells], dtype=np.int64)
        arrays[f"{name}/rank"] = np.array([c.ndim for c in cells], np.int64)
        arrays[f"{name}/shape"] = np.array([size for c in cells for size in c.shape], np.int64)
    write_whole(os.fspath(file), lambda target: np.savez(target, **arrays))  # type: ignore[arg-type]


def save(dataset: Dataset, file_name: str, num_files: int) -> None:
    """Write one epoch of a data set."""
    rows = list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))
    if not rows:
        raise AttributeValueError("save: the data set has no row.")
    writer = FileWriter(file_name, num_files, overwrite=True)
    writer.add_schema({name: {"type": _kind(np.asarray(value))} for name, value in rows[0].items()})
    writer.write_raw_data(rows)
    writer.commit()


def _kind(array: Array) -> str:
    """The type of a file's column that holds such arrays."""
    if array.dtype.kind in "US":
        return "string"
    if array.dtype == np.uint8 and array.ndim == 1:
        return "bytes"
    if array.dtype.kind == "f":
        return "float64" if array.dtype.itemsize > 4 else "float32"
    return "int64" if array.dtype.itemsize > 4 or array.dtype == np.uint32 else "int32"


class MindDataset(Dataset):
    """The rows of files that `FileWriter` wrote; columns of bytes are uint8[n].

    Args:
        dataset_files: one file (and with it all its shards), or a list of files.
        columns_list: which columns, in this order; default: all.
        num_parallel_workers, shuffle, num_shards, shard_id, sampler, num_samples: as in GeneratorDataset; None and
            True shuffle.
        padded_sample, num_padded, cache: None.

    Raises:
        FileNotFoundError: a file is missing. DatasetError: it is of another kind, or damaged.

    Source: `mindspore.dataset.MindDataset`.
    """

    def __init__(
        self,
        dataset_files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        columns_list: Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: None = None,
        num_padded: None = None,
        num_samples: int | None = None,
        cache: None = None,
    ) -> None:
        if padded_sample is not None or num_padded is not None:
            raise AttributeValueError("MindDataset pads no rows; choose num_shards so that it divides them.")
        no_cache("MindDataset", cache)
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        files = _opened(dataset_files)
        schema = files[0].schema
        names = as_columns(columns_list, "columns_list") or tuple(sorted(schema))
        positions(names, tuple(schema), "columns_list")
        starts = [0, *itertools.accumulate(file.rows for file in files)]
        columns = [[file.column(name) for file in files] for name in names]
        count = starts[-1]

        def fetch(index: int) -> Row:
            at = bisect.bisect_right(starts, index) - 1
            return tuple(np.array(parts[at].cell(index - starts[at])) for parts in columns)

        workers = workers_of(num_parallel_workers)
        super().__init__(IndexedSource("MindDataset", fetch, lambda: count, names, order, workers))


# ---- reading -------------------------------------------------------------------------------------------------------


class _Cells:
    """The rows of a column in one file: what ``_write`` wrote, checked as a whole when it is opened."""

    def __init__(self, kind: str, parts: Sequence[Array], refuse: Refuse) -> None:
        self.text = kind == "string"
        self.data, self.ends, rank, self.sizes = parts
        self._check(kind, rank, refuse)
        self.places = np.concatenate([np.zeros(1, np.int64), np.cumsum(rank)])
        starts = np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[: len(self.ends)]
        self._check_shapes(rank, self.ends - starts, refuse)
        if self.text:
            self._check_text(starts, refuse)

    def _check(self, kind: str, rank: Array, refuse: Refuse) -> None:
        """The four arrays fit each other."""
        # before any row is cut out: a damaged file must not become rows of other sizes
        whole = np.dtype(np.int64)
        legal = (np.dtype(np.uint8 if kind in ("string", "bytes") else kind), whole, whole, whole)
        for name, part, dtype in zip(_PARTS, (self.data, self.ends, rank, self.sizes), legal):
            if part.ndim != 1 or (part.dtype != dtype and (part.size or name != "data")):
                raise refuse(f"its part {name!r} is {part.dtype}{list(part.shape)}, and not {dtype}[n]")
        if len(rank) != len(self.ends):
            raise refuse(f"it has the ends of {len(self.ends)} rows and the ranks of {len(rank)}")
        ends = np.concatenate([np.zeros(1, np.int64), self.ends])
        if (ends[1:] < ends[:-1]).any() or ends[-1] != len(self.data):
            raise refuse(f"the ends of its rows do not go up to its {len(self.data)} elements")
        self._check_ranks(kind, rank, refuse)

    def _check_ranks(self, kind: str, rank: Array, refuse: Refuse) -> None:
        """Every row has a legal number of axes, and a size for each."""
        flat = kind in ("string", "bytes")
        if (rank < 0).any() or (rank > MOST_AXES).any() or (flat and (rank != 1).any()):
            raise refuse(f"a row has {int(rank.max())} axes, which no row of {kind} has")
        if int(rank.sum()) != len(self.sizes):
            raise refuse(f"its rows have {int(rank.sum())} axes, and {len(self.sizes)} sizes are there")

    def _check_shapes(self, rank: Array, lengths: Array, refuse: Refuse) -> None:
        """Every row has as many elements as its shape says."""
        held, most = np.ones(len(rank)), np.ones(len(rank))
        filled = np.flatnonzero(rank)  # a row without axes is one number
        with np.errstate(all="ignore"):  # products are exact as long as they are right
            if len(filled):
                sizes = self.sizes.astype(np.float64)
                held[filled] = np.multiply.reduceat(sizes, self.places[filled])
                most[filled] = np.multiply.reduceat(np.maximum(sizes, 1), self.places[filled])
            wrong = np.flatnonzero((held != lengths) | (most * 8 >= MOST_BYTES))
        if len(wrong) or (self.sizes < 0).any():
            row = int(wrong[0]) if len(wrong) else "with a negative size"
            raise refuse(f"the shape of row {row} does not fit its elements")

    def _check_text(self, starts: Array, refuse: Refuse) -> None:
        """All is UTF-8, and no row begins in the middle of a character."""
        try:
            self.data.tobytes().decode()
        except UnicodeDecodeError as error:
            raise refuse(f"it is no text in UTF-8: byte {error.start} of its elements") from None
        inner = starts[starts < len(self.data)]
        if ((self.data[inner] & 0xC0) == 0x80).any():
            raise refuse("a row begins in the middle of a character")

    def cell(self, index: int) -> Array:
        """A row."""
        start = int(self.ends[index - 1]) if index else 0
        found = self.data[start : int(self.ends[index])]
        if self.text:
            return np.array(found.tobytes().decode())
        return found.reshape(self.sizes[self.places[index] : self.places[index + 1]])


_PARTS = ("data", "ends", "rank", "shape")


class _File:
    """One file: its header, and its columns as they are asked for. All of them have the same number of rows."""

    def __init__(self, path: Path) -> None:
        # the header is data from outside: each entry is checked before it is used
        if not path.is_file():
            raise FileNotFoundError(f"MindDataset: there is no file {str(path)!r}")
        self._name = path.name
        with Archive(path, self._refuse) as archive:
            header = read_json(archive.read(_HEADER).tobytes(), self._refuse, _PAGE, "its header")
            self.schema: dict[str, str] = header["schema"]
            self.files: list[str] = header["files"]
            wanted = {f"{name}/{part}" for name in self.schema for part in _PARTS} | {_HEADER}
            strange = sorted(wanted ^ set(archive.names))
            if strange:
                fault = "missing" if strange[0] in wanted else "of no column"
                raise self._refuse(f"its entry {strange[0]!r} is {fault}")
            self._columns = {name: self._read(archive, name, kind) for name, kind in self.schema.items()}
        self.rows = self._count_rows()
        if len(set(self.files)) < len(self.files) or any(_is_path(name) for name in self.files):
            raise self._refuse(f"its header names the files {self.files}; shards are other files in the same folder")

    def _read(self, archive: Archive, name: str, kind: str) -> _Cells:
        parts = [archive.read(f"{name}/{part}") for part in _PARTS]
        return _Cells(kind, parts, lambda why, **more: self._refuse(f"the column {name!r}: {why}", **more))

    def _count_rows(self) -> int:
        """The number of rows, which all columns have."""
        counts = {name: len(cells.ends) for name, cells in self._columns.items()}
        if not counts:
            raise self._refuse("it has no column")
        rows = next(iter(counts.values()))
        odd = next((name for name, n in counts.items() if n != rows), None)
        if odd is not None:
            raise self._refuse(f"the column {odd!r} has {counts[odd]} rows where others have {rows}")
        return rows

    def column(self, name: str) -> _Cells:
        """The rows of a column."""
        return self._columns[name]

    def _refuse(self, why: str, hint: str = "") -> DatasetError:
        return DatasetError(
            f"{self._name} is damaged, or no file of msnb's FileWriter: {why}.",
            hint=hint
            or "files of MindSpore are of another kind: write the rows again with msnb.mindrecord.FileWriter.",
        )


def _is_path(name: str) -> bool:
    """True for what is no plain name of a file, so that a header leads nowhere else."""
    return name in ("", ".", "..") or any(c in name for c in "/\\\0")


_PAGE = Record({"schema": Table(OneOf(*_TYPES), "a table of columns"), "files": Rows(TEXT)})


def _opened(files: Any) -> list[_File]:
    """The files in order, each with the columns of the first; a single one brings its shards along."""
    if isinstance(files, (list, tuple)):
        if not files:
            raise AttributeValueError("MindDataset: the list of files is empty.")
        found = [_File(Path(file)) for file in files]
    else:
        path = Path(files)
        first = _File(path)
        # a shard's header names all shards, and they lie beside it
        others = [name for name in first.files if name != path.name] if len(first.files) > 1 else []
        found = [first, *(_File(path.with_name(name)) for name in others)]
    for other in found[1:]:
        if other.schema != found[0].schema:
            raise DatasetError(
                f"MindDataset: {other._name} has the columns {other.schema}, {found[0]._name} has {found[0].schema}.",
                hint="files that are read together have the same columns of the same types.",
            )
    return found


register_writer("mindrecord", save)
