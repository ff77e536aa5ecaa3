"""python -m tests.kills --kind ranks --count 100: what is killed at random moments, and whether anything was lost."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.kills import checkpoints, interrupts, ranks, workers
from tests.kills.moments import Trial

KINDS: dict[str, Callable[[], AbstractContextManager[Trial]]] = {
    "checkpoints": checkpoints.trials,
    "workers": workers.trials,
    "ranks": ranks.trials,
    "interrupts": interrupts.trials,
}


def run(kind: str, count: int, seed: int) -> tuple[int, list[str]]:
    """Trials until so many kills came in time: how many trials that took, and the findings, number and sentence."""
    findings, number, hits = [], 0, 0
    with KINDS[kind]() as trial:
        while hits < count:
            hit, wrong = trial(random.Random(f"{kind}/{seed}/{number}"))
            if wrong:
                findings.append(f"{number}: {wrong}")
            number, hits = number + 1, hits + hit
            if number > 20 * (1 + hits):
                return number, [*findings, f"only {hits} of {number} kills came in time"]
    return number, findings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--kind", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--count", type=int, default=100, help="kills of each kind that come in time")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    total = 0
    for kind in given.kind:
        start = time.monotonic()
        trials, findings = run(kind, given.count, given.seed)
        total += len(findings)
        seconds = time.monotonic() - start
        print(f"{kind:12} {given.count} in time of {trials}, {len(findings)} findings, {seconds:.0f} s", flush=True)
        for finding in findings[:40]:
            print(f"    {finding}", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
