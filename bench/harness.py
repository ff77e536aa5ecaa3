"""Side-by-side measurements: fresh processes, interleaved, the same work and the same threads for everybody.

A speed is a ratio or it is nothing: machines differ, and on one machine the clock, the cache and the neighbours change
from minute to minute. So a round runs every contestant of a case once, each in a process of its own and under its own
Python, and the order turns:

    round 1:  msnb graph   msnb eager   torch eager   torch compile   jax jit   mindspore graph
    round 2:  msnb eager   torch eager  ...                                     msnb graph

Ratios are taken within a round, then their median: what slowed a whole round cancels. A framework that is not there, a
program that fails and a case that ran out of its time are named in the report.

    python bench/harness.py [case ...]      ROUNDS=3   PEERS="torch jax"   MINUTES=40   (make bench CASES="lenet_step")

Results: build/bench.md (tables), build/bench.svg (plot), build/bench.json (everything; `python bench/report.py` makes
the other two from it again), build/bench/ (what failing programs said).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import report
from bench.bars import BARS
from bench.case import Case
from bench.cases import CASES, find
from bench.contestants import BUILD, CONTESTANTS, FRAMEWORKS, PEERS, ROOT, absent, environment, python_of

ROUNDS, MINUTES, SECONDS = 3, 40.0, 2.0
PATIENCE = 240.0  # seconds that one process may take
WARM = {bar.case for bar in BARS if bar.measure == "warm"}
FOOTPRINT = "footprint"  # import time and size: asked per framework, not per contestant

Record = dict[str, Any]


class Failed(Exception):
    """A contestant's process did not answer; says why in one line."""


@dataclass
class Run:
    """One run of the bench: what is asked for and what was found."""

    contestants: list[str]
    rounds: int = ROUNDS
    minutes: float = MINUTES
    seconds: float = SECONDS
    folder: Path = BUILD
    scratch: Path = Path()
    found: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def frameworks(self) -> list[str]:
        return list(dict.fromkeys(CONTESTANTS[name].framework for name in self.contestants))


# --------------------------------------------------------------------------- one process


def call(command: list[str], variables: Mapping[str, str], log: Path) -> Record:
    """The JSON on the last line of a process; its words are kept where it fails."""
    folder = log.parent / "work"  # some frameworks write files where they stand
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=dict(variables), cwd=folder, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"no answer within {PATIENCE:.0f} s") from late
    if done.returncode == 0:
        answer: Record = json.loads(done.stdout.splitlines()[-1])
        return answer
    log.write_text(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}")
    raise Failed(last_word(done.stderr) or f"exit {done.returncode}")


def last_word(text: str) -> str:
    """The line of a traceback that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line.split(":")[0]]
    return (telling or lines or [""])[-1][:200]


def ask(run: Run, case: Case, name: str, variant: str, scratch: Path, seconds: float) -> Record:
    """One contestant on one case, in a fresh process."""
    contestant = CONTESTANTS[name]
    python = python_of(contestant.framework)
    variables = {**environment(scratch), **case.environment.get(contestant.framework, {})}
    command = [str(python), "-m", "bench.worker", case.name, name, str(seconds), variant]
    log = run.folder / "bench" / f"{case.name} {name} {variant}".strip().replace(" ", "-")
    return {**call(command, variables, log.with_suffix(".txt")), "variant": variant}


# --------------------------------------------------------------------------- one round


def measured(run: Run, case: Case, name: str, variant: str) -> Record:
    """Steps, and the first call with nothing on disk and, where a bar asks for it, with our own cache.

    torch.compile takes too long to be cold in every round: it keeps its cache within a case and is cold in the first.
    """
    kept = run.scratch / case.name if name == "torch compile" else Path(tempfile.mkdtemp(dir=run.scratch))
    was_there = kept.exists() and any(kept.iterdir())
    record = ask(run, case, name, variant, kept, run.seconds)
    record["warm" if was_there else "cold"] = record.pop("first")
    if name == "msnb graph" and case.name in WARM:
        record["warm"] = ask(run, case, name, variant, kept, 0)["first"]
    return record


def grown(run: Run, case: Case, name: str) -> Record:
    """First calls of a program in two sizes, and how much longer the larger one takes."""
    firsts = [
        ask(run, case, name, str(size), Path(tempfile.mkdtemp(dir=run.scratch)), 0)["first"] for size in case.sizes
    ]
    return {"small": firsts[0], "large": firsts[1], "growth": firsts[1] / firsts[0], "variant": ""}


def part(run: Run, case: Case, name: str, variants: tuple[str, ...]) -> Record | None:
    """A contestant's quickest variant, or None when it failed (and is not asked again)."""
    try:
        if case.sizes:
            return grown(run, case, name)
        tried = [measured(run, case, name, variant) for variant in variants]
        return min(tried, key=lambda record: record["step"])
    except Failed as failure:
        run.failed.setdefault(case.name, {})[name] = str(failure)
        return None


def taking_part(run: Run, case: Case) -> list[str]:
    able = [n for n in run.contestants if CONTESTANTS[n].framework in case.programs and n not in case.cannot]
    return [n for n in able if not case.only or n in case.only]


