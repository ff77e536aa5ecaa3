"""Two names for one object, where a tensor decided which object a name is.

    if c: a = self.p          a is the value If(c, p, v), and remembers that it is self.p where c is true
    else: a = v
    ops.assign(self.p, w)     so a becomes where(c, w, a)
    a[0] = 1                  and so does self.p: where(c, a, p)

A loop is the same question with "did it run?" as its condition. At the start of a turn nobody knows which turn it is;
a loop that writes to the one or the other, or leaves something merged, is captured once more and carries a flag,
"it is still that object", which the passes drop where nobody asks.
Lists, dicts and objects that were merged out of two are refused when they are written to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from msnb.base import CaptureError
from msnb.base.source_location import here
from msnb.core import Tensor, slot
from msnb.graph.capture.values.lazy_values import is_lazy
from msnb.ir.builder import SymbolicTensor
from msnb.ir.graph import Value
from msnb.ops.definition.record import find


@dataclass
class Alias:
    """``merged`` is the object ``owner`` where the condition has this truth; without a condition nobody knows, and a
    loop that is being captured is told that it must."""

    merged: SymbolicTensor
    owner: Tensor
    condition: Callable[[], Any] | None
    truth: bool
    want: Callable[[], None] = lambda: None


class Aliases:
    """The aliases of one capture.

    Attributes:
        shared: values that were assigned: the tensor that took one and the tensor that it comes from both have it.
    """

    def __init__(self) -> None:
        self.shared: set[Value] = set()
        self.found: list[Alias] = []
        self._blended: dict[int, Any] = {}

    def add(self, *alias: Any) -> None:
        """``merged`` may be ``owner``."""
        self.found.append(Alias(*alias))

    def is_merged(self, tensor: Any) -> bool:
        """Is it one of several objects, a tensor decides which?"""
        return any(alias.merged is tensor for alias in self.found)

    # ---- writes ----

    def written(self, engine: Any, target: Any) -> None:
        """The Tensor object ``target`` has a new value: so has whatever may be the same object."""
        known: dict[Any, Any] = {}
        for other in self._related(engine, target) if self.found else ():
            condition = self.same(target, other, known)
            if condition is not None and condition is not False:
                new, old = engine.lift_as(target, other._type), engine.lift(other)
                pair = engine.wrap(new), engine.wrap(old)
                engine.put(other, pair[0] if condition is True else find("where")(condition, *pair))

    def _related(self, engine: Any, target: Any) -> list[Any]:
        """The objects that are tied to one by any chain of aliases."""
        found, waiting = {id(target): target}, [target]
        alive = [alias for alias in self.found if _is_alive(engine, alias.merged)]
        while waiting:
            at = waiting.pop()
            ends = [(alias.owner, alias.merged) for alias in alive]
            for there in [b if a is at else a for a, b in ends if a is at or b is at]:
                if id(there) not in found:
                    found[id(there)] = there
                    waiting.append(there)
        return list(found.values())[1:]

    def reach(self, tensor: Any) -> list[Any]:
        """The objects that a tensor was merged out of, with itself."""
        found = {id(tensor): tensor}
        for alias in reversed(self.found):  # what was merged last first
            if id(alias.merged) in found:
                found[id(alias.owner)] = alias.owner
        return list(found.values())

    def same(self, tensor: Any, other: Any, known: dict[Any, Any] | None = None) -> Any:
        """Are they one object: True, False, a tensor of one truth; None: a loop must know more first.

        What was merged later is asked what it is; ``known``: the answers so far.
        """
        known, key = {} if known is None else known, frozenset((id(tensor), id(other)))
        if tensor is other or key in known:
            return tensor is other or known[key]
        later, earlier = (tensor, other) if self._rank(tensor) >= self._rank(other) else (other, tensor)
        found: Any = False
        for alias in self.found:
            if alias.merged is later:
                deeper = self.same(alias.owner, earlier, known)
            else:
                deeper = alias.merged is earlier and alias.owner is later
            if deeper is False:
                continue
            if alias.condition is None or deeper is None:
                alias.want()
                found = None
                break
            this = _both(deeper, _truth(alias))
            found = this if found is False else find("logical_or")(found, this)
        known[key] = found
        return found

    def _rank(self, tensor: Any) -> int:
        return next((i for i, alias in enumerate(self.found) if alias.merged is tensor), -1)

    def links(self, builder: Any, ends: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Of the tensors that a block leaves, by key: (key, object from outside that it may be) and (key, key)."""
        groups, outside = defaultdict(list), {}
        for key, end in ends.items():
            for obj in self.reach(end) if isinstance(end, Tensor) and not is_lazy(end) else ():
                if isinstance(obj, SymbolicTensor) and obj._builder.graph is builder.graph:
                    groups[id(obj)].append(key)
                else:
                    outside[key, id(obj)] = key, obj
        keys = [[*dict.fromkeys(group)][::-1] for group in groups.values()]
        pairs = dict.fromkeys(pair for group in keys for pair in combinations(group, 2))
        return [*outside.values(), *pairs]

    def told(self, builder: Any, tensor: Any, other: Any) -> Any:
        """``same``, in the graph of a block; what nobody knows is False: the loop around will be captured once more."""
        slot.engine, outer = builder, slot.engine
        try:
            found = self.same(tensor, other)
            return False if found is None else found
        finally:
            slot.engine = outer

    # ---- lists, dicts, objects ----

    def blend(self, made: Any, *parts: Any) -> Any:
        """``made`` was put together out of two objects, of which it is one."""
        for obj in (made, *parts):
            self._blended[id(obj)] = obj
        return made

    def check_write(self, owner: Any) -> None:
        """A list, dict or object is written to.

        Raises:
            CaptureError: it may be another object as well.
        """
        if self._blended and self._blended.get(id(owner)) is owner and owner is not None:
            raise _refusal(f"is a {type(owner).__name__} that is written to")


def _truth(alias: Alias) -> Any:
    assert alias.condition is not None
    condition = alias.condition()
    condition = find("reshape")(condition, shape=()) if condition.shape else condition
    return condition if alias.truth else find("logical_not")(condition)


def _both(left: Any, right: Any) -> Any:
    return right if left is True else find("logical_and")(left, right)


def _is_alive(engine: Any, merged: SymbolicTensor) -> bool:
    """Does the tensor belong to a graph that is still open?"""
    builder = engine
    while builder is not None:
        if builder.graph is merged._builder.graph:
            return True
        builder = builder.parent
    return False


def _refusal(what: str) -> CaptureError:
    error = CaptureError(
        f"a value that may be one of two objects, a tensor decides which, {what}: a graph cannot follow which of them "
        "is meant.",
        hint="take a value of its own (x * 1, list(x), copy.copy(x)) before, or write to the objects in the branch.",
    )
    error.where = here(3).where
    return error
