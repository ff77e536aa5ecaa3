"""Writes of the program to objects: attributes, items, contents, globals, cells; how two branches' writes merge."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from msnb.base import CaptureError
from msnb.base.source_location import here
from msnb.core import Parameter, Tensor, slot, temporary_writes
from msnb.graph.capture.interpreter import array_mutations, reads
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.values import mutation_journal as journal
from msnb.graph.capture.values.branch_merge import Late, UndefinedVariable, flatten, is_tensor, same
from msnb.graph.capture.values.lazy_values import same_values
from msnb.graph.capture.values.object_table import is_programs, on_class

Write = Callable[[Any], None]


def session_now() -> Session | None:
    """The session of the program that is captured."""
    engine = slot.engine
    return engine.session if isinstance(engine, Capture) else None


def set_attr(owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``."""
    session = session_now()
    if session is None or is_tensor(owner) and not hasattr(owner, "__dict__"):
        setattr(owner, name, value)
        return
    if (own := _own_method(owner, "__setattr__")) is not None:
        session.interpreter.call(own, owner, name, value)
    elif not _by_descriptor(session, owner, name, value):
        _write_attr(session, owner, name, value)


def _by_descriptor(session: Session, owner: Any, name: str, *value: Any) -> bool:
    """A property, or a descriptor of a program's class, takes the value, or deletes it."""
    held = on_class(type(owner), name)
    is_property, given = isinstance(held, property), "__set__" if value else "__delete__"
    fn = (held.fset if value else held.fdel) if is_property else getattr(type(held), given, None)
    if not is_programs(fn) and not (is_property and isinstance(fn, FunctionType)):
        return False
    session.interpreter.call(fn, *(() if is_property else (held,)), owner, *value)
    return True


def _write_attr(session: Session, owner: Any, name: str, value: Any) -> None:
    if name != "__dict__" and (space := session.shared_space(owner)) is not None:
        set_item(space, name, value)
        return
    old = vars(owner).get(name) if on_class(type(owner), "assigns_parameters") is True else None
    if isinstance(old, Parameter) and is_tensor(value) and not isinstance(value, Parameter):
        journal.behind(owner, "__setattr__")(name, value)  # an assignment to the Parameter, which stays where it is
        return
    place = journal.AttrPlace(owner, name)
    _with_hidden(session, owner, name, lambda: session.journal.write(place, value))
    session.log(owner, _way(place), name, value)


def _own_method(owner: Any, name: str) -> Any:
    """``__setattr__`` or ``__delattr__`` of a program's class."""
    found = on_class(type(owner), name)
    return found if is_programs(found) else None


def raw(method: str, owner: Any, name: str, *value: Any) -> Any:
    """``object.__setattr__(owner, name, value)``, ``__delattr__(owner, name)`` or ``__getattribute__(owner, name)``."""
    session = session_now()
    assert session is not None
    if method == "__getattribute__":
        return reads.attr(session, owner, name, whole=False)
    if value and _by_descriptor(session, owner, name, *value):
        return None
    place = journal.ObjectAttrPlace(owner, name)
    if not value and place.get() is journal.MISSING:
        journal.builtin_method(owner, "__delattr__")(name)  # which raises
    session.journal.write(place, value[0] if value else journal.MISSING)
    return session.log(owner, "raw", name, *value)


def by_framework(method: str, owner: Any, name: str, *value: Any) -> None:
    """``Cell.__setattr__`` or ``Cell.__delattr__``, by way of ``super()`` from a method of a program's class."""
    session = session_now()
    assert session is not None
    if not value or not _by_descriptor(session, owner, name, *value):
        (_write_attr if value else _delete_attr)(session, owner, name, *value)


def _way(place: journal.AttrPlace) -> str:
    """How a write is done again: not by the method of a program's class, which was captured."""
    if type(place) is journal.ObjectAttrPlace:
        return "raw"
    return "attr" if _own_method(place.owner, "__setattr__") is None else "behind"


