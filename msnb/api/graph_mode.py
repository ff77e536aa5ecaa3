"""Graph mode at the top level: the same function, compiled on first use and from then on called compiled; a Cell too,
one compiled function per Cell object.

x.asnumpy(), np.exp(x), pickle.dumps(x)      in a program that is captured: there is no value yet
GraphBreaks                                  the call runs as Python, operation by operation, and the user is told;
                                             jitted functions and Cells that it calls are compiled on their own
jit(fullgraph=True), jit_syntax_level=0      refuse instead
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from msnb.base.settings import in_graph_mode
from msnb.base.threads import fork_locks
from msnb.core import slot
from msnb.eager.dispatch import EagerEngine

Fn = Callable[..., Any]
_compiled: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = fork_locks.lock()


def at_top_level() -> bool:
    """True when nothing records, captures or transforms: the moment at which graph mode compiles."""
    return isinstance(slot.engine, EagerEngine)


def jitted(fn: Fn) -> Fn:
    """``jit(fn)``."""
    return _compiling()[0](fn)


def prepared(program: Fn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Compile what ``jitted`` gave for these arguments, and do not run it."""
    _compiling()[1](program, args, kwargs)


def _compiling() -> tuple[Callable[..., Fn], Callable[..., None]]:
    from msnb.api.jit import jit, prepare  # compiling is loaded when something is compiled

    return jit, prepare


def compiled_in_graph_mode(fn: Fn) -> Fn:
    """``fn``, compiled when it is called in graph mode at the top level."""
    compiled: list[Fn] = []

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (in_graph_mode() and at_top_level()):
            return fn(*args, **kwargs)
        if not compiled:
            made = jitted(fn)
            with _making:
                compiled[:] = compiled or [made]
        return compiled[0](*args, **kwargs)

    return call


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``cell`` compiled; where something records or traces already, run it there."""
    return cell._run(slot.engine, args, kwargs) if not at_top_level() else _function_of(cell)(*args, **kwargs)


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
