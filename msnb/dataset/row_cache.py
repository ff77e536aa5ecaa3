"""`DatasetCache`: rows that were read once are kept, in memory or in a file, and not read again.

    cache = DatasetCache(1, size=100)
    data = ImageFolderDataset(folder, decode=True, cache=cache)         decoded once, in the first epoch
    data = ImageFolderDataset(folder).map(Decode(), "image", cache=cache)

MindSpore's cache is a server of its own; this one lives in the process and ends with it. A row is kept under its number
in the source, so any order of rows finds it. What is drawn at random must not be kept: map it behind the cache.

Source: https://www.mindspore.cn/tutorials/en/master/dataset/cache.html
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DatasetError, events
from msnb.dataset.pipeline.epoch_rng import Epoch, drew, row_draws
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.nodes import Node
from msnb.dataset.pipeline.rows import Array, Row, check_count, name_of
from msnb.dataset.pipeline.source_nodes import IndexedSource

_LOCAL = (None, "127.0.0.1", "localhost")
_number = itertools.count()
Key = tuple[int, int]
Kept = tuple[int, list[tuple[Any, tuple[int, ...], int]]]  # where in the file; dtype, shape and bytes of each column


@dataclass(frozen=True)
class CacheState:
    """Bytes of a kept row on average, and how many rows are in memory and in the file."""

    avg_cache_sz: int
    num_mem_cached: int
    num_disk_cached: int


class DatasetCache:
    """Keeps rows of the data sets and maps that it is given to.

    Args:
        session_id: a number from 0 on; caches of one number are nevertheless apart.
        size: megabytes of memory, 0: without limit.
        spilling: True: rows for which there is no room go to a file, which ends with the cache; False: they are read
            anew in every epoch.
        hostname, port: None, or this machine; there is no server.
        num_connections, prefetch_size: of MindSpore's server; told, and not used.

    Source: `mindspore.dataset.DatasetCache`.

    >>> from msnb.dataset import RandomDataset, Schema
    >>> schema = Schema()
    >>> schema.add_column("x", "uint8", [2])
    >>> cache = DatasetCache(1)
    >>> rows = list(RandomDataset(4, schema, cache=cache))
    >>> cache.get_stat()
    CacheState(avg_cache_sz=2, num_mem_cached=4, num_disk_cached=0)
    """

    def __init__(
        self, session_id: int, size: int = 0, spilling: bool = False, hostname: str | None = None,
        port: int | None = None, num_connections: int | None = None, prefetch_size: int | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(spilling, bool):
            raise ArgumentError(f"DatasetCache: spilling is True or False, got {spilling!r}")
        if hostname not in _LOCAL:
            raise AttributeValueError(f"DatasetCache: it lives in this process, so hostname is None, got {hostname!r}")
        for name, value in (("port", port), ("num_connections", num_connections), ("prefetch_size", prefetch_size)):
            if value is not None:
                check_count(value, f"DatasetCache: {name}")
                events.ignored(f"DatasetCache({name}=...)", "the cache lives in this process, without a server")
        self.session_id: int = check_count(session_id, "DatasetCache: session_id", least=0)
        self.size: int = check_count(size, "DatasetCache: size", least=0)
        self.spilling: bool = spilling
        self._lock = threading.Lock()
        self._memory: dict[Key, Row] = {}
        self._places: dict[Key, Kept] = {}
        self._bytes = self._spilled = 0
        self._file: IO[bytes] | None = None

    def __deepcopy__(self, memo: Any) -> DatasetCache:
        return self

    def __reduce__(self) -> tuple[type[DatasetCache], tuple[int, int, bool]]:
        return DatasetCache, (self.session_id, self.size, self.spilling)  # an empty one, in another process

    def get_stat(self) -> CacheState:
        """How much is kept."""
        with self._lock:
            rows = len(self._memory) + len(self._places)
            average = (self._bytes + self._spilled) // rows if rows else 0
            return CacheState(average, len(self._memory), len(self._places))

    def find(self, key: Key) -> Row | None:
        """A row that was kept; its arrays are the caller's own."""
        with self._lock:
            row = self._memory.get(key)
            if row is not None:
                return tuple(array.copy() for array in row)
            place = self._places.get(key)
            return None if place is None or self._file is None else _read(self._file, place)

    def keep(self, key: Key, row: Row) -> None:
        """Keep a row, if there is room."""
        if any(array.dtype.hasobject for array in row):
            return
        size = sum(array.nbytes for array in row)
        with self._lock:
            if key in self._memory or key in self._places:
                return
            if not self.size or self._bytes + size <= self.size << 20:
                self._memory[key] = tuple(array.copy() for array in row)
                self._bytes += size
            elif self.spilling:
                self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - it ends with the cache
                self._places[key] = self._file.seek(0, 2), [(a.dtype, a.shape, a.nbytes) for a in row]
                self._file.write(b"".join(array.tobytes() for array in row))
                self._spilled += size


