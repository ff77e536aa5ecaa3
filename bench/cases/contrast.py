"""Two views through one encoder, and a softmax over all pairs (contrastive learning): Adam, batch 256.

Both uses of a weight add to its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, dense_flops, several

WIDTHS, BATCH, RATE, SHARP = (512, 256, 128), 256, 1e-3, 10.0


def _weights() -> list[Any]:
    seeded = Seeded(0)
    return [w for i, o in zip(WIDTHS, WIDTHS[1:]) for w in seeded.dense(i, o)]


def _views(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(BATCH, WIDTHS[0]), seeded.normal(BATCH, WIDTHS[0]), np.arange(BATCH, dtype=np.int32)


def _torch(side: Any) -> Any:
    nn, functional = side.torch.nn, side.torch.nn.functional
    net = side.load(nn.Sequential(nn.Linear(*WIDTHS[:2]), nn.ReLU(), nn.Linear(*WIDTHS[1:])))

    def loss(a: Any, b: Any, y: Any) -> Any:
        u, v = (z / (z * z).sum(1, keepdim=True).sqrt() for z in (net(a), net(b)))
        scores, y = (u @ v.T) * SHARP, y.long()
        return functional.cross_entropy(scores, y) + functional.cross_entropy(scores.T, y)

    return side.train(loss, side.adam(net.parameters(), RATE))


def _jax(side: Any) -> Any:
    import optax

    jnp = side.jnp

    def unit(p: Any, x: Any) -> Any:
        z = side.dense(side.jax.nn.relu(side.dense(x, *p[:2])), *p[2:])
        return z / jnp.sqrt((z * z).sum(1, keepdims=True))

    def loss(p: Any, a: Any, b: Any, y: Any) -> Any:
        scores = (unit(p, a) @ unit(p, b).T) * SHARP
        return side.cross_entropy(scores, y) + side.cross_entropy(scores.T, y)

    return side.train(loss, optax.adam(RATE))


def _ms(side: Any) -> Any:
    nn, ops = side.nn, side.ops
    net = side.load(nn.SequentialCell(nn.Dense(*WIDTHS[:2]), nn.ReLU(), nn.Dense(*WIDTHS[1:])))
    entropy = nn.CrossEntropyLoss()

    def unit(x: Any) -> Any:
        z = net(x)
        return z / ops.sqrt((z * z).sum(1, keepdims=True))

    def loss(a: Any, b: Any, y: Any) -> Any:
        scores = ops.matmul(unit(a), unit(b).swapaxes(0, 1)) * SHARP
        return entropy(scores, y) + entropy(scores.swapaxes(0, 1), y)

    return side.train(loss, nn.Adam(net.trainable_params(), RATE))


CASES = [
    Case(
        "contrastive_step",
        "contrastive training step",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_views),
        _weights,
        flops=2 * dense_flops(BATCH, *WIDTHS) + 3 * 2.0 * BATCH * BATCH * WIDTHS[-1],
    )
]
