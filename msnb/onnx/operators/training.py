"""Steps of optimizers as operators (ONNX's training preview), and pictures that are decoded."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from msnb import ops
from msnb.base.errors import CheckpointError
from msnb.core.tensor import Tensor
from msnb.onnx.operator_table import Known, operator

_PREVIEW = "ai.onnx.preview.training"


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


@operator("ImageDecoder")
def image_decoder(content: Known, *, pixel_format: str = "RGB") -> Any:
    """A picture's pixels, [rows, columns, channels], by Pillow."""
    try:
        image = import_module("PIL.Image").open(io.BytesIO(content.tobytes()))
        pixels = np.asarray(image.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except ImportError as error:
        raise ImportError("ImageDecoder needs Pillow: pip install 'msnb[images]'.") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise CheckpointError(f"ImageDecoder: the bytes are no picture ({error}).") from error
    if pixel_format == "Grayscale":
        return pixels[:, :, None].copy()
    return (pixels[:, :, ::-1] if pixel_format == "BGR" else pixels).copy()
