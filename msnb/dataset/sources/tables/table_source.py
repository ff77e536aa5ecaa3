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
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Array, Dataset, IndexedSource, Row, Sampler, choose, workers_of
from msnb.dataset.pipeline.samplers import DistributedSampler, Labels, RandomSampler
from msnb.dataset.row_cache import cached
from msnb.dataset.sources.tables.record_file import RecordFile

_BRIEF = "num_samples and the others: as of every data set."
_FULL = """num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; None and
        True shuffle, and so does Shuffle.GLOBAL; Shuffle.FILES shuffles whole files only.
    cache: a DatasetCache keeps the rows; None: the system keeps files that were read in memory.

Raises:
    FileNotFoundError: the folder or a file is missing. ValueError: an illegal argument.
    DatasetError: a file is damaged; it names the file and the row."""


def say_in_full(kind: type, brief: str, full: str) -> None:
    """Put what many docstrings say alike in place of the line that stands for it."""
    if kind.__doc__ and brief in kind.__doc__:
        kind.__doc__ = inspect.cleandoc(kind.__doc__).replace(brief, full)


class Shuffle(enum.Enum):
    """What is shuffled: all rows (also by MindSpore's names for many rows, ADAPTIVE and PARTIAL), only the order of
    files, or only the rows within each file."""

    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"


Order = bool | Shuffle | None
_OF_FILES = (Shuffle.FILES, Shuffle.INFILE)


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
        if isinstance(self.sampler, RandomSampler) and self.sampler.shuffle in _OF_FILES:
            choose(self.sampler, shuffle, self.num_samples, self.num_shards, self.shard_id)
            return FileSampler(parts, self.sampler.shuffle is Shuffle.FILES, None, None, self.sampler.num_samples)
        if shuffle in _OF_FILES:
            choose(self.sampler, None, self.num_samples, self.num_shards, self.shard_id)
            if self.sampler is not None:
                raise AttributeValueError("sampler and shuffle contradict each other", hint="let the sampler do it all")
            return FileSampler(parts, shuffle is Shuffle.FILES, self.num_shards, self.shard_id, self.num_samples)
        if isinstance(shuffle, Shuffle):
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The arguments that all data sets have in common are explained here once."""
        super().__init_subclass__(**kwargs)
        say_in_full(cls, _BRIEF, _FULL)

    def __init__(self, table: Table, choice: RowChoice) -> None:
        name = type(self).__name__
        rows, read = table.rows, table.read
        order = choice.order(table.parts or [len(rows)])
        workers = workers_of(choice.num_parallel_workers)

        def fetch(index: int) -> Row:
            return read(rows[index])

        kept = cached(name, choice.cache, fetch)
        super().__init__(IndexedSource(name, kept, lambda: len(rows), tuple(table.columns), order, workers))


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
