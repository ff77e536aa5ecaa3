"""What a loop carries: variables and written locations, from one turn of the body to the next.

    i = 0; s = 0; rows = [x]            turn 1: i, s fixed Python numbers          -> i becomes 1, s a tensor f32[]
    while i < n:                        turn 2: i: i64[], s: f32[] carried         -> same types: stable
        s = s + x.sum(); i = i + 1              rows: unchanged, stays outside

The body is captured until the types it leaves are the types it started with. A value that the body does not change
is no carry. A Python number that changes becomes a 0-d tensor: int64 for an int, the tensor's dtype if the body
leaves a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msnb.base import CaptureError, DTypeError, MsnbError, ShapeError
from msnb.base.source_location import here
from msnb.core import WEAK, TensorType, bool_, result_dtype, slot, tensor_type
from msnb.graph.capture.frontend.jump_lowering import RETURN
from msnb.graph.capture.interpreter import array_mutations, writes
from msnb.graph.capture.values.branch_merge import (
    Late,
    UndefinedVariable,
    describe,
    end_of,
    flatten,
    is_object,
    is_tensor,
    same,
    type_of,
    zeros_of,
)  # fmt: skip
from msnb.graph.capture.values.lazy_values import is_number, plain, same_values
from msnb.graph.capture.values.merge_errors import IN_MINDSPORE, error_kind, may_break, place
from msnb.graph.capture.values.mutation_journal import MISSING, ArrayPlace, Change, MutationTarget, TensorPlace
from msnb.graph.capture.values.object_aliases import itself
from msnb.graph.capture.values.python_numbers import PythonNumbers, number_type
from msnb.ir.builder import SymbolicTensor


class IdentityFlags:
    """Which of the tensors that a loop carries are one object, with each other or with one from outside: flags that are
    carried beside them.

    Attributes:
        wanted: the leaves, as (variable, number), of which it must be known what objects from outside they are: the one
            or the other is written in the loop, or the body leaves one of several objects.
        pairs: leaves that the body may leave as one object.
        held: of a leaf and such an object or leaf the flag, at the start of the body.
        left: the flags that the body leaves.
    """

    TYPE = tensor_type((), bool_)

    def __init__(self) -> None:
        self.wanted: set[Any] = set()
        self.pairs: list[tuple[Any, Any]] = []
        self.left: list[Any] = []
        self._known: Any = None  # at the start of the turn: of the condition, where that is captured before the body

    def _count(self, carried: list[LoopVariable]) -> tuple[int, int, int]:
        return len(self.wanted), len(self.pairs), sum(len(c.owners(i)) for c, i in _slots(carried))

    def start(self, builder: Any, carried: list[LoopVariable], aliases: Any = None) -> None:
        """The start of the body, or of the condition."""
        self.held: list[tuple[Any, Any, Any]] = []
        self._known = self._known or self._count(carried)
        outside = [((c, i), owner) for c, i in _slots(carried) for owner in c.owners(i)]
        order = {at: n for n, at in enumerate(_slots(carried))}
        self.pairs.sort(key=lambda pair: (order[pair[0]], order[pair[1]]))
        for at, other in (*outside, *self.pairs):
            flag = builder.param(self.TYPE, "is same") if at in self.wanted or type(other) is tuple else None
            self.held += [] if flag is None else [(at, other, flag)]
            if aliases is not None:
                known = None if flag is None else partial(itself, flag)
                aliases.add(_at("tensors", at), _at("tensors", other), known, True, partial(self.wanted.add, at))

    def entry(self, builder: Any) -> list[Any]:
        """The flags before the loop."""
        pairs = [(_at("leaves", at), _at("leaves", other)) for at, other, _ in self.held]
        return [builder.wrap(builder.lift_as(a is b and is_object(a), self.TYPE)) for a, b in pairs]

    def settle(self, builder: Any, carried: list[LoopVariable]) -> bool:
        """The end of the body. True when all is known that must be."""
        aliases = builder.session.aliases
        ends = {(c, i): c.ends[i] for c, i in _slots(carried) if i < len(c.ends)}
        self.wanted |= {at for at, end in ends.items() if aliases.is_merged(builder, end)}
        for (c, i), other in aliases.links(builder, ends):
            if type(other) is not tuple:
                c.outside[i][id(other)] = other
            elif ((c, i), other) not in self.pairs:
                self.pairs.append(((c, i), other))
        now, known, self._known = self._count(carried), self._known, None
        if now != known:
            return False
        self.left = [aliases.told(builder, _at("ends", at), _at("ends", other)) for at, other, _ in self.held]
        return len(self.wanted) == now[0]

    def finish(self, aliases: Any, carried: list[LoopVariable], results: list[Any], ran: Callable[[], Any]) -> None:
        """After the loop: which objects its results are."""
        for c, i in (at for at in _slots(carried) if at not in self.wanted):
            for owner in c.owners(i):
                for held, truth in ((c.leaves[i], False), (c.ends[i], True)):
                    aliases.add(c.tensors[i], owner, ran, truth) if held is owner else None
        for at, other, _ in self.held:
            aliases.add(_at("tensors", at), _at("tensors", other), partial(itself, results.pop(0)), True)


def _slots(carried: list[LoopVariable]) -> list[Any]:
    held = [c for c in carried if not isinstance(c.place, (TensorPlace, ArrayPlace))]  # those are values, no objects
    return [(c, i) for c in held for i, type_ in enumerate(c.types) if type_ is not None]


def _at(what: str, at: Any) -> Any:
    return getattr(at[0], what)[at[1]] if type(at) is tuple else at


MAYBE_BEFORE = "maybe before"


class LoopVariable:
    """One variable (or location) of a loop.

    Attributes:
        before: its value before the loop.
        late: whether it gets its first value in the loop; ``MAYBE_BEFORE``, at first None: a tensor decides that.
        types: per leaf, the type it is carried with; None while it is a Python value that does not change.
        tensors: what stands for the leaves at the start of the body, and after the loop; ``ends`` at its end.
        outside: of each leaf the objects from outside of the loop that it may be, by identity.
    """

    leaves: list[Any]
    key: Any

    def __init__(
        self, label: str, before: Any, line: int, pythonic: PythonNumbers, place: MutationTarget | None = None
    ) -> None:
        self.pythonic = pythonic
        self.label: str = label
        self.line: int = line
        self.place: MutationTarget | None = place
        self.late: bool | str | None = None if type(before) is Late else False
        self.after: list[Any] = []
        self._set(before)

    def _set(self, before: Any) -> None:
        self.before = before
        self.leaves, self.rebuild, self.key = flatten(before)
        # a Parameter that the loop does not rebind stays itself
        self.types: list[TensorType | None] = [
            type_of(x) if is_tensor(x) and (not is_object(x) or isinstance(x, SymbolicTensor)) else None
            for x in self.leaves
        ]
        self.ends: list[Any] = []
        self.outside: list[dict[int, Any]] = [{id(x): x} if is_object(x) else {} for x in self.leaves]
        self.numbers: list[bool] = [self.pythonic.has(x) for x in self.leaves]

    @property
    def missing(self) -> bool:
        """Has it no value before the loop?"""
        return isinstance(self.before, UndefinedVariable)

    def owners(self, i: int) -> list[Any]:
        """The objects from outside that a leaf may be at the start of the body."""
        return list(self.outside[i].values())

    def start(self, builder: Any) -> Any:
        """Its value at the start of the body: a param per carried leaf."""
        leaves: list[Any] = []
        self.tensors = leaves
        for i, (leaf, type_) in enumerate(zip(self.leaves, self.types)):
            name = self.label if len(self.leaves) == 1 else f"{self.label}.{i}"
            leaves.append(leaf if type_ is None else self._mark(i, builder.param(type_, name)))
        if (self.place is not None or self.late in (None, MAYBE_BEFORE)) and (self.late or self.missing):
            return UndefinedVariable(self.label, "the loop sets it, and a tensor decides how often that runs")
        return UndefinedVariable(self.label) if self.late else self.rebuild(leaves)

    def _mark(self, i: int, tensor: Any) -> Any:
        return self.pythonic.mark(tensor) if self.numbers[i] else tensor

    def entry(self, builder: Any) -> list[Any]:
        """The values of its carried leaves before the loop, in the graph around it."""
        pairs = [(leaf, t) for leaf, t in zip(self.leaves, self.types) if t is not None]
        return [builder.wrap(builder.lift_as(x, t)) for x, t in pairs]

    def settle(self, after: Any, builder: Any, changes: Any = None) -> bool:
        """Compare with what the body left. True when nothing changed its type; else the types are widened.

        Args:
            changes: what the body wrote: a Tensor object is left with the value that it had then.
        """
        if self.missing:
            return self._settle_missing(after)
        if isinstance(after, UndefinedVariable):
            raise self._error(CaptureError, after)
        self.ends, _, key = flatten(after)
        if key != self.key:
            raise self._grows(after) if type(after) is type(self.before) else self._error(CaptureError, after)
        stays = [x is before and t is None for x, before, t in zip(self.ends, self.leaves, self.types)]
        self.after = [x if stay else end_of(builder.session, changes, x) for x, stay in zip(self.ends, stays)]
        return sum(not self._leaf(i, x) for i, x in enumerate(self.after)) == 0

    def _settle_missing(self, after: Any) -> bool:
        """No value before the loop: carried as zeros that nobody reads. What a program may read of it after the loop is
        checked there (``Late``); a return value has a flag of its own."""
        self.after = []
        if isinstance(after, UndefinedVariable):
            return True
        leaves, rebuild, _ = flatten(after)
        self.late = MAYBE_BEFORE if self.late is None else self.label != RETURN
        self._set(rebuild([zeros_of(x) for x in leaves]))
        self.numbers = [self.pythonic.is_number(x) for x in leaves]
        self.types = [number_type(x) if n else t for x, n, t in zip(leaves, self.numbers, self.types)]
        return False

    def _leaf(self, i: int, after: Any) -> bool:
        """Compare one leaf with what the body left. True when its type stays."""
        before = self.leaves[i]
        if self.types[i] is None and same(before, after):
            return True
        if self.types[i] is None and is_object(before) and not self.numbers[i]:
            self.types[i] = type_of(before)  # a Parameter that the loop rebinds is a value like any other
            return False
        if not all(is_number(x) or is_tensor(x) for x in (before, after)):
            raise self._error(CaptureError, after, before)
        number = self.numbers[i] or self.pythonic.is_number(before)
        if number and self.pythonic.is_number(after):
            return self._widen(i, number_type(before, after), True)
        found = type_of(after)
        if self._holds(i, found, after):
            return True
        if not number or found.shape != ():
            raise self._differs(type_of(before), found, after, before)
        return self._widen(i, tensor_type((), result_dtype((_weak(before), found))), False)

    def _holds(self, i: int, found: TensorType, after: Any) -> bool:
        """Whether a carried tensor can hold what the body left: its own type, or a number that a 0-d one takes in."""
        type_ = self.types[i]
        if type_ is None or self.numbers[i]:
            return False
        weak = found.weak or self.pythonic.is_number(after)
        return found is type_ or (weak and found.dtype.category <= type_.dtype.category and type_.shape == ())

    def _widen(self, i: int, want: TensorType, number: bool) -> bool:
        """Carry the leaf with this type from now on. True when it is so already."""
        stable = self.types[i] is want and self.numbers[i] == number
        if not stable and self.types[i] is not None and self.numbers[i] == number and not number:
            raise self._differs(self.types[i], want, self.after[i], self.leaves[i])  # type: ignore[arg-type]
        self.types[i], self.numbers[i] = want, number
        return stable

    def outputs(self, builder: Any) -> list[Any]:
        """What the body gives back for its carried leaves."""
        pairs = [(x, t) for x, t in zip(getattr(self, "after", []), self.types) if t is not None]
        return [builder.lift_as(x, t) for x, t in pairs]

    def finish(self, results: list[Any]) -> Any:
        """Its value after the loop. Takes its share from the front of ``results``."""
        if self.missing:
            return self.before
        leaves = [
            leaf if t is None else self._mark(i, results.pop(0))
            for i, (leaf, t) in enumerate(zip(self.leaves, self.types))
        ]
        self.tensors = leaves
        return self.rebuild(leaves)

    def _differs(self, before: TensorType, after: TensorType, value: Any, first: Any) -> Exception:
        return self._error(ShapeError if before.shape != after.shape else DTypeError, value, first)

    def _grows(self, after: Any) -> Exception:
        before = self.before
        sizes = [f"{len(v)} items" if hasattr(v, "__len__") else "other fields" for v in (before, after)]
        error = CaptureError(
            f"{self.label} has {sizes[0]} before the loop and {sizes[1]} after a turn of it; a tensor "
            f"decides how often the "
            "loop runs, so it must keep its size.",
            hint="write into a tensor of fixed size (x[i] = value), or loop over a Python range.",
        )
        error.where, error.breaks = here(2).where, True
        return error

    def _error(self, kind: type[MsnbError], after: Any, before: Any = None) -> Exception:
        before = self.before if before is None else before
        kind, first = error_kind(before, after, self.pythonic) if kind is CaptureError else kind, describe(before)
        name = "the return value" if self.label == RETURN else self.label
        error = kind(
            f"{name} is {first} before the loop and {describe(after)} after a turn of it; a tensor decides how often "
            "the loop runs, so it must stay the same.",
            hint=f"start {name} with the shape and dtype that the loop gives it, or loop over a Python range.",
        )
        error.where, error.breaks = here(2).where, may_break(kind)
        error.operands = (f"before: {first}", f"after{place(error.where, self.line)}: {describe(after)}")
        error.operands += () if error.breaks else (IN_MINDSPORE,)
        return error


def from_change(change: Change, pythonic: PythonNumbers) -> LoopVariable:
    """A location that the body wrote, as something carried."""
    if isinstance(change.place, ArrayPlace) and not same_values(change.before, change.after):
        raise array_mutations.refuse("loop")
    if change.before is MISSING:
        return LoopVariable(change.place.label, UndefinedVariable(change.place.label), 0, pythonic, change.place)
    before = slot.engine.given(writes.before_of(change))
    return LoopVariable(change.place.label, before, 0, pythonic, change.place)


def _weak(x: Any) -> TensorType:
    """The weak type of a Python number, known or computed by the graph."""
    return WEAK[type(plain(x))] if is_number(x) else tensor_type((), x._type.dtype, True)
