"""Threads for kernels: libgomp's ``GOMP_parallel`` where it is installed, else none.

libgomp keeps a pool per calling thread, and a child of fork must not touch its parent's: there kernels run alone, and
programs with parts that were made for several threads are called from a thread that the child begins itself. Whole
programs may be called from any thread: they queue for ``TURN``, so that one of them has all cores at a time. Single
kernels of eager mode come too often for that: those that other threads than the main one call (loaders of data, mostly)
run alone.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from msnb.base.settings import get_context
from msnb.base.threads import fork_locks, worker_threads

_SPIN = "GOMP_SPINCOUNT"


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    """libgomp, or None. Threads that wait spin briefly: long spinning ruins a shared machine."""
    ours = _SPIN not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if ours:
        os.environ[_SPIN] = "20000"
    try:
        found = ctypes.CDLL("libgomp.so.1")
        return found if hasattr(found, "GOMP_parallel") else None
    except OSError:
        return None
    finally:
        if ours:
            del os.environ[_SPIN]


@functools.lru_cache(maxsize=1)
def pointers() -> tuple[int | None, int | None]:
    """Addresses of the function that runs a task on every thread, and of the one that says which thread this is."""
    gomp = _library()
    if gomp is None:
        return None, None
    fork, number = (ctypes.cast(f, ctypes.c_void_p).value for f in (gomp.GOMP_parallel, gomp.omp_get_thread_num))
    return fork, number


class _Process:
    """Whose threads these are: the main thread, and whether the process is a child of fork, which has none of them."""

    main = threading.main_thread().ident
    forked = False
    apart: _Apart | None = None


FORKED = ctypes.c_int64(0)
"""1 where a call on several threads would wait for those of the parent process; machine code looks at it."""


def count() -> int:
    """How many threads a kernel called from here may use: ``set_context(runtime_num_threads=)``, 0 for all cores."""
    return of_a_program() if threading.get_ident() == _Process.main else 1


TURN = fork_locks.lock()
"""Held while a whole program runs natively; never while it calls Python, which may wait for other programs."""


def _after_fork() -> None:
    _Process.forked, _Process.apart, FORKED.value = True, None, 1


fork_locks.in_child(_after_fork)


def forked() -> bool:
    """True in a child of fork."""
    return _Process.forked


class _Apart:
    """A thread of a child of fork: libgomp knows nothing of it and gives it threads of its own."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[tuple[Callable[[], int], list[int], threading.Lock]] = queue.SimpleQueue()
        worker_threads.start(self._serve, "msnb programs")

    def _serve(self) -> None:
        while True:
            call, answer, done = self.asked.get()
            FORKED.value, code = 0, -1
            try:
                code = call()
            finally:
                FORKED.value = 1
                answer.append(code)
                done.release()


def apart(call: Callable[[], int], stop: Callable[[], None]) -> int:
    """``call()`` in a thread with a pool of this process; ``TURN`` is held.

    Args:
        call: runs natively.
        stop: asks it to end soon; called when waiting for it is interrupted. It is waited for all the same, for it
            writes into memory that is let go afterwards.
    """
    if _Process.apart is None:
        _Process.apart = _Apart()
    answer: list[int] = []
    done, interrupt = threading.Lock(), None  # waiting for an Event is many steps, and an interrupt may end any of them
    done.acquire()
    _Process.apart.asked.put((call, answer, done))
    while not answer:
        try:
            done.acquire()
        except BaseException as error:
            interrupt = error
            stop()
    if interrupt is not None:
        raise interrupt
    return answer[0]


def of_a_program() -> int:
    """How many threads a program may use that holds ``TURN``."""
    return 1 if _Process.forked or pointers()[0] is None else get_context("runtime_num_threads") or cores()


@functools.lru_cache(maxsize=1)
def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
