"""Threads for pipelines: map with order kept, and reading ahead.

`ordered_map` keeps a window of jobs; results leave at the left in the order in which the work came in:

      done   running   waiting           the window never holds more than 2 jobs per thread, so an endless
    [ r7 ] [ r8  r9 ] [ r10 ]  <- next   source is read only a little ahead

`read_ahead` runs a whole iterator in one thread with a bounded buffer between. Threads, and where Python's lock is in
their way fresh processes (``crew``), never fork: forking a process that holds a pool of native threads can hang. A
child of fork has none of these threads: going on there with an iterator of the parent raises an error.

Both are generators, and the interpreter closes those that are left at its very end, when modules are half gone: their
last lines are written so that nothing of them needs a module then.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from msnb.base.errors import DatasetError, is_interrupt
from msnb.base.source_location import hide_frames
from msnb.base.threads import worker_threads

A = TypeVar("A")
B = TypeVar("B")
hide_frames(threading.__file__)  # a thread begins there: no line of the user


class _Job(Generic[A, B]):
    """One item in work; its lock is held until the result is there."""

    def __init__(self, function: Callable[[A], B], item: A) -> None:
        self.function, self.item, self.error = function, item, None
        self.done = threading.Lock()
        self.done.acquire()

    result: B
    error: BaseException | None

    def run(self) -> None:
        try:
            self.result = self.function(self.item)
        except BaseException as caught:  # raised again by `wait`
            self.error = caught
        self.done.release()

    def wait(self) -> B:
        self.done.acquire()
        try:
            if self.error is not None:
                raise self.error
            return self.result
        finally:
            del self  # the error's traceback would keep the rows


class _Requests(Generic[A]):
    """What a consumer asks its threads for: jobs, or rows. They end when it is closed, or forgotten: an interrupt may
    come before any line that closes it."""

    waiting: SimpleQueue[A | None] = SimpleQueue()  # of one whose making was interrupted
    threads = 0

    def __init__(self, threads: int) -> None:
        self.waiting, self.threads = SimpleQueue(), threads

    def close(self, none_left: type[Exception] = Empty) -> None:
        """Ask for nothing any more."""
        try:
            while True:
                self.waiting.get_nowait()
        except none_left:
            for _ in range(self.threads):
                self.waiting.put(None)

    __del__ = close


class _Window(Generic[A, B]):
    """The jobs in flight; an error of the source waits its turn behind the results before it."""

    def __init__(self, function: Callable[[A], B], items: Iterable[A], workers: int) -> None:
        self.function, self.source, self.workers = function, iter(items), workers
        self.flying: deque[_Job[A, B]] = deque()
        self.jobs: _Requests[_Job[A, B]] = _Requests(workers)
        self.threads: list[threading.Lock] = []
        self.error: BaseException | None = None

    def pull(self, count: int) -> None:
        if self.error is not None:
            return
        try:
            for item in itertools.islice(self.source, count):
                self._submit(_Job(self.function, item))
        except Exception as caught:  # raised again by `drain`, in its place; what a signal's handler raises has none
            if is_interrupt(caught):
                raise
            self.error = caught

    def _submit(self, job: _Job[A, B]) -> None:
        self.flying.append(job)
        self.jobs.waiting.put(job)
        if len(self.threads) < self.workers:
            serve = partial(_serve, self.jobs.waiting)
            self.threads.append(worker_threads.start(serve, f"msnb-dataset_{len(self.threads)}"))

    def drain(self) -> Iterator[B]:
        while self.flying:
            result = self.flying.popleft().wait()
            self.pull(1)
            yield result
        if self.error is not None:
            raise self.error


def _serve(jobs: SimpleQueue[_Job[A, B] | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job


def ordered_map(function: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """`map(function, items)` on `workers` threads; same results, same order, an error arrives at its own place."""
    if workers == 1:
        yield from map(function, items)
    else:
        yield from ahead(function, items, workers)


def ahead(
    function: Callable[[A], B], items: Iterable[A], workers: int, hurry: Callable[[], None] = lambda: None
) -> Iterator[B]:
    """`ordered_map` that works ahead of its consumer with one thread too.

    Args:
        hurry: called before the threads are waited for in the end, to end what they still do.
    """
    window = _Window(function, items, workers)
    process, here, ends = os.getpid(), os.getpid, sys.is_finalizing
    try:
        window.pull(2 * workers)
        for result in window.drain():
            yield result
            _need_same(process)
    finally:
        if not ends() and here() == process:
            window.jobs.close()
            hurry()
            for ended in window.threads:
                ended.acquire()


def _need_same(process: int) -> None:
    """Raises a DatasetError in any other process than this."""
    if os.getpid() != process:
        raise DatasetError(
            "this iterator over a dataset began in the parent process, and its worker threads stayed there: a child of "
            "fork cannot go on with it.",
            hint="begin a new iterator in the child: dataset.create_dict_iterator() or for row in dataset.",
        )


def _fill(
    source: Iterator[A], rows: SimpleQueue[list[A] | BaseException | None], leave: SimpleQueue[bool | None]
) -> None:
    end: BaseException | None = None
    try:
        for item in source:
            if not leave.get():
                break
            rows.put([item])
    except BaseException as caught:  # it must reach the consumer, whatever it is
        end = caught
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
        rows.put(end)


def read_ahead(source: Iterator[A], size: int) -> Generator[A, None, None]:
    """Yields what `source` yields, read up to `size` items ahead by a thread of its own.

    The thread ends with the source, at its first error (raised here, after the rows before it), or when this
    generator is closed.
    """
    rows: SimpleQueue[list[A] | BaseException | None] = SimpleQueue()
    leave: _Requests[bool] = _Requests(1)
    for _ in range(size):
        leave.waiting.put(True)
    process, here, ends = os.getpid(), os.getpid, sys.is_finalizing
    thread = worker_threads.start(partial(_fill, source, rows, leave.waiting), "msnb-dataset-prefetch")
    try:
        _need_same(process)
        while isinstance(found := rows.get(), list):
            leave.waiting.put(True)
            yield found.pop()
            _need_same(process)
        if found is not None:
            raise found
    finally:
        if not ends() and here() == process:
            leave.close()
            thread.acquire(timeout=1.0)
