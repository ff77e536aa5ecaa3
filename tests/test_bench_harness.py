"""The arithmetic of the benchmark tables, on invented times; no test measures a speed."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from bench import harness

CASE = """
import sys
sys.path.insert(0, {folder!r})
from harness import Unavailable, run_case
def a(): return {{"m": 2.0}}
def b(): print("noise"); return {{"m": 1.0, "only b": 0.5}}
def c(): raise Unavailable("no such device")
def d(): raise RuntimeError("boom")
run_case("T", {{"a": a, "b": b, {more}}}, baseline="a", rounds=2)
"""


def run(folder: Path, more: str) -> subprocess.CompletedProcess[str]:
    script = folder / "case.py"
    script.write_text(CASE.format(folder=str(harness.FOLDER), more=more))
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)


def test_a_case_prints_its_table(tmp_path: Path) -> None:
    out = run(tmp_path, '"c": c').stdout
    assert "| m | a | 2 s | 2 s | 1 (baseline) |" in out
    assert "| m | b | 1 s | 1 s | 0.50 |" in out
    assert "| only b | b | 500 ms | 500 ms | - |" in out
    assert "Left out: c (no such device)." in out


def test_a_contestant_that_crashes_stops_the_case(tmp_path: Path) -> None:
    done = run(tmp_path, '"d": d')
    assert done.returncode != 0
    assert "contestant d failed" in done.stderr and "boom" in done.stderr


def test_ratios_are_paired_within_rounds() -> None:
    slow_machine = [1.0, 10.0, 2.0, 5.0]
    results: harness.Rounds = [{"base": {"m": s}, "x": {"m": 3 * s}} for s in slow_machine]
    base, other = harness.rows(results, ["base", "x"], "base")
    assert base.ratio is None and other.ratio == pytest.approx(3.0)
    assert (other.median, other.best) == (pytest.approx(3 * statistics.median(slow_machine)), 3.0)


def test_per_call_counts_and_restores_the_collector() -> None:
    import gc

    calls: list[int] = []
    taken = harness.per_call(lambda: calls.append(1), seconds=0.01, loop=0.001)
    assert taken > 0 and len(calls) > 3
    assert gc.isenabled()


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.5 s"), (0.012, "12 ms"), (4e-6, "4 us"), (3e-8, "30 ns")])
def test_times_are_written_for_people(seconds: float, text: str) -> None:
    assert harness.human(seconds) == text


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert harness.main(["nope"]) == 2
    assert "import_time" in capsys.readouterr().err
