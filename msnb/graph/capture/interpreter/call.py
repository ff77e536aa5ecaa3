"""Calls: who is called decides how.

a Python function or method     its converted twin, so that its decisions and reads are seen too
a class of the user             made with ``__new__``, then ``__init__`` is called like that
a jitted function               the function behind it
msnb's own functions, ops       as they are, on symbolic tensors
built-ins that we know          see ``known``
everything else (C code, NumPy, the standard library)   as it is, on plain Python values: outside numbers are fixed by
                                a guard, outside containers are guarded as a whole, tensors are refused
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import operator
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

from msnb.base import CaptureError
from msnb.base.settings import get_context
from msnb.base.source_location import here, is_own
from msnb.core import Parameter, Tensor, slot
from msnb.graph.capture.frontend import converter
from msnb.graph.capture.interpreter import builtin_calls, reads, writes
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.interpreter.control import attribute_lookup, recursion
from msnb.graph.capture.interpreter.control.object_readers import got
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.function_choice import FunctionChoice
from msnb.graph.capture.values.lazy_values import concrete
from msnb.graph.capture.values.object_table import OPAQUE_FILES, has_parts, is_framework, is_opaque, on_class
from msnb.ops.definition.record import Op

_OF_FACTORY: Any = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined]
_DEEPEST = 3000  # a call of a converted function takes about 1 KB of C's stack, which has 8 MB
_FRAMES = 20  # and some frames of Python's


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``fn(*args, **kwargs)`` in a captured program."""
    engine = slot.engine
    if not isinstance(engine, Capture):
        return fn(*args, **kwargs)
    kind = type(fn)
    if kind is types.FunctionType:
        return _function(engine, fn, args, kwargs)
    if kind is types.MethodType:
        return _method(engine, fn, args, kwargs)
    if kind is Op:
        return fn(*engine.given(args), **engine.given(kwargs))
    if kind is functools.partial:
        return _partial(engine.session, fn, args, kwargs)
    if attribute_lookup.plain(fn, "__msnb_fn__", None) is not None:
        return call(reads.attr(engine.session, fn, "__msnb_fn__"), *args, **kwargs)
    if fn is Tensor:
        return builtin_calls.call(engine, fn, args, kwargs)
    if isinstance(fn, type):
        return _make(engine, fn, args, kwargs)
    if kind is types.MethodWrapperType and fn.__name__ == "__call__" and isinstance(fn.__self__, type):
        return _instance(engine, fn.__self__, args, kwargs)  # type.__call__, by way of super()
    if any(fn is new for new in _PLAIN_NEW):
        return engine.session.fresh(fn(*args, **kwargs))
    return _object(engine, fn, args, kwargs)


