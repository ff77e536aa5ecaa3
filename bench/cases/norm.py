"""Softmax of a layer norm, 4096 rows of 1024 float32: the output and the gradients of all three inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.case import Case, Seeded, norm, several

ROWS, WIDTH = 4096, 1024


def _rows(seeded: Seeded) -> tuple[Any, ...]:
    scale, shift = norm(WIDTH)
    return seeded.normal(ROWS, WIDTH), scale, shift, seeded.normal(ROWS, WIDTH)


def _torch(side: Any) -> Any:
    functional = side.torch.nn.functional
    both = lambda x, g, b: functional.softmax(functional.layer_norm(x, (WIDTH,), g, b, 1e-5), -1)
    return side.pulled(side.made(both), 3)


def _jax(side: Any) -> Any:
    return side.pulled(lambda x, g, b: side.jax.nn.softmax(side.layer_norm(x, g, b)), 3)


def _msnb(side: Any) -> Any:
    ops = side.ops

    def both(x: Any, g: Any, b: Any) -> Any:
        return ops.softmax(ops.layer_norm(x, (WIDTH,), g, b, 1e-5), -1)

    return side.pulled(both, 3)


def _mindspore(side: Any) -> Any:
    ops = side.ops
    layer_norm = ops.LayerNorm(1, 1, 1e-5)  # ops.layer_norm has no CPU kernel there

    def both(x: Any, g: Any, b: Any) -> Any:
        return ops.softmax(layer_norm(x, g, b)[0], -1)

    return side.pulled_by_sum(both, 3)


CASES = [
    Case(
        "layernorm_softmax",
        "softmax(layer_norm), forward and backward",
        {"msnb": _msnb, "mindspore": _mindspore, "torch": _torch, "jax": _jax},
        several(_rows),
        bytes=4.0 * np.prod((4, ROWS, WIDTH)),
        tolerance=1e-3,
    )
]
