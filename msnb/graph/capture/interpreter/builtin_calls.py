"""Built-in functions and methods that a captured program calls: what each does with outside values and tensors."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import functools
import io
import itertools
import logging
import numbers
import operator
import os
import pathlib
import re
import sys
import types
import warnings
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import CaptureError, MsnbError
from msnb.base.source_location import here
from msnb.core import Parameter, Tensor, dtypes
from msnb.core.types import WEAK, Dim, need_index, result_dtype, tensor_type
from msnb.graph.capture.guards.buffer_content import contents
from msnb.graph.capture.interpreter import reads, side_effects, special_methods as operators, writes
from msnb.graph.capture.interpreter.array_mutations import Watch
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import CONTAINERS, Session
from msnb.graph.capture.interpreter.control import attribute_lookup
from msnb.graph.capture.interpreter.control.object_copy import ObjectCopy
from msnb.graph.capture.interpreter.control.object_readers import asked_again, receiver, replaced, words
from msnb.graph.capture.interpreter.control.python_reduction import any_all, are_numbers, extreme, total
from msnb.graph.capture.interpreter.control.symbolic_range import SymbolicRange
from msnb.graph.capture.interpreter.control.truth_value import number_of, truth
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.branch_merge import Late, UndefinedVariable
from msnb.graph.capture.values.function_choice import FunctionChoice, agreed
from msnb.graph.capture.values.lazy_values import TrackedArray, concrete, is_lazy, lazy_call, needs_value
from msnb.graph.capture.values.mutation_journal import MISSING
from msnb.graph.capture.values.object_table import ABSENT, on_class
from msnb.ir.builder import SymbolicTensor
from msnb.ops.definition.record import Op, find

# what these tell is the machine's: the time, chance, files, the environment, other processes
_OF_THE_MACHINE = frozenset({
    "time", "random", "secrets", "uuid", "numpy.random.mtrand", "numpy.random", "os", "posix", "nt", "genericpath",
    "glob", "shutil", "subprocess", "socket", "tempfile", "platform", "getpass",
})  # fmt: skip
_PUBLIC = {"posix": "os", "nt": "os", **dict.fromkeys(("genericpath", "posixpath", "ntpath"), "os.path")}
_LOOKS = (
    open, input, os.path.abspath, os.path.expanduser, os.path.expandvars, os.path.islink, os.path.lexists,
    os.path.ismount, os.path.realpath,
)  # fmt: skip
_OF_THIS_MOMENT = frozenset({"now", "today", "utcnow"})
_LOOKS_AT_NOTHING = (os.fspath, os.fsencode, os.fsdecode)
# values that never change, and those that are entered or guarded as a whole
_SETTLED = (
    type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, enum.Enum, int, float, complex, str, bytes,
    range, slice, tuple, frozenset, list, dict, set, deque, np.ndarray, np.generic, np.dtype, np.ufunc, re.Pattern,
    re.Match, numbers.Number, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, dtypes.DType, Op,
)  # fmt: skip
_CALLED = (
    types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, type, operator.attrgetter,
    operator.itemgetter, operator.methodcaller,
)  # fmt: skip
_RAW = {name: getattr(object, name) for name in ("__setattr__", "__delattr__", "__getattribute__")}


_MUTATORS: dict[type, frozenset[str]] = {
    list: words("append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__ __imul__"),
    dict: words("update setdefault pop popitem clear move_to_end __setitem__ __delitem__ __ior__"),
    set: words("add discard remove update clear pop difference_update intersection_update symmetric_difference_update "
                "__ior__ __iand__ __isub__ __ixor__"),
    deque: words("append appendleft extend extendleft pop popleft clear rotate insert remove reverse __setitem__ "
                  "__delitem__ __iadd__ __imul__"),
}  # fmt: skip
_LOOK_DEEP = words("count index __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__")
_COMPARE = (sorted, min, max, set, frozenset, Counter)
_HIGHER = {map, filter, sorted, functools.reduce, min, max}


def call(engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call something that is not converted."""
    found = operators.converted(engine, fn, args)
    if found is not NotImplemented:
        return found
    if type(fn) is types.MethodWrapperType and fn.__name__ in _RAW:  # by way of super()
        return writes.raw(fn.__name__, fn.__self__, *args)
    if any(fn is raw for raw in _RAW.values()):
        return writes.raw(fn.__name__, *args)
    special = _SPECIAL.get(fn) if _hashable(fn) else None
    if special is not None:
        return special(engine, *args, **kwargs)
    owner = getattr(fn, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return _method(engine, fn, owner, args, kwargs)
    if _hashable(fn) and fn in sources.PURE and not kwargs and any(map(is_lazy, args)) and are_numbers(args):
        return lazy_call(fn, args)
    return _opaque(engine, fn, args, kwargs)


def _hashable(fn: Any) -> bool:
    return isinstance(fn, (type, types.BuiltinFunctionType, types.FunctionType))


def _opaque(engine: Capture, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    told = asked_again(engine, fn, args) if not kwargs else NotImplemented
    if told is not NotImplemented:
        return told
    own = _notice_read(engine, fn, args)
    if fn in _HIGHER if _hashable(fn) else False:
        kwargs = {k: _callable(engine, v) for k, v in kwargs.items()}
        if fn in (map, filter, functools.reduce):  # the first is called, even if it can be gone through
            args, own = (*(_callable(engine, a) for a in args[:1]), *args[1:]), 1
    given = (*args[:own], *(_plain(engine, fn, a) for a in args[own:]))
    named = {k: _plain(engine, fn, v) for k, v in kwargs.items()}
    owner = (getattr(fn, "__self__", None),)
    watch = Watch(engine.session, (*args, *kwargs.values(), *owner), (*given, *named.values(), *owner))
    made = engine.session.made(fn(*given, **named))
    watch.conclude()
    return engine.session.born(made) if type(made) in (list, dict, set, deque) and isinstance(fn, type) else made


def _callable(engine: Capture, value: Any) -> Any:
    """A function handed to a built-in is converted when that calls it."""
    if not isinstance(value, _CALLED) and not isinstance(on_class(type(value), "__call__"), types.FunctionType):
        return value
    return lambda *args, **kwargs: engine.session.interpreter.call(value, *args, **kwargs)


def _plain(engine: Capture, fn: Any, value: Any) -> Any:
    if is_lazy(value):
        return concrete(value)
    if isinstance(value, TrackedArray):
        return value.plain()
    if isinstance(value, Dim) and fn is Tensor:
        return int(value)
    if isinstance(value, side_effects.Text):
        return _plain_text(fn, value)
    if isinstance(value, Tensor) and not isinstance(value, SymbolicTensor) and not _takes_tensors(fn):
        if not engine.session.objects.is_fresh(value):
            raise needs_value(f"{getattr(fn, '__name__', 'this function')}()")
    if isinstance(value, (list, tuple, dict)) and not _takes_tensors(fn):
        return reads.plain_parts(engine.session, reads.given(engine.session, value))
    return _looked_through(engine, fn, value)


def _looked_through(engine: Capture, fn: Any, value: Any) -> Any:
    """A container or an object for code that is not converted."""
    steps = operators.entered(engine, fn, value)
    session, compares = engine.session, fn in _COMPARE if _hashable(fn) else False
    takes_pairs = isinstance(fn, type) and issubclass(fn, dict) and not issubclass(fn, Counter)

    def part_of(part: Any) -> Any:
        if compares:
            reads.look_into(session, part)
        if (takes_pairs or fn is itertools.starmap) and isinstance(part, (list, tuple, deque)):
            return reads.items(session, part)
        return part if _takes_tensors(fn) else reads.plain_parts(session, part)

    if steps is not NotImplemented and not isinstance(steps, dict):
        return map(part_of, steps)
    found = reads.entered(session, value if steps is NotImplemented else steps)
    return type(found)(map(part_of, found)) if type(found) in (list, tuple, deque) else found


def _plain_text(fn: Any, text: side_effects.Text) -> Any:
    """An error of the program takes a text that is not all known, one of msnb is raised at once. Others read it now."""
    kind = fn if isinstance(fn, type) else type(getattr(fn, "__self__", None))
    if issubclass(kind, BaseException):
        return text.fill({}) if issubclass(kind, MsnbError) else text
    return str(text)


def _takes_tensors(fn: Any) -> bool:
    """Built-in containers and iteration tools hand tensors on without looking at them."""
    modules = ("builtins", "itertools", "functools", "_functools", "copy")
    return isinstance(fn, type) or getattr(fn, "__module__", "") in modules


def _read_outside(engine: Capture, fn: Any, owner: Any, name: Any, args: tuple[Any, ...]) -> str | None:
    """What a call reads of the time, of the machine or of an iterator, as the notice names it; None: nothing."""
    module = getattr(fn, "__module__", None) or type(owner).__module__
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in _OF_THIS_MOMENT:
        return f"datetime.{owner.__name__}.{name}()"
    if fn in _LOOKS or module in _OF_THE_MACHINE and fn not in _LOOKS_AT_NOTHING:
        return f"{_PUBLIC.get(module, module)}.{name}()"
    if fn is next and args and _may_change(engine, args[0], "__next__"):
        return f"next() of an object of {_class(args[0])}"
    return None


def _notice_read(engine: Capture, fn: Any, args: tuple[Any, ...]) -> int:
    """Tell what is read now and not at each call; how many of the arguments are the object that it is read of."""
    owner, name, own = receiver(fn, args)
    stateful = owner is not None and not isinstance(owner, types.ModuleType) and _may_change(engine, owner, name)
    outside = _read_outside(engine, fn, owner, name, args)
    if outside is not None:
        side_effects.notice_once(engine, outside)
    elif stateful and engine.session.statements.undecided:
        raise _undecided(f"{_class(owner)}.{name}()")
    elif stateful:
        side_effects.notice_once(engine, f"{_class(owner)}.{name}()")
    return own if stateful else 0


def _undecided(what: str) -> CaptureError:
    error = CaptureError(
        f"{what} is called where a tensor decides whether it runs: it may change an object that a graph cannot follow.",
        hint="decide with a Python value, or call it before or after, with a value that the branch computes.",
    )
    error.where = here(3).where
    return error


def _may_change(engine: Capture, owner: Any, name: str) -> bool:
    """An object from outside with a state of its own, which no guard sees: a generator of random numbers, an iterator,
    a file, the files behind a path, the environment. What a method of it gives may be something else next time."""
    if isinstance(owner, pathlib.PurePath):
        return not hasattr(pathlib.PurePath, name)
    if isinstance(owner, _SETTLED) or is_lazy(owner) or isinstance(owner, Tensor):
        return False
    return owner is os.environ or engine.session.objects.source_of(owner) is not None and contents(owner) is None


def _class(owner: Any) -> str:
    if owner is os.environ:
        return "os.environ"
    public = [part for part in type(owner).__module__.split(".") if not part.startswith("_")]
    return ".".join([*public, type(owner).__qualname__])


# ---- methods of built-in objects ----


def _method(engine: Capture, fn: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(fn, "__name__", "")
    if isinstance(owner, Tensor):
        return fn(*args, **kwargs)
    if isinstance(owner, io.TextIOBase) and name in ("write", "flush"):
        return (
            _write_text(engine, owner, *args) if name == "write" else side_effects.call_at_run(engine, name, fn, [], {})
        )
    if isinstance(owner, str) and name in side_effects.TEXT_METHODS:
        return side_effects.call_text_method(engine, owner, name, args, kwargs)
    for kind, names in _MUTATORS.items():
        if isinstance(owner, kind) and name in names:
            return _mutate(engine, owner, name, args, kwargs)
    if isinstance(owner, dict) and engine.session.objects.source_of(owner) is not None:
        return reads.dict_method(engine.session, owner, name, args, kwargs)
    if isinstance(owner, (list, tuple, set, frozenset, deque)) and engine.session.objects.source_of(owner) is not None:
        return _read_method(engine.session, owner, name, args, kwargs)
    if name in _LOOK_DEEP:
        reads.look_into(engine.session, [owner, *args])
    return _opaque(engine, fn, args, kwargs)


def _read_method(session: Session, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method that leaves a list, tuple, set or deque from outside as it is."""
    if name in _LOOK_DEEP:
        reads.look_into(session, [owner, *args])
    made = getattr(reads.entered(session, owner), name)(*map(concrete, args), **kwargs)
    return session.born(made) if isinstance(made, (list, set, deque)) else made


def _mutate(engine: Capture, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    session = engine.session
    if name not in ("append", "add", "extend", "update", "clear") and session.objects.source_of(owner):
        reads.note_all(session, owner)  # its result depends on what was there
    if name in ("remove", "sort"):
        reads.look_into(session, [owner, *args])
    if name == "extend" or name.endswith("update"):
        args = tuple(reads.entered(session, a) for a in args)
        args = tuple(list(a) if not isinstance(a, (dict, list)) else a for a in args)
        if isinstance(owner, dict) and not isinstance(owner, Counter):
            args = tuple(_pairs(session, a) if isinstance(a, list) else a for a in args)
    if name in ("pop", "setdefault", "insert", "add", "discard", "remove"):
        args = (concrete(args[0]), *args[1:]) if args else args
    return writes.mutate(owner, name, args, kwargs)


def _pairs(session: Session, values: list[Any]) -> list[Any]:
    return [reads.items(session, pair) if isinstance(pair, (list, tuple, deque)) else pair for pair in values]


# ---- built-in functions ----


def _len(engine: Capture, owner: Any) -> Any:
    if isinstance(owner, CONTAINERS):
        return reads.length(engine.session, owner)
    method = getattr(type(owner), "__len__", None)
    if isinstance(method, types.FunctionType) and not isinstance(owner, Tensor):
        return engine.session.interpreter.call(method, owner)
    if isinstance(owner, SymbolicTensor) and owner.ndim:
        return engine.session.symbols.read(owner, "shape", engine.session)[0]
    return len(owner)


def _print(engine: Capture, *args: Any, **kwargs: Any) -> None:
    session = engine.session
    file = _stream(kwargs.pop("file", None) or sys.stdout)

    def to_file(*words: Any, **named: Any) -> None:
        print(*words, file=file(), **named)

    side_effects.call_at_run(engine, "print", to_file, [reads.entered(session, a) for a in args], kwargs)


def _stream(stream: Any) -> Callable[[], Any]:
    """A stream as it is when the program runs: ``sys.stdout`` may be another one then."""
    for name in ("stdout", "stderr"):
        if stream is getattr(sys, name):
            return lambda: getattr(sys, name)
    return lambda: stream


def _warn(engine: Capture, message: Any, category: Any = None, stacklevel: int = 1, **kwargs: Any) -> None:
    """``warnings.warn`` is a node, like ``print``: it warns of the user's line at each call. Within a
    ``catch_warnings`` of the program, which is over then, it is done at once."""
    found = here(2).places[max(stacklevel - 1, 0) :]
    where = found[0] if found else None

    def warn(text: Any, kind: Any) -> None:
        if where is None:
            warnings.warn(text, kind, stacklevel=2)
        else:
            kind = type(text) if isinstance(text, Warning) else kind or UserWarning
            warnings.warn_explicit(text, kind, where.file, where.line)

    if warnings.filters is not engine.session.statements.filters:
        return warn(concrete(message), category)
    return side_effects.call_at_run(engine, "warn", warn, [message, category], {})


def _log(level: int | None) -> Callable[..., Any]:
    """A line of a log is a node, like ``print``."""

    def log(engine: Capture, logger: logging.Logger, *args: Any, **kwargs: Any) -> None:
        where = here(2).where
        own = level if level is not None else concrete(args[0])
        words = args if level is not None else args[1:]

        def emit(message: Any, *values: Any, extra: Any = None, **_: Any) -> None:
            if logger.isEnabledFor(own):
                file, line, function = (where.file, where.line, where.function) if where else ("", 0, "")
                logger.handle(logger.makeRecord(logger.name, own, file, line, message, values, None, function, extra))

        side_effects.call_at_run(engine, "log", emit, [reads.entered(engine.session, w) for w in words], kwargs)

    return log


def _write_text(engine: Capture, stream: Any, text: Any) -> Any:
    """``sys.stdout.write`` and the like: a node, like ``print``."""
    found = _stream(stream)
    side_effects.call_at_run(engine, "write", lambda words: found().write(words), [text], {})
    return len(text) if isinstance(text, str) else None


def _range(engine: Capture, *args: Any) -> Any:
    bounds = [a for a in args if isinstance(a, Tensor) and not is_lazy(a)]
    for bound in bounds:
        need_index(bound)
    if bounds:
        return SymbolicRange(args)
    return range(*(int(a) if isinstance(a, Dim) else _plain(engine, range, a) for a in args))


def _round(engine: Capture, number: Any, ndigits: Any = None) -> Any:
    """Python rounds decimals by the digits that it prints, which no operation of a graph does."""
    if not engine.session.pythonic.has(number):
        given = (number,) if ndigits is None else (number, ndigits)
        return lazy_call(round, given) if is_lazy(number) else _opaque(engine, round, given, {})
    if ndigits is not None:
        raise needs_value("round() to decimals")
    whole = find("cast")(find("round")(number), dtype=dtypes.int64)
    return engine.session.pythonic.mark(whole)


def _getattr(engine: Capture, owner: Any, name: str, *default: Any) -> Any:
    if not default:
        return reads.attr(engine.session, owner, name)
    told = attribute_lookup.asked(engine.session, owner, name, reads.attr)
    if told is not NotImplemented:
        return default[0] if told is ABSENT else told
    return reads.attr(engine.session, owner, name) if _hasattr(engine, owner, name) else default[0]


def _hasattr(engine: Capture, owner: Any, name: str) -> bool:
    owner = engine.session.pythonic.shown(owner)
    if isinstance(owner, FunctionChoice):
        return bool(agreed(owner, lambda x: _hasattr(engine, x, name)))
    told = attribute_lookup.asked(engine.session, owner, name, reads.attr)
    if told is not NotImplemented:
        return told is not ABSENT
    value: Any = getattr(owner, name, MISSING)
    if type(value) in (UndefinedVariable, Late):
        raise value.error()
    reads.guard_presence(engine.session, owner, name, value is not MISSING)
    return bool(_agreed(engine, owner, lambda x: value is not MISSING if x is owner else hasattr(x, name)))


def _type(engine: Capture, *args: Any) -> Any:
    if len(args) == 1:
        return args[0].__class__ if is_lazy(args[0]) else _agreed(engine, args[0], lambda x: _shown_type(engine, x))
    return type(*args)


def _agreed(engine: Capture, value: Any, ask: Callable[[Any], Any]) -> Any:
    """What ``ask`` says of a value, and of all that it may be: a tensor decides."""
    return agreed(value, ask, engine.session.aliases.parts(engine, value))


def _shown_type(engine: Capture, value: Any) -> type:
    value = engine.session.pythonic.shown(value)
    return Tensor if isinstance(value, SymbolicTensor) else str if isinstance(value, side_effects.Text) else type(value)


def _cast(kind: type, dtype: str) -> Callable[..., Any]:
    """int(t), float(t) and bool(t) of a tensor: a number that the graph computes; no gradient goes back to t."""

    def convert(engine: Capture, *args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor) and not is_lazy(args[0]):
            return number_of(engine, kind, dtype, args[0])
        if len(args) == 1 and is_lazy(args[0]):
            return lazy_call(kind, args)
        return truth(args[0]) if kind is bool and args else kind(*(_plain(engine, kind, a) for a in args))

    return convert


def _setattr(engine: Capture, owner: Any, name: str, value: Any) -> None:
    writes.set_attr(owner, name, value)


def _delattr(engine: Capture, owner: Any, name: str) -> None:
    writes.del_attr(owner, name)


def _iter(engine: Capture, *args: Any) -> Any:
    return iter(reads.iterate(engine.session, args[0]), *args[1:])


def _chained(engine: Capture, rows: Any) -> Any:
    """``itertools.chain.from_iterable``: each row is guarded when its turn comes, for there may be no last one."""
    session = engine.session
    return itertools.chain.from_iterable(reads.iterate(session, row) for row in reads.iterate(session, rows))


def _text(fn: Any) -> Callable[..., Any]:
    """str, repr, format and ascii: of what is not all known they give an open text."""

    def made(engine: Capture, *args: Any, **kwargs: Any) -> Any:
        if fn is str and len(args) == 1 and isinstance(args[0], side_effects.Text):
            return args[0]
        given = tuple(side_effects.snapshot(arg, (str if fn is format else repr,)) for arg in engine.given(args))
        if not kwargs and side_effects.has_open(given):
            return side_effects.deferred(fn, given)
        return _opaque(engine, fn, args, kwargs)

    return made


def _tensor(engine: Capture, *args: Any, **kwargs: Any) -> Any:
    """``Tensor(...)`` of what is not known yet: an array from outside, a number, a tensor, lists of them.
    Elements of a list are read as numbers: no gradient goes back to them."""
    args, kwargs = engine.given(args), engine.given(kwargs)
    data = args[0] if args else kwargs.get("input_data")
    if not _unknown(data):
        plain_args = [_plain(engine, Tensor, a) for a in args]
        return engine.session.fresh(Tensor(*plain_args, **{k: concrete(v) for k, v in kwargs.items()}))
    made = _stacked(engine, data)
    made = find("stop_gradient")(made) if isinstance(data, (list, tuple)) else made
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    want = made._type if dtype is None else made._type.with_dtype(dtypes.as_dtype(dtype))
    return engine.wrap(engine.lift_as(made, want))


def parameter(engine: Capture, default_input: Any, *args: Any, **kwargs: Any) -> Any:
    """``Parameter(...)`` in a captured program: an object of the program's own, whose value is threaded like any state.
    What it begins with may be a tensor of the program; no gradient goes back to that."""
    data = engine.given(default_input)
    session = engine.session
    read = isinstance(data, SymbolicTensor) or session.objects.source_of(data) is not None
    outside = isinstance(data, Tensor) and read
    args, kwargs = tuple(map(concrete, args)), {k: concrete(v) for k, v in kwargs.items()}
    if outside or not isinstance(data, Tensor) and _unknown(data) or id(data) in session.states.own:
        first = engine.wrap(engine.lift(find("stop_gradient")(_stacked(engine, data))))
        made = Parameter(first, *args, **kwargs)
    else:
        made = Parameter(_plain(engine, Tensor, data), *args, **kwargs)
        first = engine.wrap(engine.constant(made.asnumpy(), made._type))
    session.own_state(session.fresh(made), first)
    return made


def _unknown(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_unknown, data))
    return is_lazy(data) or isinstance(data, (Tensor, TrackedArray))


def _stacked(engine: Capture, data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return find("stack")(*(_stacked(engine, d) for d in data), axis=0)
    if is_lazy(data) or not isinstance(data, (Tensor, TrackedArray)):
        dtype = result_dtype((WEAK[data.__class__],)) if data.__class__ in WEAK else None
        return engine.wrap(engine.lift_as(data, tensor_type((), dtype))) if dtype is not None else Tensor(data)
    kind = engine.number_kind(data)
    if kind is not None:  # it makes the tensor that such a number makes
        return engine.wrap(engine.lift_as(find("identity")(data), tensor_type((), dtypes.as_dtype(kind))))
    return engine.wrap(engine.lift(data))


def _vars(engine: Capture, owner: Any) -> Any:
    space = vars(owner)
    return reads.attr(engine.session, owner, "__dict__") if type(space) is dict else space


def _isinstance(engine: Capture, value: Any, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_isinstance(engine, value, kind) for kind in kinds)
    asked = None if type(value) is kinds else operators.method(kinds, "__instancecheck__")
    if asked is not None:
        return truth(operators.invoke(engine, kinds, "__instancecheck__", asked, value))
    return bool(_agreed(engine, value, lambda one: isinstance(engine.session.pythonic.shown(one), kinds)))


def _issubclass(engine: Capture, kind: Any, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_issubclass(engine, kind, one) for one in kinds)
    asked = operators.method(kinds, "__subclasscheck__")
    if asked is None:
        return bool(_opaque(engine, issubclass, (kind, kinds), {}))
    return truth(operators.invoke(engine, kinds, "__subclasscheck__", asked, kind))


def _copy(engine: Capture, value: Any) -> Any:
    return ObjectCopy(engine, _opaque).of(value)


def _deepcopy(engine: Capture, value: Any, memo: Any = None) -> Any:
    return ObjectCopy(engine, _opaque, {} if memo is None else memo).of(value)


_SPECIAL: dict[Any, Callable[..., Any]] = {
    len: _len, print: _print, range: _range, getattr: _getattr, hasattr: _hasattr, setattr: _setattr,
    delattr: _delattr, type: _type, dataclasses.replace: replaced,
    round: _round,
    isinstance: _isinstance, issubclass: _issubclass,
    int: _cast(int, "int64"), float: _cast(float, "float64"), bool: _cast(bool, "bool"),
    max: extreme(max, "maximum", _opaque), min: extreme(min, "minimum", _opaque), sum: total,
    any: any_all(True), all: any_all(False),
    Tensor: _tensor, vars: _vars, copy.copy: _copy, copy.deepcopy: _deepcopy, iter: _iter, str: _text(str),
    repr: _text(repr), format: _text(format),
    ascii: _text(ascii), id: lambda engine, value: _agreed(engine, value, id),
    callable: lambda engine, value: callable(value), itertools.chain.from_iterable: _chained, warnings.warn: _warn,
    logging.Logger.log: _log(None), logging.Logger.debug: _log(10), logging.Logger.info: _log(20),
    logging.Logger.warning: _log(30), logging.Logger.error: _log(40), logging.Logger.critical: _log(50),
}  # fmt: skip
for _reader in (int, float, getattr, hasattr, setattr, delattr):
    _SPECIAL[_reader] = side_effects.reading_texts(_SPECIAL[_reader])
