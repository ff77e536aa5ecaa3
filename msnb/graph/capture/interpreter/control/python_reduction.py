"""Python's ``max``, ``min``, ``sum``, ``any`` and ``all`` of what a captured program goes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.core import Tensor
from msnb.graph.capture.interpreter import reads, special_methods
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.control.truth_value import as_bool, symbolic_test, truth
from msnb.graph.capture.values.lazy_values import is_lazy, lazy_call
from msnb.ops.definition.record import find


def are_numbers(values: tuple[Any, ...]) -> bool:
    """Are all of them numbers of the host?"""
    return all(is_lazy(a) or type(a) in (bool, int, float, complex) for a in values)


def extreme(fn: Any, op: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """max and min of 0-d tensors: of equal ones Python takes the first, and so does the gradient."""
    beats = find({"maximum": "greater", "minimum": "less"}[op])

    def best(engine: Capture, found: tuple[Any, ...]) -> Any:
        numbers = all(map(engine.session.pythonic.is_number, found))
        result = found[0]
        for other in found[1:]:
            better = symbolic_test(beats(other, result))
            result = find(op)(result, other) if numbers else find("where")(better, other, result)
        return result

    def pick(engine: Capture, *args: Any, **kwargs: Any) -> Any:
        found = args
        if len(args) == 1 and not isinstance(args[0], (str, dict)):
            found = tuple(reads.iterate(engine.session, args[0]))
            if len(found) == 1 and not kwargs:
                return found[0]
            args = (found,)
        if not kwargs and len(found) > 1 and any(isinstance(a, Tensor) and not is_lazy(a) for a in found):
            return best(engine, found)
        if not kwargs and len(found) > 1 and any(map(is_lazy, found)) and are_numbers(found):
            return lazy_call(fn, found)
        return otherwise(engine, fn, args, kwargs)

    return pick


def total(engine: Capture, values: Any, start: Any = 0) -> Any:
    """``sum``: what is added may be of any class."""
    for value in reads.iterate(engine.session, values):
        start = special_methods.binary("+", start, value)
    return start


def any_all(stop: bool) -> Callable[..., Any]:
    """``any`` and ``all``: a tensor, where tensors decide."""

    def decide(engine: Capture, values: Any) -> Any:
        result: Any = not stop
        for value in reads.iterate(engine.session, values):
            pred = symbolic_test(value)
            if pred is None:
                if truth(value) == stop:
                    return stop
                continue
            pred = as_bool(pred)
            result = pred if result is (not stop) else find("logical_or" if stop else "logical_and")(result, pred)
        return engine.session.pythonic.mark(engine.wrap(engine.lift(result))) if isinstance(result, Tensor) else result

    return decide
