"""Rows in one file: `FileWriter` writes them, `MindDataset` reads them.

    writer = FileWriter("cats.mindrecord")
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}})
    writer.write_raw_data([{"image": b"...", "label": 0}, ...]); writer.commit()

A file is an archive of NumPy arrays: per column all elements in a row, where each row ends, and its shape. It is data
and never code. Files that MindSpore wrote are of another kind, and the other way round: names and calls are the same.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.mindrecord.html
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.core.errors import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.datasets import Dataset, workers_of
from msnb.dataset.rows import Array, Row, as_columns, check_count, positions
from msnb.dataset.samplers import choose
from msnb.dataset.sources import IndexedSource

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
        self.files = [Path(name)] if count == 1 else [Path(f"{name}{i}") for i in range(count)]
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
    for name in header["schema"]:
        cells = [row[name] for row in rows]
        arrays[f"{name}/data"] = np.concatenate([c.ravel() for c in cells]) if cells else np.zeros(0, np.uint8)
        arrays[f"{name}/ends"] = np.cumsum([c.size for c in cells], dtype=np.int64)
        arrays[f"{name}/rank"] = np.array([c.ndim for c in cells], np.int64)
        arrays[f"{name}/shape"] = np.array([size for c in cells for size in c.shape], np.int64)
    draft = file.with_name(file.name + ".part")
    with draft.open("wb") as target:
        np.savez(target, **arrays)  # type: ignore[arg-type]
    draft.replace(file)


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
        order = choose(sampler, shuffle, num_samples, num_shards, shard_id)
        archives = _opened(dataset_files)
        schema: dict[str, str] = archives[0][0]["schema"]
        names = as_columns(columns_list, "columns_list") or tuple(sorted(schema))
        positions(names, tuple(schema), "columns_list")
        columns = [[cell for _, arrays in archives for cell in _cells(arrays, n, schema[n])] for n in names]
        count = len(columns[0])

        def fetch(index: int) -> Row:
            return tuple(np.array(column[index]) for column in columns)

        workers = workers_of(num_parallel_workers)
        super().__init__(IndexedSource("MindDataset", fetch, lambda: count, names, order, workers))


def _opened(files: Any) -> list[tuple[dict[str, Any], dict[str, Array]]]:
    if isinstance(files, (list, tuple)):
        return [_read(Path(file)) for file in files]
    first = Path(files)
    header, arrays = _read(first)
    others = [first.with_name(name) for name in header["files"] if name != first.name]
    return [(header, arrays), *(_read(other) for other in others)]


def _read(file: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    if not file.is_file():
        raise FileNotFoundError(f"MindDataset: there is no file {str(file)!r}")
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return json.loads(arrays[_HEADER].tobytes()), arrays
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise DatasetError(
            f"{file.name} is damaged, or no file of msnb's FileWriter",
            hint="files of MindSpore are of another kind: write the rows again with msnb.mindrecord.FileWriter.",
        ) from error


def _cells(arrays: Mapping[str, Array], name: str, kind: str) -> list[Array]:
    """The rows of a column."""
    data, ends, ranks, sizes = (arrays[f"{name}/{part}"] for part in ("data", "ends", "rank", "shape"))
    form: Callable[[Array], Array] = (lambda c: np.array(c.tobytes().decode())) if kind == "string" else (lambda c: c)
    found, start, at = [], 0, 0
    for end, rank in zip(ends, ranks):
        found.append(form(data[start:end].reshape(sizes[at : at + rank])))
        start, at = end, at + rank
    return found
