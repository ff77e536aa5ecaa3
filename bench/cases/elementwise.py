"""A chain of elementwise functions over four million float32, forward and with all its gradients.

    y = tanh(x w + b) sigmoid(x) + relu(x) - x x / 2

One kernel passes over memory once, one kernel per function a dozen times.
"""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, several

SIZE = 4 << 20


def _three(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(SIZE), seeded.normal(SIZE), seeded.normal(SIZE)


def _torch(side: Any) -> Any:
    torch = side.torch
    chain = lambda x, w, b: torch.tanh(x * w + b) * torch.sigmoid(x) + torch.relu(x) - 0.5 * x * x
    return side.forward(side.made(chain))


def _torch_gradient(side: Any) -> Any:
    torch = side.torch
    chain = lambda x, w, b: (torch.tanh(x * w + b) * torch.sigmoid(x) + torch.relu(x) - 0.5 * x * x).sum()
    total = side.made(chain)

    def both(*batch: Any) -> Any:
        inputs = side.leaves(*batch)
        out = total(*inputs)
        out.backward()
        return (out.detach(), *(t.grad for t in inputs))

    return side.over(both)


def _jax_chain(side: Any) -> Any:
    jnp, nn = side.jnp, side.jax.nn
    return lambda x, w, b: jnp.tanh(x * w + b) * nn.sigmoid(x) + nn.relu(x) - 0.5 * x * x


def _jax(side: Any) -> Any:
    return side.over(side.made(_jax_chain(side)))


def _jax_gradient(side: Any) -> Any:
    chain = _jax_chain(side)
    return side.over(side.made(side.jax.value_and_grad(lambda *a: chain(*a).sum(), (0, 1, 2))))


def _ms(side: Any) -> Any:
    ops = side.ops

    def chain(x: Any, w: Any, b: Any) -> Any:
        return ops.tanh(x * w + b) * ops.sigmoid(x) + ops.relu(x) - 0.5 * x * x

    return side.forward(chain)


def _ms_gradient(side: Any) -> Any:
    ops = side.ops

    def total(x: Any, w: Any, b: Any) -> Any:
        return (ops.tanh(x * w + b) * ops.sigmoid(x) + ops.relu(x) - 0.5 * x * x).sum()

    return side.over(side.made(side.ms.value_and_grad(total, (0, 1, 2))))


CASES = [
    Case(
        "fused_elementwise",
        "elementwise chain, 4M, forward",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_three),
        bytes=4 * 4 * SIZE,
    ),
    Case(
        "fused_elementwise_grad",
        "elementwise chain, 4M, with gradients",
        {"msnb": _ms_gradient, "mindspore": _ms_gradient, "torch": _torch_gradient, "jax": _jax_gradient},
        several(_three),
        bytes=6 * 4 * SIZE,
        tolerance=1e-3,
    ),
]
