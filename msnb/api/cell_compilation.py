"""A Cell called in graph mode: compiled on its first call, one compiled function per Cell object."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from msnb.api.graph_mode import at_top_level, jitted
from msnb.base import fork_locks
from msnb.core import step_undo
from msnb.core.engine import slot

_compiled: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = fork_locks.lock()


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``cell`` compiled; where something records or traces already, run it there."""
    if not at_top_level():
        return cell._run(slot.engine, args, kwargs)
    found = _compiled.get(cell)
    if found is None:
        made = jitted(cell)
        with _making:
            found = _compiled.setdefault(cell, made)
    return found(*args, **kwargs)


def run_plainly(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fn``, a function or a Cell, as Python, in whatever mode."""
    if not hasattr(fn, "_is_step"):
        return fn(*args, **kwargs)
    if fn._is_step and at_top_level():
        return step_undo.step(fn._run, slot.engine, args, kwargs)
    return fn._run(slot.engine, args, kwargs)


def compiled_cell(cell: Any) -> Any:
    """The compiled function of a Cell that has run in graph mode, else None."""
    try:
        return _compiled.get(cell)
    except TypeError:
        return None
