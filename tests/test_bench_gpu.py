"""The benchmarks of the GPU: their words on invented times, and small cases end to end on the fake CuPy."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import msnb as ms
from bench import gpu, gpu_roofline
from bench.cases import elementwise, transformer
from bench.gpu_cases import CASES, chosen, gpu_clock
from bench.gpu_cases.gpu_case import COPY, PEER, GpuCase, once
from bench.gpu_cases.gpu_clock import Contestant
from msnb.base import device_registry
from tests import fake_cupy


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine on which ``import cupy`` works."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    yield fake_cupy
    ms.reset_context()
    device_registry._made.pop("GPU", None)


def test_cases_have_names_of_their_own_and_are_chosen_by_their_beginning() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert [case.name for case in chosen("mlp,matmul_bf")] == ["matmul_bf16", "mlp_step"]
    assert chosen("") == CASES and chosen("nothing") == []


def contestant(name: str, *seconds: float, value: float = 1.0) -> Contestant:
    return Contestant(name, value=value, seconds=list(seconds))


def test_ratios_are_paired_within_rounds() -> None:
    ours, theirs = contestant("msnb graph", 1.0, 10.0, 2.0), contestant("jax jit", 3.0, 30.0, 6.0)
    assert gpu_clock.ratio(theirs, ours) == pytest.approx(3.0)


def test_the_bar_is_held_against_the_best_rival_that_computes_the_same() -> None:
    case = GpuCase("some_step", CASES[0].case, bar=1.5)
    ours, eager = contestant("msnb graph", 1.0), contestant("torch eager", 2.0)
    wrong = contestant("jax jit", 0.1, value=7.0)
    assert gpu.verdict(case, [ours, eager, wrong], 1.0)[2:] == ("2.00 (torch eager)", "1.5", "reached")
    assert gpu.verdict(case, [ours, contestant("jax jit", 1.2)], 1.0)[4] == "MISSED"
    assert gpu.verdict(case, [ours], 1.0)[4] == "no rival"
    assert "other values" in gpu.row_of(case, wrong, ours, 1.0)[-1]


def test_the_share_of_the_copy_bandwidth() -> None:
    case = GpuCase("chain", replace(CASES[0].case, bytes=90.0), measure=COPY, bar=0.85)
    assert gpu.verdict(case, [contestant("msnb graph", 1.0)], 100.0)[2:] == ("0.90", "0.85", "reached")
    late = replace(contestant("msnb graph"), reason="OutOfMemory")
    assert gpu.verdict(case, [late], 100.0)[4] == "msnb: OutOfMemory"
    assert gpu.verdict(replace(case, measure=PEER), [contestant("msnb graph", 1.0)], 1.0)[4] == "no rival"


def test_who_is_not_ready_in_time_is_left_out() -> None:
    with pytest.raises(TimeoutError, match="not ready"), gpu_clock.within(0.1):
        time.sleep(5)


def test_without_a_gpu_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert gpu.main(["--only", "mlp"]) == 0
    assert "nothing is measured: CuPy is not installed" in capsys.readouterr().out
    assert gpu.main(["--only", "nothing"]) == 2
    assert gpu.main(["--list"]) == 0 and "mlp_step" in capsys.readouterr().out


FORM = transformer.Form(layers=1, width=8, heads=2, tokens=4, batch=2, vocabulary=11)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_network_end_to_end(cupy: Any, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_clock, "LEAST", 1e-6)
    case = GpuCase("transformer", transformer.step_case(FORM), precision)
    ours, *others = gpu_clock.measured(case, ["torch eager", "jax"], 2, 60.0)
    assert ours.reason == "" and len(ours.seconds) == 2 and 1.5 < ours.value < 4.0
    assert all(one.reason or one.seconds for one in others)
    assert gpu.row_of(case, ours, ours, 1.0)[:2] == ("transformer", "msnb graph")


def test_a_kernel_end_to_end(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_clock, "LEAST", 1e-6)
    three = once(lambda seeded: tuple(seeded.normal(64) for _ in "xwb"))
    case = GpuCase("chain", replace(elementwise.CASES[0], batches=three, bytes=4.0 * 4 * 64), measure=COPY)
    (ours,) = gpu_clock.measured(case, ["none"], 1, 60.0)
    assert ours.reason == "" and ours.median > 0


def test_the_predicted_table(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "roofline.md"
    assert gpu_roofline.main(["--only", "softmax,adam", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "softmax: moves 1.000 of the least, bar 1.2: reached" in told and "adam: moves" in told
    assert "| softmax | all | 1 |" in out.read_text()


def test_a_missed_bar_is_told() -> None:
    program = gpu_roofline.Program("p", tuple, 1.2)
    assert gpu_roofline.verdict(program, 130, 100).endswith("bar 1.2: MISSED")
    assert gpu_roofline.verdict(gpu_roofline.Program("net", tuple), 130, 100) == ""
