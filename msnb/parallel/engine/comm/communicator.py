"""The collectives of a real rank, made of one primitive: exchange pieces with some peers at once, before a deadline.

    all_gather       my part to everybody, theirs to me                                (p-1) n bytes sent
    all_to_all       piece i to peer i, their piece for me to me                       (p-1)/p n
    reduce_scatter   an all_to_all, then I add up what came                            (p-1)/p n
    all_reduce       a reduce_scatter of the flat array, then an all_gather          2 (p-1)/p n
    halo_exchange    rows of my image to those whose windows see them                  those rows

Each is optimal in bytes, and what came is added in the order of the ranks: results do not depend on timing and are, bit
for bit, those of the simulated ranks. Any dtype travels, as bytes. Measured against MPICH's Iallreduce (2 and 4 ranks,
4 KB to 16 MB, one machine): as fast, faster for small arrays. A back end brings ``exchange`` (MPI: Isend, Irecv
and Testall; NCCL: sends and receives in one group), and no communicator per group has to be made. Between the stages of
a pipeline a sender does not wait: ``post`` begins, ``settle`` sees to it at the end of a step that all has arrived.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from msnb.base import DeviceError
from msnb.parallel.engine.comm.rank_failures import RankStop
from msnb.parallel.engine.comm.rank_requests import CollectiveRequest, ReplicatedWork, Request, Run, SendRequest
from msnb.parallel.engine.comm.simulated_collectives import reduced
from msnb.parallel.program.spmd_program import SEND
from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, REDUCE, SCATTER, Mesh
from msnb.parallel.sharding.halo import Halo

Array = Any  # NumPy's, or CuPy's
Group = Sequence[int]


@dataclass
class Stats:
    """What a rank did of one kind of collective in one group."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Communicator:
    """A rank's way to the others.

    Args:
        rank, size: which of how many.
        timeout: seconds that a collective may take.

    Attributes:
        xp: the array module of what it carries.
        stats: (kind, group) -> calls, bytes sent to others, seconds.
        stopped: set from outside when another rank failed; why it says who.
    """

    xp: Any = np

    def __init__(self, rank: int, size: int, timeout: float) -> None:
        self.rank: int = rank
        self.size: int = size
        self.timeout: float = timeout
        self.stats: dict[tuple[str, tuple[int, ...]], Stats] = {}
        self.stopped: Event = threading.Event()
        self.why: str = ""
        self._groups: dict[Any, list[int]] = {}

    # ---- what a back end brings ----

    def exchange(self, out: Mapping[int, Array], into: Mapping[int, Array], what: str, deadline: float) -> None:
        """Send each array of ``out`` to its peer and fill those of ``into`` from theirs.

        Raises:
            CollectiveTimeout: not done at ``deadline`` (of ``time.monotonic``). Stopped: another rank failed.
        """
        raise NotImplementedError

    def post(self, out: Mapping[int, Array]) -> None:
        """Begin to send each array to its peer, and do not wait. What goes to one peer arrives in order.

        Raises:
            DeviceError: this back end cannot.
        """
        raise DeviceError(f"{type(self).__name__} has no sends that nobody waits for, which pipeline stages need.",
                          hint="run the pipeline with engine='mpi', 'ipp' or 'inproc'.")  # fmt: skip

    def settle(self, deadline: float) -> None:
        """Wait until everything that was posted has gone.

        Raises:
            CollectiveTimeout: not done at ``deadline``. Stopped: another rank failed.
        """

    def renew(self, deadline: float) -> None:
        """Begin an epoch: messages of the one before can no longer arrive. All ranks call it together."""
        self.stopped.clear()

    def close(self) -> None:
        """Leave."""

    def check(self) -> None:
        """Raise when this rank was told to stop."""
        if self.stopped.is_set():
            raise RankStop(self.why)

    # ---- collectives ----

    def all_gather(self, array: Array, group: Group | None = None, axis: int = 0,
                   deadline: float | None = None) -> Array:  # fmt: skip
        """Everybody's parts side by side along ``axis``, in the order of the group."""
        parts = self._everybodys(self.xp.asarray(array), self._members(group), GATHER, deadline)
        return self.xp.concatenate(parts, axis=axis)

    def all_to_all(self, array: Array, group: Group | None = None, split: int = 0, concat: int = 0,
                   deadline: float | None = None) -> Array:  # fmt: skip
        """Cut along ``split``, send piece i to the i-th of the group, join what comes along ``concat``."""
        group = self._members(group)
        pieces = self.xp.split(self.xp.asarray(array), len(group), axis=split)
        return self.xp.concatenate(self._swapped(pieces, group, EXCHANGE, deadline), axis=concat)

    def reduce_scatter(self, array: Array, group: Group | None = None, axis: int = 0, op: str = "sum",
                       deadline: float | None = None) -> Array:  # fmt: skip
        """The reduction of everybody's arrays; each rank gets its piece along ``axis``."""
        group = self._members(group)
        pieces = self.xp.split(self.xp.asarray(array), len(group), axis=axis)
        return reduced(self._swapped(pieces, group, SCATTER, deadline), op, self.xp)

    def all_reduce(self, array: Array, group: Group | None = None, op: str = "sum",
                   deadline: float | None = None) -> Array:  # fmt: skip
        """The reduction of everybody's arrays, for everybody."""
        group, array = self._members(group), self.xp.asarray(array)
        pieces = self.xp.array_split(self.xp.asarray(array, order="C").reshape(-1), len(group))
        mine = reduced(self._swapped(pieces, group, REDUCE, deadline), op, self.xp)
        sizes = [len(piece) for piece in pieces]
        parts = self._everybodys(mine, group, REDUCE, deadline, sizes)
        return self.xp.concatenate(parts).reshape(array.shape)

    def broadcast(self, array: Array, root: int = 0, group: Group | None = None,
                  deadline: float | None = None) -> Array:  # fmt: skip
        """The root's array; the others give one of the same shape and dtype."""
        group, array = self._members(group), self.xp.asarray(array, order="C")
        others = {r: array for r in group if r != root} if self.rank == root else {}
        out = array if self.rank == root else self.xp.empty_like(array)
        self._timed("broadcast", group, others, {} if self.rank == root else {root: out}, deadline)
        return out

    def send(self, array: Array, to: int, deadline: float | None = None) -> None:
        """Give an array to one rank, which receives it."""
        self._timed("send", (self.rank, to), {to: self.xp.asarray(array, order="C")}, {}, deadline)

    def recv(self, like: Array, source: int, deadline: float | None = None) -> Array:
        """The array that one rank sends, of the shape and dtype of ``like``."""
        out = self.xp.empty_like(like, order="C")
        self._timed("recv", (source, self.rank), {}, {source: out}, deadline)
        return out

    def neighbors(self, out: Mapping[int, Array], into: Mapping[int, Array],
                  deadline: float | None = None) -> Mapping[int, Array]:  # fmt: skip
        """Send to some ranks and fill the arrays of those that send here; all at once, so nobody waits in a ring."""
        came = {r: out[r] if r == self.rank else a for r, a in into.items()}
        members = sorted({self.rank, *out, *into})
        self._timed("neighbors", members, out, came, deadline)
        return came

    def barrier(self, deadline: float | None = None) -> None:
        """Wait for everybody."""
        self._everybodys(self.xp.zeros(1, np.uint8), range(self.size), "barrier", deadline)

    def _halo(self, move: Halo, part: Array, group: Group) -> Array:
        """Rows of images from the neighbours, or terms of rows to them."""
        at = list(group).index(self.rank)
        out = move.outgoing(at, part, self.xp)
        came = {other: self.xp.empty(shape, part.dtype) for other, shape in move.incoming(at, part).items()}
        outgoing, incoming = ({group[other]: a for other, a in way.items() if other != at} for way in (out, came))
        self._timed(move.kind, group, outgoing, incoming, None)
        return move.joined(at, part, {**came, **{other: a for other, a in out.items() if other == at}}, self.xp)

    def _members(self, group: Group | None) -> Group:
        return range(self.size) if group is None else group

    def _everybodys(self, mine: Array, group: Group, kind: str, deadline: float | None,
                    sizes: Sequence[int] | None = None) -> list[Array]:  # fmt: skip
        """Everybody's array in the order of the group; of mine's shape, or flat and of these sizes."""
        mine = self.xp.asarray(mine, order="C")
        shapes: list[Any] = [mine.shape] * len(group) if sizes is None else list(sizes)
        parts = [mine if r == self.rank else self.xp.empty(shape, mine.dtype) for r, shape in zip(group, shapes)]
        others = [r for r in group if r != self.rank]
        self._timed(kind, group, dict.fromkeys(others, mine), dict(zip(group, parts)), deadline)
        return parts

    def _swapped(self, pieces: Sequence[Array], group: Group, kind: str, deadline: float | None) -> list[Array]:
        """The piece of everybody that is mine, in the order of the group."""
        mine = pieces[list(group).index(self.rank)]
        came = [mine if r == self.rank else self.xp.empty(mine.shape, mine.dtype) for r in group]
        out = {r: self.xp.asarray(piece, order="C") for r, piece in zip(group, pieces)}
        self._timed(kind, group, out, dict(zip(group, came)), deadline)
        return came

    def _timed(self, kind: str, group: Group, out: Mapping[int, Array], into: Mapping[int, Array],
               deadline: float | None) -> None:  # fmt: skip
        """Exchange with the others of the group, and count."""
        out = {r: a for r, a in out.items() if r != self.rank and a.size}
        into = {r: a for r, a in into.items() if r != self.rank and a.size}
        start = time.monotonic()
        if out or into:
            self.exchange(out, into, kind, start + self.timeout if deadline is None else deadline)
        self._count(kind, group, sum(a.nbytes for a in out.values()), start)

    def _count(self, kind: str, group: Group, nbytes: int, start: float) -> None:
        found = self.stats.setdefault((kind, tuple(group)), Stats())
        found.calls += 1
        found.bytes += nbytes
        found.seconds += time.monotonic() - start

    # ---- plans ----

    def answer(self, run: Run, mesh: Mesh) -> list[Any]:
        """Walk a plan to its end, doing what the walk asks for."""
        reply: Any = None
        while True:
            try:
                request = run.send(reply)
            except StopIteration as end:
                self.settle(time.monotonic() + self.timeout)
                return list(end.value)
            self.check()
            reply = self._answer(request, mesh)

    def _answer(self, request: Request, mesh: Mesh) -> Any:
        if isinstance(request, ReplicatedWork):
            return request.run()
        if isinstance(request, CollectiveRequest):
            return self._moved(request, mesh)
        start, group = time.monotonic(), tuple(request.blocks)
        if isinstance(request, SendRequest):
            self.post(request.blocks)
            self._count(SEND, group, sum(a.nbytes for a in request.blocks.values()), start)
            return None
        self.exchange({}, request.blocks, f"what comes from {request.where}", start + self.timeout)
        self._count("recv", group, 0, start)
        return request.blocks

    def _moved(self, request: CollectiveRequest, mesh: Mesh) -> Array:
        m, first = request.move, request.first
        group = self._groups.get((first, mesh.factors, m.axes))
        if group is None:
            mine = next(g for g in mesh.groups(m.axes) if self.rank - first in g)
            group = self._groups[first, mesh.factors, m.axes] = [first + r for r in mine]
        if isinstance(m, Halo):
            return self._halo(m, request.part, group)
        if m.kind == GATHER:
            return self.all_gather(request.part, group, m.dim)
        if m.kind == EXCHANGE:
            return self.all_to_all(request.part, group, m.to, m.dim)
        if m.kind == SCATTER:
            return self.reduce_scatter(request.part, group, m.dim, request.reducer)
        return self.all_reduce(request.part, group, request.reducer)
