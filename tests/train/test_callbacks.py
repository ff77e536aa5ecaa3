"""Callbacks: when they are called, what they print, what they change."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError
from msnb.train import (
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    Model,
    ModelCheckpoint,
    ProgressBar,
    ReduceLROnPlateau,
    TimeMonitor,
)
from tests.levels import alike

OLD = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


def rows(count: int = 2) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    xs = [rng.normal(size=(4, 2)).astype(np.float32) for _ in range(count)]
    return [(x, x.sum(1, keepdims=True)) for x in xs]


def model(rate: Any = 0.05, optimizer: Any = nn.SGD) -> Model:
    net = nn.Dense(2, 1)
    net.weight.set_data(ms.Tensor(np.float32([[0.5, -0.5]])))
    net.bias.set_data(ms.Tensor(np.float32([0.0])))
    return Model(net, nn.MSELoss(), optimizer(net.trainable_params(), rate), metrics={"mse"})


class Recorder(Callback):
    """Notes the calls of the methods it was told to override."""

    def __init__(self, names: Any) -> None:
        self.calls: list[str] = []
        for name in names:
            setattr(self, name, lambda run, name=name: self.calls.append(name))

    def __enter__(self) -> Callback:
        self.calls.append("enter")
        return self

    def __exit__(self, *error: Any) -> None:
        self.calls.append("exit" if error[0] is None else error[0].__name__)


# ---- when they are called --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "on_train_"])
def test_both_spellings_in_order(mode: int, prefix: str) -> None:
    recorder = Recorder(prefix + name for name in OLD)
    model().train(2, rows(), recorder)
    step = ["step_begin", "step_end"]
    want = ["begin", *(["epoch_begin", *step, *step, "epoch_end"] * 2), "end"]
    assert recorder.calls == ["enter", *(prefix + name for name in want), "exit"]


def test_eval_calls_its_own_and_the_old_names() -> None:
    new, old = Recorder(f"on_eval_{name}" for name in OLD), Recorder(OLD)
    model().eval(rows(1), [new, old])
    want = ["begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"]
    assert new.calls == ["enter", *(f"on_eval_{name}" for name in want), "exit"]
    assert old.calls == ["enter", *want, "exit"]


def test_inside_fit_the_old_names_belong_to_training() -> None:
    old, new = Recorder(OLD), Recorder(["on_train_epoch_end", "on_eval_begin", "on_eval_end"])
    model().fit(1, rows(1), rows(1), callbacks=[old, new])
    assert old.calls == ["enter", "begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end", "exit"]
    assert new.calls == ["enter", "on_eval_begin", "on_eval_end", "on_train_epoch_end", "exit"]


def test_an_error_leaves_every_callback() -> None:
    class Fails(Callback):
        def step_end(self, run_context: Any) -> None:
            raise KeyError("mine")

    recorder = Recorder(["end"])
    with pytest.raises(KeyError, match="mine"):
        model().train(1, rows(), [recorder, Fails()])
    assert recorder.calls == ["enter", "KeyError"]


def test_a_stop_is_a_stop(mode: int) -> None:
    class Stop(Callback):
        def step_end(self, run_context: Any) -> None:
            if run_context.original_args().cur_step_num == 3:
                run_context.request_stop()

    recorder = Recorder(["step_end", "epoch_end", "end"])
    model().train(5, rows(), [Stop(), recorder])
    assert recorder.calls[1:-1] == ["step_end", "step_end", "epoch_end", "step_end", "epoch_end", "end"]


def test_what_a_run_tells() -> None:
    seen: dict[str, Any] = {}
    trained = model()
    trained.train(1, rows(), LambdaCallback(on_train_step_end=lambda run: seen.update(run.original_args())))
    assert seen["network"] is trained.predict_network and seen["train_network"] is trained.train_network
    assert (seen["epoch_num"], seen["batch_num"], seen["cur_step_num"], seen["mode"]) == (1, 2, 2, "train")
    with pytest.raises(AttributeError, match="the run has no 'colour'; it has mode, network"):
        trained.train(1, rows(), LambdaCallback(on_train_begin=lambda run: run.original_args().colour))


# ---- what they print -------------------------------------------------------------------------------------------------


def test_loss_monitor(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    model().train(2, rows(3), LossMonitor(2))
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r"is [\d.e-]+$", "is N", line) for line in lines] == [
        "epoch: 1 step: 2, loss is N", "epoch: 2 step: 1, loss is N", "epoch: 2 step: 3, loss is N",
    ]  # fmt: skip
    model().train(1, rows(3), LossMonitor(0))
    assert capsys.readouterr().out == ""
    model().fit(1, rows(1), rows(1), callbacks=LossMonitor(0))
    assert re.fullmatch(r"Eval result: epoch 1, metrics: \{'mse': [\d.]+\}\n", capsys.readouterr().out)


def test_loss_monitor_prints_the_same_in_both_modes(capsys: pytest.CaptureFixture[str]) -> None:
    words, losses = [], []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        model().train(2, rows(), LossMonitor())
        printed = capsys.readouterr().out
        words.append(re.sub(r"loss is \S+", "", printed))
        losses.append([float(x) for x in re.findall(r"loss is (\S+)", printed)])
    assert words[0] == words[1] and len(losses[0]) == 2 * len(rows())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)  # six digits are printed, the last may round otherwise


def test_loss_monitor_stops_at_a_loss_that_is_no_number() -> None:
    bad = [(np.full((4, 2), np.inf, np.float32), np.zeros((4, 1), np.float32))]
    with pytest.raises(ValueError, match=r"epoch: 1 step: 2. Invalid loss (nan|inf), terminating training"):
        model().train(1, rows(1) + bad, LossMonitor())


def test_time_monitor(capsys: pytest.CaptureFixture[str]) -> None:
    model().train(2, rows(), TimeMonitor())
    model().eval(rows(), TimeMonitor())
    lines = capsys.readouterr().out.splitlines()
    pattern = r"(Train|Eval) epoch time: \d+\.\d{3} ms, per step time: \d+\.\d{3} ms"
    assert [re.fullmatch(pattern, line)[1] for line in lines] == ["Train", "Train", "Eval"]
    total, each = (float(n) for n in re.findall(r"\d+\.\d{3}", lines[0]))
    assert each == pytest.approx(total / 2, abs=2e-3)
    model().train(1, rows(), TimeMonitor(data_size=1000))  # as in MindSpore, the steps that are counted go first
    total, each = (float(n) for n in re.findall(r"\d+\.\d{3}", capsys.readouterr().out))
    assert each == pytest.approx(total / 2, abs=2e-3)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MSNB_NBVAL", raising=False)
    out = Terminal()
    model().train(2, rows(), ProgressBar(10, out))
    parts = out.getvalue().split("\r")
    assert re.fullmatch(r"epoch 1/2 \[=====>    \] 1/2 loss \d+\.\d{4}\x1b\[K", parts[1])
    assert re.fullmatch(r"epoch 2/2 \[={10}\] 2/2 loss \d+\.\d{4}\x1b\[K", parts[4])
    assert re.fullmatch(r"\x1b\[Ktrained 2 epochs, 4 steps, loss \d+\.\d{4}\n", parts[5]) and len(parts) == 6


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_progress_bar_is_one_line_elsewhere(monkeypatch: pytest.MonkeyPatch, stream: Any) -> None:
    if stream is Terminal:
        monkeypatch.setenv("MSNB_NBVAL", "1")
    out = stream()
    model().train(1, rows(1), ProgressBar(stream=out))
    assert re.fullmatch(r"trained 1 epoch, 1 step, loss \d+\.\d{4}\n", out.getvalue())


def test_history(mode: int) -> None:
    history, losses = History(), []
    note = LambdaCallback(on_train_step_end=lambda run: losses.append(float(run.original_args().net_outputs)))
    model().fit(2, rows(3), rows(1), callbacks=[history, note])
    assert history.epoch == {"epoch": [1, 2]}
    assert history.history["loss"] == pytest.approx([np.mean(losses[:3]), np.mean(losses[3:])])
    assert history.history["net_output"] == pytest.approx([losses[2], losses[5]])
    assert len(history.history["mse"]) == 2
    assert history.history["mse"][1] < history.history["mse"][0]


# ---- what they change ------------------------------------------------------------------------------------------------


def scripted(values: list[float]) -> Callback:
    """Makes the evaluations of a fit come out as scripted."""
    left = iter(values)

    def put(run: Any) -> None:
        run.original_args().eval_results["mse"] = next(left)

    return LambdaCallback(on_train_epoch_end=put)


def test_early_stopping_waits_and_restores(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    trained, weights = model(), []
    note = LambdaCallback(on_train_epoch_end=lambda run: weights.append(trained.predict_network.weight.asnumpy()))
    stop = EarlyStopping("eval_mse", patience=2, verbose=True, restore_best_weights=True)
    trained.fit(9, rows(), rows(1), callbacks=[note, scripted([3, 2, 2.5, 2.4, 2.3, 1, 1, 1, 1]), stop])
    assert len(weights) == 4 and stop.stopped_epoch == 4
    assert trained.predict_network.weight.asnumpy().tobytes() == weights[1].tobytes()
    assert "epoch 4: eval_mse has been at best 2 for 2 epochs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "values", "epochs"),
    [
        ({}, [3, 2, 1], 1),
        ({"patience": 1}, [1, 2, 0, 0], 2),
        ({"patience": 1, "mode": "max"}, [1, 2, 3, 2, 9], 4),
        ({"patience": 1, "min_delta": 0.5}, [3, 2, 1.8, 0], 3),
        ({"patience": 1, "baseline": 1.0}, [2, 0, 0, 0], 1),
        ({"patience": 2, "baseline": 1.0}, [2, 0, 1, 0, 0], 4),
        ({"patience": 2}, [1, 2, 0, 1, 2, 0], 5),
    ],
)
def test_early_stopping_rules(options: dict[str, Any], values: list[float], epochs: int) -> None:
    stop = EarlyStopping("mse", **options)
    model().fit(len(values), rows(1), rows(1), callbacks=[scripted(values), stop])
    assert stop.stopped_epoch == epochs


def test_a_monitor_that_is_not_there() -> None:
    with pytest.raises(AttributeValueError, match="monitor='eval_f1' is not there; this run has: loss, mse"):
        model().fit(1, rows(1), rows(1), callbacks=EarlyStopping("eval_f1"))
    with pytest.raises(AttributeValueError, match="this run has: loss"):
        model().train(1, rows(1), EarlyStopping())
    model().fit(3, rows(1), rows(1), 2, callbacks=EarlyStopping("eval_mse"))  # epochs without evaluation do not count


@pytest.mark.parametrize("rate", [0.08, "tensor"])
def test_reduce_on_plateau(capsys: pytest.CaptureFixture[str], mode: int, rate: Any) -> None:
    trained = model(ms.Tensor(np.float32(0.08)) if rate == "tensor" else rate)
    seen: list[float] = []
    note = LambdaCallback(on_train_epoch_begin=lambda run: seen.append(float(trained._optimizer.learning_rate)))
    reduce = ReduceLROnPlateau("eval_mse", factor=0.5, patience=2, cooldown=1, min_lr=0.03, verbose=True)
    trained.fit(9, rows(1), rows(1), callbacks=[note, scripted([1, 2, 2, 2, 2, 2, 2, 2, 2]), reduce])
    assert seen == pytest.approx([0.08, 0.08, 0.08, 0.04, 0.04, 0.03, 0.03, 0.03, 0.03], rel=1e-6)
    assert "epoch 3: learning rate 0.08 -> 0.04" in capsys.readouterr().out


def test_learning_rate_scheduler_does_what_the_rate_says(mode: int) -> None:
    scheduled, weights = model(), []
    compiled: list[Any] = []
    halve = LearningRateScheduler(lambda rate, step: rate / 2)
    note = LambdaCallback(on_train_step_end=lambda run: weights.append(scheduled.predict_network.weight.asnumpy()))
    scheduled.train(1, rows(1), halve)
    with events.listening("compiled", lambda **data: compiled.append(data)):
        scheduled.train(1, rows(3), [halve, note])
    assert float(scheduled._optimizer.learning_rate) == pytest.approx(0.05 / 16)
    assert compiled == []
    by_hand = model()
    for (x, y), rate in zip([rows(1)[0], *rows(3)], (0.05, 0.025, 0.0125, 0.00625)):
        by_hand._optimizer.learning_rate = rate
        by_hand.train(1, [(x, y)])
    np.testing.assert_allclose(by_hand.predict_network.weight.asnumpy(), weights[-1], rtol=1e-6)


def test_rates_that_cannot_be_set() -> None:
    with pytest.raises(ArgumentError, match="one constant learning rate"):
        model([0.1] * 10).train(1, rows(), LearningRateScheduler(lambda rate, step: rate))
    with pytest.raises(AttributeValueError, match="the function gave nan"):
        model().train(1, rows(), LearningRateScheduler(lambda rate, step: math.nan))


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_model_checkpoint_names_and_numbers(tmp_path: Path, mode: int) -> None:
    keep = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(2, keep_checkpoint_max=2))
    model().train(2, rows(3), keep)
    assert names(tmp_path) == ["net-2_1.ckpt", "net-2_3.ckpt"]
    assert keep.latest_ckpt_file_name == str(tmp_path / "net-2_3.ckpt")
    again = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(4, append_info=["epoch_num", {"note": "x"}]))
    model().train(1, rows(3), again)
    assert names(tmp_path) == ["net-2_1.ckpt", "net-2_3.ckpt", "net_1-1_3.ckpt"]  # the older run's files stay
    loaded = ms.load_checkpoint(again.latest_ckpt_file_name)
    assert int(loaded["epoch_num"]) == 1 and loaded["note"] == "x"
    assert {"weight", "bias", "global_step"} <= set(loaded)


def test_a_training_goes_on_where_it_stopped(tmp_path: Path, mode: int) -> None:
    def momentum(params: Any, rate: Any) -> Any:
        return nn.Momentum(params, rate, 0.9)

    whole = model(optimizer=momentum)
    whole.train(4, rows())
    first = model(optimizer=momentum)
    saver = ModelCheckpoint("half", str(tmp_path), CheckpointConfig(100))
    first.train(2, rows(), saver)
    second = model(optimizer=momentum)
    loaded = ms.load_checkpoint(saver.latest_ckpt_file_name)
    assert ms.load_param_into_net(second.train_network, loaded, strict_load=True) == ([], [])
    second.train(4, rows(), initial_epoch=2)
    want = {p.name: p.asnumpy() for p in whole.train_network.get_parameters()}
    for parameter in second.train_network.get_parameters():  # at O1 the first eager steps are not compiled yet
        alike(parameter.asnumpy(), want[parameter.name], parameter.name)


def test_a_checkpoint_when_the_training_fails(tmp_path: Path) -> None:
    class Fails(Callback):
        def step_end(self, run_context: Any) -> None:
            raise KeyError("mine")

    saver = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(100, exception_save=True))
    with pytest.raises(KeyError):
        model().train(1, rows(), [saver, Fails()])
    assert names(tmp_path) == ["net-1_1_breakpoint.ckpt"]


def test_another_network_is_saved_if_asked(tmp_path: Path) -> None:
    trained = model()
    config = CheckpointConfig(1, saved_network=trained.predict_network)
    trained.train(1, rows(1), ModelCheckpoint("net", str(tmp_path), config))
    assert set(ms.load_checkpoint(tmp_path / "net-1_1.ckpt")) == {"weight", "bias"}


def test_checkpoints_are_kept_by_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**6, 10))  # every look at it is 10 seconds later
    monkeypatch.setattr("msnb.train.callbacks.model_checkpoint.time.monotonic", lambda: float(next(clock)))
    config = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=2, format="safetensors")
    saver = ModelCheckpoint("net", str(tmp_path), config)
    model().train(4, rows(3), saver)
    kept = names(tmp_path)
    assert "net-4_3.safetensors" in kept and 1 < len(kept) < 6 and [Path(f).name for f in saver.saved_files] == kept


def test_settings_of_checkpoints_that_are_refused_or_told() -> None:
    with pytest.raises(TypeError, match="format is 'ckpt' or 'safetensors'"):
        CheckpointConfig(format="zip")
    with pytest.raises(TypeError, match="no encrypted files"):
        CheckpointConfig(enc_key=b"0" * 16)


def test_time_monitor_tells_the_time_of_data(capsys: pytest.CaptureFixture[str]) -> None:
    model().train(1, rows(), TimeMonitor(data_time=True))
    assert ", data time: " in capsys.readouterr().out


WRONG = [
    (lambda: LossMonitor(-1), "per_print_times must be an int of at least 0"),
    (lambda: LambdaCallback(on_step=print), "LambdaCallback has no 'on_step'; legal: on_train_epoch_begin"),
    (lambda: EarlyStopping(mode="best"), "mode must be 'min', 'max' or 'auto'"),
    (lambda: ReduceLROnPlateau(factor=1.5), "factor must be at least 0 and below 1"),
    (lambda: LearningRateScheduler(3), "needs a function"),
    (lambda: CheckpointConfig(0), "above 0"),
    (lambda: CheckpointConfig(append_info=["loss"]), "append_info holds 'epoch_num', 'step_num' and dicts"),
    (lambda: ModelCheckpoint("a/b"), "prefix must be a string without"),
    (lambda: ModelCheckpoint("a", config=3), "config must be a CheckpointConfig"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case: int) -> None:
    call, sentence = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()
