"""A training as a cell shows it without being asked: a bar, a small curve of the loss, a row per epoch.

    while it runs     redrawn at most twice a second, in place
    when it is over   table and curve stay in the saved notebook; what ended it early is said above them

The text holds no times, so that stored notebooks can be compared; the table has speed and time of each epoch in its
last columns. Where outputs are being compared (MSNB_NBVAL is 1) nothing is redrawn: the last state comes at once.
"""

from __future__ import annotations

import html
import math
import os
from typing import Any

from msnb.notebook.charts.display import display_bundle
from msnb.notebook.charts.html_fragments import columns, figure, table
from msnb.notebook.charts.plot import tick_word
from msnb.notebook.drawing import ALARM, CARD, LINE_COLOUR, SOFT, number, page, rect, text
from msnb.train.callbacks.progress import EpochRow, TrainingProgress, cells_of, seconds_word, value_word

LIVE_ROWS, FINAL_ROWS = 12, 60
W, H, HEAD, FOOT, SIDE = 300.0, 128.0, 24.0, 20.0, 44.0
BLUE, TEAL = "#2f6fbf", "#3f9a98"
TIMES = ("speed", "time")


def show(progress: TrainingProgress, moment: str) -> None:
    """A moment of a training: draw it, or draw it again.

    Args:
        progress: the training.
        moment: "begin", "step", "epoch" or "end".
    """
    if moment != "end" and (moment == "begin" or os.environ.get("MSNB_NBVAL") == "1"):
        return
    bundle = bundle_of(progress)
    if progress.display is None:
        progress.display = display_bundle(bundle, display_id=True)
    else:
        progress.display.update(bundle, raw=True)


def bundle_of(progress: TrainingProgress) -> dict[str, Any]:
    """A training as HTML and as text."""
    return {"text/html": html_of(progress), "text/plain": text_of(progress)}


def html_of(progress: TrainingProgress) -> str:
    """Where it is, the table of epochs, the curve beside it."""
    where = html.escape(_where(progress))
    rows, left_out = _shown(progress)
    parts = [f"<div>{where}</div>" if where else ""]
    if progress.ended is None:
        parts.append(figure(bar_svg(progress.share), f"{progress.share:.0%} done"))
    curve = figure(curve_svg(progress), _trend(progress)) if len(progress.curve.points) > 1 else ""
    grid = table(*_grid(rows, times=True)) if rows else ""
    if left_out:
        grid += f"<div>{left_out} epochs between are not shown</div>"
    beside = f"<table><tr><td>{grid}</td><td>{curve}</td></tr></table>" if grid and curve else grid + curve
    return f"<div>{''.join(parts)}{beside}</div>"


def text_of(progress: TrainingProgress) -> str:
    """The table without times."""
    rows, left_out = _shown(progress)
    head = f"training of {progress.title}: {len(progress.rows)} of {progress.epochs - progress.first} epochs"
    lines = [head + (f", {progress.ended}" if progress.ended else "")]
    lines += [columns(*_grid(rows, times=False))] if rows else []
    lines += [f"({left_out} epochs between are not shown)"] if left_out else []
    return "\n".join(lines)


def _where(progress: TrainingProgress) -> str:
    if progress.ended is not None:
        return f"the training of {progress.title} {progress.ended}" if progress.ended else ""
    row, left = progress.current, progress.seconds_left
    words = [f"{progress.title}: epoch {progress.epoch} of {progress.epochs}, step {progress.step} of {progress.steps}"]
    words += [] if row.loss is None else [f"loss {value_word(row.loss)}"]
    words += [f"{row.speed:,.0f} samples/s"] if row.seconds else []
    words += [] if left is None else [f"{seconds_word(left)} left"]
    return ", ".join(words)


def _shown(progress: TrainingProgress) -> tuple[list[EpochRow], int]:
    """The rows that are shown, and how many between the first and the last ones are not."""
    most = FINAL_ROWS if progress.ended is not None else LIVE_ROWS
    rows = progress.rows
    if len(rows) <= most:
        return rows, 0
    return [*rows[: most // 2], *rows[-(most - most // 2) :]], len(rows) - most


def _grid(rows: list[EpochRow], times: bool) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and lines: epoch, loss, metrics, rate; speed and time where they are wanted."""
    cells = [dict(_named_cells(row)) for row in rows]
    names = list(dict.fromkeys(name for line in cells for name in line if name not in TIMES))
    names += TIMES if times else ()
    lines = [(str(row.epoch), *(line.get(name, "") for name in names)) for row, line in zip(rows, cells)]
    return ("epoch", *names), lines


def _named_cells(row: EpochRow) -> list[tuple[str, str]]:
    """The cells of a row, all with a name."""
    *named, (_, speed), (_, time) = cells_of(row)
    return [*named, ("speed", speed), ("time", time)]


# ---- drawings ----


def bar_svg(share: float) -> str:
    """A bar, as full as the training is done."""
    parts = [rect(0, 0, 600, 8, "#e8ecf2", radius=4), rect(0, 0, max(600 * share, 1), 8, TEAL, radius=4)]
    return page(600, 8, parts, f"{share:.0%} done")


def curve_svg(progress: TrainingProgress) -> str:
    """The loss over the steps: its highest and lowest value at the side, the steps below."""
    values = progress.curve.points
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    span = high - low or abs(high) or 1.0

    def place(i: int, value: float) -> tuple[float, float]:
        x = SIDE + (W - SIDE - 10) * i / max(len(values) - 1, 1)
        return x, HEAD + (H - HEAD - FOOT) * (high - value) / span

    runs: list[list[tuple[float, float]]] = [[]]
    for i, value in enumerate(values):
        if math.isfinite(value):
            runs[-1].append(place(i, value))
        elif runs[-1]:
            runs.append([])
    parts = [rect(0.5, 0.5, W - 1, H - 1, CARD, LINE_COLOUR, 8), text(12, 16, "loss", 11, SOFT, 600, "start")]
    for run in runs:
        d = "L".join(f"{number(x)} {number(y)}" for x, y in run)
        parts.append(f'<path d="M{d}" fill="none" stroke="{BLUE}" stroke-width="1.6"/>' if len(run) > 1 else "")
    for value, y in ((high, HEAD + 4), (low, H - FOOT + 2)):
        parts.append(text(SIDE - 5, y, tick_word(float(f"{value:.3g}")), 10, SOFT, anchor="end") if finite else "")
    bad = len(values) - len(finite)
    note = f"{len(values) * progress.curve.width} steps" + (", not finite at the end" if bad else "")
    parts.append(text((W + SIDE) / 2, H - 6, note, 10, ALARM if bad else SOFT))
    return page(W, H, parts, _trend(progress))


def _trend(progress: TrainingProgress) -> str:
    values = progress.curve.points
    steps = len(values) * progress.curve.width
    return f"loss {value_word(values[0])} -> {value_word(values[-1])} over {steps} steps"
