"""``ms.parallel.Engine``: real ranks, seen from the program that uses them.

    with ms.parallel.Engine("mpi", n=4, timeout=10) as engine:
        loss, gradients = plan.run(x, label, engine=engine)

Commands go to every rank; then the client waits for all answers at once. From the first answer on the others have
``timeout`` seconds. When one rank fails, the others are told so at once and fail too, wherever they wait; a rank that
does not react is interrupted; one that still is silent, or dead, costs a restart. So a run ends on every rank and here,
with an answer or with an error, and nobody waits for ever.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import shutil
import socket
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DeviceError, get_context
from msnb.parallel.engine.client.process_launcher import START, WORKER, Notebook, Processes, missing, no_way
from msnb.parallel.engine.comm.private_folder import note, private_folder
from msnb.parallel.engine.comm.rank_failures import KILLED, Failure, RankError

BACKENDS = ("mpi", "ipp", "nccl")
_LONGEST = 103 if sys.platform == "darwin" else 107  # bytes of a socket's path
_ALIVE: weakref.WeakSet[Engine] = weakref.WeakSet()
# Seconds. A process that ends is noticed at once; these are for one that says nothing, while the machine is busy.
_LOAD = 300.0  # for the others to make a plan ready when one has: no rank waits for another, but compilers take long
_PONG = 5.0  # for a rank's reader to answer
_STOP, _INTERRUPT = 1.0, 5.0  # for a rank to give up when it is told so, and when it is interrupted


class RankLinks:
    """The sockets of the ranks that run.

    Attributes:
        sockets: by rank; pids: the processes behind them.
    """

    def __init__(self) -> None:
        self.sockets: dict[int, Connection] = {}
        self.pids: dict[int, int] = {}
        self._number = 0

    def let_in(self, link: Connection) -> None:
        """A process that came: it says which rank it is."""
        _, rank, pid = pickle.loads(link.recv_bytes())
        self.sockets[rank], self.pids[rank] = link, pid

    def close(self) -> list[int]:
        """Forget all ranks; gives their processes."""
        for link in self.sockets.values():
            link.close()
        pids = list(self.pids.values())
        self.sockets.clear()
        self.pids.clear()
        return pids

    def next_number(self) -> int:
        """The number of a command, which its answers carry."""
        self._number += 1
        return self._number

    def tell(self, rank: int, command: str, *args: Any, number: int = -1) -> None:
        """A command to one rank."""
        self.sockets[rank].send_bytes(pickle.dumps((number, command, args), protocol=5))

    def pongs(self) -> dict[int, Any]:
        """What every rank's reader says, if it says anything soon."""
        asked = self.next_number()
        out: dict[int, Any] = dict.fromkeys(self.sockets)
        for rank in list(self.sockets):
            with contextlib.suppress(OSError):
                self.tell(rank, "ping", number=asked)
        until = time.monotonic() + _PONG
        waiting = {link: rank for rank, link in self.sockets.items()}
        while waiting and (left := until - time.monotonic()) > 0:
            for link in wait(list(waiting), left):
                rank = waiting[link]  # type: ignore[index]
                try:
                    kind, number, said = pickle.loads(self.sockets[rank].recv_bytes())
                except (EOFError, OSError):
                    kind, number, said = "gone", asked, None
                if kind in ("pong", "gone") and number == asked:
                    waiting.pop(link)  # type: ignore[call-overload]
                    out[rank] = said
                    if kind == "gone":
                        del out[rank]
        return out

    def silent(self) -> list[int]:
        """Ranks that are gone, silent, or still busy."""
        pongs = self.pongs()
        return [r for r in self.pids if pongs.get(r) is None or pongs[r][0]]


