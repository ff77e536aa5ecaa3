"""Special methods of the user's classes: what Python calls behind an operator runs as captured code.

    box + 1      type(box).__add__ is a Python function: guarded by identity, called like a method of box
    x == cfg     no __eq__ anywhere: the identity of the two objects, guarded
    a == [1, 2]  an outside list: its length and items are guarded

Everything of C and of msnb itself goes straight to Python's operator.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msnb.core import Tensor, slot
from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import CONTAINERS
from msnb.graph.capture.interpreter.control import object_identity
from msnb.graph.capture.interpreter.control.truth_value import negate, symbolic_test, truth
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.lazy_values import LazyScalar, concrete, is_lazy, needs_value
from msnb.graph.capture.values.object_table import ABSENT, is_opaque, on_class
from msnb.ir.builder import SymbolicTensor
from msnb.ops.definition.record import find

NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_MIRROR = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne"}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_SIGNS = {"__eq__": "==", "__ne__": "!="}
_UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "-": ("__neg__", lambda x: -x), "+": ("__pos__", lambda x: +x), "~": ("__invert__", lambda x: ~x)
}  # fmt: skip
_CONVERSIONS: dict[Any, str] = {
    int: "__int__", float: "__float__", complex: "__complex__", str: "__str__", repr: "__repr__", abs: "__abs__",
    round: "__round__", len: "__len__", next: "__next__", reversed: "__reversed__", hash: "__hash__", format:
    "__format__", }  # fmt: skip
_MADE_OF = (list, tuple, set, frozenset, dict, deque, enumerate, zip, map, filter)
_GO_THROUGH = (sorted, functools.reduce, math.fsum, math.prod)
_telling: set[int] = set()
_DIRECT = (int, float, bool, complex, str, SymbolicTensor, LazyScalar, Tensor)
_REPEATED = (list, tuple, str, bytes)


def method(value: Any, name: str) -> Any:
    """The Python function behind a special method of a user's class, or None."""
    found = getattr(type(value), name, None)
    if not isinstance(found, types.FunctionType):
        return None
    return None if is_opaque(found, type(value)) or found.__code__.co_filename == "<string>" else found


def invoke(engine: Capture, owner: Any, name: str, fn: Any, *args: Any) -> Any:
    """Call a special method, captured."""
    session = engine.session
    session.guard("is", (sources.attr(sources.ref(type(owner)), name),), (fn,))
    if not session.objects.is_fresh(owner):
        session.anchor(owner)
    return session.interpreter.call(fn, owner, *args)


# ---- operators ----


def _equality(engine: Capture, equal: bool, left: Any, right: Any) -> Any:
    """``left == right``, or ``!=``, of lists item by item and of plain objects; NotImplemented for all others."""
    if type(left) in (list, tuple) and type(left) is type(right):
        found = _same_items(engine, left, right)
        if found is not NotImplemented:
            return found if equal else negate(found)
    if _by_identity(left) and _by_identity(right):
        return object_identity.compare(engine.session, "is" if equal else "is not", left, right)
    return NotImplemented


def binary(op: str, left: Any, right: Any) -> Any:
    """``left op right``."""
    engine = slot.engine
    if type(left) is str and op == "%" and isinstance(engine, Capture):
        entries = entered(engine, dict, right)
        given = engine.given(right if entries is NotImplemented else entries)
        return engine.session.interpreter.text_of(sources.BINARY[op], left, given)
    plain = type(left) in _DIRECT and type(right) in _DIRECT and str not in (type(left), type(right))
    if not isinstance(engine, Capture) or plain:
        return sources.BINARY[op](left, right)
    _need_count(engine, op, left, right)
    found = _by_methods(engine, op, left, right)
    if found is not NotImplemented:
        return found
    if op in ("==", "!="):
        found = _equality(engine, op == "==", left, right)
        if found is not NotImplemented:
            return found
    if op in _COMPARE:
        reads.look_into(engine.session, [left, right])
    return engine.session.made(sources.BINARY[op](_entered(engine, left), _entered(engine, right)))


def _need_count(engine: Capture, op: str, left: Any, right: Any) -> None:
    """``[0] * n`` is no product."""
    if op == "*" and engine.session.pythonic.has_one_of(left, right):
        if isinstance(left, _REPEATED) or isinstance(right, _REPEATED):
            raise needs_value("how often a list or a text is repeated")


def _same_items(engine: Capture, left: Any, right: Any) -> Any:
    """Two lists with tensors among their items: equal where all pairs are, which the graph works out."""
    rows = [reads.entered(engine.session, side) for side in (left, right)]
    if not any(not is_lazy(x) and isinstance(x, Tensor) for row in rows for x in row):
        return NotImplemented
    return False if len(rows[0]) != len(rows[1]) else _decided(engine, zip(*rows), False)


