"""A Cell called in graph mode: compiled on its first call, or ahead of it; one compiled function per Cell object."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from msnb.api.graph_mode import at_top_level, jitted, prepared
from msnb.base import fork_locks
from msnb.core.engine import slot

_compiled: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = fork_locks.lock()


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``cell`` compiled; where something records or traces already, run it there."""
    if not at_top_level():
        return cell._run(slot.engine, args, kwargs)
    return _function_of(cell)(*args, **kwargs)


def compile_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Compile ``cell`` for these arguments and do not run it. Inside a program there is nothing to compile ahead."""
    if at_top_level():
        prepared(_function_of(cell), args, kwargs)


def _function_of(cell: Any) -> Any:
    found = _compiled.get(cell)
    if found is None:
        made = jitted(cell)
        with _making:
            found = _compiled.setdefault(cell, made)
    return found


def compiled_cell(cell: Any) -> Any:
    """The compiled function of a Cell that has run in graph mode, else None."""
    try:
        return _compiled.get(cell)
    except TypeError:
        return None
