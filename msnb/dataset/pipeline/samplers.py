"""Samplers: which rows of a random-access source are read, and in which order.

A sampler maps the number of rows to a list of indices:

    SequentialSampler      0 1 2 3 4 5          RandomSampler           4 0 5 2 1 3      (new order each epoch)
    SubsetSampler([5, 2])  5 2                  DistributedSampler(2, 0)   shard 0 of one order that all shards share

`sampler.add_child(other)` feeds a sampler with the rows that `other` chose instead of with all rows.
Source: `mindspore.dataset` samplers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline import config
from msnb.dataset.pipeline.rows import Array, check_count

Labels = Callable[[str], Array]


class Sampler:
    """Base of all samplers, built-in or the user's own.

    A sampler of one's own overrides `__iter__` and yields indices; while it runs, `self.dataset_size` holds the number
    of rows. Its `num_samples`, if given, cuts the order short.

    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter(range(self.dataset_size - 1, -1, -1))
    >>> Backwards().indices(3, np.random.default_rng(0)).tolist()
    [2, 1, 0]
    """

    def __init__(self, num_samples: int | None = None) -> None:
        most = None if num_samples is None else check_count(num_samples, "num_samples", least=0) or None
        self.num_samples: int | None = most
        self.dataset_size: int = 0
        self.child: Sampler | None = None

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__ that yields row numbers")

    def add_child(self, sampler: Sampler) -> None:
        """Chooses among the rows that `sampler` chose."""
        if not isinstance(sampler, Sampler):
            raise ArgumentError(f"add_child expects a Sampler, got {type(sampler).__name__}")
        self.child = sampler

    def get_child(self) -> Sampler | None:
        """What ``add_child`` added; None: nothing."""
        return self.child

    def get_num_samples(self) -> int | None:
        """The most rows of an epoch, as this sampler and those below it were told; None: nothing was said."""
        below = None if self.child is None else self.child.get_num_samples()
        said = [n for n in (self.num_samples, below) if n is not None]
        return min(said, default=None)

    def indices(self, size: int, generator: np.random.Generator, labels: Labels | None = None) -> Array:
        """The row numbers of one epoch, in order: int64[n], each in 0..size-1."""
        if self.child is None:
            return self._checked(self._pick(size, generator, labels), size)
        below = self.child.indices(size, generator, labels)
        return below[self._checked(self._pick(len(below), generator, labels), len(below))]

    def count(self, size: int) -> int | None:
        """How many rows an epoch has, or None where only drawing tells."""
        below = size if self.child is None else self.child.count(size)
        return None if below is None else self._length(below)

    def _length(self, size: int) -> int | None:
        told = getattr(self, "__len__", None)
        return None if told is None else self._capped(told())

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        self.dataset_size = size
        order = np.array(list(self))
        if order.size and (order.ndim != 1 or order.dtype.kind not in "iu"):
            raise DatasetError(
                f"{type(self).__name__} must yield row numbers (integers), got {order.dtype} {order[:3]}"
            )
        length = self._length(size)
        if length is not None and length > len(order):
            raise DatasetError(f"{type(self).__name__} says that it has {length} row numbers, it yields {len(order)}")
        return order.astype(np.int64)[: self.num_samples if length is None else length]

    def _capped(self, length: int) -> int:
        return length if self.num_samples is None else min(length, self.num_samples)

    def _checked(self, order: Array, size: int) -> Array:
        wrong = order[(order < 0) | (order >= size)]
        if len(wrong):
            raise DatasetError(
                f"{type(self).__name__}: row {wrong[0]} is outside 0..{size - 1} (the dataset has {size} rows)"
            )
        return order


class SequentialSampler(Sampler):
    """Rows in order, from `start_index`, at most `num_samples`.

    >>> SequentialSampler(2, 3).indices(10, np.random.default_rng(0)).tolist()
    [2, 3, 4]
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start: int = 0 if start_index is None else check_count(start_index, "start_index", least=0)

    def _length(self, size: int) -> int:
        return self._capped(max(0, size - self.start))

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        return np.arange(self.start, self.start + self._length(size))


