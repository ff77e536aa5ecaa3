"""Activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.operator_table import operator


def _enter_alpha(name: str, fn: Callable[[Any, float], Any], usual: float) -> None:
    @operator(name)
    def of_alpha(x: Tensor, *, alpha: float = usual, consumed_inputs: Any = None) -> Any:
        return fn(x, alpha)


for _name, _fn, _usual in (("LeakyRelu", ops.leaky_relu, 0.01), ("Elu", ops.elu, 1.0), ("Celu", ops.celu, 1.0)):
    _enter_alpha(_name, _fn, _usual)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Any:
    """x above alpha, else 0."""
    return ops.where(x > alpha, x, ops.zeros_like(x))


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


def _hardmax(x: Any, axis: int) -> Any:
    best = ops.argmax(x, axis, True)
    places = ops.arange(x.shape[axis])
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return ops.equal(best, ops.reshape(places, tuple(shape)).astype(best.dtype)).astype(x.dtype)


def _enter_softmax(name: str, fn: Callable[[Any, int], Any]) -> None:
    @operator(name)
    def of_flat_rows(x: Tensor, *, axis: int = 1) -> Any:
        return _flat(fn, x, axis)

    @operator(name, since=13)
    def along_an_axis(x: Tensor, *, axis: int = -1) -> Any:
        return fn(x, axis)


for _name, _along in {"Softmax": ops.softmax, "LogSoftmax": ops.log_softmax, "Hardmax": _hardmax}.items():
    _enter_softmax(_name, _along)
