"""Transforms take one way in both modes: the function is captured, its graph transformed, the program run.

    vmap(grad(f, None, w))(xs)       a chain of steps, vmap and grad, around f; f and w are arguments

In eager mode too: what a transform means is said once, on the IR. Python in the function runs when it is captured;
what it prints, calls back and writes is done again at every call, as ``jit`` does it, and a recorder around it sees one
line.

Programs are kept by chain and by the code of the innermost function. That function and the Parameters asked for are
arguments of the program, so guards decide whether it fits: a lambda, or a ``vmap(...)``, made anew for every call finds
the program of the last one.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from msnb.core import DType, slot
from msnb.eager.autocast import Autocast, casting, worn_by
from msnb.eager.recording import is_eager

Fn = Callable[..., Any]
CACHE_SIZE = 128
_SETTINGS = (type(None), bool, int, float, str, DType)


@dataclass(eq=False)
class TransformStep:
    """One transform of a function.

    Attributes:
        make: ``make(fn, weights, *options)`` gives the transformed function.
        fn: what is transformed.
        weights: the Parameters that it is about, or None.
        options: everything else.
        wrapper: the function that is this transform; one that copied its attributes (``functools.wraps``) is not.
    """

    make: Callable[..., Fn]
    fn: Fn
    weights: Any = None
    options: tuple[Any, ...] = ()
    wrapper: Any = None


def step_of(fn: Any) -> TransformStep | None:
    """The transform that a wrapper is; None for a function of the user."""
    found = getattr(fn, "__msnb_step__", None)
    return found if isinstance(found, TransformStep) and found.wrapper is fn else None


def marked(call: Fn, step: TransformStep) -> Fn:
    """``call``, known as this transform."""
    call.__msnb_step__ = step  # type: ignore[attr-defined]
    step.wrapper = call
    return call


def staged(call: Fn, step: TransformStep) -> Fn:
    """``call``, captured and run as a program where operations run at once; in a capture it is part of that."""

    @functools.wraps(call)
    def run(*args: Any, **kwargs: Any) -> Any:
        return run_staged(run, args, kwargs) if is_eager(slot.engine) else call(*args, **kwargs)

    run.__dict__.pop("__wrapped__", None)
    return marked(run, step)


def run_staged(fn: Fn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a transform as a program of its own."""
    engine = slot.engine
    rule = worn_by(engine)
    steps, base = _chain(fn)
    program = _program(steps, base, rule, fn)
    weights = [step.weights for step in steps]
    with nullcontext() if rule is None else casting(engine, None):  # the program follows the rule by itself
        return program(base, weights, args, kwargs)


def _chain(fn: Any) -> tuple[list[TransformStep], Any]:
    """The transforms from the outside in, and what they are around."""
    steps = []
    while (step := step_of(fn)) is not None:
        steps.append(step)
        fn = step.fn
    return steps, fn


_programs: OrderedDict[Any, Any] = OrderedDict()
_making = threading.Lock()


def _program(steps: list[TransformStep], base: Any, rule: Autocast | None, fn: Fn) -> Any:
    key = (_key([(step.make, step.options) for step in steps]), _code(base), None if rule is None else rule.key)
    with _making:
        found = _programs.get(key)
        if found is None:
            from msnb.api.jit import CompiledFunction  # compiling is loaded when something is compiled

            body = _body([(step.make, step.options) for step in steps], rule)
            found = _programs[key] = CompiledFunction(body, getattr(fn, "__name__", "transform"), whole=True)
            if len(_programs) > CACHE_SIZE:
                _programs.popitem(last=False)
        _programs.move_to_end(key)
    return found


def _body(steps: list[tuple[Fn, tuple[Any, ...]]], rule: Autocast | None) -> Fn:
    """The function that is compiled: it makes the transforms again around the function that it is given."""

    def body(base: Any, weights: Any, args: Any, kwargs: Any) -> Any:
        fn = base
        for (make, options), own in zip(reversed(steps), reversed(weights)):
            fn = make(fn, own, *options)
        with nullcontext() if rule is None else casting(slot.engine, rule):
            return fn(*args, **kwargs)

    return body


def _code(base: Any) -> Any:
    """What functions made anew have in common: their code; of other callables their class."""
    base = getattr(base, "__msnb_fn__", base)
    base = getattr(base, "__func__", base)
    return getattr(base, "__code__", None) or type(base)


def _key(value: Any) -> Any:
    """Options as a key: by value and Python type; whatever else by identity (the key holds it)."""
    if isinstance(value, (tuple, list)):
        return (type(value), *map(_key, value))
    if isinstance(value, dict):
        return (dict, *((k, _key(v)) for k, v in value.items()))
    return (type(value), value) if isinstance(value, _SETTINGS) else _Same(value)


class _Same:
    """An object as a key by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
