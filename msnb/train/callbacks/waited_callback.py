"""`WaitedDSCallback`: rows that wait for training, by a callback of `Dataset.map` and of `Model.train` at once.

    rows of step 1, 2 ...      step 2 begins after step 1 was trained: `sync_step_begin` sees its loss
    rows of epoch 1, 2 ...     epoch 2 begins after epoch 1 was trained: `sync_epoch_begin`

Source: `mindspore.dataset.WaitedDSCallback`
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from msnb.base import DatasetError
from msnb.dataset.map_callbacks import DatasetRunContext, DSCallback
from msnb.train.callbacks.callback import Callback, RunContext

_LONGEST_WAIT = 60.0  # seconds, as in MindSpore


class TrainingProgress:
    """How far training is, and who waits for it. Who trains may be interrupted anywhere and holds no lock."""

    def __init__(self) -> None:
        self.waiting: deque[threading.Lock] = deque()
        self.counts: dict[str, int] = {"epoch": 0, "step": 0}
        self.context: Any = None
        self.thread: int | None = None

    def done(self, what: str, context: Any) -> None:
        """Training finished an epoch or a step."""
        self.context, self.thread = context, threading.get_ident()
        self.counts[what] += 1
        self._wake()

    def over(self) -> None:
        """Training ended: nobody waits any more, and the next one counts anew."""
        self.counts = dict.fromkeys(self.counts, 1 << 62)
        self._wake()

    def begin(self) -> None:
        """Rows are read from the beginning."""
        self.counts, self.context = dict.fromkeys(self.counts, 0), None

    def wait(self, what: str, number: int) -> Any:
        """Wait for epoch or step ``number`` to be trained; what training said then."""
        end = time.monotonic() + _LONGEST_WAIT
        while self.counts[what] < number:
            changed = threading.Lock()
            changed.acquire()
            self.waiting.append(changed)
            late = self.thread == threading.get_ident() or time.monotonic() > end  # who trains would wait for itself
            if self.counts[what] < number and (late or not changed.acquire(timeout=max(0.0, end - time.monotonic()))):
                raise DatasetError(
                    f"WaitedDSCallback: rows are asked for before {what} {number} was trained",
                    hint="give the same callback to Model.train(callbacks=...), and make step_size the rows of a step",
                )
        return self.context

    def _wake(self) -> None:
        while self.waiting:
            self.waiting.popleft().release()


class WaitedDSCallback(Callback, DSCallback):
    """Base of callbacks of `map` and of `Model.train` at once: rows wait for what training did with those before.

    Args:
        step_size: rows of a training step, as a rule those of a batch.

    Override `sync_epoch_begin` and `sync_step_begin`; they are called from the second epoch (step) on.

    Source: `mindspore.dataset.WaitedDSCallback`.
    """

    def __init__(self, step_size: int = 1) -> None:
        DSCallback.__init__(self, step_size)
        self._trained = TrainingProgress()

    def epoch_end(self, run_context: RunContext) -> None:
        """Rows of the next epoch may begin."""
        self._trained.done("epoch", run_context)

    def step_end(self, run_context: RunContext) -> None:
        """Rows of the next step may begin."""
        self._trained.done("step", run_context)

    def end(self, run_context: RunContext) -> None:
        """Nobody waits any more."""
        self._trained.over()

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: DatasetRunContext) -> None:
        """Before an epoch of rows, after the training epoch before."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: DatasetRunContext) -> None:
        """Before a step of rows, after the training step before."""

    def ds_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Count from the beginning."""
        self._trained.begin()

    def ds_epoch_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Wait for the training epoch before."""
        if ds_run_context.cur_epoch_num > 1:
            found = self._trained.wait("epoch", ds_run_context.cur_epoch_num - 1)
            self.sync_epoch_begin(found, ds_run_context)

    def ds_step_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Wait for the training step before."""
        if ds_run_context.cur_step_num > self.step_size:
            found = self._trained.wait("step", (ds_run_context.cur_step_num - 1) // self.step_size)
            self.sync_step_begin(found, ds_run_context)
