"""``match`` statements: Python does the matching, on a subject that was read and guarded as a whole.

    match config:                              __m1__ = __rt__.Patterns(lambda: rt.glob(G, "Point"), lambda: ...)
        case Point(x=0): ...          ==>      match __rt__.subject(config):
        case Kind.SLOW: ...                        case __m1__.v0(x=0): ...
                                                   case __m1__.v1: ...

A pattern may hold names and attributes, but no calls, so what it names is found by an attribute of its own: an
expression that is evaluated when matching gets there, like any other read of the outside.
"""

from __future__ import annotations

from collections.abc import Callable
from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any

from msnb.core import pytree, slot
from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.values.object_table import is_heap


class Patterns:
    """What the patterns of a statement name: ``v0``, ``v1`` ... are worked out when they are asked for."""

    def __init__(self, *values: Callable[[], Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return self._values[int(name[1:])]()


def subject(value: Any) -> Any:
    """What is matched: patterns look into it unseen, so all of it that comes from outside is guarded."""
    engine = slot.engine
    if not isinstance(engine, Capture):
        return value
    derived = is_heap(type(value)) and isinstance(value, (list, tuple, dict)) and not hasattr(value, "_fields")
    found = None if derived else pytree.children(value)
    held = {*getattr(value, "__dict__", ()), *_slotnames(type(value))}
    rebuilt = found is not None and held <= set(found[0])  # nothing but its parts
    if rebuilt:
        return reads.given(engine.session, value)
    reads.look_into(engine.session, value)
    return value
