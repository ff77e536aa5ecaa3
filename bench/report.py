"""From what was measured to what is read: the bars, every contestant, the limits of the machine, and who was not there.

Measures: step (median of a step), best, cold and warm (first call without and with a cache on disk), peak (memory),
growth (first call of the larger program over that of the smaller). Ratios are "times better": theirs over ours, taken
round by round, then the median.

    python bench/report.py [build/bench.json]      the tables and the plot again, from kept measurements
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import plot
from bench.bars import BARS, GRAPH, Bar
from bench.case import Case
from bench.cases import CASES
from bench.contestants import BUILD, CONTESTANTS, PEERS, threads

Found = Mapping[str, Any]
BUSY = 0.2  # cores taken by others: a figure measured under more than that is marked


# --------------------------------------------------------------------------- arithmetic


Ways = tuple[str, str]  # contestant, measure


def values(found: Found, case: str, name: str, measure: str) -> list[float]:
    rounds = found["rounds"].get(case, [])
    return [r[name][measure] for r in rounds if measure in r.get(name, {})]


def median(found: Found, case: str, name: str, measure: str) -> float | None:
    mine = values(found, case, name, measure)
    return statistics.median(mine) if mine else None


def ratio(found: Found, case: str, ours: Ways, theirs: Ways) -> float | None:
    """Theirs over ours, paired within rounds; of the medians where no round has both."""
    (me, mine), (them, other) = ours, theirs
    paired: list[float] = [
        r[them][other] / r[me][mine]
        for r in found["rounds"].get(case, [])
        if mine in r.get(me, {}) and other in r.get(them, {})
    ]
    if paired:
        return statistics.median(paired)
    a, b = median(found, case, me, mine), median(found, case, them, other)
    return b / a if a and b else None


def best_of(found: Found, case: str, names: tuple[str, ...], measure: str) -> str | None:
    """The contestant with the lowest median."""
    there = {n: m for n in names if (m := median(found, case, n, measure)) is not None}
    return min(there, key=there.__getitem__) if there else None


def limit(found: Found, case: Case) -> float:
    """The least time that this machine could take, in seconds; 0 where the case has no such limit."""
    flops: float = max(one["flops"] for one in found["limits"])
    copied: float = max(one["bytes"] for one in found["limits"])
    for name in CONTESTANTS:
        if shown := values(found, "matmul", name, "best"):
            flops = max(flops, CASES["matmul"].flops / min(shown))
    return max(case.flops / flops, case.bytes / copied)


def difference(mine: list[list[list[float]]], theirs: list[list[list[float]]]) -> float:
    """The largest relative difference of what two contestants computed; against the size of the array it is from."""
    apart: list[float] = [0.0]
    for ours, others in zip(mine, theirs):
        if [len(group) for group in ours] != [len(group) for group in others]:
            return math.inf
        for group, other in zip(ours, others):
            scale = max(abs(group[0]), 1e-30)
            apart += [abs(a - b) / max(scale, abs(a)) for a, b in zip(group, other)]
    return math.inf if any(math.isnan(one) for one in apart) else max(apart)


def agreement(found: Found, case: str) -> dict[str, float]:
    """How far everybody's values of the first steps are from those of the first contestant that has them."""
    told: dict[str, Any] = {}
    for this in found["rounds"].get(case, []):
        told |= {name: record["values"] for name, record in this.items() if name not in told and "values" in record}
    names = [*(n for n in PEERS if n in told), *(n for n in told if n not in PEERS)]
    if not names:
        return {}
    spec = CASES[case]
    steps = {n: 1 if CONTESTANTS[n].framework in spec.drifts else None for n in names}
    return {n: difference(told[n][: steps[n]], told[names[0]][: steps[n]]) for n in names}


def disagreeing(found: Found, case: str) -> list[str]:
    return [n for n, far in agreement(found, case).items() if not far <= CASES[case].tolerance]


# --------------------------------------------------------------------------- words


