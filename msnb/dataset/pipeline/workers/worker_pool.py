"""Worker processes for pipelines: what `python_multiprocessing=True` asks for.

      this process                                  worker processes (``worker``), fresh, one per thread
    [ r7 ] [ r8  r9 ] [ r10 ]  <- rows               ┌──────────────┐
              │    └──── thread 2 ── row 9 ─────────>│ user's map   │
              │    ┌──── thread 2 <─ result ─────────│              │
              └───────── thread 1 ...                └──────────────┘

Threads lend themselves to the processes: each sends one item, waits for the answer, and `parallel.ordered_map` does the
rest, so order, laziness and the place of errors are those of threads. The function is packed anew at the beginning of
every epoch, by value, so that what the program has changed meanwhile is seen; the processes stay for the next epoch,
and some of them for the next data set. They go when nothing came for a minute.

Draws are named by (seed, epoch, place, row) as everywhere in a pipeline. What a user's function draws from Python's,
NumPy's or msnb's own global generators follows the row too, in worker processes: no two workers repeat each other, and
their number changes nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import io
import itertools
import linecache
import marshal
import os
import pickle
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from msnb.base import PACKAGE_DIR, DatasetError, get_context, reraise_interrupt
from msnb.core import random as core_random
from msnb.dataset.pipeline.epoch_rng import Epoch, row_path
from msnb.dataset.pipeline.rows import name_of
from msnb.dataset.pipeline.workers import prefetch, worker_channel, worker_process

_PATIENCE = 1.0  # seconds that workers have for work whose results are not wanted any more
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_SETTINGS = ("mode", "device_target", "jit_level", "deterministic", "max_call_depth")
_numbers = itertools.count()
_alive: weakref.WeakSet[Crew] = weakref.WeakSet()
_SPARE = 8
_spare: list[_Process] = []  # of crews that are gone; see worker.IDLE for how long


@dataclass
class Job:
    """What workers do with an item: a method of a node that stands alone, without its parents.

    Args:
        node: has `height`; method: called with the epoch and the parts of an item; what: what messages call it;
        function: the user's; number: which row or batch an item is.
    """

    node: Any
    method: str
    epoch: Epoch
    what: str
    function: Any
    number: Callable[[Any], int]

    def __call__(self, item: tuple[Any, ...]) -> Any:
        _seed_globals(self.epoch, self.node.height, self.number(item))
        return getattr(self.node, self.method)(self.epoch, *item)


def first(item: tuple[Any, ...]) -> int:
    """The number of an item that begins with it."""
    return int(item[0])


def alone(node: Any) -> Any:
    """A copy of a node without its parents."""
    made = copy.copy(node)
    made.parents, made.parent = (), None
    return made


def _seed_globals(epoch: Epoch, height: int, row: int) -> None:
    words = np.random.SeedSequence(epoch.values.seed, spawn_key=row_path(epoch, height, row).key).generate_state(3)
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))  # noqa: NPY002 - users' functions draw from it
    core_random.set_seed(int(words[2]))


def ordered_map(owner: object, job: Job, items: Iterable[Any], workers: int) -> Iterator[Any]:
    """`map(job, items)` on worker processes; same results, same order, an error arrives at its own place.

    Args:
        owner: keeps the processes for its next epoch, and ends them when it goes.

    Raises:
        DatasetError: the job cannot be sent, fails, or a worker is killed.
    """
    crew = _crew_of(owner, workers)
    with contextlib.closing(_Work(job)) as work, crew.sharing(work):
        yield from prefetch.ahead(lambda item: crew.ask(work, item), items, workers, lambda: crew.hurry(work))


# ---- work ----


class _Work:
    """A job, packed once for all workers."""

    def __init__(self, job: Job) -> None:
        self.job, self.number = job, next(_numbers)
        self.around = {
            "path": list(map(str, sys.path)),
            "folder": os.getcwd(),
            "texts": {name: entry for name, entry in linecache.cache.items() if len(entry) == 4 and entry[1] is None},
            "settings": {name: get_context(name) for name in _SETTINGS},
        }
        self.parcel = _packed(job)

    def close(self) -> None:
        self.parcel.close()

    def place(self, item: Any) -> str:
        return f"{self.job.what}: {name_of(self.job.function)} at row {self.job.number(item)}"


def _packed(job: Job) -> worker_channel.Parcel:
    try:
        return worker_channel.Parcel(job, _dumps())
    except Exception as error:
        reraise_interrupt(error)
        raise DatasetError(
            f"{job.what}: {name_of(job.function)} cannot be sent to worker processes: {type(error).__name__}: {error}",
            hint="open files and make locks inside the function; functions of notebooks and local ones need "
            "`pip install msnb[workers]`; python_multiprocessing=False uses threads.",
        ) from error


def _dumps() -> worker_channel.Dumps:
    """cloudpickle, whose code objects keep their file name: errors and compilers look for the text under it."""
    try:
        from cloudpickle import Pickler
    except ImportError:
        return pickle.dumps

    class CodePickler(Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, CodeType):
                return marshal.loads, (marshal.dumps(value),)
            return super().reducer_override(value)

    def dumps(message: Any, **options: Any) -> bytes:
        with io.BytesIO() as file:
            CodePickler(file, **options).dump(message)
            return file.getvalue()

    return dumps


# ---- processes ----


# not -m: the package imports its own modules, and Python warns of a module that is there before it is run
_BEGIN = "import sys; from msnb.dataset.pipeline.workers.worker_process import main; main(sys.argv[1:])"


class _Process:
    """A worker's process and our end of its socket."""

    def __init__(self) -> None:
        self.link, theirs = socket.socketpair()
        self.known: set[int] = set()
        self.busy: int | None = None  # the number of the work
        self.killed = False  # by us; it may take a moment until it has ended
        home = str(Path(PACKAGE_DIR).resolve().parent)
        path = os.pathsep.join(dict.fromkeys([home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BEGIN, str(theirs.fileno())],
                env={**_ONE_THREAD, **os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in a terminal is ours
            )
        self.specs: dict[str, Any] = {}  # of modules that it may have loaded

    def stale(self) -> bool:
        """Whether it has ended, or may have an old state of a module that was loaded anew."""
        now = sys.modules
        return self.killed or self.process.poll() is not None or any(
            name in now and getattr(now[name], "__spec__", None) is not spec for name, spec in self.specs.items()
        )

    def ask(self, work: _Work, living: set[int], item: Any) -> tuple[Any, ...]:
        """The answer to an item.

        Raises:
            EOFError, OSError: the process has ended.
        """
        if work.number not in self.known:
            worker_channel.send(self.link, ("work", work.number, work.around))
            work.parcel.send(self.link)
            self.known.add(work.number)
            for name, module in sys.modules.copy().items():
                self.specs.setdefault(name, getattr(module, "__spec__", None))
        worker_channel.send(self.link, ("do", work.number, living, item))
        self.known &= living
        return tuple(worker_channel.receive(self.link))

    def status(self) -> int:
        """How it ended; it has, or soon will have."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(10)
        self.end()
        return self.process.wait()

    def kill(self) -> None:
        """End it at once: nobody gives it work any more."""
        self.killed = True
        self.process.kill()

    def end(self) -> None:
        """Kill it: it holds nothing that anyone needs."""
        self.kill()
        self.process.wait()
        self.let_go()

    def let_go(self) -> None:
        self.link.close()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()


class Crew:
    """Some worker processes, begun when there is work."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.forget()
        _alive.add(self)

    def forget(self) -> None:
        """Have no processes. In a forked child: they are the parent's, and must see its end."""
        for process in getattr(self, "processes", ()):
            process.let_go()
        self.processes: list[_Process] = []
        self.idle: list[_Process | None] = [None] * self.size  # the one used last is taken first
        self.free: queue.SimpleQueue[None] = queue.SimpleQueue()  # an entry for each of them
        for _ in range(self.size):
            self.free.put(None)
        self.works: set[int] = set()
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def sharing(self, work: _Work) -> Iterator[None]:
        """While inside, workers keep this work."""
        self.works.add(work.number)
        try:
            yield
        finally:
            self.works.discard(work.number)

    def ask(self, work: _Work, item: Any) -> Any:
        """What the job makes of an item, by a worker that is free."""
        self.free.get()
        process = self.idle.pop()
        try:
            while True:
                if process is None or (work.number not in process.known and process.stale()):
                    process = self._other(process)
                process.busy = work.number
                try:
                    answer = process.ask(work, set(self.works), item)
                    break
                except (EOFError, OSError):
                    begun, status = work.number in process.known, process.status()
                    process = self._other(process)
                    if begun and status != worker_process.IDLE_STATUS:
                        raise _died(work, item, status) from None
                finally:
                    process.busy = None
        finally:
            self.idle.append(process)
            self.free.put(None)
        return _taken(answer)

    def _other(self, before: _Process | None) -> _Process:
        """A process in the place of one that is of no use any more."""
        if before is not None:
            before.end()
            with self.lock:
                self.processes.remove(before)
        made = _spare_one() or _Process()
        with self.lock:
            self.processes.append(made)
        return made

    def hurry(self, work: _Work) -> None:
        """The results still in work are not wanted any more: end the workers that do not come to an end soon."""
        until = time.monotonic() + _PATIENCE
        while any(p.busy == work.number for p in self.processes) and time.monotonic() < until:
            time.sleep(0.005)
        for process in list(self.processes):
            if process.busy == work.number:
                process.kill()

    def close(self) -> None:
        """Have no processes any more; some wait a while for another crew."""
        processes, self.processes = self.processes, []
        for process in processes:
            if process.busy is None and not process.stale():
                _spare.append(process)
            else:
                process.end()
        while len(_spare) > _SPARE:
            _spare.pop(0).end()


def _spare_one() -> _Process | None:
    """A process that waits for a crew."""
    while True:
        try:
            found = _spare.pop()
        except IndexError:
            return None
        if not found.stale():
            return found
        found.end()


@atexit.register
def _end_all() -> None:
    for process in [*_spare, *(p for crew in list(_alive) for p in crew.processes)]:
        process.end()


_crews: weakref.WeakKeyDictionary[object, Crew] = weakref.WeakKeyDictionary()


def _crew_of(owner: object, size: int) -> Crew:
    crew = _crews.get(owner)
    if crew is None:
        crew = _crews[owner] = Crew(size)
        weakref.finalize(owner, crew.close).atexit = False
    return crew


def _forget_in_child() -> None:
    for process in _spare:
        process.let_go()
    _spare.clear()
    for crew in list(_alive):
        crew.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


# ---- answers ----


class WorkerTraceback(Exception):
    """The cause of an error from a worker process: its text is the traceback there."""


def _taken(answer: tuple[Any, ...]) -> Any:
    kind, *said, printed = answer
    if printed:
        print(printed, end="")
    if kind == "done":
        return said[0]
    error, cause, trace = said
    if not isinstance(error, DatasetError):
        error, cause = DatasetError(f"{type(error).__name__}: {error}"), error
    origin = error if cause is None else cause
    origin.__cause__ = WorkerTraceback(f"\n{trace}")
    if cause is None:
        raise error
    raise error from cause


def _died(work: _Work, item: Any, status: int) -> DatasetError:
    how = f"with status {status}"
    if status < 0:
        with contextlib.suppress(ValueError):
            how = f"by {signal.Signals(-status).name}"
    made = DatasetError(
        f"{work.place(item)}: the worker process ended {how}.",
        hint="killed from outside, by the system for lack of memory (fewer num_parallel_workers take less), or by "
        "native code of the function. Iterating again begins a new one.",
    )
    made.where = None
    return made
