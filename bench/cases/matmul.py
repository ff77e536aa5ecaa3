"""The product of two 1024 x 1024 float32 matrices."""

from __future__ import annotations

from typing import Any

from bench.case import Case, Seeded, several

N = 1024


def _two(seeded: Seeded) -> tuple[Any, ...]:
    return seeded.normal(N, N), seeded.normal(N, N)


def _torch(side: Any) -> Any:
    return side.forward(side.made(lambda a, b: a @ b))


def _jax(side: Any) -> Any:
    return side.over(side.made(lambda a, b: a @ b))


def _ms(side: Any) -> Any:
    ops = side.ops

    def product(a: Any, b: Any) -> Any:
        return ops.matmul(a, b)

    return side.forward(product)


CASES = [
    Case(
        "matmul",
        "matmul 1024",
        {"msnb": _ms, "mindspore": _ms, "torch": _torch, "jax": _jax},
        several(_two),
        flops=2.0 * N**3,
        bytes=4.0 * 3 * N * N,
    )
]
