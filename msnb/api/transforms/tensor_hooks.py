"""Hooks that a tensor keeps: they see, and may change, the gradient that a transform is about to give back for it.

    x.register_hook(h)      outside of any gradient      kept here until the handle's ``remove()``; in a program,
                                                         for the gradients that the program itself takes
    ms.grad(f)(x)           h gets the gradient by x, and what it returns replaces it

A plain Tensor has no room for attributes of its own, so its hooks lie in a table beside it and go with it. A captured
program assumes the hooks of its arguments, by a guard.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from msnb.core.engine import slot
from msnb.core.parameter import Parameter
from msnb.core.tensor import Tensor

Fn = Callable[..., Any]

_kept: dict[int, tuple[weakref.ref[Tensor], dict[int, Fn]]] = {}


def hooks_on(x: Tensor) -> tuple[Fn, ...]:
    """The hooks that a plain Tensor keeps."""
    found = _kept.get(id(x))
    return () if found is None or found[0]() is not x else tuple(found[1].values())


Tensor.kept_hooks = property(hooks_on)  # type: ignore[method-assign, assignment]


def keep_hook(x: Tensor, hook: Fn) -> HookHandle:
    """Remember a hook of a Tensor or Parameter."""
    if isinstance(x, Parameter):
        hooks: dict[int, Fn] = x.__dict__.setdefault("gradient_hooks", {})
    else:
        place = id(x)
        found = _kept.get(place)
        if found is None or found[0]() is not x:
            _kept[place] = found = (weakref.ref(x, lambda _: _kept.pop(place, None)), {})
        hooks = found[1]
    key = max(hooks, default=0) + 1
    hooks[key] = hook
    return HookHandle(hooks, key)


def hooks_for(x: Any) -> tuple[Fn, ...]:
    """The hooks for the gradient by ``x``, in whatever mode; a capture notes that it relied on them."""
    engine = slot.engine
    if isinstance(x, Parameter):
        return tuple(engine.read(x, "gradient_hooks").values()) if "gradient_hooks" in vars(x) else ()
    session = getattr(engine, "session", None)
    owner = None if session is None else session.owner_of(x)
    if session is None or owner is None:
        return hooks_on(x) if _kept and isinstance(x, Tensor) else ()
    hooks = hooks_on(owner[0])
    session.root.rely_on(owner[1], "kept_hooks", hooks)
    return hooks + hooks_on(x)


class HookHandle:
    """Takes a hook away again with ``remove()``."""

    def __init__(self, hooks: dict[int, Fn], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """The hook is not called any more."""
        self._hooks.pop(self._key, None)
