"""Ranks that each run a program of their own in this process, one thread per rank, and meet where programs talk.

    rank 0   ... all_reduce(g) |------------------+
    rank 1   ...... all_reduce(g) |---------------+-> the last one that comes does it for all
    rank 2   ............ all_reduce(g) |---------+

Programs that place their own collectives may differ from rank to rank, so nobody knows beforehand who meets whom. A
rank says what it wants and waits; the call is done when every rank of its group wants the same. When all ranks wait or
have ended and no call can be done, they would wait for ever: each gets an error that says what everybody waits for.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from msnb.base import DeviceError
from msnb.base.threads import worker_threads
from msnb.core.process_group import within
from msnb.parallel.engine.comm.rank_failures import RankStop
from msnb.parallel.engine.comm.simulated_collectives import reduced
from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, REDUCE, SCATTER

BROADCAST, NEIGHBORS = "broadcast", "neighbors"
Group = Sequence[int]


@dataclass(frozen=True)
class CollectiveCall:
    """What a rank wants: which collective, among whom, how, of what."""

    kind: str
    group: tuple[int, ...]
    how: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        return f"{self.kind} of {self.dtype} {list(self.shape)} among ranks {list(self.group)}"


def sent_among(kind: str, p: int, nbytes: int) -> int:
    """Bytes that the ``p`` ranks of a group send together, each of which puts in ``nbytes``."""
    times = {GATHER: p, REDUCE: 2}.get(kind, 1)
    return times * (p - 1) * nbytes


class Rendezvous:
    """Where the ranks of one run meet.

    Attributes:
        sent: bytes that all ranks sent, by kind.
    """

    def __init__(self, n: int) -> None:
        self.n: int = n
        self.sent: defaultdict[str, int] = defaultdict[str, int](int)
        self._lock = threading.Condition()
        self._wishes: dict[int, tuple[CollectiveCall, Any]] = {}
        self._answers: dict[int, Any] = {}
        self._mail: dict[tuple[int, int], deque[Any]] = defaultdict(deque)
        self._waiting: dict[int, tuple[Callable[[], bool], str]] = {}
        self._gone: set[int] = set()
        self._error = ""

    def together(self, rank: int, wish: CollectiveCall, part: Any, run: Callable[[list[Any]], list[Any]]) -> Any:
        """This rank's result of a collective, when all of the group have come.

        Args:
            part: what this rank puts in; run: the parts in the order of the group -> the results in that order.
        """
        with self._lock:
            self._wishes[rank] = wish, part
            if all(r in self._wishes and self._wishes[r][0] == wish for r in wish.group):
                parts = [self._wishes.pop(r)[1] for r in wish.group]
                self._answers.update(zip(wish.group, run(parts)))
                self.sent[wish.kind] += sent_among(wish.kind, len(parts), part.nbytes)
                self._lock.notify_all()
            self._wait(rank, lambda: rank in self._answers, str(wish))
            return self._answers.pop(rank)

    def post(self, rank: int, out: Mapping[int, Any], into: Mapping[int, Any]) -> dict[int, Any]:
        """Send to some ranks (who need not wait for it), receive from others."""
        with self._lock:
            for to, array in out.items():
                self._mail[rank, to].append(np.array(array))
                self.sent[NEIGHBORS] += array.nbytes if to != rank else 0
            self._lock.notify_all()
            self._wait(rank, lambda: all(self._mail[r, rank] for r in into), f"what ranks {list(into)} send")
            return {r: self._mail[r, rank].popleft() for r in into}

    def leave(self, rank: int, error: BaseException | None = None) -> None:
        """A rank's program has ended, well or with an error."""
        with self._lock:
            self._gone.add(rank)
            if error is not None and not self._error:
                self._error = f"rank {rank}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            self._lock.notify_all()

    def _wait(self, rank: int, ready: Callable[[], bool], what: str) -> None:
        self._waiting[rank] = ready, what
        try:
            while not ready():
                if not self._error and self._stuck():
                    self._error = self._told()
                    self._lock.notify_all()
                if self._error:
                    raise RankStop(self._error)
                self._lock.wait()
        finally:
            del self._waiting[rank]

    def _stuck(self) -> bool:
        """Nobody computes, and no wish can be fulfilled."""
        return len(self._waiting) + len(self._gone) == self.n and not any(r() for r, _ in self._waiting.values())

    def _told(self) -> str:
        lines = [f"rank {r} waits for {what}" for r, (_, what) in sorted(self._waiting.items())]
        lines += [f"rank {r} has ended" for r in sorted(self._gone)]
        return f"the ranks wait for each other for ever: {'; '.join(lines)}."


