"""A gradient of what was just called: one forward pass.

    net.set_grad()
    loss = net(x)                      noted: x, and the Parameters that the pass may move (running statistics)
    grads = ms.grad(net, None, w)(x)   the same x: they begin where that pass began, so they move once

MindSpore keeps the pass and computes the gradient from it, in both modes; here it is computed again, from the values
that it began with. Random draws are new ones.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_EARLIER: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Networks, and what their last call began with; None while their gradient is computed."""


def note_call(cell: Any, args: tuple[Any, ...]) -> None:
    """The forward pre-hook of a network after ``set_grad``."""
    if _EARLIER.get(cell, ()) is not None:
        _EARLIER[cell] = (args, [(p, p.copy()) for p in cell.untrainable_params()])


def begin_again(fn: Any, args: tuple[Any, ...]) -> bool:
    """Give Parameters their values from before the call of ``fn`` with the same arguments.

    Returns:
        Whether calls of it are noted: ``_EARLIER`` is to forget this one when the gradient is there.
    """
    if not _EARLIER or not hasattr(fn, "untrainable_params") or fn not in _EARLIER:
        return False
    given, values = _EARLIER[fn] or ((), ())
    if len(given) == len(args) and all(a is b for a, b in zip(given, args)):
        for param, value in values:
            param.set_data(value)
    _EARLIER[fn] = None
    return True


def forget_call(fn: Any) -> None:
    """The gradient is there: the next call is a new one."""
    del _EARLIER[fn]
