"""Functions and methods that look into objects: what those of ``operator`` and ``dataclasses`` read is read by the
program, and what a method only tells of a state is asked again at each call."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import Any

from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.lazy_values import concrete


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_TELL: dict[tuple[str, str], frozenset[str]] = {
    ("logging", "Logger"): words("isEnabledFor getEffectiveLevel hasHandlers"),
    ("_queue", "SimpleQueue"): words("qsize empty"), ("queue", "Queue"): words("qsize empty full"),
    ("_contextvars", "ContextVar"): words("get"), ("threading", "Event"): words("is_set"),
    ("builtins", "type"): words("__subclasses__"),
    ("_io", "StringIO"): words("getvalue tell"), ("_io", "BytesIO"): words("getvalue tell"),
    ("configparser", "RawConfigParser"): words(
        "get getint getfloat getboolean has_option has_section sections options"),
}  # fmt: skip


def got(engine: Capture, getter: Any, owner: Any) -> Any:
    """``operator.attrgetter``, ``itemgetter`` and ``methodcaller``."""
    if isinstance(getter, operator.methodcaller):
        reduced: Any = getter.__reduce__()
        make, given = reduced  # with keywords, of a partial
        name, named = (given[0], {}) if make is operator.methodcaller else (make.args[0], make.keywords)
        args = given[1:] if make is operator.methodcaller else given
        return engine.session.interpreter.call(reads.attr(engine.session, owner, name), *args, **named)
    read, names = reads.attr if isinstance(getter, operator.attrgetter) else reads.item, getter.__reduce__()[1]
    paths = [name.split(".") if read is reads.attr else [name] for name in names]
    found = [functools.reduce(lambda at, key: read(engine.session, at, key), path, owner) for path in paths]
    return found[0] if len(found) == 1 else tuple(found)


def replaced(engine: Capture, owner: Any, /, **changes: Any) -> Any:
    """dataclasses.replace: the class is called."""
    if not dataclasses.is_dataclass(owner):
        return dataclasses.replace(owner, **changes)  # which raises
    for field in dataclasses.fields(owner):
        if field.init and field.name not in changes:
            changes[field.name] = reads.attr(engine.session, owner, field.name)
    return engine.session.interpreter.call(type(owner), **changes)


def receiver(fn: Any, args: tuple[Any, ...]) -> tuple[Any, Any, int]:
    """The object whose method is called, or None; the method's name; how many of the arguments the object is."""
    owner, name = getattr(fn, "__self__", None), getattr(fn, "__name__", fn)
    if owner is None and args and isinstance(name, str) and getattr(type(args[0]), name, None) is fn:
        return args[0], name, 1  # a method, called by way of its class
    return owner, name, 0


def asked_again(engine: Capture, fn: Any, args: tuple[Any, ...]) -> Any:
    """What a method only tells of an object's state, which no guard sees, is asked again at each call."""
    owner, name, own = receiver(fn, args)
    if not any(name in _TELL.get((kind.__module__, kind.__name__), ()) for kind in type(owner).__mro__):
        return NotImplemented
    method, given = getattr(type(owner), name), tuple(map(concrete, args[own:]))
    found = method(owner, *given)
    engine.session.guard("eq", (sources.called(method, (engine.session.anchor(owner), *given)),), (found,))
    return found
