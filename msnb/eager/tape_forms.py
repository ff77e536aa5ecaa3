"""What tapes of one step have in common when its sizes change: a *form*, and a list of integers that tell them apart.

    x[20,64] @ w[64,128], tanh    ->    form  (matmul f32 2 2, tanh f32 2), numbers    integers  20 64 64 128 20 128 ...

Forms are compared at every gradient that has no program yet: every entry keeps its own part, an object per kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msnb.core.types import Dim, TensorType
from msnb.eager.dispatch import DispatchEntry
from msnb.eager.tape import CallLines, Tape

LEAST = 2
"""Sizes below mean something of their own: they broadcast, they have no maximum."""
LONGEST = 256
"""Lines; longer tapes are episodes, and no two are alike."""
FORMS = 8192


class LineForm(NamedTuple):
    """A line, or the lines of a call: ``kind``, one object for all that are alike but for integers, and these."""

    kind: object | None
    integers: tuple[int, ...]


_forms: dict[Any, object] = {}
_UNLIKE = frozenset({"host", "custom", "control", "effect", "stack", "collective"})


def form_of_line(entry: DispatchEntry | CallLines) -> LineForm:
    """The form of a line, which its entry keeps. It is of no kind where its gradient may depend on more."""
    integers: list[Any] = []
    if isinstance(entry, CallLines):
        inner = [(each.form or form_of_line(each), numbers, first) for each, numbers, first in entry.lines]
        key: Any = tuple([(line.kind, numbers, first) for line, numbers, first in inner])
        integers += [n for line, _, _ in inner for n in line.integers]
        alike = all(line.kind is not None for line, _, _ in inner)
    else:
        key = entry.op, without_integers(parts(entry), integers)
        alike = not _is_alone(entry) and not any(n.__class__ is Dim for n in integers)
    if len(_forms) >= FORMS:
        _forms.clear()
    found = LineForm(_forms.setdefault(key, object()) if alike else None, tuple(integers))
    entry.form = found
    return found


def _is_alone(entry: DispatchEntry | CallLines) -> bool:
    return not isinstance(entry, CallLines) and not entry.op.traits.isdisjoint(_UNLIKE)


def parts(entry: DispatchEntry) -> tuple[Any, ...]:
    return entry.operand_types, tuple(entry.attrs.values()), entry.types


def without_integers(value: Any, integers: list[Any]) -> Any:
    """A value of which integers and Dims are left out; they are appended."""
    kind = value.__class__
    if kind is int or kind is Dim:
        integers.append(value)
        return int
    if kind is tuple:
        return tuple([without_integers(v, integers) for v in value])
    if kind is slice:
        return slice, without_integers((value.start, value.stop, value.step), integers)
    if kind is TensorType:
        integers += value.shape
        return value.dtype, len(value.shape), value.weak
    return kind, value


def form_of(recorder: Tape, outputs: Sequence[int], wanted: Sequence[int], device: str) -> tuple[Any, ...] | None:
    """A tape without integers; None for one that is to have no template."""
    if len(recorder.lines) > LONGEST or any(_is_alone(entry) for entry, _, _ in recorder.lines):
        return None
    lines = [((entry.form or form_of_line(entry)).kind, numbers, first) for entry, numbers, first in recorder.lines]
    if any(kind is None for kind, _, _ in lines):
        return None
    watched = [(t.dtype, len(t.shape), t.weak) for t in recorder.watched]
    return tuple(lines), tuple(watched), tuple(outputs), tuple(wanted), device


def integers_of(recorder: Tape) -> tuple[int, ...]:
    """The integers of a tape in order: of the watched types, and of each line."""
    found: list[Any] = [n for t in recorder.watched for n in t.shape]
    for entry, _, _ in recorder.lines:
        found += (entry.form or form_of_line(entry)).integers
    return tuple(found)


def differ_in_symbols(before: tuple[int, ...], now: tuple[int, ...]) -> bool:
    """Whether no size changed that means something of its own."""
    return len(before) == len(now) and all(a == b or not 0 <= min(a, b) < LEAST for a, b in zip(before, now))
