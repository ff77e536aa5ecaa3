"""Where the time of a compilation went, as a table.

    step, version 1: first call                       ms      share
    capture                                         31.4        42%
      conversion of the source                       8.2        11%    12 functions
      guards                                         4.1         5%    206 guards
      tracing                                       19.1        25%    what is left of the capture
    passes                                          19.7        26%
      gradients                                      9.9        13%
      inline                                         0.4         1%
      ...
    code                                            24.6        33%
      kernels lowered                                2.1         3%    5 times
      kernels rendered, compiled, loaded            21.0        28%    1 time
      machine code                                  18.0        24%    1 time

Gradients that cannot wait (``autodiff.deferred_gradient``) are a part of the capture. A program from the disk cache has
one row in place of passes and code. Rows of the code may overlap: machine code is a part of what kernels take. All come
from the version's own times: ``Version.seconds``, ``Version.times`` (see ``msnb.base.compile_timing``) and
``Compiled.timings``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msnb.autodiff.deferred_gradient import owes

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
    total, compiled, inside = version.seconds[1], version.compiled, _inside(version.times[1])
    if compiled.bound:
        return [TimingRow(0, "program bound to sizes", total, "no gradients, no passes, no code"), *inside]
    if compiled.recalled:
        saved = "no gradients, no passes, no code" if owes(compiled.noted) else "no passes, no code"
        return [TimingRow(0, "program from the disk cache", total, saved), *inside]
    code = compiled.timings.get("compile", 0.0)
    before = max(total - code, 0.0)
    return [TimingRow(0, "passes", before), *_passes(version, before), TimingRow(0, "code", code), *inside]


def _passes(version: Any, total: float) -> list[TimingRow]:
    """Gradients that waited, then every pass."""
    times, compiled = version.times[1], version.compiled
    rewrites = {stage.name: stage.rewrites for stage in compiled.stages}
    rows = [TimingRow(1, _IN_CAPTURE["autodiff"], times["autodiff"])] if "autodiff" in times else []
    for name, seconds in compiled.timings.items():
        if name != "compile":
            rows.append(TimingRow(1, _pass(name), seconds, _rewrites(rewrites.get(name, 0))))
    rest = total - sum(row.seconds for row in rows)
    return [*rows, TimingRow(1, "the rest", max(rest, 0.0), "verification, first imports")]


def _inside(times: Any) -> list[TimingRow]:
    """What was timed, then what was counted, while code was made."""
    names = sorted(set(times) - {"autodiff"})
    timed = [TimingRow(1, name, times[name], _often(times, name, "time")) for name in names]
    return [*timed, *(TimingRow(1, name, 0.0, str(n)) for name, n in times.counts.items() if name not in times)]


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
