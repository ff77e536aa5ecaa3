"""Graph mode at the top level: the same function, compiled on first use and from then on called compiled.

x.asnumpy(), np.exp(x), pickle.dumps(x)      in a program that is captured: there is no value yet
GraphBreaks                                  the call runs as Python, operation by operation, and the user is told;
                                             jitted functions and Cells that it calls are compiled on their own
jit(fullgraph=True), jit_syntax_level=0      refuse instead
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msnb.base import fork_locks
from msnb.base.settings import in_graph_mode
from msnb.core.engine import slot
from msnb.eager.dispatch import EagerEngine

Fn = Callable[..., Any]
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
