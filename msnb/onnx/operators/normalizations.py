"""Normalization layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.operator_table import Statistic, operator


def _per_channel(v: Any, ndim: int) -> Any:
    return ops.reshape(v, (-1, *(1,) * (ndim - 2)))


@operator("BatchNormalization")
def batch_norm(x: Tensor, scale: Tensor, bias: Tensor, mean: Statistic, var: Statistic, *, epsilon: float = 1e-5,
               momentum: float = 0.9, training_mode: int = 0, spatial: int = 1, is_test: int = 0,
               consumed_inputs: Any = None, results: int = 1) -> Any:  # fmt: skip
    """Normalized by stored averages; in training by the batch's, and the new averages."""
    if not training_mode and scale.dtype is mean.dtype is x.dtype and x.ndim > 1:
        return ops.batch_norm(x, mean, var, scale, bias, eps=epsilon)
    if not training_mode:
        factor = scale / ops.sqrt(var + epsilon)
        shift = bias - mean * factor
        return (x * _per_channel(factor, x.ndim) + _per_channel(shift, x.ndim)).astype(x.dtype)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    centre = ops.mean(x, axes, True)
    spread = ops.mean(ops.square(x - centre), axes, True)
    y = (x - centre) / ops.sqrt(spread + epsilon)
    y = y * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)
    new_mean = mean * momentum + ops.reshape(centre, (-1,)) * (1 - momentum)
    new_var = var * momentum + ops.reshape(spread, (-1,)) * (1 - momentum)
    return (y, new_mean, new_var)[:results]


@operator("InstanceNormalization")
def instance_norm(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5,
                  consumed_inputs: Any = None) -> Any:  # fmt: skip
    """Each channel of each sample by its own mean and variance."""
    return ops.instance_norm(x, scale, bias, epsilon)


@operator("GroupNormalization", since=21)
def group_norm(x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5,
               stash_type: int = 1) -> Any:  # fmt: skip
    """Groups of channels, each by its own mean and variance."""
    return ops.group_norm(x, num_groups, scale, bias, epsilon)


@operator("LayerNormalization")
def layer_norm(x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5,
               stash_type: int = 1, results: int = 1) -> Any:  # fmt: skip
    """Rows from ``axis`` on, each by its own mean and variance."""
    axis %= x.ndim
    axes = tuple(range(axis, x.ndim))
    wide = x.astype("float32") if stash_type == 1 and x.dtype.itemsize < 4 else x
    centre = ops.mean(wide, axes, True)
    factor = ops.rsqrt(ops.mean(ops.square(wide - centre), axes, True) + epsilon)
    if (
        results == 1
        and wide is x
        and tuple(scale.shape) == tuple(x.shape[axis:])
        and (bias is None or bias.shape == scale.shape)
    ):
        return ops.layer_norm(x, tuple(x.shape[axis:]), scale, bias, epsilon)
    y = ((wide - centre) * factor).astype(x.dtype) * scale
    return (y if bias is None else y + bias, centre, factor)[:results]


@operator("RMSNormalization")
def rms_norm(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """Rows from ``axis`` on, each by the root of its mean square."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    if x.dtype.itemsize >= 4 and tuple(scale.shape) == tuple(x.shape[axes[0] :]):
        return ops.rms_norm(x, scale, epsilon)
    wide = x.astype("float32") if stash_type == 1 and x.dtype.itemsize < 4 else x
    return (wide * ops.rsqrt(ops.mean(ops.square(wide), axes, True) + epsilon)).astype(x.dtype) * scale


@operator("LRN")
def lrn(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    """Each value by the squares of its neighbours among the channels."""
    low = (size - 1) // 2
    squares = ops.square(x)
    widths = [(0, 0)] * x.ndim
    widths[1] = (low, size - 1 - low)
    rows = ops.pad(squares, pads=widths)
    channels = x.shape[1]
    total = sum((rows[:, i : i + channels] for i in range(1, size)), rows[:, :channels])
    return x / ops.pow(bias + total * (alpha / size), beta)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Any:
    """Rows of norm 1; rows of zeros stay."""
    norm = ops.sum(ops.abs(x), axis, True) if p == 1 else ops.sqrt(ops.sum(ops.square(x), axis, True))
    return x / ops.where(norm == 0, ops.ones_like(norm), norm)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(x: Tensor, *, axes: Any = (0, 2, 3)) -> Any:
    """(x - mean) / deviation."""
    centre = x - ops.mean(x, tuple(axes), True)
    return centre / (ops.sqrt(ops.mean(ops.square(centre), tuple(axes), True)) + np.float32(1e-9).item())
