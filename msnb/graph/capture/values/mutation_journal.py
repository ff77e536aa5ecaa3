"""The journal: every write to an object while a program is captured, so that it can be taken back.

    level 0   the capture itself: at its end (or failure) the user's objects are as they were before
    level 1   the branch or loop body being captured: put back before the other branch is captured, and kept as data
    level 2   a branch inside that branch ...

A location is a place that a write can change: an attribute, the content of a list, dict or set, one key of a
namespace, a closure cell, the value of a Tensor object. Its first write in a level notes the old value. ``pop``
puts the old values back and gives the new ones: the block merges those like variables.

Writes to outside objects at level 0 are logged too, to be done again at every call.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from msnb.core.storage.aligned_memory import owns_memory
from msnb.graph.capture.values.object_table import is_heap, is_programs, lies_in, on_class, raw_items, space_of

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


def behind(owner: Any, name: str, of_c: bool = False) -> Any:
    """The method of msnb or of C code, or of C code alone, behind one of the same name of a program's own class."""
    found = (vars(kind).get(name) for kind in type(owner).__mro__)
    hides: Callable[[Any], bool] = (lambda fn: isinstance(fn, FunctionType)) if of_c else is_programs
    return next(fn for fn in found if fn is not None and not hides(fn)).__get__(owner)


def builtin_method(owner: Any, name: str) -> Any:
    """The method of C code."""
    return behind(owner, name, of_c=True)


def attribute_key(owner: Any, name: str) -> tuple[Any, ...]:
    """The location of an attribute: objects that share their ``__dict__`` share it."""
    space = None if name == "__dict__" else space_of(owner)
    return "attr", id(owner if space is None else space), name


class MutationTarget:
    """A location; equal keys are the same location."""

    key: tuple[Any, ...]
    label: str

    def get(self) -> Any:
        """The value there now (a copy, for contents)."""
        raise NotImplementedError

    def set(self, value: Any) -> None:
        """Put a value there."""
        raise NotImplementedError

    def restore(self, value: Any) -> None:
        """Put back what was there."""
        self.set(value)


class AttrPlace(MutationTarget):
    """An attribute."""

    of_c = False

    def __init__(self, owner: Any, name: str) -> None:
        self.owner: Any = owner
        self.name: str = name
        self.key: tuple[Any, ...] = attribute_key(owner, name)
        self.label: str = f"{type(owner).__name__}.{name}"

    def get(self) -> Any:
        kind = type(self.owner)
        if self._is_computed():
            return MISSING
        if is_programs(kind.__getattribute__) or is_programs(on_class(kind, "__getattr__")):
            try:  # as it lies in the dict or in a slot, not as the program shows it
                return behind(self.owner, "__getattribute__")(self.name)
            except AttributeError:
                return MISSING
        return getattr(self.owner, self.name, MISSING)

    def _is_computed(self) -> bool:
        """Would a descriptor of Python code give it, as a cached_property does?"""
        get = getattr(type(on_class(type(self.owner), self.name)), "__get__", None)
        return isinstance(get, FunctionType) and not lies_in(self.owner, self.name)

    def set(self, value: Any) -> None:
        if value is not MISSING:
            behind(self.owner, "__setattr__", self.of_c)(self.name, value)
        elif self.get() is not MISSING:
            behind(self.owner, "__delattr__", self.of_c)(self.name)

    def restore(self, value: Any) -> None:
        now = self.get()
        if now is value:
            return
        write, remove = (behind(self.owner, name) for name in ("__setattr__", "__delattr__"))
        if now is not MISSING and (value is MISSING or isinstance(write, MethodType)):
            remove(self.name)  # a Cell refuses a number in the place of a Cell
        if value is not MISSING:
            write(self.name, value)


class SpacePlace(MutationTarget):
    """All attributes of an object whose class has a ``__setattr__`` of its own: put back as they were, in their
    order."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.key: tuple[Any, ...] = ("space", id(owner))
        self.label: str = f"the attributes of {type(owner).__name__}"

    def get(self) -> Any:
        return dict(vars(self.owner))

    def set(self, value: Any) -> None:
        space = vars(self.owner)
        space.clear()
        space.update(value)


class ObjectAttrPlace(AttrPlace):
    """An attribute of an object whose class has a ``__setattr__`` of the program's own, which writes it so."""

    of_c = True


class HiddenPlace(AttrPlace):
    """An attribute that such a ``__setattr__`` wrote beside the one that it was asked for; ``SpacePlace`` puts it
    back."""

    def set(self, value: Any) -> None:
        pass


