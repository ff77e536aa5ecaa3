"""Quantized values: tensors of 8 and 16 bits computed, smaller types known and stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.core.tensor import Tensor
from msnb.onnx.model_reader import numpy_dtype
from msnb.onnx.operator_table import has_tensors, known, operator, tensor
from msnb.onnx.operators.cast import cast_to
from msnb.onnx.operators.convolution import conv_integer


def _beside(v: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point laid beside x: one, one per slice along the axis, or one per block."""
    if not v.ndim or v.ndim == x.ndim and block == 0:
        return v
    if block:
        v = ops.repeat_interleave(v, block, axis)
        cut = [slice(None)] * v.ndim
        cut[axis] = slice(0, x.shape[axis])
        return v[tuple(cut)]
    if v.ndim == 1:
        shape = [1] * x.ndim
        shape[axis] = v.shape[0]
        return ops.reshape(v, tuple(shape)) if x.ndim else ops.reshape(v, ())
    return v


def _dtype(value: Any) -> np.dtype[Any]:
    return np.dtype(value.dtype.numpy if isinstance(value, Tensor) else value.dtype)


@operator("QuantizeLinear")
def quantize_linear(x: Tensor, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0,
                    output_dtype: int = 0, precision: int = 0, saturate: int = 1) -> Any:  # fmt: skip
    """x / scale to the nearest, plus the zero point, within the type's range."""
    # integers of 8 bits and more are computed; smaller types and floats of 8 bits by their own casts on known values
    dtype = _dtype(zero) if zero is not None else numpy_dtype(output_dtype) if output_dtype else np.dtype(np.uint8)
    wide = x.astype("float32") if x.dtype.itemsize < 4 or not x.dtype.is_float else x
    if not has_tensors(_dtype(scale)):
        scale = known(scale).astype(np.float32)
    factor = _beside(tensor(scale).astype(wide.dtype), x, axis, block_size)
    quotient = wide / factor
    if precision and numpy_dtype(precision).itemsize == 2:
        quotient = (x.astype("float16") / factor.astype("float16")).astype(wide.dtype)
    if has_tensors(dtype):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        point = 0 if zero is None else _beside(tensor(zero).astype(wide.dtype), x, axis, block_size)
        return ops.clamp(ops.round(quotient) + point, float(low), float(high)).astype(dtype)
    offset = 0.0
    if zero is not None:
        offset = known(_beside(Tensor(known(zero).astype(np.float32)), x, axis, block_size))
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        bits = 4 if dtype.name.endswith("4") else 2
        low, high = (0, 2**bits - 1) if dtype.name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return cast_to(np.clip(np.rint(known(quotient)) + offset, low, high), dtype, True)
    return cast_to(known(quotient) + np.float32(offset), dtype, bool(saturate))


@operator("DequantizeLinear")
def dequantize_linear(x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0,
                      output_dtype: int = 0) -> Any:  # fmt: skip
    """(x - zero point) scale."""
    result = numpy_dtype(output_dtype) if output_dtype else _dtype(scale)
    values = [cast_to(v, np.dtype(np.float32), True) if v is not None else None for v in (x, scale, zero)]
    y, factor, point = (tensor(v) for v in values)
    if point is not None:
        y = y - _beside(point, y, axis, block_size)
    return cast_to(y * _beside(factor, y, axis, block_size), result, True)


@operator("QLinearMatMul")
def qlinear_matmul(a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor,
                   y_scale: Tensor, y_zero: Any) -> Any:  # fmt: skip
    """A product of quantized matrices, quantized."""
    left, right = (v.astype("float64") - z.astype("float64") for v, z in ((a, a_zero), (b, b_zero)))
    factor = a_scale.astype("float64") * b_scale.astype("float64") / y_scale.astype("float64")
    return _requantized(ops.matmul(left, right) * factor, y_zero)


def _requantized(y: Any, zero: Any) -> Any:
    dtype = _dtype(zero)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return ops.clamp(ops.round(y) + tensor(zero).astype(y.dtype), float(low), float(high)).astype(dtype)


@operator("QLinearConv")
def qlinear_conv(x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor,
                 y_scale: Tensor, y_zero: Any, b: Tensor | None = None, *, auto_pad: str = "NOTSET",
                 dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
                 strides: Any = None) -> Any:  # fmt: skip
    """A convolution of quantized values, quantized."""
    sums = conv_integer(x, w, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads,
                        strides=strides)  # fmt: skip
    beside = (-1, *(1,) * (x.ndim - 2))
    if b is not None:
        sums = sums + ops.reshape(b, beside)
    factor = x_scale.astype("float64") * w_scale.astype("float64") / y_scale.astype("float64")
    return _requantized(sums.astype("float64") * (ops.reshape(factor, beside) if factor.ndim else factor), y_zero)
