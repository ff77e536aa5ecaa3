"""``functions[i]`` where a tensor says which: one decision over all of them, made where the result is used.

    layers[i](x)      If(i == 0, layers[0](x), If(i == 1, layers[1](x), ...))
    values[i]         the same over values, which must agree in dtype and shape

All functions are captured, one runs. An index outside the list ends in IndexError, as in Python; negative ones count
from the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from msnb.base.errors import IndexOutOfRange
from msnb.core import slot
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.control.branch import SKIP, Body, Ternary
from msnb.graph.capture.interpreter.program_errors import keep_inside
from msnb.graph.capture.values.function_choice import FunctionChoice


class Decision(Ternary):
    """A decision between two values that stands in no expression of the program, so that an error may end a branch."""

    def __init__(self, pred: Any) -> None:
        super().__init__()
        self.expression: bool = False
        self.symbolic: bool = True
        self.pred: Any = pred
        assert isinstance(slot.engine, Capture)
        self.start(slot.engine)
        self.body: Body = Body(self.outer, "then")


class Selection(FunctionChoice):
    """One of several functions or Cells, which a tensor names; a call of it is a call of that one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        engine = slot.engine
        assert isinstance(engine, Capture)
        call = engine.session.interpreter.call
        return _decided([functools.partial(call, fn, *args, **kwargs) for fn in self.options], self.index)


def selected(options: Sequence[Any], index: Any) -> Any:
    """What ``options[index]`` gives: a ``Selection`` of functions, else the value."""
    at = index.reshape(())
    whole = at + (at < 0).astype(at.dtype) * len(options)
    if options and all(callable(option) for option in options):
        return Selection(options, whole)
    return _decided([functools.partial(_itself, value) for value in options], whole)


def _itself(value: Any) -> Any:
    return value


def _decided(makers: Sequence[Callable[[], Any]], index: Any, at: int = 0) -> Any:
    """The value of the maker that the tensor names."""
    decision = Decision(index == at)
    try:
        first = makers[at]()
        decision.turn()
        if at + 1 < len(makers):
            rest = _decided(makers, index, at + 1)
        else:
            rest = SKIP
            error = IndexOutOfRange(f"a list of {len(makers)} elements was indexed by a number outside it.")
            keep_inside(decision, error)
    except BaseException:
        decision.abandon()
        raise
    return decision.end(first, rest)
