"""Timelines as Chrome trace events, which Perfetto reads: one process, a thread per stream, a span per event.

    {"ph": "X", "tid": 0, "name": "conv2d", "ts": 12.5, "dur": 65.4}        microseconds
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_trace(path: str | Path, process: str, events: Sequence[tuple[str, float, float, str]]) -> None:
    """Events (stream, start, end, what) in seconds as a Chrome trace file."""
    streams = list(dict.fromkeys(stream for stream, *_ in events))
    out: list[dict[str, Any]] = [{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": process}}]
    out += [{"ph": "M", "pid": 0, "tid": i, "name": "thread_name", "args": {"name": s}} for i, s in enumerate(streams)]
    out += [
        {"ph": "X", "pid": 0, "tid": streams.index(s), "name": what, "ts": a * 1e6, "dur": (b - a) * 1e6, "cat": s}
        for s, a, b, what in events
    ]
    Path(path).write_text(json.dumps({"traceEvents": out, "displayTimeUnit": "ns"}) + "\n", encoding="utf-8")