def human(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def said(measure: str, value: float | None) -> str:
    if value is None:
        return "-"
    if measure in ("peak", "size", "memory"):
        return f"{value / 1e6:.0f} MB"
    return f"{value:.2f} x" if measure == "growth" else human(value)


def brief(this: Mapping[str, Any]) -> str:
    """One round in one line."""
    told = {name: next(m for m in ("step", "growth") if m in record) for name, record in this.items()}
    return ", ".join(f"{name} {said(told[name], record[told[name]])}" for name, record in this.items())


def machine() -> str:
    """Where the numbers come from: they mean nothing without it."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {platform.system()}, {cpu_name()}, {threads()} threads{load}"


def cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return models[0] if models else platform.machine()


# --------------------------------------------------------------------------- tables


def bar_row(found: Found, bar: Bar) -> str:
    """| case | ours | best of theirs | ratio | bar | verdict | limit | times the limit |"""
    ours = median(found, bar.case, bar.ours, bar.measure)
    floor = limit(found, CASES[bar.case]) if bar.measure == "step" and CASES[bar.case].ops == 1 else 0.0
    bound = f"{human(floor)} | {ours / floor:.1f} x" if floor and ours else "- | -"
    if bar.at_most:
        verdict = "-" if ours is None else "reached" if ours <= bar.at_most else "MISSED"
        return f"| {bar.name} | {said(bar.measure, ours)} | - | - | at most {bar.at_most:g} x | {verdict} | {bound} |"
    theirs = bar.theirs or bar.measure
    agreeing = tuple(n for n in bar.against if n not in disagreeing(found, bar.case))
    rival = best_of(found, bar.case, agreeing, theirs)
    times = ratio(found, bar.case, (bar.ours, bar.measure), (rival, theirs)) if rival else None
    wrong = bar.ours in disagreeing(found, bar.case)
    verdict = "WRONG VALUES" if wrong else "-" if times is None else "reached" if times >= bar.at_least else "MISSED"
    other = f"{said(theirs, median(found, bar.case, rival, theirs))} ({rival})" if rival else "-"
    shown = "-" if times is None else f"{times:.2f}"
    return f"| {bar.name} | {said(bar.measure, ours)} | {other} | {shown} | {bar.at_least:.3g} | {verdict} | {bound} |"


def bar_table(found: Found) -> Iterator[str]:
    yield "| case | ours | best of theirs | times better | bar | verdict | limit | ours to the limit |"
    yield "|---|---:|---:|---:|---:|---|---:|---:|"
    for bar in BARS:
        if bar.case in found["rounds"]:
            yield bar_row(found, bar)


STEP_HEAD = """| who | step | best | 90 % | to the limit | first call, cold | warm | peak | values differ by |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def case_table(found: Found, case: str) -> Iterator[str]:
    """Every contestant of a case."""
    spec, far = CASES[case], agreement(found, case)
    yield f"### {case}: {spec.title}\n"
    small, large = spec.sizes or (0, 0)
    yield f"| who | first call, {small} | {large} | growth |\n|---|---:|---:|---:|" if spec.sizes else STEP_HEAD
    for name in CONTESTANTS:
        if any(name in this for this in found["rounds"][case]):
            yield size_row(found, case, name) if spec.sizes else step_row(found, case, name, far.get(name, 0.0))
    yield ""
    yield from notes(found, case)


def size_row(found: Found, case: str, name: str) -> str:
    cells = [said(measure, median(found, case, name, measure)) for measure in ("small", "large", "growth")]
    return f"| {name} | {' | '.join(cells)} |"


def step_row(found: Found, case: str, name: str, far: float) -> str:
    """One contestant's line; `far` is how much its values differ."""
    spec = CASES[case]
    floor, step = limit(found, spec), median(found, case, name, "step")
    cells = [title_of(found, case, name), human(step), human(min(values(found, case, name, "best")))]
    cells.append(said("p90", median(found, case, name, "p90")))
    cells.append(f"{step / floor:.1f} x" if floor and step and spec.ops == 1 else "-")
    cells += [said(measure, median(found, case, name, measure)) for measure in ("cold", "warm", "peak")]
    cells.append(f"{far:.1g}" + ("" if far <= spec.tolerance else " **too far**"))
    return f"| {' | '.join(cells)} |"


def title_of(found: Found, case: str, name: str) -> str:
    """The contestant, with the variant that was quickest."""
    variants = [r[name]["variant"] for r in found["rounds"][case] if name in r]
    return f"{name} ({variants[-1]})" if variants and variants[-1] else name


def notes(found: Found, case: str) -> Iterator[str]:
    """What a reader must know before believing a table."""
    spec, done = CASES[case], len(found["rounds"][case])
    yield f"{done} of {found['rounds_wanted']} rounds" + (
        ": its time was up." if done < found["rounds_wanted"] else "."
    )
    for name, why in spec.cannot.items():
        if name in found["contestants"]:
            yield f"Takes no part: {name} ({why})."
    for framework, why in spec.drifts.items():
        yield f"Only the first step of {framework} is compared: {why}."
    for name, why in found["failed"].get(case, {}).items():
        yield f"**Failed: {name}** ({why.replace('|', '/')})."
    others = [m for n in CONTESTANTS if (m := median(found, case, n, "others")) is not None]
    if others and max(others) > BUSY:
        yield f"Other processes took up to {max(others):.1f} cores meanwhile."
    yield ""


def footprint_table(found: Found) -> Iterator[str]:
    """Import time, memory and size of each framework."""
    yield "### footprint\n\n| who | import | memory after it | installed, with what it needs |\n|---|---:|---:|---:|"
    for name in dict.fromkeys(n for this in found["footprint"] for n in this):
        got = [this[name] for this in found["footprint"] if name in this]
        seconds, memory = (statistics.median(one[key] for one in got) for key in ("import", "memory"))
        size = next((one["size"] for one in got if "size" in one), None)
        yield f"| {name} | {human(seconds)} | {said('memory', memory)} | {said('size', size)} |"
    for name, why in found["failed"].get("footprint", {}).items():
        yield f"\n**Failed: {name}** ({why})."
    yield ""


def text(found: Found) -> str:
    best = {key: max(one[key] for one in found["limits"]) for key in ("flops", "bytes")}
    lines = ["# Measured side by side", "", found["machine"] + "."]
    lines.append(
        f"Limits measured in this run: {best['flops'] / 1e9:.0f} GFLOP/s (matrix product),"
        f" {best['bytes'] / 1e9:.1f} GB/s (copy, read and written)."
    )
    lines += [f"Not there: {reason}." for reason in found["absent"].values()]
    judged = [bar_row(found, bar) for bar in BARS if bar.case in found["rounds"]]
    if judged:
        lines += ["", "## Bars", "", *bar_table(found)]
        lines += ["", f"{sum('| reached |' in row for row in judged)} of {len(judged)} reached.", ""]
    lines += ["", "![time relative to the best peer](bench.svg)", "", "## Everybody", ""]
    for case in found["rounds"]:
        lines += case_table(found, case)
    if found["footprint"]:
        lines += footprint_table(found)
    return "\n".join(lines) + "\n"


def picture(found: Found) -> str:
    rows = []
    for case, spec in CASES.items():
        times = {n: m for n in CONTESTANTS if (m := median(found, case, n, "step")) is not None}
        rival = best_of(found, case, PEERS, "step")
        if rival is None or not any(n.startswith("msnb") for n in times):
            continue
        unit = times[rival]
        bar = next((b for b in BARS if (b.case, b.measure, b.ours) == (case, "step", GRAPH)), None)
        floor = limit(found, spec) / unit if spec.ops == 1 else 0.0
        marks = {n: t / unit for n, t in times.items()}
        rows.append(plot.Row(case, marks, 1 / bar.at_least if bar else None, floor or None))
    return plot.svg(rows, tuple(CONTESTANTS))


def write(found: Found, folder: Path) -> str:
    """Keep tables and plot in the folder; returns the tables."""
    page = text(found)
    (folder / "bench.md").write_text(page, encoding="utf-8")
    (folder / "bench.svg").write_text(picture(found), encoding="utf-8")
    return page


if __name__ == "__main__":
    kept = Path(sys.argv[1] if sys.argv[1:] else BUILD / "bench.json")
    print(write(json.loads(kept.read_text(encoding="utf-8")), kept.parent))
