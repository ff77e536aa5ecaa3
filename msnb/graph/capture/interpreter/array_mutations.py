"""NumPy arrays and containers that a captured program changes in place.

    x[0] = 1;  x += 1          the program's own statements: written, journaled, done again at every call where x is
                               outside
    x.sort(); np.copyto(x, y); heapq.heappush(rows, 1); random.shuffle(rows)
                               code that is not converted: what it was given is compared with what it leaves

An array is a constant of the program (its values are guarded), so a branch or loop that a tensor decides must leave it
as it was: a graph chooses between tensors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base.errors import CaptureError, ConcretizationError
from msnb.base.source_location import here
from msnb.graph.capture.guards.buffer_content import contents, restore, same_contents
from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_session import Session
from msnb.graph.capture.values.lazy_values import TrackedArray, concrete, same_values
from msnb.graph.capture.values.mutation_journal import ArrayPlace, ContentPlace, root_of
from msnb.graph.capture.values.object_table import raw_items

_CONTAINERS = (list, dict, set, deque)


def change(session: Session, array: NDArray[Any], action: Callable[[NDArray[Any]], Any]) -> None:
    """Change an array in place: ``action(array)``, journaled."""
    raw = seen(array)
    root = root_of(raw)
    before = root.copy()
    action(raw)
    _changed(session, root, before)


def _changed(session: Session, root: NDArray[Any], before: NDArray[Any]) -> None:
    if same_values(root, before):
        return
    session.journal.note(ArrayPlace(root), before)
    log(session, root)


def log(session: Session, root: NDArray[Any]) -> None:
    """The array, if it is outside, is written at every call."""
    outside = session.objects.arrays.get(id(root))
    if outside is not None:
        session.log(outside, "item", Ellipsis, outside.copy())


def seen(array: Any) -> NDArray[Any]:
    """The array itself; the values of an outside one are guarded."""
    found: NDArray[Any] = array.plain() if isinstance(array, TrackedArray) else array
    return found


def written_in_place(session: Session, op: Callable[[Any, Any], Any], array: Any, value: Any) -> Any:
    """``array op= value``."""
    change(session, array, lambda raw: op(raw, _plain(value)))
    return array


def set_item(session: Session, array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""

    def put(raw: Any) -> None:
        raw[key] = _plain(value)

    change(session, array, put)


def _plain(value: Any) -> Any:
    return value.plain() if isinstance(value, TrackedArray) else concrete(value)


def refuse(where: str) -> CaptureError:
    """The error for an array that a branch or loop changes."""
    error = CaptureError(
        f"a NumPy array is changed in place in a {where}, and a tensor decides whether and how often it runs: an array "
        "is a constant of the program.",
        hint="make it a Tensor (ms.Tensor(x), ops.zeros), whose value a graph can choose.",
    )
    error.where, error.breaks = here(2).where, True
    return error


def refuse_contents(session: Session, owner: Any) -> None:
    """A buffer from outside (``bytearray``, ``array.array``) must not be changed by a captured program."""
    if session.objects.source_of(owner) is not None and contents(owner) is not None:
        error = ConcretizationError(
            f"a {type(owner).__name__} is changed in place, which a graph cannot do: it is a constant of the program.",
            hint="change it outside, or hold the values in a list, a NumPy array or a Tensor.",
        )
        error.where = here(2).where
        raise error


class Watch:
    """What unconverted code is given, so that what it changes is noted.

    Args:
        originals: the program's arguments, the object whose method is called among them.
        given: what the code gets for each.
    """

    def __init__(self, session: Session, originals: Sequence[Any], given: Sequence[Any]) -> None:
        self.session = session
        self.arrays: list[tuple[Any, Any]] = []
        self.copies: list[tuple[Any, Any, Any]] = []
        outside = [x for x in originals if session.objects.source_of(x) is not None and not isinstance(x, np.ndarray)]
        self.buffers = [(x, held) for x in outside if (held := contents(x)) is not None]
        for old, new in zip(originals, given):
            for array in new if type(new) in (list, tuple) else (new,):
                if isinstance(array, np.ndarray) and array.dtype != object:
                    root = root_of(array)
                    self.arrays.append((root, root.copy()))
            if isinstance(old, _CONTAINERS) and isinstance(new, _CONTAINERS):
                self.copies.append((old, new, _content(new)))

    def conclude(self) -> None:
        """The code has run."""
        for value, held in self.buffers:
            if not same_contents(value, held):
                restore(value, held)
                refuse_contents(self.session, value)
        for root, before in self.arrays:
            _changed(self.session, root, before)
        for old, new, before in self.copies:
            after = _content(new)
            if len(after) != len(before) or any(a is not b for a, b in zip(after, before)):
                self._changed(old, new, before)

    def _changed(self, old: Any, new: Any, before: list[Any]) -> None:
        place, session = ContentPlace(old), self.session
        if old is new:
            left = place.get()
            place.set(dict(zip(before[::2], before[1::2])) if isinstance(old, dict) else before)
            new = left
        reads.note_all(session, old)
        place.set(new)
        session.log(old, "content", None, type(place.get())(new))


def _content(value: Any) -> list[Any]:
    found = raw_items(value)
    return [x for key in found for x in (key, dict.__getitem__(value, key))] if isinstance(value, dict) else found
