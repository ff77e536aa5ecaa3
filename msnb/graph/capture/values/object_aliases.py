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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msnb.base.errors import CaptureError
from msnb.base.source_location import here
from msnb.core.tensor import Tensor
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
        if self.found:
            self._pass_on(engine, target, {id(target)})

    def _pass_on(self, engine: Any, target: Any, seen: set[int]) -> None:
        for alias in list(self.found):
            for here_, there in ((alias.owner, alias.merged), (alias.merged, alias.owner)):
                if here_ is target and id(there) not in seen and _is_alive(engine, alias.merged):
                    seen.add(id(there))
                    if alias.condition is None:
                        alias.want()
                    else:
                        self._move(engine, alias, target, there, _truth(alias.condition()))
                        self._pass_on(engine, there, seen)

    def _move(self, engine: Any, alias: Alias, target: Any, other: Any, condition: Any) -> None:
        """``other`` may be ``target``, which was written."""
        new, old = engine.lift_as(target, other._type), engine.lift(other)
        pair = (new, old) if alias.truth else (old, new)
        engine.put(other, find("where")(condition, *map(engine.wrap, pair)))

    def same(self, tensor: Any, owner: Any) -> Any:
        """Is ``tensor`` the object ``owner``: True, False, a tensor of one truth; None: a loop must know more first."""
        found: Any = tensor is owner
        for alias in self.found if not found else ():
            if alias.merged is not tensor or (deeper := self.same(alias.owner, owner)) is False:
                continue
            if alias.condition is None or deeper is None:
                return alias.want()
            this = _truth(alias.condition())
            this = this if alias.truth else find("logical_not")(this)
            this = this if deeper is True else find("logical_and")(this, deeper)
            found = this if found is False else find("logical_or")(found, this)
        return found

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


def _truth(condition: Any) -> Any:
    return find("reshape")(condition, shape=()) if condition.shape else condition


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