class ContentPlace(MutationTarget):
    """All that a list, dict, set or deque holds."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.key: tuple[Any, ...] = ("content", id(owner))
        self.label: str = f"the {type(owner).__name__}"

    def get(self) -> Any:
        kind = next(k for k in (list, OrderedDict, dict, set, deque) if isinstance(self.owner, k))
        if not is_heap(type(self.owner)):
            return kind(self.owner)
        found = raw_items(self.owner)
        return kind((k, dict.__getitem__(self.owner, k)) for k in found) if issubclass(kind, dict) else kind(found)

    def set(self, value: Any) -> None:
        if isinstance(self.owner, list):
            list.__setitem__(self.owner, slice(None), value)
            return
        kind: Any = next(k for k in (OrderedDict, dict, set, deque) if isinstance(self.owner, k))
        kind.clear(self.owner)
        if isinstance(self.owner, dict):
            for key, entry in value.items():
                kind.__setitem__(self.owner, key, entry)
        elif isinstance(self.owner, deque):
            kind.extend(self.owner, value)
        else:
            kind.update(self.owner, value)


def root_of(array: Any) -> Any:
    """The array whose memory a view shows."""
    while isinstance(array.base, np.ndarray) and not owns_memory(array):
        array = array.base
    return array


class ArrayPlace(MutationTarget):
    """The elements of a NumPy array."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.key: tuple[Any, ...] = ("array", id(owner))
        self.label = "the array"

    def get(self) -> Any:
        return self.owner.copy()

    def set(self, value: Any) -> None:
        self.owner[...] = value


class KeyPlace(MutationTarget):
    """One name of a namespace (globals)."""

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self.space: dict[str, Any] = space
        self.name: str = name
        self.key: tuple[Any, ...] = ("key", id(space), name)
        self.label: str = f"the global {name}"

    def get(self) -> Any:
        return self.space.get(self.name, MISSING)

    def set(self, value: Any) -> None:
        if value is MISSING:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = value


class CellPlace(MutationTarget):
    """A variable of an enclosing function."""

    def __init__(self, box: Any, name: str) -> None:
        self.box: Any = box
        self.name: str = name
        self.key: tuple[Any, ...] = ("cell", id(box))
        self.label: str = f"the variable {name}"

    def get(self) -> Any:
        try:
            return self.box.cell_contents
        except ValueError:
            return MISSING

    def set(self, value: Any) -> None:
        if value is MISSING:
            del self.box.cell_contents
        else:
            self.box.cell_contents = value


class TensorPlace(MutationTarget):
    """The value that a Tensor object stands for."""

    def __init__(self, tensor: Any, label: str = "the tensor") -> None:
        self.tensor = tensor
        self.key: tuple[Any, ...] = ("tensor", id(tensor))
        self.label = label

    def get(self) -> Any:
        return self.tensor._builder.wrap(self.tensor._value)

    def set(self, value: Any) -> None:
        t = self.tensor
        t._builder, t._value, t._type = value._builder, value._value, value._type


_SILENT = (SpacePlace, HiddenPlace)  # what the writes of a program bring with them


@dataclass
class Change:
    """A location with its value before and, once its level is closed, after."""

    place: MutationTarget
    before: Any
    after: Any = None


@dataclass
class Level:
    """The writes of one block.

    Attributes:
        settled: the containers from outside whose items have been read, and guarded, or replaced: by identity.
        keys: of other such containers the keys and places that were written.
    """

    changes: dict[tuple[Any, ...], Change] = field(default_factory=dict)
    transparent: bool = False
    logged: int = 0
    graph: Any = None
    born: dict[int, Any] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)
    keys: dict[int, set[Any]] = field(default_factory=dict)

    def is_own(self, change: Change) -> bool:
        """Was the object made in this very block? Then nobody outside sees the write, and it is not taken back."""
        place = change.place
        if isinstance(place, TensorPlace):
            return self.graph is not None and change.before._builder.graph is self.graph
        return id(getattr(place, "owner", None)) in self.born


@dataclass
class Mutation:
    """A write to an outside object, to be done again at every call.

    ``how``: attr, item, del, method, call (a method with keywords), global, cell; ``name`` its attribute, key, method
    or name; ``args`` the values.
    """

    owner: Any
    how: str
    name: Any
    args: tuple[Any, ...]


