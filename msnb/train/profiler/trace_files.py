"""The files of a profile: a timeline for Perfetto or chrome://tracing, and tables.

    <folder>/<worker>_<time>_msnb/     trace_view.json        every span
                                       op_statistic.csv       per name: how often, total, mean, least, most, share
                                       step_trace_time.csv    per step: its time, ops, programs, compilations, the rest
                                       operator_details.csv   every op and program, with types and line
                                       profiler_metadata.json what ``add_metadata`` was given
"""

from __future__ import annotations

import csv
import io
import json
import os
import socket
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msnb.base.files.atomic_write import write_whole
from msnb.train.profiler.trace_recorder import TraceSpan

__all__ = ["OpStatistics", "op_statistics", "write_profile"]

TIMED = ("op", "program", "compile")


class OpStatistics(NamedTuple):
    """What all runs of one op or program took; times in microseconds.

    Attributes:
        name, category, calls: whose, and how often it ran.
        total, mean, least, most: its times.
        share: of all that was timed, 0 to 1.
    """

    name: str
    category: str
    calls: int
    total: float
    mean: float
    least: float
    most: float
    share: float


def op_statistics(spans: Iterable[TraceSpan]) -> list[OpStatistics]:
    """The ops, programs and compilations, the longest first."""
    found: dict[tuple[str, str], list[float]] = {}
    for span in spans:
        if span.category in TIMED:
            found.setdefault((span.name, span.category), []).append(span.duration)
    whole = sum(map(sum, found.values())) or 1.0
    rows = [
        OpStatistics(name, category, len(t), sum(t), sum(t) / len(t), min(t), max(t), sum(t) / whole)
        for (name, category), t in found.items()
    ]
    return sorted(rows, key=lambda row: -row.total)


def _trace(spans: Sequence[TraceSpan], worker: str) -> str:
    pid = os.getpid()
    rows: list[dict[str, Any]] = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"msnb {worker}"}}]
    for s in spans:
        shape: dict[str, Any] = {"ph": "i", "s": "t"} if s.category == "mark" else {"ph": "X", "dur": s.duration}
        about = {"name": s.name, "cat": s.category, "pid": pid, "tid": s.thread, "ts": s.start}
        rows.append({**about, **shape, "args": {"step": s.step, **s.args}})
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"})


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([f"{x:.3f}" if isinstance(x, float) else x for x in row] for row in rows)
    return text.getvalue()


def _steps(spans: Sequence[TraceSpan]) -> str:
    rows = []
    for step in [s for s in spans if s.category == "step"]:
        inside = [s for s in spans if s.step == step.step]
        parts = [sum(s.duration for s in inside if s.category == kind) for kind in TIMED]
        rows.append([step.step, step.duration, *parts, max(step.duration - sum(parts), 0.0)])
    return _table(("step", "time(us)", "ops(us)", "programs(us)", "compile(us)", "rest(us)"), rows)


def _details(spans: Sequence[TraceSpan]) -> str:
    rows = [
        [s.name, s.category, s.step, s.start, s.duration, *(s.args.get(k, "") for k in ("inputs", "outputs", "line"))]
        for s in spans
        if s.category in TIMED
    ]
    return _table(("name", "kind", "step", "start(us)", "duration(us)", "inputs", "outputs", "line"), rows)


def write_profile(folder: str | Path, worker: str | None, spans: Sequence[TraceSpan], metadata: dict[str, Any]) -> Path:
    """Write the files of a profile.

    Args:
        folder: made if need be.
        worker: who ran; by default the machine's name and the number of the process.
        spans: what was recorded.
        metadata: what the user adds.

    Returns:
        The folder of this profile.
    """
    worker = worker or f"{socket.gethostname()}_{os.getpid()}"
    now = time.time()
    name = f"{worker}_{time.strftime('%Y%m%d%H%M%S', time.localtime(now))}{int(now * 1000) % 1000:03d}_msnb"
    home = Path(folder) / name
    home.mkdir(parents=True, exist_ok=True)
    texts = {
        "trace_view.json": _trace(spans, worker),
        "op_statistic.csv": _table(
            ("name", "kind", "count", "total(us)", "mean(us)", "min(us)", "max(us)", "share"), op_statistics(spans)
        ),
        "step_trace_time.csv": _steps(spans),
        "operator_details.csv": _details(spans),
        "profiler_metadata.json": json.dumps(metadata),
    }
    for file, text in texts.items():
        write_whole(str(home / file), lambda f, text=text: f.write(text.encode()))  # type: ignore[misc]
    return home
