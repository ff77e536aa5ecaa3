"""What can hardly be meant is refused; under the alias, where MindSpore goes on, it is told: a prediction [4, 1] beside
a target [4], a loss that is scaled and not divided, keys that the parallel mode does not use, a
GPU that is not there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor
from msnb.as_mindspore import uninstall
from msnb.base import events

PREDICTION, TARGET = np.arange(4.0, dtype=np.float32).reshape(4, 1), np.arange(4, dtype=np.int32)
D = PREDICTION - TARGET
LOSSES: dict[str, Callable[[], Any]] = {
    "L1Loss": lambda: np.abs(D).mean(), "MAELoss": lambda: np.abs(D).mean(), "MSELoss": lambda: (D * D).mean(),
    "RMSELoss": lambda: np.sqrt((D * D).mean()),
    "HuberLoss": lambda: np.where(np.abs(D) <= 1, D * D / 2, np.abs(D) - 0.5).mean(),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_columns_and_rows(name: str, mode: int, capsys: Any) -> None:
    from mindspore import grad, nn

    loss = getattr(nn, name)()
    events.forget_notices()
    assert float(loss(Tensor(PREDICTION), Tensor(TARGET))) == pytest.approx(LOSSES[name](), rel=1e-6)
    loss(Tensor(PREDICTION), Tensor(TARGET))
    assert capsys.readouterr().err.count("in [4, 4] each value would meet many others") == 1
    slope = grad(loss)(Tensor(PREDICTION), Tensor(TARGET)).asnumpy()
    assert slope.shape == (4, 1) and slope[0] == pytest.approx(-slope[3], rel=1e-6)


def test_losses_that_take_one_shape_only(mode: int) -> None:
    from mindspore import ops

    for loss in (ops.smooth_l1_loss, ops.binary_cross_entropy, ops.soft_margin_loss):
        with pytest.raises(ValueError, match="different shapes"):
            loss(Tensor(PREDICTION), Tensor(TARGET.astype(np.float32)))
    with pytest.raises(ValueError, match="do not broadcast"):
        ops.mse_loss(Tensor(PREDICTION), Tensor(np.ones((3, 3), np.float32)))


def test_without_the_alias_they_are_refused(mode: int) -> None:
    uninstall()
    with pytest.raises(ValueError, match="mse_loss: prediction and target have different shapes"):
        msnb.ops.mse_loss(Tensor(PREDICTION), Tensor(TARGET))
    with pytest.raises(ValueError, match="data_parallel has no use for full_batch"):
        msnb.set_auto_parallel_context(full_batch=True, parallel_mode="data_parallel")


def test_a_loss_that_is_scaled_and_not_divided(capsys: Any) -> None:
    import mindspore as ms
    from mindspore import nn

    def trained() -> Any:
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        optimizer = nn.SGD(net.trainable_params(), 0.5)
        manager = ms.FixedLossScaleManager(4, drop_overflow_update=False)
        model = ms.Model(net, nn.MSELoss(), optimizer, loss_scale_manager=manager)
        rows = np.ones((2, 2), np.float32), np.ones((2, 1), np.float32)
        model.train(1, ms.dataset.NumpySlicesDataset(rows, shuffle=False).batch(2), dataset_sink_mode=False)
        return net.weight.tolist()

    events.forget_notices()
    assert trained() == [[-3.0, -3.0]]  # four times the gradient 2
    assert "scaled by 4 and the optimizer divides by 1" in capsys.readouterr().err
    uninstall()
    with pytest.raises(ValueError, match="scaled by 4 and the optimizer divides by 1"):
        trained()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there may be a GPU")
def test_a_device_that_is_not_there(capsys: Any) -> None:
    import mindspore as ms

    events.forget_notices()
    ms.set_context(mode=ms.GRAPH_MODE, device_target="GPU")
    assert (ms.get_context("mode"), ms.get_context("device_target")) == (ms.GRAPH_MODE, "CPU")
    ms.set_device("GPU")
    assert (ms.ops.ones((2,)) + 1).tolist() == [2.0, 2.0]
    assert capsys.readouterr().err.count("the GPU cannot be used") == 1
    with pytest.raises(ValueError, match="did you mean 'GPU'"):
        ms.set_context(device_target="gpu")
    with pytest.raises(ValueError, match="is not legal; legal"):
        ms.set_context(device_target="TPU")
    uninstall()
    with pytest.raises(RuntimeError, match="the GPU cannot be used"):
        msnb.set_context(device_target="GPU")
    assert msnb.get_context("device_target") == "CPU"


def test_keys_that_the_parallel_mode_does_not_use(capsys: Any) -> None:
    import mindspore as ms

    events.forget_notices()
    ms.set_auto_parallel_context(full_batch=True, parallel_mode=ms.ParallelMode.DATA_PARALLEL)
    assert ms.get_auto_parallel_context("full_batch") is True
    assert "data_parallel has no use for full_batch=True" in capsys.readouterr().err
    with pytest.raises(ValueError, match="legal"):
        ms.set_auto_parallel_context(parallel_mode="data")
    ms.reset_auto_parallel_context()
