"""Side-by-side measurements: fresh processes, interleaved, told as medians and ratios.

A speed is a ratio or it is nothing: machines differ, and on one machine the clock, the cache and the neighbours change
from minute to minute. So a case has contestants, and a round runs each of them once, in a process of its own:

    round 1:  numpy  msnb  torch        each process prints {"metric": seconds, ...}
    round 2:  msnb  torch  numpy        the order turns, so nobody always runs first
    round 3:  torch  numpy  msnb

The table gives, per metric, the median and the best of every contestant, and the median of the ratios taken round by
round against the baseline: what slowed a whole round cancels. A contestant whose package is missing is left out and
named. A case is a file of this folder:

    from harness import Unavailable, per_call, run_case

    def ours() -> dict[str, float]:
        import msnb
        return {"add": per_call(lambda: ...)}

    if __name__ == "__main__":
        run_case("Dispatch of one small op", {"numpy": theirs, "msnb": ours}, baseline="numpy")

`python bench/<case>.py [rounds]` measures one case, `python bench/harness.py [case ...]` all of them (`make bench`);
the tables go to the terminal and to build/bench.md.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
REPORT = ROOT / "build" / "bench.md"
ROUNDS = 7

Contestant = Callable[[], Mapping[str, float]]
Rounds = list[dict[str, dict[str, float]]]  # per round: contestant -> metric -> seconds


class Unavailable(Exception):
    """Raised by a contestant that cannot run here: its package or device is missing."""


# --------------------------------------------------------------------------- inside a contestant's process


def per_call(function: Callable[[], object], seconds: float = 0.3, loop: float = 0.01) -> float:
    """Seconds per call: the median over short loops, after a warm-up, with the garbage collector at rest.

    Args:
        function: what is timed; it is called once before the clock starts.
        seconds: how long to measure in all.
        loop: the length of one loop; calls that are quicker are grouped so that the clock's grain does not show.
    """
    count = calls_per(function, loop)
    samples: list[float] = []
    was_on = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        while len(samples) < 3 or time.perf_counter() < end:
            samples.append(timed(function, count) / count)
    finally:
        if was_on:
            gc.enable()
    return statistics.median(samples)


def timed(function: Callable[[], object], count: int) -> float:
    calls = range(count)
    start = time.perf_counter()
    for _ in calls:
        function()
    return time.perf_counter() - start


def calls_per(function: Callable[[], object], loop: float) -> int:
    """How many calls fill one loop."""
    count = 1
    timed(function, 1)
    while (taken := timed(function, count)) < loop:
        count = max(count + 1, min(count * 10, int(1.2 * count * loop / max(taken, 1e-9))))
    return count


def serve(contestant: Contestant) -> None:
    """Run one contestant and tell the parent, on the last line of the output."""
    try:
        answer: dict[str, object] = {"seconds": dict(contestant())}
    except Unavailable as reason:
        answer = {"unavailable": str(reason)}
    print("\n" + json.dumps(answer), flush=True)


# --------------------------------------------------------------------------- the parent


def environment() -> dict[str, str]:
    """The same number of threads for everybody, whichever library they use."""
    cores = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return {**dict.fromkeys(names, cores), **os.environ, "PYTHONPATH": path}


def ask(script: Path, name: str) -> dict[str, dict[str, float]]:
    """One contestant's answer from a fresh process: {"seconds": {...}} or {"unavailable": reason}."""
    command = [sys.executable, str(script), "--contestant", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{script.name}: contestant {name} failed (exit {done.returncode})\n{done.stderr}")
    answer: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(script: Path, names: list[str], rounds: int) -> tuple[Rounds, dict[str, str]]:
    """All rounds, and who could not take part and why. Who is unavailable once is not asked again."""
    results: Rounds = []
    absent: dict[str, str] = {}
    for number in range(rounds):
        turned = names[number % len(names) :] + names[: number % len(names)]
        results.append({})
        for name in (n for n in turned if n not in absent):
            answer = ask(script, name)
            if "unavailable" in answer:
                absent[name] = str(answer["unavailable"])
            else:
                results[-1][name] = answer["seconds"]
        progress(script.stem, number + 1, rounds)
    return results, absent


def progress(case: str, number: int, rounds: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{case}: round {number} of {rounds}" if number < rounds else "\r\x1b[K", end="", file=sys.stderr)


# --------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Row:
    """One contestant on one metric: seconds, and the paired ratio to the baseline (None for the baseline itself)."""

    metric: str
    contestant: str
    median: float
    best: float
    ratio: float | None


def rows(results: Rounds, names: list[str], baseline: str) -> list[Row]:
    metrics = dict.fromkeys(metric for r in results for name in names for metric in r.get(name, {}))
    found = [row_for(results, metric, name, baseline) for metric in metrics for name in names]
    return [row for row in found if row is not None]


def row_for(results: Rounds, metric: str, name: str, baseline: str) -> Row | None:
    mine = [r[name][metric] for r in results if metric in r.get(name, {})]
    if not mine:
        return None
    both = [r for r in results if metric in r.get(name, {}) and metric in r.get(baseline, {})]
    ratios = [r[name][metric] / r[baseline][metric] for r in both]
    ratio = statistics.median(ratios) if ratios and name != baseline else None
    return Row(metric, name, statistics.median(mine), min(mine), ratio)


def human(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(title: str, results: Rounds, absent: dict[str, str], names: list[str], baseline: str) -> str:
    lines = [f"## {title}", "", f"| measure | who | median | best | ratio to {baseline} |", "|---|---|---:|---:|---:|"]
    for row in rows(results, names, baseline):
        ratio = "1 (baseline)" if row.contestant == baseline else "-" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"| {row.metric} | {row.contestant} | {human(row.median)} | {human(row.best)} | {ratio} |")
    lines += ["", f"{len(results)} rounds, interleaved, fresh processes, ratios taken round by round. {machine()}."]
    lines += [f"Left out: {name} ({reason})." for name, reason in absent.items()]
    return "\n".join([*lines, ""])


def machine() -> str:
    """Where the numbers come from: they mean nothing without it."""
    threads = environment()["OMP_NUM_THREADS"]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {platform.system()}, {cpu_name()}, {threads} threads{load}"


def cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return models[0] if models else platform.machine()


# --------------------------------------------------------------------------- entry points


def run_case(title: str, contestants: Mapping[str, Contestant], baseline: str, rounds: int = ROUNDS) -> None:
    """The main program of a case file: the parent measures and prints, a child serves one contestant.

    Raises:
        SystemExit: a contestant crashed, or the baseline is not among the contestants.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["--contestant"]:
        serve(contestants[arguments[1]])
        return
    if baseline not in contestants:
        raise SystemExit(f"{title}: the baseline {baseline!r} is none of {', '.join(contestants)}")
    names = [baseline, *(name for name in contestants if name != baseline)]
    results, absent = measure(Path(sys.argv[0]).resolve(), names, int(arguments[0]) if arguments else rounds)
    print(table(title, results, absent, names, baseline), flush=True)


def cases() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "harness" and not p.stem.startswith("_"))


def main(wanted: list[str]) -> int:
    """Run cases one after the other, never side by side, and keep the tables."""
    unknown = sorted(set(wanted) - set(cases()))
    if unknown:
        print(f"no such case: {', '.join(unknown)}; there are: {', '.join(cases())}", file=sys.stderr)
        return 2
    texts, failed = ["# Measured\n"], []
    for name in wanted or cases():
        command = [sys.executable, str(FOLDER / f"{name}.py")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, flush=True)
        texts.append(done.stdout)
        failed += [name] if done.returncode else []
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text("\n".join(texts), encoding="utf-8")
    print(f"tables: {REPORT.relative_to(ROOT)}" + (f"\nFAILED: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
