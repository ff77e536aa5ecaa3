"""Trainings that end early and go on, rows by a helper, checkpoints read aside and converted, gradients summed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msnb.boost import BoostTrainOneStepCell, GradientAccumulation

import msnb as ms
from msnb import Parameter, Tensor, nn, train

ROWS = [(Tensor([[float(i), 1.0]]), Tensor([[2.0 * i]])) for i in range(4)]


def model(rate: float = 0.01) -> tuple[Any, Any]:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    return net, train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), rate, 0.9))


class StopAt(train.Callback):
    def __init__(self, step: int, ask: Any) -> None:
        self.step, self.ask = step, ask

    def step_end(self, run_context: Any) -> None:
        if run_context.original_args().cur_step_num == self.step:
            self.ask(run_context)


def test_a_training_goes_on_from_its_backup(tmp_path: Path) -> None:
    whole, there = model()
    there.train(2, ROWS)
    _, first = model()

    def fail(run_context: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.train(2, ROWS, callbacks=[train.BackupAndRestore(str(tmp_path)), StopAt(5, fail)])
    assert [path.name for path in tmp_path.iterdir()] == ["backup.ckpt"]
    net, second = model()
    second.train(1, ROWS, callbacks=[train.BackupAndRestore(str(tmp_path))])
    np.testing.assert_allclose(net.weight.asnumpy(), whole.weight.asnumpy(), rtol=1e-6)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("by", ["signal", "file"])
def test_a_training_ends_on_request(tmp_path: Path, by: str) -> None:
    asked = tmp_path / "config.json"

    def ask(run_context: Any) -> None:
        if by == "signal":
            os.kill(os.getpid(), signal.SIGUSR1)
        else:
            asked.write_text(json.dumps({"GracefulExit": 1}))

    before = signal.getsignal(signal.SIGUSR1)
    net, first = model()
    seen = train.History()
    names: dict[str, Any] = {"file_name": "small", "directory": str(tmp_path)}
    callback = train.OnRequestExit(config_file=str(asked), sig=signal.SIGUSR1, **names)
    first.train(3, ROWS, callbacks=[StopAt(2, ask), callback, seen])
    assert signal.getsignal(signal.SIGUSR1) is before
    assert sorted(path.name for path in (tmp_path / "rank_0").iterdir()) == ["small_train.ckpt", "small_train.mindir"]
    saved = train.load_checkpoint(str(tmp_path / "rank_0" / "small_train.ckpt"))
    assert saved["weight"].tolist() == net.weight.tolist()
    assert int(saved["global_step"]) == 2
    again, second = model(0.0)
    asked.unlink(missing_ok=True)
    second.train(1, ROWS[:1], callbacks=[train.OnRequestExit(save_mindir=False, **names)])
    assert not np.allclose(again.weight.asnumpy(), 1.0), "it began with what was saved"


def test_rows_by_a_helper(mode: int) -> None:
    plain = train.DatasetHelper(ROWS, dataset_sink_mode=False, epoch_num=2)
    assert [[row[1].item() for row in plain] for _ in range(2)] == [[0.0, 2.0, 4.0, 6.0]] * 2
    assert plain.sink_size() == 1
    helper = train.DatasetHelper(ROWS, sink_size=2)
    assert helper.types_shapes() == ([ms.float32, ms.float32], [[1, 2], [1, 1]])
    net = nn.WithLossCell(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.MSELoss())
    fed = train.connect_network_with_dataset(net, helper)
    assert [fed(*row).item() for row in helper] == [0.0, 4.0]
    helper.release()


def test_checkpoints_aside_and_in_the_other_format(tmp_path: Path) -> None:
    net = nn.Dense(2, 1)
    train.save_checkpoint(net, str(tmp_path / "a" / "net.ckpt"))
    future = train.load_checkpoint_async(str(tmp_path / "a" / "net.ckpt"))
    assert future.result()["weight"].tolist() == net.weight.tolist()
    assert not train.async_ckpt_thread_status()
    train.ckpt_to_safetensors(str(tmp_path / "a"), name_map={"weight": "w"})
    train.safetensors_to_ckpt(str(tmp_path / "a" / "net.safetensors"), str(tmp_path / "b"))
    found = train.load_checkpoint(str(tmp_path / "b" / "net.ckpt"))
    assert sorted(found) == ["bias", "w"]
    assert found["w"].tolist() == net.weight.tolist()
    train.ckpt_to_safetensors(str(tmp_path), str(tmp_path / "c"))
    assert sorted(str(f.relative_to(tmp_path / "c").parent) for f in (tmp_path / "c").rglob("*.*")) == ["a", "b"]
    with pytest.raises(ValueError, match="no .safetensors file"):
        train.safetensors_to_ckpt(str(tmp_path / "a" / "net.ckpt"))
    with pytest.raises(ValueError, match=r"no \.ckpt file"):
        train.ckpt_to_safetensors(str(tmp_path / "a"), file_name_regex="other")


def test_gradients_of_several_calls(mode: int) -> None:
    w = Parameter(Tensor([1.0]), name="w")
    collect = GradientAccumulation(2, nn.SGD([w], 1.0))
    seen = []
    for slope in (0.25, 0.75, 1.0, 0.0):
        collect(Tensor(0.0), (Tensor([slope]),))
        seen.append(w.item())
    assert seen == [1.0, 0.5, 0.5, 0.0]
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    step = BoostTrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.25))
    assert step(Tensor([[1.0]]), Tensor([[3.0]])).item() == 4.0
    assert net.weight.item() == 2.0


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda: train.BackupAndRestore("x", 0), ValueError, "an int above 0"),
        (lambda: train.BackupAndRestore("x", delete_checkpoint=1), TypeError, "must be a bool"),
        (lambda: train.OnRequestExit(sig=signal.SIGKILL), ValueError, "SIGKILL"),
        (lambda: train.OnRequestExit(save_ckpt=1), TypeError, "are bools"),
        (lambda: train.DatasetHelper(ROWS, 1), TypeError, "must be a bool"),
        (lambda: train.DatasetHelper(ROWS, sink_size=0), ValueError, "-1 or above 0"),
        (lambda: train.connect_network_with_dataset(nn.ReLU(), ROWS), TypeError, "a DatasetHelper"),
        (lambda: train.connect_network_with_dataset(nn.ReLU(), train.DatasetHelper(ROWS, False)),
         RuntimeError, "needs"),
        (lambda: train.connect_network_with_dataset(nn.ReLU(), train.DatasetHelper(ROWS))(1), TypeError, "no inputs"),
        (lambda: train.ckpt_to_safetensors("x", name_map=1), TypeError, "a dict"),
        (lambda: GradientAccumulation(0, nn.SGD([Parameter([1.0], name="p")])), ValueError, "above 0"),
        (lambda: GradientAccumulation(1, len), TypeError, "must be a Cell"),
    ],
)  # fmt: skip
def test_wrong_arguments(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong()
