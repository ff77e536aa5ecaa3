"""Reads of the outside: names, attributes, items, iteration. Each read of an outside object becomes a guard, once."""

from __future__ import annotations

import builtins
import operator
import os
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, ItemsView, Iterator, ValuesView
from typing import Any

import numpy as np

from msnb.base.errors import ConcretizationError
from msnb.base.source_location import here, is_own
from msnb.core import Tensor, pytree, slot
from msnb.core.types import need_index
from msnb.graph.capture.interpreter.capture_session import BY_IDENTITY, Session
from msnb.graph.capture.interpreter.control import attribute_lookup
from msnb.graph.capture.values import sources as paths, tensor_attribute
from msnb.graph.capture.values.branch_merge import Late, UndefinedVariable
from msnb.graph.capture.values.function_choice import FunctionChoice, agreed
from msnb.graph.capture.values.lazy_values import TrackedArray, concrete, is_lazy
from msnb.graph.capture.values.mutation_journal import ContentPlace, attribute_key, behind, builtin_method
from msnb.graph.capture.values.object_table import (
    has_parts,
    is_asked,
    is_framework,
    is_heap,
    is_programs,
    lies_in_itself,
    on_class,
    raw_base,
    raw_items,
    remade,
    space_of,
)
from msnb.ir.builder import SymbolicTensor

_VIEWS = (ValuesView, ItemsView)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque, *_VIEWS)
_KNOWN_ITERABLES = (list, tuple, dict, set, frozenset, deque, range, str, Tensor, types.GeneratorType)
_NOTHING = object()
DICTS = (dict, OrderedDict, defaultdict, Counter)

more_methods: dict[tuple[type, str], str] = {}
"""Further names of methods of Python's classes in compiled functions: MindSpore's ``d.has_key``, under the alias."""


def glob(session: Session | None, space: dict[str, Any], name: str) -> Any:
    """A global or built-in name."""
    if name in space:
        value = space[name]
        if session is None or session.journal.written(("key", id(space), name)):
            return value
        if _is_frameworks(space) and isinstance(value, (type, types.FunctionType, types.ModuleType)):
            return value
        return session.track(value, paths.glob(space, name))
    found = space.get("__builtins__", builtins)
    table = found if isinstance(found, dict) else vars(found)
    if session is not None and not _is_frameworks(space):
        session.guard("absent", (paths.ref(space, "the global names"),), (name,))
    if name not in table:
        raise NameError(f"name {name!r} is not defined")
    return table[name]


def _is_frameworks(space: dict[str, Any]) -> bool:
    return is_own(space.get("__file__") or "")


def free(session: Session | None, cells: dict[str, Any], name: str) -> Any:
    """A variable of an enclosing function outside of the capture."""
    box = cells[name]
    try:
        value = box.cell_contents
    except ValueError:
        raise NameError(f"cannot access free variable '{name}' where it is not associated with a value") from None
    if session is None or session.journal.written(("cell", id(box))):
        return value
    source = session.objects.source_of(box)
    if source is None:
        session.remember(box, paths.ref(box, name))
        return session.track(value, paths.cell(box, name))
    return session.track(value, paths.content(source, name))


# ---- attributes ----


def attr(session: Session | None, owner: Any, name: str, *, whole: bool = True) -> Any:
    """``owner.name``, or ``object.__getattribute__(owner, name)`` if not ``whole``."""
    if session is None or is_lazy(owner):
        return getattr(owner, name)
    for kind, read in _BY_KIND:
        if isinstance(owner, kind):
            return read(session, owner, name)
    name = more_methods.get((type(owner), name), name)
    found = attribute_lookup.computation(owner, name, whole)
    if found is not None:
        return attribute_lookup.computed(session, owner, name, found)
    written = _written_attr(session, owner, name, whole)
    if written is not _NOTHING:
        return defined(session, written)
    source, value = _owner_source(session, owner), attribute_lookup.plain(owner, name, _NOTHING, whole)
    if value is _NOTHING:
        if attribute_lookup.fallback(owner) is not None:
            return attribute_lookup.fallen_back(session, owner, name, whole)
        guard_presence(session, owner, name, False)
        return getattr(owner, name)  # which raises
    if source is None:
        return _class_attr(session, owner, name, value)
    return _outside_attr(session, owner, name, value, source, whole)


