"""Hooks that a tensor keeps: they see, and may change, the gradient that a transform is about to give back for it.

    x.register_hook(h)      outside of any gradient      kept here until the handle's ``remove()``; in a program,
                                                         for the gradients that the program itself takes
    ms.grad(f)(x)           h gets the gradient by x, and what it returns replaces it

A plain Tensor has no room for attributes of its own, so its hooks lie in a table beside it and go with it; a Parameter
shows them as an attribute, which is quicker to guard. A captured program assumes the ``kept_hooks`` of both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from msnb.base import ArgumentError
from msnb.core import Parameter, Tensor, slot

Fn = Callable[..., Any]

_kept: dict[int, tuple[weakref.ref[Tensor], dict[int, Fn]]] = {}


def hooks_on(x: Tensor) -> tuple[Fn, ...]:
    """The hooks that a plain Tensor keeps."""
    found = _kept.get(id(x))
    return () if found is None or found[0]() is not x else tuple(found[1].values())


Tensor.kept_hooks = property(hooks_on)  # type: ignore[method-assign, assignment]


def need_hook(hook: Any) -> None:
    """Raises ArgumentError unless ``hook`` can be called, or where it is compiled: a hook runs as Python."""
    if not callable(hook):
        raise ArgumentError(f"a hook must be callable, got {type(hook).__name__}.")
    if getattr(hook, "__msnb_fn__", None) is not None:
        raise ArgumentError("a hook is a function without @jit.", hint="let the hook call the compiled function.")


def keep_hook(x: Tensor, hook: Fn) -> HookHandle:
    """Remember a hook of a Tensor or Parameter."""
    place = id(x)
    found = _kept.get(place)
    if found is None or found[0]() is not x:
        _kept[place] = found = (weakref.ref(x, lambda _: _kept.pop(place, None)), {})
    hooks = found[1]
    key = max(hooks, default=0) + 1
    hooks[key] = hook
    handle = HookHandle(hooks, key, found[0] if isinstance(x, Parameter) else None)
    handle.tell()
    return handle


_given: dict[int, tuple[weakref.ref[Tensor], Any, list[dict[int, Fn]]]] = {}


def noted_hooks(x: Tensor) -> list[dict[int, Fn]]:
    """What ``note_hooks`` was told of a tensor that has not been written into since."""
    found = _given.get(id(x))
    return found[2] if found is not None and found[0]() is x and found[1] is _value_of(x) else []


def note_hooks(x: Tensor, hooks: list[dict[int, Fn]]) -> None:
    """Remember what was registered on a tensor of a program that is being differentiated, for ``Tensor.hooks``."""
    place = id(x)
    _given[place] = (weakref.ref(x, lambda _: _given.pop(place, None)), _value_of(x), hooks)


def _value_of(x: Any) -> Any:
    """What is another object when the tensor has been written into: its value in a program, or its buffer."""
    return x._value if hasattr(x, "_value") else x._data


def hooks(x: Tensor) -> tuple[Fn, ...]:
    """The hooks of a tensor's gradient, in the order in which they were registered; a write in place ends them.

    Source: `mindspore.Tensor.hooks`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([1.0])
        >>> handle = x.register_hook(lambda g: 2 * g)
        >>> len(x.hooks())
        1
    """
    kept = x.kept_hooks if isinstance(x, Parameter) else hooks_on(x)
    outer = [hook for hook in kept if not hasattr(hook, "within")]
    return (*outer, *(hook for each in noted_hooks(x) for hook in each.values()))


Tensor.hooks = hooks  # type: ignore[method-assign, assignment]


def hooks_for(x: Any) -> tuple[Fn, ...]:
    """The hooks for the gradient by ``x``, in whatever mode; a capture notes that it relied on them."""
    session = getattr(slot.engine, "session", None)
    if isinstance(x, Parameter):
        if session is not None and not session.objects.is_fresh(x):
            session.inputs.root.rely_on(session.anchor(x), "kept_hooks", x.kept_hooks)
        return x.kept_hooks
    owner = None if session is None else session.inputs.owner_of(x)
    if session is None or owner is None:
        return hooks_on(x) if _kept and isinstance(x, Tensor) else ()
    hooks = hooks_on(owner[0])
    session.inputs.root.rely_on(owner[1], "kept_hooks", hooks)
    return hooks + hooks_on(x)


class HookHandle:
    """Takes a hook away again with ``remove()``.

    Args:
        hooks: the hooks by their keys.
        key: of this one.
        owner: the Parameter that shows them.
    """

    def __init__(self, hooks: dict[int, Fn], key: int, owner: weakref.ref[Tensor] | None = None) -> None:
        self._hooks, self._key, self._owner = hooks, key, owner

    def remove(self) -> None:
        """The hook is not called any more."""
        self._hooks.pop(self._key, None)
        self.tell()

    def tell(self) -> None:
        """The Parameter has these hooks now."""
        owner = None if self._owner is None else self._owner()
        if owner is not None:
            owner.__dict__["kept_hooks"] = tuple(self._hooks.values())
