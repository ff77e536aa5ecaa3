"""What a training tells while it runs: lines on a terminal, nothing with verbose=0, a sentence after Ctrl-C."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.base import events
from msnb.train.callbacks.progress import LossCurve, TrainingProgress, progress_monitor, seconds_word, value_word

EPOCH = re.compile(r"epoch (\d+)/(\d+)  loss ([\d.e-]+)  (accuracy ([\d.]+)  )?rate ([\d.]+)  [\d,]+ samples/s  \S+ s")


def rows(count: int = 6) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((4, 3)).astype(np.float32), rng.integers(0, 2, 4).astype(np.int32)) for _ in range(count)
    ]


def model(rate: Any = 0.1, **options: Any) -> ms.Model:
    ms.set_seed(1)
    net = nn.Dense(3, 2)
    return ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), rate), metrics={"accuracy"}, **options)


class Stop(ms.train.Callback):
    """Interrupts before a step."""

    def __init__(self, step: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.step, self.error = step, error

    def on_train_step_begin(self, run_context: Any) -> None:
        if run_context.original_args().cur_step_num == self.step:
            raise self.error


def test_a_line_per_epoch_where_the_output_is_no_terminal(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    history = ms.train.History()
    model().fit(3, rows(), rows(2), callbacks=history)
    found = [EPOCH.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
    assert [line and (line[1], line[2], line[6]) for line in found] == [(str(k), "3", "0.1") for k in (1, 2, 3)]
    losses = [float(line[3]) for line in found if line]
    np.testing.assert_allclose(losses, history.history["loss"], rtol=1e-3)  # the mean over the steps, four digits
    accuracies = [float(line[5]) for line in found if line]
    np.testing.assert_allclose(accuracies, history.history["accuracy"], rtol=1e-3)


def test_sunk_steps_give_the_same_losses(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    told = []
    for sunk in (False, True):
        model().train(2, rows(19), dataset_sink_mode=sunk)
        told.append([float(line[3]) for line in map(EPOCH.fullmatch, capsys.readouterr().out.splitlines()) if line])
    assert len(told[0]) == 2
    np.testing.assert_allclose(told[0], told[1], rtol=1e-3)


def test_verbose_says_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    model().train(2, rows(), verbose=0)
    assert capsys.readouterr().out == ""
    model().train(2, rows(), verbose=2)
    assert len(capsys.readouterr().out.splitlines()) == 2
    model().train(2, rows(), ms.train.LossMonitor(6))  # reports by itself: nothing is told twice
    assert [line.startswith("epoch: ") for line in capsys.readouterr().out.splitlines()] == [True, True]
    model().train(2, rows(), ms.train.LossMonitor(6), verbose=1)  # asked for: both
    assert len(capsys.readouterr().out.splitlines()) == 4
    with pytest.raises(ValueError, match='verbose must be "auto", 0, 1 or 2, got 3'):
        model().train(1, rows(), verbose=3)
    with pytest.raises(TypeError, match="verbose must be \"auto\", 0, 1 or 2, got 'loud'"):
        model().fit(1, rows(), verbose="loud")


def test_a_terminal_gets_a_row_that_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("MSNB_NBVAL", raising=False)
    monkeypatch.setattr("msnb.train.callbacks.progress.REDRAW", 0.0)
    monkeypatch.setattr(sys, "stdout", Terminal())
    model().train(1, rows())
    written = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert "\repoch 1/1  [" in written and "] 3/6  loss " in written and " left\x1b[K" in written
    assert written.endswith("\n") and EPOCH.fullmatch(written.rsplit("\r\x1b[K", 1)[1].strip())


def test_a_schedule_has_its_rate_in_the_row(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    model(nn.ExponentialDecayLR(0.1, 0.5, 6)).train(2, rows())
    assert re.findall(r"rate (\S+)", capsys.readouterr().out) == ["0.05", "0.025"]


def test_a_network_without_a_loss_is_trained_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    class Texts(nn.Cell):
        def construct(self, x, y):  # type: ignore[no-untyped-def]
            return {"sum": x.sum()}

    ms.Model(Texts()).train(1, rows(2))
    assert re.fullmatch(r"epoch 1/1  [\d,]+ samples/s  \S+ s\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "step, words",
    [
        (9, "in epoch 2 of 3, at step 3 of 6: the weights are those after step 2 of it; .*initial_epoch=1"),
        (7, "in epoch 2 of 3, at step 1 of 6: the weights are those from before it; .*initial_epoch=1"),
        (1, "in epoch 1 of 3, at step 1 of 6: the weights are those from before it; .*initial_epoch=0"),
    ],
)
def test_ctrl_c_says_where_it_stopped(capsys: pytest.CaptureFixture[str], step: int, words: str, mode: int) -> None:
    for _ in range(2):  # every time, not once
        with pytest.raises(KeyboardInterrupt):
            model().train(3, rows(), Stop(step))
        printed = capsys.readouterr()
        assert re.search(f"msnb: the training was interrupted {words}", printed.err)
        assert "the training interrupted in epoch" in printed.out


def test_the_weights_are_those_that_the_sentence_names(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    stopped, short = model(), model()
    with pytest.raises(KeyboardInterrupt):
        stopped.train(3, rows(), Stop(3), verbose=0)
    assert "those after step 2 of it" in capsys.readouterr().err
    short.train(1, rows()[:2], verbose=0)
    for a, b in zip(stopped.train_network.get_parameters(), short.train_network.get_parameters()):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_an_interrupt_in_the_evaluation_keeps_the_whole_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    class InEvaluation(ms.train.Callback):
        def on_eval_step_begin(self, run_context: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model().fit(2, rows(), rows(1), callbacks=InEvaluation(), verbose=0)
    told = capsys.readouterr().err
    assert "at the end of epoch 1 of 2: the weights are those after all of its 6 steps; " in told
    assert "initial_epoch=1" in told


def test_an_error_says_where_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        model().train(2, rows(), Stop(8, RuntimeError))
    assert (
        capsys.readouterr().out.splitlines()[-1] == "the training ended by RuntimeError in epoch 2, after step 1 of 6"
    )


def test_who_listens_shows_it(capsys: pytest.CaptureFixture[str], mode: int) -> None:
    heard: list[tuple[str, int, int]] = []
    seen: list[TrainingProgress] = []

    def listen(progress: TrainingProgress, moment: str) -> None:
        seen.append(progress)
        heard.append((moment, progress.epoch, len(progress.rows)))

    with events.listening("training", listen):
        model().fit(2, rows(), rows(1))
        assert capsys.readouterr().out == ""
        model().train(1, rows(), verbose=2)  # lines, asked for
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert [h for h in heard if h[0] != "step"] == [("begin", 0, 0), ("epoch", 1, 1), ("epoch", 2, 2), ("end", 2, 2)]
    assert seen[0].ended == "" and seen[0].share == 1.0
    assert [row.samples for row in seen[0].rows] == [24, 24]
    assert len(seen[0].curve.points) == 12 and "accuracy" in seen[0].rows[0].metrics


def test_curves_are_thinned_out() -> None:
    curve = LossCurve()
    for k in range(10_000):
        curve.add(float(k))
    assert 200 <= len(curve.points) <= 400 and curve.width == 32
    assert curve.points[0] == 15.5 and curve.points == sorted(curve.points)


def test_words() -> None:
    assert [seconds_word(s) for s in (0.0413, 3.14159, 12.3, 200)] == ["0.041 s", "3.1 s", "12 s", "3 min 20 s"]
    assert value_word(np.float32(0.123456)) == "0.1235" and value_word("never") == "never"
    assert value_word(ms.Tensor([1.0, 2.0])) == "ndarray of 2 numbers"
    assert progress_monitor(0, ()) == ()
