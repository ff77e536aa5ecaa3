"""Activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.core.tensor import Tensor
from msnb.onnx.operator_table import operator


@operator("Relu")
def relu(x: Tensor, *, consumed_inputs: Any = None) -> Any:
    """max(x, 0)."""
    return ops.relu(x)


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01, consumed_inputs: Any = None) -> Any:
    """x, or alpha x below 0."""
    return ops.leaky_relu(x, alpha)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Any:
    """x above alpha, else 0."""
    return ops.where(x > alpha, x, ops.zeros_like(x))


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0, consumed_inputs: Any = None) -> Any:
    """x, or alpha (exp(x) - 1) below 0."""
    return ops.elu(x, alpha)


@operator("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Any:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return ops.celu(x, alpha)


@operator("Selu")
def selu(x: Tensor, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805,
         consumed_inputs: Any = None) -> Any:  # fmt: skip
    """gamma times elu."""
    if abs(alpha - 1.6732632) < 1e-6 and abs(gamma - 1.0507010) < 1e-6:
        return ops.selu(x)
    return gamma * ops.where(x > 0, x, alpha * ops.expm1(ops.minimum(x, 0)))


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5, consumed_inputs: Any = None) -> Any:
    """alpha x + beta, between 0 and 1."""
    if abs(alpha - 1 / 6) < 1e-7 and beta == 0.5:
        return ops.hardsigmoid(x)
    return ops.clamp(x * alpha + beta, 0.0, 1.0)


@operator("HardSwish")
def hard_swish(x: Tensor) -> Any:
    """x times the hard sigmoid of slope 1/6."""
    return ops.hardswish(x)


@operator("Mish")
def mish(x: Tensor) -> Any:
    """x tanh(softplus(x))."""
    return ops.mish(x)


@operator("Softplus")
def softplus(x: Tensor) -> Any:
    """log(1 + exp(x)), without overflow."""
    return ops.softplus(x)


@operator("Softsign")
def softsign(x: Tensor) -> Any:
    """x / (1 + |x|)."""
    return ops.softsign(x)


@operator("Shrink")
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    """Zero within lambd of 0, else moved toward 0 by the bias."""
    wide = x if x.dtype.is_float else x.astype("float32")
    found = ops.where(wide < -lambd, wide + bias, ops.where(wide > lambd, wide - bias, ops.zeros_like(wide)))
    return found.astype(x.dtype)


@operator("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Any:
    """x times the normal distribution's function of x."""
    return ops.gelu(x, approximate)


@operator("Swish")
def swish(x: Tensor, *, alpha: float = 1.0) -> Any:
    """x sigmoid(alpha x)."""
    return x * ops.sigmoid(x if alpha == 1.0 else x * alpha)


@operator("PRelu")
def prelu(x: Tensor, slope: Tensor, *, consumed_inputs: Any = None, opset: int) -> Any:
    """x, or slope x below 0."""
    if opset < 7 and slope.ndim == 1 and slope.shape[0] > 1:
        slope = ops.reshape(slope, (-1, *(1,) * (x.ndim - 2)))
    if slope.size == 1 or (slope.ndim == x.ndim - 1 and slope.shape[0] == slope.size == x.shape[1]):
        return ops.prelu(x, ops.reshape(slope, (-1,)))
    return ops.where(x < 0, slope * x, x)


@operator("Clip")
def clip(x: Tensor, *, min: float | None = None, max: float | None = None, consumed_inputs: Any = None) -> Any:
    """x between two numbers."""
    return ops.clamp(x, min, max) if min is not None or max is not None else x


@operator("Clip", since=11)
def clip_between(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Any:
    """x between two scalars; the upper wins."""
    if low is not None:
        x = ops.maximum(x, ops.reshape(low, ()))
    return x if high is None else ops.minimum(x, ops.reshape(high, ()))


def _flat(fn: Any, x: Any, axis: int) -> Any:
    """``fn`` over all axes from ``axis`` on: how softmax was defined before version 13."""
    shape, axis = x.shape, axis % max(x.ndim, 1)
    rows = ops.reshape(x, (int(np.prod(shape[:axis])), -1))
    return ops.reshape(fn(rows, 1), shape)


@operator("Softmax")
def flat_softmax(x: Tensor, *, axis: int = 1) -> Any:
    """Softmax of flattened rows."""
    return _flat(ops.softmax, x, axis)


@operator("LogSoftmax")
def flat_log_softmax(x: Tensor, *, axis: int = 1) -> Any:
    """Log-softmax of flattened rows."""
    return _flat(ops.log_softmax, x, axis)


@operator("Hardmax")
def flat_hardmax(x: Tensor, *, axis: int = 1) -> Any:
    """One at the first maximum of flattened rows."""
    return _flat(_hardmax, x, axis)


@operator("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Any:
    """Softmax along an axis."""
    return ops.softmax(x, axis)


@operator("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Any:
    """Log-softmax along an axis."""
    return ops.log_softmax(x, axis)


@operator("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Any:
    """One at the first maximum along an axis."""
    return _hardmax(x, axis)


def _hardmax(x: Any, axis: int) -> Any:
    best = ops.argmax(x, axis, True)
    places = ops.arange(x.shape[axis])
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return ops.equal(best, ops.reshape(places, tuple(shape)).astype(best.dtype)).astype(x.dtype)
