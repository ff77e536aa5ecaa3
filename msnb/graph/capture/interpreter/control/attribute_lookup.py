"""How Python finds an attribute, for what a program's own code computes: it is captured as a call.

    type(o).__getattribute__ -> a data descriptor of the class -> o.__dict__ -> another descriptor -> __getattr__

A class is found in the same way, with its metaclass in the place of the class; a descriptor in the class itself is
asked as ``__get__(None, cls)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.mutation_journal import attribute_key, behind
from msnb.graph.capture.values.object_table import ABSENT, is_heap, is_opaque, is_programs, lies_in, on_class

Computation = tuple[Any, str, tuple[Any, ...]]
"""A Python function, the name that it has on the class of the object, its arguments."""


def computation(owner: Any, name: str, whole: bool = True) -> Computation | None:
    """The function of a program that gives ``owner.name``, before or in the place of what lies in the object; a
    ``__getattribute__`` only if ``whole``."""
    kind = type(owner)
    if kind is super and not isinstance(owner.__self__, type):
        held = _behind(owner.__thisclass__, owner.__self_class__, name)
        return _described(held, owner.__self__, owner.__self_class__)
    if not is_heap(kind) and not isinstance(owner, type):
        return None
    every = kind.__getattribute__ if whole else None
    if _is_programs(every, kind):
        return every, "__getattribute__", (owner, name)
    held = on_class(kind, name)
    hidden = not hasattr(type(held), "__set__") and lies_in(owner, name)  # what lies in the object comes first
    found = None if hidden else _described(held, owner, kind, name)
    if found is None and isinstance(owner, type) and (held := on_class(owner, name)) is not ABSENT:
        get = getattr(type(held), "__get__", None)
        return (get, "", (held, None, owner)) if _is_programs(get, type(held)) else None
    return found


def _behind(kind: type, of: type, name: str) -> Any:
    """What ``super(kind, of)`` finds under a name, as it lies there, or ABSENT."""
    rest = of.__mro__[of.__mro__.index(kind) + 1 :]
    return next((vars(k)[name] for k in rest if name in vars(k)), ABSENT)


def _described(held: Any, owner: Any, kind: type, name: str = "") -> Computation | None:
    """What a descriptor computes that lies in the class of the object."""
    if isinstance(held, property):
        return (held.fget, name, (owner,)) if is_programs(held.fget) else None
    if isinstance(held, functools.cached_property):
        return (held.func, name, (owner,)) if _is_programs(held.func, kind) else None
    get = getattr(type(held), "__get__", None)
    return (get, name, (held, owner, kind)) if _is_programs(get, type(held)) else None


def fallback(owner: Any) -> Any:
    """``__getattr__`` of a program's class, or None."""
    kind = type(owner)
    found = getattr(kind, "__getattr__", None) if is_heap(kind) else None
    return found if _is_programs(found, kind) else None


def _is_programs(fn: Any, kind: type) -> bool:
    return is_programs(fn) and not is_opaque(fn, kind)


def plain(owner: Any, name: str, default: Any, whole: bool = True) -> Any:
    """What is found without a call of the program's ``__getattr__``, nor (not ``whole``) of its ``__getattribute__``;
    else ``default``."""
    if whole and fallback(owner) is None:
        return getattr(owner, name, default)
    try:
        return behind(owner, "__getattribute__")(name)
    except AttributeError:
        return default


def computed_behind(session: Session, owner: Any, name: str, found: Computation) -> Any:
    """The attribute that a function gives to ``super().name``."""
    behind = owner.__thisclass__, owner.__self_class__, name
    session.guard("is", (paths.called(_behind, behind),), (_behind(*behind),))
    return _kept(session, owner.__self__, name, _behind(*behind), session.interpreter.call(found[0], *found[2]))


def computed(session: Session, owner: Any, name: str, found: Computation) -> Any:
    """The attribute that a function gives; where it has none, ``__getattr__`` is asked."""
    fn, place, args = found
    for kind in args:
        if isinstance(kind, type) and is_heap(kind):
            session.anchor(kind)
    if place:
        watch_class(session, owner, place)
    if place != "__getattribute__":
        _watch_object(session, owner, name)
    try:
        value = session.interpreter.call(fn, *args)
    except AttributeError as error:
        if session.refuses(error) or fallback(owner) is None:
            raise
        return fallen_back(session, owner, name)
    if place == "__getattribute__":  # which has asked a cached_property itself, and may show another value
        return value
    return _kept(session, owner, name, on_class(type(owner), name), value)


def _kept(session: Session, owner: Any, name: str, held: Any, value: Any) -> Any:
    """The value, which a cached_property leaves in the object."""
    if isinstance(held, functools.cached_property):
        session.interpreter.call(object.__setattr__, owner, name, value)  # whatever the class's own does
    return value


def fallen_back(session: Session, owner: Any, name: str, whole: bool = True) -> Any:
    """``__getattr__(owner, name)``: nothing lies in the object under that name. ``object.__getattribute__`` (not
    ``whole``) does not ask it."""
    _watch_object(session, owner, name)
    if not whole:
        return object.__getattribute__(owner, name)
    watch_class(session, owner, name)
    watch_class(session, owner, "__getattr__")
    return session.interpreter.call(fallback(owner), owner, name)


def _watch_object(session: Session, owner: Any, name: str) -> None:
    """Whether something lies in the object itself under a name stays the same."""
    source = session.objects.source_of(owner)
    if source is not None and not session.journal.written(attribute_key(owner, name)):
        session.guard("is", (paths.called(lies_in, (source, name)),), (lies_in(owner, name),))


def watch_class(session: Session, owner: Any, name: str) -> None:
    """What lies on the class under a name stays the same."""
    kind = type(owner)
    session.guard("is", (paths.called(on_class, (paths.ref(kind), name)),), (on_class(kind, name),))


def asked(session: Session, owner: Any, name: str, read: Callable[..., Any]) -> Any:
    """The attribute, or ABSENT, where code of the program decides it; NotImplemented where what lies there does."""
    if computation(owner, name) is None and (fallback(owner) is None or plain(owner, name, ABSENT) is not ABSENT):
        return NotImplemented
    try:
        return read(session, owner, name)
    except AttributeError as error:
        if session.refuses(error):
            raise
        return ABSENT
