"""Who reads MindRecord files: `MindDataset` in a chain, `FileReader` row by row, `MindPage` by category."""

from __future__ import annotations

import bisect
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.dataset.pipeline import Array, Dataset, IndexedSource, Row, as_columns, check_count, positions, workers_of
from msnb.dataset.pipeline.dataset import register_writer
from msnb.dataset.row_cache import DatasetCache, cached
from msnb.dataset.sources.mindrecord.file_writer import save
from msnb.dataset.sources.mindrecord.page_file import PageFile, opened
from msnb.dataset.sources.tables.table_source import Order, RowChoice

Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class _Files:
    """Files that are read as one."""

    def __init__(self, owner: str, names: Names) -> None:
        self.files: list[PageFile] = opened(owner, names)
        self.first: PageFile = self.files[0]
        self.ends: list[int] = list(itertools.accumulate(file.rows for file in self.files))

    def __len__(self) -> int:
        return self.ends[-1]

    def row(self, index: int, columns: Sequence[str] | None = None) -> dict[str, Any]:
        at = bisect.bisect_right(self.ends, index)
        return self.files[at].row(index - (self.ends[at - 1] if at else 0), columns)


class MindDataset(Dataset):
    """The rows of MindRecord files; columns of bytes are uint8[n].

    Args:
        dataset_files: one file (and with it all its shards), or a list of files.
        columns_list: which columns, in this order; default: all.
        num_parallel_workers, shuffle, num_shards, shard_id, sampler, num_samples: as in GeneratorDataset; None and
            True shuffle, a `Shuffle` shuffles files, or rows within each.
        cache: a DatasetCache, or None.
        padded_sample, num_padded: a dict with the columns of a row, and how often it follows the rows of the files,
            so that `num_shards` divides the number of all.

    Raises:
        FileNotFoundError: a file is missing. DatasetError: it is of another kind, or damaged. ValueError: one of
        padded_sample and num_padded alone, a column that the sample lacks, a number that num_shards does not divide.

    Source: `mindspore.dataset.MindDataset`.
    """

    def __init__(
        self, dataset_files: Names, columns_list: Sequence[str] | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, num_shards: int | None = None,
        shard_id: int | None = None, sampler: Any = None, padded_sample: Mapping[str, Any] | None = None,
        num_padded: int | None = None, num_samples: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        if (padded_sample is None) != (num_padded is None):
            raise AttributeValueError("MindDataset: padded_sample and num_padded go together.")
        padding, more = padded_sample or {}, check_count(num_padded or 0, "num_padded", least=0)
        files = _Files("MindDataset", dataset_files)
        if more and (len(files) + more) % (num_shards or 1):
            raise AttributeValueError(f"num_shards={num_shards} does not divide {len(files)} + num_padded={more} rows.")
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        order = choice.order([*(file.rows for file in files.files), *[more] * (more > 0)])
        schema = files.first.schema
        names = as_columns(columns_list, "columns_list") or tuple(sorted(schema))
        positions(names, tuple(schema), "columns_list")
        positions(names, tuple(padding) if padding else names, "padded_sample")

        def fetch(index: int) -> Row:
            values = files.row(index, names) if index < len(files) else padding
            return tuple(_array(values[name], schema[name]["type"]) for name in names)

        workers = workers_of(num_parallel_workers)
        super().__init__(
            IndexedSource(
                "MindDataset", cached("MindDataset", cache, fetch), lambda: len(files) + more, names, order, workers
            )
        )


def _array(value: Any, kind: str) -> Array:
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8).copy()
    return np.array(value) if kind == "string" else np.array(value, kind)


