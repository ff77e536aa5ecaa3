"""All or nothing in eager mode: what a step wrote before it was interrupted is taken back.

    step(fn)     gradient call: moving statistics, random state      noted: (tensor, its value before)
                 optimizer:     weights, moments                     an exception: every value is put back

One step is what runs inside the outermost ``step``: a training cell as a whole; else a gradient call, and the optimizer
call after it, which takes back what that gradient call wrote when it does not get through itself. Values are buffers
that nobody writes into, so noting one costs a reference. Compiled programs commit at once and by themselves; one that
ends a step (``commit``) leaves nothing to take back. An interrupt that comes when such a program has begun to write
waits until everything is in its place (``late``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from msnb.core.engine import slot
from msnb.core.storage.packed_storage import BlockedStorage, kept_of, put_back
from msnb.core.tensor import Tensor

Noted = tuple[Tensor, Any, Any, "BlockedStorage | None"]


class _Log(threading.local):
    """What the step of this thread wrote, None where none runs; and what the gradient call before it wrote, with the
    values that it left."""

    entries: list[Noted] | None = None
    late: BaseException | None = None  # an interrupt that came when a program had begun to write
    before: list[tuple[Noted, Any]] | None = None


log: _Log = _Log()


def note(target: Tensor) -> None:
    """``target`` is about to get another value."""
    entries = log.entries
    if entries is not None:
        kept = kept_of(target)
        entries.append((target, target._data if kept is None else None, target._type, kept))


def commit() -> None:
    """A program wrote all that the step was for: from here on it is done."""
    if log.entries is not None:
        log.entries.clear()
        log.before = None


def raise_late() -> None:
    """Raise the interrupt that waited until all was written."""
    late, log.late = log.late, None
    if late is not None:
        raise late


def step(run: Callable[..., Any], *args: Any, updates: bool = True) -> Any:
    """``run(*args)``: all that it writes, or nothing.

    Args:
        run: a gradient call, an update, or a step as a whole.
        args: its arguments.
        updates: whether the step is over with it; a gradient call leaves that to the optimizer.
    """
    if log.entries is not None:
        return run(*args)
    if not updates:
        log.before = None
    entries: list[Noted] = []
    engine = slot.engine
    log.entries = entries
    try:
        found = run(*args)
    except BaseException:
        slot.engine = engine  # an interrupt may come where a block is about to put it back
        _take_back(entries)
        raise
    finally:
        log.entries = None
    log.before = None if updates or not entries else [(noted, kept_of(noted[0]) or noted[0]._data) for noted in entries]
    raise_late()
    return found


def _take_back(entries: list[Noted]) -> None:
    """Oldest values last; an interrupt meanwhile waits until all are back."""
    late: BaseException | None = None
    while True:
        try:
            for target, data, type_, kept in reversed(entries):
                put_back(target, data, type_, kept)
            for (target, data, type_, kept), left in reversed(log.before or []):
                if (kept_of(target) or target._data) is left:  # nobody gave it another value since
                    put_back(target, data, type_, kept)
            log.before = None
            break
        except KeyboardInterrupt as again:
            late = again
    if late is not None:
        raise late
