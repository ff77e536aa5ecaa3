"""Locks across ``os.fork``: a child has one thread, and no lock that another thread of its parent held.

    lock()       a lock that the child finds free, unless the thread that forked holds it itself
    settled(l)   a fork waits, for a while, until nobody else holds ``l``: what it guards must not be copied half done
                 (objects on loan to a capture, the inside of a compiler)
    finished(f)  ``f`` so that forks of other threads wait until it returns: it runs in a library with locks of its own

Locks here are reentrant: those know who holds them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from msnb.base.events import notice

PATIENCE = 20.0
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_settled: list[tuple[int, Any]] = []
_taken: dict[int, list[Any]] = {}
_after: list[Callable[[], None]] = []
_gate = threading.RLock()
_locks.add(_gate)
_forking: list[int] = []


def lock() -> Any:
    """A reentrant lock that nobody holds in a child of fork but the thread that forked."""
    made = threading.RLock()
    _locks.add(made)
    return made


class _Own(threading.local):
    """Every thread has a lock of its own around calls of such libraries: threads do not wait for each other."""

    def __init__(self) -> None:
        self.lock = lock()
        _running.add(self.lock)


_running: weakref.WeakSet[Any] = weakref.WeakSet()
_own = _Own()


def settled(guarding: Any, rank: int) -> Any:
    """Make forks wait for this lock; those of a lower rank are asked for first, as programs take them."""
    _settled.append((rank, guarding))
    _settled.sort(key=lambda entry: entry[0])
    _locks.add(guarding)
    return guarding


def in_child(do: Callable[[], None]) -> None:
    """Call ``do`` in every child of fork, when its locks are free."""
    _after.append(do)


def finished(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, which forks of other threads do not interrupt."""

    def run(*args: Any) -> Any:
        if _forking:
            with _gate:
                pass
        with _own.lock:
            return call(*args)

    return run


def _before() -> None:
    """Never for ever: who holds a lock may wait for what the forking thread holds."""
    end = monotonic() + PATIENCE
    taken = _taken[threading.get_ident()] = []
    _forking.append(threading.get_ident())
    for guarding in (_gate, *(entry[1] for entry in _settled), *_running):
        if guarding.acquire(timeout=max(0.0, end - monotonic())):
            taken.append(guarding)
        else:
            notice(
                f"a fork waited {PATIENCE:.0f} s for a compilation or a library call in another thread and went on "
                "without it: what that thread was working on may be unusable in the child.",
                key="fork while compiling",
            )


def _release() -> None:
    for guarding in reversed(_taken.pop(threading.get_ident(), [])):
        guarding.release()
    with suppress(ValueError):
        _forking.remove(threading.get_ident())


def _in_child() -> None:
    _release()
    _taken.clear()
    _forking.clear()
    for each in list(_locks):
        if not each._is_owned():
            each._at_fork_reinit()
    for do in _after:
        do()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
