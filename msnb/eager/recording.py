"""A gradient in eager mode: watch, run, sweep back.

with Recording([x], [w]) as tape:          x, w are watched: x by a fresh tensor, a Parameter in place
    out = fn(tape.inputs[0])               ops run at once and are noted
    tape.finish([out])                     which numbers the results have here; w itself may be one of them
tape.backward([dout])                      gradients of x, then of w

A number that is not on the tape is the proof that nothing watched leads to a result: only then is a gradient zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from msnb.core import Engine, Tensor, make, slot
from msnb.eager.autocast import wear, worn_by
from msnb.eager.backward_program import backward
from msnb.eager.dispatch import EagerEngine
from msnb.eager.tape import UNTRACKED, NestedRecordingEngine, RecordingEngine, Tape, outside


def _recorders_of(engine: Engine) -> tuple[Tape, ...]:
    """The tapes that note ops already, outermost first."""
    if isinstance(engine, NestedRecordingEngine) and engine.recorders:
        return engine.recorders
    return (engine.recorder,) if isinstance(engine, RecordingEngine) else ()


class Recording:
    """The time in which ops are noted for one gradient.

    Args:
        inputs: tensors to differentiate by; the run must use ``self.inputs``, which are fresh objects.
        weights: Parameters to differentiate by, watched in place.
    """

    def __init__(self, inputs: Sequence[Tensor], weights: Sequence[Tensor] = ()) -> None:
        outer = slot.engine
        self._outer: Engine = outer
        watcher: Any = outer if hasattr(outer, "listen") else None  # ``recompute`` notes what is read in its block
        for x in (*inputs, *weights) if watcher is not None else ():
            watcher.hear(x)
        before = _recorders_of(outer)
        self.recorder: Tape = Tape(len(before))
        self._given = list(inputs)
        self.inputs: list[Tensor] = [make(x._data, x._type, x._rec) for x in inputs]
        self.weights: list[Tensor] = list({id(w): w for w in weights}.values())
        self._former = [w._rec for w in self.weights]
        watch = self.recorder.watch
        self._wanted = [watch(x) for x in (*self.inputs, *self.weights)]
        if len(self.weights) < len(weights):
            numbers = {id(w): n for w, n in zip(self.weights, self._wanted[len(self.inputs) :])}
            self._wanted[len(self.inputs) :] = [numbers[id(w)] for w in weights]
        self._results: list[int] = []
        recorders = (*before, self.recorder)
        engine = RecordingEngine(self.recorder) if len(recorders) == 1 else NestedRecordingEngine(recorders)
        if watcher is not None:
            watcher.listen(engine)
        self.engine: RecordingEngine = wear(engine, worn_by(outer))

    def __enter__(self) -> Recording:
        slot.engine = self.engine
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        slot.engine = self._outer
        for number, (weight, former) in enumerate(zip(self.weights, self._former), start=len(self.inputs)):
            if weight._rec is not None and weight._rec[0] is self.recorder and weight._rec[1] == number:
                weight._rec = former
        if error is not None:
            self.release()

    def finish(self, results: Sequence[Tensor]) -> None:
        """Note which values are differentiated, while the watched Parameters still carry their numbers."""
        self._results = [self.recorder.number_of(x) for x in results]

    def backward(self, douts: Sequence[Tensor]) -> list[Tensor]:
        """Gradients by the inputs, then by the weights; zeros where no result depends on them.

        Args:
            douts: one per result given to ``finish``, of its type. May be asked for again while the tape is kept.
        """
        used = [(n, d) for n, d in zip(self._results, douts) if n != UNTRACKED]
        return backward(self.recorder, [n for n, _ in used], self._wanted, [d for _, d in used])

    def written_inputs(self) -> list[tuple[Tensor, Tensor]]:
        """Inputs that the function assigned, with the new values that the caller's tensors take."""
        pairs = zip(self._given, self.inputs, self._wanted)
        return [
            (x, make(own._data, own._type, outside(own._rec, self.recorder)))
            for x, own, number in pairs
            if own._rec is None or own._rec[0] is not self.recorder or own._rec[1] != number
        ]

    def forget(self, results: Sequence[Any] = ()) -> None:
        """``results``, and whatever was assigned, lose their numbers here and keep those of outer recorders."""
        recorder = self.recorder
        for r in results:
            if isinstance(r, Tensor) and r._rec is not None and r._rec[0] is recorder:
                r._rec = r._rec[2]
        if not recorder.assigned:
            return
        assigned, recorder.assigned = recorder.assigned, {}
        for found in assigned.values():
            x = found()
            if x is not None and x._rec is not None and x._rec[0] is recorder:
                x._rec = x._rec[2]
                if x._rec is not None:  # an outer recording forgets it at its own end
                    x._rec[0].assigned[id(x)] = found

    def release(self, results: Sequence[Any] = ()) -> None:
        """Forget the tape."""
        self.forget(results)
        self.recorder.close()


def known_false(condition: Any) -> bool:
    """Whether elements of a bool tensor are known to be false: nothing is known while a program is captured."""
    return is_eager(slot.engine) and not bool(condition.all())


def is_eager(engine: Engine) -> bool:
    """True when ops run at once in this engine, recorded or not."""
    return isinstance(engine, (EagerEngine, RecordingEngine))
