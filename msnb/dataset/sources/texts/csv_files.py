"""Rows of comma separated values: `CSVDataset`, and the text corpora that are published in such files.

A line break inside quotes belongs to its field. Each field is a string, unless a default says that it is a number.
Source: RFC 4180; the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline.rows import Array, Row, as_columns
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.families import SentencesDataset, TextsDataset, UsageDataset
from msnb.dataset.sources.tables.file_parts import Name, file_in, text
from msnb.dataset.sources.tables.record_file import RecordFile, refusal
from msnb.dataset.sources.tables.table_source import Order, Place, RowChoice, Table, TableDataset, records, say_in_full
from msnb.dataset.sources.texts.line_files import listed_files

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "CSVDataset", "DBpediaDataset", "SogouNewsDataset", "YahooAnswersDataset",
    "YelpReviewDataset",
]  # fmt: skip

Convert = Callable[[str], Array]


def fields(place: Place, delimiter: str, count: int | None) -> list[str]:
    """The fields of a record, as many as there are columns."""
    file, index = place
    refuse = refusal(file.name, file.path, index)
    try:
        found = next(csv.reader([file.record(index)], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise refuse(f"it is no row of fields: {error}") from None
    if count is not None and len(found) != count:
        raise refuse(f"it has {len(found)} fields, and there are {count} columns")
    return found


class CSVDataset(TableDataset):
    """The rows of CSV files.

    Args:
        dataset_files: a file, a pattern such as "*.csv", or a list of these.
        field_delim: one character between fields.
        column_defaults: a value for each column, which stands for empty fields and says its type: a str, an int
            (int32) or a float (float32). Default: all are strings.
        column_names: default: the fields of the first line of each file, which then is no row.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.CSVDataset`.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "a.csv")
    >>> size = path.write_text("1,a\\n2,b\\n")
    >>> data = CSVDataset(path, column_defaults=[0, ""], column_names=["n", "word"], shuffle=False)
    >>> [(int(n), str(w)) for n, w in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    [(1, 'a'), (2, 'b')]
    """

    def __init__(
        self, dataset_files: Name | Sequence[Name], field_delim: str = ",",
        column_defaults: Sequence[Any] | None = None, column_names: Sequence[str] | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        if not isinstance(field_delim, str) or len(field_delim) != 1 or field_delim in '"\r\n':
            raise AttributeValueError(
                f"{name}: field_delim is one character, no quote and no line break, got {field_delim!r}"
            )
        files = [RecordFile(name, file, "quoted") for file in listed_files(name, dataset_files)]
        columns = as_columns(column_names, "column_names")
        skipped = not columns
        if skipped:
            columns = _titles(files, field_delim)
        converts = _converts(name, column_defaults, len(columns))
        rows, parts = records(files)
        if skipped:
            firsts = np.cumsum([0, *parts[:-1]])
            keep = np.delete(np.arange(sum(parts)), firsts)
            rows, parts = _EntryChoice(rows, keep), [part - 1 for part in parts]

        def read(place: Place) -> Row:
            found = fields(place, field_delim, len(columns))
            try:
                return tuple(convert(field) for convert, field in zip(converts, found))
            except (ValueError, OverflowError) as error:
                file, index = place
                raise refusal(name, file.path, index)(f"a field is of another type than its default: {error}") from None

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        super().__init__(Table(columns, rows, read, parts), choice)


class _EntryChoice(Sequence[Any]):
    """Some entries of a sequence."""

    def __init__(self, entries: Sequence[Any], keep: Array) -> None:
        self.entries, self.keep = entries, keep

    def __len__(self) -> int:
        return len(self.keep)

    def __getitem__(self, index: Any) -> Any:
        return self.entries[int(self.keep[index])]


def _titles(files: Sequence[RecordFile], delimiter: str) -> tuple[str, ...]:
    """The column names in the first line of every file, which must be the same in all."""
    found = []
    for file in files:
        if not len(file):
            raise refusal(file.name, file.path)("it is empty, and its first line should name the columns")
        found.append(fields((file, 0), delimiter, None))
        if found[-1] != found[0]:
            raise refusal(file.name, file.path)(f"its first line names {found[-1]}, others name {found[0]}")
    return as_columns(found[0], "the first line")


def _converts(name: str, defaults: Sequence[Any] | None, count: int) -> list[Convert]:
    if defaults is None:
        return [text] * count
    if len(defaults) != count:
        raise AttributeValueError(f"{name}: column_defaults has {len(defaults)} entries for {count} columns")
    return [_convert(name, value) for value in defaults]


def _convert(name: str, default: Any) -> Convert:
    if isinstance(default, bool) or not isinstance(default, (str, int, float)):
        raise ArgumentError(f"{name}: a default is a str, an int or a float, got {default!r}")
    if isinstance(default, str):
        return lambda field: text(field or default)
    dtype, parse = (np.int32, int) if isinstance(default, int) else (np.float32, float)
    return lambda field: np.array(parse(field) if field else default, dtype)


# ---- corpora in such files ----


_BRIEF = "dataset_dir, usage: as of every corpus of CSV files."
_FULL = """dataset_dir: the folder with train.csv and test.csv. usage: "train", "test" or "all" (default)."""


class _Corpus(UsageDataset):
    """A row of a file train.csv or test.csv is a row; all columns are text."""

    columns: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        say_in_full(cls, _BRIEF, _FULL)

    def table(self, folder: Path, usage: str) -> Table:
        name, count = type(self).__name__, len(self.columns)
        files = [RecordFile(name, file_in(name, folder, f"{part}.csv"), "quoted") for part in self.parts(usage)]
        rows, parts = records(files)
        return Table(self.columns, rows, lambda place: tuple(map(text, fields(place, ",", count))), parts)


class AGNewsDataset(_Corpus, TextsDataset):
    """News in four classes: columns index, title and description, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.AGNewsDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("index", "title", "description")


class AmazonReviewDataset(_Corpus, TextsDataset):
    """Reviews of products: columns label, title and content, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.AmazonReviewDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("label", "title", "content")


class DBpediaDataset(_Corpus, TextsDataset):
    """Entries of an encyclopedia in 14 classes: columns class, title and content, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.DBpediaDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("class", "title", "content")


class YahooAnswersDataset(_Corpus, TextsDataset):
    """Questions in ten topics: columns class, title, content and answer, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.YahooAnswersDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("class", "title", "content", "answer")


class YelpReviewDataset(_Corpus, SentencesDataset):
    """Reviews of places: columns label and text, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.YelpReviewDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("label", "text")


class SogouNewsDataset(_Corpus, SentencesDataset):
    """Chinese news in five classes: columns index, title and content, all text.

    Args:
        dataset_dir, usage: as of every corpus of CSV files.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.SogouNewsDataset`.
    """

    columns: ClassVar[tuple[str, ...]] = ("index", "title", "content")
