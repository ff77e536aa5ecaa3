"""Recording: eager ops noted while a gradient is wanted.

A Recorder numbers every value that depends on what it watches. A tensor carries its number in ``_rec``:

    _rec = (recorder, number, outer _rec)          a chain: nested gradients record into every recorder that tracks

and the tape gets one line per op: (entry, numbers of its inputs, numbers of its results). The entries are interned, so
the lines themselves *are* the structure of the program: two steps of a training loop give equal tapes, and the backward
program found for the first serves the second (``backward.py``). What the gradient rules read (``Entry.keep``) is kept by
buffer, or, when an outer recorder is listening, by a tensor that carries the outer numbers.

Nested recorders: an op runs once and is noted by every active recorder that tracks one of its inputs. The backward
program of an inner recorder is replayed under the outer ones, so derivatives of any order come of themselves.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msnb.core import events
from msnb.core.slot import PlainReads
from msnb.core.tensor import Tensor, make
from msnb.core.types import TensorType
from msnb.eager.dispatch import Entry, buffers, kernel_failed, look_up, wrap
from msnb.ops.record import Op

Line = tuple[Entry, tuple[int, ...], int]
UNTRACKED = -1


class Recorder:
    """The tape of one gradient.

    Attributes:
        lines: one per op: (entry, numbers of the inputs or UNTRACKED, number of the first result).
        saved: per op, what its gradient rule reads: kept inputs in order, then the results if kept.
        watched: the types of the watched tensors, numbered from 0.
        depth: 0 for the outermost recorder of a nest.
    """

    __slots__ = ("count", "depth", "lines", "saved", "watched")

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.lines: list[Line] = []
        self.saved: list[tuple[Any, ...]] = []
        self.watched: list[TensorType] = []
        self.count = 0

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

    def close(self) -> None:
        """Let go of everything: tensors that still carry a number of ours must not keep buffers alive."""
        self.lines, self.saved = [], []


class RecordingEngine(PlainReads):
    """Runs ops at once and notes them in one recorder: the common case of a single gradient."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op``; note it if it depends on a watched tensor."""
        if not attrs and len(inputs) == 2:
            a, b = inputs
            try:
                entry = op.fast[a._type, b._type]
                data_a, data_b = a._data, b._data
            except (AttributeError, KeyError):
                return self._general(op, inputs, attrs)
            if entry.type is not None and data_a is not None and data_b is not None:
                return self._pair(entry, a, b, data_a, data_b)
        return self._general(op, inputs, attrs)

    def _pair(self, entry: Entry, a: Tensor, b: Tensor, data_a: Any, data_b: Any) -> Tensor:
        out = make(entry.kernel(data_a, data_b), entry.type)  # type: ignore[arg-type]
        keep = entry.keep
        if keep is not None:
            rec = self.recorder
            ta, tb = a._rec, b._rec
            i = ta[1] if ta is not None and ta[0] is rec else UNTRACKED
            j = tb[1] if tb is not None and tb[0] is rec else UNTRACKED
            if i >= 0 or j >= 0:
                n = rec.count
                rec.count = n + 1
                rec.lines.append((entry, (i, j), n))
                kept = tuple([data_b if k else data_a for k in keep[0]])
                rec.saved.append((*kept, out._data) if keep[1] else kept)
                out._rec = (rec, n, None)
        if events.op_listeners:
            events.emit("op", op=entry.op, inputs=(a, b), outputs=out)
        return out

    def _general(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        entry, operands = look_up(op, inputs, attrs)
        try:
            result = entry.kernel(*buffers(operands))
        except Exception as error:
            raise kernel_failed(op, operands, error) from None
        out = wrap(entry, result)
        if entry.keep is not None:
            self.note(entry, operands, out if isinstance(out, tuple) else (out,))
        if events.op_listeners:
            events.emit("op", op=op, inputs=inputs, outputs=out)
        return out

    def note(self, entry: Entry, operands: list[Any], outs: tuple[Tensor, ...]) -> None:
        """Enter a finished op into the tape."""
        rec = self.recorder
        numbers = tuple([rec.number_of(x) for x in operands])
        if max(numbers, default=UNTRACKED) >= 0:
            _enter(rec, entry, numbers, operands, outs, buffers)

    def assign(self, target: Tensor, value: Tensor) -> None:
        """The target takes the buffer and the number of the value."""
        target._data, target._type, target._rec = value._data, value._type, value._rec


def _enter(rec: Recorder, entry: Entry, numbers: Any, operands: list[Any], outs: tuple[Tensor, ...], keep_as: Any) -> None:
    assert entry.keep is not None
    kept, keep_outs = entry.keep
    first = rec.count
    rec.count = first + len(outs)
    rec.lines.append((entry, numbers, first))
    items = [operands[k] for k in kept] + (list(outs) if keep_outs else [])
    rec.saved.append(tuple(keep_as(items)))
    for k, out in enumerate(outs):
        out._rec = (rec, first + k, out._rec)


class NestedRecordingEngine(RecordingEngine):
    """Several gradients at once: every op runs once and is noted, outermost first, wherever it is tracked."""

    def __init__(self, recorders: tuple[Recorder, ...]) -> None:
        super().__init__(recorders[-1])
        self.recorders = recorders

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run ``op``; note it in every recorder that tracks an input."""
        return self._general(op, inputs, attrs)

    def note(self, entry: Entry, operands: list[Any], outs: tuple[Tensor, ...]) -> None:
        """Outermost first: what an inner recorder keeps must carry the outer numbers."""
        for rec in self.recorders:
            numbers = tuple([rec.number_of(x) for x in operands])
            if max(numbers, default=UNTRACKED) >= 0:
                _enter(rec, entry, numbers, operands, outs, partial(_snapshots, rec))


def _snapshots(rec: Recorder, items: list[Any]) -> list[Any]:
    return [snapshot(x, rec) for x in items]


def snapshot(x: Any, rec: Recorder) -> Any:
    """The tensor as it is now, with the numbers of the recorders outside ``rec`` only."""
    if not isinstance(x, Tensor):
        return x
    return make(x._data, x._type, outside(x._rec, rec))


def outside(track: Any, rec: Recorder) -> Any:
    """The part of a chain of numbers that belongs to recorders outside ``rec``; chains run from the inside out."""
    while track is not None and track[0].depth >= rec.depth:
        track = track[2]
    return track
