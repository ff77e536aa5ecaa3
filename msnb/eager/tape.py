"""Recording: eager ops noted while a gradient is wanted.

A Recorder numbers every value that depends on what it watches. A tensor carries its number in ``_rec``:

    _rec = (recorder, number, outer _rec)          a chain: nested gradients record into every recorder that tracks

and the tape gets one line per op: (entry, numbers of its inputs, number of its first result), and one per call that is
kept (``inline_cache``), with its lines inside (``CallLines``). Both are interned, so the lines themselves *are* the
structure of the program: two steps of a training loop give equal tapes, and the backward program found for the first
serves the second (``backward_program``). What the gradient rules read (``DispatchEntry.keep``) is kept by buffer, or,
when an outer recorder is listening, by a tensor that carries the outer numbers.

Nested recorders: an op runs once and is noted by every active recorder that tracks one of its inputs. The backward
program of an inner recorder is replayed under the outer ones, so derivatives of any order come of themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any
from weakref import ref

from msnb.base import op_listeners, reraise_interrupt
from msnb.core import WEAK, PlainReads, Tensor, TensorType, make
from msnb.core.step_undo import log, note
from msnb.eager.dispatch import DispatchEntry, attrs_key, buffers, look_up, run_any, wrap
from msnb.ir.control_flow import HostFn
from msnb.ops.definition.record import Op

OpLine = tuple[DispatchEntry, tuple[int, ...], int]
Line = tuple["DispatchEntry | CallLines", tuple[int, ...], int]
UNTRACKED = -1
ANY_FN = HostFn(lambda *args: (), "any")


class CallLines:
    """The lines of a call, seen from outside as one line.

    Attributes:
        lines: their numbers are those of the call's tensors from 0 on, then those of their own results.
        types: of all results; results: which of them the call gives back.
        rules: what ``backward_pass`` knows of its gradient; form: the same without its integers.
    """

    __slots__ = ("_ends", "_inputs", "form", "lines", "results", "rules", "types")

    def __init__(self, lines: list[OpLine], inputs: int, results: list[int]) -> None:
        self.lines, self._inputs = lines, inputs
        self.types: tuple[Any, ...] = tuple([t for entry, _, _ in lines for t in entry.types])
        self.results: Sequence[int] = results
        self.rules: dict[Any, Any] = {}
        self.form: Any = None
        self._ends = list(accumulate((len(_reads(entry)) for entry, _, _ in lines), initial=0))

    def expanded(self, numbers: tuple[int, ...], first: int) -> list[OpLine]:
        """The lines with the numbers of a tape."""
        n, own = self._inputs, (*numbers, *range(first, first + len(self.types)))
        return [(entry, tuple([own[k] if k >= 0 else k for k in ks]), first + at - n) for entry, ks, at in self.lines]

    def spans(self) -> list[slice]:
        """Which of the saved items belong to each line."""
        return [slice(a, b) for a, b in pairwise(self._ends)]


def _reads(entry: DispatchEntry) -> list[Any]:
    assert entry.keep is not None
    operands, results = entry.keep
    return [*operands, *(entry.types if results else ())]


class Tape:
    """The tape of one gradient.

    Attributes:
        lines: one per op or kept call: (entry, numbers of the inputs or UNTRACKED, number of the first result).
        saved: per op, what its gradient rule reads: kept inputs in order, then the results if kept.
        watched: the types of the watched tensors, numbered from 0.
        depth: 0 for the outermost recorder of a nest.
        assigned: the tensor objects that got a number by an assignment; they outlive the recording.
    """

    __slots__ = ("assigned", "count", "depth", "lines", "saved", "watched")

    def __init__(self, depth: int = 0) -> None:
        self.depth: int = depth
        self.lines: list[Line] = []
        self.saved: list[tuple[Any, ...]] = []
        self.watched: list[TensorType] = []
        self.assigned: dict[int, ref[Tensor]] = {}
        self.count: int = 0

    def watch(self, tensor: Tensor) -> int:
        """Track the tensor object from here on; returns its number."""
        assert not self.lines, "watch before the first op"
        number = self.count
        self.count += 1
        self.watched.append(tensor._type)
        tensor._rec = (self, number, tensor._rec)
        return number

    def number_of(self, x: Any) -> int:
        """The number of an operand here, or UNTRACKED."""
        track = x._rec if isinstance(x, Tensor) else None
        while track is not None:
            if track[0] is self:
                return int(track[1])
            track = track[2]
        return UNTRACKED

    def expanded(self) -> tuple[list[OpLine], list[tuple[int, int]]]:
        """One line per op, and where the saved items of each begin: (line of the tape, place among its items)."""
        lines: list[OpLine] = []
        places: list[tuple[int, int]] = []
        for i, (entry, numbers, first) in enumerate(self.lines):
            if isinstance(entry, CallLines):
                lines += entry.expanded(numbers, first)
                places += [(i, span.start) for span in entry.spans()]
            else:
                lines.append((entry, numbers, first))
                places.append((i, 0))
        return lines, places

    def close(self) -> None:
        """Let go of everything: tensors that still carry a number of ours must not keep buffers alive."""
        self.lines, self.saved = [], []


class RecordingEngine(PlainReads):
    """Runs ops at once and notes them in one recorder: the common case of a single gradient."""

    def __init__(self, recorder: Tape) -> None:
        self.recorder = recorder

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op``; note it if it depends on a watched tensor."""
        if len(inputs) == 1:
            return self._one(op, inputs, attrs)
        if attrs or op_listeners or len(inputs) != 2:
            return self._general(op, inputs, attrs)
        a, b = inputs
        class_b = b.__class__
        try:
            if class_b in WEAK:
                entry, one, first, other, second = op.fast[a._type, WEAK[class_b]], a._data, a._rec, b, None
            elif a.__class__ in WEAK:
                entry, one, first, other, second = op.fast[WEAK[a.__class__], b._type], a, None, b._data, b._rec
            else:
                entry, one, first, other, second = op.fast[a._type, b._type], a._data, a._rec, b._data, b._rec
            result = entry.kernel(one, other)
        except Exception as error:  # as in plain dispatch: the general way knows what to say
            reraise_interrupt(error)
            return self._general(op, inputs, attrs)
        if entry.type is None:
            return self._general(op, inputs, attrs)
        return self._noted(entry, one, first, other, second, result)

    def pair(self, op: Op, a: Tensor, b: Tensor) -> Any:
        """Two tensors: ``apply`` with nothing left to ask."""
        if op_listeners:
            return self._general(op, (a, b), {})
        try:
            one, other, kind, kind_b = a._data, b._data, a._type, b._type
            entry = op.fast[kind] if kind is kind_b else op.fast[kind, kind_b]
            result = entry.kernel(one, other)
        except Exception as error:
            reraise_interrupt(error)
            return self._general(op, (a, b), {})
        if entry.type is None:
            return self._general(op, (a, b), {})
        return self._noted(entry, one, a._rec, other, b._rec, result)

    def _one(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """One plain tensor, where nobody listens."""
        entry = result = None
        try:
            (a,) = inputs
            if not (op_listeners or "host" in op.traits):
                entry = op.fast.get(((a._type,), attrs_key(attrs)) if attrs else (a._type,))
            if entry is not None and entry.type is not None:
                result = entry.kernel(a._data)
        except Exception as error:
            reraise_interrupt(error)
        return self._general(op, inputs, attrs) if result is None else self._noted_one(entry, a, a._data, result)

    def _noted_one(self, entry: Any, a: Tensor, data: Any, result: Any) -> Tensor:
        track, rec, keep = a._rec, self.recorder, entry.keep
        if keep is None or track is None or track[0] is not rec:
            return make(result, entry.type)
        n = rec.count
        rec.count = n + 1
        rec.lines.append((entry, (track[1],), n))
        kept = (data,) if keep[0] else ()
        rec.saved.append((*kept, result) if keep[1] else kept)
        return make(result, entry.type, (rec, n, None))

    def _noted(self, entry: DispatchEntry, one: Any, first: Any, other: Any, second: Any, result: Any) -> Tensor:
        keep = entry.keep
        if keep is None:
            return make(result, entry.type)  # type: ignore[arg-type]
        rec = self.recorder
        i = first[1] if first is not None and first[0] is rec else UNTRACKED
        j = second[1] if second is not None and second[0] is rec else UNTRACKED
        if i < 0 and j < 0:
            return make(result, entry.type)  # type: ignore[arg-type]
        n = rec.count
        rec.count = n + 1
        rec.lines.append((entry, (i, j), n))
        rec.saved.append(_kept_pair(keep, one, other, result))
        return make(result, entry.type, (rec, n, None))  # type: ignore[arg-type]

    def _general(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        return self._host(op, inputs, attrs) if "host" in op.traits else run_any(op, inputs, attrs, self.note)

    def _host(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """A line with a callable: the callable is kept with the line, the structure knows only that there is one."""
        entry, operands = look_up(op, inputs, {**attrs, "fn": ANY_FN})
        out = wrap(entry, entry.kernel(*buffers(operands)))
        self.note(entry, operands, out if isinstance(out, tuple) else (out,), attrs["fn"].fn)
        return out

    def note(self, entry: DispatchEntry, operands: list[Any], outs: tuple[Tensor, ...], fn: Any = None) -> None:
        """Enter a finished op into the tape."""
        rec = self.recorder
        numbers = tuple([rec.number_of(x) for x in operands])
        if max(numbers, default=UNTRACKED) >= 0:
            _enter(rec, entry, numbers, operands, outs, buffers, fn)

    def assign(self, target: Tensor, value: Tensor) -> None:
        """The target takes the buffer and the number of the value."""
        if log.entries is not None:
            note(target)
        target._data, target._type, target._rec = value._data, value._type, value._rec
        target._kept = None
        if target._rec is not None:
            target._rec[0].assigned[id(target)] = ref(target)


def _kept_pair(keep: tuple[tuple[int, ...], bool], a: Any, b: Any, out: Any) -> tuple[Any, ...]:
    which, keep_out = keep
    if not which:
        return (out,) if keep_out else ()
    kept = (a, b) if len(which) == 2 else (b,) if which[0] else (a,)
    return (*kept, out) if keep_out else kept


def _enter(
    rec: Tape, entry: DispatchEntry, numbers: Any, operands: list[Any], outs: tuple[Tensor, ...], keep_as: Any, fn: Any
) -> None:
    assert entry.keep is not None
    kept, keep_outs = entry.keep
    first = rec.count
    rec.count = first + len(outs)
    rec.lines.append((entry, numbers, first))
    items = [operands[k] for k in kept] + (list(outs) if keep_outs else [])
    rec.saved.append(tuple(keep_as(items)) if fn is None else (*keep_as(items), fn))
    for k, out in enumerate(outs):
        out._rec = (rec, first + k, out._rec)


class NestedRecordingEngine(RecordingEngine):
    """Several gradients at once: every op runs once and is noted, outermost first, wherever it is tracked."""

    def __init__(self, recorders: tuple[Tape, ...]) -> None:
        super().__init__(recorders[-1])
        self.recorders = recorders

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op``; note it in every recorder that tracks an input."""
        return self._general(op, inputs, attrs)

    def pair(self, op: Op, a: Tensor, b: Tensor) -> Any:
        """The same for two tensors."""
        return self._general(op, (a, b), {})

    def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Op by op: every recorder notes what it tracks."""
        return fn(*args, **kwargs)

    def note(self, entry: DispatchEntry, operands: list[Any], outs: tuple[Tensor, ...], fn: Any = None) -> None:
        """Outermost first: what an inner recorder keeps must carry the outer numbers."""
        for rec in self.recorders:
            numbers = tuple([rec.number_of(x) for x in operands])
            if max(numbers, default=UNTRACKED) >= 0:
                # the outermost tape is swept by a program of buffers, inner ones by ops that the outer tapes note
                keep_as = partial(_snapshots, rec) if rec.depth else buffers
                _enter(rec, entry, numbers, operands, outs, keep_as, fn)


def _snapshots(rec: Tape, items: list[Any]) -> list[Any]:
    return [snapshot(x, rec) for x in items]


def snapshot(x: Any, rec: Tape) -> Any:
    """The tensor as it is now, with the numbers of the recorders outside ``rec`` only."""
    return make(x._data, x._type, outside(x._rec, rec)) if isinstance(x, Tensor) else x


def outside(track: Any, rec: Tape) -> Any:
    """The part of a chain of numbers that belongs to recorders outside ``rec``; chains run from the inside out."""
    while track is not None and track[0].depth >= rec.depth:
        track = track[2]
    return track
