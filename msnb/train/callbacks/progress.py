"""What a training tells while it runs, without being asked: a row per epoch.

    epoch 2/3  [==========>         ] 24/45  loss 0.4182  1,204 samples/s  3 s left      a terminal, rewritten in place
    epoch 2/3  loss 0.3871  accuracy 0.913  rate 0.002  1,198 samples/s  1.2 s           the line that stays

A notebook shows the same as a table with a bar and a curve: ``msnb.notebook`` listens to the event ``training``, and
then nothing is printed. ``verbose=0`` is silent. A callback that reports by itself (``reports_progress``: LossMonitor,
TimeMonitor, ProgressBar, ``ms.show.curves``) takes the place of this report unless ``verbose`` asks for it.

The loss of an epoch is the mean over its steps. Speed counts the training steps alone, not the evaluations.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from msnb.base import PYNATIVE_MODE, ArgumentError, AttributeValueError, events, set_context
from msnb.core import Parameter, Tensor, current
from msnb.train.callbacks.callback import Callback, RunContext, RunParams

REDRAW = 0.5
LIVE, LINES = 1, 2
MOST_POINTS = 400
MOST_PENDING = 64
_BAR = 20


@dataclass
class EpochRow:
    """What one epoch gave.

    Attributes:
        epoch: its number.
        loss: the mean over its steps, None where the network gives no loss.
        metrics: what was evaluated after it, by name.
        rate: the learning rate at its end, None where it cannot be told.
        samples, seconds: rows of data trained on, and for how long.
    """

    epoch: int
    loss: float | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    rate: float | None = None
    samples: int = 0
    seconds: float = 0.0

    @property
    def speed(self) -> float:
        """Samples per second."""
        return self.samples / self.seconds if self.seconds else 0.0


@dataclass
class TrainingProgress:
    """How far a training is.

    Attributes:
        title: the class of the network.
        first, epochs, steps: the epoch before the first, the last one, steps per epoch.
        epoch, step: where it is.
        rows: the epochs that are through.
        current: the epoch that runs.
        curve: losses over the steps, thinned out to at most MOST_POINTS means.
        started: the clock at its beginning.
        ended: None while it runs; then "" or the sentence on what ended it.
        display: what a listener shows it with.
    """

    title: str
    first: int
    epochs: int
    steps: int
    epoch: int = 0
    step: int = 0
    rows: list[EpochRow] = field(default_factory=list)
    current: EpochRow = field(default_factory=lambda: EpochRow(0))
    curve: LossCurve = field(default_factory=lambda: LossCurve())
    started: float = field(default_factory=perf_counter)
    ended: str | None = None
    display: Any = None

    @property
    def share(self) -> float:
        """How much of all steps is done, from 0 to 1."""
        done = (max(self.epoch, 1 + self.first) - 1 - self.first) * self.steps + self.step
        return min(done / max((self.epochs - self.first) * self.steps, 1), 1.0)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far, evaluations included; None before the first step."""
        share = self.share
        return (perf_counter() - self.started) * (1 - share) / share if share else None


class LossCurve:
    """Losses over the steps in a bounded number of points: when they are too many, neighbours become their mean."""

    width: int

    def __init__(self) -> None:
        self.points: list[float] = []
        self.width = 1  # steps per point
        self._open: list[float] = []

    def add(self, value: float) -> None:
        """The loss of the next step."""
        self._open.append(value)
        if len(self._open) < self.width:
            return
        self.points.append(sum(self._open) / self.width)
        self._open = []
        if len(self.points) >= MOST_POINTS:
            pairs = zip(self.points[::2], self.points[1::2])
            self.points, self.width = [(a + b) / 2 for a, b in pairs], self.width * 2


