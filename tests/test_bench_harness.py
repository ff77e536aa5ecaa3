"""The arithmetic and the words of the benchmark tables, on invented times, and one small case end to end with msnb
alone. No test asserts a speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bench import clock, harness, limits, peers, plot, report
from bench.bars import BARS, Bar
from bench.case import Seeded, dense_flops, several
from bench.cases import CASES, find, resnet
from bench.contestants import CONTESTANTS

VALUES = [[[2.0, 2.0, 2.0]]]


def record(step: float, **more: Any) -> dict[str, Any]:
    told = {"step": step, "best": step / 2, "p90": step, "values": VALUES, "variant": "", "others": 0.0}
    return {**told, "cold": 1.0, "peak": 1e8, **more}


def found(case: str, *rounds: dict[str, Any], **more: Any) -> dict[str, Any]:
    frame = {"limits": [{"flops": 1e11, "bytes": 1e10}], "rounds": {case: list(rounds)}, "footprint": [], "failed": {}}
    told = {"machine": "a machine", "absent": {}, "rounds_wanted": len(rounds), "contestants": list(CONTESTANTS)}
    return {**frame, **told, **more}


def bar_of(case: str, measure: str, ours: str = "msnb graph") -> Bar:
    return next(b for b in BARS if (b.case, b.measure, b.ours) == (case, measure, ours))


# --------------------------------------------------------------------------- ratios and verdicts


def test_ratios_are_paired_within_rounds() -> None:
    slow_machine = [1.0, 10.0, 2.0]
    rounds = [{"msnb graph": record(s), "jax jit": record(3 * s)} for s in slow_machine]
    told = found("mlp_step", *rounds)
    assert report.ratio(told, "mlp_step", ("msnb graph", "step"), ("jax jit", "step")) == pytest.approx(3.0)
    assert report.median(told, "mlp_step", "jax jit", "step") == pytest.approx(6.0)


@pytest.mark.parametrize(("theirs", "verdict"), [(1.2, "reached"), (1.0, "MISSED")])
def test_a_bar_is_judged_against_the_quickest_peer(theirs: float, verdict: str) -> None:
    told = found("mlp_step", {"msnb graph": record(1.0), "jax jit": record(theirs), "torch eager": record(9.0)})
    row = report.bar_row(told, bar_of("mlp_step", "step"))
    assert verdict in row and "(jax jit)" in row


def test_a_peer_with_other_values_is_no_rival_and_ours_is_told_wrong() -> None:
    other = [[[2.5, 2.5, 2.5]]]
    peers_ = {"torch eager": record(9.0), "jax jit": record(0.1, values=other)}
    told = found("mlp_step", {"msnb graph": record(1.0), **peers_})
    assert report.disagreeing(told, "mlp_step") == ["jax jit"]
    assert "(torch eager)" in report.bar_row(told, bar_of("mlp_step", "step"))
    wrong = found("mlp_step", {"msnb graph": record(1.0, values=other), "torch eager": record(9.0)})
    assert "WRONG VALUES" in report.bar_row(wrong, bar_of("mlp_step", "step"))


def test_a_nan_agrees_with_nobody() -> None:
    nan = [[[float("nan")] * 3]]
    told = found("mlp_step", {"msnb graph": record(1.0, values=nan), "torch eager": record(1.0)})
    assert report.disagreeing(told, "mlp_step") == ["msnb graph"]


def test_a_framework_that_drifts_is_compared_on_its_first_step() -> None:
    first, drifted = [[[2.0]], [[3.0]]], [[[2.0]], [[9.0]]]
    case = "transformer_step"
    rivals = {"torch eager": record(1.0, values=first), "mindspore graph": record(1.0, values=drifted)}
    assert report.disagreeing(found(case, rivals), case) == []
    assert "mindspore" in CASES[case].drifts


def test_warm_calls_are_held_against_cold_ones() -> None:
    told = found("lenet_step_32", {"msnb graph": record(1.0, warm=0.3), "jax jit": record(1.0, cold=0.9)})
    row = report.bar_row(told, bar_of("lenet_step_32", "warm"))
    assert "| 3.00 | 2.5 | reached |" in row


@pytest.mark.parametrize(("growth", "verdict"), [(2.1, "reached"), (2.3, "MISSED")])
def test_growth_is_judged_alone(growth: float, verdict: str) -> None:
    told = found("graph_size", {"msnb graph": {"small": 1.0, "large": growth, "growth": growth, "variant": ""}})
    assert verdict in report.bar_row(told, bar_of("graph_size", "growth"))
    assert f"{growth:.2f} x" in report.text(told)


def test_a_bar_without_a_peer_has_no_verdict() -> None:
    row = report.bar_row(found("mlp_step", {"msnb graph": record(1.0)}), bar_of("mlp_step", "step"))
    assert "reached" not in row and "MISSED" not in row


def test_the_limit_is_the_best_that_anybody_showed() -> None:
    told = found("matmul", {"torch eager": record(0.02)})  # its best is half of it: 10 ms for 2.1 GFLOP
    assert report.limit(told, CASES["matmul"]) == pytest.approx(0.01)
    copied = report.limit(told, CASES["fused_elementwise"])
    assert copied == pytest.approx(CASES["fused_elementwise"].bytes / 1e10)


def test_bars_and_cases_know_each_other() -> None:
    for bar in BARS:
        assert bar.case in CASES and bar.ours in CONTESTANTS and set(bar.against) <= set(CONTESTANTS), bar
    for case in CASES.values():
        assert set(case.only) | set(case.cannot) <= set(CONTESTANTS), case.name


# --------------------------------------------------------------------------- words


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.5 s"), (0.012, "12 ms"), (4e-6, "4 us"), (3e-8, "30 ns")])
def test_times_are_written_for_people(seconds: float, text: str) -> None:
    assert report.human(seconds) == text


def test_who_is_missing_failed_or_cannot_is_named() -> None:
    told = found("while_step", {"msnb graph": record(1.0, others=1.5)}, rounds_wanted=3)
    told |= {"absent": {"jax": "jax is not installed"}, "failed": {"while_step": {"torch eager": "ValueError: no"}}}
    text = report.text(told)
    for sentence in ("Not there: jax is not installed.", "**Failed: torch eager** (ValueError: no).", "1 of 3 rounds"):
        assert sentence in text
    assert "lax.while_loop has no reverse mode" in text and "took up to 1.5 cores" in text


def test_the_picture_is_well_formed_and_shows_everybody() -> None:
    told = found("mlp_step", {"msnb graph": record(1.0), "jax jit": record(2.0), "torch eager": record(3.0)})
    root = ElementTree.fromstring(report.picture(told))
    titles = [e.text for e in root.iter() if e.tag.endswith("title")]
    assert sorted(titles) == sorted(
        ["msnb graph: 0.50 x the best peer", "jax jit: 1.00 x the best peer", "torch eager: 1.50 x the best peer"]
    )
    assert plot.across(1e9) == plot.across(plot.HIGH) > plot.across(1.0)


# --------------------------------------------------------------------------- measuring


@pytest.mark.long
def test_a_step_is_measured_and_its_values_kept() -> None:
    calls: list[int] = []

    def step(i: int) -> Any:
        calls.append(i)
        return np.full((2, 3), float(i)), [np.float32(7.0)]

    told = clock.measure(step, 0.0, ops=2)
    assert calls[:3] == [0, 1, 2] and told["count"] >= 5
    assert told["values"][2] == [[2.0] * 6, [7.0] * 3]
    assert 0 <= told["best"] <= told["step"] <= told["p90"]
    assert clock.peak_bytes() > 1e6


def test_values_notice_a_transposed_result() -> None:
    a = np.random.default_rng(0).standard_normal((6, 6))
    assert report.difference([clock.numbers(a)], [clock.numbers(a * (1 + 1e-7))]) < 1e-6
    assert report.difference([clock.numbers(a)], [clock.numbers(a.T)]) > 1e-3
    assert report.difference([clock.numbers(a)], [clock.numbers((a, a))]) == float("inf")


@pytest.mark.long
def test_everybody_gets_the_same_batches_and_weights() -> None:
    for case in CASES.values():
        if case.bytes < 1e7 and case.flops < 1e10:
            for a, b in zip(case.batches()[1], case.batches()[1]):
                np.testing.assert_array_equal(a, b)
            size = str(case.sizes[0]) if case.sizes else ""
            assert [w.shape for w in case.initial(size)] == [w.shape for w in case.initial(size)]
    one, two = several(lambda s: (s.normal(3),))()[:2]
    assert not np.array_equal(one[0], two[0])
    assert Seeded(0).dense(4, 2)[0].shape == (2, 4)


def test_flops_of_known_networks() -> None:
    assert dense_flops(1, 2, 3, 4) == 2 * (2 * 6 + 3 * 12)
    per_image = CASES["resnet50_step"].flops / 4 / 6  # multiply-adds, three sweeps
    assert per_image == pytest.approx(4.09e9, rel=0.03)
    assert resnet.RESNET50.parameters() == 25_557_032 and resnet.RESNET18.parameters() == 11_173_962
    assert CASES["conv2d"].flops == pytest.approx(22.2e9, rel=0.01)


def test_limits_are_positive() -> None:
    assert limits.copy_bytes(0.001, 2, (1 << 20,)) > 1e6


# --------------------------------------------------------------------------- choosing


def test_cases_are_found_by_family_and_by_short_name() -> None:
    assert find("lenet32") == ["lenet_step_32"]
    assert find("lenet_step") == ["lenet_step_32", "lenet_step_256"]
    assert find("fused_elementwise") == ["fused_elementwise"]
    assert harness.chosen(["import_time"]) == ["footprint"]
    with pytest.raises(SystemExit, match="no such case: nope; there are: dispatch"):
        harness.chosen(["nope"])


def test_peers_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_TORCH", "/some/python")
    monkeypatch.setattr("bench.contestants.BUILD", tmp_path)
    monkeypatch.delenv("BENCH_JAX", raising=False)
    names, reasons = harness.invited("torch jax")
    assert names == ["msnb graph", "msnb eager", "torch eager", "torch compile"]
    assert list(reasons) == ["jax"] and "python bench/peers.py install jax" in reasons["jax"]
    assert harness.invited("torch-eager")[0] == ["msnb graph", "msnb eager", "torch eager"]
    assert harness.invited("none")[0] == ["msnb graph", "msnb eager"]
    with pytest.raises(SystemExit, match="no such peer: tensorflow"):
        harness.invited("tensorflow")


def test_an_unknown_peer_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.main(["install", "caffe"]) == 2
    assert "torch" in capsys.readouterr().err


def test_what_went_wrong_is_one_line() -> None:
    trace = "Traceback (most recent call last):\n  File x\nValueError: bad\nsome warning: later\n"
    assert harness.last_word(trace) == "ValueError: bad"
    assert harness.last_word("killed\n") == "killed"


# --------------------------------------------------------------------------- end to end


@pytest.mark.long
def test_one_case_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variables = {"PEERS": "none", "ROUNDS": "1", "BENCH_SECONDS": "0.05", "BENCH_OUT": str(tmp_path)}
    assert harness.main(["matmul"], variables) == 0
    assert "### matmul" in capsys.readouterr().out
    told = json.loads((tmp_path / "bench.json").read_text())
    assert list(told["rounds"]["matmul"][0]) == ["msnb graph", "msnb eager"]
    assert report.disagreeing(told, "matmul") == []
    assert (tmp_path / "bench.md").read_text().startswith("# Measured side by side")
    ElementTree.fromstring((tmp_path / "bench.svg").read_text())


@pytest.mark.slow
def test_a_profile_names_instructions_and_functions() -> None:
    command = [sys.executable, "bench/profile_case.py", "mlp_step", "--steps", "2", "--top", "5"]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in ("first call: ", "captured in", "step: median", "native instructions", "matmul", "function calls"):
        assert words in done.stdout
