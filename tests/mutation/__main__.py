"""Many changed files of every format, each format in a process that may take 500 MB more than it begins with."""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutation.formats import FORMATS
from tests.mutation.trial import changed, tried

MEGABYTES = 500


def _limit() -> None:
    """So much more address space than is in use now, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def child(name: str, first: int, last: int, seed: int) -> None:
    """A line of JSON per finding and at the end; the number that is tried stands on the error stream."""
    form = FORMATS[name]
    seeds, bombs = form.seeds(), form.bombs() if first == 0 else {}
    count: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for files in seeds:
            found = tried(form, files, Path(folder))
            if found != "read":
                print(json.dumps({"number": "a good file", "found": found}), flush=True)
        _limit()
        cases = [(f"bomb {title}", files) for title, files in bombs.items()]
        for number, files in [*cases, *((n, None) for n in range(first, last))]:
            print(number, file=sys.stderr, flush=True)
            found = tried(form, changed(form, seeds, seed, number) if files is None else files, Path(folder))
            count[found.split(" ")[0]] += 1
            if found not in ("read", "refused"):
                print(json.dumps({"number": number, "found": found}), flush=True)
    print(json.dumps({"count": count}), flush=True)


def run(name: str, files: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """Counts and findings of a format; a process that dies is a finding, and the next one goes on behind it."""
    count: collections.Counter[str] = collections.Counter()
    findings: list[str] = []
    first = 0
    while first < files:
        command = [sys.executable, "-m", "tests.mutation", "--child", name, str(first), str(files), "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        findings += [f"{row['number']}: {row['found']}" for row in rows if "found" in row]
        ends = [row["count"] for row in rows if "count" in row]
        if ends:
            count.update(ends[0])
            break
        numbers = [line for line in done.stderr.splitlines() if line.isdigit()]
        at = int(numbers[-1]) if numbers else first
        findings.append(f"{at}: the process ended with {done.returncode}: {done.stderr[-300:]}")
        count["died"] += 1
        first = at + 1
    return count, findings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--child", nargs=3, metavar=("NAME", "FIRST", "LAST"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], int(given.child[1]), int(given.child[2]), given.seed)
        return 0
    wrong = 0
    for name in given.only:
        count, findings = run(name, given.files, given.seed)
        wrong += len(findings)
        print(f"{name:12} {dict(count)}", flush=True)
        for finding in findings[:40]:
            print(f"    {finding}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