class ProgressMonitor(Callback):
    """Collects a TrainingProgress, and shows it: in the notebook that listens, else in the terminal.

    Args:
        verbose: 1: a live row where the output can be rewritten; 2: one line per epoch.
    """

    def __init__(self, verbose: int = LIVE) -> None:
        self._verbose = verbose
        self._progress: TrainingProgress | None = None
        self._pending: list[Any] = []
        self._total, self._count = 0.0, 0  # of the losses of this epoch
        self._told = self._begun = 0.0
        self._sunk = False
        self._rewrites = False

    def on_train_begin(self, run_context: RunContext) -> None:
        """A new training."""
        params = run_context.original_args()
        name, first = type(params.network).__name__, int(params.initial_epoch)
        self._progress = TrainingProgress(name, first, int(params.epoch_num), int(params.batch_num), epoch=first)
        self._sunk = bool(params.get("dataset_sink_mode"))
        self._rewrites = self._verbose == LIVE and os.environ.get("MSNB_NBVAL") != "1" and sys.stdout.isatty()
        self._told = perf_counter()
        if self._sunk:
            events.subscribe("sunk steps", self._heard)
        self._tell("begin")

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start a row."""
        assert self._progress is not None
        self._progress.epoch, self._progress.step = int(run_context.original_args().cur_epoch_num), 0
        self._progress.current = EpochRow(self._progress.epoch)
        self._total, self._count, self._pending = 0.0, 0, []
        self._begun = perf_counter()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Nothing."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Note the loss: it is read later where it is one number, so that no step waits for it."""
        if not self._sunk:
            params = run_context.original_args()
            self._note(1, params["net_outputs"], rows_of(params["train_dataset_element"]))

    def _heard(self, rows: int, outputs: Any, last: Any) -> None:
        self._note(rows, outputs, rows * rows_of(last))

    def _note(self, steps: int, outputs: Any, samples: int) -> None:
        progress, output = self._progress, _first(outputs)
        assert progress is not None
        progress.step += steps
        progress.current.samples += samples
        self._pending.append(output)
        now, shape = perf_counter(), getattr(output, "shape", None)
        if now - self._told >= REDRAW or len(self._pending) >= MOST_PENDING or shape:
            self._read()
            if now - self._told >= REDRAW:
                self._told = now
                progress.current.seconds = now - self._begun
                self._tell("step")

    def _read(self) -> None:
        """The losses that wait, as numbers."""
        assert self._progress is not None
        for output in self._pending:
            for value in _losses(output, self._sunk):
                self._total += value
                self._count += 1
                self._progress.curve.add(value)
        self._pending = []
        if self._count:
            self._progress.current.loss = self._total / self._count

    def on_eval_begin(self, run_context: RunContext) -> None:
        """The training steps of this epoch are through: its clock stops."""
        if self._progress is not None and self._progress.ended is None:
            self._progress.current.seconds = perf_counter() - self._begun
            self._begun = math.nan

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """The row is complete."""
        assert self._progress is not None
        params, row = run_context.original_args(), self._progress.current
        self._read()
        if not math.isnan(self._begun):
            row.seconds = perf_counter() - self._begun
        row.metrics = dict(params.get("eval_results") or {})
        row.rate = epoch_rate(params)
        self._progress.rows.append(row)
        self._told = perf_counter()
        self._tell("epoch")

    def on_train_end(self, run_context: RunContext) -> None:
        """The state that stays."""
        self._end("")

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        """Also where an error or Ctrl-C ends it."""
        if self._progress is not None and self._progress.ended is None:
            place = f"epoch {self._progress.epoch}, after step {self._progress.step} of {self._progress.steps}"
            self._read()
            stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
            how = "interrupted" if stopped else f"ended by {kind.__name__}" if kind is not None else "ended"
            self._end(f"{how} in {place}")

    def _end(self, why: str) -> None:
        assert self._progress is not None
        events.unsubscribe("sunk steps", self._heard)
        self._progress.ended = why
        self._tell("end")

    def _tell(self, moment: str) -> None:
        assert self._progress is not None
        if self._verbose == LIVE and events.listeners.get("training"):
            events.emit("training", progress=self._progress, moment=moment)
        else:
            _print(self._progress, moment, self._rewrites)


def progress_monitor(verbose: Any, callbacks: tuple[Callback, ...]) -> tuple[Callback, ...]:
    """The report that ``verbose`` asks for, as a callback; empty where there is none.

    Args:
        verbose: "auto" (of several ranks the first reports), 0, 1 or 2.
        callbacks: the user's.

    Raises:
        TypeError, ValueError: another value.
    """
    if verbose == "auto":
        silent = current().rank > 0 or any(c.reports_progress for c in callbacks)
        return () if silent else (ProgressMonitor(LIVE),)
    if isinstance(verbose, str) or not isinstance(verbose, int):
        raise ArgumentError(f'verbose must be "auto", 0, 1 or 2, got {verbose!r}.')
    if verbose not in (0, LIVE, LINES):
        raise AttributeValueError(
            f'verbose must be "auto", 0, 1 or 2, got {verbose!r}.',
            hint="0 is silent, 1 a live row per epoch, 2 one line per epoch.",
        )
    return (ProgressMonitor(int(verbose)),) if verbose else ()