def _outside_attr(session: Session, owner: Any, name: str, value: Any, source: paths.Source, whole: bool) -> Any:
    """What lies in an object from outside under a name."""
    place = paths.attr(source, name) if whole else paths.called(object.__getattribute__, (source, name))
    if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        home = getattr(value, "__self__", None)
        if home is owner or isinstance(home, type):  # bound anew at each look: to the object, or to its class
            if isinstance(home, type):
                session.guard("eq", (place,), (value,))
            return value
    if type(value) is tuple and name in _fixed(type(owner)):  # sizes, settings: part of what the object is
        session.guard("eq", (place,), (value,))
        return value
    return session.track(value, place)


def _written_attr(session: Session, owner: Any, name: str, whole: bool) -> Any:
    """What the program itself has written to an attribute, or into the object's ``__dict__``."""
    if session.journal.written(attribute_key(owner, name)):
        if attribute_lookup.plain(owner, name, _NOTHING, whole) is _NOTHING and attribute_lookup.fallback(owner):
            return _NOTHING  # deleted: ``__getattr__`` is asked
        return getattr(owner, name) if whole else behind(owner, "__getattribute__")(name)
    if _is_written_on_class(session, owner, name):
        return getattr(owner, name) if whole else behind(owner, "__getattribute__")(name)
    if name == "__dict__":
        check_defined(owner)
        session.journal.note_attributes(owner)
    space, shared = space_of(owner), session.shared_space(owner)
    met = shared is not None or session.journal.written(("content", id(space)))
    if not met or name not in space or hasattr(type(on_class(type(owner), name)), "__set__"):  # a slot comes first
        return _NOTHING
    return item(session, attr(session, owner, "__dict__") if shared is None else shared, name)


def _is_written_on_class(session: Session, owner: Any, name: str) -> bool:
    """Has the program written what the class of an object, or one that a class is derived from, shows?"""
    kind = owner if isinstance(owner, type) else type(owner)
    if not session.journal.written_on_class(kind, name) or lies_in_itself(owner, name):
        return False
    if session.objects.source_of(owner) is not None:
        place = paths.called(lies_in_itself, (session.objects.source_of(owner), name))
        session.guard("is", (place,), (False,))
    return True


def guard_presence(session: Session, owner: Any, name: str, found: bool) -> None:
    """Whether an outside object has an attribute was asked."""
    source = session.objects.source_of(owner)
    of_a_program = isinstance(owner, type) and is_heap(owner) and not is_framework(sys.modules.get(owner.__module__))
    source = paths.ref(owner) if source is None and of_a_program else source
    source = paths.ref(Tensor) if source is None and isinstance(owner, Tensor) else source
    if _is_written_on_class(session, owner, name):
        return
    if session.journal.written(("content", id(space_of(owner)))):
        settle(session, attr(session, owner, "__dict__"))
        return
    if source is not None and not session.journal.written(attribute_key(owner, name)):
        session.guard("is", (paths.called(hasattr, (source, name)),), (found,))


def defined(session: Session | None, value: Any) -> Any:
    """What a variable or an attribute holds: one that a branch or a loop may not have set raises, or is checked when
    the program runs."""
    if not isinstance(value, UndefinedVariable) or is_lazy(value):
        return value
    if type(value) is not Late or session is None:
        raise value.error()
    session.interpreter.check_ran(slot.engine, value)
    return value.value


def check_defined(owner: Any) -> None:
    """A look at all attributes of an object: a tensor must not decide whether one is there."""
    for value in getattr(owner, "__dict__", {}).values():
        if isinstance(value, UndefinedVariable):
            raise value.error()


def _fixed(kind: type) -> tuple[str, ...]:
    found = [on_class(kind, name) for name in ("CONSTANTS", "FIXED")]  # a metaclass may have a ``__getattr__``
    return tuple(name for names in found if isinstance(names, tuple) for name in names)