def _decided(engine: Capture, pairs: Any, stop: bool) -> Any:
    """Is there a pair of equal values (``stop`` true), or are all pairs equal (false)? A tensor where one decides."""
    result: Any = not stop
    for a, b in pairs:
        equal = True if a is b else binary("==", a, b)
        pred = symbolic_test(equal)
        if pred is None:
            if truth(equal) == stop:
                return stop
        elif result is (not stop):
            result = pred
        else:
            result = find("logical_or" if stop else "logical_and")(result, pred)
    return engine.session.pythonic.mark(result) if isinstance(result, Tensor) else result


def _by_methods(engine: Capture, op: str, left: Any, right: Any) -> Any:
    compares = op in _COMPARE
    forward = f"__{_COMPARE[op] if compares else NAMES[op]}__"
    backward = f"__{_MIRROR[op]}__" if compares else f"__r{NAMES[op]}__"
    tries = [(left, forward, right), (right, backward, left)]
    if type(right) is not type(left) and type(left) in type(right).__mro__:
        tries.reverse()
    asked = {"__eq__"} if op == "!=" and _by_identity(left, "__ne__") else set()
    known = any(method(owner, n) is not None for owner, name, _ in tries for n in (name, *asked))
    if not known and not _has_fields(op, left, right):
        return NotImplemented
    for owner, name, other in tries:
        found = _try(engine, owner, name, other)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _try(engine: Capture, owner: Any, name: str, other: Any) -> Any:
    fn = method(owner, name)
    if fn is not None:
        return invoke(engine, owner, name, fn, other)
    if name in ("__eq__", "__ne__") and _has_fields(_SIGNS[name], owner, other):
        return _same_fields(engine, owner, other) == (name == "__eq__")
    if name == "__ne__" and _by_identity(owner, "__ne__") and method(owner, "__eq__") is not None:
        found = _try(engine, owner, "__eq__", other)
        return found if found is NotImplemented else negate(found)
    plain = getattr(type(owner), name, None)
    return NotImplemented if plain is None or isinstance(plain, types.FunctionType) else plain(owner, other)


def _has_fields(op: str, left: Any, right: Any) -> bool:
    made = getattr(type(left), "__eq__", None)
    generated = isinstance(made, types.FunctionType) and made.__code__.co_filename == "<string>"
    known = op == "==" or op == "!=" and _by_identity(left, "__ne__")
    return known and generated and type(left) is type(right)


def _same_fields(engine: Capture, left: Any, right: Any) -> bool:
    """The ``__eq__`` that ``dataclass`` writes."""
    names = [f.name for f in dataclasses.fields(left) if f.compare]
    session = engine.session
    return all(binary("==", reads.attr(session, left, n), reads.attr(session, right, n)) for n in names)


def _by_identity(value: Any, name: str = "__eq__") -> bool:
    return getattr(type(value), name) is getattr(object, name)


def _entered(engine: Capture, value: Any) -> Any:
    return reads.entered(engine.session, value) if isinstance(value, (*CONTAINERS, types.SimpleNamespace)) else value


def unary(op: str, value: Any) -> Any:
    """``-value``, ``+value``, ``~value``."""
    name, plain = _UNARY[op]
    engine = slot.engine
    if not isinstance(engine, Capture) or type(value) in _DIRECT:
        return plain(value)
    fn = method(value, name)
    return engine.session.made(plain(value)) if fn is None else invoke(engine, value, name, fn)


def inplace(op: str, old: Any, value: Any) -> Any:
    """``old op= value`` on an object of the user, or NotImplemented."""
    engine = slot.engine
    if not isinstance(engine, Capture):
        return NotImplemented
    _need_count(engine, op, old, value)
    name = f"__i{NAMES[op]}__"
    fn = method(old, name)
    if fn is not None:
        return invoke(engine, old, name, fn, value)
    known = type(old) in _DIRECT or isinstance(old, CONTAINERS)
    return NotImplemented if known else _by_methods(engine, op, old, value)


# ---- conversions, members, iteration, with ----


def converted(engine: Capture, fn: Any, args: tuple[Any, ...]) -> Any:
    """``int(box)``, ``str(box)`` and the like, or NotImplemented."""
    name = _CONVERSIONS.get(fn) if isinstance(fn, (type, types.BuiltinFunctionType)) else None
    if name is None or not args or type(args[0]) in _DIRECT:
        return NotImplemented
    if fn is str and getattr(type(args[0]), "__str__", None) is object.__str__:
        name = "__repr__"
    found = method(args[0], name)
    if fn is reversed and on_class(type(args[0]), name) is ABSENT and method(args[0], "__getitem__") is not None:
        size = concrete(engine.session.interpreter.call(len, args[0]))
        return _by_index(engine, args[0], range(size - 1, -1, -1))
    if name == "__repr__" and _lists_fields(args[0], found):
        return _told_by_fields(engine, args[0], found)
    said = NotImplemented if found is None else invoke(engine, args[0], name, found, *args[1:])
    return said if isinstance(said, str) else concrete(said)  # a text may stay open


def _lists_fields(value: Any, found: Any) -> bool:
    """Is this the ``__repr__`` that ``dataclass`` wrote? Its text may be gone."""
    inner = getattr(found, "__wrapped__", None)
    return dataclasses.is_dataclass(value) and inner is not None and inner.__code__.co_filename == "<string>"


