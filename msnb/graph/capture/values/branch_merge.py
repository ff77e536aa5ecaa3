"""Merging: one value out of the two that the branches of a tensor-dependent ``if`` leave in a variable.

    then: y = x * 2     f32[3]                     two tensors of one type      a result of the If node
    else: y = x         f32[3]                     the same Python value        stays as it is
                                                   a number and a 0-d tensor    the number takes the tensor's dtype
                                                   two different numbers        a (weak) 0-d tensor
                                                   containers of one shape      item by item
                                                   a missing value              missing: using it is an error
                                                   anything else                a sentence

``flatten`` takes containers apart into leaves, for branches and loops alike.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base.errors import BranchTypeError, MsnbError, UndefinedNameError
from msnb.base.source_location import here
from msnb.core import WEAK, Tensor, TensorType, slot, type_of_buffer
from msnb.graph.capture.frontend.jump_lowering import RETURN
from msnb.graph.capture.values.function_choice import is_text, join_functions, join_texts, tensors_of
from msnb.graph.capture.values.lazy_values import (
    TrackedArray,
    concrete,
    is_lazy,
    is_number,
    plain,
    same_values,
)
from msnb.graph.capture.values.merge_errors import IN_MINDSPORE, error_kind, may_break, place
from msnb.graph.capture.values.python_numbers import number_type
from msnb.ir.builder import SymbolicTensor
from msnb.ops.definition.record import Op

Rebuild = Callable[[list[Any]], Any]


class UndefinedVariable:
    """What a variable holds where it may have no value. ``reason`` tells why, None for plain Python."""

    def __init__(self, name: str, reason: str | None = None) -> None:
        self.name: str = name
        self.reason: str | None = reason

    @property
    def unbound(self) -> Exception:
        """What Python raises."""
        owner, dot, attribute = self.name.partition(".")
        if dot:
            return AttributeError(f"{owner!r} object has no attribute {attribute!r}")
        if sys.version_info < (3, 11):
            return UnboundLocalError(f"local variable '{owner}' referenced before assignment")
        return UnboundLocalError(f"cannot access local variable '{owner}' where it is not associated with a value")

    def error(self) -> Exception:
        """What reading it raises."""
        if self.reason is None:
            return self.unbound
        error = UndefinedNameError(
            f"{self.name!r} may have no value here: {self.reason}.",
            hint=f"give {self.name} a value before the branch or loop, or in every branch.",
        )
        error.where = here(3).where
        return error


class Late(UndefinedVariable):
    """A variable that a branch or loop gives a value, if it runs at all: reading it checks that when the program runs.

    ``ran`` makes the tensor that tells whether it ran.
    """

    def __init__(self, name: str, reason: str, value: Any, ran: Callable[[], Any]) -> None:
        super().__init__(name, reason)
        self.value: Any = value
        self.ran: Callable[..., Any] = ran
        self.checked: list[Any] = []


class MixedVariable(UndefinedVariable):
    """A variable whose values differ in type, a tensor decides which it has: reading it raises that."""

    def __init__(self, name: str, error: MsnbError) -> None:
        super().__init__(name, "its values are not of one type, and a tensor decides which it has")
        self._error = error

    def error(self) -> Exception:
        """What reading it raises."""
        self._error.where = here(3).where
        return self._error


def is_tensor(x: Any) -> bool:
    """Something that is a tensor to an operation."""
    return not is_lazy(x) and isinstance(x, (Tensor, TrackedArray))


# ---- containers ----


def flatten(value: Any) -> tuple[list[Any], Rebuild, Any]:
    """The leaves of nested containers, how to build the containers again, and a key of their structure."""
    parts, make, key = parts_of(value)
    if make is None:
        return [value], lambda leaves: leaves[0], "*"
    flat = [flatten(p) for p in parts]
    counts = [len(f[0]) for f in flat]

    def rebuild(leaves: list[Any]) -> Any:
        out, i = [], 0
        for (_, build, _), n in zip(flat, counts):
            out.append(build(leaves[i : i + n]))
            i += n
        return make(out)

    return [leaf for f in flat for leaf in f[0]], rebuild, (key, tuple(f[2] for f in flat))


class SharedContainer:
    """A container that both branches hold: it stays the object that it is, and what it holds is merged by itself."""

    def __init__(self, value: Any) -> None:
        self.value: Any = value

    def made(self, results: list[Any]) -> Any:
        """Itself, whatever the If node gives."""
        return self.value


def _containers(value: Any, found: dict[int, SharedContainer]) -> dict[int, SharedContainer]:
    for part in parts_of(value)[0]:
        if parts_of(part)[1] is not None and id(part) not in found:
            found[id(part)] = SharedContainer(part)
            _containers(part, found)
    return found


def _with_shared(value: Any, shared: dict[int, SharedContainer]) -> Any:
    parts, make, _ = parts_of(value)
    return make([shared.get(id(p)) or _with_shared(p, shared) for p in parts]) if make is not None and shared else value


def parts_of(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any] | None, Any]:
    """The parts of a container, how to make another one of others, and a key of its structure."""
    kind = type(value)
    if kind is list:
        return list(value), list, (kind, len(value))
    if kind is deque:
        return list(value), functools.partial(deque, maxlen=value.maxlen), (kind, len(value), value.maxlen)
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return list(value), lambda parts: kind(*parts), (kind, len(value))
        return list(value), tuple, (kind, len(value))
    if kind is dict:
        names = list(value)
        return list(value.values()), lambda parts: dict(zip(names, parts)), (kind, tuple(map(repr, names)))
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Op)):
        names = [f.name for f in dataclasses.fields(value)]
        return [getattr(value, n, None) for n in names], _dataclass_maker(kind, names), (kind, tuple(names))
    return [], None, None


def _dataclass_maker(kind: type, names: list[str]) -> Callable[[list[Any]], Any]:
    def make(parts: list[Any]) -> Any:
        new: Any = object.__new__(kind)
        for name, part in zip(names, parts):
            object.__setattr__(new, name, part)
        return new

    return make


# kinds of leaves that Python's own types do not tell apart, and when two of a kind are one value
_SAME_BY_KIND: tuple[tuple[Callable[[Any], bool], Callable[[Any, Any], bool]], ...] = (
    (is_lazy, lambda a, b: bool(a._source.ident == b._source.ident)),
    (is_tensor, lambda a, b: getattr(a, "_value", 0) is getattr(b, "_value", 1)),
    (lambda x: isinstance(x, UndefinedVariable), lambda a, b: True),
    (is_text, lambda a, b: not (tensors_of(a) or tensors_of(b)) and bool(concrete(a) == concrete(b))),
)


def same(a: Any, b: Any) -> bool:
    """Are two leaves one Python value?"""
    if a is b:
        return True
    for is_kind, equal in _SAME_BY_KIND:
        if is_kind(a) or is_kind(b):
            return is_kind(a) and is_kind(b) and equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, (bool, int, str, bytes, range, slice, float, complex)) or a is None:
        return bool(a == b) and repr(a) == repr(b)
    return same_values(a, b) if isinstance(a, np.ndarray) else _same_method(a, b)


def _same_method(a: Any, b: Any) -> bool:
    function = getattr(a, "__func__", None)
    return function is not None and function is getattr(b, "__func__", 0) and a.__self__ is b.__self__


def _is_value(x: Any) -> bool:
    """Whether a graph can compute it."""
    return is_tensor(x) or is_number(x)


def describe(x: Any) -> str:
    """A leaf for a sentence."""
    if isinstance(x, UndefinedVariable):
        return "no value"
    if is_lazy(x):
        return f"the Python {type(plain(x)).__name__} {plain(x)!r}"
    if isinstance(x, Tensor):
        return f"a tensor {x._type!r}"
    if is_number(x) or x is None or isinstance(x, str):
        return f"the Python {type(x).__name__} {x!r}" if x is not None else "None"
    return f"a {type(x).__name__}"


# ---- branches ----


class Merge:
    """Collects what two branches leave and adds the results to both graphs.

    Args:
        then, other: the builders of the branches.
        dead: which of the branches ends by raising (its values do not matter).

    Attributes:
        choose: ``choose(a, b)``: the function, or the text, of two, whose branch runs.
        gone: which of the branches has returned: nothing that follows it in the function runs.
        objects: of a result of the If node the values that it is merged out of; None for one that was ``filled`` in.
    """

    def __init__(
        self, then: Any, other: Any, dead: tuple[bool, bool] = (False, False), changes: Any = ({}, {}),
        born: Any = ((), ()),
    ) -> None:  # fmt: skip
        self.builders: tuple[Any, Any] = (then, other)
        self.dead = dead
        self.changes = changes
        self.born = born
        self.objects: dict[int, tuple[Any, ...]] = {}
        self.filled: dict[int, Any] = {}
        self.choose: Callable[[Any, Any], Any] | None = None
        self.gone = (False, False)

    def plan(self, label: str, a: Any, b: Any, lines: tuple[int, ...] = ()) -> Rebuild:
        """How to get the variable's value from the If node's results."""
        if a is b:
            return lambda results: a
        if self.dead[0] != self.dead[1] and self._outlives(self.dead[0], b if self.dead[0] else a):
            return lambda results: b if self.dead[0] else a
        a, b = self._holes(label, *self._without_dead(a, b))
        if isinstance(a, UndefinedVariable) or isinstance(b, UndefinedVariable):
            return self._late(label, a, b, lines)
        if not is_tensor(a) and same(a, b):
            return lambda results: a
        read = self.builders[0].given  # what lies in a container from outside is read, and guarded
        other = _containers(b, {})
        shared = {at: part for at, part in _containers(a, {}).items() if at in other}
        ends = [at_end(self.changes[i], x, shared) for i, x in enumerate((a, b))]
        leaves_a, rebuild, key_a = flatten(read(_with_shared(ends[0], shared)))
        leaves_b, _, key_b = flatten(read(_with_shared(ends[1], shared)))
        if key_a != key_b:
            raise self._differ(label, a, b, lines)
        try:
            makers = [
                p.made if isinstance(p, SharedContainer) else self._leaf(label, p, q, lines)
                for p, q in zip(leaves_a, leaves_b)
            ]
        except BranchTypeError as error:
            error.breaks = isinstance(a, list)
            raise

        def whole(results: list[Any]) -> Any:
            return rebuild([make(results) for make in makers])

        if key_a == "*" or isinstance(a, tuple):
            return whole
        parts = [x for i, x in enumerate((a, b)) if id(x) not in self.born[i]]
        blend = self.builders[0].session.aliases.blend
        return (lambda results: blend(whole(results), *parts)) if parts else whole

    def plan_if_read(self, label: str, a: Any, b: Any, lines: tuple[int, ...] = ()) -> Rebuild:
        """``plan``; a variable may be dead, so what stands against it is raised where it is read."""
        if not label.isidentifier() or label == RETURN:
            return self.plan(label, a, b, lines)
        try:
            return self.plan(label, a, b, lines)
        except MsnbError as error:
            found = MixedVariable(label, error)
            return lambda results: found

    def _without_dead(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Both values, what stands in for the one of a branch that never gets to its end."""
        if self.dead[0]:
            return self._instead(b), b
        return (a, self._instead(a)) if self.dead[1] else (a, b)

    def _outlives(self, side: int, value: Any) -> bool:
        """Was it there before its branch? Then it is what it was: the other branch never gets here."""
        graph = self.builders[side].graph
        return all(
            not is_tensor(x) or not isinstance(x, SymbolicTensor) or x._builder.graph is not graph
            for x in flatten(value)[0]
        )

    def _end(self, side: int, leaf: Any) -> Any:
        """The value that a Tensor object had at the end of its branch, where it was written."""
        return end_of(self.builders[0].session, self.changes[side], leaf)

    def _instead(self, live: Any) -> Any:
        """A branch that raises may leave anything: take the other's Python values, zeros for its tensors."""
        if isinstance(live, UndefinedVariable):
            return live
        leaves, rebuild, _ = flatten(live)
        made = [zeros_of(leaf) for leaf in leaves]
        self.filled.update((id(x), x) for x in made)
        return rebuild(made)

    def _holes(self, label: str, a: Any, b: Any) -> tuple[Any, Any]:
        """What a side that has returned did not set is never read there, nor is the slot of a return value that was
        not set on one side: fill it."""
        side = isinstance(b, UndefinedVariable)
        if side != isinstance(a, UndefinedVariable) and (label == RETURN or self.gone[side]):
            return (a, self._instead(a)) if side else (self._instead(b), b)
        return a, b

    def _late(self, label: str, a: Any, b: Any, lines: tuple[int, ...]) -> Rebuild:
        """One branch gives no value, or may not: what stands in for it is not read, for a flag is checked."""
        sides = [self._given(i, side) for i, side in enumerate((a, b))]
        live = [value for value, _ in sides if not isinstance(value, UndefinedVariable)]
        if not live or not all(_is_value(x) or isinstance(x, (str, type(None))) for x in live):
            return self._missing(label, a, b, lines)
        both = [self._instead(live[0]) if isinstance(value, UndefinedVariable) else value for value, _ in sides]
        value = self.plan(label, both[0], both[1], lines)
        flag = self.plan(f"whether there is {label}", sides[0][1], sides[1][1])
        reason = self._reason(a, [x for x in (a, b) if isinstance(x, UndefinedVariable)], lines)

        def made(results: list[Any]) -> Late:
            told = flag(results)
            return Late(label, reason, value(results), lambda: told)

        return made

    def _given(self, side: int, x: Any) -> tuple[Any, Any]:
        """A value, and whether it is there."""
        if type(x) is not Late:
            return x, not isinstance(x, UndefinedVariable)
        outer, slot.engine = slot.engine, self.builders[side]
        try:
            return x.value, x.ran()
        finally:
            slot.engine = outer

    def _missing(self, label: str, a: Any, b: Any, lines: tuple[int, ...]) -> Rebuild:
        sides = [side for side in (a, b) if isinstance(side, UndefinedVariable)]
        if len(sides) == 2 and a.reason is b.reason is None:
            return lambda results: a
        found = UndefinedVariable(label, self._reason(a, sides, lines))
        return lambda results: found

    def _reason(self, a: Any, sides: list[UndefinedVariable], lines: tuple[int, ...]) -> str:
        """Why a variable may have no value."""
        branch = "else" if a is sides[0] else "if"
        own = f"only the {branch} branch gives it one (line {max(lines, default=0)}), and a tensor decides which runs"
        return next((side.reason for side in sides if side.reason is not None), own)

    def _leaf(self, label: str, a: Any, b: Any, lines: tuple[int, ...]) -> Rebuild:
        if a is b or not is_tensor(a) and same(a, b):
            return lambda results: a
        if isinstance(a, UndefinedVariable) or isinstance(b, UndefinedVariable):
            return self._missing(label, a, b, lines)
        chosen = join_functions(self, (a, b), flatten) or join_texts(self, (a, b))
        if chosen is not None:
            return chosen
        if not (_is_value(a) and _is_value(b)):
            raise self._differ(label, a, b, lines)
        pythonic = self.builders[0].session.pythonic
        objects, (a, b) = (a, b), (self._end(0, a), self._end(1, b))
        outer = [(i, x) for i, x in enumerate(objects) if not self.is_own(i, x)]
        if same(a, b) and not any(isinstance(x, Tensor) for _, x in outer):
            return lambda results: a
        number = pythonic.is_number(a) and pythonic.is_number(b)
        values = self._lifted(label, a, b, lines, number)
        at = len(self.builders[0].graph.outputs)
        self.objects[at] = tuple(None if id(x) in self.filled else x for x in objects)
        for builder, value in zip(self.builders, values):
            builder.graph.outputs.append(value)
        return lambda results: pythonic.mark(results[at]) if number else results[at]

    def carry(self, side: int, value: Any) -> int:
        """A tensor of one branch as a result; the other branch gives zero. Returns its place among the results."""
        at, type_ = len(self.builders[0].graph.outputs), value._type
        for i, builder in enumerate(self.builders):
            builder.graph.outputs.append(builder.lift(value) if i == side else builder.lift_as(0, type_))
        return at

    def is_own(self, side: int, x: Any) -> bool:
        """Is it a tensor of that branch's graph?"""
        return isinstance(x, SymbolicTensor) and x._builder.graph is self.builders[side].graph

    def _lifted(self, label: str, a: Any, b: Any, lines: tuple[int, ...], number: bool) -> tuple[Any, Any]:
        pythonic = self.builders[0].session.pythonic
        want = number_type(a, b) if number else common(a, b, pythonic)
        if want is None:
            raise self._differ(label, a, b, lines)
        return self.builders[0].lift_as(a, want), self.builders[1].lift_as(b, want)

    def _differ(self, label: str, a: Any, b: Any, lines: tuple[int, ...]) -> MsnbError:
        name, kind = (
            "the return value" if label == RETURN else label,
            error_kind(a, b, self.builders[0].session.pythonic),
        )
        first, second = describe(a), describe(b)
        error = kind(
            f"{name} is {first} after the if branch and {second} after the else branch; a tensor decides which runs, "
            "so both must agree.",
            hint="give both branches the same shape and dtype (reshape, astype), or decide with a Python value.",
        )
        error.where, error.breaks = here(2).where, may_break(kind)
        places = [place(error.where, n) for n in (*lines, 0, 0)[:2]]
        error.operands = (f"if{places[0]}: {first}", f"else{places[1]}: {second}")
        error.operands += () if error.breaks else (IN_MINDSPORE,)
        return error


