"""A worker process of a data set: it is sent work once per epoch, then items, and answers with what came of each.

    work    number, sys.path and folder of the client   so that the same modules and files are found;
            texts of cells                              as in linecache: errors show them, compilers read them;
            settings                                    set_context
            pickled function                            see ``crew``: the function of a node, without its parents
    do      number, numbers that still live, item   ->  ("done", result, printed)
                                                        ("failed", error, its cause, its traceback, printed)

It is a fresh process, never a fork: one that holds a pool of native threads cannot be forked safely. It ends when the
client is gone, from the middle of an item too (the standard input of this process closes), and when nothing came for
``IDLE`` seconds; then the client begins another when there is work again.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import pickle
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from msnb.base import DatasetError, get_context, set_context
from msnb.dataset.pipeline.workers import worker_channel

IDLE = float(os.environ.get("MSNB_WORKER_IDLE", 60.0))  # tests do not wait so long
IDLE_STATUS = 75  # it ended because nothing was to do


class Server:
    """Does what comes over a socket."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.works: dict[int, Callable[[Any], Any] | BaseException] = {}

    def serve(self) -> None:
        """Until the client is gone, or needs nothing any more."""
        while True:
            self.link.settimeout(IDLE)
            try:
                command, *args = self._next()
            except TimeoutError:
                os._exit(IDLE_STATUS)
            getattr(self, f"on_{command}")(*args)

    def _next(self) -> tuple[Any, ...]:
        waiting = self.link.recv(1, socket.MSG_PEEK)
        self.link.settimeout(None)
        if not waiting:
            raise EOFError
        return tuple(worker_channel.receive(self.link))

    def on_work(self, number: int, around: dict[str, Any]) -> None:
        """A function: the next message, whose arrays all workers share."""
        data, buffers = worker_channel.receive_parts(self.link, shared=True)
        sys.path[:] = around["path"]
        linecache.cache.update(around["texts"])
        try:
            os.chdir(around["folder"])
            changed = {name: value for name, value in around["settings"].items() if get_context(name) != value}
            if changed:
                set_context(**changed)
            self.works[number] = pickle.loads(data, buffers=buffers)
        except BaseException as error:  # raised when it is used
            self.works[number] = error

    def on_do(self, number: int, living: set[int], item: Any) -> None:
        """Call a function with an item; those that no call will need any more are dropped."""
        self.works = {n: work for n, work in self.works.items() if n in living}
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                work = self.works[number]
                if isinstance(work, BaseException):
                    raise unreadable(work) from work
                answer: tuple[Any, ...] = ("done", work(item))
            parcel = worker_channel.Parcel((*answer, printed.getvalue()))
        except BaseException as error:
            parcel = worker_channel.Parcel((*_failed(error), printed.getvalue()))
        with parcel:
            parcel.send(self.link)


def unreadable(error: BaseException) -> DatasetError:
    """The sentence for a function that arrived and cannot be made again."""
    return DatasetError(
        f"a worker process cannot read the function it was sent: {type(error).__name__}: {error}",
        hint="a function of a notebook or a script travels by value with cloudpickle (`pip install msnb[workers]`); "
        "what it imports must be found there too. python_multiprocessing=False uses threads.",
    )


def _failed(error: BaseException) -> tuple[Any, ...]:
    """An error as it travels: itself, or its text where it cannot be pickled; its cause; its traceback."""
    if not isinstance(error, Exception):  # sys.exit() in a user's function, for instance
        error = DatasetError(f"the function ended its worker process: {type(error).__name__}: {error}")
    origin = error.__cause__ if isinstance(error, DatasetError) and error.__cause__ is not None else error
    trace = "".join(traceback.format_exception(type(origin), origin, origin.__traceback__))
    return "failed", _portable(error), None if origin is error else _portable(origin), trace


def _portable(error: BaseException) -> BaseException:
    with contextlib.suppress(Exception):
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    return DatasetError(f"{type(error).__name__}: {error}")


def _watch() -> None:
    """End with the client, whatever is being done."""
    with contextlib.suppress(OSError):
        while os.read(0, 64):
            pass
    os._exit(1)


def main(argv: list[str]) -> None:
    """Be a worker; the argument is the descriptor of the socket."""
    set_context(runtime_num_threads=1)  # the processes are the parallelism
    threading.Thread(target=_watch, daemon=True, name="msnb-dataset-watch").start()
    link = socket.socket(fileno=int(argv[0]))
    with contextlib.suppress(EOFError, OSError):
        Server(link).serve()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)  # what a user's function left running, threads say, does not keep it


if __name__ == "__main__":
    main(sys.argv[1:])
