"""What a program does to the world while it runs: checks that raise, and print.

They are HostCall nodes with ``effect``: no pass may drop or reorder them, and the executor calls back into Python
with the tensors' values. State is written only after the program has finished, so a failed check changes nothing.
"""

from __future__ import annotations

import operator
from _string import formatter_field_name_split  # type: ignore[import-not-found]  # what str.format itself reads with
from collections import ChainMap, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from string import Formatter
from types import SimpleNamespace
from typing import Any

import numpy as np

from msnb.base import MsnbError, events
from msnb.base.source_location import Origin, here
from msnb.core import Dim, Tensor, slot
from msnb.graph.capture.interpreter import reads, special_methods
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.branch_merge import Late
from msnb.graph.capture.values.function_choice import FunctionChoice
from msnb.graph.capture.values.lazy_values import LazyText, TrackedArray, concrete, is_lazy, needs_value
from msnb.graph.capture.values.object_table import raw_items, remade
from msnb.ir import control_flow
from msnb.ir.builder import SymbolicTensor
from msnb.ir.error_template import ErrorTemplate, Piece, formatted


class Text(LazyText):
    """An f-string whose parts are not all known: pieces of text and (value, conversion, format)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts: tuple[Any, ...] = parts

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """A ``str`` to the program, to ``isinstance`` and to a ``case str()`` of it."""
        return str

    def fill(self, values: dict[int, Any]) -> str:
        """The text with the program's values; ``values`` maps the id of an open value to what it is now."""
        out = []
        for part in self.parts:
            if isinstance(part, str):
                out.append(part)
                continue
            value, conversion, spec = part
            spec = spec.fill(values) if isinstance(spec, Text) else spec
            out.append(_formatted(refill(value, values), conversion, spec))
        return "".join(out)

    def __str__(self) -> str:
        """Python needs the text now: numbers are guarded, tensors refuse."""
        if self.tensors():
            raise needs_value("what this text says")
        return self.fill({})

    def tensors(self) -> dict[int, Any]:
        return {key: v for key, v in open_values(self, {}).items() if isinstance(v, Tensor) and not is_lazy(v)}

    def with_tensors(self, values: dict[int, Any]) -> Text:
        parts = (p if isinstance(p, str) else (refill(p[0], values, True), p[1], refill(p[2], values, True))
                 for p in self.parts)  # fmt: skip
        return Text(tuple(parts))

    def __repr__(self) -> str:
        return repr(self.fill({}))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        return str(self) == (str(other) if isinstance(other, Text) else other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        return len(str(self))

    def __bool__(self) -> bool:
        return any(isinstance(p, str) and p for p in self.parts) or bool(str(self))

    def __contains__(self, part: Any) -> bool:
        return concrete(part) in str(self)

    def __iter__(self) -> Any:
        return iter(str(self))

    def __getitem__(self, key: Any) -> Any:
        return deferred(operator.getitem, (self, key))

    def __mod__(self, values: Any) -> Any:
        return deferred(operator.mod, (self, values))

    def __mul__(self, times: Any) -> Any:
        return deferred(operator.mul, (self, times))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return Text((*self.parts, *(other.parts if isinstance(other, Text) else ("" + other,))))

    def __radd__(self, other: Any) -> Any:
        return Text((other + "", *self.parts))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in TEXT_METHODS:
            return lambda *args, **kwargs: deferred(getattr(str, name), (self, *args), kwargs)
        return getattr(str(self), name)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Text, Any], bool]:
    return lambda text, other: compare(str(text), concrete(other))


for _name in ("lt", "le", "gt", "ge"):
    setattr(Text, f"__{_name}__", _ordered(getattr(operator, _name)))
Text.__name__ = "str"  # what errors of Python call it


TEXT_METHODS = frozenset((
    "capitalize", "casefold", "center", "expandtabs", "format", "join", "ljust", "lower", "lstrip", "removeprefix",
    "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "translate", "upper", "zfill",
))  # fmt: skip
"""Methods of ``str`` that give a text: of an open one they give an open one."""


