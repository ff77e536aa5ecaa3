"""Profiles: what ran, when, in which step, and the files that say so."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.train import profiler
from msnb.train.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler


def names(prof: profile, category: str) -> list[str]:
    return [span.name for span in prof.spans if span.category == category]


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


# ---- what is recorded ----------------------------------------------------------------------------------------------


def test_every_op_of_eager_mode_has_a_span_with_types_and_line() -> None:
    x = ms.Tensor(np.ones((2, 3), np.float32))
    with profile(record_shapes=True, with_stack=True) as prof:
        ops.exp(x) + x
    ops.tanh(x)
    assert names(prof, "op") == ["exp", "add"]
    first = prof.spans[0]
    assert first.args["inputs"] == first.args["outputs"] == "f32[2,3]" and "ops.exp(x) + x" in first.args["line"]
    assert 0 < first.duration and first.start + first.duration <= prof.spans[1].start + prof.spans[1].duration


def test_programs_and_compilations_are_recorded() -> None:
    x = ms.Tensor(np.ones(3, np.float32))
    with profile() as prof:
        twice = ms.jit(lambda x: ops.exp(x) * 2)
        twice(x), twice(x)
    assert [n for n in names(prof, "program") if n == "<lambda>"] == ["<lambda>"] * 2
    assert "compile <lambda>" in names(prof, "compile")


def test_ops_of_a_gradient(mode: int) -> None:
    net, x = nn.Dense(3, 2), ms.Tensor(np.ones((4, 3), np.float32))
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    _, _, plain = (gradient(x) for _ in range(3))  # what keeps coming has a program
    with profile() as prof:
        profiled = gradient(x)
    for a, b in zip([plain[0], *plain[1]], [profiled[0], *profiled[1]]):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
    assert {span.category for span in prof.spans} >= {"program", "step"}


def test_nothing_listens_afterwards() -> None:
    before = {name: len(found) for name, found in events.listeners.items()}
    with pytest.raises(ZeroDivisionError), profile():
        raise ZeroDivisionError
    prof = profile(start_profile=False)
    prof.start()
    prof.stop()
    prof.stop()
    assert {name: len(found) for name, found in events.listeners.items() if found} == {
        k: v for k, v in before.items() if v
    }


def test_marks_and_ranges() -> None:
    config = profiler._ExperimentalConfig(mstx_domain_exclude=["noise"])
    with profile() as everything, profile(experimental_config=config) as prof:
        number = profiler.mstx.range_start("forward")
        profiler.mstx.mark("here", domain="noise")
        profiler.mstx.range_end(number)
    assert names(prof, "range") == names(everything, "range") == ["forward"]
    assert (names(prof, "mark"), names(everything, "mark")) == ([], ["here"])
    with pytest.raises(TypeError, match="no open range 7777"):
        profiler.mstx.range_end(7777)
    with pytest.raises(TypeError, match="a message is a text, not 3"):
        profiler.mstx.mark(3)  # type: ignore[arg-type]


# ---- steps ---------------------------------------------------------------------------------------------------------


def test_what_a_schedule_does_in_each_step() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    short = {"N": ProfilerAction.NONE, "W": ProfilerAction.WARM_UP, "R": ProfilerAction.RECORD,
             "S": ProfilerAction.RECORD_AND_SAVE}  # fmt: skip
    assert [plan(i) for i in range(11)] == [short[c] for c in "NNWRSNWRSNN"]
    for wrong, message in (({"wait": -1, "active": 1}, "wait is at least 0, not -1"),
                           ({"wait": 0, "active": 0}, "active is at least 1, not 0")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            schedule(**wrong)
    with pytest.raises(TypeError, match="wait is an int, not float"):
        schedule(wait=1.5, active=1)  # type: ignore[arg-type]


def test_only_the_steps_of_the_schedule_are_recorded(tmp_path: Path) -> None:
    written: list[list[str]] = []

    def ready(prof: profile) -> None:
        written.append([f"{s.name} {s.step}" for s in prof.spans if s.category in ("op", "step")])

    x = ms.Tensor(np.ones(3, np.float32))
    with profile(schedule=schedule(wait=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for op in (ops.exp, ops.tanh, ops.sin, ops.cos, ops.abs, ops.sqrt, ops.log):
            op(x)
            prof.step()
    assert written == [["tanh 1", "step 1 1", "sin 2", "step 2 2"], ["abs 4", "step 4 4", "sqrt 5", "step 5 5"]]
    with pytest.raises(RuntimeError, match="start the profile first"):
        prof.step()


# ---- files ---------------------------------------------------------------------------------------------------------


def test_files_of_a_profile(tmp_path: Path) -> None:
    x = ms.Tensor(np.ones(3, np.float32))
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), "worker")) as prof:
        ops.exp(x), ops.exp(x), ops.tanh(x)
        prof.add_metadata("about", "a test")
        prof.add_metadata_json("numbers", "[1, 2]")
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("worker_") and folder.name.endswith("_msnb")
    trace = json.loads((folder / "trace_view.json").read_text())["traceEvents"]
    assert [e["name"] for e in trace if e.get("cat") == "op"] == ["exp", "exp", "tanh"]
    assert all({"ph", "pid"} <= set(e) for e in trace)
    rows = {row["name"]: row for row in table(folder / "op_statistic.csv")}
    assert (rows["exp"]["count"], rows["tanh"]["count"]) == ("2", "1")
    assert abs(sum(float(row["share"]) for row in rows.values()) - 1) < 0.01
    (step,) = table(folder / "step_trace_time.csv")
    assert float(step["ops(us)"]) + float(step["rest(us)"]) <= float(step["time(us)"]) * 1.001
    assert [row["name"] for row in table(folder / "operator_details.csv")] == ["exp", "exp", "tanh"]
    assert json.loads((folder / "profiler_metadata.json").read_text()) == {"about": "a test", "numbers": [1, 2]}
    assert "exp" in repr(prof) and "share" in repr(prof)


def test_the_older_profiler(tmp_path: Path) -> None:
    x = ms.Tensor(np.ones(3, np.float32))
    prof = ms.Profiler(output_path=str(tmp_path), profiler_level=profiler.ProfilerLevel.Level0)
    for op in (ops.exp, ops.tanh):
        op(x)
        prof.step()
    assert json.loads(prof.op_analyse(["exp", "tanh"]))["exp"]["count"] == 1
    folder = prof.analyse(step_list=[1])
    assert [row["name"] for row in table(folder / "operator_details.csv")] == ["tanh"]
    for wrong, message in (({"mode": "later"}, '"sync" or "async"'), ({"offline_path": "x"}, "Ascend chip"),
                           ({"step_list": [5]}, "step 5 was not recorded")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            prof.analyse(**wrong)
    with pytest.raises(ValueError, match="'sinh' was not recorded, only"):
        prof.op_analyse("sinh")


def test_a_file_says_which_steps_of_a_training_are_profiled(tmp_path: Path) -> None:
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 3}))
    rows = [np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)]
    data = ms.dataset.NumpySlicesDataset(rows, ["x", "y"], shuffle=False).batch(1)
    net = nn.Dense(3, 1)
    model = ms.train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    monitor = profiler.DynamicProfilerMonitor(str(tmp_path), str(tmp_path / "out"))
    model.train(1, data, callbacks=[monitor], dataset_sink_mode=False)
    (folder,) = (tmp_path / "out").iterdir()
    assert (folder / "trace_view.json").exists()
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 3, "stop_step": 2}))
    with pytest.raises(ValueError, match="start_step 3 is above stop_step 2"):
        model.train(1, data, callbacks=[monitor], dataset_sink_mode=False)


def test_steps_of_a_loop_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 3}))
    monitor = profiler.DynamicProfilerMonitor(str(tmp_path), str(tmp_path / "out"))
    net, written = nn.Dense(3, 1), []
    for _ in range(5):
        net(ms.ops.ones((4, 3)))
        monitor.step()
        written.append((tmp_path / "out").exists())
    assert written == [False, False, False, True, True]
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 9, "stop_step": 8}))
    with pytest.raises(ValueError, match="start_step 9 is above stop_step 8"):
        monitor.step()


# ---- what is refused, and what is told -------------------------------------------------------------------------------


def test_counters_that_a_cpu_lacks_are_told(notices: list[str]) -> None:
    profile(profile_memory=True, start_profile=False)
    profiler._ExperimentalConfig(aic_metrics=profiler.AicoreMetrics.Memory)
    assert [text.partition(" ")[0] for text in notices] == ["profile(profile_memory=)", "profile(aic_metrics=)"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: profile(activities=["CPU"]), "members of ProfilerActivity, not 'CPU'"),  # type: ignore[list-item]
        (lambda: profile(schedule=3), "schedule is called, and 3 cannot be"),  # type: ignore[arg-type]
        (lambda: profile(experimental_config={}), "experimental_config is an _ExperimentalConfig"),  # type: ignore[arg-type]
        (lambda: tensorboard_trace_handler(3), "dir_name is a text, not 3"),  # type: ignore[arg-type]
        (lambda: profiler.DynamicProfilerMonitor(), "cfg_path is a folder, not None"),
        (lambda: profiler._ExperimentalConfig(export_type=[profiler.ExportType.Db]), "not a data base"),
    ],
)
def test_wrong_arguments(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
