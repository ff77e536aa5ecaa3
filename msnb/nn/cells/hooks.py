"""Hooks: functions that watch a Cell or change what passes through it.

    args --pre-hooks--> construct --> computed --forward hooks--> out
    grad of args <--hooks(cell, grad_in, grad_out)-- grad of computed <-- pre-hooks(cell, grad_out) -- grad of out

Backward hooks ride on taps, identities whose gradient calls Python: a tap on what construct computed notes the
gradients that come in, a tap on the inputs shows both to the hook and lets it replace the gradients that go out. A
backward pre-hook comes before all of it, and sees the gradient of what the Cell gave out, its forward hooks included.
Every change of a Cell's hooks gives it a new ``_hook_mark``: the one string that capture has to guard.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from msnb.api.transforms.tensor_hooks import need_hook
from msnb.core import Tensor, as_tuple, slot
from msnb.ir import CUSTOM_GRADIENT, HostFn

Hook = Callable[..., Any]
_SLOTS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
_marks = itertools.count(1)


class HookHandle:
    """What registering a hook gives back; ``remove()`` takes the hook away."""

    def __init__(self, owner: Any, slot_name: str, hook: Hook) -> None:
        self._owner, self._slot_name, self._hook = owner, slot_name, hook

    def remove(self) -> None:
        """Take the hook away (a second time does nothing)."""
        kept = list(getattr(self._owner, self._slot_name))
        if self._hook in kept:
            kept.remove(self._hook)
        self._owner._set_hooks(self._slot_name, tuple(kept))


class _WithKeywords:
    """A forward hook that sees the keywords of a call, too."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)


def after_pre_hook(
    engine: Any, hook: Any, cell: Any, args: tuple[Any, ...], kwargs: Any
) -> tuple[tuple[Any, ...], Any]:
    """The arguments after a hook that is called before ``construct``."""
    if isinstance(hook, _WithKeywords):
        changed = engine.convert(hook.hook)(cell, args, kwargs)
        return (args, kwargs) if changed is None else (as_tuple(changed[0]), changed[1])
    changed = engine.convert(hook)(cell, args)
    return (args if changed is None else as_tuple(changed)), kwargs


def after_hook(engine: Any, hook: Any, cell: Any, args: tuple[Any, ...], kwargs: Any, out: Any) -> Any:
    """The output after a hook that is called behind ``construct``."""
    if isinstance(hook, _WithKeywords):
        changed = engine.convert(hook.hook)(cell, args, kwargs, out)
    else:
        changed = engine.convert(hook)(cell, args, out)
    return out if changed is None else changed


