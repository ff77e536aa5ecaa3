"""Gradients and steps of optimizers as operators: ONNX's training preview."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.api.transforms.gradients import grad
from msnb.core import Tensor
from msnb.onnx.operator_table import operator

_PREVIEW = "ai.onnx.preview.training"


@operator("Gradient", domain=_PREVIEW, pure=False)
def gradient(*inputs: Tensor, xs: Any, y: str, between: Any, zs: Any = ()) -> Any:
    """What a change of each x does to the sum of y; the zs are as they are."""
    return grad(between([*xs, *zs], y), tuple(range(len(xs))))(*inputs)


def _each(step: Callable[..., tuple[Any, ...]], tensors: tuple[Any, ...], kinds: int) -> tuple[Any, ...]:
    """``step`` on each weight with its gradient and states, which stand one kind after another."""
    count = len(tensors) // kinds
    rows = [step(*(tensors[k * count + i] for k in range(kinds))) for i in range(count)]
    return tuple(value for column in zip(*rows) for value in column)


@operator("Adagrad", domain=_PREVIEW)
def adagrad(rate: Tensor, turn: Tensor, *tensors: Tensor, decay_factor: float = 0.0, epsilon: float = 1e-6,
            norm_coefficient: float = 0.0) -> Any:  # fmt: skip
    """Rates by the sum of squared gradients."""
    now = rate / (1 + turn.astype(rate.dtype) * decay_factor)

    def step(x: Any, g: Any, h: Any) -> tuple[Any, ...]:
        slope = norm_coefficient * x + g
        total = h + slope * slope
        return x - now * slope / (ops.sqrt(total) + epsilon), total

    return _each(step, tensors, 3)


@operator("Adam", domain=_PREVIEW)
def adam(rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-6,
         norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0) -> Any:  # fmt: skip
    """Averages of gradients and of their squares, corrected for their beginning."""
    t = turn.astype(rate.dtype)
    bias = ops.sqrt(1 - ops.pow(beta, t)) / (1 - ops.pow(alpha, t))
    now = ops.where(t > 0, rate * bias, rate)

    def step(x: Any, g: Any, v: Any, h: Any) -> tuple[Any, ...]:
        slope = norm_coefficient * x + g
        first = alpha * v + (1 - alpha) * slope
        second = beta * h + (1 - beta) * slope * slope
        moved = x - now * first / (ops.sqrt(second) + epsilon)
        return (1 - norm_coefficient_post) * moved, first, second

    return _each(step, tensors, 4)


@operator("Momentum", domain=_PREVIEW)
def momentum(rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str,
             norm_coefficient: float) -> Any:  # fmt: skip
    """An average of gradients, with Nesterov's look ahead or without."""
    share = ops.where(turn > 0, beta, 1.0)

    def step(x: Any, g: Any, v: Any) -> tuple[Any, ...]:
        slope = norm_coefficient * x + g
        speed = alpha * v + share.astype(x.dtype) * slope
        return x - rate * (slope + alpha * speed if mode == "nesterov" else speed), speed

    return _each(step, tensors, 3)
