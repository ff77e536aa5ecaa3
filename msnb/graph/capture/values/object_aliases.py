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
from functools import partial
from itertools import combinations
from typing import Any

from msnb.base import CaptureError
from msnb.base.source_location import here
from msnb.core import Parameter, Tensor, slot
from msnb.graph.capture.values.lazy_values import is_lazy
from msnb.ir.builder import SymbolicTensor
from msnb.ir.graph import Graph, Value
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
        self._of_graph: dict[int, tuple[Graph, list[Alias]]] = {}
        self._merged: set[int] = set()
        self._blended: dict[int, Any] = {}

    def add(self, *alias: Any) -> None:
        """``merged`` may be ``owner``: objects from outside of a block first, then its results of one another."""
        graph = alias[0]._builder.graph
        self._merged.add(id(alias[0]))
        self._of_graph.setdefault(id(graph), (graph, []))[1].append(Alias(*alias))

    def of(self, builder: Any) -> list[Alias]:
        """The aliases of a graph, in their order."""
        return self._of_graph[id(builder.graph)][1] if id(builder.graph) in self._of_graph else []

    def is_merged(self, builder: Any, tensor: Any) -> bool:
        """Is it one of several objects, a tensor of this graph decides which?"""
        return any(alias.merged is tensor for alias in self.of(builder))

    # ---- writes ----

    def _open(self, engine: Any) -> list[Alias]:
        """Of the graphs that are open, the outermost first."""
        alive: list[Alias] = []
        builder = engine if self._of_graph else None
        while builder is not None:
            alive[:0] = self.of(builder)
            builder = builder.parent
        return alive

    def parts(self, engine: Any, tensor: Any) -> list[Any]:
        """The other objects that a merged tensor may be."""
        return _parts(tensor, self._open(engine))[1:] if id(tensor) in self._merged else []

    def same(self, engine: Any, left: Any, right: Any) -> Any:
        """``left is right`` of tensors: True, False or a tensor of one truth."""
        if left is right or not {id(left), id(right)} & self._merged:
            return left is right
        return _identities(left, self._open(engine)).get(id(right), (right, False))[1]

    def augmented(self, engine: Any, old: Any, new: Any) -> Any:
        """``old op= y`` leaves ``new`` in the name; where ``old`` is a Parameter, that takes the value."""
        if any(isinstance(part, Parameter) for part in self.parts(engine, old)):
            new = engine.wrap(engine.lift_as(new, old._type))
            known = list(_identities(old, self._open(engine)).values())
            for owner, condition in [each for each in known if isinstance(each[0], Parameter)]:
                self.add(new, owner, partial(itself, condition), True)
            self.written(engine, new)
        return new

    def written(self, engine: Any, target: Any) -> None:
        """The Tensor object ``target`` has a new value: so has whatever may be the same object."""
        for other, condition in list(_identities(target, self._open(engine)).values())[1:]:
            new, old = engine.lift_as(target, other._type), engine.lift(other)
            engine.put(other, find("where")(condition, engine.wrap(new), engine.wrap(old)))

    def links(self, builder: Any, ends: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Of the tensors that a block leaves, by key: (key, object from outside that it may be) and (key, key)."""
        groups, outside = defaultdict(list), {}
        for key, end in ends.items():
            for obj in _parts(end, self.of(builder)) if isinstance(end, Tensor) and not is_lazy(end) else ():
                if isinstance(obj, SymbolicTensor) and obj._builder.graph is builder.graph:
                    groups[id(obj)].append(key)
                else:
                    outside[key, id(obj)] = key, obj
        keys = [[*dict.fromkeys(group)][::-1] for group in groups.values()]
        pairs = dict.fromkeys(pair for group in keys for pair in combinations(group, 2))
        return [*outside.values(), *pairs]

    def told(self, builder: Any, tensor: Any, other: Any) -> Any:
        """Are they one object, as far as this block decides: True, False or a tensor of one truth."""
        slot.engine, outer = builder, slot.engine
        try:
            return _identities(tensor, self.of(builder)).get(id(other), (other, False))[1]
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


def itself(value: Any) -> Any:
    """The condition of an alias that is known already."""
    return value


def _parts(tensor: Any, aliases: list[Alias]) -> list[Any]:
    """The objects that a tensor was merged out of, with itself."""
    found = {id(tensor): tensor}
    for alias in reversed(aliases):
        if id(alias.merged) in found:
            found[id(alias.owner)] = alias.owner
    return list(found.values())


def _identities(tensor: Any, aliases: list[Alias]) -> dict[int, tuple[Any, Any]]:
    """Of each object that a tensor may be the condition, by these aliases; first itself.

    Backward, what was merged last first: what it may be. Then forward: what else may be one of these.
    """
    found: dict[int, tuple[Any, Any]] = {id(tensor): (tensor, True)}
    for alias in reversed(aliases):
        _pass(found, alias, alias.merged, alias.owner)
    for alias in aliases:
        if alias.merged is not tensor:
            _pass(found, alias, alias.owner, alias.merged)
    return found


def _pass(found: dict[int, tuple[Any, Any]], alias: Alias, known: Any, other: Any) -> None:
    if id(known) not in found or other is next(iter(found.values()))[0]:
        return
    if alias.condition is None:
        alias.want()
        return
    condition = alias.condition()
    condition = find("reshape")(condition, shape=()) if condition.shape else condition
    condition = condition if alias.truth else find("logical_not")(condition)
    so_far, before = found[id(known)][1], found.get(id(other), (other, None))[1]
    condition = condition if so_far is True else find("logical_and")(so_far, condition)
    found[id(other)] = other, condition if before is None else find("logical_or")(before, condition)


def _refusal(what: str) -> CaptureError:
    error = CaptureError(
        f"a value that may be one of two objects, a tensor decides which, {what}: a graph cannot follow which of them "
        "is meant.",
        hint="take a value of its own (x * 1, list(x), copy.copy(x)) before, or write to the objects in the branch.",
    )
    error.where = here(3).where
    return error
