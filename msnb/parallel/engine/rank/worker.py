"""A rank's process: commands come over a socket, the main thread does them one after the other.

    socket --> reader thread --> queue --> main thread: load, run, call, epoch ... --> socket
                    |
                    +-- at once, whatever the main thread does: ping, stop (another rank failed), interrupt

The reader needs no CPU while nothing comes, and so does the main thread. When the client is gone the socket says so,
and the process ends, even from the middle of a computation: no orphans.

    python -m mpi4py -m msnb.parallel.engine.rank.worker SOCKET TIMEOUT mpi
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from msnb.base import MsnbError
from msnb.core import process_group
from msnb.parallel.engine.comm.communicator import Communicator
from msnb.parallel.engine.comm.mpi_backend import MpiComm
from msnb.parallel.engine.comm.mpi_job import remove
from msnb.parallel.engine.comm.nccl_backend import NcclComm
from msnb.parallel.engine.comm.rank_failures import Failure
from msnb.parallel.engine.rank.rank_state import RankState

Watch = Callable[[int], None]


class Worker:
    """A rank.

    Args:
        comm: its way to the other ranks.
        address: the client's socket.
        watch: called before every step of a plan with the step's number.
        alone: the process is ours: it ends when the client is gone.
        others: processes of ours beside it (a cluster's controller): they, and it, end when the client is gone without
            a goodbye.
    """

    def __init__(self, comm: Communicator, address: str, watch: Watch | None = None, alone: bool = True,
                 others: Sequence[int] = ()) -> None:  # fmt: skip
        self.comm: Communicator = comm
        self.watch: Watch | None = watch
        self.alone: bool = alone
        self.others: Sequence[int] = others
        self.folder: str = os.path.dirname(address)
        process_group.install(comm)
        self.plans: dict[str, RankState] = {}
        self.running: RankState | None = None
        self.busy: bool = False
        self.queue: queue.Queue[Any] = queue.Queue()
        link = socket.socket(socket.AF_UNIX)
        link.connect(address)
        self.link: Connection[Any, Any] = Connection(link.detach())
        self._sending = threading.Lock()
        self._say("hello", comm.rank, os.getpid())
        threading.Thread(target=self._read, daemon=True, name="msnb rank reader").start()

    # ---- the reader thread ----

    def _read(self) -> None:
        goodbye = False
        try:
            while True:
                message = pickle.loads(self.link.recv_bytes())
                goodbye = message[1] == "leave"
                if not self._at_once(message):
                    self.queue.put(message)
        except (EOFError, OSError):
            if self.alone or (self.others and not goodbye):
                self._end()
            self.queue.put((-1, "leave", ()))

    def _end(self) -> None:
        """End this process, whatever it does, and those that began with it; the folder of a client that could not."""
        remove(self.folder)
        for pid in self.others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        os._exit(0)

    def _at_once(self, message: tuple[Any, ...]) -> bool:
        number, command, args = message
        if command == "ping":
            self._say("pong", number, (self.busy, self.running.at if self.running else -1))
        elif command == "stop":
            self.comm.why = args[0]
            self.comm.stopped.set()
        elif command == "interrupt":
            if self.busy:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            return False
        return True

    def _say(self, *message: Any) -> None:
        content = pickle.dumps(message, protocol=5)
        with self._sending:
            self.link.send_bytes(content)

    # ---- the main thread ----

    def serve(self) -> None:
        """Do commands until told to leave."""
        while self.one():
            pass

    def one(self) -> bool:
        """Do one command; False when it was the last."""
        number, command, args = self._next()
        if command == "leave":
            process_group.install(None)  # the process may live on: an engine of ipyparallel
            self.comm.close()
            return False
        said = io.StringIO()
        try:
            self.busy = True
            with contextlib.redirect_stdout(said):
                answer: tuple[Any, ...] = ("done", number, (getattr(self, f"do_{command}")(*args), said.getvalue()))
            self.busy = False
        except BaseException as error:
            self.busy = False
            answer = ("failed", number, self._failure(error))
        self.running = None
        try:
            self._say(*answer)
        except OSError:
            return False
        except Exception as error:  # what a function gave back cannot be sent
            self._say("failed", number, self._failure(error))
        return True

    def interrupted(self, *_: Any) -> None:
        """Ctrl-C, as a process of our own handles it: it ends what the rank does, and nothing where it does nothing."""
        if self.busy:
            raise KeyboardInterrupt

    def _next(self) -> tuple[int, str, tuple[Any, ...]]:
        while True:
            try:
                return tuple(self.queue.get())
            except KeyboardInterrupt:
                continue  # nothing to interrupt

    def _failure(self, error: BaseException) -> Failure:
        text = error.sentence if isinstance(error, MsnbError) else str(error).split("\n")[0]
        where = self.running.where if self.running else ""
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return Failure(type(error).__name__, text or "interrupted", where, trace)

    # ---- commands ----

    def do_load(self, key: str, text: str, settings: Mapping[str, Any], often: bool) -> None:
        """Make a plan ready for one step or often; its steps run under these settings (``set_context``)."""
        self.plans[key] = RankState(text, self.comm, self.watch, settings, often)

    def do_plan(self, key: str, what: str, args: tuple[Any, ...]) -> Any:
        """Something with a plan: run it, give it values, save them."""
        self.running = self.plans[key]
        return getattr(self.running, what)(*args)

    def do_drop(self, key: str) -> None:
        """Forget a plan and what is held for it."""
        self.plans.pop(key, None)

    def do_call(self, content: bytes) -> Any:
        """``fn(comm, *args)``, of what names the function's module: it is imported here."""
        fn, args = pickle.loads(content)
        return fn(self.comm, *args)

    def do_epoch(self) -> None:
        """After a failure: begin anew with the others."""
        self.comm.renew(time.monotonic() + self.comm.timeout)

    def do_stats(self) -> dict[Any, tuple[int, int, float]]:
        """What was counted since the last time."""
        out = {key: (s.calls, s.bytes, s.seconds) for key, s in self.comm.stats.items()}
        self.comm.stats.clear()
        return out


def comm_named(kind: str, timeout: float) -> Communicator:
    """A rank's way to the others, by the name of a back end."""
    return NcclComm.of_environment(timeout) if kind == "nccl" else MpiComm(timeout)


def main(argv: list[str], watch: Watch | None = None) -> None:
    """Be a rank until the client leaves."""
    address, timeout, kind = argv
    worker = Worker(comm_named(kind, float(timeout)), address, watch)
    signal.signal(signal.SIGINT, worker.interrupted)
    worker.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
