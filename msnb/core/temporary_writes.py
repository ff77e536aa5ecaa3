"""Writes into a value that only their statement has: back to where it came from, or refused.

    x[0, 1] = 5          x has a name: whoever reads x sees the 5
    params[0][1] = 5     the list keeps params[0]
    x[0][1] = 5          x[0] is a value of its own, never a view of x; but it says of which x, and where, so it goes
                         back there: x[0] = x[0] with the 5
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


_kept: Any = Tensor.__dict__["_kept"]


def part_of(x: Any) -> list[Any] | None:
    """[reference, key] where a basic index gave x, which other libraries make a view; None: x is no part."""
    try:
        found = _kept.__get__(x)
    except AttributeError:  # the slot is empty
        return None
    return found if type(found) is list else None


def home(x: Any) -> tuple[Tensor, Any]:
    """(tensor, key) that a value which nobody keeps goes back to.

    Raises:
        LostWriteError: nothing says where that is, or the tensor is gone.
    """
    part = part_of(x)
    source = None if part is None else part[0]()
    if part is None or source is None:
        raise LostWriteError(
            "this writes into a value that nobody keeps, so nothing would change: x[mask], x.T, x.reshape(...) and "
            "what a function returns are values of their own, never views.",
            hint="one pair of brackets writes into x itself: x[mask, 1] = 5 instead of x[mask][:, 1] = 5; or give the "
            "value a name and put it back: rows = x[mask]; rows[:, 1] = 5; x[mask] = rows.",
        )
    x._kept = None  # no part from here on: it becomes what the source has there
    return source, part[1]
