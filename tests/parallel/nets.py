"""Small networks whose plans are looked at."""

from __future__ import annotations

import numpy as np

import msnb as ms
from msnb import nn, ops


def f64(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape))


class Chain(nn.Cell):
    """Products, one after the other."""

    def __init__(self, sizes, dtype=np.float32, scale=0.0, total=True):
        super().__init__()
        self.total = total
        rng = np.random.default_rng(1)
        self.ws = ms.ParameterTuple([
            ms.Parameter((scale * rng.standard_normal(s)).astype(dtype) if scale else np.zeros(s, dtype), name=f"w{i}")
            for i, s in enumerate(zip(sizes, sizes[1:]))
        ])

    def construct(self, x):
        for w in self.ws:
            x = ops.matmul(x, w)
        return x.sum() if self.total else x


class MLP(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = nn.Dense(8, 16, activation="tanh", dtype=ms.float64)
        self.b = nn.Dense(16, 8, dtype=ms.float64)
        self.norm = nn.LayerNorm((8,), dtype=ms.float64)

    def construct(self, x, y):
        h = self.norm(x + self.b(self.a(x)))
        return ops.mse_loss(h, y)


class ConvNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(2, 4, 3, has_bias=True, dtype=ms.float64)
        self.bn = nn.BatchNorm2d(4, dtype=ms.float64)
        self.c2 = nn.Conv2d(4, 4, 3, stride=2, dtype=ms.float64)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Dense(16, 8, dtype=ms.float64)

    def construct(self, x, y):
        h = ops.relu(self.bn(self.c1(x)))
        h = self.pool(self.c2(h))
        return ops.cross_entropy(self.fc(ops.reshape(h, (h.shape[0], -1))), y)


class Words(nn.Cell):
    """Embedding whose table is the output layer too, attention in between."""

    def __init__(self):
        super().__init__()
        self.table = ms.Parameter(np.random.default_rng(2).standard_normal((16, 8)), name="table")
        self.att = nn.MultiheadAttention(8, 4, batch_first=True, dtype=ms.float64)
        self.norm = nn.LayerNorm((8,), dtype=ms.float64)

    def construct(self, ids, y):
        h = ops.gather(self.table, ids, 0)
        h = self.norm(h + self.att(h, h, h, need_weights=False)[0])
        logits = ops.matmul(ops.reshape(h, (-1, 8)), ops.transpose(self.table, (1, 0)))
        return ops.cross_entropy(logits, y)


class Gates(nn.Cell):
    """Elementwise ops of several shapes, reductions by maximum, slices and joins."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(np.random.default_rng(3).standard_normal((8, 16)), name="w")
        self.b = ms.Parameter(np.random.default_rng(4).standard_normal(16), name="b")

    def construct(self, x, y):
        h = ops.matmul(x, self.w) + self.b
        left, right = h[:, :8], h[:, 8:]
        g = ops.sigmoid(left) * ops.tanh(right)
        h = ops.concat([g, ops.softmax(right, axis=-1)], 1)
        top = h.max(axis=1, keepdims=True)
        return ops.mean(ops.square(h - top)) + ops.mean(ops.abs(g - y))


class Pictures(nn.Cell):
    """Strided, dilated and depthwise convolutions, batch norm, both poolings; a mean over pixels at the end."""

    def __init__(self):
        super().__init__()
        f64 = {"dtype": ms.float64}
        self.stem, self.norm = nn.Conv2d(2, 4, 3, has_bias=True, **f64), nn.BatchNorm2d(4, **f64)
        self.deep = nn.Conv2d(4, 4, 3, pad_mode="pad", padding=2, dilation=2, group=4, **f64)
        self.down = nn.Conv2d(4, 6, 5, stride=2, **f64)
        self.top, self.mean = nn.MaxPool2d(3, 2, pad_mode="same"), nn.AvgPool2d(3, 1, pad_mode="same")
        self.fc = nn.Dense(6, 8, **f64)

    def construct(self, x, y):
        h = ops.relu(self.norm(self.stem(x)))
        h = self.mean(self.top(self.down(self.deep(h))))
        return ops.cross_entropy(self.fc(h.mean(axis=(2, 3))), y)


def pictures(pixels=16):
    draw = np.random.default_rng(3)
    return Pictures(), (ms.Tensor(draw.standard_normal((4, 2, pixels, pixels))), ms.Tensor(draw.integers(0, 8, 4)))


def spread(n, h, w):
    """Strategies that cut images so, in all layers that slide windows."""
    conv, pool = ((n, 1, h, w), (1, 1, 1, 1)), ((n, 1, h, w),)
    return {"conv2d": conv, "max_pool2d": pool, "avg_pool2d": pool}


class Small(nn.Cell):
    """A convolution, a pooling and a product with enough to do for native code, in float32."""

    def __init__(self):
        super().__init__()
        draw = np.random.default_rng(6).standard_normal
        self.conv, self.fc = nn.Conv2d(3, 16, 3), nn.Dense(16 * 64, 128)
        for p in self.trainable_params():
            p.set_data(ms.Tensor((0.1 * draw(p.shape)).astype(np.float32)))

    def construct(self, x):
        h = ops.max_pool2d(ops.relu(self.conv(x)), 2)
        return ops.square(self.fc(ops.reshape(h, (h.shape[0], -1)))).mean()


def small():
    return Small(), (ms.Tensor(np.random.default_rng(4).standard_normal((16, 3, 16, 16)).astype(np.float32)),)


def cases():
    """(network, inputs) in float64."""
    ints = np.random.default_rng(9).integers
    yield MLP(), (f64(16, 8), f64(16, 8, seed=5))
    yield ConvNet(), (f64(8, 2, 8, 8), ms.Tensor(ints(0, 8, 8)))
    yield Words(), (ms.Tensor(ints(0, 16, (8, 4))), ms.Tensor(ints(0, 16, 32)))
    yield Gates(), (f64(16, 8), f64(16, 8, seed=6))
    yield Chain((8, 16, 8), np.float64, 0.3), (f64(16, 8),)
