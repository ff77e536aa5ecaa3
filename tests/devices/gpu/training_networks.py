"""Small networks of every kind that a step of training is tried with, their batches and optimizers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import msnb as ms
from msnb import nn, ops

CLASSES = 5


class LeNet(nn.Cell):
    """Convolutions, poolings, dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, 3, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(3, 4, 3, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2 = nn.Dense(16, 12), nn.Dense(12, CLASSES)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc2(self.relu(self.fc1(x)))


class Perceptron(nn.Cell):
    """Dense layers with a norm between."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Dense(20, 17), nn.LayerNorm((17,)), nn.GELU(), nn.Dense(17, 8), nn.Tanh(), nn.Dense(8, CLASSES)
        )

    def construct(self, x: Any) -> Any:
        return self.body(x)


class Residual(nn.Cell):
    """Two convolutions with batch norm around which the input goes by."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Conv2d(1, 4, 3, pad_mode="pad", padding=1)
        self.conv1, self.conv2 = (nn.Conv2d(4, 4, 3, pad_mode="pad", padding=1) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.head = nn.Dense(4, CLASSES)

    def construct(self, x: Any) -> Any:
        x = ops.relu(self.start(x))
        y = ops.relu(self.norm1(self.conv1(x)))
        return self.head(ops.relu(x + self.norm2(self.conv2(y))).mean((2, 3)))


class Transformer(nn.Cell):
    """One block: attention, layer norm, a feed-forward part."""

    def __init__(self, width: int = 12, heads: int = 3) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Dense(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down, self.head = nn.Dense(width, 20), nn.Dense(20, width), nn.Dense(width, CLASSES)
        self.heads = heads

    def split(self, x: Any) -> Any:
        b, n, w = x.shape
        return ops.transpose(x.reshape(b, n, self.heads, w // self.heads), (0, 2, 1, 3))

    def construct(self, x: Any) -> Any:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = ops.softmax(q @ ops.transpose(k, (0, 1, 3, 2)) / 2.0)
        x = self.norm1(x + self.out(ops.transpose(scores @ v, (0, 2, 1, 3)).reshape(x.shape)))
        return self.head(self.norm2(x + self.down(ops.gelu(self.up(x)))).mean(1))


class Recurrent(nn.Cell):
    """LSTM or GRU over a sequence."""

    def __init__(self, kind: type[nn.Cell]) -> None:
        super().__init__()
        self.body, self.head = kind(6, 7, batch_first=True), nn.Dense(7, CLASSES)

    def construct(self, x: Any) -> Any:
        return self.head(self.body(x)[0].mean(1))


class Words(nn.Cell):
    """An embedding, whose gradient goes to rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(23, 9), nn.Dense(9, CLASSES)

    def construct(self, x: Any) -> Any:
        return self.head(self.table(x).mean(1))


Batches = Callable[[int], Iterator[tuple[np.ndarray, np.ndarray]]]


def floats(*shape: int) -> Batches:
    """Batches of random numbers and classes."""

    def made(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(11)
        for _ in range(count):
            yield rng.normal(size=shape).astype(np.float32), rng.integers(0, CLASSES, shape[0]).astype(np.int32)

    return made


def words(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches of numbers of words and classes."""
    rng = np.random.default_rng(12)
    for _ in range(count):
        yield rng.integers(0, 23, (6, 5)).astype(np.int32), rng.integers(0, CLASSES, 6).astype(np.int32)


NETWORKS: dict[str, tuple[Callable[[], nn.Cell], Batches]] = {
    "lenet": (LeNet, floats(4, 1, 14, 14)),
    "mlp": (Perceptron, floats(6, 20)),
    "residual": (Residual, floats(4, 1, 6, 6)),
    "transformer": (Transformer, floats(3, 5, 12)),
    "lstm": (lambda: Recurrent(nn.LSTM), floats(4, 5, 6)),
    "gru": (lambda: Recurrent(nn.GRU), floats(4, 5, 6)),
    "embedding": (Words, words),
}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "momentum": lambda p: nn.Momentum(p, 0.05, 0.9),
    "adam": lambda p: nn.Adam(p, 0.01, eps=1e-2),
    "adamw": lambda p: nn.AdamWeightDecay(p, 0.01, eps=1e-2),
    "lamb": lambda p: nn.Lamb(p, 0.01, eps=1e-2),
}


class Training:
    """A network that is trained.

    Args:
        make: makes the network; optimizer: from its parameters.

    Attributes:
        step: from a batch to its loss.
    """

    def __init__(self, make: Callable[[], nn.Cell], optimizer: Callable[[Any], Any]) -> None:
        ms.set_seed(3)
        self.net = make().set_train()
        self.optimizer = optimizer(self.net.trainable_params())
        self.step = nn.TrainOneStepCell(nn.WithLossCell(self.net, nn.CrossEntropyLoss()), self.optimizer)

    def weights(self) -> list[np.ndarray]:
        """Of the network and of the optimizer."""
        return [p.asnumpy() for p in self.step.get_parameters()]