def deferred(fn: Callable[..., str], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Text:
    """The text that a pure function gives of values that are not all known; it is called when they are."""
    return Text(((_snapshots(args, kwargs or {}), lambda found: fn(*found[0], **found[1]), ""),))


def text_of(fn: Callable[..., str], *args: Any, **kwargs: Any) -> Any:
    """What a pure function says of its arguments: at once, or when all of them are known."""
    given = _snapshots(args, kwargs)
    return deferred(fn, *given) if has_open(given) else fn(*args, **kwargs)


def _snapshots(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return tuple(map(snapshot, args)), {name: snapshot(value) for name, value in kwargs.items()}


@dataclass(frozen=True)
class ObjectText:
    """An object of the user's in a text: what its ``__str__`` and its ``__repr__`` say, which may be open texts."""

    shown: Any
    told: Any

    def __str__(self) -> str:
        return str(self.shown)

    def __repr__(self) -> str:
        return str(self.told)

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")
        return str(self)


def _object_text(value: Any, wanted: tuple[Any, ...]) -> Any:
    """The object as :class:`ObjectText`, or itself: one that says nothing of its own."""
    engine, own = slot.engine, type(value).__str__
    if not isinstance(engine, Capture):
        return value
    asked: Any = (repr,) if own is object.__str__ else wanted  # type: ignore[comparison-overlap]
    if hasattr(type(value), "cells_and_names") and not engine.session.objects.is_fresh(value):
        engine.session.guard("eq", (sources.called(repr, (engine.session.anchor(value),)),), (repr(value),))
    said = [special_methods.converted(engine, fn, (value,)) for fn in asked]
    if all(text is NotImplemented for text in said):
        return value
    texts = [fn(value) if text is NotImplemented else text for fn, text in zip(asked, said)]
    named = type(type(value).__name__, (ObjectText,), {})  # errors of Python name the class
    return named(texts[0], texts[-1])


def snapshot(value: Any, wanted: tuple[Any, ...] = (str, repr)) -> Any:
    """A value as it is now: what the program writes into a list, a dict or an array later does not show in it.

    Args:
        wanted: what an object of the user's is asked for: both, where only the text's template tells. One that a
            container holds is asked for its ``repr``.
    """
    engine = slot.engine
    if isinstance(engine, Capture) and isinstance(value, (list, tuple, dict, set, frozenset, deque)):
        value = reads.entered(engine.session, value)  # what lies outside is read, and guarded
    parts = _parts(value)
    if parts is not None:
        return _of_parts(value, [snapshot(v, wanted if len(wanted) > 1 else (repr,)) for v in parts])
    if type(value) is np.ndarray:
        return value.copy()
    if isinstance(value, Dim):
        return int(value)  # which refuses: only the data tell it
    if isinstance(value, FunctionChoice):
        raise needs_value("a text of one of several functions")
    if isinstance(value, TrackedArray) and value._source is not None and value._session.is_written(value):
        return value.plain().copy()
    if isinstance(value, Tensor) and isinstance(engine, Capture):
        return engine.wrap(engine.lift(value))  # what the program has written is in its session, not in the object
    return _object_text(value, wanted)


def _with_attributes(value: Any, parts: list[Any]) -> Any:
    new = value.__class__.__new__(value.__class__)
    vars(new).update(zip(vars(value), parts))
    return new


def _anew(value: Any, base: Any, *given: Any) -> Any:
    new = base.__new__(type(value), *given)
    base.__init__(new, *given)
    getattr(new, "__dict__", {}).update(getattr(value, "__dict__", {}))
    return new


def _views(name: str) -> tuple[type, ...]:
    kinds: tuple[Any, ...] = (dict, OrderedDict)
    return tuple(type(getattr(kind(), name)()) for kind in kinds)


_KINDS: tuple[tuple[Any, Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]], ...] = (
    (dict, lambda d: [*dict.values(d)], lambda value, parts: remade(value, dict(zip(dict.keys(value), parts)))),
    (deque, raw_items, lambda value, parts: remade(value, parts, value.maxlen)),
    ((list, tuple, set, frozenset), raw_items, remade),
    (Exception, lambda error: [*error.args], lambda error, parts: _anew(error, Exception, *parts)),
    (slice, lambda s: [s.start, s.stop, s.step], lambda _, parts: slice(*parts)),
    (partial, lambda p: [p.func, p.args, p.keywords], lambda p, parts: type(p)(parts[0], *parts[1], **parts[2])),
    (_views("values"), lambda view: [dict(view.mapping)], lambda _, parts: parts[0].values()),
    (_views("items"), lambda view: [dict(view.mapping)], lambda _, parts: parts[0].items()),
    ((ObjectText, SimpleNamespace, ChainMap, UserDict, UserList), lambda v: [*vars(v).values()], _with_attributes),
)
"""Of each class: the parts that a text of it tells, and another one with other parts, made without methods of a
program's own class."""


def _kind(value: Any) -> Any:
    return next((row for row in _KINDS if isinstance(value, row[0])), None)


def _parts(value: Any) -> list[Any] | None:
    """What a text of ``value`` tells, if it is made of others."""
    kind = _kind(value)
    return None if kind is None else kind[1](value)


def _of_parts(value: Any, parts: list[Any]) -> Any:
    return _kind(value)[2](value, parts)


def _formatted(value: Any, conversion: Any, spec: str) -> str:
    return str(conversion(value)) if callable(conversion) else formatted(value, conversion, spec)


def is_open(value: Any) -> bool:
    """Does its value change from call to call?"""
    return is_lazy(value) or isinstance(value, (Tensor, TrackedArray, Text))


def fstring(parts: tuple[Any, ...]) -> Any:
    """The text of an f-string, open if a part is."""
    parts = tuple(p if isinstance(p, str) else _part(*p) for p in parts)
    if any(not isinstance(p, str) and _has_open((p[0], p[2])) for p in parts):
        return Text(parts)
    return "".join(p if isinstance(p, str) else _formatted(*p) for p in parts)


def _part(value: Any, conversion: int, spec: Any) -> tuple[Any, int, Any]:
    """A replacement field: an object of the user's with a ``__format__`` formats itself now."""
    engine = slot.engine
    if conversion == -1 and isinstance(engine, Capture):
        said = special_methods.converted(engine, format, (value, spec))
        if said is not NotImplemented:
            return said, -1, ""
    return snapshot(value, (repr,) if conversion in (97, 114) else (str,)), conversion, spec


def format_fields(engine: Capture, template: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``template.format(...)`` as an f-string: attributes and items of its fields are read now.

    Raises:
        ValueError, LookupError: the template is more than that, or wrong.
    """
    parts: list[Any] = []
    count, numbered = 0, False
    for literal, field, spec, conversion in Formatter().parse(template):
        parts.append(literal)
        if field is None:
            continue
        if spec is None or "{" in spec or conversion not in (None, "s", "r", "a"):
            raise ValueError(f"{spec!r}, {conversion!r}")
        first, rest = formatter_field_name_split(field)
        key, count = (count, count + 1) if first == "" else (first, count)
        numbered = numbered or isinstance(first, int)
        value = args[key] if isinstance(key, int) else kwargs[key]
        for is_name, step in rest:
            value = reads.attr(engine.session, value, step) if is_name else reads.item(engine.session, value, step)
        parts.append((value, ord(conversion) if conversion else -1, spec))
    if numbered and count:
        raise ValueError("fields with numbers and without")
    return fstring(tuple(parts))


def call_text_method(engine: Capture, owner: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``owner.name(...)`` for a method that gives a text."""
    if name == "join":  # an iterator can be looked at only once, an object goes through its own methods
        args = tuple(a if isinstance(a, str) else [*reads.iterate(engine.session, a)] for a in args)
    args, kwargs = engine.given(args), engine.given(kwargs)
    if name == "join":
        args = tuple([concrete(v) if is_lazy(v) else v for v in a] if isinstance(a, list) else a for a in args)
    if name == "format":
        with suppress(ValueError, LookupError):
            return format_fields(engine, owner, args, kwargs)
    return text_of(getattr(str, name), owner, *args, **kwargs)


def reading_texts(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call(engine, value, name, ...)`` that needs the texts among its first two arguments now."""

    def made(engine: Capture, *args: Any, **kwargs: Any) -> Any:
        plain = [str(a) if isinstance(a, Text) else a for a in args[:2]]
        return call(engine, *plain, *args[2:], **kwargs)

    return made


def _has_open(value: Any) -> bool:
    return bool(open_values(value, {}))


has_open = _has_open


def open_values(value: Any, found: dict[int, Any]) -> dict[int, Any]:
    """The open values inside ``value``, by id."""
    if isinstance(value, Text):
        for part in value.parts:
            if not isinstance(part, str):
                open_values(part[0], found)
                open_values(part[2], found)
    elif (parts := _parts(value)) is not None:
        for v in parts:
            open_values(v, found)
    elif is_open(value):
        found[id(value)] = value
    return found


def refill(value: Any, values: dict[int, Any], is_open: bool = False) -> Any:
    """``value`` with the program's values in place of the open ones; ``is_open``: the texts in it stay open."""
    if id(value) in values:
        return values[id(value)]
    if isinstance(value, Text):
        return value.with_tensors(values) if is_open else value.fill(values)
    parts = _parts(value)
    return value if parts is None else _of_parts(value, [refill(v, values, is_open) for v in parts])


def at_run(
    engine: Capture, name: str, values: Any, action: Callable[[Any], None], guard: Any = None,
    error: Exception | None = None,
) -> None:  # fmt: skip
    """Call ``action(values)`` at every run, with values in place of tensors and open numbers.

    Args:
        guard: a tensor; the action runs only where it is false.
        error: what the action raises, if that is all it does.
    """
    found = list(open_values(values, {}).items())

    def run(*tensors: Any) -> tuple[()]:
        if guard is not None and bool(tensors[0]):
            return ()
        given = tensors if guard is None else tensors[1:]
        action(refill(values, {key: t for (key, _), t in zip(found, given)}))
        return ()

    args = [v for _, v in found] if guard is None else [guard, *(v for _, v in found)]
    told = None if error is None else _told(error, [key for key, _ in found], guard is not None)
    control_flow.host_call(engine, control_flow.HostFn(run, name, error=told), args, (), effect=True)


def _told(error: Exception, found: list[int], guarded: bool) -> ErrorTemplate | None:
    """The error as data; None where a file cannot say it: a class of the user's, a message that is no text.

    Args:
        found: the ids of the open values that the node is given, in order.
    """
    kind, fields = type(error), error.__dict__
    if kind.__module__ not in ("builtins", MsnbError.__module__) or len(error.args) > 1 or error.__cause__ is not None:
        return None
    message = error.args[0] if error.args else ""
    pieces = [_piece(part, found) for part in (message.parts if isinstance(message, Text) else (message,))]
    operands, hint = fields.get("operands", ()), fields.get("hint", "")
    if None in pieces or not all(isinstance(line, str) for line in (*operands, hint)):
        return None
    return ErrorTemplate(kind.__name__, tuple(p for p in pieces if p) if error.args else None, operands, hint, guarded)


def _piece(part: Any, found: list[int]) -> Piece | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, tuple):
        return None
    if id(part[0]) in found and type(part[1]) is int and type(part[2]) is str:
        return (found.index(id(part[0])), part[1], part[2])
    return None if has_open(part) else _formatted(*part)


def has_effects(graph: Any) -> bool:
    """Does it print, check or call back?"""
    return any("effect" in n.op.traits or n.attrs.get("effect") for _, n in graph.walk())


def call_at_run(engine: Capture, name: str, fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
    """Call ``fn`` for what it does to the world, at every run and in its place: ``print``, a warning, a line of a log.

    Its arguments are what they are now, with the program's values in place of tensors and outside numbers.
    """
    wanted = (str,) if name == "print" else (str, repr)
    words = [snapshot(a, wanted) for a in args], {k: snapshot(v) for k, v in kwargs.items()}
    at_run(engine, name, words, lambda found: fn(*found[0], **found[1]))


def check(engine: Capture, pred: SymbolicTensor, message: Any, has_message: bool) -> None:
    """``assert pred, message``."""

    def fail(values: Any) -> None:
        raise AssertionError(*values)

    values = [message] if has_message else []
    at_run(engine, "assert", values, fail, pred, AssertionError(*values))


def check_ran(engine: Capture, late: Late) -> None:
    """A variable that a branch or loop gives a value is read after it: that must have run."""
    if any(b.graph is engine.graph for b in late.checked):
        return
    late.checked.append(engine)

    def fail(values: Any) -> None:
        raise late.unbound

    at_run(engine, "is set", [], fail, late.ran(), late.unbound)


def raise_at_run(engine: Capture, error: Exception, origin: Origin | None) -> None:
    """An error that only the run may raise: a tensor decides whether it comes to that, or something is printed first.

    Args:
        origin: where it was raised.
    """
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else None

    def fail(values: Any) -> None:
        raise _like(error, *values)

    for kept in (error, cause):  # the frames of the capture
        if kept is not None:
            kept.__traceback__ = kept.__context__ = None
    before, engine.origin = engine.origin, origin
    at_run(engine, "raise", (*_carried(error), None if cause is None else _carried(cause)), fail, error=error)
    engine.origin = before


def _carried(error: BaseException) -> tuple[list[Any], dict[str, Any]]:
    return list(error.args), dict(error.__dict__)


def _like(error: BaseException, args: list[Any], fields: dict[str, Any], cause: Any) -> BaseException:
    """The user's error with the program's values among its arguments and fields."""
    new = type(error).__new__(type(error), *args)
    new.args = tuple(args)
    new.__dict__.update(fields)
    known = error.__cause__
    new.__cause__ = _like(known, cause[0], cause[1], None) if cause is not None and known is not None else known
    new.__suppress_context__ = error.__suppress_context__
    return new


def notice_once(engine: Capture, what: str) -> None:
    """Something happened while the function was captured and will not happen again."""
    place = here(2).where
    at = f" ({place})" if place is not None else ""
    engine.session.guards.notes.setdefault(what, at)
    unsure = engine.session.statements.undecided
    undecided = " Whichever way the tensor decides that this hangs on, it ran." if unsure else ""
    events.notice(
        f"{what} ran while the function was captured{at}: it does not run again at each call.{undecided}", f"{what}{at}"
    )
