"""``copy.copy`` and ``copy.deepcopy`` of a captured program: Python's protocol, each step of it captured.

    __copy__, __deepcopy__  ->  __reduce_ex__, __reduce__  ->  make(*args), then its state, its items and its entries

The methods that a program wrote are captured; what ``object`` does in their place reads the attributes and items.
"""

from __future__ import annotations

import copy
import copyreg
import enum
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from msnb.core import Parameter, Tensor
from msnb.graph.capture.interpreter import reads, writes
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.values.lazy_values import TrackedArray, is_lazy
from msnb.graph.capture.values.object_table import is_heap, is_programs, on_class

_ATOMS = (
    type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented), property,
    types.FunctionType, types.BuiltinFunctionType,
)  # fmt: skip
_NEW: Any = copyreg.__newobj__  # type: ignore[attr-defined]
_VALUES = (int, float, complex, str, bytes)
_ARRAYS = (Tensor, TrackedArray, np.ndarray)

Reduced = tuple[Any, ...]
"""``(make, args, state, items, entries)``, as ``__reduce_ex__`` gives it; the last three may be missing."""


class ObjectCopy:
    """One call of ``copy.copy``, or of ``copy.deepcopy`` with its ``memo``: what has been copied, by identity."""

    def __init__(self, engine: Capture, opaque: Callable[..., Any], memo: dict[int, Any] | None = None) -> None:
        self._engine: Capture = engine
        self._session = engine.session
        self._call: Any = engine.session.interpreter.call
        self._opaque = opaque
        self._memo = memo

    def of(self, value: Any) -> Any:
        """A copy of ``value``."""
        if isinstance(value, _ARRAYS):
            return self._array(value)
        if is_lazy(value) or type(value) in _ATOMS or isinstance(value, (type, enum.Enum, np.generic)):
            return value
        if self._memo is None:
            return self._made(value)
        if id(value) not in self._memo:
            made = self._made(value)
            self._memo.setdefault(id(value), made)
            self._memo.setdefault(id(self._memo), []).append(value)  # an identity is of an object that lives
        return self._memo[id(value)]

    def _array(self, value: Any) -> Any:
        if isinstance(value, Parameter):
            return value.clone()
        return self._engine.wrap(self._engine.lift(value)) if isinstance(value, Tensor) else value.copy()

    def _made(self, value: Any) -> Any:
        kind, deep = type(value), self._memo is not None
        if kind in (list, tuple, set, frozenset, deque) or kind in reads.DICTS:
            return self._container(value)
        own = _method(kind, "__deepcopy__" if deep else "__copy__")
        if own is not None:
            return self._call(own, value, *((self._memo,) if deep else ()))
        if isinstance(value, types.MethodType) and deep:
            return types.MethodType(value.__func__, self.of(value.__self__))
        if isinstance(value, deque) and not deep:
            return self._call(kind, value, *(() if value.maxlen is None else (value.maxlen,)))
        reduced = self._reduced(value, kind)
        if reduced is None:
            return self._opaque(self._engine, copy.deepcopy if deep else copy.copy, (value,), {})
        return value if isinstance(reduced, str) else self._rebuilt(value, *reduced)

    def _container(self, value: Any) -> Any:
        """A copy of a container of Python's own class, which may hold itself."""
        memo, found = self._memo, reads.entered(self._session, value)
        made: Any
        if memo is None:
            return self._session.born(copy.copy(found))
        if isinstance(found, dict):
            made = memo[id(value)] = self._session.born(reads.refilled(found, {}))
            dict.clear(made)
            dict.update(made, {self.of(k): self.of(v) for k, v in found.items()})
        elif type(found) is list:
            made = memo[id(value)] = self._session.born([])
            for part in found:
                made.append(self.of(part))
        elif type(found) is deque:
            made = self._session.born(deque((self.of(part) for part in found), found.maxlen))
        else:
            parts = [self.of(part) for part in found]
            same = type(found) is tuple and all(a is b for a, b in zip(parts, found))
            made = memo.get(id(value), found if same else self._session.born(type(found)(parts)))
        return made

    def _reduced(self, value: Any, kind: Any) -> Any:
        """What ``__reduce_ex__`` gives; None of an object of C code that hides what it holds."""
        for name, more in (("__reduce_ex__", (4,)), ("__reduce__", ())):
            own = _method(kind, name)
            if own is not None:
                return self._call(own, value, *more)
        if isinstance(value, BaseException):
            return kind, reads.attr(self._session, value, "args"), self._attributes(value)
        if isinstance(value, types.SimpleNamespace):
            return kind, (), self._attributes(value)
        if not is_heap(kind):
            return None
        if isinstance(value, (set, frozenset)):
            return kind, (reads.items(self._session, value),), self._attributes(value)
        if isinstance(value, deque):
            args = () if value.maxlen is None else ((), value.maxlen)
            return kind, args, self._attributes(value), reads.items(self._session, value)
        if isinstance(value, defaultdict):
            return kind, (value.default_factory,), None, None, reads.mapping(self._session, value).items()
        if isinstance(value, OrderedDict):
            return kind, (), self._attributes(value), None, reads.mapping(self._session, value).items()
        return self._by_attributes(value, kind) if kind.__reduce__ is object.__reduce__ else None

    def _by_attributes(self, value: Any, kind: Any) -> Reduced:
        """As ``object.__reduce_ex__`` does it."""
        own, state = _method(kind, "__getnewargs__"), _method(kind, "__getstate__")
        held: list[Any] = []
        if own is not None:
            held = self._call(own, value)
        elif isinstance(value, tuple):
            held = [tuple(reads.items(self._session, value))]
        elif isinstance(value, _VALUES):
            plain: Any = next(base for base in _VALUES if isinstance(value, base))
            held = [plain(value)]
        told = self._attributes(value) if state is None else self._call(state, value)
        items = reads.items(self._session, value) if isinstance(value, list) else None
        entries = reads.mapping(self._session, value).items() if isinstance(value, dict) else None
        return _NEW, (kind, *held), told, items, entries

    def _attributes(self, value: Any) -> Any:
        """What lies in the ``__dict__`` of an object, and in its slots: the default of ``__getstate__``."""
        session, space = self._session, None
        if hasattr(value, "__dict__"):
            space = dict(reads.mapping(session, reads.attr(session, value, "__dict__")))
        slots = {n: reads.attr(session, value, n) for n in _slotnames(type(value)) if hasattr(value, n)}
        return (space, slots) if slots else space

    def _rebuilt(self, value: Any, make: Any, args: Any, state: Any = None, *parts: Any) -> Any:
        """The object anew from its parts."""
        of: Any = (lambda part: part) if self._memo is None else self.of
        items, entries = (*parts, None, None)[:2]
        made = self._new(make, [of(part) for part in args])
        if self._memo is not None:
            self._memo[id(value)] = made  # it may hold itself
        if state is not None:
            own = _method(type(made), "__setstate__")
            self._restore(made, of(state)) if own is None else self._call(own, made, of(state))
        for part in items or ():
            self._call(reads.attr(self._session, made, "append"), of(part))
        for key, part in entries or ():
            self._session.interpreter.intrinsics.set_item(made, of(key), of(part))
        return made

    def _new(self, make: Any, args: list[Any]) -> Any:
        if make is not _NEW:
            return self._call(make, *args)
        kind, *given = args
        own = _method(kind, "__new__")
        return self._session.fresh(kind.__new__(kind, *given)) if own is None else self._call(own, kind, *given)

    def _restore(self, made: Any, state: Any) -> None:
        space, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        set_attr = self._session.interpreter.intrinsics.set_attr
        errors = isinstance(made, BaseException)  # their ``__setstate__`` in C asks the class
        for name, part in (space or {}).items():
            set_attr(made, name, part) if errors else writes.raw("__setattr__", made, name, part)
        for name, part in (slots or {}).items():
            set_attr(made, name, part)


def _method(kind: type, name: str) -> Any:
    """A method of a class that a program, or Python's library, has written in Python; else None."""
    found = on_class(kind, name)
    found = found.__func__ if isinstance(found, staticmethod) else found
    return found if is_programs(found) else None
