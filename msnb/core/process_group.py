"""The world: the processes that run one program together, as the process (or thread) in it sees them.

    alone          nothing was begun: rank 0 of 1, every collective gives back what it got
    promised       the parallel context asks for several devices whose program places its own collectives
                   (hybrid_parallel), and nobody else is here: ranks and groups are known, moving data is an error
    installed      a rank of an engine, or of an MPI job after ``communication.init()``: for the whole process
    within         a simulated rank: for one thread, for the time of a block

Collective operators ask ``current()`` for the others and know nothing of networks; the engine knows nothing of
operators. Who sits here has the methods of ``ProcessGroup``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from msnb.base import AttributeValueError, DeviceError

WORLD_GROUP = "world_group"
WORLD_NAMES = (WORLD_GROUP, "hccl_world_group", "nccl_world_group", "mccl_world_group")

Group = Sequence[int]


class ProcessGroup(Protocol):
    """A rank among ``size``; groups are lists of ranks, which all members name in the same order."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...

    def all_reduce(self, array: Any, group: Group | None = None, op: str = "sum") -> Any: ...
    def all_gather(self, array: Any, group: Group | None = None, axis: int = 0) -> Any: ...
    def reduce_scatter(self, array: Any, group: Group | None = None, axis: int = 0, op: str = "sum") -> Any: ...
    def all_to_all(self, array: Any, group: Group | None = None, split: int = 0, concat: int = 0) -> Any: ...
    def broadcast(self, array: Any, root: int = 0, group: Group | None = None) -> Any: ...
    def neighbors(self, out: Mapping[int, Any], into: Mapping[int, Any]) -> Mapping[int, Any]: ...


class SingleProcess:
    """A group of one: what comes in goes out."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self._rank, self._size = rank, size

    @property
    def rank(self) -> int:
        """Which rank this is."""
        return self._rank

    @property
    def size(self) -> int:
        """Of how many."""
        return self._size

    def all_reduce(self, array: Any, group: Group | None = None, op: str = "sum") -> Any:
        return array

    def all_gather(self, array: Any, group: Group | None = None, axis: int = 0) -> Any:
        return array

    def reduce_scatter(self, array: Any, group: Group | None = None, axis: int = 0, op: str = "sum") -> Any:
        return array

    def all_to_all(self, array: Any, group: Group | None = None, split: int = 0, concat: int = 0) -> Any:
        return array

    def broadcast(self, array: Any, root: int = 0, group: Group | None = None) -> Any:
        return array

    def neighbors(self, out: Mapping[int, Any], into: Mapping[int, Any]) -> Mapping[int, Any]:
        """What is sent to oneself comes back."""
        return {r: out[r] for r in into}


class AbsentGroup(SingleProcess):
    """A rank whose peers are not here: programs can be captured and looked at, not run."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise DeviceError(
            f"a collective of a world of {self.size} ranks runs in a process that is alone (as rank {self.rank}).",
            hint="ms.parallel.plan(program, *inputs).run() runs all ranks, Engine.map gives each a process; "
            "ms.reset_auto_parallel_context() is one device again.",
        )

    all_reduce = all_gather = reduce_scatter = all_to_all = broadcast = neighbors = _refuse


class _Seat(threading.local):
    """Per thread: who sits here; None: what the process has."""

    world: ProcessGroup | None = None


_seat = _Seat()
_process: list[ProcessGroup] = [SingleProcess()]


def current() -> ProcessGroup:
    """The world of this thread."""
    return _seat.world or _process[-1]


def install(world: ProcessGroup | None) -> None:
    """Make this process a rank; None: it is alone again."""
    _process[:] = [SingleProcess()] if world is None else [world]


def promise(rank: int, size: int) -> None:
    """The context asks for ranks: a process that is none yet takes a place among them (size 1: it is alone again)."""
    if isinstance(_process[-1], SingleProcess):
        _process[:] = [SingleProcess() if size == 1 else AbsentGroup(rank, size)]


@contextmanager
def within(world: ProcessGroup) -> Iterator[None]:
    """In this block the thread is a rank of ``world``."""
    before, _seat.world = _seat.world, world
    try:
        yield
    finally:
        _seat.world = before


# ---- groups ----

_groups: dict[str, tuple[int, ...]] = {}


def ranks_of(group: str) -> tuple[int, ...]:
    """The ranks of a group, in its order.

    Raises:
        ValueError: no group is called so.
    """
    if group in WORLD_NAMES:
        return tuple(range(current().size))
    if group not in _groups:
        legal = ", ".join(map(repr, (WORLD_GROUP, *_groups)))
        raise AttributeValueError(f"no group is called {group!r}; legal: {legal}.",
                                  hint="communication.create_group(name, ranks) makes one.")  # fmt: skip
    return _groups[group]


def members_of(what: str, group: str) -> tuple[int, ...]:
    """The ranks of a group that this rank belongs to.

    Raises:
        ValueError: no such group, or this rank is not in it.
    """
    found, world = ranks_of(group), current()
    if group not in WORLD_NAMES and world.rank not in found:
        raise AttributeValueError(f"{what}: rank {world.rank} is not in the group {group!r} of ranks {list(found)}.",
                                  hint="only members of a group take part in its collectives.")  # fmt: skip
    return found


def create_group(group: str, rank_ids: Sequence[int]) -> None:
    """Give some ranks a name; all of them do it, with the same list.

    Args:
        group: the name; rank_ids: different ranks of this world.

    Raises:
        ValueError: the name is taken by other ranks, or the ranks are not legal.
    """
    size, ranks = current().size, tuple(rank_ids)
    fine = all(isinstance(r, int) and not isinstance(r, bool) and 0 <= r < size for r in ranks)
    if not ranks or not fine or len(set(ranks)) < len(ranks):
        raise AttributeValueError(f"create_group({group!r}, {list(ranks)}): legal are different ranks from 0 to "
                                  f"{size - 1}, at least one.")  # fmt: skip
    if not isinstance(group, str) or not group or group in WORLD_NAMES or _groups.get(group, ranks) != ranks:
        raise AttributeValueError(f"create_group({group!r}, {list(ranks)}): this is no name, or it is taken.",
                                  hint="destroy_group(name) frees a name.")  # fmt: skip
    _groups[group] = ranks


def destroy_group(group: str) -> None:
    """Forget a group.

    Raises:
        ValueError: there is none of this name, or it is the world.
    """
    if group in WORLD_NAMES:
        raise AttributeValueError(f"destroy_group({group!r}): the world stays.")
    ranks_of(group)
    del _groups[group]