def _with_hidden(session: Session, owner: Any, name: str, action: Callable[[], None]) -> None:
    """A write to an attribute. A ``__setattr__`` that Python calls unseen (a Cell's, which keeps names in order) may
    write more."""
    kind: Any = type(owner)
    plain = kind.__setattr__ is object.__setattr__ and kind.__delattr__ is object.__delattr__
    if plain or isinstance(owner, type) or not hasattr(owner, "__dict__"):
        action()
        return
    session.journal.note(journal.SpacePlace(owner))
    before = dict(vars(owner))
    action()
    for key in {**before, **vars(owner)}:
        if key != name and before.get(key, journal.MISSING) is not vars(owner).get(key, journal.MISSING):
            session.journal.note(journal.HiddenPlace(owner, key), before.get(key, journal.MISSING))


def del_attr(owner: Any, name: str) -> None:
    """``del owner.name``."""
    session = session_now()
    if session is None:
        delattr(owner, name)
    elif (own := _own_method(owner, "__delattr__")) is not None:
        session.interpreter.call(own, owner, name)
    elif not _by_descriptor(session, owner, name):
        _delete_attr(session, owner, name)


def _delete_attr(session: Session, owner: Any, name: str) -> None:
    if (space := session.shared_space(owner)) is not None and name in space:
        del_item(space, name)
        return
    session.journal.note(journal.AttrPlace(owner, name))
    _with_hidden(session, owner, name, lambda: journal.behind(owner, "__delattr__")(name))
    session.log(owner, "delete", name)


def set_item(owner: Any, key: Any, value: Any) -> None:
    """``owner[key] = value``."""
    if temporary_writes.count(owner) == temporary_writes.IN_CALL and isinstance(owner, Tensor):
        back = temporary_writes.home_of_statement(kept := owner)
        set_item(kept, key, value)
        temporary_writes.put_back(kept, back, set_item)
        return
    session = session_now()
    if session is not None and isinstance(owner, np.ndarray):
        array_mutations.set_item(session, owner, reads.plain_key(session, key), value)
        return
    if session is None or is_tensor(owner):
        owner[reads.plain_key(session, key)] = value if session is None else reads.given(session, value)
        return
    key = reads.plain_key(session, key)
    method = getattr(type(owner), "__setitem__", None)
    if hasattr(method, "__code__"):
        session.interpreter.call(method, owner, key, value)
    elif isinstance(owner, (list, dict, deque)):
        _note_items(session, owner, None if isinstance(key, slice) else (key,))
        owner[key] = value
        session.log(owner, "item", key, value)
    else:
        array_mutations.refuse_contents(session, owner)
        owner[key] = value


def _note_items(session: Session, owner: Any, keys: Iterable[Any] | None) -> None:
    """About to write there, in a list, dict or deque; None: the items move. What may be merged with another branch, or
    moves, is read first."""
    if keys is None or session.journal.in_block:
        reads.note_all(session, owner)
    else:
        session.journal.note(journal.ContentPlace(owner))
        size = 0 if isinstance(owner, dict) else len(owner)
        session.journal.mark(owner, (k + size if type(k) is int and k < 0 else k for k in keys))
    session.journal.note_names(owner, keys or ())


def del_item(owner: Any, key: Any) -> None:
    """``del owner[key]``."""
    session = session_now()
    key = reads.plain_key(session, key)
    method = getattr(type(owner), "__delitem__", None)
    if session is not None and hasattr(method, "__code__") and not isinstance(owner, Tensor):
        session.interpreter.call(method, owner, key)
        return
    if session is not None and isinstance(owner, (list, dict, deque)):
        reads.note_all(session, owner)
        session.log(owner, "method", "__delitem__", key)
    elif session is not None:
        array_mutations.refuse_contents(session, owner)
    del owner[key]


def set_global(space: dict[str, Any], name: str, value: Any) -> None:
    """``global name; name = value``."""
    session = session_now()
    if session is None:
        space[name] = value
        return
    session.journal.write(journal.KeyPlace(space, name), value)
    session.log(space, "global", name, value)


