"""Events: how lower rooms tell upper ones what happens, without knowing them.

A room fires ``emit("compiled", ...)``; the notebook, the profiler or a test subscribes. Names in use:

    op           op, inputs, attrs, outputs, seconds   an eager op ran (every call, gradient or not)
    program      program, seconds             a compiled program ran
    compiled     fn, version, reason, seconds a function was captured and compiled
    notice       text, key                    something the user should read once (a fallback, a side effect)
    stage        graph, name, seconds         a compile stage finished
    rewrite      rewrite                      a pass changed a node (graph.compile.Rewrite: pass, law, before, after)
    step         data of a training step      (train)
    sunk steps   rows, outputs, last          steps of a training that ran as one program (train)
    summary value  plugin, name, value        a network tells a value by ops.ScalarSummary and kin
    training     progress, moment             begin, step, epoch, end of a training (train); who listens shows it
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Listener = Callable[..., None]

listeners: dict[str, list[Listener]] = {"op": [], "program": []}
# eager dispatch reads this list itself on every op: an empty list is the cheapest question there is
op_listeners: list[Listener] = listeners["op"]
program_listeners: list[Listener] = listeners["program"]


def subscribe(name: str, listener: Listener) -> None:
    """Call ``listener(**data)`` on every event ``name``."""
    listeners.setdefault(name, []).append(listener)


def unsubscribe(name: str, listener: Listener) -> None:
    """Stop calling ``listener``."""
    found = listeners.get(name, [])
    if listener in found:
        found.remove(listener)


@contextmanager
def listening(name: str, listener: Listener) -> Iterator[None]:
    """Subscribe within a block."""
    subscribe(name, listener)
    try:
        yield
    finally:
        unsubscribe(name, listener)


def emit(name: str, /, **data: Any) -> None:
    """Tell every listener of ``name``."""
    for listener in tuple(listeners.get(name, ())):
        listener(**data)


_noticed: set[str] = set()


def notice(text: str, key: str | None = None) -> None:
    """Tell the user something once per ``key`` (the text itself by default): to listeners, or to stderr if none."""
    key = text if key is None else key
    if key in _noticed:
        return
    _noticed.add(key)
    tell(text, key)


def tell(text: str, key: str = "") -> None:
    """Tell the user something, each time: to listeners, or to stderr if none."""
    if listeners.get("notice"):
        emit("notice", text=text, key=key)
    else:
        print(f"msnb: {text}", file=sys.stderr)


_refuses: list[bool] = [True]


def tell_refusals(on: bool) -> None:
    """Whether what ``refuse`` is given is told and not raised: MindSpore goes on there, and so do its programs."""
    _refuses[0] = not on


def refuse(error: Exception, may_tell: bool = True) -> None:
    """Raise an error of what can hardly be meant; or tell it once, if it may be told."""
    if _refuses[0] or not may_tell:
        raise error
    notice(str(error), key=str(error).partition("\n")[0])


def is_noticed(key: str) -> bool:
    """Whether the user has been told."""
    return key in _noticed


def ignored(argument: str, why: str) -> None:
    """Say once that an argument which was given has no effect here."""
    notice(f"{argument} has no effect here: {why}.", key=f"ignored {argument}")


def forget_notices() -> None:
    """Announce everything again (tests, a restarted notebook)."""
    _noticed.clear()
