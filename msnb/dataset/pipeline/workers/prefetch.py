"""Threads for pipelines: map with order kept, and reading ahead.

`ordered_map` keeps a window of futures; results leave at the left in the order in which the work came in:

      done   running   waiting           the window never holds more than 2 jobs per thread, so an endless
    [ r7 ] [ r8  r9 ] [ r10 ]  <- next   source is read only a little ahead

`read_ahead` runs a whole iterator in one thread with a bounded buffer between. Threads, and where Python's lock is in
their way fresh processes (``crew``), never fork: forking a process that holds a pool of native threads can hang. A
child of fork has none of these threads: going on there with an iterator of the parent raises an error.

Both are generators, and the interpreter closes those that are left at its very end, when modules are half gone: their
last lines are written so that nothing of them needs a module then.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from msnb.base.errors import DatasetError
from msnb.base.source_location import hide_frames

A = TypeVar("A")
B = TypeVar("B")
for _frames in (*concurrent.futures.__path__, threading.__file__):  # a thread begins there: no line of the user
    hide_frames(_frames)


class _Window(Generic[A, B]):
    """The futures in flight; an error of the source waits its turn behind the results before it."""

    def __init__(self, function: Callable[[A], B], items: Iterable[A], pool: ThreadPoolExecutor) -> None:
        self.function, self.source, self.pool = function, iter(items), pool
        self.flying: deque[Future[B]] = deque()
        self.error: BaseException | None = None

    def pull(self, count: int) -> None:
        if self.error is not None:
            return
        try:
            for item in itertools.islice(self.source, count):
                self.flying.append(self.pool.submit(self.function, item))
        except BaseException as caught:  # raised again by `drain`, in its place
            self.error = caught

    def drain(self) -> Iterator[B]:
        while self.flying:
            result = self.flying.popleft().result()
            self.pull(1)
            yield result
        if self.error is not None:
            raise self.error


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
    pool = ThreadPoolExecutor(workers, thread_name_prefix="msnb-dataset")
    process, here, ends = os.getpid(), os.getpid, sys.is_finalizing
    try:
        window = _Window(function, items, pool)
        window.pull(2 * workers)
        for result in window.drain():
            yield result
            _need_same(process)
    finally:
        if not ends() and here() == process:
            pool.shutdown(wait=False, cancel_futures=True)
            hurry()
            pool.shutdown(wait=True)


def _need_same(process: int) -> None:
    """Raises a DatasetError in any other process than this."""
    if os.getpid() != process:
        raise DatasetError(
            "this iterator over a dataset began in the parent process, and its worker threads stayed there: a child of "
            "fork cannot go on with it.",
            hint="begin a new iterator in the child: dataset.create_dict_iterator() or for row in dataset.",
        )


class _Buffer(Generic[A]):
    """A bounded queue between one producer and one consumer that both sides can close."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: deque[A] = deque()
        self.changed = threading.Condition()
        self.error: BaseException | None = None
        self.ended = False
        self.closed = False

    def put(self, item: A) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: self.closed or len(self.items) < self.size)
            if not self.closed:
                self.items.append(item)
                self.changed.notify_all()
            return not self.closed

    def end(self, error: BaseException | None) -> None:
        with self.changed:
            self.error, self.ended = error, True
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def _fill(buffer: _Buffer[A], source: Iterator[A]) -> None:
    error: BaseException | None = None
    try:
        for item in source:
            if not buffer.put(item):
                break
    except BaseException as caught:  # it must reach the consumer, whatever it is
        error = caught
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
        buffer.end(error)


def read_ahead(source: Iterator[A], size: int) -> Generator[A, None, None]:
    """Yields what `source` yields, read up to `size` items ahead by a thread of its own.

    The thread ends with the source, at its first error (raised here, after the rows before it), or when this
    generator is closed.
    """
    buffer: _Buffer[A] = _Buffer(size)
    thread = threading.Thread(target=_fill, args=(buffer, source), daemon=True, name="msnb-dataset-prefetch")
    process, here, ends = os.getpid(), os.getpid, sys.is_finalizing
    thread.start()
    try:
        while True:
            _need_same(process)
            with buffer.changed:
                buffer.changed.wait_for(lambda: buffer.items or buffer.ended)
                if not buffer.items:
                    break
                item = buffer.items.popleft()
                buffer.changed.notify_all()
            yield item
        if buffer.error is not None:
            raise buffer.error
    finally:
        if not ends() and here() == process:
            buffer.close()
            thread.join(timeout=1.0)
