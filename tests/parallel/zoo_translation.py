"""Networks that translate, as people write them with ``nn``, each with its loss.

Sources: Vaswani et al. 2017 (Transformer), Bahdanau et al. 2014 (GRU with attention), Wu et al. 2016 (LSTM layers, a
skip around each).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import msnb as ms
from msnb import nn, ops


def pairs(n: int, length: int = 128) -> tuple[Any, ...]:
    """A batch of sentences in two languages, and what is to be said: without values."""
    return tuple(ms.parallel.blank((n, length), ms.int32) for _ in range(3))


def masked_pairs(n: int, length: int = 128) -> tuple[Any, ...]:
    """The same, and after each of them a mask of its words (1) and of what fills the rest (0)."""
    return tuple(t for ids in pairs(n, length) for t in (ids, ms.parallel.blank((n, length))))


def waves(length: int, width: int) -> Any:
    """Sines and cosines of a place."""
    speeds = np.exp(np.arange(width // 2) * (-math.log(1e4) / (width // 2 - 1)))
    angles = np.arange(length)[:, None] * speeds
    return ms.Tensor(np.concatenate([np.sin(angles), np.cos(angles)], 1), ms.float32)


class Norm(nn.Cell):
    """A layer norm in float32 of values of 16 bits."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((width,))

    def construct(self, x: Any) -> Any:
        return ops.cast(self.norm(ops.cast(x, ms.float32)), x.dtype)


class Heads(nn.Cell):
    """Attention without biases: products in float16, softmax in float32."""

    def __init__(self, width: int, heads: int, drop: float) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        for name in ("query", "key", "value", "out"):
            setattr(self, name, nn.Dense(width, width, has_bias=False).to_float(ms.float16))
        self.drop = nn.Dropout(p=drop)

    def split(self, x: Any) -> Any:
        n, length, _ = x.shape
        return ops.transpose(ops.reshape(x, (n, length, self.heads, self.size)), (0, 2, 1, 3))

    def construct(self, x: Any, memory: Any, mask: Any) -> Any:
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        scores = ops.matmul(q, ops.swapaxes(k, 2, 3)) * (1.0 / self.size**0.5)
        scores = scores + (1.0 - ops.expand_dims(mask, 1)) * -10000.0
        p = ops.cast(ops.softmax(ops.cast(scores, ms.float32), -1), ms.float16)
        y = ops.transpose(ops.matmul(self.drop(p), v), (0, 2, 1, 3))
        return self.out(ops.reshape(y, x.shape))


class Coder(nn.Cell):
    """Layers of an encoder, or of a decoder, which also attends to what the encoder says: norm first."""

    def __init__(self, width: int, heads: int, depth: int, drop: float, decodes: bool) -> None:
        super().__init__()
        self.drop = nn.Dropout(p=drop)
        self.heads = nn.CellList([Heads(width, heads, drop) for _ in range(depth * (1 + decodes))])
        wide = [nn.Dense(width, 4 * width, activation="relu") for _ in range(depth)]
        self.up = nn.CellList(wide).to_float(ms.float16)
        self.down = nn.CellList([nn.Dense(4 * width, width) for _ in range(depth)]).to_float(ms.float16)
        self.norms = nn.CellList([Norm(width) for _ in range(depth * (2 + decodes) + 1)])
        self.depth, self.decodes = depth, decodes

    def construct(self, x: Any, mask: Any, memory: Any = None, known: Any = None) -> Any:
        norms, heads = iter(self.norms), iter(self.heads)
        for up, down in zip(self.up, self.down):
            y = next(norms)(x)
            x = x + self.drop(next(heads)(y, y, mask))
            if self.decodes:
                x = x + self.drop(next(heads)(next(norms)(x), memory, known))
            x = x + self.drop(down(self.drop(up(next(norms)(x)))))
        return next(norms)(x)


class Translator(nn.Cell):
    """The large Transformer as its vendor's script has it: one table of words for both languages and for the answer.

    Products are in float16, norms, softmax and the loss in float32, whose labels are rows of smoothed ones and zeros.
    """

    def __init__(self, words: int = 36560, width: int = 1024, heads: int = 16, depth: int = 6, length: int = 128,
                 drop: float = 0.2, smoothing: float = 0.1) -> None:  # fmt: skip
        super().__init__()
        self.words, self.places, self.drop = nn.Embedding(words, width), waves(length, width), nn.Dropout(p=drop)
        self.encoder, self.decoder = (Coder(width, heads, depth, drop, decodes) for decodes in (False, True))
        self.on, self.off, self.width = 1 - smoothing, smoothing / (words - 1), width

    def read(self, ids: Any) -> Any:
        return ops.cast(self.drop(self.words(ids) * math.sqrt(self.width) + self.places), ms.float16)

    def construct(self, source: Any, here: Any, given: Any, there: Any, wanted: Any, counts: Any) -> Any:
        seen, said = (ops.cast(ops.expand_dims(mask, 1), ms.float16) for mask in (here, there))
        before = said * ops.cast(ops.tril(ops.ones((given.shape[1], given.shape[1]))), ms.float16)
        y = self.decoder(self.read(given), before, self.encoder(self.read(source), seen), seen)
        table = ops.cast(self.words.embedding_table, ms.float16)
        logits = ops.matmul(ops.reshape(y, (-1, self.width)), ops.transpose(table, (1, 0)))
        likely = ops.log_softmax(ops.cast(logits, ms.float32), -1)
        smooth = ops.one_hot(ops.reshape(wanted, (-1,)), table.shape[0], ms.Tensor(self.on), ms.Tensor(self.off))
        weights = ops.reshape(counts, (-1,))
        return -ops.sum(weights * ops.sum(likely * smooth, -1)) / (ops.sum(weights) + 1e-5)


class Recurrent(nn.Cell):
    """Encoder of both directions, decoder that reads forward, attention between them.

    The decoder's states come before its attention, so that attention is one product for all places (Luong 2015).
    """

    def __init__(self, words: int = 32320, width: int = 512, layer: Any = nn.GRU, depth: int = 1) -> None:
        super().__init__()
        self.source, self.given = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = layer(width, width, depth, batch_first=True, bidirectional=True)
        self.decoder = layer(width, width, depth, batch_first=True)
        self.keys, self.join = nn.Dense(2 * width, width), nn.Dense(2 * width, width, activation="tanh")
        self.head, self.width = nn.Dense(width, words), width

    def construct(self, source: Any, given: Any, wanted: Any) -> Any:
        keys = self.keys(self.encoder(self.source(source))[0])
        state = self.decoder(self.given(given))[0]
        p = ops.softmax(ops.matmul(state, ops.swapaxes(keys, 1, 2)), -1)
        y = self.join(ops.concat([state, ops.matmul(p, keys)], -1))
        return ops.cross_entropy(self.head(ops.reshape(y, (-1, self.width))), ops.reshape(wanted, (-1,)))
