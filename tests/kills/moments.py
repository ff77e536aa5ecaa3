"""What all kinds share: the trial, and what may not be left."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import eventually

Trial = Callable[[random.Random], tuple[bool, str]]
"""One kill at a moment that the generator draws: whether it came in time, and the sentence of what went wrong."""


def children() -> set[int]:
    """Processes of this process, and theirs, that live."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(folder.name)] = int(parent)
    found, more = {os.getpid()}, {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found - {os.getpid()}


@contextmanager
def killed_after(seconds: float, which: Callable[[], int | None]) -> Iterator[list[int]]:
    """Kill the process that ``which`` names so long after the block begins; gives the list of what was killed."""
    done, killed = threading.Event(), []

    def kill() -> None:
        if done.wait(seconds):
            return
        pid = which()
        if pid is not None:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            eventually(lambda: pid not in children())  # a signal may take its time; what comes after is not its moment
            killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


def measured(work: Callable[[], object]) -> float:
    """How long this takes, so that a moment can be drawn from it."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