class FileReader:
    """Reads MindRecord files row by row.

    Args:
        file_name: one file (and with it all its shards), or a list of files.
        num_consumer: at least 1; rows are read by one thread.
        columns: which columns; default: all.
        operator: None.

    Source: `mindspore.mindrecord.FileReader`.

    Examples:
        >>> import tempfile
        >>> from msnb.mindrecord import FileReader, FileWriter
        >>> folder = tempfile.TemporaryDirectory()
        >>> writer = FileWriter(f"{folder.name}/a.mindrecord")
        >>> writer.add_schema({"label": {"type": "int32"}, "data": {"type": "bytes"}})
        >>> writer.write_raw_data([{"label": 3, "data": b"xyz"}])
        >>> writer.commit()
        >>> list(FileReader(f"{folder.name}/a.mindrecord").get_next())
        [{'label': 3, 'data': b'xyz'}]
        >>> folder.cleanup()
    """

    def __init__(
        self, file_name: Names, num_consumer: int = 4, columns: list[str] | None = None, operator: None = None
    ) -> None:
        check_count(num_consumer, "num_consumer")
        if operator is not None:
            raise AttributeValueError("FileReader takes no operator; a chain over MindDataset has operations.")
        files = _Files("FileReader", file_name)
        self._columns = as_columns(columns, "columns") or None
        positions(self._columns or (), tuple(files.first.schema), "columns")
        self._files: _Files | None = files

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, as dicts of numbers, texts, bytes and arrays."""
        files = self._opened()
        for index in range(len(files)):
            yield files.row(index, self._columns)

    def schema(self) -> dict[str, Any]:
        """The columns, with their types and shapes."""
        return {name: dict(entry) for name, entry in self._opened().first.schema.items()}

    def len(self) -> int:
        """How many rows there are."""
        return len(self._opened())

    def close(self) -> None:
        """Close the files; nothing can be read afterwards."""
        self._files = None

    def _opened(self) -> _Files:
        if self._files is None:
            raise AttributeValueError("FileReader: it was closed; open the files again.")
        return self._files


class MindPage:
    """Reads rows of MindRecord files by category, a page at a time.

    Args:
        file_name: one file (and with it all its shards), or a list of files.
        num_consumer: at least 1; rows are read by one thread.

    Source: `mindspore.mindrecord.MindPage`.

    Examples:
        >>> import tempfile
        >>> from msnb.mindrecord import FileWriter, MindPage
        >>> folder = tempfile.TemporaryDirectory()
        >>> writer = FileWriter(f"{folder.name}/a.mindrecord")
        >>> writer.add_schema({"label": {"type": "int32"}})
        >>> writer.write_raw_data([{"label": i % 2} for i in range(3)])
        >>> writer.commit()
        >>> pages = MindPage(f"{folder.name}/a.mindrecord")
        >>> pages.category_field = "label"
        >>> pages.read_category_info()
        '{"categories":[{"count":2,"id":0,"name":"0"},{"count":1,"id":1,"name":"1"}],"key":"label_0"}'
        >>> pages.read_at_page_by_name("0", 0, 10)
        [{'label': 0}, {'label': 0}]
        >>> folder.cleanup()
    """

    def __init__(self, file_name: Names, num_consumer: int = 4) -> None:
        check_count(num_consumer, "num_consumer")
        self._files = _Files("MindPage", file_name)
        self._field: str | None = None
        self._rows: dict[Any, list[int]] = {}

    @property
    def candidate_fields(self) -> list[str]:
        """The columns of the index."""
        return list(self._files.first.index_fields)

    @property
    def category_field(self) -> str | None:
        """The column whose values are the categories."""
        return self._field

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        positions((category_field,), tuple(self.candidate_fields), "category_field")
        found: dict[Any, list[int]] = {}
        for index in range(len(self._files)):
            found.setdefault(self._files.row(index, [category_field])[category_field], []).append(index)
        self._field, self._rows = category_field, {value: found[value] for value in sorted(found, key=str)}

    def read_category_info(self) -> str:
        """JSON: of the categories (in order of their names): number, name, how many rows."""
        rows = self._chosen()
        listed = [{"count": len(r), "id": i, "name": str(value)} for i, (value, r) in enumerate(rows.items())]
        info = {"categories": listed, "key": f"{self._field}_0"}
        return json.dumps(info, separators=(",", ":"), ensure_ascii=False)

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict[str, Any]]:
        """A page of a category, by the number that `read_category_info` gives it."""
        listed = list(self._chosen().values())
        if check_count(category_id, "category_id", least=0) >= len(listed):
            raise AttributeValueError(f"MindPage: there is no category {category_id}, only {len(listed)} of them")
        return self._page(listed[category_id], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int, num_row: int) -> list[dict[str, Any]]:
        """A page of a category, by its name."""
        named = {str(value): rows for value, rows in self._chosen().items()}
        if category_name not in named:
            raise AttributeValueError(f"MindPage: there is no category {category_name!r}; known: {list(named)[:20]}")
        return self._page(named[category_name], page, num_row)

    def _chosen(self) -> dict[Any, list[int]]:
        if self._field is None:
            raise AttributeValueError(f"MindPage: set category_field first, to one of {self.candidate_fields}")
        return self._rows

    def _page(self, rows: list[int], page: int, num_row: int) -> list[dict[str, Any]]:
        start = check_count(page, "page", least=0) * check_count(num_row, "num_row")
        if start >= len(rows):
            raise AttributeValueError(
                f"MindPage: page {page} of {num_row} rows is behind the {len(rows)} rows there are"
            )
        return [self._files.row(index) for index in rows[start : start + num_row]]


register_writer("mindrecord", save)
