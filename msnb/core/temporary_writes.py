"""Writes into a value that only their statement has: back to where it came from, or refused.

    x[0, 1] = 5          x has a name: whoever reads x sees the 5
    params[0][1] = 5     the list keeps params[0]
    x[0][1] = 5          x[0] is a value of its own, never a view of x; but it says of which x, and where, so it goes
                         back there: x[0] = x[0] with the 5
    x.view(-1)[3] = 5    the same: x takes the changed vector in its own shape
    x[mask][1] = 5       nothing says where this would go back to: refused

CPython counts the references to an object. The count of a value that only the running statement has is measured once,
when msnb is imported, next to the count of one that has a name as well. An interpreter on which the two are equal, or
that does not count, cannot tell them apart: there nothing is refused.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from weakref import ref

import numpy as np

from msnb.base.errors import LostWriteError
from msnb.core.tensor import Tensor

NEVER = -1
count: Callable[[Any], int] = getattr(sys, "getrefcount", lambda kept: 0)
_STORES = {opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap}


class _Counting:
    """Counts the references to itself where a tensor would: in ``__setitem__``."""

    def __setitem__(self, counts: list[int], at: int) -> None:
        counts[at] = count(self)


def _counted(owner: Any, key: Any, value: Any) -> int:
    """The references to an argument, counted in the function that it was handed to."""
    return count(owner)


def _in_statement() -> int:
    counts, kept = [0, 0], _Counting()
    _Counting()[counts] = 0
    kept[counts] = 1
    return counts[0] if counts[0] < counts[1] else NEVER


def _in_call() -> int:
    kept = _Counting()
    alone, named = _counted(_Counting(), 0, 0), _counted(kept, 0, 0)
    return alone if alone < named else NEVER


IN_STATEMENT = _in_statement()
"""What ``count(self)`` gives inside ``__setitem__`` for a value that only the statement has."""
IN_CALL = _in_call()
"""What ``count(argument)`` gives inside a function for a value that only the call has."""


def is_store(frame: FrameType) -> bool:
    """Whether the frame is at a statement ``a[b] = c``: a method called by its name counts references otherwise."""
    return frame.f_code.co_code[frame.f_lasti] in _STORES


_own: Any = Tensor.__dict__["_kept"].__get__
DEEP = 8
"""So many brackets and views behind one another are followed."""


def part_of(x: Any) -> list[Any] | None:
    """[reference, place, the same of the source, depth] of a value that other libraries make a view; None: x is none.

    The place is a basic key, or [op, attributes, which of its results].
    """
    try:
        found = _own(x)
    except AttributeError:  # the slot is empty
        return None
    return found if type(found) is list else None


def mark(part: Any, source: Tensor, place: Any) -> None:
    """Note of which tensor ``part`` is, and where."""
    try:
        outer = _own(source)
    except AttributeError:
        outer = None
    if outer.__class__ is not list:
        part._kept = [ref(source), place, None, 0]
    else:
        part._kept = [ref(source), place, outer if outer[3] < DEEP else None, outer[3] + 1]


def mark_through(part: Any, source: Tensor, places: list[Any]) -> None:
    """``mark`` where nobody keeps what lies between: ``places`` from the source on."""
    mark(part, source, places[0])
    for place in places[1:]:
        part._kept = [_nobody, place, part._kept, part._kept[3] + 1]


def _nobody() -> None:
    """A tensor that is gone."""


def own(x: Tensor) -> Tensor:
    """x as a value that every library makes anew, however it was computed."""
    if part_of(x) is not None:
        x._kept = None
    return x


def is_view(x: Any) -> bool:
    """Whether other libraries would write into a tensor of the program when x is written."""
    return bool(_way(x))


def _way(x: Any) -> list[tuple[Tensor | None, Any]]:
    """(source, place) of x, of its source ... up to one that somebody keeps; [] where x is a value of its own."""
    part, found = part_of(x), []
    while part is not None:
        source = part[0]()
        found.append((source, part[1]))
        if source is not None:
            return [] if _is_copied(source, [place for _, place in reversed(found)]) else found
        part = part[2]
    return []


def _is_copied(root: Tensor, places: list[Any]) -> bool:
    """Whether other libraries copy on the way, to reshape what was cut out or reordered. NumPy tells."""
    if len(places) < 2 or not root.size:
        return False
    memory = seen = np.empty(root.shape, np.int8)
    for place in places:
        if type(place) is list:
            op, attrs, at = place
            seen = op.body(np, seen, **attrs)
            seen = seen if at < 0 else seen[at]
        else:
            seen = seen[place]
    return not np.may_share_memory(memory, seen)


def home(x: Any) -> list[tuple[Tensor, Any]]:
    """(tensor, place) that a value which nobody keeps goes back to, from the inside; [] where none would change."""
    found: Any = _way(x)
    for i in reversed(range(len(found) - 1)):
        outer, place = found[i + 1]
        inner = _read(outer, place)
        inner._kept = None
        found[i] = inner, found[i][1]
    if found:
        x._kept = None  # no part from here on: it becomes what the source has there
    return found  # type: ignore[no-any-return]


def home_of_statement(x: Any) -> list[tuple[Tensor, Any]]:
    """``home`` of a value that ``x[a] = b`` writes into and leaves to nobody.

    Raises:
        LostWriteError: nothing would change.
    """
    found = home(x)
    if not found:
        raise LostWriteError(
            "this writes into a value that nobody keeps, so nothing would change: x[mask], x.flip(0) and what a "
            "function returns are values of their own, never views.",
            hint="one pair of brackets writes into x itself: x[mask, 1] = 5 instead of x[mask][:, 1] = 5; or give the "
            "value a name and put it back: rows = x[mask]; rows[:, 1] = 5; x[mask] = rows.",
        )
    return found


def put_back(x: Any, back: list[tuple[Tensor, Any]], write: Callable[[Any, Any, Any], None]) -> None:
    """Write x to its ``home``; ``write(tensor, key, value)`` does ``tensor[key] = value``."""
    for source, place in back:
        if type(place) is list:
            op, attrs, at = place
            write(source, ..., op.restore(source, x, at, **attrs))
        else:
            write(source, place, x)
        x = source


def _read(x: Any, place: Any) -> Any:
    if type(place) is not list:
        return x[place]
    op, attrs, at = place
    out = op(x, **attrs)
    return out if at < 0 else out[at]