def _read(file: IO[bytes], place: Kept) -> Row:
    start, columns = place
    file.seek(start)
    parts = [(dtype, shape, file.read(size)) for dtype, shape, size in columns]
    return tuple(np.frombuffer(content, dtype).reshape(shape).copy() for dtype, shape, content in parts)


def as_cache(what: str, cache: Any) -> DatasetCache | None:
    """The argument ``cache``: a DatasetCache, or None."""
    if cache is not None and not isinstance(cache, DatasetCache):
        raise AttributeValueError(f"{what}: cache must be a DatasetCache or None, got {type(cache).__name__}.")
    return cache


def cached(what: str, cache: Any, fetch: Callable[[int], Row]) -> Callable[[int], Row]:
    """``fetch``, which has each row once."""
    kept = as_cache(what, cache)
    if kept is None:
        return fetch
    number = next(_number)

    def found(index: int) -> Row:
        row = kept.find((number, index))
        if row is None:
            row = fetch(index)
            kept.keep((number, index), row)
        return row

    return found


class CacheSource(IndexedSource):
    """A source with the maps above it, whose rows are kept."""

    def __init__(self, source: IndexedSource, maps: Sequence[Map], cache: DatasetCache) -> None:
        epoch = Epoch.start(0, 0)

        def fetch(index: int) -> Row:
            row: Row = source.fetch(index)
            for step in maps:
                with row_draws(epoch, step.height, index):
                    row = step.joined(row, step.checked(step.called(step.operations, _taken(step, row), index), index))
                    if drew():
                        raise DatasetError(
                            f"map: {name_of(step.operations[0])} draws at random, and its rows would be the same in "
                            "every epoch", hint="map it without cache=, behind the map that has one")  # fmt: skip
            return row

        workers = max(source.workers, *(step.workers for step in maps))
        super().__init__(
            source.name, cached("map", cache, fetch), source.length, maps[-1].columns, source.sampler, workers
        )
        self._source: IndexedSource = source
        self.height: int = maps[-1].height  # what stands behind draws as it would without the cache

    def _order(self, epoch: Epoch) -> Array:
        return self._source._order(epoch)


def _taken(step: Map, row: Row) -> Row:
    return tuple(row[i] for i in step.taken)


def cached_map(node: Map, cache: DatasetCache) -> Node:
    """A map whose rows are kept.

    Raises:
        AttributeValueError: something other than maps stands between it and a source with numbered rows.
    """
    maps: list[Map] = []
    below: Node = node
    while type(below) is Map:
        maps.insert(0, below)
        below = below.parent
    if not isinstance(below, IndexedSource) or any(step.processes for step in maps):
        raise AttributeValueError(
            f"map: a cache keeps rows by their numbers in a source, and below this map stands {below.describe()}",
            hint="map with cache= right behind the source, on threads, and shuffle or batch afterwards",
        )
    return CacheSource(below, maps, cache)
