"""A recurrent cell over 64 steps (128 wide, batch 32) and gradient descent: h <- tanh(x Wi + bi + h Wh + bh)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, several

STEPS, BATCH, WIDTH, RATE = 64, 32, 128, 1e-2


def _weights() -> list[Any]:
    seeded, bound = Seeded(0), WIDTH**-0.5
    square, vector = (WIDTH, WIDTH), (WIDTH,)
    return [seeded.uniform(-bound, bound, *shape) for shape in (square, square, vector, vector)]


def _sequence(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(STEPS, BATCH, WIDTH), seeded.normal(BATCH, WIDTH)


def _torch(side: Any) -> Any:
    torch = side.torch
    cell = side.load(torch.nn.RNNCell(WIDTH, WIDTH))

    def loss(x: Any, y: Any) -> Any:
        h = torch.zeros(BATCH, WIDTH)
        for k in range(STEPS):
            h = cell(x[k], h)
        return ((h - y) ** 2).mean()

    return side.train(loss, torch.optim.SGD(cell.parameters(), RATE, fused=True))


def _jax(side: Any) -> Any:
    import optax

    jnp = side.jnp

    def cell(p: Any, h: Any, now: Any) -> Any:
        return jnp.tanh(side.dense(now, p[0], p[2]) + side.dense(h, p[1], p[3]))

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = jnp.zeros((BATCH, WIDTH))
        if side.variant == "scan":
            h, _ = side.jax.lax.scan(lambda h, now: (cell(p, h, now), None), h, x)
        else:
            for k in range(STEPS):
                h = cell(p, h, x[k])
        return ((h - y) ** 2).mean()

    return side.train(loss, optax.sgd(RATE))


def _ms(side: Any) -> Any:
    nn = side.nn
    cell = side.load(nn.RNNCell(WIDTH, WIDTH))
    start = side.ms.Tensor(np.zeros((BATCH, WIDTH), np.float32))

    def loss(x: Any, y: Any) -> Any:
        h = start
        for k in range(STEPS):
            h = cell(x[k], h)
        return ((h - y) ** 2).mean()

    return side.train(loss, nn.SGD(cell.trainable_params(), RATE))


CASES = [
    Case(
        "rnn_step",
        "RNN training step, 64 steps",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_sequence),
        _weights,
        flops=2.0 * STEPS * BATCH * WIDTH * WIDTH * (2 + 3),
        bytes=4.0 * STEPS * BATCH * WIDTH,
        variants={"jax": ("scan", "unrolled")},
    )
]