class RendezvousMember:
    """One rank's world at a meeting (``core.world.World``)."""

    def __init__(self, meeting: Rendezvous, rank: int) -> None:
        self.meeting: Rendezvous = meeting
        self.rank: int = rank
        self.size: int = meeting.n

    def _meet(self, kind: str, array: Any, group: Group | None, how: tuple[Any, ...],
              run: Callable[[list[Any]], list[Any]]) -> Any:  # fmt: skip
        part = np.asarray(array)
        members = tuple(range(self.size) if group is None else group)
        return self.meeting.together(self.rank, CollectiveCall(kind, members, how, part.shape, part.dtype), part, run)

    def all_reduce(self, array: Any, group: Group | None = None, op: str = "sum") -> Any:
        """As ``Comm`` has it; so are the others."""
        return self._meet(REDUCE, array, group, (op,), lambda parts: [reduced(parts, op)] * len(parts))

    def all_gather(self, array: Any, group: Group | None = None, axis: int = 0) -> Any:
        """See ``all_reduce``."""
        return self._meet(GATHER, array, group, (axis,), lambda parts: [np.concatenate(parts, axis)] * len(parts))

    def reduce_scatter(self, array: Any, group: Group | None = None, axis: int = 0, op: str = "sum") -> Any:
        """See ``all_reduce``."""
        return self._meet(SCATTER, array, group, (axis, op),
                          lambda parts: np.split(reduced(parts, op), len(parts), axis))  # fmt: skip

    def all_to_all(self, array: Any, group: Group | None = None, split: int = 0, concat: int = 0) -> Any:
        """See ``all_reduce``."""

        def swapped(parts: list[Any]) -> list[Any]:
            pieces = [np.split(part, len(parts), split) for part in parts]
            return [np.concatenate([row[i] for row in pieces], concat) for i in range(len(parts))]

        return self._meet(EXCHANGE, array, group, (split, concat), swapped)

    def broadcast(self, array: Any, root: int = 0, group: Group | None = None) -> Any:
        """See ``all_reduce``."""
        at = root if group is None else list(group).index(root)
        return self._meet(BROADCAST, array, group, (root,), lambda parts: [parts[at]] * len(parts))

    def neighbors(self, out: Mapping[int, Any], into: Mapping[int, Any]) -> dict[int, Any]:
        """Some arrays to some ranks, and what others send here."""
        return self.meeting.post(self.rank, out, into)


def run_ranks(n: int, program: Callable[[int], Any]) -> tuple[list[Any], dict[str, int]]:
    """``program(rank)`` on every rank, each in a thread of its own.

    Returns:
        The results in the order of the ranks, and the bytes that all of them sent by kind.

    Raises:
        The first error of a rank that is not the echo of another one's; its text says which rank.
    """
    meeting, results, errors = Rendezvous(n), [None] * n, dict[int, BaseException]()

    def one(rank: int) -> None:
        error: BaseException | None = None
        try:
            with within(RendezvousMember(meeting, rank)):
                results[rank] = program(rank)
        except BaseException as caught:  # handed to the caller's thread
            error = errors[rank] = caught
        meeting.leave(rank, error)

    try:
        worker_threads.run_all([partial(one, r) for r in range(n)], "msnb rank")
    except BaseException as interrupt:  # of the caller: ranks that wait, or come to, are told
        meeting.leave(-1, interrupt)
        raise
    if errors:
        first = next((r for r, e in sorted(errors.items()) if not isinstance(e, RankStop)), min(errors))
        raise _told(first, errors[first])
    return results, dict(meeting.sent)


def _told(rank: int, error: BaseException) -> BaseException:
    """A deadlock is nobody's own error; any other says whose it is."""
    if isinstance(error, RankStop):
        return DeviceError(str(error.sentence), hint="every rank of a group calls its collectives, in the same order.")
    error.__notes__ = [*getattr(error, "__notes__", ()), f"on rank {rank}"]  # as add_note of Python 3.11 does
    return error
