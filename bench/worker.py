"""One contestant, one case, one process: build the step, measure it, print the answer as JSON on the last line.

    python -m bench.worker CASE CONTESTANT SECONDS [VARIANT]

Runs under the contestant's own Python. SECONDS 0 asks for the first call alone.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

from bench import clock
from bench.case import Case
from bench.cases import CASES
from bench.contestants import CONTESTANTS, Contestant, threads


def side_of(contestant: Contestant, case: Case, variant: str) -> Any:
    """The framework, set up for that way of running."""
    if contestant.framework in ("msnb", "mindspore"):
        from bench.sides import ms_side

        return ms_side.Side(case, contestant.way, variant, contestant.framework)
    return importlib.import_module(f"bench.sides.{contestant.framework}_side").Side(case, contestant.way, variant)


def step_of(case: Case, contestant: Contestant, variant: str) -> Any:
    return case.programs[contestant.framework](side_of(contestant, case, variant))


def hold_to_cores(count: int) -> None:
    """No more cores than threads: JAX counts cores, the others read variables."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def run(case: Case, contestant: Contestant, seconds: float, variant: str) -> dict[str, Any]:
    start = time.perf_counter()
    step = step_of(case, contestant, variant)
    built = time.perf_counter() - start
    found = clock.measure(step, seconds, case.ops) if seconds else clock.first_call(step)
    return {**found, "build": built, "peak": clock.peak_bytes()}


def main(arguments: list[str]) -> None:
    name, who, seconds = arguments[:3]
    hold_to_cores(threads())
    answer = run(CASES[name], CONTESTANTS[who], float(seconds), arguments[3] if len(arguments) > 3 else "")
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # some frameworks' threads outlive the main one


if __name__ == "__main__":
    main(sys.argv[1:])
