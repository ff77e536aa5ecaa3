"""Threads that an interrupt of the main thread leaves whole.

A signal handler raises between any two steps of the main thread. ``Thread.start``, ``Condition``, ``Event`` and the
executors are such steps of Python: an interrupt within leaves a lock held for ever, or a thread that dies unborn. Here
another thread does the starting, and the main thread waits for locks and ``SimpleQueue`` alone: single steps of C,
which an interrupt leaves done or not begun.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any


def start(run: Callable[[], Any], name: str) -> threading.Lock:
    """Run it in a thread that does not outlive the program.

    Returns:
        A lock that is held until the thread has ended.
    """
    ended = threading.Lock()
    ended.acquire()

    def whole() -> None:
        try:
            run()
        finally:
            ended.release()

    _thread.start_new_thread(threading.Thread(target=whole, daemon=True, name=name).start, ())
    return ended