# ---- the terminal ----


def _print(progress: TrainingProgress, moment: str, rewrites: bool) -> None:
    clear = "\r\x1b[K" if rewrites else ""
    if moment == "epoch":
        print(f"{clear}{row_line(progress, progress.rows[-1])}", flush=True)
    elif moment == "step" and rewrites:
        print(f"\r{_live_line(progress)}\x1b[K", end="", flush=True)
    elif moment == "end" and progress.ended:
        print(f"{clear}the training {progress.ended}", flush=True)


def row_line(progress: TrainingProgress, row: EpochRow) -> str:
    """An epoch as a line: its loss, metrics, rate, speed and time."""
    words = [f"{name} {word}" if name else word for name, word in cells_of(row)]
    return "  ".join([f"epoch {row.epoch}/{progress.epochs}", *words])


def cells_of(row: EpochRow) -> list[tuple[str, str]]:
    """Name and word of each cell of an epoch's row; speed and time have no name."""
    cells = [] if row.loss is None else [("loss", value_word(row.loss))]
    cells += [(name if name != "loss" else "loss (evaluated)", value_word(v)) for name, v in row.metrics.items()]
    cells += [] if row.rate is None else [("rate", f"{row.rate:.4g}")]
    return [*cells, ("", f"{row.speed:,.0f} samples/s"), ("", seconds_word(row.seconds))]


def _live_line(progress: TrainingProgress) -> str:
    done = _BAR * progress.step // max(progress.steps, 1)
    bar = ("=" * done + ">")[:_BAR].ljust(_BAR)
    row, left = progress.current, progress.seconds_left
    parts = [f"epoch {progress.epoch}/{progress.epochs}", f"[{bar}] {progress.step}/{progress.steps}"]
    parts += [] if row.loss is None else [f"loss {value_word(row.loss)}"]
    parts += [f"{row.speed:,.0f} samples/s"] + ([] if left is None else [f"{seconds_word(left)} left"])
    return "  ".join(parts)


def value_word(value: Any) -> str:
    """A loss or a metric with four digits; what is no single number by its type."""
    if isinstance(value, Tensor):
        value = value._host()
    if isinstance(value, (bool, str)) or np.size(value) != 1:
        return str(value) if isinstance(value, (bool, str)) else f"{type(value).__name__} of {np.size(value)} numbers"
    return f"{float(np.asarray(value).item()):.4g}"


def seconds_word(seconds: float) -> str:
    """``0.04 s``, ``12 s``, ``3 min 20 s``."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


# ---- what a step says ----


def _first(outputs: Any) -> Any:
    return outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs


def _losses(output: Any, several: bool) -> list[float]:
    """The loss in a step's output, or in those of several steps; nothing where it is no number."""
    if isinstance(output, Tensor):
        output = output._host()
        if output.ndim == 0 and output.dtype == np.float32:
            return [output.item()]
    if isinstance(output, bool) or not isinstance(output, (int, float, np.ndarray, np.generic)):
        return []
    values = np.asarray(output)
    if values.dtype.kind not in "fiubV" or values.size == 0:
        return []
    wide = values.astype(np.float64)
    if several and wide.ndim:
        return [float(v) for v in wide.reshape(len(wide), -1).mean(axis=1)]
    return [float(wide.mean())]


def rate_of(optimizer: Any) -> float | None:
    """The learning rate of the present step, or None where it cannot be told without computing it."""
    rate = getattr(optimizer, "learning_rate", None)
    if isinstance(rate, Parameter) and rate.size == 1:
        return float(rate)
    return float(rate) if isinstance(rate, (int, float)) and not isinstance(rate, bool) else None


def epoch_rate(params: RunParams) -> float | None:
    """The learning rate at the end of an epoch; that of a schedule is computed, on one device."""
    optimizer = params.get("optimizer")
    if optimizer is None:
        return None
    rate = rate_of(optimizer)
    if rate is None and hasattr(optimizer, "get_lr") and params.get("parallel_mode") == "stand_alone":
        with set_context(mode=PYNATIVE_MODE):  # a schedule is a Cell: a row of the report compiles nothing
            rates = optimizer.get_lr()
        first = rates[0] if isinstance(rates, (tuple, list)) else rates
        return float(first) if np.size(first) == 1 else None
    return rate


def rows_of(element: Any) -> int:
    """How many samples a row of the data set holds."""
    first = _first(element)
    shape: tuple[int, ...] = getattr(first, "shape", ())
    return int(shape[0]) if shape else 1