def set_cell(box: Any, name: str, value: Any) -> None:
    """``nonlocal name; name = value``."""
    session = session_now()
    if session is None:
        box.cell_contents = value
        return
    session.journal.write(journal.CellPlace(box, name), value)
    if session.objects.source_of(box) is not None:
        session.log(box, "cell", name, value)


def mutate(owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method that changes a list, dict, set or deque."""
    session, is_map = session_now(), isinstance(owner, dict)
    if session is not None:
        bounded = isinstance(owner, deque) and owner.maxlen is not None  # what is put in at one end moves the items
        moves = bounded or name == "update" and isinstance(owner, Counter)
        given = (*args, kwargs) if name == "update" and is_map and not moves else ()
        _note_items(session, owner, None if moves else [key for entries in given for key in dict(entries)])
        if name == "clear":
            session.journal.levels[-1].settled.add(id(owner))
        session.log(owner, "call", name, args, kwargs)
    return journal.builtin_method(owner, name)(*args, **kwargs)


# ---- merging what branches wrote ----


def merge_changes(merge: Any, a: dict[Any, journal.Change], b: dict[Any, journal.Change]) -> list[tuple[Any, Write]]:
    """Plans for every location that either branch wrote, and the write that makes the merged value stick."""
    out: list[tuple[Any, Write]] = []
    a, b = _with_space(a, b), _with_space(b, a)
    for key in {**a, **b}:
        change = a.get(key) or b[key]
        before = before_of(change)
        left = a[key].after if key in a else before
        right = b[key].after if key in b else before
        plan = _plan(merge, change.place, left, right)
        out.append((plan, functools.partial(store, change.place)))
    return out


def _with_space(a: dict[Any, journal.Change], b: dict[Any, journal.Change]) -> dict[Any, journal.Change]:
    """The changes of ``a``, where it wrote attributes in whose ``__dict__`` ``b`` wrote, as changes of that, too."""
    session, more = session_now(), {}
    assert session is not None
    for key, change in b.items():
        owner = session.journal.objects_of_spaces.get(key[1]) if key[0] == "content" and key not in a else None
        pairs = [(c.place, c.after) for c in a.values()]
        wrote = {p.name: after for p, after in pairs if isinstance(p, journal.AttrPlace) and p.owner is owner}
        if wrote:
            found = {**before_of(change), **wrote}
            left = {name: value for name, value in found.items() if value is not journal.MISSING}
            more[key] = journal.Change(change.place, change.before, left)
    return {**a, **more}


def before_of(change: journal.Change) -> Any:
    """What was at a written location before: what lies outside is read, and guarded."""
    session, place = session_now(), change.place
    assert session is not None
    if change.before is journal.MISSING or session.journal.written(place.key):
        return change.before
    if isinstance(place, journal.AttrPlace) and session.objects.source_of(place.owner) is not None:
        return reads.attr(session, place.owner, place.name)
    if isinstance(place, journal.ContentPlace) and session.objects.source_of(place.owner) is not None:
        owner = place.owner
        if isinstance(owner, dict):
            return dict(reads.mapping(session, owner))
        return _as(owner, reads.items(session, owner))
    if isinstance(place, journal.KeyPlace):
        return reads.glob(session, place.space, place.name)
    if isinstance(place, journal.CellPlace) and session.objects.source_of(place.box) is not None:
        return reads.free(session, {place.name: place.box}, place.name)
    return change.before


def _as(owner: Any, items: list[Any]) -> Any:
    return next(k for k in (list, set, deque) if isinstance(owner, k))(items)


def _plan(merge: Any, place: journal.MutationTarget, left: Any, right: Any) -> Any:
    if isinstance(place, journal.ArrayPlace) and not any(merge.dead) and not same_values(left, right):
        raise array_mutations.refuse("branch")
    if isinstance(place, journal.ContentPlace) and not _same_shape(left, right) and not any(merge.dead):
        error = CaptureError(
            f"{place.label} has {len(left)} items after the if branch and {len(right)} after the else branch; a tensor "
            "decides which runs, so both must leave the same items.",
            hint="append in both branches, or put a value computed with ops.where after the branch.",
        )
        error.where, error.breaks = here(2).where, True
        raise error
    if (left is journal.MISSING) != (right is journal.MISSING) and not any(merge.dead) and _is_outside(place):
        raise _unsure(f"{place.label} exists after one branch and not after the other; a tensor decides which runs.")
    left, right = (
        UndefinedVariable(place.label, "only one branch sets it") if v is journal.MISSING else v for v in (left, right)
    )
    return merge.plan(place.label, left, right)


def _unsure(sentence: str) -> CaptureError:
    error = CaptureError(sentence, hint="give it a value before the branch or loop, or in both branches.")
    error.where, error.breaks = here(3).where, True
    return error


def store_late(place: journal.MutationTarget, late: Late) -> None:
    """Something that a loop sets, if it runs at all."""
    session = session_now()
    assert session is not None
    if _is_outside(place):
        raise _unsure(f"{place.label} exists after the loop if that runs, and not before; a tensor decides whether.")
    session.journal.write(place, late)


def _is_outside(place: journal.MutationTarget) -> bool:
    session = session_now()
    owner = getattr(place, "owner", None)
    return session is not None and (owner is None or session.objects.source_of(owner) is not None)


def _same_shape(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return list(left) == list(right)
    return bool(left == right) if isinstance(left, set) else len(left) == len(right)


def store(place: journal.MutationTarget, value: Any) -> None:
    """Write a merged value as the program would."""
    session = session_now()
    assert session is not None
    if isinstance(place, journal.AttrPlace):
        session.journal.write(place, value)
        session.log(place.owner, _way(place), place.name, value)
    elif isinstance(place, journal.KeyPlace):
        set_global(place.space, place.name, value)
    elif isinstance(place, journal.CellPlace):
        set_cell(place.box, place.name, value)
    elif isinstance(place, journal.ContentPlace):
        _store_items(session, place, value)
    elif isinstance(place, journal.ArrayPlace):
        session.journal.write(place, value)
        array_mutations.log(session, place.owner)
    elif isinstance(place, journal.TensorPlace):
        session.journal.write(place, value)


def erase(change: journal.Change) -> None:
    """What a body deleted is deleted as the program would do it."""
    session, place = session_now(), change.place
    assert session is not None
    if change.before is not journal.MISSING:
        session.journal.note(place)
        if isinstance(place, journal.AttrPlace):
            plain = type(place) is not journal.ObjectAttrPlace
            session.log(place.owner, "delete" if plain else "raw", place.name)
    place.set(journal.MISSING)


def _store_items(session: Session, place: journal.ContentPlace, value: Any) -> None:
    """Only what is new is written: the container may hold more, or something else, at the next call."""
    owner = place.owner
    if id(owner) in session.journal.objects_of_spaces:
        session.journal.note(place)
    else:  # a value that is the same by chance is a write all the same
        reads.note_all(session, owner)
    if isinstance(owner, dict) and list(owner) == list(value)[: len(owner)]:
        _store_by_key(session, owner, value.items())
    elif isinstance(owner, list) and len(owner) == len(value):
        _store_by_key(session, owner, enumerate(value))
    elif isinstance(owner, (list, deque)) and _is_start(owner, value):
        _store_more(session, owner, "extend", list(value)[len(owner) :])
    elif isinstance(owner, set) and owner <= value:
        _store_more(session, owner, "update", [item for item in value if item not in owner])
    else:
        place.set(value)
        session.log(owner, "content", None, value)


def _store_by_key(session: Session, owner: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    for key, item in list(pairs):
        if (isinstance(owner, dict) and key not in owner) or not same(owner[key], item):
            session.journal.mark(owner, (key,))
            owner[key] = item
            session.log(owner, "item", key, item)


def _store_more(session: Session, owner: Any, method: str, new: list[Any]) -> None:
    if new:
        getattr(owner, method)(new)
        session.log(owner, "method", method, new)


def _is_start(owner: Any, value: Any) -> bool:
    return len(owner) <= len(value) and all(same(a, b) for a, b in zip(owner, value))


__all__ = ["erase", "flatten", "merge_changes", "store"]
