"""Language networks as people write them with ``nn``, each with its loss.

Sources: Devlin et al. 2018 (BERT), Wei et al. 2019 (NEZHA: relative positions in every attention), Radford et al. 2019
(GPT-2), Dosovitskiy et al. 2020 (ViT, which reads images like sentences).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import msnb as ms
from msnb import nn, ops


class Attention(nn.Cell):
    """Self-attention; with ``reach`` > 0 keys and values also know how far away they are (NEZHA)."""

    def __init__(self, width: int, heads: int, length: int, drop: float, reach: int) -> None:
        super().__init__()
        self.heads, self.size, self.reach = heads, width // heads, reach
        self.query, self.key, self.value = (nn.Dense(width, width) for _ in range(3))
        self.out, self.drop = nn.Dense(width, width), nn.Dropout(p=drop)
        if reach:
            places = np.arange(length)
            self.far = ms.Tensor(np.clip(places - places[:, None], -reach, reach) + reach, ms.int32)
            self.keys, self.values = (nn.Embedding(2 * reach + 1, self.size) for _ in range(2))

    def split(self, x: Any, n: int, length: int) -> Any:
        return ops.transpose(ops.reshape(x, (n, length, self.heads, self.size)), (0, 2, 1, 3))

    def relative(self, x: Any, table: Any, turn: bool) -> Any:
        """x [n, heads, f, s] times the table's rows [f, t, s] (or [f, t], summed over t), per place f."""
        n, h, f, s = x.shape
        x = ops.reshape(ops.transpose(x, (2, 0, 1, 3)), (f, n * h, s))
        y = ops.matmul(x, ops.swapaxes(table, 1, 2) if turn else table)
        return ops.transpose(ops.reshape(y, (f, n, h, -1)), (1, 2, 0, 3))

    def construct(self, x: Any, mask: Any) -> Any:
        n, length, width = x.shape
        q, k, v = (self.split(layer(x), n, length) for layer in (self.query, self.key, self.value))
        scores = ops.matmul(q, ops.swapaxes(k, 2, 3))
        if self.reach:
            scores = scores + self.relative(q, self.keys(self.far), True)
        p = self.drop(ops.softmax(scores * (1.0 / self.size**0.5) + mask, -1))
        y = ops.matmul(p, v)
        if self.reach:
            y = y + self.relative(p, self.values(self.far), False)
        return self.out(ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (n, length, width)))


class Layer(nn.Cell):
    def __init__(self, width: int, heads: int, length: int, drop: float, reach: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, length, drop, reach)
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu, self.drop = nn.GELU(), nn.Dropout(p=drop)

    def construct(self, x: Any, mask: Any) -> Any:
        x = self.norm1(x + self.drop(self.attention(x, mask)))
        return self.norm2(x + self.drop(self.down(self.gelu(self.up(x)))))


class Bert(nn.Cell):
    """Masked words and next sentence; the large one by default."""

    def __init__(self, words: int = 21136, width: int = 1024, heads: int = 16, depth: int = 24, length: int = 128,
                 drop: float = 0.1, reach: int = 64) -> None:  # fmt: skip
        super().__init__()
        self.words, self.kinds = nn.Embedding(words, width), nn.Embedding(2, width)
        self.places = None if reach else nn.Embedding(length, width)
        self.norm, self.drop = nn.LayerNorm((width,)), nn.Dropout(p=drop)
        self.layers = nn.CellList([Layer(width, heads, length, drop, reach) for _ in range(depth)])
        self.pooler, self.pair = nn.Dense(width, width, activation="tanh"), nn.Dense(width, 2)
        self.turn, self.turned, self.bias = nn.Dense(width, width), nn.LayerNorm((width,)), nn.GELU()

    def construct(self, ids: Any, kinds: Any, keep: Any, places: Any, labels: Any, follows: Any) -> Any:
        n, length = ids.shape
        x = self.words(ids) + self.kinds(kinds)
        if self.places is not None:
            x = x + self.places(ops.arange(length))
        x = self.drop(self.norm(x))
        mask = (1.0 - ops.reshape(keep, (n, 1, 1, length))) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        width = x.shape[-1]
        picked = ops.gather(ops.reshape(x, (n * length, width)), ops.reshape(places, (-1,)), 0)
        h = self.turned(self.bias(self.turn(picked)))
        logits = ops.matmul(h, ops.transpose(self.words.embedding_table, (1, 0)))
        pair = self.pair(self.pooler(x[:, 0]))
        return ops.cross_entropy(logits, ops.reshape(labels, (-1,))) + ops.cross_entropy(pair, follows)


def sentences(n: int, length: int = 128, masked: int = 20) -> tuple[Any, ...]:
    """A batch for ``Bert``, without values."""
    ints = [(n, length), (n, length), (n, masked), (n, masked), (n,)]
    ids, kinds, places, labels, follows = (ms.parallel.blank(shape, ms.int32) for shape in ints)
    return ids, kinds, ms.parallel.blank((n, length)), places, labels, follows


class GPT(nn.Cell):
    """The next word: norm first, a causal mask; GPT-2's small one by default."""

    def __init__(self, words: int = 50257, width: int = 768, heads: int = 12, depth: int = 12, length: int = 1024,
                 drop: float = 0.1) -> None:  # fmt: skip
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, drop, "gelu", batch_first=True, norm_first=True)
        self.layers, self.norm = nn.TransformerEncoder(layer, depth), nn.LayerNorm((width,))
        self.drop = nn.Dropout(p=drop)
        self.length, self.width = length, width

    def construct(self, ids: Any, wanted: Any) -> Any:
        x = self.drop(self.words(ids) + self.places(ops.arange(self.length)))
        x = self.norm(self.layers(x, nn.causal_mask(self.length)))
        logits = ops.matmul(ops.reshape(x, (-1, self.width)), ops.transpose(self.words.embedding_table, (1, 0)))
        return ops.cross_entropy(logits, ops.reshape(wanted, (-1,)))


def texts(n: int, length: int = 1024) -> tuple[Any, ...]:
    """A batch for ``GPT``, without values."""
    return tuple(ms.parallel.blank((n, length), ms.int32) for _ in range(2))


class ViT(nn.Cell):
    """An image as a sentence of its patches; the base one."""

    def __init__(self, patch: int = 32, width: int = 768, heads: int = 12, depth: int = 12, classes: int = 1001,
                 size: int = 224, drop: float = 0.1) -> None:  # fmt: skip
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch, has_bias=True)
        self.length, self.width = (size // patch) ** 2, width
        self.places = ms.Parameter(ops.zeros((1, self.length + 1, width)), name="places")
        self.first = ms.Parameter(ops.zeros((1, 1, width)), name="first")
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, drop, "gelu", batch_first=True, norm_first=True)
        self.layers, self.norm = nn.TransformerEncoder(layer, depth), nn.LayerNorm((width,))
        self.drop = nn.Dropout(p=drop)
        self.head = nn.Dense(width, classes)

    def construct(self, x: Any, y: Any) -> Any:
        n = x.shape[0]
        x = ops.swapaxes(ops.reshape(self.patches(x), (n, self.width, self.length)), 1, 2)
        x = ops.concat([ops.broadcast_to(self.first, (n, 1, self.width)), x], 1)
        x = self.norm(self.layers(self.drop(x + self.places)))
        return ops.cross_entropy(self.head(x[:, 0]), y)
