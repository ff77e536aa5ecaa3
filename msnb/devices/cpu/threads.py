"""Threads for kernels: libgomp's ``GOMP_parallel`` where it is installed, else none.

libgomp keeps a pool per calling thread, and a child of fork must not touch its parent's. Whole programs may be called
from any thread: they queue for ``TURN``, so that one of them has all cores at a time. Single kernels of eager mode come
too often for that: those that other threads than the main one call (loaders of data, mostly) run alone.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import threading
from typing import Any

from msnb.core.context import get_context

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


def count() -> int:
    """How many threads a kernel called from here may use: ``set_context(runtime_num_threads=)``, 0 for all cores."""
    return of_a_program() if threading.get_ident() == _Process.main else 1


TURN = threading.Lock()
"""Held while a whole program runs natively; never while it calls Python, which may wait for other programs."""


def _after_fork() -> None:
    """Nobody in the child holds the lock."""
    global TURN
    TURN, _Process.forked = threading.Lock(), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def of_a_program() -> int:
    """How many threads a program may use that holds ``TURN``."""
    if _Process.forked or pointers()[0] is None:
        return 1
    found: int = get_context("runtime_num_threads") or cores()
    return found


@functools.lru_cache(maxsize=1)
def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
