"""Graph breaks: calls that cannot be one program run as Python, and the user is told where, why and what it costs.

x.asnumpy(), np.exp(x), pickle.dumps(x)      while a program is captured there is no value yet
GraphBreaks                                  such a call runs operation by operation; jitted functions and Cells
                                             that it calls are compiled on their own
jit(fullgraph=True), jit_syntax_level=0      refuse instead

A list that grows in a branch, a string chosen by a tensor: refused, and under MindSpore's names a break as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from msnb.base import ArgumentError, AttributeValueError, MsnbError, ShapeError, events, get_context
from msnb.base.errors import ConcretizationError, DataSizeError
from msnb.core import Tensor, slot, step_undo
from msnb.eager.dispatch import EagerEngine
from msnb.ops.definition.symbolic_sizes import sizes_of_data
from msnb.parallel.context import wanted

R = TypeVar("R")


class _Also:
    """Whether branches and loops that leave values of other kinds than they found break a graph too."""

    branches = False


_also = _Also()


def break_at_branches(on: bool) -> None:
    """Whether a function whose branches or loops leave other containers or shapes runs as Python, as MindSpore runs it.
    msnb refuses it with a sentence that says how to write it as one program."""
    _also.branches = on


class GraphBreak(Exception):
    """A call that has no program, for ``error``: it runs as Python."""

    def __init__(self, error: MsnbError) -> None:
        super().__init__(error.sentence)
        self.error = error


class GraphBreaks:
    """The calls of a function that need values of tensors while it is captured, by what their arguments are.

    Args:
        name: of the function.
        whole: refuse them.
    """

    def __init__(self, name: str, whole: bool) -> None:
        self.name: str = name
        self.whole: bool = whole
        self.found: dict[Any, MsnbError] = {}

    def compiled(self, make: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any) -> R:
        """``make(args, kwargs, *rest)``, which compiles.

        Raises:
            GraphBreak: this call, or one like it before, cannot be captured as a whole.
            ConcretizationError: likewise, where it must be.
        """
        if self.whole or wanted.key is not None or get_context("jit_syntax_level") in (0, "STRICT"):
            return make(args, kwargs, *rest)
        key = (*map(_kind, args), *((name, _kind(x)) for name, x in kwargs.items()))
        if key not in self.found:
            before = sizes_of_data[0]
            try:
                return make(args, kwargs, *rest)
            except MsnbError as raised:
                error = raised if sizes_of_data[0] == before else _of_sizes(raised)
                if not error.breaks or not (_also.branches or isinstance(error, ConcretizationError)):
                    raise
                error.__traceback__ = error.__context__ = error.__cause__ = None
                self.found[key] = error
                events.notice(f"{self.name} {_broken(error)}", key=f"graph break of {self.name} {error.where}")
        raise GraphBreak(self.found[key])

    @contextmanager
    def refused(self) -> Iterator[None]:
        """A call in here must have a program: a break is the error behind it."""
        try:
            yield
        except GraphBreak as broken:
            raise broken.error from None

    def __str__(self) -> str:
        return "\n".join(sorted({f"  graph break: it {_broken(error)}" for error in self.found.values()}))


def _of_sizes(error: MsnbError) -> MsnbError:
    """What refuses a program with sizes that only the data tell: a check cannot pass a size that it does not see."""
    if not isinstance(error, (ShapeError, AttributeValueError, ArgumentError)) or error.breaks:
        return error
    unknown = DataSizeError(f"sizes that only the data tell do not pass a check: {error.sentence}")
    unknown.where = error.where
    return unknown


def _broken(error: MsnbError) -> str:
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


def run_plainly(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fn``, a function or a Cell, as Python, in whatever mode."""
    if not hasattr(fn, "_is_step"):
        return fn(*args, **kwargs)
    if fn._is_step and isinstance(slot.engine, EagerEngine):
        return step_undo.step(fn._run, slot.engine, args, kwargs)
    return fn._run(slot.engine, args, kwargs)
