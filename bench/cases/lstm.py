"""An LSTM (32 -> 64, batch 4) over 50, 200 and 1,000 steps, its cell in a Python loop of 400, and gradient descent.

The loss is the mean square of all outputs minus a target: every step has a gradient of its own. What is looked at is
the first call, which must not grow with the steps, as much as the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, several

BATCH, INPUTS, HIDDEN, RATE, TURNS = 4, 32, 64, 1e-2, 400


def _weights() -> list[Any]:
    seeded, bound = Seeded(0), HIDDEN**-0.5
    shapes = ((4 * HIDDEN, INPUTS), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,), (4 * HIDDEN,))
    return [seeded.uniform(-bound, bound, *shape) for shape in shapes]


def _batches(steps: int) -> Any:
    return several(lambda seeded: (seeded.normal(steps, BATCH, INPUTS), seeded.normal(steps, BATCH, HIDDEN)))


def _torch(side: Any) -> Any:
    torch = side.torch
    net = side.load(torch.nn.LSTM(INPUTS, HIDDEN))
    return side.train(lambda x, y: ((net(x)[0] - y) ** 2).mean(), torch.optim.SGD(net.parameters(), RATE, fused=True))


def _torch_cell(side: Any) -> Any:
    torch = side.torch
    cell = side.load(torch.nn.LSTMCell(INPUTS, HIDDEN))

    def loss(x: Any, y: Any) -> Any:
        h, c, out = torch.zeros(BATCH, HIDDEN), torch.zeros(BATCH, HIDDEN), []
        for k in range(TURNS):
            h, c = cell(x[k], (h, c))
            out.append(h)
        return ((torch.stack(out) - y) ** 2).mean()

    return side.train(loss, torch.optim.SGD(cell.parameters(), RATE, fused=True))


def _jax(side: Any) -> Any:
    import optax

    jax, jnp = side.jax, side.jnp

    def loss(p: Any, x: Any, y: Any) -> Any:
        def step(state: Any, now: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(now + side.dense(h, p[1], p[3]), 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((BATCH, HIDDEN))
        _, out = jax.lax.scan(step, (zero, zero), side.dense(x, p[0], p[2]))
        return ((out - y) ** 2).mean()

    return side.train(loss, optax.sgd(RATE))


def _ms(side: Any) -> Any:
    nn = side.nn
    net = side.load(nn.LSTM(INPUTS, HIDDEN))
    return side.train(lambda x, y: ((net(x)[0] - y) ** 2).mean(), nn.SGD(net.trainable_params(), RATE))


def _ms_cell(side: Any) -> Any:
    nn, ops = side.nn, side.ops
    cell = side.load(nn.LSTMCell(INPUTS, HIDDEN))
    zero = side.ms.Tensor(np.zeros((BATCH, HIDDEN), np.float32))

    def loss(x: Any, y: Any) -> Any:
        h, c, out = zero, zero, []
        for k in range(TURNS):
            h, c = cell(x[k], (h, c))
            out.append(h)
        return ((ops.stack(out) - y) ** 2).mean()

    return side.train(loss, nn.SGD(cell.trainable_params(), RATE))


def _flops(steps: int) -> float:
    """Two products forward, three backward: no gradient of x is wanted."""
    return 2.0 * steps * BATCH * 4 * HIDDEN * (2 * INPUTS + 3 * HIDDEN)


CASES = [
    *(
        Case(
            f"lstm_step_{steps}",
            f"LSTM training step, {steps} steps",
            {"msnb": _ms, "torch": _torch, "jax": _jax},
            _batches(steps),
            _weights,
            flops=_flops(steps),
            bytes=4.0 * steps * BATCH * (INPUTS + HIDDEN),
        )
        for steps in (50, 200, 1000)
    ),
    Case(
        "lstm_cell_step",
        f"LSTM cell in a Python loop of {TURNS}",
        {"msnb": _ms_cell, "torch": _torch_cell},
        _batches(TURNS),
        _weights,
        flops=_flops(TURNS),
        bytes=4.0 * TURNS * BATCH * (INPUTS + HIDDEN),
        only=("msnb graph", "msnb eager", "torch eager"),
    ),
]
