"""One description of any data set that lies in files: a `Table`, and the data sets that read one.

    Table(columns   ("image", "label"),
          rows      [(path, 0), (path, 0), (path, 1) ...]       what is known of each row before it is read
          read      (path, label) -> (uint8[n], uint32[]))      its arrays
          parts     [2, 1]                                      rows of each file, for Shuffle.FILES

A class of a layout is a function from its folder and arguments to a table; order, shards, samplers and threads are
the same for all and stand here once. `columns_of` reads a table whose arrays are in memory.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.bounded_reader import read_file, read_text
from msnb.dataset.pipeline.dataset import Dataset, workers_of
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.pipeline.samplers import DistributedSampler, Labels, Sampler, choose
from msnb.dataset.pipeline.source_nodes import IndexedSource
from msnb.dataset.row_cache import cached
from msnb.dataset.sources.tables.record_file import RecordFile, refusal
from msnb.dataset.vision.decode import decoded

Name = str | os.PathLike[str]


class Shuffle(enum.Enum):
    """What is shuffled: all rows, only the order of files, or only the rows within each file."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"


Order = bool | Shuffle | None


@dataclass(frozen=True)
class Table:
    """A data set before it is read: see the head of this file."""

    columns: Sequence[str]
    rows: Sequence[Any]
    read: Callable[[Any], Row]
    parts: Sequence[int] = ()


@dataclass(frozen=True)
class RowChoice:
    """Which rows, and in which order: the arguments that all data sets have in common."""

    num_samples: int | None = None
    num_parallel_workers: int | None = None
    shuffle: Order = None
    sampler: Any = None
    num_shards: int | None = None
    shard_id: int | None = None
    cache: Any = None

    def order(self, parts: Sequence[int]) -> Sampler:
        """The sampler that they ask for; `parts`: how many rows each file has."""
        shuffle = self.shuffle
        if shuffle in (Shuffle.FILES, Shuffle.INFILE):
            choose(self.sampler, None, self.num_samples, self.num_shards, self.shard_id)
            if self.sampler is not None:
                raise AttributeValueError("sampler and shuffle contradict each other", hint="let the sampler do it all")
            return FileSampler(parts, shuffle is Shuffle.FILES, self.num_shards, self.shard_id, self.num_samples)
        if shuffle is Shuffle.GLOBAL:
            shuffle = True
        if shuffle is not None and not isinstance(shuffle, bool):
            raise ArgumentError(f"shuffle must be True, False, None or a Shuffle, got {shuffle!r}")
        return choose(self.sampler, shuffle, self.num_samples, self.num_shards, self.shard_id)


class FileSampler(DistributedSampler):
    """Files in a new order and rows as they stand (``whole``), or files as they stand and rows of each in a new order.

    Args:
        parts: how many rows each file has. whole: which of the two. num_shards, shard_id, num_samples: as elsewhere.
    """

    def __init__(
        self, parts: Sequence[int], whole: bool, num_shards: int | None, shard_id: int | None, num_samples: int | None
    ) -> None:
        super().__init__(num_shards or 1, shard_id or 0, False, num_samples)
        self.parts: Any = np.asarray(parts, np.int64)
        self.whole: bool = whole

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        drawn = self._shared(generator) if self.num_shards > 1 else generator
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.parts)])
        files = [np.arange(a, b) for a, b in zip(starts[:-1], starts[1:])]
        if self.whole:
            files = [files[i] for i in drawn.permutation(len(files))]
        else:
            files = [drawn.permutation(rows) for rows in files]
        order: Array = np.concatenate(files) if files else np.zeros(0, np.int64)
        return order[super()._pick(size, generator, labels)]


class TableDataset(Dataset):
    """A data set over a `Table`.

    Args:
        table: its rows. choice: which of them.
    """

    def __init__(self, table: Table, choice: RowChoice) -> None:
        name = type(self).__name__
        rows, read = table.rows, table.read
        order = choice.order(table.parts or [len(rows)])
        workers = workers_of(choice.num_parallel_workers)

        def fetch(index: int) -> Row:
            return read(rows[index])

        kept = cached(name, choice.cache, fetch)
        super().__init__(IndexedSource(name, kept, lambda: len(rows), tuple(table.columns), order, workers))


# ---- what layouts are made of --------------------------------------------------------------------------------------


def folder_of(name: str, folder: Name) -> Path:
    """The folder of a data set, which must be there."""
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"{name}: {str(path)!r} is not a folder")
    return path


def file_in(name: str, folder: Path, *parts: str) -> Path:
    """A file of a data set, which must be there."""
    path = folder.joinpath(*parts)
    if not path.is_file():
        place = path.parent if path.parent.is_dir() else folder
        present = sorted(entry.name for entry in place.iterdir())[:10]
        raise FileNotFoundError(
            f"{name}: {'/'.join(parts)} is missing in {str(folder)!r}; {place.name} holds {present}"
        )
    return path


def chosen(name: str, argument: str, value: Any, legal: Sequence[str], default: str) -> str:
    """An argument that is one of a few words; None is the default."""
    wanted = default if value is None else value
    if wanted not in legal:
        raise AttributeValueError(f"{name}: {argument} must be one of {list(legal)}, got {value!r}")
    return str(wanted)


def text(value: Any) -> Array:
    """A string as an array."""
    return np.array(str(value))


def number(value: Any, dtype: Any = np.uint32) -> Array:
    """A number as an array."""
    return np.array(value, dtype)


def picture(name: str, path: Path, decode: bool) -> Array:
    """The bytes of a picture's file, uint8[n], or its pixels uint8[h,w,3]."""
    try:
        content = np.frombuffer(read_file(path, refusal(name, path)), np.uint8)
    except FileNotFoundError:
        raise DatasetError(f"{name}: the picture {str(path)!r} is missing.") from None
    return decoded(content, str(path)) if decode else content


def words_of(name: str, path: Path, most: int = 256 << 20) -> list[str]:
    """The lines of a list, blanks cut off, empty ones left out."""
    lines = (line.strip() for line in read_text(path, refusal(name, path), most).splitlines())
    return [line for line in lines if line]


def pictures_in(folder: Path, endings: Sequence[str] = (".jpg", ".jpeg", ".png", ".bmp")) -> list[Path]:
    """The pictures directly in a folder, in alphabetical order."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in endings)


def folders_in(folder: Path) -> list[Path]:
    """The folders directly in a folder, in alphabetical order."""
    return sorted(p for p in folder.iterdir() if p.is_dir())


def inner(name: str, folder: Path, relative: str) -> Path:
    """A path that a list in a data set names, which must not lead out of its folder."""
    path = folder / relative
    if "\0" in relative or not path.resolve().is_relative_to(folder.resolve()):
        raise DatasetError(f"{name}: a list names {relative!r}, which leads out of {str(folder)!r}.")
    return path


Place = tuple[RecordFile, int]


def records(files: Sequence[RecordFile]) -> tuple[Sequence[Place], list[int]]:
    """All records of several files in a row, and how many each has."""
    return RecordPlaces(files), [len(file) for file in files]


class RecordPlaces(Sequence[Place]):
    """(file, number) of every record; a list of them would be as long as the files."""

    def __init__(self, files: Sequence[RecordFile]) -> None:
        self.files: list[RecordFile] = list(files)
        self.ends: Any = np.cumsum([len(file) for file in files], dtype=np.int64)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        at = int(np.searchsorted(self.ends, index, "right"))
        return self.files[at], int(index - (self.ends[at - 1] if at else 0))
