"""`make bench-gpu`: msnb on a GPU beside PyTorch and JAX.

    python -m bench.gpu                                everything, about ten minutes
    python -m bench.gpu --only mlp,lenet --rounds 3    beginnings of names
    python -m bench.gpu --peers "torch eager,jax"      whom to compare with; none: --peers none
    python -m bench.gpu --out build/gpu.md             the tables as Markdown, with the chip and the date

Everybody runs in one process and in rounds (bench/gpu_cases/gpu_clock.py says how time is taken); a contestant that
is not ready within the seconds of its case (`--seconds`) is left out, with its reason. Where values disagree, the
table says so: a fast wrong answer is no rival.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # all frameworks share the memory
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.gpu_cases import chosen
from bench.gpu_cases.gpu_case import COPY, PEER, GpuCase
from bench.gpu_cases.gpu_clock import Contestant, copy_bandwidth, measured, ratio

HEAD = ("case", "who", "time", "their time / ours", "bytes/s of copy", "TFLOP/s", "first call", "told")


def no_gpu() -> str:
    """Why nothing can be measured here; "" where there is a GPU."""
    try:
        import cupy

        return "" if cupy.cuda.runtime.getDeviceCount() else "this machine has no GPU"
    except ImportError:
        return "CuPy is not installed: pip install msnb[gpu]"
    except Exception as error:
        return f"the GPU cannot be used: {error}"


def machine() -> str:
    """The chip and the versions of everybody."""
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    told = [name, f"driver {cupy.cuda.runtime.driverGetVersion()}", f"CUDA {cupy.cuda.runtime.runtimeGetVersion()}"]
    for package in ("msnb", "cupy", "torch", "jax"):
        try:
            told.append(f"{package} {importlib.import_module(package).__version__}")
        except ImportError:
            told.append(f"no {package}")
    return ", ".join(told)


def agrees(case: GpuCase, one: Contestant, other: Contestant) -> bool:
    """Whether two contestants computed the same in the first step."""
    loose = max(case.case.tolerance, 2e-2 if case.precision in ("bfloat16", "narrow") else 2e-3)
    return abs(one.value - other.value) <= loose * max(1.0, abs(other.value))


def row_of(case: GpuCase, one: Contestant, ours: Contestant, copy: float) -> tuple[str, ...]:
    """One contestant as cells."""
    if one.reason:
        return case.name, one.name, "", "", "", "", "", one.reason
    seconds = one.median / case.case.ops
    shown = f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"
    share = f"{case.case.bytes / one.median / copy:.2f}" if case.measure == COPY else ""
    rate = f"{case.case.flops / one.median / 1e12:.1f}" if case.case.flops else ""
    told = "" if agrees(case, one, ours) else f"other values: {one.value:.6g}, ours {ours.value:.6g}"
    times = f"{ratio(one, ours):.2f}" if ours.seconds else ""
    return case.name, one.name, shown, times, share, rate, f"{one.first:.1f} s", told


def verdict(case: GpuCase, found: list[Contestant], copy: float) -> tuple[str, str, str, str, str]:
    """The case's bar: what is measured, its value, the bar, reached or not."""
    ours, *peers = found
    rivals = [p for p in peers if p.seconds and agrees(case, p, ours)]
    if case.measure == PEER:
        rivals = [p for p in rivals if p.name == "torch eager"]
    if not ours.seconds:
        return case.name, case.measure, "", f"{case.bar:g}", f"msnb: {ours.reason}"
    if case.measure == COPY:
        value, by = case.case.bytes / ours.median / copy, ""
    elif rivals:
        best = min(rivals, key=lambda p: p.median)
        value, by = ratio(best, ours), f" ({best.name})"
    else:
        return case.name, case.measure, "", f"{case.bar:g}", "no rival"
    return case.name, case.measure, f"{value:.2f}{by}", f"{case.bar:g}", "reached" if value >= case.bar else "MISSED"


def markdown(head: Any, rows: Any) -> str:
    """A table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def report(rows: list[tuple[str, ...]], verdicts: list[tuple[str, ...]], copy: float) -> str:
    """Everything as Markdown."""
    day = datetime.date.today().isoformat()
    bars = markdown(("case", "measure", "value", "bar", "verdict"), verdicts)
    head = f"# On a GPU\n\nMeasured on {day} by `python -m bench.gpu`: {machine()}.\n"
    return f"{head}A copy on the device moves {copy / 1e12:.2f} TB/s.\n\n{bars}\n\n{markdown(HEAD, rows)}\n"


def options_of(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of names of cases, parted by commas")
    parser.add_argument("--peers", default="torch,jax", help="torch, jax, or one way of them (torch compile)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each case")
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    parser.add_argument("--list", action="store_true", help="name the cases")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Measure what was asked for, print it, write it."""
    options = options_of(argv)
    cases = chosen(options.only)
    if options.list or not cases:
        print("\n".join(f"{case.name:<26}{case.case.title}, {case.precision}" for case in cases or chosen("")))
        return 0 if cases else 2
    reason = no_gpu()
    if reason:
        print(f"nothing is measured: {reason}.")
        return 0
    peers = [word.strip() for word in options.peers.split(",")]
    copy, rows, verdicts = copy_bandwidth(), list[tuple[str, ...]](), list[tuple[str, ...]]()
    print(f"{machine()}; a copy moves {copy / 1e12:.2f} TB/s\n{'  '.join(HEAD)}", flush=True)
    for case in cases:
        found = measured(case, peers, options.rounds, options.seconds)
        fresh = [row_of(case, one, found[0], copy) for one in found]
        verdicts.append(verdict(case, found, copy))
        print("\n".join("  ".join(cell.ljust(14) for cell in row).rstrip() for row in fresh))
        print(f"    -> {'  '.join(verdicts[-1][1:])}", flush=True)
        rows += fresh
        if options.out is not None:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(report(rows, verdicts, copy), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
