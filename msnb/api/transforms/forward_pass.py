"""``net(x)``, then ``grad(net)(x)`` after ``set_grad``: one forward pass in MindSpore. Here the second begins with the
Parameters of the first, so running statistics move once. Random draws are new."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_CALLS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What a network's last call began with; None in its gradient."""


def note_call(cell: Any, args: tuple[Any, ...]) -> None:
    """The hook of ``set_grad``."""
    if _CALLS.get(cell, ()) is not None:
        _CALLS[cell] = (args, [(p, p.copy()) for p in cell.untrainable_params()])


def begin_again(fn: Any, args: tuple[Any, ...]) -> bool:
    """Undo a call with these arguments; is there one to forget?"""
    if not hasattr(fn, "untrainable_params") or fn not in _CALLS:
        return False
    given, values = _CALLS[fn] or ((), ())
    if len(given) == len(args) and all(a is b for a, b in zip(given, args)):
        for param, value in values:
            param.set_data(value)
    _CALLS[fn] = None
    return True


def forget_call(fn: Any) -> None:
    """Behind the gradient."""
    del _CALLS[fn]
