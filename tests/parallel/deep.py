"""Deep networks whose plans are known from the literature: ResNet-50, a decoder of a language model, Wide & Deep."""

from __future__ import annotations

import numpy as np

import msnb as ms
from msnb import nn, ops


def zeros(*shape, dtype=np.float32):
    return ms.Tensor(np.zeros(shape, dtype))


def whole_numbers(*shape):
    return zeros(*shape, dtype=np.int32)


class Block(nn.Cell):
    """H -> 4H -> H behind a trained gain, so that the gradient goes on to what comes before."""

    def __init__(self, h):
        super().__init__()
        self.gain = ms.Parameter(np.zeros(h, np.float32), name="gain")
        self.up = ms.Parameter(np.zeros((h, 4 * h), np.float32), name="up")
        self.down = ms.Parameter(np.zeros((4 * h, h), np.float32), name="down")

    def construct(self, x):
        return ops.matmul(ops.matmul(x * self.gain, self.up), self.down).sum()


class Bottleneck(nn.Cell):
    def __init__(self, before, inside, after, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(before, inside, 1), nn.BatchNorm2d(inside)
        self.c2, self.b2 = nn.Conv2d(inside, inside, 3, stride=stride), nn.BatchNorm2d(inside)
        self.c3, self.b3 = nn.Conv2d(inside, after, 1), nn.BatchNorm2d(after)
        self.down = None
        if before != after or stride > 1:
            self.down = nn.SequentialCell(nn.Conv2d(before, after, 1, stride=stride), nn.BatchNorm2d(after))

    def construct(self, x):
        h = ops.relu(self.b2(self.c2(ops.relu(self.b1(self.c1(x))))))
        return ops.relu(self.b3(self.c3(h)) + (x if self.down is None else self.down(x)))


class ResNet50(nn.Cell):
    """With its loss, as MindSpore's unit tests have it."""

    def __init__(self, classes, stages=((64, 3), (128, 4), (256, 6), (512, 3))):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, stride=2), nn.BatchNorm2d(64)
        self.pool, blocks, before = nn.MaxPool2d(3, 2, pad_mode="same"), [], 64
        for inside, times in stages:
            for i in range(times):
                blocks.append(Bottleneck(before, inside, 4 * inside, 2 if i == 0 and inside > 64 else 1))
                before = 4 * inside
        self.layers = nn.SequentialCell(*blocks)
        self.end_point = nn.Dense(before, classes, weight_init="zeros")

    def construct(self, x, y):
        h = self.pool(ops.relu(self.bn1(self.conv1(x))))
        return ops.cross_entropy(self.end_point(self.layers(h).mean(axis=(2, 3))), y)


class Decoder(nn.Cell):
    """One layer: norm, attention, norm, MLP, with two skips."""

    def __init__(self, h, heads):
        super().__init__()
        self.heads, self.h = heads, h
        self.n1, self.n2 = nn.LayerNorm((h,)), nn.LayerNorm((h,))
        self.qkv, self.out = nn.Dense(h, 3 * h, weight_init="zeros"), nn.Dense(h, h, weight_init="zeros")
        self.up, self.down = nn.Dense(h, 4 * h, weight_init="zeros"), nn.Dense(4 * h, h, weight_init="zeros")

    def construct(self, x):
        b, t, h = x.shape
        rows = (b, t, self.heads, h // self.heads)
        q, k, v = (ops.transpose(ops.reshape(part, rows), (0, 2, 1, 3))
                   for part in ops.split(self.qkv(self.n1(x)), self.h, axis=2))
        score = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * 0.125, axis=-1)
        x = x + self.out(ops.reshape(ops.transpose(ops.matmul(score, v), (0, 2, 1, 3)), (b, t, h)))
        return x + self.down(ops.gelu(self.up(self.n2(x))))


class Language(nn.Cell):
    """A decoder-only language model with its loss."""

    def __init__(self, layers, h=256, heads=4, words=1024):
        super().__init__()
        self.words = words
        self.table = nn.Embedding(words, h, embedding_table="zeros")
        self.layers = nn.CellList([Decoder(h, heads) for _ in range(layers)])
        self.head = nn.Dense(h, words, weight_init="zeros")

    def construct(self, ids, y):
        h = self.table(ids)
        for layer in self.layers:
            h = layer(h)
        return ops.cross_entropy(ops.reshape(self.head(h), (-1, self.words)), y)


class WideAndDeep(nn.Cell):
    """The deep half of Wide & Deep: a table of rows, then dense layers 1024-512-256-128."""

    def __init__(self, rows, fields=39, size=80, hidden=(1024, 512, 256, 128)):
        super().__init__()
        self.width, sizes = fields * size, (fields * size, *hidden, 1)
        self.table = nn.Embedding(rows, size, embedding_table="zeros")
        self.dense = nn.CellList([nn.Dense(a, b, weight_init="zeros") for a, b in zip(sizes, sizes[1:])])

    def construct(self, ids):
        h = ops.reshape(self.table(ids), (-1, self.width))
        for layer in self.dense[:-1]:
            h = ops.relu(layer(h))
        return self.dense[-1](h).mean()
