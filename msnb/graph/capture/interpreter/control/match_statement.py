"""What the patterns of a ``match`` statement ask: see ``frontend.match_lowering`` for the code that calls this.

Python's own rules (PEP 634): a class says by a flag whether its objects are sequences or mappings, items of a mapping
come from its ``get``, attributes by name; whatever a program's class defines is called like any other code of it.
"""

from __future__ import annotations

import sys
from typing import Any

from msnb.graph.capture.interpreter.call import call

_SEQUENCE, _MAPPING, _ITSELF = 1 << 5, 1 << 6, 1 << 22  # Py_TPFLAGS_SEQUENCE, _MAPPING, _MATCH_SELF
_ABSENT: Any = object()


def length(value: Any) -> Any:
    """``len(value)``."""
    return call(len, value)


def is_sequence(value: Any, count: int, exact: bool) -> bool:
    """``case [...]``: of ``count`` items, or at least so many."""
    if not type(value).__flags__ & _SEQUENCE:
        return False
    found: int = length(value) if count or exact else 0
    return found == count if exact else found >= count


def is_mapping(value: Any) -> bool:
    """``case {...}``."""
    return bool(type(value).__flags__ & _MAPPING)


def values_of(value: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The items of a mapping under the keys; None where it lacks one."""
    if length(value) < len(keys):
        return None
    found: list[Any] = []
    for key in keys:
        found.append(call(call(getattr, value, "get"), key, _ABSENT))
        if found[-1] is _ABSENT:
            return None
    return tuple(found)


def class_parts(value: Any, cls: Any, count: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The attributes that ``case cls(a, b, name=c)`` asks for, and a True behind them; None where there is no match."""
    if not isinstance(cls, type):
        raise TypeError(f"called match pattern must be a {'class' if sys.version_info >= (3, 12) else 'type'}")
    if not call(isinstance, value, cls):
        return None
    given = _positional(cls, count) if count else ()
    found, asked = [value] if given is None else [], [*(given or ()), *names]
    for i, name in enumerate(asked):
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if name in asked[:i]:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
        found.append(call(getattr, value, name, _ABSENT))
        if found[-1] is _ABSENT:
            return None
    return (*found, True)


def _positional(cls: Any, count: int) -> tuple[Any, ...] | None:
    """The names of the first attributes of a pattern; None: the value itself."""
    args = call(getattr, cls, "__match_args__", None)
    itself = args is None and bool(cls.__flags__ & _ITSELF)
    args = () if args is None else args
    if not isinstance(args, tuple):
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(args).__name__})")
    allowed = 1 if itself else len(args)
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)")
    return None if itself else args[:count]
