"""Where the time of a compilation went, as a table.

    step, version 1: first call                       ms      share
    capture                                         41.3        55%
      conversion of the source                       8.2        11%    12 functions
      gradients                                      9.9        13%
      guards                                         4.1         5%    206 guards
      tracing                                       19.1        25%    what is left of the capture
    passes                                           9.8        13%
      inline                                         0.4         1%
      ...
    code                                            24.6        33%
      kernels lowered                                2.1         3%    5 times
      kernels rendered, compiled, loaded            21.0        28%    1 time
      machine code                                  18.0        24%    1 time

Rows of the code may overlap: machine code is a part of what kernels take. All come from the version's own times:
``Version.seconds``, ``Version.times`` (see ``msnb.core.clock``) and ``Compiled.timings``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_IN_CAPTURE = {"conversion": "conversion of the source", "autodiff": "gradients", "guards": "guards"}
_FIRST = ("captured",)


@dataclass(frozen=True)
class TimingRow:
    """One line.

    Attributes:
        depth: 0 for the parts of the whole, 1 for parts of those.
        name: what was done.
        seconds: how long it took.
        note: how many, how often.
    """

    depth: int
    name: str
    seconds: float
    note: str = ""


def timing_rows(version: Any) -> list[TimingRow]:
    """The rows of one compiled version, largest parts in the order in which they happen; the last one is the total."""
    rows = [*_capture(version), *_compile(version)]
    return [*rows, TimingRow(0, "total", sum(version.seconds))]


def _capture(version: Any) -> list[TimingRow]:
    total, times = version.seconds[0], version.times[0]
    notes = {"guards": f"{len(version.captured.guards)} guards", "conversion": _often(times, "conversion", "function")}
    rows = [TimingRow(1, text, times[name], notes.get(name, "")) for name, text in _IN_CAPTURE.items() if name in times]
    rest = total - sum(row.seconds for row in rows)
    return [TimingRow(0, "capture", total), *rows, TimingRow(1, "tracing", max(rest, 0.0), "the rest of the capture")]


def _often(times: Any, name: str, what: str) -> str:
    n = times.counts.get(name, 0)
    return f"{n} {what}{'' if n == 1 else 's'}" if n else ""


def _compile(version: Any) -> list[TimingRow]:
    total, times, timings = version.seconds[1], version.times[1], dict(version.compiled.timings)
    code = timings.pop("compile", 0.0)
    inside = [TimingRow(1, name, times[name], _often(times, name, "time")) for name in sorted(times)]
    counts = [TimingRow(1, name, 0.0, str(n)) for name, n in times.counts.items() if name not in times]
    if version.compiled.recalled:
        return [TimingRow(0, "program from the disk cache", total, "no passes, no code"), *inside, *counts]
    rewrites = {stage.name: stage.rewrites for stage in version.compiled.stages}
    passes = [TimingRow(1, _pass(name), s, _rewrites(rewrites.get(name, 0))) for name, s in timings.items()]
    rest = TimingRow(1, "the rest", max(total - code - sum(timings.values()), 0.0), "verification, first imports")
    return [TimingRow(0, "passes", max(total - code, 0.0)), *passes, rest, TimingRow(0, "code", code), *inside, *counts]


def _pass(name: str) -> str:
    return "checks of the captured graph" if name in _FIRST else name


def _rewrites(n: int) -> str:
    return f"{n} rewrite{'' if n == 1 else 's'}" if n else ""


def timing_table(name: str, version: Any) -> str:
    """The rows as text."""
    rows = timing_rows(version)
    whole = max(rows[-1].seconds, 1e-9)
    head = f"{name}, version {version.number}: {version.reason}"
    lines = [f"{head:<46} {'ms':>8} {'share':>7}"]
    for row in rows:
        label = f"{'  ' * row.depth}{row.name}"
        lines.append(f"{label:<46} {1000 * row.seconds:>8.1f} {row.seconds / whole:>7.0%}  {row.note}".rstrip())
    return "\n".join(lines)
