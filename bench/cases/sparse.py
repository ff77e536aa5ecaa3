"""Programs that read and add rows by index: a graph network, a recommender of embeddings beside dense layers, words.

`gcn_step`: two layers over 2000 nodes and 20000 weighted edges, each h <- relu(sum over edges of w x[from] W).
`wide_deep_step`: 26 embeddings out of 20000 per example, a batch of 256, three dense layers, and a linear part.
`word2vec_step`: 1024 words out of 10000, each with its neighbour and five words that are none, 100 numbers per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, dense_flops, several

NODES, EDGES, WIDTH, CLASSES = 2000, 20000, 64, 7
ROWS, FIELDS, EMBEDDED, NUMBERS, BATCH = 20000, 26, 16, 13, 256
DEEP = (FIELDS * EMBEDDED + NUMBERS, 256, 64, 1)
WORDS, PAIRS, OTHERS, LETTERS = 10000, 1024, 5, 100
RATE = 1e-2


def _graph(seeded: Seeded) -> tuple[Any, ...]:
    ends = (seeded.labels(NODES, EDGES) for _ in range(2))
    return (seeded.normal(NODES, WIDTH), *ends, seeded.uniform(0, 1, EDGES, 1), seeded.labels(CLASSES, NODES))


def _graph_weights() -> list[Any]:
    seeded = Seeded(0)
    return [w for shape in ((WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, CLASSES)) for w in seeded.dense(*shape)]


def _torch_graph(side: Any) -> Any:
    torch, functional = side.torch, side.torch.nn.functional
    p = side.parameters()

    def loss(x: Any, start: Any, end: Any, weight: Any, y: Any) -> Any:
        for k in (0, 2):
            sent = functional.linear(x, *p[k : k + 2])[start] * weight
            x = torch.relu(torch.zeros(NODES, WIDTH).index_add(0, end, sent))
        return functional.cross_entropy(functional.linear(x, *p[4:]), y.long())

    return side.train(loss, torch.optim.SGD(p, RATE, fused=True))


def _jax_graph(side: Any) -> Any:
    import optax

    def loss(p: Any, x: Any, start: Any, end: Any, weight: Any, y: Any) -> Any:
        for k in (0, 2):
            sent = side.dense(x, *p[k : k + 2])[start] * weight
            x = side.jax.nn.relu(side.jax.ops.segment_sum(sent, end, NODES))
        return side.cross_entropy(side.dense(x, *p[4:]), y)

    return side.train(loss, optax.sgd(RATE))


def _msnb_graph(side: Any) -> Any:
    nn, ops = side.nn, side.ops
    layers = nn.CellList([nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, CLASSES)])
    net, entropy = side.load(layers), nn.CrossEntropyLoss()

    def loss(x: Any, start: Any, end: Any, weight: Any, y: Any) -> Any:
        for k in range(2):
            x = ops.relu(ops.unsorted_segment_sum(net[k](x)[start] * weight, end, NODES))
        return entropy(net[2](x), y)

    return side.train(loss, nn.SGD(net.trainable_params(), RATE))


def _clicks(seeded: Seeded) -> tuple[Any, ...]:
    ids, numbers = seeded.labels(ROWS, BATCH, FIELDS), seeded.normal(BATCH, NUMBERS)
    return ids, numbers, seeded.labels(2, BATCH, 1).astype(np.float32)


def _click_weights() -> list[Any]:
    seeded = Seeded(0)
    tables = [seeded.normal(ROWS, EMBEDDED, scale=0.01), seeded.normal(ROWS, 1, scale=0.01)]
    return tables + [w for i, o in zip(DEEP, DEEP[1:]) for w in seeded.dense(i, o)]


def _torch_clicks(side: Any) -> Any:
    torch, functional = side.torch, side.torch.nn.functional
    p = side.parameters()

    def loss(ids: Any, numbers: Any, y: Any) -> Any:
        h = torch.cat([functional.embedding(ids, p[0]).flatten(1), numbers], 1)
        h = torch.relu(functional.linear(torch.relu(functional.linear(h, *p[2:4])), *p[4:6]))
        logit = functional.linear(h, *p[6:]) + functional.embedding(ids, p[1]).sum(1)
        return functional.binary_cross_entropy_with_logits(logit, y)

    return side.train(loss, torch.optim.SGD(p, RATE, fused=True))


def _jax_clicks(side: Any) -> Any:
    import optax

    jnp, relu = side.jnp, side.jax.nn.relu

    def loss(p: Any, ids: Any, numbers: Any, y: Any) -> Any:
        h = jnp.concatenate([p[0][ids].reshape(BATCH, -1), numbers], 1)
        h = relu(side.dense(relu(side.dense(h, *p[2:4])), *p[4:6]))
        return optax.sigmoid_binary_cross_entropy(side.dense(h, *p[6:]) + p[1][ids].sum(1), y).mean()

    return side.train(loss, optax.sgd(RATE))


def _msnb_clicks(side: Any) -> Any:
    nn, ops = side.nn, side.ops

    class WideDeep(nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.deep, self.wide = nn.Embedding(ROWS, EMBEDDED), nn.Embedding(ROWS, 1)
            self.layers = nn.CellList([nn.Dense(i, o) for i, o in zip(DEEP, DEEP[1:])])

        def construct(self, ids: Any, numbers: Any) -> Any:
            h = ops.concat([self.deep(ids).reshape(BATCH, -1), numbers], axis=1)
            h = ops.relu(self.layers[1](ops.relu(self.layers[0](h))))
            return self.layers[2](h) + self.wide(ids).sum(1)

    net = side.load(WideDeep())

    def loss(ids: Any, numbers: Any, y: Any) -> Any:
        return ops.binary_cross_entropy_with_logits(net(ids, numbers), y)

    return side.train(loss, nn.SGD(net.trainable_params(), RATE))


def _words(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.labels(WORDS, PAIRS), seeded.labels(WORDS, PAIRS), seeded.labels(WORDS, PAIRS, OTHERS)


def _word_weights() -> list[Any]:
    seeded = Seeded(0)
    return [seeded.normal(WORDS, LETTERS, scale=0.1) for _ in range(2)]


def _torch_words(side: Any) -> Any:
    torch, functional = side.torch, side.torch.nn.functional
    p = side.parameters()

    def loss(word: Any, near: Any, others: Any) -> Any:
        v, u, n = functional.embedding(word, p[0]), functional.embedding(near, p[1]), functional.embedding(others, p[1])
        apart = functional.logsigmoid(-(n * v[:, None]).sum(2)).sum(1)
        return -(functional.logsigmoid((v * u).sum(1)) + apart).mean()

    return side.train(loss, torch.optim.SGD(p, RATE, fused=True))


def _jax_words(side: Any) -> Any:
    import optax

    def loss(p: Any, word: Any, near: Any, others: Any) -> Any:
        v, u, n = p[0][word], p[1][near], p[1][others]
        apart = side.jax.nn.log_sigmoid(-(n * v[:, None]).sum(2)).sum(1)
        return -(side.jax.nn.log_sigmoid((v * u).sum(1)) + apart).mean()

    return side.train(loss, optax.sgd(RATE))


def _msnb_words(side: Any) -> Any:
    nn, ops = side.nn, side.ops
    tables = side.load(nn.CellList([nn.Embedding(WORDS, LETTERS), nn.Embedding(WORDS, LETTERS)]))

    def loss(word: Any, near: Any, others: Any) -> Any:
        v, u, n = tables[0](word), tables[1](near), tables[1](others)
        apart = ops.logsigmoid(-(n * v.expand_dims(1)).sum(2)).sum(1)
        return -(ops.logsigmoid((v * u).sum(1)) + apart).mean()

    return side.train(loss, nn.SGD(tables.trainable_params(), RATE))


CASES = [
    Case(
        "gcn_step",
        "graph network training step",
        {"msnb": _msnb_graph, "torch": _torch_graph, "jax": _jax_graph},
        several(_graph),
        _graph_weights,
        flops=dense_flops(NODES, WIDTH, WIDTH, WIDTH, CLASSES),
        bytes=4.0 * EDGES * WIDTH * 2 * 4,  # rows of both layers, read and added, in both directions
    ),
    Case(
        "wide_deep_step",
        "recommender training step",
        {"msnb": _msnb_clicks, "torch": _torch_clicks, "jax": _jax_clicks},
        several(_clicks),
        _click_weights,
        flops=dense_flops(BATCH, *DEEP, data=True),
    ),
    Case(
        "word2vec_step",
        "word vectors training step",
        {"msnb": _msnb_words, "torch": _torch_words, "jax": _jax_words},
        several(_words),
        _word_weights,
        bytes=4.0 * WORDS * LETTERS * 2 * 3,  # both tables: their gradients written, read and subtracted
    ),
]
