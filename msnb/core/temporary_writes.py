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
from functools import partial
from types import FrameType
from typing import Any
from weakref import ref

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

    The place is a basic key, or a list of a call that gave the value: a function that gives the source, of how the
    value is read from it, its old value and the changed value; the method, arguments and options; which of its results.
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


def is_view(x: Any) -> bool:
    """Whether other libraries would write into a tensor of the program when x is written."""
    part = part_of(x)
    return part is not None and part[0]() is not None


def home(x: Any) -> list[tuple[Tensor, Any]]:
    """(tensor, place) that a value which nobody keeps goes back to; where that is such a value too, what it goes back
    to follows.

    Raises:
        LostWriteError: nothing says where that is, or the tensor is gone.
    """
    part, found = part_of(x), []
    while part is not None:
        source = part[0]()
        found.append((source, part[1]))
        if source is not None:
            break
        part = part[2]
    if part is None:
        raise LostWriteError(
            "this writes into a value that nobody keeps, so nothing would change: x[mask], x.flip(0) and what a "
            "function returns are values of their own, never views.",
            hint="one pair of brackets writes into x itself: x[mask, 1] = 5 instead of x[mask][:, 1] = 5; or give the "
            "value a name and put it back: rows = x[mask]; rows[:, 1] = 5; x[mask] = rows.",
        )
    for i in reversed(range(len(found) - 1)):
        outer, place = found[i + 1]
        inner = _read(outer, place)
        inner._kept = None
        found[i] = inner, found[i][1]
    x._kept = None  # no part from here on: it becomes what the source has there
    return found


def put_back(x: Any, back: list[tuple[Tensor, Any]], write: Callable[[Any, Any, Any], None]) -> None:
    """Write x to its ``home``; ``write(tensor, key, value)`` does ``tensor[key] = value``."""
    for source, place in back:
        if type(place) is list:
            write(source, ..., place[0](partial(_read, place=place), source, x))
        else:
            write(source, place, x)
        x = source


def _read(x: Any, place: Any) -> Any:
    if type(place) is not list:
        return x[place]
    _, method, args, options, at = place
    out = method(x, *args, **options)
    return out if at < 0 else out[at]