def is_object(x: Any) -> bool:
    """A Tensor object, which a program may give another value."""
    return isinstance(x, Tensor) and not is_lazy(x)


def end_of(session: Any, changes: Any, leaf: Any) -> Any:
    """The value that a Tensor object had when these changes were taken back; other leaves as they are."""
    if not changes or not is_object(leaf):
        return leaf
    state = None if isinstance(leaf, SymbolicTensor) else session.states.of(leaf)
    change = changes.get(("tensor", id(leaf if state is None else state.current)))
    return leaf if change is None else change.after


def at_end(changes: Any, value: Any, shared: Any = ()) -> Any:
    """A container, and those in it, with what they held when these changes were taken back; ``shared`` ones stay."""
    change = None if id(value) in shared else changes.get(("content", id(value)))
    parts, make, _ = parts_of(value if change is None else change.after)
    if make is None or id(value) in shared:
        return value
    ends = [at_end(changes, part, shared) for part in parts]
    return value if change is None and all(a is b for a, b in zip(ends, parts)) else make(ends)


def zeros_of(leaf: Any) -> Any:
    """Zeros like a tensor; other values stay."""
    if not is_tensor(leaf):
        return leaf
    t = leaf._type if isinstance(leaf, Tensor) else None
    return Tensor(np.zeros(leaf.shape, leaf.dtype)) if t is None else Tensor(np.zeros(t.ints(), t.dtype.numpy))


def type_of(x: Any) -> TensorType:
    """The type of a leaf as an operand."""
    if isinstance(x, TrackedArray):
        return type_of_buffer(x.view(np.ndarray))
    return WEAK[type(plain(x))] if is_number(x) else x._type


def common(a: Any, b: Any, pythonic: Any) -> TensorType | None:
    """The type in which two leaves can be one value of a graph, or None."""
    ta, tb = type_of(a), type_of(b)
    if ta is tb:
        return ta
    for number, other in ((a, tb), (b, ta)):
        if pythonic.is_number(number):
            return other if other.shape == () and type_of(number).dtype.category <= other.dtype.category else None
    return None
