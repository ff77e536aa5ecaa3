"""``ms.mint.distributed`` and ``ms.ops.communication``: ranks and groups in PyTorch's words, and what they do together.

    from msnb.mint.distributed import init_process_group, all_reduce, get_rank
    init_process_group()                 joins the MPI job that this process belongs to; alone: a world of one
    all_reduce(x)                        x becomes the sum of every rank's x (``comm.tensor_collectives``)

They run in PyNative mode; graphs hold the collectives of ``ms.ops`` (``ops.AllReduce``), which have gradients.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.mint.html#mindspore-mint-distributed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import AttributeValueError
from msnb.core import process_group
from msnb.core.process_group import WORLD_GROUP, current, ranks_of
from msnb.parallel.engine.client import process_group_api
from msnb.parallel.engine.comm.object_collectives import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from msnb.parallel.engine.comm.tensor_collectives import (
    CommHandle,
    P2POp,
    all_gather,
    all_gather_into_tensor,
    all_gather_into_tensor_uneven,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    gather_into_tensor,
    irecv,
    isend,
    members_of_group,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    reduce_scatter_tensor_uneven,
    scatter,
    scatter_tensor,
    send,
)

__all__ = [
    "CommHandle", "P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven",
    "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv",
    "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "gather_into_tensor",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank",
    "get_world_size", "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group",
    "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_tensor_uneven", "scatter", "scatter_object_list", "scatter_tensor", "send",
    "send_object_list",
]  # fmt: skip


def init_process_group(backend: str = "hccl", init_method: str | None = None, timeout: Any = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
                       pg_options: Any = None, device_id: int | None = None) -> None:  # fmt: skip
    """Join the other ranks of this MPI job; a process that is alone is a world of one.

    Args:
        backend: "hccl", "nccl", "mccl" or "mpi"; which one carries the data is the job's business here.
        world_size, rank: what the job should be, checked (-1: whatever it is).
        init_method, timeout, store, group_name, pg_options, device_id: how MindSpore finds the other ranks; only their
            defaults are legal, for the launcher of the job says this here (``mpiexec -n 4 python train.py``).

    Raises:
        ValueError: another world, or an argument that has no meaning here.
        RuntimeError: DeviceError: an MPI job without mpi4py.

    Examples:
        >>> import msnb as ms
        >>> ms.mint.distributed.init_process_group()
        >>> ms.mint.distributed.get_world_size()
        1
    """
    for name, value in (("init_method", init_method), ("timeout", timeout), ("store", store),
                        ("group_name", group_name), ("pg_options", pg_options), ("device_id", device_id)):  # fmt: skip
        if value not in (None, ""):
            hint = "the launcher says who belongs together: mpiexec -n 4 python train.py."
            raise AttributeValueError(f"init_process_group: {name}={value!r} has no meaning here.", hint=hint)
    process_group_api.init(backend)
    world = current()
    if world_size not in (-1, world.size) or rank not in (-1, world.rank):
        raise AttributeValueError(f"init_process_group: this is rank {world.rank} of {world.size}, not {rank} of "
                                  f"{world_size}.")  # fmt: skip


def destroy_process_group(group: str | None = None) -> None:
    """Forget a group; None or the world: leave the other ranks. Raises ValueError: no such group."""
    if group is None or group in process_group.WORLD_NAMES:
        process_group_api.release()
    else:
        process_group.destroy_group(group)


def new_group(ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False,
              group_desc: str | None = None) -> str:  # fmt: skip
    """Give some ranks a name; every rank calls it.

    Args:
        ranks: numbers of the world, None for all.
        timeout, backend, pg_options, use_local_synchronization, group_desc: only their defaults have a meaning here.

    Returns:
        The name; "" on a rank that is not in the group.

    Raises:
        ValueError: ranks that are not there, or another argument.
    """
    if (timeout, pg_options, group_desc) != (None, None, None) or use_local_synchronization:
        raise AttributeValueError("new_group: timeout, pg_options, use_local_synchronization and group_desc have no "
                                  "meaning here.")  # fmt: skip
    if backend not in (None, "hccl", "mccl", "nccl", "mpi"):
        raise AttributeValueError(f"new_group: no back end is called {backend!r}.")
    chosen = tuple(range(current().size)) if ranks is None else tuple(ranks)
    name = f"group_{'_'.join(map(str, chosen))}"
    process_group.create_group(name, chosen)
    return name if current().rank in chosen else ""


def is_available() -> bool:
    """Whether ranks can talk in this installation: a world of one always can."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` (or ``communication.init``) was called."""
    return process_group_api.GlobalComm.INITED


def get_backend(group: str | None = None) -> str:
    """The name that was given to ``init_process_group``. Raises ValueError: no such group."""
    members_of_group("get_backend", group)
    return process_group_api.GlobalComm.BACKEND


def get_rank(group: str | None = None) -> int:
    """The place of this rank in a group; -1: it is not in it. Raises ValueError: no such group."""
    ranks = ranks_of(group or WORLD_GROUP)
    return ranks.index(current().rank) if current().rank in ranks else -1


def get_world_size(group: str | None = None) -> int:
    """How many ranks a group has; -1: this one is not in it. Raises ValueError: no such group."""
    ranks = ranks_of(group or WORLD_GROUP)
    return len(ranks) if current().rank in ranks else -1


def get_global_rank(group: str | None, group_rank: int) -> int:
    """The rank that has a place in a group. Raises ValueError: no such group or place."""
    return process_group_api.get_world_rank_from_group_rank(group or WORLD_GROUP, group_rank)


def get_group_rank(group: str | None, global_rank: int) -> int:
    """The place of a rank in a group. Raises ValueError: no such group, or the rank is not in it."""
    return process_group_api.get_group_rank_from_world_rank(global_rank, group or WORLD_GROUP)


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The ranks of a group, in its order. Raises ValueError: no such group."""
    return list(ranks_of(group or WORLD_GROUP))
