"""The quick check: the guards of a program again, as few interpreter steps as possible.

    exact    s3 = s1.weight                               one guard after the other, knows which one failed
             if not (type(s3) is k0 and ...): return 3
    quick    d1 = s1.__dict__                             one look at an object's dict instead of one getattr per guard
             s3 = d1['weight']
             if k7.construct is not k8: return exact()    a method is a matter of the class: once for all its objects
             if dumps(get(d1), 2) != k9: return exact()   constants of one object: compared as a whole, types included

It says yes only where the exact check would say yes; whatever it does not like goes to the exact check, which is made
when it is first needed. The short cuts and why they are allowed:

- ``obj.name`` is ``obj.__dict__['name']`` where the class has the ordinary attribute access and no data descriptor of
  that name. The type is guarded; that a class of the user gets no such descriptor later is checked (``isdisjoint``).
- ``obj.method.__func__`` is ``type(obj).method`` where the object's own dict has no such name.
- ``marshal`` writes None, bools, ints, floats and texts by exact type and value, and refuses anything else.
"""

from __future__ import annotations

import marshal
import operator
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msnb.base import device_registry, reraise_interrupt
from msnb.base.source_location import is_own
from msnb.core import TensorType
from msnb.graph.capture.frontend import conversion_cache
from msnb.graph.capture.values.object_table import ABSENT, on_class
from msnb.graph.capture.values.sources import Emitter, PathKey, Source
from msnb.ir.size_binding import bind_type

_PLAIN = (bool, int, float, str, type(None))
_WORTH = 4
_DATA = ("__set__", "__delete__")
_BY_IDENTITY: Any = object.__hash__
_ORDINARY: tuple[Any, ...] = (object.__getattribute__, types.SimpleNamespace.__getattribute__)


def quick_check(
    guards: Sequence[Any], inputs: Sequence[tuple[Source, str]], objects: Sequence[Source],
    known: dict[PathKey, Any], exact: Callable[[], Callable[..., Any]],
) -> Callable[..., Any]:  # fmt: skip
    """The quick function.

    Args:
        guards, inputs, objects: see ``guards.compile_guards``.
        known: objects by the idents of their paths, as they were at the capture.
        exact: makes the exact function.
    """
    emitter = QuickEmitter(guards, known)
    for guard in emitter.singles:
        emitter.test(guard)
    emitter.bulk()
    emitter.classes()
    values = [pattern.format(emitter.text(source)) for source, pattern in inputs]
    held = [emitter.text(source) for source in objects]
    body = "\n".join(f"        {line}" for line in emitter.lines)
    text = (
        f"def check(args, kwargs):\n    try:\n"
        f"        if _current and _current[0] is not _device: return slow(args, kwargs)\n{body}\n"
        f"        return [{', '.join(values)}], [{', '.join(held)}]\n"
        f"    except Exception as error:\n        return slow(args, kwargs, error)\n"
    )
    space = dict(
        emitter.consts,
        _current=device_registry._current,
        _device=device_registry.current(),
        slow=ExactCheck(exact),
        dumps=marshal.dumps,
    )
    exec(conversion_cache.compiled(text, "<guards>"), space)
    found: Callable[..., Any] = space["check"]
    return found


class ExactCheck:
    """The exact function behind a quick one, made when it is first needed."""

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self._make = make

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The exact function."""
        return self._make()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception | None = None) -> Any:
        if error is not None:
            reraise_interrupt(error)
        return self.function(args, kwargs)


def bound_check(check: Any, sizes: Mapping[str, int]) -> Callable[..., Any]:
    """A guards' function for these sizes: the code of one that was made with symbols, and constants of its own."""
    space = {name: _bound(value, sizes) for name, value in check.__globals__.items()}
    return types.FunctionType(check.__code__, space, check.__name__)