def rounds_of(run: Run, case: Case, seconds: float) -> Iterator[dict[str, Record]]:
    """Round after round, as long as the case has time; the first one also settles the variants."""
    names, begun, longest = taking_part(run, case), time.monotonic(), 0.0
    variants = {n: tuple(case.variants.get(CONTESTANTS[n].framework, ("",))) for n in names}
    for number in range(run.rounds):
        start = time.monotonic()
        if number and start - begun + longest > seconds:
            return
        found: dict[str, Record] = {}
        for name in names[number % len(names) :] + names[: number % len(names)] if names else ():
            if name in run.failed.get(case.name, {}):
                continue
            if (record := part(run, case, name, variants[name])) is not None:
                found[name], variants[name] = record, (record["variant"],)
        longest = max(longest, time.monotonic() - start)
        yield found


# --------------------------------------------------------------------------- the whole run


def footprint(run: Run) -> list[dict[str, Record]]:
    """Import time round after round, size once; fresh processes, frameworks in turn."""
    found: list[dict[str, Record]] = [{} for _ in range(max(3, run.rounds))]
    script = str(ROOT / "bench" / "footprint.py")
    for number, this in enumerate(found):
        for name in run.frameworks:
            log = run.folder / "bench" / f"footprint-{name}.txt"
            variables = environment(run.scratch)
            try:
                this[name] = call([str(python_of(name)), script, "time", name], variables, log)
                if number == 0:
                    this[name] |= call([str(python_of(name)), script, "size", name], variables, log)
            except Failed as failure:
                run.failed.setdefault(FOOTPRINT, {})[name] = str(failure)
    return found


def limits(run: Run) -> dict[str, float]:
    command = [str(python_of("msnb")), "-m", "bench.limits", str(min(0.2, run.seconds / 10))]
    return call(command, environment(run.scratch), run.folder / "bench" / "limits.txt")


def measure(run: Run, names: list[str]) -> None:
    """Everything that the report needs; the limits before, between and after, because a busy moment hides them.

    The report is written anew after every case: a run that is interrupted has told what it found until then.
    """
    run.found |= {"machine": report.machine(), "limits": [limits(run)], "rounds": {}, "footprint": []}
    run.found |= {"failed": run.failed, "rounds_wanted": run.rounds, "contestants": run.contestants}
    shares = sum(CASES[name].share for name in names if name in CASES) or 1.0
    for name in names:
        if name == FOOTPRINT:
            run.found["footprint"] = footprint(run)
        else:
            measure_case(run, name, 60 * run.minutes * CASES[name].share / shares)
        (run.folder / "bench.json").write_text(json.dumps(run.found), encoding="utf-8")
        report.write(run.found, run.folder)


def measure_case(run: Run, name: str, seconds: float) -> None:
    kept = run.found["rounds"].setdefault(name, [])
    for found in rounds_of(run, CASES[name], seconds):
        kept.append(found)
        told(f"{name}, round {len(kept)}: {report.brief(found)}")
    run.found["limits"].append(limits(run))


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def invited(words: str | None) -> tuple[list[str], dict[str, str]]:
    """Contestants from the words in PEERS ("torch", "torch-eager", "none"), and which frameworks are not installed."""
    wanted = [w.lower().replace("-", " ") for w in words.split()] if words else list(PEERS)
    known = [*FRAMEWORKS[1:], *PEERS, "none"]
    if unknown := [w for w in wanted if w not in known]:
        there = ", ".join(w.replace(" ", "-") for w in known)
        raise SystemExit(f"PEERS: no such peer: {', '.join(unknown)}; there are: {there}")
    names = [n for n, c in CONTESTANTS.items() if n not in PEERS or n in wanted or c.framework in wanted]
    frameworks = dict.fromkeys(CONTESTANTS[n].framework for n in names)
    reasons = {f: reason for f in frameworks if (reason := absent(f))}
    return [n for n in names if CONTESTANTS[n].framework not in reasons], reasons


def chosen(words: list[str]) -> list[str]:
    """Case names from what was typed; all of them when nothing was."""
    everything = [*CASES, FOOTPRINT]
    groups = {word: [FOOTPRINT] if word in (FOOTPRINT, "import_time", "install_size") else find(word) for word in words}
    unknown = [word for word, names in groups.items() if not names]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)}; there are: {', '.join(everything)}")
    return list(dict.fromkeys(name for names in groups.values() for name in names)) or everything


def main(words: list[str], variables: Mapping[str, str] = os.environ) -> int:
    """Measure, print the tables, keep them. The exit code is 0 whatever the bars say; 1 when one of ours failed."""
    names = chosen(words)
    contestants, reasons = invited(variables.get("PEERS"))
    folder = Path(variables.get("BENCH_OUT") or BUILD)
    (folder / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="msnb-bench-") as scratch:
        run = Run(
            contestants,
            rounds=int(variables.get("ROUNDS") or ROUNDS),
            minutes=float(variables.get("MINUTES") or MINUTES),
            seconds=float(variables.get("BENCH_SECONDS") or SECONDS),
            folder=folder,
            scratch=Path(scratch),
            found={"absent": reasons},
        )
        measure(run, names)
    print(report.write(run.found, folder), flush=True)
    return 1 if any(name.startswith("msnb") for case in run.failed.values() for name in case) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
