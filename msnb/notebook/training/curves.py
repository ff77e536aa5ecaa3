"""``ms.show.curves``: a training watched while it runs, and one picture of it that stays.

    while it runs     a bar and growing curves in the cell, redrawn at most twice a second (display update)
    when it is over   the same picture without a bar: loss, accuracy (or whatever ``fit`` evaluates), learning rate

    curves = ms.show.curves()
    model.fit(5, train_set, valid_set, callbacks=[curves])          as a callback
    for x, y in data: curves.record(loss=step(x, y))                in a loop of your own; ``curves.done()`` at its end

What stays holds no times, so a saved notebook can be compared; ``times=True`` adds the throughput. Where outputs are
being compared (the environment variable MSNB_NBVAL is 1) nothing is redrawn: the final picture comes at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from msnb.base import events
from msnb.core import Tensor
from msnb.notebook.charts.display import display_bundle, shell
from msnb.notebook.charts.html_fragments import Row, columns, figure, number_word, table
from msnb.notebook.charts.plot import Curve, Panel, curves_svg
from msnb.notebook.drawing import SOFT, rect, text as words
from msnb.notebook.views.view import Section, View
from msnb.train import Callback, RunContext
from msnb.train.callbacks.callback import loss_of
from msnb.train.callbacks.progress import rate_of, rows_of

REDRAW = 0.5
MOST_POINTS = 400
MOST_ROWS = 30
LOSS, RATE, SPEED = "loss", "learning rate", "samples per second"


class CurvesView(View, Callback):
    """Curves of a training: a callback of ``Model``, a recorder for loops of one's own, a view.

    Args:
        title: above the picture (the network's class by default).
        live: redraw while the training runs, where a notebook shows it.
        times: keep the throughput in what stays.
        log: a logarithmic axis for the loss.

    Attributes:
        series: name -> (steps, values).
    """

    kind = "training"
    reports_progress = True

    def __init__(self, title: str = "", live: bool = True, times: bool = False, log: bool = False) -> None:
        super().__init__(title or "training")
        self._named = bool(title)
        self.times: bool = times
        self.log: bool = log
        self.live: bool = live and os.environ.get("MSNB_NBVAL") != "1"
        self._reset()

    def _reset(self) -> None:
        self.series: dict[str, tuple[list[int], list[float]]] = {}
        self.epochs: list[int] = []
        self.step: int = 0
        self._steps_planned = 0
        self._handle: Any = None
        self._drawn = perf_counter()
        self._samples = 0
        self.over: bool = False

    # ---- collecting ----

    def record(self, step: int | None = None, **values: Any) -> None:
        """Note values of a step.

        Args:
            step: its number (one more than the last by default).
            **values: ``loss=``, ``accuracy=``, ``learning_rate=`` or any other name; numbers or 0-d tensors.
        """
        self.step = self.step + 1 if step is None else step
        for name, value in values.items():
            self._note(name.replace("_", " "), value)
        self._redraw()

    def _note(self, name: str, value: Any) -> None:
        xs, ys = self.series.setdefault(name, ([], []))
        xs.append(self.step)
        ys.append(float(np.mean(value._host() if isinstance(value, Tensor) else value)))

    def done(self) -> CurvesView:
        """The training is over: draw it for the last time."""
        events.unsubscribe("step", self._heard)
        if not self.over:
            self.over = True
            self._show_final()
        return self

    def on_train_begin(self, run_context: RunContext) -> None:
        """A new training."""
        self._reset()
        params = run_context.original_args()
        if not self._named:
            self.title: str = type(params.network).__name__
        self._steps_planned = params.batch_num * (params.epoch_num - params.initial_epoch)
        self._first = int(params.cur_step_num)
        self._sunk = bool(params.get("dataset_sink_mode"))
        if self._sunk:  # many steps are one call: each tells of itself by an event
            events.subscribe("step", self._heard)

    def _heard(self, loss: Any, **_: Any) -> None:
        self.record(loss=loss[0] if isinstance(loss, (tuple, list)) else loss)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Loss, learning rate, throughput."""
        params = run_context.original_args()
        self.step = int(params.cur_step_num) - self._first
        if not self._sunk:
            self._note(LOSS, loss_of(params))
        rate = rate_of(params.optimizer)
        if rate is not None:
            self._note(RATE, rate)
        self._samples += rows_of(params.train_dataset_element)
        self._redraw()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """What the evaluation gave."""
        params = run_context.original_args()
        self.epochs.append(self.step)
        for name, value in (params.get("eval_results") or {}).items():
            if isinstance(value, (int, float, np.generic, Tensor)) and np.size(value) == 1:
                self._note(name if name != LOSS else "loss (evaluated)", value)

    def on_train_end(self, run_context: RunContext) -> None:
        """The picture that stays."""
        self.done()

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        """A training that ends by an error leaves its picture too."""
        events.unsubscribe("step", self._heard)
        if kind is not None and self.series:
            self.done()

    # ---- showing ----

    def _redraw(self) -> None:
        now = perf_counter()
        if now - self._drawn < REDRAW:
            return
        if self._samples:
            self._note(SPEED, self._samples / (now - self._drawn))
            self._samples = 0
        self._drawn = now
        if self.live and shell() is not None:
            self._update(self._bundle_live())

    def _update(self, bundle: dict[str, Any]) -> None:
        if self._handle is None:
            self._handle = display_bundle(bundle, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def _show_final(self) -> None:
        if shell() is None:
            return
        if self._handle is not None:
            self._update(self._repr_mimebundle_())
        else:
            display_bundle(self._repr_mimebundle_())

    def _bundle_live(self) -> dict[str, Any]:
        svg = self._drawing(live=True)
        return {"text/html": figure(svg, f"training of {self.title}"), "text/plain": f"step {self.step}"}

    def _drawing(self, live: bool) -> str:
        svg = curves_svg(f"training of {self.title}", self.panels(live), "step")
        return with_bar(svg, self.step / self._steps_planned) if live and self._steps_planned else svg

    def panels(self, live: bool = False) -> list[Panel]:
        """Losses together, then everything between 0 and 1, then the rest, each by itself."""
        panels: dict[tuple[int, str], list[str]] = {}
        for name in self.series:
            if name != SPEED or live or self.times:
                panels.setdefault(self._panel(name), []).append(name)
        return [
            Panel(title, [self._curve(n) for n in names], log=self.log and place == 0, strong=self.epochs)
            for (place, title), names in sorted(panels.items(), key=lambda item: item[0][0])
            if place < 2 or not self._flat(title)
        ]

    def _panel(self, name: str) -> tuple[int, str]:
        """The place and the title of the panel that a curve is in."""
        if name.startswith(LOSS):
            return 0, LOSS
        return (1, "evaluated") if name != RATE and all(0 <= v <= 1 for v in self.series[name][1]) else (2, name)

    def _flat(self, name: str) -> bool:
        """A constant learning rate is a word, not a curve."""
        return name == RATE and len(set(self.series[name][1])) < 2

    def _curve(self, name: str) -> Curve:
        xs, ys = self.series[name]
        if len(xs) <= MOST_POINTS:
            return Curve(name, xs, ys, points=len(xs) < 25)
        size = -(-len(xs) // MOST_POINTS)
        cuts = range(0, len(xs), size)
        return Curve(name, [xs[i] for i in cuts], [_mean(ys[i : i + size]) for i in cuts])

    @property
    def svg(self) -> str:
        """The curves."""
        return self._drawing(live=False)

    @property
    def head(self) -> Row:
        """Titles of the columns."""
        return ("epoch" if self.epochs else "step", *(n for n in self.series if n != SPEED or self.times))

    @property
    def rows(self) -> list[Row]:
        """Per epoch the last value of everything (of the loss the mean); without epochs some steps."""
        ends = self.epochs or _some_steps(self.step)
        out, start = list[Row](), 0
        for k, end in enumerate(ends, 1):
            names = self.head[1:]
            cells = [self._cell(name, start, end) for name in names]
            out.append((str(k if self.epochs else end), *cells))
            start = end
        return out

    def _cell(self, name: str, start: int, end: int) -> str:
        xs, ys = self.series[name]
        found = [y for x, y in zip(xs, ys) if start < x <= end]
        if not found:
            return ""
        return number_word(_mean(found) if name in (LOSS, SPEED) else found[-1])

    @property
    def text(self) -> str:
        """Per epoch; no times."""
        if not self.series:
            return f"{self.title}: nothing recorded yet."
        return f"{self.title}: {self.step} steps\n{columns(self.head, self.rows)}"

    @property
    def sections(self) -> list[Section]:
        """The table."""
        return [("Per epoch" if self.epochs else "Some steps", table(self.head, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """All values, without times; what is no number is null."""
        shown = {n: s for n, s in self.series.items() if n != SPEED or self.times}
        clean = {n: [xs, [y if math.isfinite(y) else None for y in ys]] for n, (xs, ys) in shown.items()}
        return {"steps": self.step, "epochs": self.epochs, "series": clean}


def _some_steps(last: int) -> list[int]:
    every = max(1, -(-last // MOST_ROWS))
    return sorted({*range(every, last + 1, every), last}) if last else []


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def with_bar(svg: str, share: float) -> str:
    """The picture with a bar at its upper edge."""
    share = min(max(share, 0.0), 1.0)
    bar = rect(560, 16, 120, 8, "#e8ecf2", radius=4) + rect(560, 16, max(120 * share, 1), 8, "#3f9a98", radius=4)
    return svg.replace("</svg>", f"{bar}{words(690, 24, f'{share:.0%}', 10.5, SOFT, anchor='start')}</svg>")


@contextmanager
def watching(view: CurvesView) -> Iterator[CurvesView]:
    """Within this block, every step of any ``Model`` is noted in the view (the event ``step``)."""

    with events.listening("step", view._heard):
        yield view
    view.done()