def _bound(value: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(value, ExactCheck):
        return ExactCheck(lambda: bound_check(value.function, sizes))
    return bind_type(value, sizes) if isinstance(value, TensorType) else value


class QuickEmitter(Emitter):
    """Writes the quick function.

    Attributes:
        singles: the guards that are not compared in bulk.
    """

    def __init__(self, guards: Sequence[Any], known: dict[PathKey, Any]) -> None:
        super().__init__()
        self._known = known
        self._types = _guarded_types(guards)
        self._dicts: dict[Any, str] = {}
        self._lists: dict[Any, str] = {}
        self._class_attrs: dict[tuple[type, str], str] = {}
        self._relied: dict[type, set[str]] = {}
        self._copied = self._read_whole(guards)
        self._groups: dict[Any, tuple[Source, list[tuple[Any, Any]]]] = {}
        self.singles: list[Any] = self._grouped(guards)

    # ---- what may be compared in bulk ----

    def _grouped(self, guards: Sequence[Any]) -> list[Any]:
        found: dict[Any, list[tuple[Any, Source, Any, Any]]] = {}
        for guard in guards:
            place = self._constant(guard)
            if place is not None:
                base, key, value = place
                found.setdefault(base.ident, []).append((guard, base, key, value))
        done: set[Any] = set()
        for ident, entries in found.items():
            if len(entries) >= _WORTH:
                self._groups[ident] = (entries[0][1], [(key, value) for _, _, key, value in entries])
                done.update(guard.sources[0].ident for guard, *_ in entries)
        # what is compared by value and type needs no other test of its type
        return [g for g in guards if not (g.sources[0].ident in done and g.kind in ("eq", "num", "is", "type"))]

    def _constant(self, guard: Any) -> tuple[Source, Any, Any] | None:
        """(container, key, value) of a guard that fixes an attribute or item to a plain value."""
        source = guard.sources[0]
        if guard.kind not in ("eq", "num", "is") or len(source.bases) != 1:
            return None
        value = guard.consts[0]
        if type(value) not in _PLAIN or value != value:
            return None
        base = source.bases[0]
        if source.pattern == "{0}[{c0}]":
            exact = self._types.get(base.ident) in (list, tuple, dict)
            return (base, source.consts[0], value) if exact and type(source.consts[0]) in (int, str) else None
        if self._in_dict(source):
            return base, source.consts[0], value
        return None

    def bulk(self) -> None:
        """Constants of one container, all at once."""
        for base, entries in self._groups.values():
            values = dict(entries)  # two guards on one place say the same
            owner = self.text(base) if self._is_container(base) else self._dict_of(base)
            taken = f"{self.const(operator.itemgetter(*values))}({owner})"
            wanted = list(values.values())
            if not all(type(v) is str for v in wanted):
                self._need(f"dumps({taken}, 2) == {self.const(marshal.dumps(tuple(wanted), 2))}")
                continue
            kind = self._types.get(base.ident)
            if kind in (list, tuple) and [*values] == list(range(len(self._known.get(base.ident, ())))):
                taken = owner  # every item of it
            else:
                taken, kind = self._local(taken), tuple
            same = f"{taken} == {self.const(kind(wanted))}"
            self._need(f"{same} and {{*map(type, {taken})}} == {self.const({str})}")

    def _is_container(self, base: Source) -> bool:
        return self._types.get(base.ident) in (list, tuple, dict)

    def _local(self, code: str) -> str:
        name = f"s{len(self._names)}"
        self._names["local", len(self._names)] = name
        self.lines.append(f"{name} = {code}")
        return name

    def _need(self, test: str) -> None:
        self.lines.append(f"if not ({test}): return slow(args, kwargs)")

    # ---- single tests ----

    def test(self, guard: Any) -> None:
        """The test of one guard."""
        if self._method_test(guard) or self._size_test(guard):
            return
        self._need(guard.condition(self))

    def _size_test(self, guard: Any) -> bool:
        """``len`` gives an int; a set of objects that hash by identity has one entry per object."""
        source = guard.sources[0]
        if guard.kind == "eq" and source.pattern == "len({0})" and type(guard.consts[0]) is int:
            self._need(f"{self.text(source)} == {guard.consts[0]}")
            return True
        if guard.kind != "distinct":
            return False
        kinds: list[Any] = [self._types.get(s.ident) for s in guard.sources]
        if not all(k is not None and k.__hash__ is _BY_IDENTITY for k in kinds):
            return False
        self._need(f"len({{{', '.join(map(self.text, guard.sources))}}}) == {len(kinds)}")
        return True

    def _method_test(self, guard: Any) -> bool:
        source = guard.sources[0]
        if guard.kind != "is" or source.pattern != "{0}.__func__" or type(guard.consts[0]) is not types.FunctionType:
            return False
        attr = source.bases[0]
        if not _is_attr(attr):
            return False
        base, name, want = attr.bases[0], attr.consts[0], guard.consts[0]
        cls, obj = self._class(base), self._known.get(base.ident)
        if cls is None or not _is_ordinary(cls) or name in vars(obj) or on_class(cls, name) is not want:
            return False
        shown = self._class_attrs.get((cls, name))
        if shown is None:
            shown = self._class_attrs[cls, name] = self._local(f"{self.const(cls)}.{name}")
            self._need(f"{shown} is {self.const(want)}")
        self._need(f"{name!r} not in {self._dict_of(base)}")
        return True

    # ---- paths ----

    def _expression(self, source: Source) -> str:
        if self._in_dict(source):
            base, name = source.bases[0], source.consts[0]
            return f"{self._dict_of(base)}[{name!r}]"
        if source.pattern == "{0}[{c0}]" and source.bases[0].ident in self._copied:
            return f"{self._list_of(source.bases[0])}[{source.consts[0]}]"
        return super()._expression(source)

    def _class(self, base: Source) -> type | None:
        """The class that an object is sure to have; the object must be known too."""
        if base.ident not in self._known or not hasattr(self._known[base.ident], "__dict__"):
            return None
        if base.pattern == "{c0}" and not isinstance(base.consts[0], type | types.ModuleType):
            return type(base.consts[0])
        return self._types.get(base.ident)

    def _in_dict(self, source: Source) -> bool:
        """Is this an attribute that lies in its object's dict, and may be read there?"""
        if not _is_attr(source):
            return False
        base, name = source.bases[0], source.consts[0]
        cls, obj = self._class(base), self._known.get(base.ident)
        if cls is None or type(obj) is not cls or not _is_ordinary(cls) or name not in vars(obj):
            return False
        held = on_class(cls, name)
        if held is not ABSENT and (_is_users(cls) or any(hasattr(type(held), d) for d in _DATA)):
            return False
        if held is ABSENT:
            self._relied.setdefault(cls, set()).add(name)
        return True

    def _dict_of(self, base: Source) -> str:
        found = self._dicts.get(base.ident)
        if found is None:
            owner = self.text(base)
            if base.pattern == "{c0}":
                self._need(f"type({owner}) is {self.const(type(base.consts[0]))}")
            found = self._dicts[base.ident] = self._local(f"{owner}.__dict__")
        return found

    def _list_of(self, base: Source) -> str:
        found = self._lists.get(base.ident)
        if found is None:
            found = self._lists[base.ident] = self._local(f"[*{self.text(base)}]")
        return found

    def _read_whole(self, guards: Sequence[Any]) -> set[Any]:
        """Tuples and lists of a class of their own of which most items are read: copied once, then read fast."""
        counts: dict[Any, int] = {}
        seen: set[Any] = set()
        for source in (s for g in guards for s in g.sources):
            if source.pattern == "{0}[{c0}]" and source.ident not in seen and type(source.consts[0]) is int:
                seen.add(source.ident)
                counts[source.bases[0].ident] = counts.get(source.bases[0].ident, 0) + 1
        return {i for i, n in counts.items() if n >= _WORTH and self._is_subclass_of_sequence(i, n)}

    def _is_subclass_of_sequence(self, ident: Any, n: int) -> bool:
        cls, obj = self._types.get(ident), self._known.get(ident)
        for plain in (tuple, list):
            if isinstance(obj, plain) and type(obj) is cls and cls is not plain:
                own = cls.__getitem__ is plain.__getitem__ and cls.__iter__ is plain.__iter__
                return own and len(obj) <= 2 * n
        return False

    def classes(self) -> None:
        """No class of the user has become a data descriptor's owner for a name that was read from a dict."""
        for cls, names in self._relied.items():
            for kind in cls.__mro__:
                if _is_users(kind):
                    view, wanted = self.const(vars(kind).keys()), self.const(frozenset(names))
                    self._need(f"{view}.isdisjoint({wanted})")


def _guarded_types(guards: Iterable[Any]) -> dict[Any, type]:
    """path -> the class that a guard says the object has."""
    found: dict[Any, type] = {}
    for guard in guards:
        if guard.kind in ("type", "tensor"):
            found[guard.sources[0].ident] = guard.consts[0]
    return found


def _is_attr(source: Source) -> bool:
    return len(source.bases) == 1 and len(source.consts) == 1 and source.pattern == "{0}." + str(source.consts[0])


def _is_ordinary(cls: type) -> bool:
    """Attribute access as in ``object``."""
    return cls.__getattribute__ in _ORDINARY and type(cls) is type


def _is_users(cls: type) -> bool:
    """A class that a person may change while the program lives."""
    if not cls.__flags__ & (1 << 9):
        return False
    module = sys.modules.get(cls.__module__)
    if is_own(getattr(module, "__file__", "") or ""):
        return False
    return cls.__module__.split(".")[0] not in sys.stdlib_module_names or cls.__module__ == "__main__"