class CellHooks:
    """The part of Cell that keeps hooks."""

    _mark: Callable[[], None]
    _forward_pre_hooks: tuple[Hook, ...] = ()
    _forward_hooks: tuple[Hook, ...] = ()
    _backward_hooks: tuple[Hook, ...] = ()
    _backward_pre_hooks: tuple[Hook, ...] = ()
    _state_dict_pre_hooks: tuple[Hook, ...] = ()
    _state_dict_post_hooks: tuple[Hook, ...] = ()
    _load_state_dict_pre_hooks: tuple[Hook, ...] = ()
    _load_state_dict_post_hooks: tuple[Hook, ...] = ()

    def _set_hooks(self, slot_name: str, hooks: tuple[Hook, ...]) -> None:
        self.__dict__[slot_name] = hooks
        self.__dict__["_hook_mark"] = f"hooks {next(_marks)}" if any(getattr(self, s) for s in _SLOTS) else ""
        self._mark()

    def _hooked(self, slot_name: str, hook: Hook, first: bool = False, with_kwargs: bool = False) -> HookHandle:
        need_hook(hook)
        kept = _WithKeywords(hook) if with_kwargs else hook
        before = getattr(self, slot_name)
        self._set_hooks(slot_name, (kept, *before) if first else (*before, kept))
        return HookHandle(self, slot_name, kept)

    def register_forward_pre_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call ``hook_fn(cell, args)`` before ``construct``; what it returns (if not None) replaces the arguments.

        Args:
            hook_fn: the hook.
            prepend: call it before those that are there.
            with_kwargs: call ``hook_fn(cell, args, kwargs)``, which returns None or a pair of both.
        """
        return self._hooked("_forward_pre_hooks", hook_fn, prepend, with_kwargs)

    def register_forward_hook(self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Call ``hook_fn(cell, args, output)`` after ``construct``; what it returns (if not None) replaces the output.
        ``prepend`` as before; with ``with_kwargs`` it is ``hook_fn(cell, args, kwargs, output)``.

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.ReLU()
            >>> handle = net.register_forward_hook(lambda cell, args, out: out + 1)
            >>> net(ms.Tensor([-1.0])).tolist()
            [1.0]
            >>> handle.remove()
        """
        return self._hooked("_forward_hooks", hook_fn, prepend, with_kwargs)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """Call ``hook_fn(cell, grad_input, grad_output)`` in the backward pass; a result replaces ``grad_input``."""
        return self._hooked("_backward_hooks", hook_fn)

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """Call ``hook_fn(cell, grad_output)`` before a Cell's backward pass; a result replaces ``grad_output``."""
        return self._hooked("_backward_pre_hooks", hook_fn)

    def register_state_dict_pre_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(cell, prefix, keep_vars)`` before ``state_dict`` collects, of this Cell or one above it."""
        return self._hooked("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(cell, state_dict, prefix, local_metadata)`` on what ``state_dict`` gives: it may change it."""
        return self._hooked("_state_dict_post_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(cell, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before ``load_state_dict`` reads the names: it may rename them, in a copy of the dict."""
        return self._hooked("_load_state_dict_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(cell, incompatible_keys)`` after the values are there. What it leaves of ``missing_keys`` and
        ``unexpected_keys`` is an error under ``strict``, behind the values."""
        return self._hooked("_load_state_dict_post_hooks", hook)


def _tap(fn: Hook, tensors: tuple[Any, ...], also: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Identities of the tensors whose gradients pass through ``fn(*grads)``; other values stay as they are.

    ``also`` are tensors that the results formally depend on: when somebody wants a gradient by one of them, gradients
    reach this tap too. They get none from here.
    """
    places = _places(tensors)
    if not places:
        return tensors
    n, skipped = len(places), 2 * len(places) + len(also)
    chosen = [tensors[i] for i in places]

    def backward(*inputs_outputs_douts: Any) -> list[Any]:
        return list(fn(*inputs_outputs_douts[skipped:]))

    attrs = {"n_in": n, "n_out": n, "own": False, "fn": HostFn(backward, "hook")}
    passed = as_tuple(slot.engine.apply(CUSTOM_GRADIENT, (*chosen, *chosen, *also), attrs))
    out = list(tensors)
    for i, t in zip(places, passed):
        out[i] = t
    return tuple(out)


def _places(tensors: tuple[Any, ...]) -> list[int]:
    return [i for i, t in enumerate(tensors) if isinstance(t, Tensor) and t.dtype.differentiable]


def with_backward_pre_hooks(cell: Any, hooks: tuple[Hook, ...], out: Any) -> Any:
    """What a Cell gives out, with a tap on it that calls the hooks."""

    def at_output(*grads: Any) -> tuple[Any, ...]:
        for hook in hooks:
            changed = hook(cell, grads)
            grads = grads if changed is None else as_tuple(changed)
        return grads

    tapped = _tap(at_output, as_tuple(out))
    return type(out)(tapped) if isinstance(out, (tuple, list)) else tapped[0]


def with_backward_hooks(cell: Any, hooks: tuple[Hook, ...], run: Hook, args: tuple[Any, ...], kwargs: Any) -> Any:
    """``run(*args)`` with taps on both ends.

    The tap on the inputs hangs on the Cell's weights as well: the first layer of a network is watched although nobody
    wants a gradient of the data. Where no input can have a gradient (words, say) the hook sees None for it.
    """
    arrived: list[tuple[Any, ...]] = [()]

    def at_output(*grads: Any) -> tuple[Any, ...]:
        arrived[0] = grads
        if not _places(args):
            for hook in hooks:
                hook(cell, (None,) * len(args), grads)
        return grads

    def at_input(*grads: Any) -> tuple[Any, ...]:
        for hook in hooks:
            changed = hook(cell, grads, arrived[0])
            grads = grads if changed is None else as_tuple(changed)
        return grads

    out = run(*_tap(at_input, args, cell.trainable_params()), **kwargs)
    tapped = _tap(at_output, as_tuple(out))
    return type(out)(tapped) if isinstance(out, (tuple, list)) else tapped[0]