class Engine:
    """Processes that run plans, one per rank.

    Args:
        backend: "mpi" (an MPI job on this machine), "ipp" (ipyparallel's engines, so that ``%%px`` works beside it) or
            "nccl" (GPUs).
        n: how many ranks.
        timeout: seconds that a collective may take, and that ranks have to answer when one has.
        threads: of every rank, for BLAS and native kernels.
        cluster: for "ipp", a running ``ipyparallel.Cluster``.
        worker: the module that the processes run (tests bring their own).

    Raises:
        ValueError: an unknown back end or a number that is no number of ranks.
        RuntimeError: DeviceError: the machine lacks what the back end needs.

    Examples:
        >>> Engine("mpi", n=2)
        <Engine mpi, 2 ranks: not started>
    """

    def __init__(self, backend: str = "mpi", n: int = 2, timeout: float = 60.0, threads: int = 1, cluster: Any = None,
                 worker: str = WORKER) -> None:  # fmt: skip
        if backend not in BACKENDS:
            raise AttributeValueError(f"no engine is called {backend!r}; legal: {', '.join(map(repr, BACKENDS))}.")
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 64:
            raise AttributeValueError(f"n={n} is no number of ranks for one machine; legal: 1 to 64.")
        self.backend = backend
        self.n: int = n
        self.timeout: float = float(timeout)
        self.launcher: Processes | Notebook = (
            Notebook(n, threads, cluster) if backend == "ipp" else Processes(backend, n, threads, worker)
        )
        self.links: RankLinks = RankLinks()
        self.pids: dict[int, int] = self.links.pids
        self.started: bool = False
        self.failed: bool = False
        self.plans: dict[str, tuple[str, bool]] = {}
        self._folder = ""
        self._also: list[str] = []

    # ---- life ----

    def start(self) -> Engine:
        """Begin the ranks (nothing happens when they run already)."""
        if self.started:
            return self
        why = missing(self.backend)
        if why:
            raise no_way(self.backend, why)
        self._folder = _meeting_folder()
        note(self._folder, self._also)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(f"{self._folder}/door")
            door.listen(self.n)
            door.settimeout(0.1)
            _ALIVE.add(self)
            self.started, self.failed = True, False
            try:
                self.launcher.start(f"{self._folder}/door", self.timeout, self._folder)
                self._let_in(door)
            except BaseException:
                self.stop()
                raise
        for key, plan in self.plans.items():
            self._load(key, *plan)
        return self

    def _let_in(self, door: socket.socket) -> None:
        until = time.monotonic() + START
        while len(self.pids) < self.n:
            ended = self.launcher.ended()
            if ended or time.monotonic() > until:
                raise DeviceError(f"{len(self.pids)} of {self.n} ranks came; {ended or 'the others are silent'}.")
            with contextlib.suppress(TimeoutError):
                self.links.let_in(Connection(door.accept()[0].detach()))

    def stop(self) -> None:
        """End the ranks. Nothing of them is left."""
        self._end()

    def _end(self, again: bool = False) -> None:
        if not self.started:
            return
        self.started = False
        with contextlib.suppress(OSError):
            note(self._folder, [])  # we are not killed: temporary folders stay, perhaps for those who begin again
        for rank in list(self.links.sockets):
            with contextlib.suppress(OSError):
                self.links.tell(rank, "leave")
        self.launcher.stop(self.links.close(), again)
        shutil.rmtree(self._folder, ignore_errors=True)
        _ALIVE.discard(self)

    def recover(self) -> str:
        """Make the ranks ready: every rank is asked; those that live begin a new epoch after a failure; when one is
        gone, or says nothing for some seconds, all begin again.

        Returns:
            "ready" (every rank answered and nothing was wrong), "recovered" or "restarted". What the ranks held is gone
            after a restart.
        """
        well = self.started and len(self.links.sockets) == self.n and self.links.silent() == []
        if well and not self.failed:
            return "ready"
        if well:
            try:
                self.failed = False
                self._all("epoch")
                return "recovered"
            except DeviceError:
                pass
        self.restart()
        return "restarted"

    def restart(self) -> Engine:
        """End the ranks and begin them again, with the same plans."""
        self._end(again=True)
        return self.start()

    @contextlib.contextmanager
    def temporary(self, path: str) -> Iterator[None]:
        """Within the block, the ranks remove a temporary folder of ours when this process is killed."""
        self._also.append(path)
        self._note()
        try:
            yield
        finally:
            self._also.remove(path)
            self._note()

    def _note(self) -> None:
        if self.started:
            note(self._folder, self._also)

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self.stop()

    def __repr__(self) -> str:
        state = "not started" if not self.started else "needs recover()" if self.failed else "ready"
        return f"<Engine {self.backend}, {self.n} ranks: {state}>"

    # ---- work ----

    def load(self, key: str, text: str, often: bool = False) -> None:
        """Make a plan ready on every rank.

        Args:
            key: its name from now on; text: its document (``msnb.parallel.program.program_document``).
            often: many steps are wanted, so the ranks compile it where this process would.
        """
        self._load(key, text, often)
        self.plans[key] = text, often

    def _load(self, key: str, text: str, often: bool) -> None:
        self._all("load", key, text, self._settings(), often, patience=_LOAD)

    def _settings(self) -> dict[str, Any]:
        """How the ranks compute: as this process does, each with its share of threads."""
        return {"jit_level": get_context("jit_level"), "runtime_num_threads": self.launcher.threads}

    def run(self, key: str, values: Mapping[int, Any]) -> list[list[Any]]:
        """One step of a loaded plan.

        Args:
            key: its name; values: number of a param -> its whole value.

        Returns:
            Per rank its parts of the results (None where another rank hands in the same part).

        Raises:
            RankError: a rank failed; it says what happened on every rank.
        """
        return self.ask(key, "run", values)

    def ask(self, key: str, what: str, *args: Any) -> list[Any]:
        """Something else of a loaded plan: "give" values to hold, "take" what is held."""
        return self._all("plan", key, what, args)

    def drop(self, key: str) -> None:
        """Forget a plan and what the ranks hold for it."""
        self.plans.pop(key, None)
        self._all("drop", key)

    def map(self, fn: Any, *args: Any) -> list[Any]:
        """``fn(comm, *args)`` on every rank; comm has rank, size and the collectives.

        Args:
            fn: a function of a module that the ranks can import too; args: what can be pickled.

        Returns:
            The results in the order of the ranks.
        """
        if getattr(fn, "__module__", "__main__") == "__main__" or "<" in getattr(fn, "__qualname__", "<"):
            raise ArgumentError("Engine.map takes a function of a module: ranks are other processes and import it.",
                                hint="move it into a file; in a notebook %%px runs cells on ranks.")  # fmt: skip
        return self._all("call", pickle.dumps((fn, args), protocol=5))  # read where an error of it can be told

    def stats(self) -> list[dict[Any, tuple[int, int, float]]]:
        """Per rank: (collective, group) -> calls, bytes sent, seconds, since this was last asked."""
        return self._all("stats")

    def health(self) -> dict[int, str]:
        """Rank -> "idle", "busy at step k", "silent" or "gone"."""
        out = dict.fromkeys(range(self.n), "gone")
        for rank, said in self.links.pongs().items():
            busy, at = said or (None, 0)
            out[rank] = "silent" if busy is None else f"busy at step {at}" if busy else "idle"
        return out

    # ---- talk ----

    def _all(self, command: str, *args: Any, patience: float | None = None) -> list[Any]:
        """A command to every rank, and their answers.

        Args:
            patience: seconds that the others have when one has answered; by default those of a collective.
        """
        if not self.started:
            raise DeviceError("the engine is not started.", hint="engine.start(), or `with Engine(...) as engine:`.")
        if self.failed:
            raise DeviceError("the engine's ranks failed before.", hint="engine.recover() makes them ready again.")
        number = self.links.next_number()
        content = pickle.dumps((number, command, args), protocol=5)
        round_ = _Round(self, number, self.timeout if patience is None else max(patience, self.timeout))
        for rank, link in list(self.links.sockets.items()):
            try:
                link.send_bytes(content)
                self.launcher.wake(rank)
            except OSError:
                round_.lost(rank)
        try:
            round_.wait_for_all()
        except BaseException as error:  # Ctrl-C here: the ranks are called off, then it goes on
            self.failed = True
            round_.call_off(f"the client was interrupted ({type(error).__name__})")
            raise
        if round_.failures:
            self.failed = True
            raise RankError(round_.failures)
        return [round_.answers[rank] for rank in range(self.n)]