class RandomSampler(Sampler):
    """A random order, new in each epoch; with `replacement` each row is drawn on its own and may come twice.
    `shuffle`, a `Shuffle`, is for data sets of files: FILES and INFILE keep rows of a file together."""

    def __init__(self, replacement: bool = False, num_samples: int | None = None, shuffle: Any = None) -> None:
        super().__init__(num_samples)
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be True or False, got {replacement!r}")
        self.replacement = replacement
        if shuffle is not None and type(shuffle).__name__ != "Shuffle":
            raise ArgumentError(f"shuffle must be a Shuffle or None, got {shuffle!r}")
        self.shuffle: Any = shuffle

    def _length(self, size: int) -> int:
        return self.num_samples or size if self.replacement and size else self._capped(size)

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        if getattr(self.shuffle, "name", None) in ("FILES", "INFILE"):
            raise DatasetError(f"RandomSampler(shuffle={self.shuffle}) is for a data set that reads rows of files")
        if self.replacement and size:
            return generator.integers(size, size=self._length(size))
        return generator.permutation(size)[: self._length(size)]


class SubsetSampler(Sampler):
    """The rows `indices`, in that order.

    >>> SubsetSampler([4, 1]).indices(5, np.random.default_rng(0)).tolist()
    [4, 1]
    """

    def __init__(self, indices: int | Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        listed = [indices] if isinstance(indices, (int, np.integer)) else list(indices)
        self.rows: Array = np.array([check_count(i, "an index of the subset", least=0) for i in listed], dtype=np.int64)

    def _length(self, size: int) -> int:
        return self._capped(len(self.rows))

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        return self.rows[: self.num_samples]


class SubsetRandomSampler(SubsetSampler):
    """The rows `indices` in a random order, new in each epoch."""

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        return generator.permutation(self.rows)[: self.num_samples]


class WeightedRandomSampler(Sampler):
    """Row i is drawn with probability proportional to `weights[i]`; `num_samples` draws (default: one per weight).

    Rows behind the last weight are never drawn.

    Source: https://www.mindspore.cn/tutorials/en/master/dataset/sampler.html
    """

    def __init__(self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True) -> None:
        super().__init__(num_samples)
        self.weights: Any = np.asarray(weights, dtype=np.float64)
        self.replacement = replacement
        if self.weights.ndim != 1 or not len(self.weights):
            raise AttributeValueError(f"weights must be a non-empty list of numbers, got shape {self.weights.shape}")
        if not np.isfinite(self.weights).all() or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise AttributeValueError("weights must be finite, not negative and not all zero")

    def _length(self, size: int) -> int:
        wanted = self.num_samples or len(self.weights)
        return wanted if self.replacement else min(wanted, int(np.count_nonzero(self.weights)))

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        if len(self.weights) > size:
            raise DatasetError(f"WeightedRandomSampler has {len(self.weights)} weights for a dataset of {size} rows")
        probability = self.weights / self.weights.sum()
        return generator.choice(len(self.weights), self._length(size), replace=self.replacement, p=probability)


class PKSampler(Sampler):
    """P classes, K rows of each: `num_val` rows of every class in `class_column`, class by class."""

    def __init__(
        self, num_val: int, num_class: int | None = None, shuffle: bool = False, class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_samples)
        self.num_val: int = check_count(num_val, "num_val")
        self.num_class: int | None = None if num_class is None else check_count(num_class, "num_class")
        self.shuffle: bool = shuffle
        self.class_column: str = class_column

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        if labels is None:
            raise DatasetError("PKSampler needs a source whose labels can be read")
        column = labels(self.class_column)[:size]
        parts = [self._of_class(column, value, generator) for value in np.unique(column)[: self.num_class]]
        order: Array = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return (generator.permutation(order) if self.shuffle else order)[: self.num_samples]

    def _of_class(self, column: Array, value: Any, generator: np.random.Generator) -> Array:
        members = np.flatnonzero(column == value)
        if len(members) < self.num_val:
            raise DatasetError(f"PKSampler: class {value} has {len(members)} rows, num_val={self.num_val} are wanted")
        return generator.permutation(members)[: self.num_val]


class DistributedSampler(Sampler):
    """Shard `shard_id` of `num_shards`: all shards hold equally many rows, the last ones wrap around to the first.

    Every shard must draw the same order, so the order comes from the seed alone; when no seed was set it comes from
    a fixed one, since processes could not agree on a random one.

    >>> DistributedSampler(2, 1, shuffle=False).indices(5, np.random.default_rng(0)).tolist()
    [1, 3, 0]
    """

    def __init__(
        self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None, offset: int = -1
    ) -> None:
        super().__init__(num_samples)
        self.num_shards: int = check_count(num_shards, "num_shards")
        self.shard_id: int = check_count(shard_id, "shard_id", least=0)
        self.offset: int = check_count(offset, "offset", least=-1)
        self.shuffle = shuffle
        for name, value in (("shard_id", self.shard_id), ("offset", self.offset)):
            if value >= self.num_shards:
                raise AttributeValueError(f"{name} must be below num_shards={self.num_shards}, got {value}")

    def _length(self, size: int) -> int:
        return self._capped(-(-size // self.num_shards))

    def _pick(self, size: int, generator: np.random.Generator, labels: Labels | None) -> Array:
        if not size:
            return np.empty(0, np.int64)
        order = self._shared(generator).permutation(size) if self.shuffle else np.arange(size)
        shift = max(self.offset, 0)
        mine = (np.arange(-(-size // self.num_shards)) * self.num_shards + self.shard_id - shift) % size
        return order[mine][: self._length(size)]

    def _shared(self, generator: np.random.Generator) -> np.random.Generator:
        if config.get_seed() is not None:
            return generator
        sequence = generator.bit_generator.seed_seq
        key = getattr(sequence, "spawn_key", ())
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(0, spawn_key=key)))


class IterSampler(Sampler):
    """Wraps any iterable of row numbers; it is iterated anew in each epoch."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if iter(sampler) is sampler:
            raise ArgumentError(
                f"a sampler is read once per epoch, but {type(sampler).__name__} can be read only once",
                hint="pass a list, or an object whose __iter__ starts over",
            )
        self.order = sampler

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)

    def _length(self, size: int) -> int | None:
        length = getattr(self.order, "__len__", None)
        return None if length is None else self._capped(length())


def choose(
    sampler: Any, shuffle: Any, num_samples: int | None, num_shards: int | None, shard_id: int | None
) -> Sampler:
    """The sampler that a data set's arguments ask for; contradictory ones are refused."""
    # None means not given: a sampler decides alone, shards without ``shuffle`` are shuffled, and so is the whole
    if sampler is not None:
        given = {"shuffle": shuffle, "num_samples": num_samples, "num_shards": num_shards, "shard_id": shard_id}
        most = None if isinstance(sampler, Sampler) else given.pop("num_samples")
        clash = [name for name, value in given.items() if value is not None]
        if clash:
            raise AttributeValueError(
                f"sampler and {', '.join(clash)} contradict each other", hint="let the sampler do it all"
            )
        return as_sampler(sampler, most)
    if (num_shards is None) != (shard_id is None):
        raise AttributeValueError(
            f"num_shards and shard_id go together, got num_shards={num_shards}, shard_id={shard_id}"
        )
    if shuffle is not None and not isinstance(shuffle, bool):
        raise ArgumentError(f"shuffle must be True, False or None, got {shuffle!r}")
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(num_shards, shard_id, shuffle is not False, num_samples)
    return SequentialSampler(num_samples=num_samples) if shuffle is False else RandomSampler(num_samples=num_samples)


class _CountedRows:
    """Row numbers that are asked for by position."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __iter__(self) -> Iterator[int]:
        return (self.source[i] for i in range(len(self.source)))


def as_sampler(sampler: Any, num_samples: int | None = None) -> Sampler:
    """A Sampler as it is, or any iterable of row numbers wrapped as one."""
    if isinstance(sampler, Sampler):
        return sampler
    if isinstance(sampler, Iterable) and not isinstance(sampler, (str, bytes, dict)):
        return IterSampler(sampler, num_samples)
    if hasattr(type(sampler), "__getitem__") and hasattr(type(sampler), "__len__"):
        return IterSampler(_CountedRows(sampler), num_samples)
    raise ArgumentError(f"sampler must be a Sampler or an iterable of row numbers, got {type(sampler).__name__}")