def _partial(session: Session, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A partial object from outside: its parts are read, and guarded."""
    if session.objects.source_of(fn) is None:
        return call(fn.func, *fn.args, *args, **{**fn.keywords, **kwargs})
    given = reads.items(session, reads.attr(session, fn, "args"))
    named = reads.mapping(session, reads.attr(session, fn, "keywords"))
    return call(reads.attr(session, fn, "func"), *given, *args, **{**named, **kwargs})


def _method(engine: Capture, fn: types.MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(fn.__func__, types.FunctionType):
        return _function(engine, fn.__func__, (fn.__self__, *args), kwargs)
    return call(fn.__func__, fn.__self__, *args, **kwargs)


def _object(engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    method = inspect.getattr_static(type(fn), "__call__", None)
    if isinstance(fn, FunctionChoice):
        return fn(*args, **kwargs)
    if isinstance(fn, functools._lru_cache_wrapper):
        return call(reads.attr(engine.session, fn, "__wrapped__"), *args, **kwargs)
    if isinstance(fn, (operator.attrgetter, operator.itemgetter, operator.methodcaller)):
        return got(engine, fn, *args)
    if isinstance(method, types.FunctionType):
        engine.session.guard("is", (sources.attr(sources.ref(type(fn)), "__call__"),), (method,))
        if not engine.session.objects.is_fresh(fn):
            engine.session.anchor(fn)
        return _function(engine, method, (fn, *args), kwargs)
    return builtin_calls.call(engine, fn, args, kwargs)


# ---- Python functions ----


_LISTINGS = frozenset(
    ("cells", "name_cells", "get_sub_cell", "cells_and_names", "parameters_and_names", "get_parameters",
     "parameters_dict", "trainable_params", "untrainable_params", "buffers", "named_buffers", "state_dict")
)  # fmt: skip
"""Methods by which a Cell tells of its members: msnb's own code, whose reads of attributes are not seen."""


def _guard_listing(session: Session, fn: Any, args: tuple[Any, ...]) -> None:
    """The Cell ``args[0]`` must tell of the same members at every call: some may come, go, or want no gradient."""
    cell, given = args[0], tuple(map(concrete, args[1:]))
    if session.objects.is_fresh(cell) or any(isinstance(x, set) for x in given):  # a set is filled by the walk
        return

    def members(cell: Any) -> list[Any]:
        found = fn(cell, *given)
        parts = found.items() if isinstance(found, dict) else found if isinstance(found, (list, Iterator)) else [found]
        return [x for part in parts for x in (part if isinstance(part, tuple) else (part,))]

    before: list[Any] = []

    def same_members(cell: Any) -> bool:
        now = members(cell)
        if not before:  # the check that follows the capture: what the program itself changed is undone
            before.append(now)
        return len(now) == len(before[0]) and all(a is b or type(a) is str and a == b for a, b in zip(now, before[0]))

    session.guard("is", (sources.called(same_members, (session.anchor(cell),)),), (True,))


def _guarded_setting(session: Session, fn: types.FunctionType, args: tuple[Any, ...], found: Any) -> Any:
    """``get_context("device_target")``, ``get_seed()``: a setting of msnb is asked for again at each call."""
    if fn.__name__.startswith(("get_", "is_")) and all(type(a) in (str, int, bool, type(None)) for a in (*args, found)):
        session.guard("eq", (sources.called(fn, args),), (found,))
    return found


def _function(engine: Capture, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if converter.is_converted(fn.__code__):
        return _guarded_call(engine, fn, args, kwargs)
    if is_opaque(fn, *map(type, args[:1])):
        return _opaque(engine, fn, args, kwargs)
    found = _of_library(engine, fn, args, kwargs)
    if found is not NotImplemented:
        return found
    session = engine.session
    if not is_own(fn.__code__.co_filename) and not _found_by_path(session, fn):
        session.guard("is", (sources.attr(sources.ref(fn), "__code__"),), (fn.__code__,))
    defaults, kwdefaults = _defaults(session, fn, args, kwargs)
    return _guarded_call(engine, converter.twin(fn, session.interpreter.intrinsics, defaults, kwdefaults), args, kwargs)


def _opaque(engine: Capture, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that is not converted."""
    file = fn.__code__.co_filename
    if is_own(file) and fn.__name__ in ("__setattr__", "__delattr__") and has_parts(type(args[0])):
        return writes.by_framework(fn.__name__, *args)
    if file in OPAQUE_FILES:
        if fn.__name__ in _LISTINGS and hasattr(type(args[0]), "cells_and_names"):
            _guard_listing(engine.session, functools.partial(fn, **kwargs), args)
        return fn(*args, **kwargs)
    if is_own(file) and not file.startswith("<frozen "):  # as Python calls the files of os and its like
        return _guarded_setting(engine.session, fn, args, fn(*engine.given(args), **engine.given(kwargs)))
    return builtin_calls.call(engine, fn, args, kwargs)


def _of_library(engine: Capture, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``singledispatchmethod``, ``contextmanager`` and ``dataclass`` made of a program's functions; else
    NotImplemented."""
    file = fn.__code__.co_filename
    if file == functools.__file__ and {"obj", "cls"} <= {*fn.__code__.co_freevars}:
        held = dict(zip(fn.__code__.co_freevars, (box.cell_contents for box in fn.__closure__ or ())))
        dispatch = held["dispatch"] if "dispatch" in held else held["self"].dispatcher.dispatch
        return call(dispatch(call(type, args[0])).__get__(held["obj"], held["cls"]), *args, **kwargs)
    if file == contextlib.__file__ and hasattr(fn, "__wrapped__"):
        return contextlib.contextmanager(functools.partial(call, fn.__wrapped__))(*args, **kwargs)
    if args and file == "<string>" and _is_generated(fn, type(args[0])):
        return _generated(engine.session, fn, *args, **kwargs)
    return NotImplemented


def _is_generated(fn: types.FunctionType, kind: type) -> bool:
    """Is it a method that ``dataclass`` wrote?"""
    return dataclasses.is_dataclass(kind) and getattr(kind, fn.__name__, None) is fn


def _generated(session: Session, fn: types.FunctionType, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """A method that ``dataclass`` wrote: its ``__init__`` calls what is the program's own, factories, ``__setattr__``
    and ``__post_init__``; others run as they are."""
    if fn.__name__ != "__init__":
        return fn(owner, *args, **kwargs)
    given = inspect.signature(fn).bind(owner, *args, **kwargs)
    given.apply_defaults()
    variables = []
    for name, entry in type(owner).__dataclass_fields__.items():
        value = given.arguments.get(name, dataclasses.MISSING)
        if entry.default_factory is not dataclasses.MISSING and (value is _OF_FACTORY or not entry.init):
            value = call(entry.default_factory)
        if entry._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]
            variables.append(value)
        elif value is not dataclasses.MISSING and type(owner).__dataclass_params__.frozen:
            writes.raw("__setattr__", owner, name, value)
        elif value is not dataclasses.MISSING:
            session.interpreter.intrinsics.set_attr(owner, name, value)
    after = getattr(type(owner), "__post_init__", None)
    return None if after is None else call(after, owner, *variables)


def _found_by_path(session: Session, fn: types.FunctionType) -> bool:
    """Was the function read along a path? Then its code is guarded there, and the program need not hold on to it."""
    source = session.objects.source_of(fn)
    return source is not None and source.ident != sources.ref(fn).ident


def _guarded_call(engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    session = engine.session
    frames = session.calls.running.setdefault(fn.__code__, [])
    if frames:
        found = recursion.called(engine, fn, args, kwargs, frames, _run)
        if found is not recursion.NOT_RECURSIVE:
            return found
    return _run(session, fn, args, kwargs)


def _run(session: Session, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frames = session.calls.running.setdefault(fn.__code__, [])
    frames.append(recursion.Frame(fn, args, kwargs, slot.engine))
    session.calls.depth += 1
    if session.calls.depth % 32 == 0:
        if session.calls.depth > _deepest():
            raise _too_deep(fn)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), session.calls.limit + _FRAMES * session.calls.depth))
    attempts = len(session.statements.attempts)
    try:
        return fn(*args, **kwargs)
    finally:
        session.calls.depth -= 1
        frames.pop()
        del session.statements.attempts[attempts:]


def _deepest() -> int:
    return min(int(get_context("max_call_depth")), _DEEPEST)


def _too_deep(fn: Any) -> Exception:
    error = CaptureError(
        f"{fn.__name__} calls itself without end while it is captured.",
        hint="let a branch return without a call of itself; where a tensor decides, give each call tensors of the same "
        "shapes and dtypes and the same Python values, or write the recursion as a while loop; calls may be nested "
        f"{_deepest()} deep (ms.set_context(max_call_depth=...), up to {_DEEPEST}).",
    )
    error.where = here(3).where
    return error


def _defaults(session: Session, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Defaults that this call uses are outside values: they are read, and guarded."""
    code, values = fn.__code__, fn.__defaults__
    base = session.objects.source_of(fn) or sources.ref(fn, fn.__name__)
    if values:
        names = code.co_varnames[: code.co_argcount]
        first = len(names) - len(values)
        box = sources.attr(base, "__defaults__")
        values = tuple(
            v if i < len(args) or names[i] in kwargs
            else session.track(v, sources.item(box, i - first, f"the default of {names[i]}"))
            for i, v in enumerate(values, first)
        )  # fmt: skip
    kwvalues = fn.__kwdefaults__
    if kwvalues:
        box = sources.attr(base, "__kwdefaults__")
        kwvalues = {
            k: v if k in kwargs else session.track(v, sources.item(box, k, f"the default of {k}"))
            for k, v in kwvalues.items()
        }
    return values, kwvalues


# ---- classes ----


_OF_VALUES = [
    kind.__new__
    for kind in (tuple, str, bytes, int, float, complex, frozenset, deque, OrderedDict, types.SimpleNamespace)
]
_PLAIN_NEW = tuple(kind.__new__ for kind in (object, dict, list, set))


def _make(engine: Capture, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if cls is Parameter:
        return builtin_calls.parameter(engine, *args, **kwargs)
    made_by = on_class(type(cls), "__call__")
    if isinstance(made_by, types.FunctionType) and not is_opaque(made_by, type(cls)):
        attribute_lookup.watch_class(engine.session, cls, "__call__")
        return call(made_by, cls, *args, **kwargs)
    return _instance(engine, cls, args, kwargs)


def _started(cls: Any, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ``__new__`` of the program gave; if it is an object of the class, its ``__init__`` is called."""
    if isinstance(made, cls) and isinstance(type(made).__init__, types.FunctionType):
        call(type(made).__init__, made, *args, **kwargs)
    return made


def _error(engine: Capture, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if is_opaque(cls.__init__):  # an error of msnb: what it says may be open, as it may be in a plain error
        return engine.session.fresh(cls(*args, **kwargs))
    error = engine.session.fresh(cls.__new__(cls, *args, **kwargs))
    call(cls.__init__, error, *args, **kwargs)
    return error


def _is_programs(new: types.FunctionType, cls: type) -> bool:
    """Is ``__new__`` the program's own? ``namedtuple`` has generated one."""
    generated = (new.__module__ or "").startswith("namedtuple_")
    return not generated and not issubclass(cls, (type, enum.Enum)) and not is_opaque(new, cls)


def _by_c(engine: Capture, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An object of a class of C code, or of msnb."""
    own_call = isinstance(on_class(type(cls), "__call__"), types.FunctionType)  # which asks for this, by way of super()
    maker = functools.partial(type.__call__, cls) if own_call else cls
    result = builtin_calls.call(engine, maker, args, kwargs)
    if isinstance(result, (type, enum.Enum)) and len(args) == 1:
        return result  # the class of an object, the member of a value: they were there before
    return engine.session.fresh(result) if hasattr(result, "__dict__") or isinstance(result, Tensor) else result


def _instance(engine: Capture, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``type.__call__(cls, ...)``."""
    init, new = cls.__init__, cls.__new__
    if cls.__flags__ & (1 << 9) and not is_framework(sys.modules.get(cls.__module__)):
        engine.session.guard("is", (sources.attr(sources.ref(cls), "__init__"),), (init,))
    if issubclass(cls, BaseException) and isinstance(init, types.FunctionType):
        return _error(engine, cls, args, kwargs)
    if isinstance(new, types.FunctionType) and _is_programs(new, cls):
        engine.session.guard("is", (sources.attr(sources.ref(cls), "__new__"),), (new,))
        return _started(cls, call(new, cls, *args, **kwargs), args, kwargs)
    known = new in _PLAIN_NEW or new in _OF_VALUES
    if not known or not isinstance(init, types.FunctionType) or is_opaque(init, cls):
        return _by_c(engine, cls, args, kwargs)
    made = builtin_calls.call(engine, new, (cls, *args), kwargs) if new in _OF_VALUES else cls.__new__(cls)
    call(init, engine.session.fresh(made), *args, **kwargs)
    return made
