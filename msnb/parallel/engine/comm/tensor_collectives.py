"""Collectives that write into tensors, in PyTorch's words, and transfers between two ranks.

A call has ended when it returns: with ``async_op=True`` it gives a ``CommHandle`` that is done. ``isend`` and ``irecv``
begin when the first of them is waited for: all of them move at once, so rings do not block. Ranks are numbers of the
world; a group is the name that ``new_group`` gave, None is the world.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.mint.html#mindspore-mint-distributed
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import WORLD_GROUP, Array, Tensor, current, members_of

__all__ = [
    "CommHandle", "P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven",
    "all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "gather",
    "gather_into_tensor", "irecv", "isend", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_tensor_uneven", "scatter", "scatter_tensor", "send",
]  # fmt: skip

_REDUCTIONS = ("sum", "prod", "max", "min", "avg")


class CommHandle:
    """What a call with ``async_op=True`` gives, and ``isend`` and ``irecv``."""

    def __init__(self, move: P2POp | None = None) -> None:
        self._move = move
        if move is not None:
            _begun.moves.append(move)

    def wait(self) -> bool:
        """Until the data is there."""
        if self._move in _begun.moves:
            _run_pending()
        return True

    def is_completed(self) -> bool:
        """Whether the data is there."""
        return self._move not in _begun.moves


class P2POp:
    """One transfer of ``batch_isend_irecv``.

    Args:
        op: ``isend`` or ``irecv``.
        tensor: what is sent, or what is written into.
        peer: the other rank, a number of the world.
        group: its name, or None; tag: transfers between two ranks keep their order, so it only has to be an int.

    Raises:
        TypeError: another ``op``. ValueError: no such rank.
    """

    def __init__(self, op: Any, tensor: Tensor, peer: int, group: str | None = None, tag: int = 0) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if name not in ("isend", "irecv"):
            raise ArgumentError(f"P2POp: op is isend or irecv, not {op!r}.")
        if isinstance(tag, bool) or not isinstance(tag, int):
            raise ArgumentError(f"P2POp: tag is an int, not {tag!r}.")
        self.op, self.tensor, self.peer, self.tag = name, _tensor(name, tensor), member(name, peer, group), tag


class _Begun(threading.local):
    """Per thread, for simulated ranks are threads: transfers that were begun."""

    def __init__(self) -> None:
        self.moves: list[P2POp] = []


_begun = _Begun()


def _run_pending() -> None:
    """All transfers that were begun: what goes between the same two ranks, in its order."""
    moves, _begun.moves = _begun.moves, []
    while moves:
        now: dict[tuple[str, int], P2POp] = {}
        for move in moves:
            now.setdefault((move.op, move.peer), move)
        out = {m.peer: np.asarray(m.tensor.asnumpy(), order="C") for m in now.values() if m.op == "isend"}
        into = {m.peer: np.empty(m.tensor.shape, m.tensor.dtype.numpy) for m in now.values() if m.op == "irecv"}
        came = current().neighbors(out, into)
        for move in now.values():
            if move.op == "irecv":
                _write(move.op, move.tensor, came[move.peer])
        moves = [m for m in moves if m not in now.values()]


def members_of_group(what: str, group: str | None) -> tuple[int, ...]:
    return members_of(what, group or WORLD_GROUP)


def member(what: str, rank: int, group: str | None) -> int:
    members = members_of_group(what, group)
    if isinstance(rank, bool) or not isinstance(rank, int) or rank not in members:
        raise AttributeValueError(f"{what}: {rank!r} is none of the ranks {list(members)}.")
    return rank


# ---- tensors ----


def _tensor(what: str, tensor: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"{what} needs a Tensor, got {type(tensor).__name__}.")
    return tensor


def _host(what: str, tensor: Any) -> Array:
    return np.asarray(_tensor(what, tensor).asnumpy(), order="C")


def _write(what: str, tensor: Any, value: Array) -> None:
    if tuple(_tensor(what, tensor).shape) != value.shape:
        raise ShapeError(f"{what}: the result has the shape {list(value.shape)}, the tensor to write into "
                         f"{list(tensor.shape)}.")  # fmt: skip
    if tensor.dtype.numpy != value.dtype:
        raise DTypeError(f"{what}: the result is {value.dtype}, the tensor to write into {tensor.dtype.name}.")
    tensor.copy_(Tensor(value))


def one_for_each(what: str, tensors: Any, members: Sequence[int]) -> list[Any]:
    if not isinstance(tensors, (list, tuple)) or len(tensors) != len(members):
        have = len(tensors) if isinstance(tensors, (list, tuple)) else type(tensors).__name__
        raise ArgumentError(f"{what} needs a list of {len(members)} tensors, one for each rank, got {have}.")
    return list(tensors)


def _done(async_op: bool) -> CommHandle | None:
    return CommHandle() if async_op else None


def exchange(members: Sequence[int], out: dict[int, Array], into: dict[int, Array]) -> dict[int, Array]:
    """Some arrays to some ranks, and what they send; empty ones stay at home."""
    sent = {r: a for r, a in out.items() if a.size and r in members}
    came = current().neighbors(sent, {r: a for r, a in into.items() if a.size})
    return {r: came[r] if a.size else a for r, a in into.items()}


def _receive(what: str, members: Sequence[int], out: dict[int, Array], places: Sequence[Any]) -> None:
    """Exchange, and write what each member sends into its place, if there are places here."""
    came = exchange(members, out, {r: np.empty(p.shape, p.dtype.numpy) for r, p in zip(members, places)})
    for rank, place in zip(members, places):
        _write(what, place, came[rank])


def _reduced(what: str, array: Array, op: str, members: Sequence[int]) -> Array:
    if op not in _REDUCTIONS:
        raise AttributeValueError(f"{what}: op={op!r} is not legal; legal: {', '.join(map(repr, _REDUCTIONS))}.")
    if op != "avg":
        return np.asarray(current().all_reduce(array, members, op))
    if array.dtype.kind not in "fcV":
        raise DTypeError(f"{what}: the average of {array.dtype} is none; sums of integers are.")
    return (np.asarray(current().all_reduce(array, members, "sum")) / len(members)).astype(array.dtype)


def _rows(what: str, rows: int, sizes: Sequence[int] | None, ranks: int) -> list[int]:
    """How many rows each rank has of ``rows``."""
    if sizes:
        if len(sizes) != ranks or sum(sizes) != rows or min(sizes) < 0:
            raise AttributeValueError(f"{what}: sizes {list(sizes)} for {ranks} ranks and {rows} rows.")
        return list(sizes)
    if rows % ranks:
        raise AttributeValueError(f"{what}: {rows} rows cannot be shared out among {ranks} ranks.")
    return [rows // ranks] * ranks


def _cut(array: Array, sizes: Sequence[int]) -> list[Array]:
    ends = np.cumsum([0, *sizes])
    return [np.asarray(array[a:b], order="C") for a, b in zip(ends, ends[1:])]


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """``tensor`` becomes the sum (product, largest, smallest, average) of every rank's.

    Args:
        tensor: of the same shape and dtype on every rank; it is written into.
        op: "sum", "prod", "max", "min", "avg"; group: its name or None; async_op: give a ``CommHandle``.

    Raises:
        ValueError: another ``op`` or group. TypeError: no tensor; the average of integers.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([1.0, 2.0])
        >>> ms.mint.distributed.all_reduce(x)
        >>> x.tolist()
        [1.0, 2.0]
    """
    array = _host("all_reduce", tensor)
    _write("all_reduce", tensor, _reduced("all_reduce", array, op, members_of_group("all_reduce", group)))
    return _done(async_op)


def reduce(
    tensor: Tensor, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """As ``all_reduce``, but only the tensor of rank ``dst`` is written into."""
    array, members = _host("reduce", tensor), members_of_group("reduce", group)
    found = _reduced("reduce", array, op, members)
    if member("reduce", dst, group) == current().rank:
        _write("reduce", tensor, found)
    return _done(async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """``tensor`` becomes that of rank ``src``."""
    array, members = _host("broadcast", tensor), members_of_group("broadcast", group)
    _write("broadcast", tensor, np.asarray(current().broadcast(array, member("broadcast", src, group), members)))
    return _done(async_op)


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Wait for every rank of a group. ``device_ids``: only None has a meaning here (ValueError)."""
    if device_ids is not None:
        raise AttributeValueError(f"barrier: device_ids={device_ids!r}: a rank has one device here.")
    current().all_reduce(np.zeros(1, np.int32), members_of_group("barrier", group))
    return _done(async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: str | None = None,
               async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``tensor_list[i]`` becomes the tensor of the i-th rank; shapes may differ.

    Raises:
        TypeError: not one tensor for each rank. ValueError: another group, or a shape that does not come.
    """
    members = members_of_group("all_gather", group)
    places = one_for_each("all_gather", tensor_list, members)
    _receive("all_gather", members, dict.fromkeys(members, _host("all_gather", tensor)), places)
    return _done(async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: str | None = None,
                           async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``output_tensor`` becomes every rank's tensor, one behind the other along axis 0."""
    return all_gather_into_tensor_uneven(output_tensor, input_tensor, None, group, async_op)


def all_gather_into_tensor_uneven(output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
                                  group: str | None = None, async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """As ``all_gather_into_tensor``, where rank i has ``output_split_sizes[i]`` rows."""
    what = "all_gather_into_tensor"
    members, mine = members_of_group(what, group), np.atleast_1d(_host(what, input))
    sizes = _rows(what, output.shape[0] if output.ndim else 1, output_split_sizes, len(members))
    into = {r: np.empty((n, *mine.shape[1:]), mine.dtype) for r, n in zip(members, sizes)}
    came = exchange(members, dict.fromkeys(members, mine), into)
    _write(what, output, np.concatenate([came[r] for r in members]))
    return _done(async_op)


def gather(tensor: Tensor, gather_list: list[Tensor] | None, dst: int = 0, group: str | None = None,
           async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """On rank ``dst`` ``gather_list[i]`` becomes the tensor of the i-th rank; elsewhere the list is not looked at."""
    members, mine = members_of_group("gather", group), _host("gather", tensor)
    here = member("gather", dst, group) == current().rank
    places = one_for_each("gather", gather_list, members) if here else []
    _receive("gather", members, {dst: mine}, places)
    return _done(async_op)


def gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, dst: int = 0, group: str | None = None,
                       async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """On rank ``dst`` ``output_tensor`` becomes every rank's tensor along axis 0."""
    what = "gather_into_tensor"
    members, mine = members_of_group(what, group), np.atleast_1d(_host(what, input_tensor))
    here = member(what, dst, group) == current().rank
    came = exchange(members, {dst: mine}, {r: np.empty_like(mine) for r in members} if here else {})
    if here:
        _write(what, output_tensor, np.concatenate([came[r] for r in members]))
    return _done(async_op)


def scatter(tensor: Tensor, scatter_list: list[Tensor] | None, src: int = 0, group: str | None = None,
            async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``tensor`` of the i-th rank becomes ``scatter_list[i]`` of rank ``src``; elsewhere the list is not looked at."""
    members = members_of_group("scatter", group)
    here = member("scatter", src, group) == current().rank
    parts = [_host("scatter", t) for t in one_for_each("scatter", scatter_list, members)] if here else []
    into = {src: np.empty(_tensor("scatter", tensor).shape, tensor.dtype.numpy)}
    _write("scatter", tensor, exchange(members, dict(zip(members, parts)), into)[src])
    return _done(async_op)


def scatter_tensor(output_tensor: Tensor, input_tensor: Tensor | None, src: int = 0, group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``output_tensor`` of the i-th rank becomes the i-th part along axis 0 of the tensor of rank ``src``."""
    members, parts = members_of_group("scatter_tensor", group), None
    if src == current().rank:
        whole = _host("scatter_tensor", input_tensor)
        parts = list(map(Tensor, _cut(whole, _rows("scatter_tensor", len(whole), None, len(members)))))
    return scatter(output_tensor, parts, src, group, async_op)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: str = "sum", group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``output`` becomes the reduction of what every rank has for this one: ``input_list[i]`` is for the i-th."""
    members = members_of_group("reduce_scatter", group)
    parts = [_host("reduce_scatter", t) for t in one_for_each("reduce_scatter", input_list, members)]
    at = members.index(current().rank)
    found = [_reduced("reduce_scatter", part, op, members) for part in parts]
    _write("reduce_scatter", output, found[at])
    return _done(async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: str = "sum", group: str | None = None,
                          async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``output`` becomes this rank's part, along axis 0, of the reduction of every rank's ``input``."""
    return reduce_scatter_tensor_uneven(output, input, None, op, group, async_op)


def reduce_scatter_tensor_uneven(output: Tensor, input: Tensor, input_split_sizes: Sequence[int] | None = None,
                                 op: str = "sum", group: str | None = None,
                                 async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """As ``reduce_scatter_tensor``, where rank i gets ``input_split_sizes[i]`` rows."""
    what = "reduce_scatter_tensor"
    members, whole = members_of_group(what, group), _host(what, input)
    sizes = _rows(what, len(whole), input_split_sizes, len(members))
    parts = _cut(_reduced(what, whole, op, members), sizes)
    _write(what, output, parts[members.index(current().rank)])
    return _done(async_op)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: str | None = None,
               async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """``input_tensor_list[i]`` goes to the i-th rank; ``output_tensor_list[i]`` becomes what that one has for this."""
    members = members_of_group("all_to_all", group)
    parts = [_host("all_to_all", t) for t in one_for_each("all_to_all", input_tensor_list, members)]
    places = one_for_each("all_to_all", output_tensor_list, members)
    _receive("all_to_all", members, dict(zip(members, parts)), places)
    return _done(async_op)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
                      input_split_sizes: Sequence[int] | None = None, group: str | None = None,
                      async_op: bool = False) -> CommHandle | None:  # fmt: skip
    """Part i of ``input`` along axis 0 goes to the i-th rank; ``output`` becomes what came, one behind the other.

    Args:
        output: it is written into; input: rows.
        output_split_sizes, input_split_sizes: rows that come from, and go to, each rank; None: as many for each.
        group: its name or None; async_op: give a ``CommHandle``.

    Raises:
        ValueError: sizes that do not fit.
    """
    what = "all_to_all_single"
    members, whole = members_of_group(what, group), _host(what, input)
    parts = _cut(whole, _rows(what, len(whole), input_split_sizes, len(members)))
    sizes = _rows(what, output.shape[0], output_split_sizes, len(members))
    into = {r: np.empty((n, *whole.shape[1:]), whole.dtype) for r, n in zip(members, sizes)}
    came = exchange(members, dict(zip(members, parts)), into)
    _write(what, output, np.concatenate([came[r] for r in members]))
    return _done(async_op)


# ---- between two ranks ----


def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """Begin to send a tensor to a rank; ``wait()`` of the CommHandle ends it. As ``P2POp``."""
    return CommHandle(P2POp("isend", tensor, dst, group, tag))


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """Begin to fill a tensor with what a rank sends; ``wait()`` of the CommHandle ends it. As ``P2POp``."""
    return CommHandle(P2POp("irecv", tensor, src, group, tag))


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a tensor to a rank. As ``P2POp``."""
    isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Fill a tensor with what a rank sends; gives its number. As ``P2POp``."""
    irecv(tensor, src, group, tag).wait()
    return src


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[CommHandle]:
    """Begin several transfers, which move at once. Raises TypeError: anything but ``P2POp``."""
    if not p2p_op_list or not all(isinstance(move, P2POp) for move in p2p_op_list):
        raise ArgumentError("batch_isend_irecv needs a list of P2POp.")
    works = [CommHandle(move) for move in p2p_op_list]
    works[0].wait()
    return works
