"""Data sets whose row is a line of a text file, or a pair of lines of two.

    TextFileDataset    any files            WikiText, PennTreebank, EnWik9    files of known names
    Multi30kDataset    line i of train.en and line i of train.de

Source: the pages of these classes in `mindspore.dataset`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline.rows import Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.families import TextsDataset
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, folder_of, text
from msnb.dataset.sources.tables.record_file import RecordFile
from msnb.dataset.sources.tables.table_source import Order, Place, RowChoice, Table, TableDataset, records

__all__ = ["EnWik9Dataset", "Multi30kDataset", "PennTreebankDataset", "TextFileDataset", "WikiTextDataset"]


def listed_files(name: str, files: Name | Sequence[Name]) -> list[Path]:
    """The files that an argument names: one, a pattern, or a list of these; patterns in alphabetical order."""
    if not isinstance(files, (str, os.PathLike, list, tuple)):
        raise ArgumentError(f"{name}: dataset_files is a file, a pattern or a list of these, got {files!r}")
    patterns = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    found: list[Path] = []
    for pattern in patterns:
        there = [str(pattern)] if os.path.exists(pattern) else sorted(glob.glob(str(pattern)))
        if not there:
            raise FileNotFoundError(f"{name}: there is no file {str(pattern)!r}")
        found += map(Path, there)
    if not found:
        raise AttributeValueError(f"{name}: the list of files is empty.")
    return found


def line_table(name: str, files: Sequence[Path]) -> Table:
    """One column text, a row per line."""
    rows, parts = records([RecordFile(name, file) for file in files])
    return Table(("text",), rows, _line, parts)


def _line(place: Place) -> Row:
    file, index = place
    return (text(file.record(index)),)


class TextFileDataset(TableDataset):
    """Column text: the lines of files, empty ones left out.

    Args:
        dataset_files: a file, a pattern such as "*.txt", or a list of these.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.TextFileDataset`.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "a.txt")
    >>> size = path.write_text("one\\n\\ntwo\\n")
    >>> [str(t) for (t,) in TextFileDataset(path, shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True)]
    ['one', 'two']
    """

    def __init__(
        self, dataset_files: Name | Sequence[Name], num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = True, num_shards: int | None = None,
        shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        name = type(self).__name__
        super().__init__(line_table(name, listed_files(name, dataset_files)), choice)


class _Lines(TextsDataset):
    """Lines of files whose names have the usage in them."""

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "valid", "all")
    pattern: ClassVar[str]

    def table(self, folder: Path, usage: str) -> Table:
        name = type(self).__name__
        return line_table(name, [file_in(name, folder, self.pattern.format(part)) for part in self.parts(usage)])


class WikiTextDataset(_Lines):
    """WikiText-2 or WikiText-103: column text, the lines of wiki.train.tokens and its siblings.

    Args:
        dataset_dir: the folder. usage: "train", "test", "valid" or "all" (default).
        num_samples and the others: as of every data set.

    Source: Merity et al. 2016 (arXiv:1609.07843); `mindspore.dataset.WikiTextDataset`.
    """

    pattern: ClassVar[str] = "wiki.{}.tokens"


class PennTreebankDataset(_Lines):
    """Penn Treebank: column text, the lines of ptb.train.txt and its siblings.

    Args:
        dataset_dir: the folder. usage: "train", "test", "valid" or "all" (default).
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.PennTreebankDataset`.
    """

    pattern: ClassVar[str] = "ptb.{}.txt"


class EnWik9Dataset(TableDataset):
    """Column text: the lines of the first 10^9 bytes of the English Wikipedia, in a file enwik9.

    Args:
        dataset_dir: its folder.
        num_samples and the others: as of every data set.

    Source: `mindspore.dataset.EnWik9Dataset`.
    """

    def __init__(
        self, dataset_dir: Name, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Order = True, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        name = type(self).__name__
        super().__init__(line_table(name, [file_in(name, folder_of(name, dataset_dir), "enwik9")]), choice)


class Multi30kDataset(TableDataset):
    """Columns text and translation: sentences in two languages.

    Args:
        dataset_dir: the folder with training, validation and mmt16_task1_test.
        usage: "train", "test", "valid" or "all" (default).
        language_pair: ("en", "de") (default) or ("de", "en").
        num_samples and the others: as of every data set.

    Source: Elliott et al. 2016; `mindspore.dataset.Multi30kDataset`.
    """

    places: ClassVar[dict[str, str]] = {
        "train": "training/train", "test": "mmt16_task1_test/test", "valid": "validation/val"
    }  # fmt: skip

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, language_pair: Sequence[str] | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Order = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        wanted = chosen(name, "usage", usage, (*self.places, "all"), "all")
        pair = tuple(language_pair or ("en", "de"))
        if pair not in (("en", "de"), ("de", "en")):
            raise AttributeValueError(f"{name}: language_pair is ('en', 'de') or ('de', 'en'), got {language_pair!r}")
        folder = folder_of(name, dataset_dir)
        stems = [self._stem(folder, p) for p in self.places if wanted in (p, "all")]
        sides = [[RecordFile(name, file_in(name, folder, f"{stem}.{side}")) for stem in stems] for side in pair]
        for first, second in zip(*sides):
            if len(first) != len(second):
                raise DatasetError(
                    f"{name}: {first.path.name} has {len(first)} lines, {second.path.name} {len(second)}."
                )
        rows, parts = records(sides[0])
        others = dict(zip(map(id, sides[0]), sides[1]))

        def read(place: Place) -> Row:
            file, index = place
            return text(file.record(index)), text(others[id(file)].record(index))

        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        super().__init__(Table(("text", "translation"), rows, read, parts), choice)

    def _stem(self, folder: Path, part: str) -> str:
        """MindSpore's page calls the files of the test val, the archive calls them test."""
        stem = self.places[part]
        old = stem.replace("/test", "/val")
        return old if (folder / f"{old}.en").is_file() and part == "test" else stem
