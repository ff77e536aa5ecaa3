"""Attributes of tensors in a captured program: sizes, settings of Parameters, values that only the run knows."""

from __future__ import annotations

import functools
from typing import Any

from msnb.base.source_location import is_own
from msnb.core import Parameter, Tensor, slot
from msnb.core.types import not_one
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.function_choice import agreed
from msnb.graph.capture.values.lazy_values import needs_value
from msnb.graph.capture.values.mutation_journal import attribute_key

_VALUE_METHODS = frozenset({"asnumpy", "numpy", "item", "tolist", "__array__", "__float__", "__int__", "__bool__"})


def _number_attr(shown: Any, name: str) -> Any:
    """An attribute of a Python number that the graph computes."""
    if name == "__class__":
        return type(shown)
    getattr(shown, name)  # there is none: Python's own error
    raise needs_value(f"what .{name} of this number is")


def read(session: Any, owner: Tensor, name: str) -> Any:
    """``owner.name`` in a captured program."""
    shown = session.pythonic.shown(owner)
    if shown is not owner:
        return _number_attr(shown, name)
    _guard_unseen(session, owner)
    if name in _VALUE_METHODS and not _is_known(session, owner):
        if name == "item" and owner.dtype.category < 3:
            return functools.partial(_item_as_number, session, owner)
        raise session.inputs.root.no_value(session.state(owner).current)
    _guard_added(session, name)
    if found := session.aliases.parts(slot.engine, owner):
        agreed(owner, lambda x: hasattr(x, name), found)
    held = name == "name" or name in getattr(owner, "__dict__", ())  # a Parameter's name changes with its Cell's place
    if name in ("shape", "size"):
        return session.symbols.read(owner, name, session)
    if name in ("dtype", "ndim") or not hasattr(owner, "__dict__") or not held:
        return getattr(owner, name)
    source = session.objects.source_of(owner)
    if source is None or session.journal.written(attribute_key(owner, name)):
        return getattr(owner, name)
    return session.track(getattr(owner, name), paths.attr(source, name))


def _is_known(session: Any, owner: Tensor) -> bool:
    own = session.states.own.get(id(owner))
    return session.objects.is_fresh(owner) and (own is None or owner._data is not None and not own.assigned)


def _guard_added(session: Any, name: str) -> None:
    """A method that a program has put on Tensor: it may put another one there."""
    added = getattr(Tensor, name, None)
    code = getattr(getattr(added, "fget", added), "__code__", None)
    if code is not None and not is_own(code.co_filename):
        session.guard("is", (paths.attr(paths.ref(Tensor), name),), (added,))


def _item_as_number(session: Any, owner: Tensor, index: Any = None) -> Any:
    """``t.item()``: a number that the graph computes, as float(t) is."""
    if index is not None:
        owner = session.interpreter.intrinsics.item(owner if isinstance(index, tuple) else owner.reshape(-1), index)
    if owner._type.is_static and owner._type.size != 1:
        raise not_one(owner, "item()")
    return session.interpreter.call((bool, int, float)[owner.dtype.category], owner)


def _guard_unseen(session: Any, owner: Tensor) -> None:
    """A Parameter that a Cell told of: it has no path, and may have other sizes and attributes at the next call."""
    objects = session.objects
    if isinstance(owner, Parameter) and objects.source_of(owner) is None and not objects.is_fresh(owner):
        session.guard("tensor", (session.anchor(owner),), (type(owner), owner._type))
