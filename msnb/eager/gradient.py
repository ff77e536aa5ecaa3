"""A gradient in eager mode: watch, run, sweep back.

with Recording([x], [w]) as tape:          x, w are watched: x by a fresh tensor, a Parameter in place
    out = fn(tape.inputs[0])               ops run at once and are noted
tape.backward([out], [dout])               gradients of x, then of w
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from msnb.core.slot import Engine, slot
from msnb.core.tensor import Tensor, make
from msnb.eager.autocast import wear, worn_by
from msnb.eager.backward import backward
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recorder import UNTRACKED, NestedRecordingEngine, Recorder, RecordingEngine


class Recording:
    """The time in which ops are noted for one gradient.

    Args:
        inputs: tensors to differentiate by; the run must use ``self.inputs``, which are fresh objects.
        weights: Parameters to differentiate by, watched in place.
    """

    def __init__(self, inputs: Sequence[Tensor], weights: Sequence[Tensor] = ()) -> None:
        outer = slot.engine
        self._outer: Engine = outer
        before = outer.recorders if isinstance(outer, NestedRecordingEngine) else ()
        if isinstance(outer, RecordingEngine) and not before:
            before = (outer.recorder,)
        self.recorder = Recorder(len(before))
        self.inputs = [make(x._data, x._type, x._rec) for x in inputs]
        self.weights = list(weights)
        self._former = [w._rec for w in self.weights]
        self._wanted = [self.recorder.watch(x) for x in (*self.inputs, *self.weights)]
        recorders = (*before, self.recorder)
        engine = RecordingEngine(self.recorder) if len(recorders) == 1 else NestedRecordingEngine(recorders)
        self.engine: RecordingEngine = wear(engine, worn_by(outer))

    def __enter__(self) -> Recording:
        slot.engine = self.engine
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        slot.engine = self._outer
        for weight, former in zip(self.weights, self._former):
            if weight._rec is not None and weight._rec[0] is self.recorder and weight._rec[1] < len(self._wanted):
                weight._rec = former
        if error is not None:
            self.recorder.close()

    def backward(self, outputs: Sequence[Tensor], douts: Sequence[Tensor]) -> list[Tensor]:
        """Gradients by the inputs, then by the weights; zeros where nothing depends on them."""
        used = [(self.recorder.number_of(o), d) for o, d in zip(outputs, douts)]
        used = [(n, d) for n, d in used if n != UNTRACKED]
        return backward(self.recorder, [n for n, _ in used], self._wanted, [d for _, d in used])

    def release(self, results: Sequence[Any] = ()) -> None:
        """Forget the tape; ``results`` lose their numbers here and keep those of outer recorders."""
        for r in results:
            if isinstance(r, Tensor) and r._rec is not None and r._rec[0] is self.recorder:
                r._rec = r._rec[2]
        self.recorder.close()


def is_eager(engine: Engine) -> bool:
    """True when ops run at once in this engine, recorded or not."""
    return isinstance(engine, (EagerEngine, RecordingEngine))
