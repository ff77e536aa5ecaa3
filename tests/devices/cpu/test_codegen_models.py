"""Whole training steps: generated code against reference kernels, from the same weights on the same batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

pytest.importorskip("llvmlite")


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(256, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


class Perceptron(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Flatten(),
            nn.Dense(784, 64),
            nn.BatchNorm1d(64),
            nn.GELU(),
            nn.Dense(64, 32),
            nn.Tanh(),
            nn.Dense(32, 10),
        )

    def construct(self, x: Any) -> Any:
        return self.body(x)


class Transformer(nn.Cell):
    """One block over the rows of a picture: attention, layer norm, a feed-forward part."""

    def __init__(self, width: int = 28, heads: int = 4) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Dense(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down, self.head = nn.Dense(width, 64), nn.Dense(64, width), nn.Dense(width, 10)
        self.heads, self.width = heads, width

    def split(self, x: Any) -> Any:
        return ops.transpose(x.reshape(-1, 28, self.heads, self.width // self.heads), (0, 2, 1, 3))

    def construct(self, x: Any) -> Any:
        x = x.reshape(-1, 28, 28)
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = ops.softmax(q @ ops.transpose(k, (0, 1, 3, 2)) / 2.6)
        mixed = ops.transpose(scores @ v, (0, 2, 1, 3)).reshape(-1, 28, 28)
        x = self.norm1(x + self.out(mixed))
        x = self.norm2(x + self.down(ops.gelu(self.up(x))))
        return self.head(x.mean(1))


pytestmark = pytest.mark.slow


def train(kind: type[nn.Cell], level: str, optimizer: str, steps: int = 3) -> tuple[list[float], list[np.ndarray]]:
    rng = np.random.default_rng(7)
    ms.set_seed(3)
    with ms.set_context(mode=ms.GRAPH_MODE, jit_level=level):
        net = kind().set_train()
        for p in net.trainable_params():
            p.set_data(ms.Tensor((rng.standard_normal(p.shape) * 0.1 + (p.ndim == 1)).astype(np.float32)))
        x = ms.Tensor(rng.standard_normal((8, 1, 28, 28)).astype(np.float32))
        y = ms.Tensor(rng.integers(0, 10, 8).astype(np.int32))
        params = net.trainable_params()
        update = nn.Adam(params, 0.003) if optimizer == "adam" else nn.Momentum(params, 0.02, 0.9)
        gradients = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, update.parameters)

        def step(x: Any, y: Any) -> Any:
            loss, grads = gradients(x, y)
            update(grads)
            return loss

        run = ms.jit(step)
        losses = [float(run(x, y)) for _ in range(steps)]
        return losses, [p.asnumpy() for p in params]


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
@pytest.mark.parametrize("kind", [LeNet5, Perceptron, Transformer], ids=lambda k: k.__name__)
def test_training_is_the_same(kind: type[nn.Cell], optimizer: str) -> None:
    losses, weights = train(kind, "O1", optimizer)
    wanted, expected = train(kind, "O0", optimizer)
    assert wanted[-1] < wanted[0]
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    # Adam divides by the root of tiny squares, so a last digit of a tiny gradient can show
    apart = 2e-3 if optimizer == "adam" else 2e-5
    for got, want in zip(weights, expected):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=apart)
