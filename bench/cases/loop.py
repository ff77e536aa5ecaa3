"""A loop whose length the data decide, with its gradient: z <- tanh(z W + x U) until nothing changes by 1e-5.

64 units, batch 32, |W| = 0.9 so that it converges. The gradient of sum z^2 to W and U walks back through as many
iterations as the forward loop happened to need: a framework without reverse mode through loops has no answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, f32, several

UNITS, BATCH, CLOSE = 64, 32, 1e-5


def _start(seeded: Seeded) -> tuple[Any, ...]:
    """x, W, U; every batch has matrices of its own."""
    w = seeded.normal(UNITS, UNITS)
    u = seeded.normal(UNITS, UNITS, scale=UNITS**-0.5)
    return seeded.normal(BATCH, UNITS, scale=0.2), f32(w * 0.9 / np.linalg.norm(w, 2)), u


def _torch(side: Any) -> Any:
    torch = side.torch

    def step(x: Any, w: Any, u: Any) -> Any:
        w, u = side.leaves(w, u)
        driven, z, change = x @ u, torch.zeros(BATCH, UNITS), 1.0
        while change >= CLOSE:
            before = z
            z = torch.tanh(z @ w + driven)
            change = (z - before).detach().abs().max().item()
        loss = (z * z).sum()
        loss.backward()
        return loss.detach(), w.grad, u.grad

    return side.over(step)


def _ms(side: Any) -> Any:
    ms, ops = side.ms, side.ops
    zero, far = ms.Tensor(np.zeros((BATCH, UNITS), np.float32)), ms.Tensor(np.float32(1.0))

    def loss(x: Any, w: Any, u: Any) -> Any:
        driven = ops.matmul(x, u)
        z, change = zero, far
        while change >= CLOSE:
            new = ops.tanh(ops.matmul(z, w) + driven)
            change = ops.abs(new - z).max()
            z = new
        return (z * z).sum()

    return side.over(side.made(ms.value_and_grad(loss, (1, 2))))


CASES = [
    Case(
        "while_step",
        "loop until converged, with gradient",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch},
        several(_start),
        tolerance=1e-3,
        only=("msnb graph", "msnb eager", "torch eager", "mindspore graph"),
        cannot={
            "jax jit": "lax.while_loop has no reverse mode",
            "torch compile": "a loop on a tensor's value breaks the graph in every iteration",
        },
    )
]
