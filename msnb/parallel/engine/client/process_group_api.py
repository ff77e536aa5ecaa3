"""``ms.communication``: which rank this process is, of how many, and named groups of ranks (hybrid_parallel programs).

    from msnb.communication import init, get_rank, get_group_size, create_group
    init()                             mpiexec -n 4 python -m mpi4py train.py: joins the job; alone: a world of one
    get_rank(), get_group_size()       2, 4
    create_group("even", [0, 2])       ops.AllReduce("sum", "even")

Ranks of a ``ms.parallel.Engine`` have their world already, and so has a program that is captured for a plan.
Source: `mindspore.communication`
"""

from __future__ import annotations

import os

from msnb.base import AttributeValueError, DeviceError
from msnb.core import process_group
from msnb.core.process_group import (
    WORLD_GROUP,
    SingleProcess,
    create_group,
    current,
    destroy_group,
    members_of,
    ranks_of,
)
from msnb.parallel.context import wanted
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.comm.mpi_backend import MpiComm

__all__ = [
    "HCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP", "GlobalComm", "create_group", "destroy_group",
    "get_group_rank_from_world_rank", "get_group_size", "get_local_rank", "get_local_rank_size",
    "get_process_group_ranks", "get_rank", "get_world_rank_from_group_rank", "init", "release",
]  # fmt: skip

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
_BACKENDS = ("hccl", "nccl", "mccl", "mpi")
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # what MPICH's and Open MPI's launchers tell a process
_SERVER = 8  # devices of a server
_TIMEOUT = 60.0  # seconds that a collective may take


class GlobalComm:
    """MindSpore's names for the back end and the group of all ranks."""

    BACKEND = ""
    INITED = False
    WORLD_COMM_GROUP = WORLD_GROUP


def init(backend_name: str | None = None) -> None:
    """Join the other ranks: those of an MPI job where this process is one of several, else a world of one.

    Args:
        backend_name: "hccl", "nccl", "mccl" or "mpi"; which one carries the data is the job's business here.

    Raises:
        ValueError: an unknown name. RuntimeError: DeviceError: an MPI job without mpi4py.
    """
    if backend_name is not None and backend_name not in _BACKENDS:
        legal = ", ".join(map(repr, _BACKENDS))
        raise AttributeValueError(f"init: no back end is called {backend_name!r}; legal: {legal}.")
    GlobalComm.BACKEND, GlobalComm.INITED = backend_name or "mpi", True
    if not isinstance(current(), SingleProcess) or max(int(os.environ.get(name, 1)) for name in _SIZES) == 1:
        return
    why = missing("mpi")
    if why:
        raise DeviceError(f"init: this process is one of an MPI job, but {why}.")
    process_group.install(MpiComm(_TIMEOUT))
    wanted.renew()


def release() -> None:
    """Leave the other ranks: this process is alone again."""
    GlobalComm.INITED = False
    if not isinstance(current(), SingleProcess):
        process_group.install(None)
        wanted.renew()


def get_rank(group: str = WORLD_GROUP) -> int:
    """The place of this rank in a group.

    Raises:
        ValueError: no such group, or this rank is not in it.

    Examples:
        >>> get_rank()
        0
    """
    return current().rank if group == WORLD_GROUP else members_of("get_rank", group).index(current().rank)


def get_group_size(group: str = WORLD_GROUP) -> int:
    """How many ranks a group has.

    Raises:
        ValueError: no such group.

    Examples:
        >>> get_group_size()
        1
    """
    return len(ranks_of(group))


def get_process_group_ranks(group: str = WORLD_GROUP) -> list[int]:
    """The ranks of a group, in its order.

    Raises:
        ValueError: no such group.
    """
    return list(ranks_of(group))


def get_local_rank(group: str = WORLD_GROUP) -> int:
    """The place of this rank in its server of eight devices."""
    ranks_of(group)
    return current().rank % _SERVER


def get_local_rank_size(group: str = WORLD_GROUP) -> int:
    """How many ranks of a group a server of eight devices has at most."""
    return min(_SERVER, len(ranks_of(group)))


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank that has a place in a group.

    Raises:
        ValueError: no such group, or no such place.
    """
    ranks = ranks_of(group)
    if group_rank_id not in range(len(ranks)):
        raise AttributeValueError(f"group {group!r} has the places 0 to {len(ranks) - 1}, not {group_rank_id}.")
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The place of a rank in a group.

    Raises:
        ValueError: no such group, or the rank is not in it.
    """
    ranks = ranks_of(group)
    if world_rank_id not in ranks:
        raise AttributeValueError(f"rank {world_rank_id} is not in the group {group!r} of ranks {list(ranks)}.")
    return ranks.index(world_rank_id)