def _super_attr(session: Session, owner: Any, name: str) -> Any:
    """``super().name``: what the classes behind hold, guarded."""
    computation = attribute_lookup.computation(owner, name)
    if computation is not None:
        return attribute_lookup.computed_behind(session, owner, name, computation)
    value = getattr(owner, name)
    found = getattr(super(owner.__thisclass__, owner.__self_class__), name, None)
    source = paths.Source(
        "getattr(super({c0}, {c1}), {c2})", (), (owner.__thisclass__, owner.__self_class__, name), f"super().{name}"
    )
    if isinstance(value, types.MethodType) and value.__func__ is found:
        session.guard("is", (source,), (found,))
        return value
    return session.track(value, source) if value is found and not isinstance(value, types.MethodType) else value


def _class_attr(session: Session, owner: Any, name: str, value: Any) -> Any:
    """What an object that the program made has from its class: the class is outside, so this is guarded."""
    kind, is_fresh = type(owner), session.objects.is_fresh
    outside = is_heap(kind) and not is_fresh(kind) and not isinstance(owner, type)
    if not outside or not is_fresh(owner) or is_own(getattr(sys.modules.get(kind.__module__), "__file__", "") or ""):
        return value
    if name in getattr(owner, "__dict__", ()) or name.startswith("__"):
        return value
    source = paths.attr(paths.ref(kind), name)
    if isinstance(value, types.MethodType):
        if value.__self__ is owner:
            session.guard("is", (source,), (value.__func__,))
        return value
    return session.track(value, source) if value is getattr(kind, name, _NOTHING) else value


def _owner_source(session: Session, owner: Any) -> paths.Source | None:
    source = session.objects.read_path(owner)
    if source is not None or session.objects.is_fresh(owner):
        return source
    if isinstance(owner, type) and has_parts(owner):
        return session.anchor(owner)
    builtin = type(owner).__module__ == "builtins" and not is_heap(type(owner))
    if builtin or isinstance(owner, (TrackedArray, type)):
        return None
    # an object that came in through code we do not see: hold on to it and watch its attributes
    held = [*getattr(owner, "__dict__", {}).values(), *(dict.values(owner) if isinstance(owner, dict) else ())]
    if any(is_lazy(x) or type(x) is SymbolicTensor for x in held):
        session.objects.make(owner)  # by a method of the program's that was called unseen
        return None
    return session.anchor(owner) if hasattr(owner, "__dict__") and not isinstance(owner, types.FunctionType) else None


def _choice_attr(session: Session, owner: FunctionChoice, name: str) -> Any:
    agreed(owner, lambda option: hasattr(option, name))
    return session.interpreter.selected([attr(session, x, name) for x in owner.options], owner.index)


def _module_attr(session: Session, owner: types.ModuleType, name: str) -> Any:
    value = getattr(owner, name)
    put_there = is_programs(value)
    if is_framework(owner) and not put_there or session.journal.written(("key", id(vars(owner)), name)):
        return value
    return session.track(value, paths.attr(session.anchor(owner), name))


_BY_KIND: tuple[tuple[type, Callable[..., Any]], ...] = (
    (Tensor, tensor_attribute.read), (types.ModuleType, _module_attr), (super, _super_attr),
    (FunctionChoice, _choice_attr),
)  # fmt: skip


# ---- items ----


def _outside_item(session: Session, owner: Any, source: paths.Source, key: Any) -> Any:
    """An item of a container from outside that the program has not written to, tracked with its source."""
    if isinstance(key, slice) and not isinstance(owner, dict):
        found = items(session, owner)[key]
        return tuple(found) if isinstance(owner, tuple) else session.born(found)
    if not isinstance(owner, dict) and type(key) is int and not -len(owner) <= key < len(owner):
        length(session, owner)  # an IndexError
    if isinstance(owner, dict) and not dict.__contains__(owner, key):
        session.guard("absent", (source,), (key,))
    return session.track(owner[key], paths.item(source, key))


def _missing_item(session: Session, owner: Any, source: paths.Source, key: Any) -> Any:
    """``__missing__`` of a dict: of a defaultdict it puts in what its factory makes, a write like any other."""
    if _untouched(session, owner):
        session.guard("absent", (source,), (key,))
    missing, factory = type(owner).__missing__, getattr(owner, "default_factory", None)
    if isinstance(missing, types.FunctionType):
        return session.interpreter.call(missing, owner, key)
    if factory is None:
        return owner[key]  # which raises
    made = session.interpreter.call(factory)
    session.interpreter.intrinsics.set_item(owner, key, made)
    return made


