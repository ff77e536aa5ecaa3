"""From what a user points at (a function, a jitted function, a Cell) to a graph: captured, never run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msnb.api import grad
from msnb.api.jit import jit
from msnb.graph.capture import trace
from msnb.ir.graph import Graph


def plain(fn: Any) -> Any:
    """The function behind a decorator that keeps it (``jit``, ``functools.wraps``); a Cell is itself."""
    while not hasattr(fn, "construct"):
        inner = getattr(fn, "__msnb_fn__", None) or getattr(fn, "__wrapped__", None)
        if inner is None:
            break
        fn = inner
    return fn


def name_of(fn: Any) -> str:
    """What people call it."""
    return str(getattr(fn, "__name__", "") or type(fn).__name__)


def captured(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Graph:
    """The graph of a function for these arguments. Its state and its arguments stay as they are.

    Raises:
        CaptureError: graph mode refuses the program; other errors are the program's own.
    """
    found: Graph = trace(plain(fn), tuple(args), dict(kwargs), name_of(fn)).graph
    return named(found, fn) if hasattr(fn, "construct") else found


def captured_gradient(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Graph:
    """The graph of a function's gradient, its params called as the function calls them."""
    return named(captured(gradient_of(fn), args, kwargs), fn)


def named(graph: Graph, fn: Any) -> Graph:
    """Params that came through a wrapper's ``*args`` get the names that the function itself gives them."""
    names = list(inspect.signature(getattr(fn, "construct", None) or plain(fn)).parameters)
    for p in graph.params:
        found = re.fullmatch(r"args(?:\[(\d+)\])?", p.name)
        position = int(found[1] or 0) if found else 1 if p.name == "kwargs" else len(names)
        if position < len(names):
            p.name = names[position]
    return graph


def gradient_of(fn: Any) -> Callable[..., Any]:
    """The gradient by the first argument; of a Cell, by its trainable parameters."""
    weights = getattr(fn, "trainable_params", None)
    return grad(fn, grad_position=None, weights=weights()) if weights is not None else grad(plain(fn))


def jitted(fn: Any) -> Any:
    """``fn`` compiled when it is called; one that is already stays as it is."""
    return fn if hasattr(fn, "__msnb_fn__") else jit(fn)
