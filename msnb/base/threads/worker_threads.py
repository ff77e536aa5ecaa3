"""Threads that an interrupt of the main thread leaves whole.

A signal handler raises between any two steps of the main thread. ``Thread.start``, ``Condition``, ``Event`` and the
executors are such steps of Python: an interrupt within leaves a lock held for ever, or a thread that dies unborn. Here
another thread does the starting, and the main thread waits for locks and ``SimpleQueue`` alone: single steps of C,
which an interrupt leaves done or not begun.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


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


def run_all(tasks: Iterable[Callable[[], T]], name: str) -> list[T]:
    """Run each in a thread of its own.

    Returns:
        The results in the order of the tasks.

    Raises:
        The error of the first task, in that order, that has one; all have ended by then. What interrupts the waiting
        thread comes out at once.
    """
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def settle(number: int, task: Callable[[], T]) -> None:
        try:
            results[number] = task()
        except BaseException as error:  # handed to the caller's thread
            errors[number] = error

    ended = [start(partial(settle, i, task), f"{name} {i}") for i, task in enumerate(tasks)]
    for lock in ended:
        lock.acquire()
    if errors:
        raise errors[min(errors)]
    return [results[i] for i in range(len(ended))]