class _Round:
    """One command's answers, as they come; ``patience`` seconds after the first they should be there."""

    def __init__(self, engine: Engine, number: int, patience: float) -> None:
        self.engine, self.number, self.patience = engine, number, patience
        self.answers: dict[int, Any] = {}
        self.failures: dict[int, Failure] = {}
        self.told = False

    def lost(self, rank: int) -> None:
        """A rank's process is gone."""
        link = self.engine.links.sockets.pop(rank, None)
        if link is not None:
            link.close()
        self.failures[rank] = Failure(KILLED, "its process ended")

    def _open(self) -> list[int]:
        return [r for r in self.engine.links.sockets if r not in self.answers and r not in self.failures]

    def wait_for_all(self) -> None:
        """Until everybody has answered, is gone, or has been given up."""
        until = float("inf")
        while waiting := self._open():
            if self.failures and not self.told:
                self.call_off(next(f"rank {r}: {f}" for r, f in self.failures.items()))
                return
            if self.answers and until == float("inf"):
                until = time.monotonic() + self.patience
            left = until - time.monotonic()
            if left <= 0:
                self.call_off(f"rank {', '.join(map(str, waiting))} did not answer in time")
                return
            self._receive(waiting, None if left == float("inf") else left)

    def call_off(self, why: str) -> None:
        """Tell the others; then interrupt those who do not react; then give them up."""
        self.told = True
        for command, args, patience in (("stop", (why,), _STOP), ("interrupt", (), _INTERRUPT)):
            for rank in self._open():
                with contextlib.suppress(OSError):
                    self.engine.links.tell(rank, command, *args)
            until = time.monotonic() + min(patience, self.engine.timeout)
            while self._open() and (left := until - time.monotonic()) > 0:
                self._receive(self._open(), left)
        for rank in self._open():
            self.failures[rank] = Failure("silent", "it did not answer, and could not be interrupted")

    def _receive(self, ranks: Sequence[int], timeout: float | None) -> None:
        links = {self.engine.links.sockets[r]: r for r in ranks}
        for link in wait(list(links), timeout):
            rank = links[link]  # type: ignore[index]
            try:
                kind, number, said = pickle.loads(self.engine.links.sockets[rank].recv_bytes())
            except (EOFError, OSError):
                self.lost(rank)
                continue
            if number == self.number and kind == "done":
                self.answers[rank], text = said
                if text and rank == 0:
                    print(text, end="")
            elif number == self.number and kind == "failed":
                self.failures[rank] = said


def _meeting_folder() -> str:
    """A folder of our own for the socket at which ranks meet."""
    folder = private_folder("ranks")
    if len(os.fsencode(f"{folder}/door")) > _LONGEST:
        shutil.rmtree(folder, ignore_errors=True)
        raise DeviceError(
            f"the folder for temporary files, {tempfile.gettempdir()!r}, has too long a name: ranks meet at a "
            f"socket in it, whose path has at most {_LONGEST} bytes.",
            hint="set TMPDIR to a folder with a shorter name.",
        )
    return folder


def running(backend: str, n: int) -> Engine | None:
    """An engine of this kind and this many ranks that is ready."""
    return next((e for e in _ALIVE if (e.backend, e.n) == (backend, n) and e.started and not e.failed), None)


@atexit.register
def _stop_all() -> None:
    for engine in list(_ALIVE):
        with contextlib.suppress(Exception):
            engine.stop()


def _forget_in_child() -> None:
    """The ranks are the parent's: they see its end only if nobody else holds the other ends of their sockets."""
    for engine in list(_ALIVE):
        engine.started, engine.failed = False, False
        engine.launcher.forget()
        engine.links.close()
    _ALIVE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
