"""Networks as people write them, each with a loss and batches of data: the material of the tests beside this file.

A case is built anew for every run: ``CASES[name](rng)`` gives (network, loss function, batches). Batches are tuples of
NumPy arrays; floats are turned into the dtype of the run by the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import msnb as ms
from msnb import nn, ops

Batch = tuple[np.ndarray[Any, Any], ...]
Made = tuple[nn.Cell, Callable[..., Any], list[Batch]]
CASES: dict[str, Callable[[np.random.Generator], Made]] = {}
STEPS = {"lenet": 1e-7, "convolutions": 1e-6, "resnet": 1e-6}  # of difference quotients; kinks need small ones
TWO_FACED = {"mlp", "convolutions", "lstm", "encoder", "resnet"}  # another program in use than in training


def case(fn: Callable[[np.random.Generator], Made]) -> Callable[[np.random.Generator], Made]:
    CASES[fn.__name__] = fn
    return fn


def labels(rng: np.random.Generator, classes: int, *shape: int) -> np.ndarray[Any, Any]:
    return rng.integers(0, classes, shape).astype(np.int32)


class MLP(nn.Cell):
    def __init__(self, inputs: int = 6, hidden: int = 16, classes: int = 4, p: float = 0.3) -> None:
        super().__init__()
        self.first = nn.Dense(inputs, hidden, activation="relu")
        self.drop = nn.Dropout(p=p)
        self.norm = nn.LayerNorm((hidden,))
        self.last = nn.Dense(hidden, classes)

    def construct(self, x: Any) -> Any:
        return self.last(self.norm(self.drop(self.first(x))))


@case
def mlp(rng: np.random.Generator) -> Made:
    net, ce = MLP(), nn.CrossEntropyLoss()
    return net, lambda x, y: ce(net(x), y), [(rng.normal(size=(5, 6)), labels(rng, 4, 5)) for _ in range(2)]


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(kernel_size=2, stride=2), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.flatten(x)
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


@case
def lenet(rng: np.random.Generator) -> Made:
    net, loss = LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    data = [(rng.normal(size=(3, 1, 32, 32)), labels(rng, 10, 3)) for _ in range(2)]
    return net, lambda x, y: loss(net(x), y), data


class Convolutions(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            [nn.Conv2d(2, 4, 3, pad_mode="same"), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2),
             nn.Conv2d(4, 6, 3, stride=2, pad_mode="pad", padding=1, group=2), nn.BatchNorm2d(6, momentum=0.7),
             nn.LeakyReLU(0.1), nn.AvgPool2d(2, 2), nn.Flatten()]
        )  # fmt: skip
        self.norm = nn.BatchNorm1d(6)
        self.head = nn.Dense(6, 3)

    def construct(self, x: Any) -> Any:
        return self.head(self.norm(self.layers(x)))


@case
def convolutions(rng: np.random.Generator) -> Made:
    net, ce = Convolutions(), nn.CrossEntropyLoss(label_smoothing=0.1)
    data = [(rng.normal(size=(5, 2, 8, 8)), labels(rng, 3, 5)) for _ in range(2)]
    return net, lambda x, y: ce(net(x), y), data


class LSTMClassifier(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.head = nn.Dense(10, 3)

    def construct(self, words: Any) -> Any:
        states, _ = self.lstm(self.embed(words))
        return self.head(states.mean(1))


@case
def lstm(rng: np.random.Generator) -> Made:
    net, ce = LSTMClassifier(), nn.CrossEntropyLoss()
    data = [(labels(rng, 20, 3, 7), labels(rng, 3, 3)) for _ in range(2)]
    return net, lambda x, y: ce(net(x), y), data


class GRUForecast(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 6)
        self.head = nn.Dense(6, 2)

    def construct(self, series: Any) -> Any:
        states, last = self.gru(series)
        return self.head(states), last


@case
def gru(rng: np.random.Generator) -> Made:
    net, mse = GRUForecast(), nn.MSELoss()

    def loss(series: Any) -> Any:
        out, _ = net(series[:-1])
        return mse(out, series[1:])

    return net, loss, [(np.cumsum(rng.normal(size=(6, 3, 2)), 0),) for _ in range(2)]


class Encoder(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, activation="gelu", batch_first=True)
        self.head = nn.Dense(8, 2)

    def construct(self, x: Any) -> Any:
        return self.head(self.layer(x)[:, 0])


@case
def encoder(rng: np.random.Generator) -> Made:
    net, ce = Encoder(), nn.CrossEntropyLoss()
    return net, lambda x, y: ce(net(x), y), [(rng.normal(size=(3, 5, 8)), labels(rng, 2, 3)) for _ in range(2)]


class Attention(nn.Cell):
    """Causal self-attention out of reshapes and products."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.mask = ms.Tensor(np.tril(np.ones((length, length), bool)))

    def construct(self, x: Any) -> Any:
        batch, length, width = x.shape
        packed = self.into(x).reshape(batch, length, 3, self.heads, width // self.heads).transpose(2, 0, 3, 1, 4)
        query, key, value = packed
        scores = ops.matmul(query, key.swapaxes(-1, -2)) / (width // self.heads) ** 0.5
        scores = ops.masked_fill(scores, ops.logical_not(self.mask[:length, :length]), -1e9)
        return self.out(ops.matmul(ops.softmax(scores, -1), value).transpose(0, 2, 1, 3).reshape(batch, length, width))


class GPTBlock(nn.Cell):
    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, heads, length)
        self.feed = nn.SequentialCell(nn.Dense(width, 4 * width), nn.GELU(approximate=True), nn.Dense(4 * width, width))

    def construct(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT(nn.Cell):
    def __init__(self, words: int = 11, width: int = 8, heads: int = 2, length: int = 6, depth: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.CellList([GPTBlock(width, heads, length) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, words, has_bias=False)

    def construct(self, words: Any) -> Any:
        x = self.tokens(words) + self.places(ops.arange(words.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@case
def gpt(rng: np.random.Generator) -> Made:
    net, ce = GPT(), nn.CrossEntropyLoss()

    def loss(words: Any) -> Any:
        logits = net(words[:, :-1])
        return ce(logits.reshape(-1, logits.shape[-1]), words[:, 1:].reshape(-1))

    return net, loss, [(labels(rng, 11, 2, 6),) for _ in range(2)]


class Residual(nn.Cell):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, pad_mode="pad", padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, pad_mode="pad", padding=1)
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = nn.SequentialCell(nn.Conv2d(channels, out, 1, stride), nn.BatchNorm2d(out))

    def construct(self, x: Any) -> Any:
        y = self.norm2(self.conv2(ops.relu(self.norm1(self.conv1(x)))))
        if self.shortcut is not None:
            x = self.shortcut(x)
        return ops.relu(x + y)


class ResNet(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1)
        self.blocks = nn.SequentialCell(Residual(4, 4, 1), Residual(4, 6, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Dense(6, 3)

    def construct(self, x: Any) -> Any:
        x = self.pool(self.blocks(self.stem(x)))
        return self.head(x.view(x.shape[0], -1))


@case
def resnet(rng: np.random.Generator) -> Made:
    net, ce = ResNet(), nn.CrossEntropyLoss()
    return net, lambda x, y: ce(net(x), y), [(rng.normal(size=(3, 3, 6, 6)), labels(rng, 3, 3)) for _ in range(2)]


class AutoEncoder(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.SequentialCell(
            nn.Conv2d(1, 3, 3, stride=2, pad_mode="pad", padding=1, has_bias=True), nn.Tanh(),
            nn.Conv2d(3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True), nn.ELU(),
        )  # fmt: skip
        self.decode = nn.SequentialCell(
            nn.Conv2dTranspose(4, 3, 2, stride=2, pad_mode="valid", has_bias=True), nn.SiLU(),
            nn.Conv2dTranspose(3, 1, 4, stride=2, pad_mode="pad", padding=1, has_bias=True), nn.Sigmoid(),
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        return self.decode(self.encode(x))


@case
def autoencoder(rng: np.random.Generator) -> Made:
    net, bce = AutoEncoder(), nn.BCELoss()
    return net, lambda x: bce(net(x), x), [(rng.uniform(size=(2, 1, 8, 8)),) for _ in range(2)]


class Wave(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Dense(2, 8), nn.Dense(8, 8), nn.Dense(8, 1)

    def construct(self, t: Any, x: Any) -> Any:
        return self.c(ops.tanh(self.b(ops.tanh(self.a(ops.cat((t, x), 1))))))


@case
def pinn(rng: np.random.Generator) -> Made:
    """The Korteweg-de Vries equation u_t + 6 u u_x + u_xxx = 0: a third derivative inside the loss."""
    net = Wave()

    def total(t: Any, x: Any) -> Any:
        return net(t, x).sum()

    slopes, along = ms.grad(total, (0, 1)), ms.grad(total, 1)
    second = ms.grad(lambda t, x: along(t, x).sum(), 1)
    third = ms.grad(lambda t, x: second(t, x).sum(), 1)

    def loss(t: Any, x: Any) -> Any:
        by_t, by_x = slopes(t, x)
        residual = by_t + 6 * net(t, x) * by_x + third(t, x)
        return (residual**2).mean() + ((net(t * 0, x) - ops.sin(x)) ** 2).mean() + 0.01 * (second(t, x) ** 2).mean()

    return net, loss, [(rng.uniform(size=(5, 1)), rng.uniform(-1, 1, size=(5, 1))) for _ in range(2)]


class Unrolled(nn.Cell):
    """A recurrent cell in a loop whose length is a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(3, 4)
        self.head = nn.Dense(4, 2)

    def construct(self, series: Any, length: Any) -> Any:
        state = ops.zeros((series.shape[1], 4), series.dtype)
        for i in range(length):
            state = self.cell(series[i], state)
        return self.head(state)


@case
def unrolled(rng: np.random.Generator) -> Made:
    net, mse = Unrolled(), nn.MSELoss()
    data = [(rng.normal(size=(6, 2, 3)), np.array(n), rng.normal(size=(2, 2))) for n in (4, 5)]
    return net, lambda series, n, y: mse(net(series, n), y), data
