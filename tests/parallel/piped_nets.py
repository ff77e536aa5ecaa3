"""A network for pipelines: layers with everything that a forward pass can leave behind (moving averages, random draws),
and its training step."""

from __future__ import annotations

import numpy as np

import msnb as ms
from msnb import nn, ops

OPTIMIZERS = {
    "momentum": lambda ps: nn.Momentum(ps, 0.1, 0.9),
    "adam": lambda ps: nn.Adam(ps, 0.01),
}


class Block(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.fc, self.norm = nn.Dense(h, h, dtype=ms.float64), nn.BatchNorm1d(h, dtype=ms.float64)
        self.drop = nn.Dropout(p=0.25)

    def construct(self, x):
        return x + self.drop(ops.tanh(self.norm(self.fc(x))))


class Classifier(nn.Cell):
    def __init__(self, layers=4, h=8):
        super().__init__()
        ms.set_seed(3)
        self.layers = nn.CellList([Block(h) for _ in range(layers)])
        self.head = nn.Dense(h, 4, dtype=ms.float64)

    def construct(self, x, y):
        for layer in self.layers:
            x = layer(x)
        return ops.cross_entropy(self.head(x), y)


def step_of(optimizer="momentum", micro=4):
    """The network on micro-batches, and its training step."""
    net = nn.PipelineCell(Classifier(), micro)
    net.set_train()
    step = nn.TrainOneStepCell(net, OPTIMIZERS[optimizer](net.trainable_params()))
    ms.set_seed(5)
    return net, step


def batch(i):
    rng = np.random.default_rng(i)
    return ms.Tensor(rng.standard_normal((16, 8))), ms.Tensor(rng.integers(0, 4, 16))


def reference(steps, optimizer="momentum"):
    """Losses and values of the single device."""
    net, step = step_of(optimizer)
    losses = [float(step(*batch(i))) for i in range(steps)]
    return losses, {p.name: p.asnumpy() for p in net.get_parameters()}


def planned(optimizer="momentum", n=4, **how):
    net, step = step_of(optimizer)
    return net, ms.parallel.plan(step, *batch(0), device_num=n, **how)
