"""Networks that rank what people may click, as people write them with ``nn``, each with its loss.

Sources: Cheng et al. 2016 (Wide & Deep), Guo et al. 2017 (DeepFM).
"""

from __future__ import annotations

from typing import Any

import msnb as ms
from msnb import nn, ops


class WideDeep(nn.Cell):
    """A table of 200,000 features for a linear model, and one of 80 numbers each for a network."""

    def __init__(self, words: int = 200000, width: int = 80, fields: int = 39,
                 layers: tuple[int, ...] = (1024, 512, 256, 128)) -> None:  # fmt: skip
        super().__init__()
        self.wide, self.deep = nn.Embedding(words, 1), nn.Embedding(words, width)
        sizes = (width * fields, *layers)
        self.layers = nn.CellList([nn.Dense(a, b, activation="relu") for a, b in zip(sizes, sizes[1:])])
        self.last = nn.Dense(layers[-1], 1)

    def construct(self, ids: Any, weights: Any, label: Any) -> Any:
        n, fields = ids.shape
        scale = ops.reshape(weights, (n, fields, 1))
        wide = ops.sum(ops.reshape(self.wide(ids) * scale, (n, fields)), 1, keepdims=True)
        x = ops.reshape(self.deep(ids) * scale, (n, -1))
        for layer in self.layers:
            x = layer(x)
        loss = ops.binary_cross_entropy_with_logits(self.last(x) + wide, label)
        return loss + 4e-5 * ops.sum(ops.square(self.deep.embedding_table))


def clicks(n: int, fields: int = 39) -> tuple[Any, ...]:
    """A batch for ``WideDeep``, without values."""
    return ms.parallel.blank((n, fields), ms.int32), ms.parallel.blank((n, fields)), ms.parallel.blank((n, 1))


class DeepFM(nn.Cell):
    """Products of all pairs of features, beside a network that reads the same table."""

    def __init__(self, words: int = 184965, width: int = 80, fields: int = 39,
                 layers: tuple[int, ...] = (1024, 512, 256, 128)) -> None:  # fmt: skip
        super().__init__()
        self.one, self.table = nn.Embedding(words, 1), nn.Embedding(words, width)
        sizes = (width * fields, *layers)
        self.layers = nn.CellList([nn.Dense(a, b, activation="relu") for a, b in zip(sizes, sizes[1:])])
        self.last = nn.Dense(layers[-1], 1)

    def construct(self, ids: Any, weights: Any, label: Any) -> Any:
        n, fields = ids.shape
        scale = ops.reshape(weights, (n, fields, 1))
        line = ops.sum(ops.reshape(self.one(ids) * scale, (n, fields)), 1, keepdims=True)
        rows = self.table(ids) * scale
        pairs = ops.square(ops.sum(rows, 1)) - ops.sum(ops.square(rows), 1)
        x = ops.reshape(rows, (n, -1))
        for layer in self.layers:
            x = layer(x)
        out = line + 0.5 * ops.sum(pairs, 1, keepdims=True) + self.last(x)
        loss = ops.binary_cross_entropy_with_logits(out, label)
        tables = (self.one.embedding_table, self.table.embedding_table)
        return loss + 4e-5 * sum(ops.sum(ops.square(table)) for table in tables)