def item(session: Session | None, owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    if session is None or isinstance(owner, Tensor):
        return owner[plain_key(session, key)]
    if isinstance(owner, np.ndarray):
        return session.made(owner[plain_key(session, key)])
    if isinstance(key, Tensor) and (isinstance(owner, (list, tuple)) or getattr(owner, "has_numbered_cells", False)):
        if key._type.is_static:
            need_index(key, truth=True)
        return session.interpreter.intrinsics.selected([item(session, owner, i) for i in range(len(owner))], key)
    if isinstance(key, Tensor) and isinstance(owner, (dict, str)):
        _refuse_key(owner)
    return _item_of(session, owner, plain_key(session, key))


def _item_of(session: Session, owner: Any, key: Any) -> Any:
    method = getattr(type(owner), "__getitem__", None)
    if isinstance(method, types.FunctionType):
        return session.interpreter.call(method, owner, key)
    source = session.objects.source_of(owner)
    if source is not None and hasattr(type(owner), "__missing__") and not dict.__contains__(owner, key):
        return _missing_item(session, owner, source, key)
    if source is not None and isinstance(owner, (list, tuple, deque, dict)) and _untouched(session, owner):
        return _outside_item(session, owner, source, key)
    return session.born(owner[key]) if isinstance(key, slice) and type(owner) is list else owner[key]


def _refuse_key(owner: Any) -> None:
    error = ConcretizationError(
        f"a Python {type(owner).__name__} cannot be indexed by a tensor: its value is not known while the function is "
        "captured.",
        hint="a list or tuple can be; or compute the index outside the function.",
    )
    error.where = here(3).where
    raise error


def plain_key(session: Session | None, key: Any) -> Any:
    """An index with plain numbers in it: each is fixed by a guard."""
    if session is not None and type(key) in (list, tuple):
        key = given(session, key)
    if type(key) is slice:
        return slice(concrete(key.start), concrete(key.stop), concrete(key.step))
    if type(key) in (list, tuple):
        return type(key)(plain_key(None, part) for part in key)
    if session is not None:
        look_into(session, key)
    return concrete(key)


def _untouched(session: Session, owner: Any) -> bool:
    """Is an outside container still as it came in? If the program wrote to it, what is left of it is guarded now."""
    holder = session.journal.objects_of_spaces.get(id(owner))
    if holder is not None and space_of(holder) is owner:
        attr(session, holder, "__dict__")
    if not session.journal.written(("content", id(owner))):
        return True
    settle(session, owner)
    return False


def _entry(owner: Any, source: paths.Source, key: Any) -> paths.Source:
    """The path of an item; a program's own ``__getitem__`` is not asked."""
    if not _hides(owner, "__getitem__"):
        return paths.item(source, key)
    return paths.called(raw_base(owner).__getitem__, (source, key))


def _size(owner: Any) -> int:
    size: int = raw_base(owner).__len__(owner)
    return size


def _hides(owner: Any, name: str) -> bool:
    return isinstance(getattr(type(owner), name), types.FunctionType)


def _guard_keys(session: Session, owner: Any, source: paths.Source, keys: Any) -> None:
    place = paths.called(raw_items, (source,)) if _hides(owner, "__iter__") else paths.keys(source)
    session.guard("eq", (place,), (list(keys) if _hides(owner, "__iter__") else tuple(keys),))


def _guard_size(session: Session, owner: Any, source: paths.Source, size: int) -> None:
    place = paths.called(_size, (source,)) if _hides(owner, "__len__") else paths.length(source)
    session.guard("eq", (place,), (size,))


def settle(session: Session, owner: Any) -> None:
    """The program wrote to an outside container and now reads it (or is about to move its items): its size is guarded,
    and the items that came from outside are tracked where they lie."""
    source, before = session.objects.source_of(owner), session.journal.first_value(("content", id(owner)))
    if source is None or before is None or session.journal.is_settled(owner):
        return
    session.journal.levels[-1].settled.add(id(owner))
    if isinstance(owner, (set, frozenset)):
        session.guard("eq", (paths.called(frozenset, (source,)),), (frozenset(before),))
        return
    if isinstance(owner, dict):
        _guard_keys(session, owner, source, before)
    else:
        _guard_size(session, owner, source, len(before))
    for key, value in before.items() if isinstance(owner, dict) else enumerate(before):
        known = isinstance(owner, dict) or key < _size(owner)
        held = (dict.get if isinstance(owner, dict) else raw_base(owner).__getitem__)(owner, key) if known else None
        if held is value and not session.journal.is_marked(owner, key):
            builtin_method(owner, "__setitem__")(key, session.track(value, _entry(owner, source, key)))


def note_all(session: Session, owner: Any) -> None:
    """About to write to a container whose items move, or are merged with another branch's: all are read, those that an
    earlier write left before they are noted."""
    settle(session, owner)
    session.journal.note(ContentPlace(owner))
    session.journal.note_names(owner, owner)
    settle(session, owner)


def length(session: Session, owner: Any) -> int:
    """``len`` of an outside container, guarded."""
    source = session.objects.source_of(owner)
    if source is not None and _untouched(session, owner):
        _guard_size(session, owner, source, _size(owner))
    return _size(owner)


def items(session: Session, owner: Any) -> list[Any]:
    """All that iteration over an outside container gives."""
    source = session.objects.source_of(owner)
    found = raw_items(owner)
    if source is None or not _untouched(session, owner):
        return raw_items(owner)
    if isinstance(owner, dict):
        _guard_keys(session, owner, source, found)
        return found
    if isinstance(owner, (set, frozenset)):
        session.guard("eq", (paths.called(frozenset, (source,)),), (frozenset(found),))
        return found
    length(session, owner)
    return [session.track(v, _entry(owner, source, i)) for i, v in enumerate(found)]


def dict_method(session: Session, owner: dict[Any, Any], name: str, args: Any, kwargs: Any) -> Any:
    """``owner.name(...)`` of a dict from outside, for a method that only reads."""
    if name not in ("get", "__getitem__", "__contains__"):
        return getattr(mapping(session, owner), name)(*args, **kwargs)
    key = concrete(args[0])
    known = name == "__getitem__" or key in members(session, owner)
    if name == "__contains__":
        return known
    if not known:
        return args[1] if len(args) > 1 else None
    if not isinstance(type(owner).__getitem__, types.FunctionType):
        return item(session, owner, key)
    source = session.objects.source_of(owner)  # what C's methods read, behind a program's own __getitem__
    if source is None or not _untouched(session, owner):
        return dict.__getitem__(owner, key)
    return session.track(dict.__getitem__(owner, key), _entry(owner, source, key))


def mapping(session: Session, owner: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the program with the entries of an outside one, all guarded."""
    source = session.objects.source_of(owner)
    if source is None or not _untouched(session, owner):
        return owner
    keys = raw_items(owner)
    _guard_keys(session, owner, source, keys)
    found = {k: session.track(dict.__getitem__(owner, k), _entry(owner, source, k)) for k in keys}
    return refilled(owner, found) if type(owner) in DICTS else found


def refilled(owner: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    """Other entries in a dict of the same class."""
    made = owner.copy()
    dict.update(made, entries)  # a Counter's own adds
    return made


def entered(session: Session, value: Any) -> Any:
    """An argument for code that is not converted: outside containers are read and guarded here, all of them."""
    if type(value) in (list, tuple, deque) or isinstance(value, tuple) and type(value).__module__ != "builtins":
        if session.objects.source_of(value) is None:
            return value
        found = items(session, value)
        bound = [value.maxlen] if isinstance(value, deque) else []
        return found if type(value) is list else remade(value, found, *bound)
    if type(value) in DICTS:
        return mapping(session, value)
    if isinstance(value, (set, frozenset)) and session.objects.source_of(value) is not None:
        items(session, value)
    else:
        look_into(session, value)
    return value


def plain_parts(session: Session, value: Any) -> Any:
    """Lists for code that reads numbers in C: the numbers in them are looked at, and guarded."""
    if type(value) in (list, tuple):
        return type(value)(plain_parts(session, part) for part in value)
    if type(value) in DICTS:
        return refilled(value, {plain_parts(session, key): plain_parts(session, part) for key, part in value.items()})
    if is_asked(type(value)):
        look_into(session, value)
    return value.plain() if isinstance(value, TrackedArray) else concrete(value)


def look_into(session: Session, value: Any) -> None:
    """Code that is not converted may look at all that an object of the user holds, C through the special methods of its
    class: all is guarded, in containers and in objects with such methods, too. Chains of objects may be long."""
    waiting, seen = [value], {id(value)}
    if not is_lazy(value) and not _is_users(value) and not isinstance(value, _CONTAINERS):
        return
    while waiting:
        part = waiting.pop()
        if is_lazy(part):
            concrete(part)
            continue
        found = [one for one in _held(session, part) if is_lazy(one) or id(one) not in seen and _is_searched(one)]
        seen.update(map(id, found))
        waiting += reversed(found)


def _is_users(value: Any) -> bool:
    return has_parts(type(value)) and not isinstance(value, (Tensor, np.ndarray, *BY_IDENTITY))


def _is_searched(value: Any) -> bool:
    return isinstance(value, _CONTAINERS) or _is_users(value) and is_asked(type(value))


def _held(session: Session, value: Any) -> list[Any]:
    """The items and attributes of an object, guarded; of a Cell the numbers only."""
    parts: list[Any] = []
    if isinstance(value, _VIEWS):
        return list(value)
    if isinstance(value, _CONTAINERS):
        found = mapping(session, value) if isinstance(value, dict) else items(session, value)
        parts = [*found, *found.values()] if isinstance(found, dict) else found
    if _is_users(value):
        slots = [name for kind in type(value).__mro__ for name in kind.__dict__.get("__slots__", ())]
        parts += [attr(session, value, name) for name in slots if not name.startswith("__") and hasattr(value, name)]
        if hasattr(value, "__dict__"):
            parts += mapping(session, attr(session, value, "__dict__")).values()
    return list(filter(is_lazy, parts)) if hasattr(type(value), "cells_and_names") else parts


def given(session: Session, value: Any) -> Any:
    """An argument for msnb's own functions, which look into containers unseen: what lies outside is read and guarded
    here, all the way down. A container in which nothing comes from outside is handed on as it is."""
    if is_lazy(value) or isinstance(value, (Tensor, *BY_IDENTITY)):  # a record (Op) is one thing, whatever it holds
        return value
    if isinstance(value, (set, frozenset, deque)):
        return entered(session, value)
    found = pytree.children(value)
    if found is None:
        return value
    keys, before = found
    parts = [given(session, part) for part in _parts(session, value, keys)]
    if all(map(operator.is_, parts, before)):
        return value
    if is_heap(type(value)) and isinstance(value, (dict, list, tuple)):
        return remade(value, dict(zip(keys, parts)) if isinstance(value, dict) else parts)
    return pytree.rebuild(type(value), keys, parts)


def _parts(session: Session, owner: Any, keys: tuple[Any, ...]) -> list[Any]:
    if isinstance(owner, dict):
        return list(mapping(session, owner).values())
    return items(session, owner) if isinstance(owner, (list, tuple)) else [attr(session, owner, k) for k in keys]


def iterate(session: Session | None, value: Any) -> Any:
    """What ``for`` goes through."""
    if session is None:
        return value
    engine = slot.engine
    known = isinstance(value, _KNOWN_ITERABLES) and not (is_heap(type(value)) and _hides(value, "__iter__"))
    if hasattr(engine, "session") and not known:
        found = session.interpreter.iterate(engine, value)
        if found is not NotImplemented:
            return found
    if isinstance(value, (list, tuple, dict, set, frozenset, deque)) and session.objects.source_of(value) is not None:
        return _lazily(session, value) if isinstance(value, list) else items(session, value)
    return value


def _lazily(session: Session, value: list[Any]) -> Iterator[Any]:
    """A list may grow while it is gone through."""
    found = items(session, value)
    yield from found
    yield from raw_items(value)[len(found) :]


def members(session: Session, owner: Any) -> Any:
    """What ``in`` looks through; of a dict that is the keys."""
    if owner is os.environ:
        session.interpreter.notice_once(slot.engine, "a look into os.environ")
    if isinstance(owner, dict) and session.objects.source_of(owner) is not None and _untouched(session, owner):
        items(session, owner)
        return owner
    return plain_parts(session, entered(session, owner))
