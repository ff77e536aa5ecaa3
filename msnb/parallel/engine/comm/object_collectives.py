"""Collectives of Python objects, in PyTorch's words: they travel pickled, between the ranks of one's own job only."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.core import current
from msnb.parallel.engine.comm.tensor_collectives import exchange, member, members_of_group, one_for_each

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """``object_list[i]`` becomes the object of the i-th rank.

    Raises:
        TypeError: a list of another length.

    Examples:
        >>> import msnb as ms
        >>> found = [None]
        >>> ms.mint.distributed.all_gather_object(found, {"rank": 0})
        >>> found
        [{'rank': 0}]
    """
    members = members_of_group("all_gather_object", group)
    one_for_each("all_gather_object", object_list, members)
    object_list[:] = _exchanged(members, dict.fromkeys(members, obj), members)


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0,
                  group: str | None = None) -> None:  # fmt: skip
    """On rank ``dst`` ``object_gather_list[i]`` becomes the object of the i-th rank."""
    members = members_of_group("gather_object", group)
    here = member("gather_object", dst, group) == current().rank
    places = one_for_each("gather_object", object_gather_list, members) if here else []
    found = _exchanged(members, {dst: obj}, members if here else ())
    if object_gather_list is not None and places:
        object_gather_list[:] = found


def broadcast_object_list(object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Every object of a list becomes that of rank ``src``. ``device``: only None has a meaning here (ValueError)."""
    _own_device("broadcast_object_list", device)
    members = members_of_group("broadcast_object_list", group)
    here = member("broadcast_object_list", src, group) == current().rank
    object_list[:] = _exchanged(members, dict.fromkeys(members, object_list) if here else {}, (src,))[0]


def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None,
                        src: int = 0, group: str | None = None) -> None:  # fmt: skip
    """``scatter_object_output_list[0]`` of the i-th rank becomes object i of the list of rank ``src``."""
    members = members_of_group("scatter_object_list", group)
    here = member("scatter_object_list", src, group) == current().rank
    parts = one_for_each("scatter_object_list", scatter_object_input_list, members) if here else []
    scatter_object_output_list[:1] = _exchanged(members, dict(zip(members, parts)), (src,))


def send_object_list(object_list: list[Any], dst: int, group: str | None = None, device: Any = None) -> None:
    """Send a list of objects to a rank. ``device``: only None has a meaning here (ValueError)."""
    _own_device("send_object_list", device)
    _exchanged(members_of_group("send_object_list", group), {member("send_object_list", dst, group): object_list}, ())


def recv_object_list(object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None) -> int:
    """Fill a list with the objects that a rank sends; gives its number. ``device``: only None has a meaning here."""
    _own_device("recv_object_list", device)
    members = members_of_group("recv_object_list", group)
    object_list[:] = _exchanged(members, {}, (member("recv_object_list", src, group),))[0]
    return src


def _own_device(what: str, device: Any) -> None:
    if device is not None:
        raise AttributeValueError(f"{what}: device={device!r}: a rank has one device here.")


def _exchanged(members: Sequence[int], out: dict[int, Any], sources: Sequence[int]) -> list[Any]:
    """Objects to ranks, and those that come from ``sources``: their sizes first."""
    packed = {rank: np.frombuffer(pickle.dumps(each), np.uint8) for rank, each in out.items()}
    sizes = {rank: np.array([each.size], np.int64) for rank, each in packed.items()}
    lengths = exchange(members, sizes, {rank: np.zeros(1, np.int64) for rank in sources})
    came = exchange(members, packed, {rank: np.empty(int(n[0]), np.uint8) for rank, n in lengths.items()})
    return [pickle.loads(came[rank].tobytes()) for rank in sources]