class Journal:
    """The open levels, innermost last, and the log of outside writes.

    Attributes:
        objects_of_spaces: objects whose attributes were written, or looked at in their ``__dict__``, by its identity.
    """

    def __init__(self) -> None:
        self.levels: list[Level] = [Level()]
        self.log: list[Mutation] = []
        self.before_write: Callable[[Any], None] = lambda owner: None
        self.names_on_classes: set[str] = set()
        self.objects_of_spaces: dict[int, Any] = {}

    @property
    def in_block(self) -> bool:
        """Is a branch or loop body being captured?"""
        return any(not level.transparent for level in self.levels[1:])

    def note(self, place: MutationTarget, before: Any = MISSING) -> None:
        """About to write there; or already written, and ``before`` was there."""
        self.before_write(getattr(place, "owner", None))
        if isinstance(place, AttrPlace):
            if isinstance(place.owner, type):
                self.names_on_classes.add(place.name)
            self.objects_of_spaces[id(space_of(place.owner))] = place.owner
        changes = self.levels[-1].changes
        if place.key not in changes:
            changes[place.key] = Change(place, place.get() if before is MISSING else before)

    def write(self, place: MutationTarget, value: Any) -> None:
        """Write there."""
        self.note(place)
        place.set(value)

    def note_attributes(self, owner: Any) -> None:
        """All attributes of an object are about to be looked at in its ``__dict__``: that the program wrote some of
        them is a write to that, too."""
        space = space_of(owner)
        if space is None:
            return
        self.objects_of_spaces[id(space)] = owner
        place, before = ContentPlace(space), dict(space)
        wrote = [
            (level, change.place.name, change.before)
            for level in self.levels
            for change in level.changes.values()
            if isinstance(change.place, AttrPlace) and space_of(change.place.owner) is space
        ]
        if not wrote or self.written(place.key):
            return
        for level, name, old in reversed(wrote):
            before[name] = old
            level.keys.setdefault(id(place.owner), set()).add(name)
        wrote[0][0].changes[place.key] = Change(place, {k: v for k, v in before.items() if v is not MISSING})

    def note_names(self, space: Any, names: Iterable[Any]) -> None:
        """About to write there in the ``__dict__`` of an object: each is an attribute of it."""
        owner = self.objects_of_spaces.get(id(space))
        for name in names if owner is not None and space_of(owner) is space else ():
            if not hasattr(type(on_class(type(owner), name)), "__set__"):  # a slot of that name comes first
                self.note(AttrPlace(owner, name), space.get(name, MISSING))

    def mark(self, owner: Any, keys: Iterable[Any]) -> None:
        """These keys of a dict, places of a list, are written; the others stay as they came in."""
        self.levels[-1].keys.setdefault(id(owner), set()).update(keys)

    def is_marked(self, owner: Any, key: Any) -> bool:
        """Has the program written that key, or place?"""
        return any(key in level.keys.get(id(owner), ()) for level in self.levels)

    def is_settled(self, owner: Any) -> bool:
        """Is nothing left in a container that comes from outside and is not tracked?"""
        return any(id(owner) in level.settled for level in self.levels)

    def written(self, key: tuple[Any, ...]) -> bool:
        """Has the program itself written there?"""
        return any(key in level.changes for level in self.levels)

    def written_on_class(self, kind: type, name: str) -> bool:
        """Has the program written what a class shows under a name: on it or on a class that it is derived from?"""
        if name not in self.names_on_classes:
            return False
        for one in kind.__mro__:
            if self.written(attribute_key(one, name)):
                return True
            if name in vars(one):
                return False
        return False

    def first_value(self, key: tuple[Any, ...]) -> Any:
        """What was there before the program's first write; None if there was none."""
        return next((level.changes[key].before for level in self.levels if key in level.changes), None)

    def push(self, graph: Any = None) -> None:
        """Open a level for a body with this graph. Without a graph it may be committed: its writes then belong to the
        level around it."""
        self.levels.append(Level({}, graph is None, len(self.log), graph))

    def commit(self) -> None:
        """Close the innermost level and keep its writes."""
        level = self.levels.pop()
        self.levels[-1].born.update(level.born)
        self.levels[-1].settled |= level.settled
        for owner, keys in level.keys.items():
            self.levels[-1].keys.setdefault(owner, set()).update(keys)
        for key, change in level.changes.items():
            self.levels[-1].changes.setdefault(key, change)

    def pop(self) -> dict[tuple[Any, ...], Change]:
        """Close the innermost level: everything is as before it, and the changes come back with both values."""
        level = self.levels.pop()
        changes = {key: change for key, change in level.changes.items() if not level.is_own(change)}
        if level.transparent:
            del self.log[level.logged :]
        for change in changes.values():
            change.after = change.place.get()
        for change in reversed(list(changes.values())):
            change.place.restore(change.before)
        return {key: change for key, change in changes.items() if not self._is_told(change.place)}

    def _is_told(self, place: MutationTarget) -> bool:
        """Do other changes tell what changed there? The attributes of an object tell it of its ``__dict__``."""
        if not isinstance(place, ContentPlace):
            return isinstance(place, _SILENT)
        of_an_object = space_of(self.objects_of_spaces.get(id(place.owner))) is place.owner
        return of_an_object and all(isinstance(name, str) for name in place.owner)

    def unwind(self, depth: int) -> None:
        """Close levels without keeping what they wrote."""
        while len(self.levels) > depth:
            self.pop()
