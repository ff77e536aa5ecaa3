"""Families of data sets whose arguments are the same: a class of a family says only how its table is made.

MindSpore orders the arguments of its data sets in a few ways; each way is a class here, so that positional arguments
mean what they mean there.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.tables.file_parts import Name, chosen, folder_of
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset


class UsageDataset(TableDataset):
    """A data set with parts such as train and test; subclasses define `usages` and `table(folder, usage)`."""

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "all")
    default: ClassVar[str] = "all"

    def table(self, folder: Any, usage: str) -> Table:
        """The rows of one usage."""
        raise NotImplementedError(f"{type(self).__name__} must define table(folder, usage)")

    def _begin(self, dataset_dir: Name, usage: str | None, choice: RowChoice) -> None:
        name = type(self).__name__
        wanted = chosen(name, "usage", usage, self.usages, self.default)
        super().__init__(self.table(folder_of(name, dataset_dir), wanted), choice)

    def parts(self, usage: str, every: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The parts that a usage stands for: "all" is all of them."""
        return (every or tuple(u for u in self.usages if u != "all")) if usage == "all" else (usage,)


class TextsDataset(UsageDataset):
    """Arguments of most data sets of text."""

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = True, num_shards: int | None = None,
        shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        self._begin(dataset_dir, usage, choice)


class SentencesDataset(UsageDataset):
    """Arguments of the other data sets of text: the workers come last."""

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, num_samples: int | None = None, shuffle: Order = True,
        num_shards: int | None = None, shard_id: int | None = None, num_parallel_workers: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id, cache)
        self._begin(dataset_dir, usage, choice)


class SampledDataset(UsageDataset):
    """Arguments of data sets with a usage and a sampler."""

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self._begin(dataset_dir, usage, choice)


class WholeDataset(TableDataset):
    """Arguments of data sets that have no parts; subclasses define `table(folder)`."""

    def __init__(
        self, dataset_dir: Name, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Order = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(self.table(folder_of(type(self).__name__, dataset_dir)), choice)

    def table(self, folder: Any) -> Table:
        """All rows."""
        raise NotImplementedError(f"{type(self).__name__} must define table(folder)")


class PicturesDataset(UsageDataset):
    """Arguments of data sets of pictures with a usage, which may be decoded at once."""

    def __init__(
        self, dataset_dir: Name, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        self.decode: bool = decode
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        self._begin(dataset_dir, usage, choice)


class WholePicturesDataset(TableDataset):
    """Arguments of data sets of pictures that have no parts; subclasses define `table(folder)`."""

    def __init__(
        self, dataset_dir: Name, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Order = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: DatasetCache | None = None,
    ) -> None:  # fmt: skip
        self.decode: bool = decode
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(self.table(folder_of(type(self).__name__, dataset_dir)), choice)

    def table(self, folder: Any) -> Table:
        """All rows."""
        raise NotImplementedError(f"{type(self).__name__} must define table(folder)")
