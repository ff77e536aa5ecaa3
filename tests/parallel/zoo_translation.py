"""Networks that translate, as people write them with ``nn``, each with its loss.

Sources: Vaswani et al. 2017 (Transformer), Bahdanau et al. 2014 (GRU with attention), Wu et al. 2016 (LSTM layers, a
skip around each).
"""

from __future__ import annotations

import math
from typing import Any

import msnb as ms
from msnb import nn, ops


def pairs(n: int, length: int = 128) -> tuple[Any, ...]:
    """A batch of sentences in two languages, and what is to be said: without values."""
    return tuple(ms.parallel.blank((n, length), ms.int32) for _ in range(3))


class Translator(nn.Cell):
    """The large Transformer: one table of words for both languages and for the answer."""

    def __init__(self, words: int = 36560, width: int = 1024, heads: int = 16, depth: int = 6, length: int = 128,
                 drop: float = 0.2) -> None:  # fmt: skip
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.drop, self.width, self.length = nn.Dropout(p=drop), width, length
        self.body = nn.Transformer(width, heads, depth, depth, 4 * width, drop, batch_first=True)

    def read(self, ids: Any) -> Any:
        return self.drop(self.words(ids) * math.sqrt(self.width) + self.places(ops.arange(self.length)))

    def construct(self, source: Any, given: Any, wanted: Any) -> Any:
        y = self.body(self.read(source), self.read(given), tgt_mask=nn.causal_mask(self.length))
        logits = ops.matmul(ops.reshape(y, (-1, self.width)), ops.transpose(self.words.embedding_table, (1, 0)))
        return ops.cross_entropy(logits, ops.reshape(wanted, (-1,)), label_smoothing=0.1)


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
