"""Randomness of a pipeline: every draw is a function of (seed, epoch, place in the chain, row), of nothing else.

    seed 7 ── epoch 3 ── pass 1 of repeat ── right branch of zip ── node 2 ── row 118
              (3)        (REPEAT, 1)         (BRANCH, 1)            (NODE, 2)  (ROW, 118)

The path is the spawn key of a NumPy SeedSequence, so two different paths give independent generators, the same path
always the same one. Threads, prefetching or a longer chain behind a node change nothing: a node's number is its
height above the sources, not its depth below the last operation.

A split must cut the same rows in every epoch, while random augmentations before it should still vary. So an epoch
carries two paths, one for order (`frozen` stops it) and one for the values drawn by transforms.

Random transforms are plain callables. While `map` runs a row it lends them that row's generator through a
thread-local slot; called by hand they draw from a process-wide generator that follows the seed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from msnb.dataset.chains.row_draws import RowDraws
from msnb.dataset.pipeline import config

_NODE, _BRANCH, _REPEAT, _ROW = 0, 1, 2, 3


@dataclass(frozen=True)
class Path:
    """A seed and the way from the epoch down to a place; names one stream of random numbers."""

    seed: int
    key: tuple[int, ...]

    def step(self, kind: int, index: int) -> Path:
        return Path(self.seed, (*self.key, kind, index))

    def generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=self.key)))


Marks = Mapping[str, tuple[int, int]]
_LOGS, _LOG = 256, 65536  # places, and entries of one place, that are remembered


class EpochProgress:
    """How many rows of its parent a node had read when it gave out a row, for nodes where only a pass can tell.

        filter   gives row 0, 1, 2 ...   having read   1, 4, 5 ... rows        log: (1, 1) (2, 4) (3, 5)

    Args:
        marks: place -> (rows given out, rows read), from a state: reading goes on there.
    """

    def __init__(self, marks: Marks | None = None) -> None:
        self.marks: dict[str, tuple[int, int]] = dict(marks or {})
        self._logs: OrderedDict[str, deque[tuple[int, int]]] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[EpochProgress], tuple[()]]:
        return EpochProgress, ()  # a worker process has no use for it

    def note(self, place: str, out: int, read: int) -> None:
        with self._lock:
            log = self._logs.get(place)
            if log is None:
                log = self._logs[place] = deque(maxlen=_LOG)
                if len(self._logs) > _LOGS:
                    self._logs.popitem(last=False)
            log.append((out, read))

    def at(self, place: str, out: int) -> tuple[int, int] | None:
        """The last entry of a place that is not behind its row `out`; what is noted now wins over the state's marks."""
        with self._lock:
            found = next((entry for entry in reversed(self._logs.get(place, ())) if entry[0] <= out), None)
        mark = self.marks.get(place)
        return mark if found is None and mark is not None and mark[0] <= out else found


@dataclass(frozen=True)
class Epoch:
    """One pass over a chain: its number, and the paths from which order and values are drawn."""

    number: int
    order: Path
    values: Path
    progress: EpochProgress = field(default_factory=EpochProgress, compare=False, repr=False)

    @classmethod
    def start(cls, seed: int, number: int, marks: Marks | None = None) -> Epoch:
        path = Path(seed, (number,))
        return cls(number, path, path, EpochProgress(marks))

    def place(self, height: int) -> str:
        """The name of a node in this epoch: the way there, and its height."""
        return ".".join(map(str, (*self.values.key[1:], height)))

    def branch(self, index: int) -> Epoch:
        return self._step(_BRANCH, index)

    def again(self, index: int) -> Epoch:
        return self._step(_REPEAT, index)

    def frozen(self, seed: int) -> Epoch:
        return replace(self, order=Path(seed, (0,)))

    def order_generator(self, height: int) -> np.random.Generator:
        return self.order.step(_NODE, height).generator()

    def _step(self, kind: int, index: int) -> Epoch:
        return Epoch(self.number, self.order.step(kind, index), self.values.step(kind, index), self.progress)


class _Slot(threading.local):
    place: tuple[Epoch, int, int] | None = None
    generator: np.random.Generator | None = None


class _Loose:
    """The generator for transforms called outside a pipeline; restarts when the seed is set again."""

    def __init__(self) -> None:
        self.mark: object = None
        self.generator = np.random.default_rng()

    def get(self) -> np.random.Generator:
        mark = config.seed_mark()
        if mark != self.mark:
            self.mark = mark
            self.generator = Path(config.effective_seed(), (0,)).generator()
        return self.generator


_slot = _Slot()
_loose = _Loose()


def row_path(epoch: Epoch, height: int, row: int) -> Path:
    """What is drawn for a row by the node of this height."""
    return epoch.values.step(_NODE, height).step(_ROW, row)


def many_draws(epoch: Epoch, height: int, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> RowDraws:
    """The draws of many rows at once; each row's are those of its `row_draws`, from the first on."""
    path = epoch.values.step(_NODE, height)
    return RowDraws(path.seed, (*path.key, _ROW), rows)


class row_draws:
    """While inside, `draws()` on this thread gives the generator of this row.

    Args:
        epoch, height, row: as `row_path` takes them. The path is made when something is drawn: most rows draw nothing.
    """

    __slots__ = ("before", "place")

    def __init__(self, epoch: Epoch, height: int, row: int) -> None:
        self.place: tuple[Epoch, int, int] = epoch, height, row

    def __enter__(self) -> None:
        self.before = _slot.place, _slot.generator
        _slot.place, _slot.generator = self.place, None

    def __exit__(self, *_: object) -> None:
        _slot.place, _slot.generator = self.before


def drew() -> bool:
    """True if something was drawn for the row that this thread is in."""
    return _slot.generator is not None


def draws() -> np.random.Generator:
    """The generator a random transform must use: the row's inside `map`, else the process-wide one.

    >>> from msnb.dataset import config
    >>> config.set_seed(1)
    >>> a = draws().random(); config.set_seed(1); bool(draws().random() == a)
    True
    """
    if _slot.place is None:
        return _loose.get()
    if _slot.generator is None:
        _slot.generator = row_path(*_slot.place).generator()
    return _slot.generator
