"""Graph mode at the top level: the same function, compiled on first use and from then on called compiled.

x.asnumpy(), np.exp(x), pickle.dumps(x)      in a program that is captured: there is no value yet
GraphBreaks                                  the call runs as Python, operation by operation, and the user is told;
                                             jitted functions and Cells that it calls are compiled on their own
jit(fullgraph=True), jit_syntax_level=0      refuse instead
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from msnb.base import events, fork_locks
from msnb.base.errors import ConcretizationError
from msnb.base.settings import get_context, in_graph_mode
from msnb.core.engine import slot
from msnb.core.tensor import Tensor
from msnb.eager.dispatch import EagerEngine
from msnb.parallel.context import wanted

Fn = Callable[..., Any]
R = TypeVar("R")
_making = fork_locks.lock()


def at_top_level() -> bool:
    """True when nothing records, captures or transforms: the moment at which graph mode compiles."""
    return isinstance(slot.engine, EagerEngine)


def jitted(fn: Fn) -> Fn:
    """``jit(fn)``."""
    from msnb.api.jit import jit  # compiling is loaded when something is compiled

    return jit(fn)


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


# ---- graph breaks ------------------------------------------------------------------------------------------------


class GraphBreak(Exception):
    """A call that has no program, for ``error``: it runs as Python."""

    def __init__(self, error: ConcretizationError) -> None:
        super().__init__(error.sentence)
        self.error = error


class GraphBreaks:
    """The calls of a function that need values of tensors while it is captured, by what their arguments are.

    Args:
        name: of the function.
        whole: refuse them.
    """

    def __init__(self, name: str, whole: bool) -> None:
        self.name, self.whole = name, whole
        self.found: dict[Any, ConcretizationError] = {}

    def compiled(self, make: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], failed: Any) -> R:
        """``make(args, kwargs, failed)``, which compiles.

        Raises:
            GraphBreak: this call, or one like it before, cannot be captured as a whole.
            ConcretizationError: likewise, where it must be.
        """
        if self.whole or wanted.key is not None or get_context("jit_syntax_level") in (0, "STRICT"):
            return make(args, kwargs, failed)
        key = (*map(_kind, args), *((name, _kind(x)) for name, x in kwargs.items()))
        if key not in self.found:
            try:
                return make(args, kwargs, failed)
            except ConcretizationError as error:
                error.__traceback__ = error.__context__ = error.__cause__ = None
                self.found[key] = error
                events.notice(f"{self.name} {_broken(error)}", key=f"graph break of {self.name} {error.where}")
        raise GraphBreak(self.found[key])

    def __str__(self) -> str:
        return "\n".join(sorted({f"  graph break: it {_broken(error)}" for error in self.found.values()}))


def _broken(error: ConcretizationError) -> str:
    place = "" if error.where is None else f" ({error.where})"
    return (
        f"runs as Python, not as one program{place}: {error.sentence} Each such call costs what PyNative mode costs; "
        "only Cells and jitted functions that it calls are compiled. Compute with tensors in that place to have one "
        "program; jit(fullgraph=True) makes this an error."
    )


def _kind(x: Any) -> Any:
    """What an argument is to a program, without its size and numbers."""
    if isinstance(x, Tensor):
        return x.dtype
    return x if x is None or type(x) in (bool, str) else type(x)
