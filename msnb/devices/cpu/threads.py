"""Threads for kernels: libgomp's ``GOMP_parallel`` where it is installed, else none.

A pool belongs to the thread that first used it, and a child of fork must not touch its parent's. So only the main
thread of the process that loaded the library works in parallel; others run their kernels alone.
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


_owner = os.getpid()


def count() -> int:
    """How many threads a kernel called from here may use: ``set_context(runtime_num_threads=)``, 0 for all cores."""
    if pointers()[0] is None or os.getpid() != _owner or threading.current_thread() is not threading.main_thread():
        return 1
    return int(get_context("runtime_num_threads")) or cores()


@functools.lru_cache(maxsize=1)
def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
