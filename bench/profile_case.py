"""Where a step's time goes.

    python bench/profile_case.py lenet32
    python bench/profile_case.py mlp --who "msnb eager" --top 40
    python bench/profile_case.py lenet32 --who "torch eager"          the other side, under its own Python

Printed, for msnb: the step as the benchmark times it; the first call by stage (capture, passes, code); every native
instruction of the compiled programs with its share, its bytes and its flops per second; then Python functions
(cProfile, for everybody), because what is not native is Python.

How native instructions are timed: the executor can stop after each of them (that is how its tests look at memory), and
a clock runs from stop to stop. So each figure holds about 2 us of coming and going, and none of the overlap that
caches give neighbours: shares are what counts, the undisturbed step stands above them.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import clock
from bench.case import Case, Step
from bench.cases import CASES, find
from bench.contestants import BUILD, CONTESTANTS, Contestant, absent, environment, python_of, threads
from bench.report import human
from bench.worker import hold_to_cores, step_of

STEPS, TOP = 20, 25


# --------------------------------------------------------------------------- native instructions


class Times:
    """Seconds and runs per instruction of every native program that was made while this was in place."""

    def __init__(self) -> None:
        self.programs: list[Any] = []
        self.seconds: dict[Any, float] = defaultdict(float)
        self.runs: dict[Any, int] = defaultdict(int)

    def clear(self) -> None:
        self.seconds.clear()
        self.runs.clear()

    def add(self, instruction: Any, seconds: float) -> None:
        self.seconds[instruction] += seconds
        self.runs[instruction] += 1


def watched(times: Times) -> Callable[[], None] | None:
    """Programs made from now on stop after every instruction; returns how to end that, or None without native code."""
    try:
        from msnb.devices.cpu.program.run import executor
    except ImportError:
        return None
    plain = executor.NativeProgram

    class Timed(plain):  # type: ignore[valid-type,misc]
        def __init__(self, device: Any, graph: Any, checking: bool = False, image: Any = None) -> None:
            super().__init__(device, graph, checking=True)
            times.programs.append(self)
            self.mark = 0.0

        def _execute(self, p: Any) -> None:
            self.mark = perf_counter()
            super()._execute(p)

        def _step(self, p: Any, number: int) -> None:
            now, built = perf_counter(), self.built
            if number < len(p.steps):
                super()._step(p, number)
                done = next(i for i in built.tape.instrs if i.host == number)
                times.add(done, perf_counter() - now)
            else:
                times.add(built.tape.instrs[built.checks[number]], now - self.mark)
            self.mark = perf_counter()

    setattr(executor, "NativeProgram", Timed)  # noqa: B010
    return lambda: setattr(executor, "NativeProgram", plain)


def described(instruction: Any) -> str:
    """An instruction for people: its operation, what a group holds, where it comes from."""
    from msnb.devices.cpu.program import bytecode

    node = instruction.node
    if node is None:
        return bytecode.NAMES[instruction.op].lower()
    name = node.op.name
    if name == "fused" and node.graphs:
        inside = [n.op.name for n in node.graphs[0].nodes if n.op.name != "constant"]
        name = f"group of {len(inside)}: {' '.join(inside[:6])}{' ...' if len(inside) > 6 else ''}"
    how = "" if instruction.recipe is not None else "   IN PYTHON"
    return f"{name} {shape_of(node)}{how}   {node.scope or ''}"


def shape_of(node: Any) -> str:
    return ", ".join(str(v.type) for v in node.outputs[:2]) + (" ..." if len(node.outputs) > 2 else "")


def bytes_of(node: Any) -> float:
    return float(sum(getattr(v.type, "nbytes", 0) for v in (*node.inputs, *node.outputs)))


def flops_of(node: Any) -> float:
    """Multiply-adds of contractions, twice; others are judged by their bytes."""
    try:
        types, outs = ([v.type for v in side] for side in (node.inputs, node.outputs))
        work = node.op.work(types, outs, node.attrs)
    except Exception:
        return 0.0
    return float(work.cube)


def instruction_table(times: Times, steps: int, top: int) -> Iterator[str]:
    total = sum(times.seconds.values())
    if not total:
        yield "no native program ran."
        return
    yield f"native instructions: {human(total / steps)} per step in {len(times.seconds)} instructions"
    yield f"{'per step':>10} {'share':>6} {'runs':>6} {'GB/s':>7} {'GFLOP/s':>8}  instruction"
    for instruction, seconds in sorted(times.seconds.items(), key=lambda pair: -pair[1])[:top]:
        node, runs = instruction.node, times.runs[instruction]
        moved = bytes_of(node) * runs / seconds / 1e9 if node is not None else 0.0
        flops = flops_of(node) * runs / seconds / 1e9 if node is not None else 0.0
        yield (
            f"{human(seconds / steps):>10} {seconds / total:>6.1%} {runs / steps:>6g} {moved:>7.1f}"
            f" {flops or 0:>8.0f}  {described(instruction)}"
        )
    yield ""
    yield from by_kind(times, steps, total)


def by_kind(times: Times, steps: int, total: float) -> Iterator[str]:
    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for instruction, seconds in times.seconds.items():
        kind = described(instruction).split(":")[0].split(" ")[0] if instruction.node is None else kind_of(instruction)
        kinds[kind][0] += seconds
        kinds[kind][1] += times.runs[instruction]
    yield "by kind:"
    for kind, (seconds, runs) in sorted(kinds.items(), key=lambda pair: -pair[1][0]):
        yield f"{human(seconds / steps):>10} {seconds / total:>6.1%} {runs / steps:>6g}  {kind}"


def kind_of(instruction: Any) -> str:
    provider = type(instruction.recipe).__module__.split(".")[-2:] if instruction.recipe is not None else ["in Python"]
    return f"{instruction.node.op.name} ({'.'.join(provider)})"


def stage_table(version: Any) -> Iterator[str]:
    """The first call: capture, passes, code."""
    capture, compile_ = version.seconds
    yield f"captured in {human(capture)}, compiled in {human(compile_)}: {version.compiled!r}"
    for name, seconds in sorted(version.compiled.timings.items(), key=lambda pair: -pair[1]):
        if seconds > 0.01 * compile_:
            yield f"{human(seconds):>10} {seconds / compile_:>6.1%}  {name}"


# --------------------------------------------------------------------------- Python functions


def run_steps(step: Step, steps: int) -> float:
    start = perf_counter()
    for i in range(steps):
        step(i)
    return (perf_counter() - start) / steps


def functions(step: Step, steps: int, top: int) -> None:
    profile = cProfile.Profile()
    profile.enable()
    run_steps(step, steps)
    profile.disable()
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(top)


def torch_operations(step: Step, steps: int, top: int) -> None:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as found:
        run_steps(step, steps)
    print(found.key_averages().table(sort_by="self_cpu_time_total", row_limit=top))


# --------------------------------------------------------------------------- a case


def msnb_first_call(case: Case, who: Contestant, variant: str) -> Step:
    """A step after its first call; prints by stage what that took."""
    from msnb.base import events

    versions: list[Any] = []
    step: Step = step_of(case, who, variant)
    start = perf_counter()
    with events.listening("compiled", lambda version, **rest: versions.append(version)):
        step(0)
    print(f"first call: {human(perf_counter() - start)}")
    for version in versions:
        print("\n".join(stage_table(version)))
    return step


def profile_msnb(case: Case, who: Contestant, variant: str, steps: int, top: int) -> None:
    undisturbed = msnb_first_call(case, who, variant)
    told = clock.timed(undisturbed, 1.0, case.ops)
    print(f"\nstep: median {human(told['step'])}, best {human(told['best'])}, others took {told['others']:.1f} cores\n")
    times = Times()
    end = watched(times)
    if end is not None:
        step = step_of(case, who, variant)
        run_steps(step, 3)
        end()
        times.clear()
        run_steps(step, steps)
        print("\n".join(instruction_table(times, steps, top)), "\n")
    functions(undisturbed, steps, top)


def profile(case: Case, who: Contestant, variant: str, steps: int, top: int) -> None:
    hold_to_cores(threads())
    print(f"{case.name}, {who.name}: {case.title}\n")
    if who.framework == "msnb":
        profile_msnb(case, who, variant, steps, top)
        return
    step = step_of(case, who, variant)
    run_steps(step, 3)
    told = clock.timed(step, 1.0, case.ops)
    print(f"step: median {human(told['step'])}, best {human(told['best'])}\n")
    if who.framework == "torch":
        torch_operations(step, steps, top)
    functions(step, steps, top)


def under_its_python(who: Contestant, arguments: list[str]) -> int | None:
    """Start again under the contestant's own interpreter where this is another; the exit code, or None."""
    python = python_of(who.framework)
    if python is None:
        raise SystemExit(absent(who.framework))
    if os.path.abspath(python) == os.path.abspath(sys.executable) and os.environ.get("BENCH_PROFILE"):
        return None
    scratch = BUILD / "profile-cache"  # compiled code may stay: this is about steps
    variables = {**environment(scratch), "BENCH_PROFILE": "1"}
    command = [str(python), "-m", "bench.profile_case", *arguments]
    return subprocess.run(command, env=variables, cwd=BUILD, check=False).returncode


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="where a step's time goes")
    parser.add_argument("case", help="for instance lenet32")
    parser.add_argument("--who", default="msnb graph", choices=list(CONTESTANTS))
    parser.add_argument("--variant", default="")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--top", type=int, default=TOP, help="rows per table")
    given = parser.parse_args(arguments)
    names = find(given.case)
    if len(names) != 1:
        raise SystemExit(f"which case is {given.case!r}? {', '.join(names or CASES)}")
    case, who = CASES[names[0]], CONTESTANTS[given.who]
    BUILD.mkdir(exist_ok=True)
    code = under_its_python(who, arguments)
    if code is None:
        profile(case, who, given.variant or str(*case.sizes[:1]), given.steps, given.top)
    return code or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
