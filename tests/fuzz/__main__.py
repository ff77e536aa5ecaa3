"""python -m tests.fuzz --programs 20000 --seed S: random programs with state, run every way and compared.

    --programs N   how many (default 1000)            --seed S    the first one's number (default: from the clock)
    --only S       print the program of one seed and what is found in it        --file P   judge a program from a file
    --jobs N       processes (default: one per core)  --keep DIR  where shrunk finds are written (default build/fuzz)
    --quick        do not shrink                      --avoid F   leave out a feature (see AVOIDABLE), to look behind
    --alarms       let a signal handler end calls at random moments, and ask whether anything is left of it
    --dtype D      float16, bfloat16, float32 or float64 for the floats of all programs (default: drawn)

Every find is printed with its seed and written as a small Python file. The exit status tells whether there was one.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.generator import DTYPES, program

CHUNK = 40


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--avoid", action="append", default=[])
    parser.add_argument("--dtype", default="", choices=["", *sorted(set(DTYPES))])
    parser.add_argument("--alarms", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one process of many
    return parser.parse_args(argv)


def shrunk(text: str, find: object, seconds: float = 45.0) -> str:
    from tests.fuzz.comparison import Find, judge
    from tests.fuzz.shrinker import shrink

    assert isinstance(find, Find)
    ways = tuple(dict.fromkeys(("eager", find.way)))
    judged = judge(text, ways).judged

    def holds(candidate: str) -> bool:
        verdict = judge(candidate, ways)
        return verdict.judged == judged and any(f.mark == find.mark for f in verdict.finds)

    return shrink(text, holds, seconds) if holds(text) else text


def examine(name: str, text: str, options: argparse.Namespace) -> collections.Counter[str]:
    """Judge one program, tell and keep what is found; what to count."""
    from tests.fuzz.comparison import judge

    verdict = judge_alarmed(text) if options.alarms else judge(text)
    count = collections.Counter({"programs": 1, "judged": int(verdict.judged), "found": int(bool(verdict.finds))})
    count.update(f"{way} refused: {why}" for way, why in verdict.refusals.items())
    if verdict.unjudged:
        count[f"unjudged: {verdict.unjudged[:60]}"] += 1
    if verdict.finds:
        first = verdict.finds[0]
        ways = ", ".join(f.way for f in verdict.finds)
        small = text if options.quick or options.alarms else shrunk(text, first)
        report = f"# {name}: {first.kind} differs in {ways}\n# {first.text[:300]!r}\n"
        print(f"\n{report}{small}", flush=True)
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{name.replace(' ', '_')}.py").write_text(report + small)
    return count


def judge_alarmed(text: str) -> Any:
    """What alarms leave behind in each way."""
    from tests.fuzz.alarms import alarmed
    from tests.fuzz.comparison import Verdict
    from tests.fuzz.runner import WAYS

    found = [alarmed(text, way, np.random.default_rng(len(text)), 6)[0] for way in WAYS]
    return Verdict([find for find in found if find], {}, True, "")


def text_of(seed: int, options: argparse.Namespace) -> str:
    return program(seed, tuple(options.avoid), options.dtype)


def tell(count: collections.Counter[str], seconds: float) -> None:
    print(
        f"\n{count['programs']} programs in {seconds:.0f} s, {count['judged']} judged by the oracle, "
        f"{count['found']} with finds"
    )
    for what, times in count.most_common():
        if what not in ("programs", "judged", "found"):
            print(f"  {times:6}  {what}")


def here(options: argparse.Namespace) -> int:
    start, count = time.monotonic(), collections.Counter[str]()
    for seed in range(options.seed, options.seed + options.programs):
        print(f"@ {seed}", file=sys.stderr, flush=True)
        count += examine(f"seed {seed}", text_of(seed, options), options)
    if options.here:
        print("@@" + repr(dict(count)), file=sys.stderr, flush=True)
    else:
        tell(count, time.monotonic() - start)
    return int(count["found"] > 0)


def spread(options: argparse.Namespace) -> int:
    """Chunks of programs in processes of their own: one that dies takes nothing with it, and is a find."""
    import ast
    import queue
    import threading

    start, total = time.monotonic(), collections.Counter[str]()
    chunks: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for first in range(options.seed, options.seed + options.programs, CHUNK):
        chunks.put((first, min(CHUNK, options.seed + options.programs - first)))

    def work() -> None:
        while True:
            try:
                first, many = chunks.get_nowait()
            except queue.Empty:
                return
            command = [sys.executable, "-m", "tests.fuzz", "--here", f"--seed={first}", f"--programs={many}"]
            command += [f"--keep={options.keep}", *(["--quick"] if options.quick else [])]
            command += ["--alarms"] if options.alarms else []
            command += [f"--dtype={options.dtype}", *(f"--avoid={feature}" for feature in options.avoid)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            sys.stdout.write(done.stdout)
            sys.stdout.flush()
            lines = done.stderr.splitlines()
            told = [line for line in lines if line.startswith("@@")]
            if told:
                total.update(ast.literal_eval(told[-1][2:]))
                continue
            last = int([line for line in lines if line.startswith("@ ")][-1][2:]) if lines else first
            print(f"\n# seed {last}: the process ended with {done.returncode}\n" + "\n".join(lines[-5:]), flush=True)
            total.update(programs=last - first + 1, found=1)
            if last + 1 < first + many:
                chunks.put((last + 1, first + many - last - 1))

    workers = [threading.Thread(target=work) for _ in range(max(1, options.jobs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tell(total, time.monotonic() - start)
    return int(total["found"] > 0)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    if options.file is not None:
        return int(examine(options.file.stem, options.file.read_text(), options)["found"] > 0)
    if options.only is not None:
        text = text_of(options.only, options)
        print(text, flush=True)
        return int(examine(f"seed {options.only}", text, options)["found"] > 0)
    if options.seed is None:
        options.seed = int(time.time()) % 1_000_000 * 1000
    if options.here:
        return here(options)
    print(f"first seed: {options.seed} (repeat with --seed {options.seed} --programs {options.programs})", flush=True)
    return spread(options)


if __name__ == "__main__":
    sys.exit(main())