def _told_by_fields(engine: Capture, value: Any, found: Any) -> Any:
    if id(value) in _telling:  # it holds itself
        return "..."
    session = engine.session
    session.guard("is", (sources.attr(sources.ref(type(value)), "__repr__"),), (found,))
    if not session.objects.is_fresh(value):
        session.anchor(value)
    parts: list[Any] = [f"{type(value).__qualname__}("]
    _telling.add(id(value))
    try:
        for field in dataclasses.fields(value):
            if field.repr:
                parts += [", " * (len(parts) > 1) + f"{field.name}=", (reads.attr(session, value, field.name), 114, "")]
        return session.interpreter.intrinsics.fstring(*parts, ")")
    finally:
        _telling.discard(id(value))


def member(engine: Capture, owner: Any, item: Any) -> Any:
    """``item in owner`` by a method of the owner's class, or NotImplemented."""
    fn = method(owner, "__contains__")
    if fn is not None:
        return truth(invoke(engine, owner, "__contains__", fn, item))
    if type(owner) in (list, tuple, deque):
        values = reads.entered(engine.session, owner)
        if any(not is_lazy(x) and isinstance(x, Tensor) for x in (item, *values)):
            return _decided(engine, ((v, item) for v in values), True)
        if any(method(x, "__eq__") is not None for x in (item, *values)):
            return any(item is v or truth(binary("==", v, item)) for v in values)
    known = on_class(type(owner), "__contains__") is not ABSENT
    steps = NotImplemented if known else iterated(engine, owner)
    return NotImplemented if steps is NotImplemented else any(item is v or bool(binary("==", v, item)) for v in steps)


def iterated(engine: Capture, owner: Any) -> Any:
    """What iteration over an object of the user gives, or NotImplemented."""
    fn = method(owner, "__iter__")
    if fn is None:
        indexed = method(owner, "__getitem__") is not None and not hasattr(type(owner), "__iter__")
        return _by_index(engine, owner, itertools.count()) if indexed else NotImplemented
    found = owner if _is_iterator(owner) else invoke(engine, owner, "__iter__", fn)
    return _steps(engine, found) if method(found, "__next__") is not None else found


def _is_iterator(value: Any) -> bool:
    return method(value, "__next__") is not None and method(value, "__iter__") is None


def _steps(engine: Capture, iterator: Any) -> Iterator[Any]:
    while True:
        try:
            value = invoke(engine, iterator, "__next__", method(iterator, "__next__"))
        except StopIteration:
            return
        yield value


def _by_index(engine: Capture, owner: Any, places: Iterable[int]) -> Iterator[Any]:
    """The older protocol: items by their numbers until there is none."""
    for i in places:
        try:
            value = invoke(engine, owner, "__getitem__", method(owner, "__getitem__"), i)
        except IndexError:
            return
        yield value


def entered(engine: Capture, fn: Any, value: Any) -> Any:
    """An object of the user that C code goes through: what captured iteration over it gives, or NotImplemented."""
    if type(value) in _DIRECT or isinstance(value, CONTAINERS) and method(value, "__iter__") is None:
        return NotImplemented
    if not _goes_through(fn):
        return NotImplemented
    keys = method(value, "keys")
    if isinstance(fn, type) and issubclass(fn, dict) and keys is None and isinstance(value, dict):
        return NotImplemented
    if isinstance(fn, type) and issubclass(fn, dict) and keys is not None:
        call = engine.session.interpreter.call
        return {key: reads.item(engine.session, value, key) for key in reads.iterate(engine.session, call(keys, value))}
    return iterated(engine, value)


def _goes_through(fn: Any) -> bool:
    if isinstance(fn, type):
        return issubclass(fn, _MADE_OF) or fn.__module__ == "itertools"
    joins = getattr(fn, "__name__", "") == "join" and isinstance(getattr(fn, "__self__", None), (str, bytes, bytearray))
    return joins or any(fn is one for one in _GO_THROUGH)


class Context:
    """A context manager, entered and left by captured code. What only a capture raises it cannot suppress."""

    def __init__(self, engine: Capture, manager: Any) -> None:
        self.engine: Capture = engine
        self.manager: Any = manager
        self.own: bool = method(manager, "__enter__") is not None and method(manager, "__exit__") is not None

    def __enter__(self) -> Any:
        return self._called("__enter__")

    def __exit__(self, *error: Any) -> Any:
        handled = self._called("__exit__", *error)
        return False if self.engine.session.refuses(error[1]) else handled

    def _called(self, name: str, *args: Any) -> Any:
        if not self.own:
            return getattr(self.manager, name)(*args)
        return invoke(self.engine, self.manager, name, getattr(type(self.manager), name), *args)


def context(manager: Any) -> Any:
    """What ``with`` enters."""
    engine = slot.engine
    if not isinstance(engine, Capture):
        return manager
    return Context(engine, manager) if hasattr(type(manager), "__exit__") else manager
