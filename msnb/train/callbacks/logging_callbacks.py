"""Callbacks that report: loss, time, a progress bar, a history; and one made of functions.

Only TimeMonitor prints times: what the others print is the same in every run with the same seed, so notebooks that keep
their outputs can be compared strictly.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Tensor
from msnb.train.callbacks.callback import Callback, RunContext, loss_of

__all__ = ["History", "LambdaCallback", "LossMonitor", "ProgressBar", "TimeMonitor"]


def need_count(what: str, value: Any, low: int = 1) -> int:
    """``value`` if it is an int of at least ``low``."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low:
        kind = AttributeValueError if whole else ArgumentError
        raise kind(f"{what} must be an int of at least {low}, got {value!r}.")
    return int(value)


class LossMonitor(Callback):
    """Prints the loss, and stops a training whose loss is no number.

    Args:
        per_print_times: print every so many steps; 0 prints nothing but the results of evaluations in ``fit``.

    Raises:
        ValueError: (at a step) the loss is NaN or infinite.

    Source: `mindspore.train.LossMonitor`
    """

    reports_progress = True

    def __init__(self, per_print_times: int = 1) -> None:
        self._every = need_count("per_print_times", per_print_times, 0)
        self._last = 0

    def begin(self, run_context: RunContext) -> None:
        """Count anew: a second training starts at step 1 again."""
        self._last = 0

    def step_end(self, run_context: RunContext) -> None:
        """Print, if it is time."""
        params = run_context.original_args()
        if params.mode != "train":
            return
        loss, place = loss_of(params), f"epoch: {params.cur_epoch_num} step: {params.step_in_epoch}"
        if not math.isfinite(loss):
            raise ValueError(f"{place}. Invalid loss {loss}, terminating training.")
        if self._every and params.cur_step_num - self._last >= self._every:
            self._last = params.cur_step_num
            print(f"{place}, loss is {loss:.6g}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """In ``fit``: print what the evaluation of this epoch gave."""
        params = run_context.original_args()
        results = params.get("eval_results")
        if params.mode == "train" and results:
            shown = {name: value.item() if isinstance(value, np.generic) else value for name, value in results.items()}
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {shown}")


class TimeMonitor(Callback):
    """Prints the time of each epoch and of a step in it (milliseconds, measured).

    Args:
        data_size: steps per epoch to divide by where none were counted.
        data_time: also print how much of the time went by between steps, in which data were waited for.

    Source: `mindspore.train.TimeMonitor`
    """

    reports_progress = True

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        self._size = None if data_size is None else need_count("data_size", data_size)
        self._data_time, self._waited, self._stopped = bool(data_time), 0.0, 0.0
        self._start, self._first = time.perf_counter(), 0

    def epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock."""
        self._first = run_context.original_args().get("cur_step_num", 0)
        self._start = self._stopped = time.perf_counter()
        self._waited = 0.0

    def step_begin(self, run_context: RunContext) -> None:
        """What went by since the last step was for data."""
        self._waited += time.perf_counter() - self._stopped

    def step_end(self, run_context: RunContext) -> None:
        """From here on data are waited for."""
        self._stopped = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        """Stop the clock and print."""
        milliseconds = (time.perf_counter() - self._start) * 1000
        params = run_context.original_args()
        steps = max(params.get("cur_step_num", 0) - self._first, 0) or self._size or 1
        kind = "Train" if params.mode == "train" else "Eval"
        waited = f", data time: {self._waited * 1000:5.3f} ms" if self._data_time else ""
        text = f"{kind} epoch time: {milliseconds:5.3f} ms, per step time: {milliseconds / steps:5.3f} ms{waited}"
        print(text, flush=True)


class ProgressBar(Callback):
    """A bar on a terminal, one line at the end of the run anywhere else.

        epoch 2/3 [==========>         ] 24/45 loss 0.4182          rewritten in place
        trained 3 epochs, 135 steps, loss 0.0921                     the line that stays

    Args:
        width: characters of the bar.
        stream: where to write; standard output by default.

    A notebook gets the one line: its live display belongs to ``msnb.notebook``, which listens to the event ``step``.
    """

    reports_progress = True

    def __init__(self, width: int = 30, stream: TextIO | None = None) -> None:
        self._width, self._stream = need_count("width", width), stream
        self._live = False
        self._loss = math.nan

    def _write(self, text: str) -> None:
        out = sys.stdout if self._stream is None else self._stream
        out.write(text)
        out.flush()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Draw only where the output is a terminal."""
        out = sys.stdout if self._stream is None else self._stream
        self._live = bool(getattr(out, "isatty", lambda: False)()) and os.environ.get("MSNB_NBVAL") != "1"

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Draw the bar again."""
        if not self._live:
            return
        params = run_context.original_args()
        done = self._width * params.step_in_epoch // params.batch_num
        bar = ("=" * done + ">")[: self._width].ljust(self._width)
        counts = f"{params.step_in_epoch}/{params.batch_num}"
        self._write(
            f"\repoch {params.cur_epoch_num}/{params.epoch_num} [{bar}] {counts} loss {loss_of(params):.4f}\x1b[K"
        )

    def on_train_end(self, run_context: RunContext) -> None:
        """The line that stays."""
        params = run_context.original_args()
        start = "\r\x1b[K" if self._live else ""
        epochs, steps = params.cur_epoch_num - params.initial_epoch, params.cur_step_num - params.initial_step
        loss = f", loss {loss_of(params):.4f}" if steps else ""
        self._write(f"{start}trained {epochs} epoch{'s' * (epochs != 1)}, {steps} step{'s' * (steps != 1)}{loss}\n")


class History(Callback):
    """Keeps what happened.

    Attributes:
        epoch: ``{"epoch": [1, 2, ...]}``.
        history: name -> one number per epoch: "loss" (mean over the epoch's steps), "net_output" (its last step) and
            the metrics of ``fit``.

    Source: `mindspore.train.History`
    """

    def __init__(self) -> None:
        self.epoch: dict[str, list[int]] = {"epoch": []}
        self.history: dict[str, list[Any]] = {}
        self._losses: list[float] = []

    def begin(self, run_context: RunContext) -> None:
        """Forget the last run."""
        self.epoch, self.history, self._losses = {"epoch": []}, {}, []

    def step_end(self, run_context: RunContext) -> None:
        """Note the loss."""
        if run_context.original_args().mode == "train":
            self._losses.append(loss_of(run_context.original_args()))

    def epoch_end(self, run_context: RunContext) -> None:
        """Enter the epoch."""
        params = run_context.original_args()
        if params.mode != "train" or not self._losses:
            return
        self.epoch["epoch"].append(params.cur_epoch_num)
        found = {"loss": float(np.mean(self._losses)), "net_output": self._losses[-1]}
        found |= params.get("eval_results") or {}
        for name, value in found.items():
            self.history.setdefault(name, []).append(value._host() if isinstance(value, Tensor) else value)
        self._losses = []


OnRun = Callable[[RunContext], Any] | None


class LambdaCallback(Callback):
    """A callback made of functions of the run context, by the names of the methods.

    Source: `mindspore.train.LambdaCallback`

    Examples:
        >>> import msnb as ms
        >>> quiet = ms.train.LambdaCallback(on_train_epoch_end=lambda run: print(run.original_args().cur_epoch_num))
    """

    def __init__(
        self, on_train_epoch_begin: OnRun = None, on_train_epoch_end: OnRun = None, on_train_step_begin: OnRun = None,
        on_train_step_end: OnRun = None, on_train_begin: OnRun = None, on_train_end: OnRun = None,
        on_eval_epoch_begin: OnRun = None, on_eval_epoch_end: OnRun = None, on_eval_step_begin: OnRun = None,
        on_eval_step_end: OnRun = None, on_eval_begin: OnRun = None, on_eval_end: OnRun = None, **others: OnRun,
    ) -> None:  # fmt: skip
        said = {name: value for name, value in locals().items() if name.startswith("on_")}
        if others:
            raise ArgumentError(f"LambdaCallback has no {next(iter(others))!r}; legal: {', '.join(said)}.")
        for name, function in said.items():
            if function is not None:
                setattr(self, name, function)
