"""Names of MindSpore that change nothing on one device, and small ones that do something. Both modes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor


def test_levels_of_auto_boost(capsys: Any) -> None:
    from mindspore import boost, nn

    net = nn.Dense(2, 1)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    for level in ("O0", "O1", "O2"):
        process = boost.AutoBoost(level, {"boost": {"mode": "auto"}})
        assert process.network_auto_process_train(net, optimizer) == (net, optimizer)
        assert process.network_auto_process_eval(net) is net
    with pytest.raises(ValueError, match="level is 'O0', 'O1' or 'O2'"):
        boost.AutoBoost("O3")


def test_boosted_step_with_a_scaled_loss(mode: int) -> None:
    from mindspore import boost, nn

    class Loss(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = msnb.Parameter(Tensor([2.0]), name="w")

        def construct(self, x: Any) -> Any:
            return (self.w * x).sum()

    losses = []
    for kind in (boost.BoostTrainOneStepWithLossScaleCell, nn.TrainOneStepWithLossScaleCell):
        net = Loss()
        scale = nn.DynamicLossScaleUpdateCell(8.0, 2, 10)
        step = kind(net, nn.SGD(net.trainable_params(), 0.5), scale_sense=scale)
        found = [step(Tensor([1.0])) for _ in range(2)]
        losses.append([float(f[0]) for f in found])
        assert net.w.tolist() == [1.0]
    assert losses[0] == losses[1] == [2.0, 1.5]


def test_item_of_mint(mode: int) -> None:
    mint = importlib.import_module("mindspore.mint")
    for value, kind in ((1.5, float), (2, int), (True, bool)):
        found = mint.item(Tensor([value]))
        assert (type(found), found) == (kind, value)
    with pytest.raises(TypeError, match="takes a tensor"):
        mint.item(1.5)
    with pytest.raises((ValueError, RuntimeError)):
        mint.item(Tensor([1.0, 2.0]))


def test_prefixes_of_cells(mode: int) -> None:
    from mindspore import nn

    net = nn.SequentialCell(nn.Dense(2, 2), nn.SequentialCell(nn.ReLU()))
    assert net[1][0].param_prefix == ""
    net.update_cell_prefix()
    assert [net.param_prefix, net[0].param_prefix, net[1][0].param_prefix] == ["", "0", "1.0"]
    assert net.set_data_parallel() is None and net[0].weight.inited_param is None
    assert net(Tensor(np.ones((1, 2), np.float32))).shape == (1, 2)
