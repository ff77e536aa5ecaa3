"""Whole models trained a few steps: the two modes give the same losses, to the bit or (machine code) to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from tests.levels import LEVELS, alike, steady


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2 = nn.Dense(256, 84, activation="relu"), nn.Dense(84, 10)

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        return self.fc2(self.fc1(self.flatten(x)))


class Normed(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, 2, has_bias=True), nn.BatchNorm2d(4)
        self.pool, self.flatten = nn.AdaptiveAvgPool2d(2), nn.Flatten()
        self.dropout, self.head = nn.Dropout(p=0.2), nn.Dense(16, 10)

    def construct(self, x: Any) -> Any:
        return self.head(self.dropout(self.flatten(self.pool(ops.relu(self.norm(self.conv(x)))))))


class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(28, 8, 2, batch_first=True, bidirectional=True, dropout=0.1), nn.Dense(16, 10)

    def construct(self, x: Any) -> Any:
        y, _ = self.lstm(ops.squeeze(x, 1)[:, ::7])
        return self.head(y[:, -1])


class Attentive(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(28, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, nn.LayerNorm(28)), nn.Dense(28, 10)

    def construct(self, x: Any) -> Any:
        y = self.encoder(ops.squeeze(x, 1)[:, ::4], nn.causal_mask(7))
        return self.head(y.mean(axis=1))


OPTIMIZERS = {
    LeNet5: lambda net: nn.Momentum(net.trainable_params(), 0.1, 0.9),
    Normed: lambda net: nn.Adam(
        [{"params": net.trainable_params(), "weight_decay": 1e-3}], nn.CosineDecayLR(0.0, 0.05, 9), **steady()
    ),
    Recurrent: lambda net: nn.RMSProp(net.trainable_params(), [0.02, 0.01], **steady("epsilon")),
    Attentive: lambda net: nn.AdamW(net.trainable_params(), nn.WarmUpLR(0.01, 3), **steady()),
}


def trained(make: type[nn.Cell], mode: int) -> tuple[list[float], dict[str, Any]]:
    ms.set_context(mode=mode)
    ms.set_seed(4)
    net = make()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), OPTIMIZERS[make](net)).set_train()
    rng = np.random.default_rng(9)
    x = ms.Tensor(rng.standard_normal((8, 1, 28, 28)).astype(np.float32))
    label = ms.Tensor(rng.integers(0, 10, 8))
    losses = [float(step(x, label)) for _ in range(6)]
    return losses, {name: p.asnumpy() for name, p in net.parameters_and_names()}


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("make", OPTIMIZERS)
def test_both_modes_train_alike(make: type[nn.Cell], level: str) -> None:
    ms.set_context(jit_level=level)
    eager, eager_state = trained(make, ms.PYNATIVE_MODE)
    graph, graph_state = trained(make, ms.GRAPH_MODE)
    alike(np.float32(graph), np.float32(eager), "losses")
    assert eager[-1] < eager[0]
    for name, value in eager_state.items():
        alike(graph_state[name], value, name)
