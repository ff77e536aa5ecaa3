"""Ranks of an MPI job: non-blocking sends and receives on a communicator of our own, polled until a deadline.

A blocking collective cannot be left: when a peer is gone it waits for ever, and not even Ctrl-C ends it. So nothing
here blocks. After a failure the ranks begin a new *epoch*, a duplicate of the world: what was under way in the old one
can no longer be mistaken for something new. Requests of a dead epoch may still write into their buffers, so both are
kept.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from msnb.base import DeviceError
from msnb.parallel.engine.comm.communicator import Array, Communicator
from msnb.parallel.engine.comm.rank_failures import CollectiveTimeout

_EAGER, _NAP, _LONG = 100, 5e-5, 1e-3  # polls that only yield; then naps that grow


class MpiComm(Communicator):
    """A rank of MPI's world."""

    mpi: ModuleType

    def __init__(self, timeout: float) -> None:
        from mpi4py import MPI  # optional; importing it starts MPI

        self.mpi, world = MPI, MPI.COMM_WORLD
        super().__init__(world.rank, world.size, timeout)
        promised = int(os.environ.get("PMI_SIZE", world.size))
        if world.size != promised:
            raise DeviceError(
                f"{promised} ranks were begun, and MPI made a world of {world.size} of this one: "
                f"{MPI.Get_library_version().splitlines()[0]} does not speak PMI-1 with its launcher.",
                hint="pip install mpich, in an environment without another MPI.",
            )
        self.graveyard: list[Any] = []
        self.posted: list[tuple[Any, Array]] = []
        self.epoch: Any = None
        self.renew(time.monotonic() + timeout)
        _forget_names()

    def renew(self, deadline: float) -> None:
        """A fresh duplicate of the world."""
        super().renew(deadline)
        self.graveyard += [self.epoch, self.posted]
        self.posted = []
        fresh, request = self.mpi.COMM_WORLD.Idup()
        self._wait([request], (fresh, request), "the beginning of an epoch", deadline, lambda: "others")
        self.epoch = fresh

    def exchange(self, out: Mapping[int, Array], into: Mapping[int, Array], what: str, deadline: float) -> None:
        """Isend and Irecv, polled."""
        byte = self.mpi.BYTE
        receives = {r: self.epoch.Irecv([_bytes(a), byte], r) for r, a in into.items()}
        sends = {r: self.epoch.Isend([_bytes(a), byte], r) for r, a in out.items()}
        requests = [*receives.values(), *sends.values()]

        def missing() -> str:
            late = sorted({r for rs in (receives, sends) for r, q in rs.items() if not q.Test()})
            return f"rank{'s' if len(late) > 1 else ''} {', '.join(map(str, late))}"

        came = self._wait(requests, (requests, out, into), what, deadline, missing)
        self._need_all(what, into, came)

    def _need_all(self, what: str, into: Mapping[int, Array], came: list[Any]) -> None:
        """Raise where a rank sent another number of bytes than were expected of it."""
        kinds = [self.mpi.Get_error_class(status.Get_error()) for status in came]
        cut = [kind == self.mpi.ERR_TRUNCATE for kind in kinds]  # then others may not have come yet
        for (rank, a), status, more in zip(into.items(), came, cut):
            n = status.Get_count(self.mpi.BYTE)
            if more or (n != a.nbytes and not any(cut)):
                raise DeviceError(
                    f"{what}: {a.nbytes:,} bytes should come from rank {rank} (shape {list(a.shape)}, {a.dtype}), it "
                    f"sent {'more' if more else f'{n:,}'}.",
                    hint="the ranks of a group call the same collective, with the same shapes and dtypes.",
                )

    def post(self, out: Mapping[int, Array]) -> None:
        """Isend. The array is kept until it has gone."""
        self.posted = [(request, array) for request, array in self.posted if not request.Test()]
        self.posted += [(self.epoch.Isend([_bytes(a), self.mpi.BYTE], r), a) for r, a in out.items()]

    def settle(self, deadline: float) -> None:
        """Poll until all has gone."""
        posted, self.posted = self.posted, []
        if posted:
            self._wait([request for request, _ in posted], posted, "what was sent to other stages", deadline,
                       lambda: "their ranks")  # fmt: skip

    def _wait(self, requests: list[Any], hold: Any, what: str, deadline: float, missing: Any) -> list[Any]:
        """Poll until all is done; gives what is said of each. What is left unfinished goes to the graveyard with its
        buffers."""
        polls, nap = 0, _NAP
        said = [self.mpi.Status() for _ in requests]
        try:
            while not self._done(requests, said):
                self.check()
                polls += 1
                if polls > _EAGER:
                    if time.monotonic() > deadline:
                        raise CollectiveTimeout(f"{what}: {missing()} did not come before the deadline.")
                    nap = min(nap * 1.1, _LONG)
                time.sleep(0 if polls <= _EAGER else nap)
        except BaseException:
            self.graveyard.append(hold)
            raise
        return said

    def _done(self, requests: list[Any], said: list[Any]) -> bool:
        """Whether all requests are through; a message that was too long for its array says so in its status."""
        try:
            return bool(self.mpi.Request.Testall(requests, said))
        except self.mpi.Exception as error:
            if error.Get_error_class() != self.mpi.ERR_IN_STATUS:
                raise
            return True  # as far as they will ever be


def _bytes(a: Array) -> Any:
    return a.reshape(-1).view(np.uint8)


def _forget_names() -> None:
    """Take the names off the shared memory of MPI's world, which all ranks have opened by now: without a name it is
    gone with the last rank, however that one ends."""
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for name in {line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line and "deleted" not in line}:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
