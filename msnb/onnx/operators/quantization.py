"""Casts, with 8-, 4- and 2-bit types as storage and texts as numbers; constants; quantized operators.

Tensors of 8 and 16 bits are computed; smaller types are known when the program is captured, and stored.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from msnb import ops
from msnb.core import Tensor
from msnb.onnx.model_reader import numpy_dtype
from msnb.onnx.operator_table import Known, has_tensors, known, operator, tensor
from msnb.onnx.operators.convolutions import conv_integer


@operator("Constant")
def constant(*, value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
             value_ints: Any = None, value_string: Any = None, value_strings: Any = None,
             sparse_value: Any = None) -> Any:  # fmt: skip
    """The array that an attribute gives."""
    for given in (value, sparse_value):
        if given is not None:
            return given
    for given, dtype in ((value_float, "f4"), (value_floats, "f4"), (value_int, "i8"), (value_ints, "i8")):
        if given is not None:
            return np.asarray(given, dtype)
    return np.asarray(value_string if value_string is not None else value_strings, object)


@operator("Identity")
def identity(x: Any) -> Any:
    """The value itself."""
    return x


@operator("Dropout")
def old_dropout(x: Tensor, *, is_test: int = 0, ratio: float = 0.5, consumed_inputs: Any = None,
                results: int = 1) -> Any:  # fmt: skip
    """Before version 12 a model was for inference: nothing is dropped."""
    return (x, ops.ones_like(x).astype("bool"))[:results]


@operator("Cast")
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """x in another type."""
    return cast_to(x, numpy_dtype(to), bool(saturate), round_mode)


@operator("CastLike")
def cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """x in the type of another value."""
    dtype = like.dtype.numpy if isinstance(like, Tensor) else like.dtype
    return cast_to(x, np.dtype(dtype), bool(saturate), round_mode)


def cast_to(x: Any, dtype: np.dtype[Any], saturate: bool, round_mode: str = "up") -> Any:
    """By the engine between types that compute; on known values where one is a storage type or a text."""
    # texts, saturating floats, powers of two and packed integers differ in what lies outside them
    source = x.dtype.numpy if isinstance(x, Tensor) else x.dtype
    if has_tensors(source) and has_tensors(dtype):
        return ops.cast(tensor(x), dtype)
    array = known(x)
    if dtype.kind in "OUS":
        return _texts(array)
    if source.kind in "OUS":
        return _parsed(array, dtype)
    if dtype == np.dtype(ml_dtypes.float8_e8m0fnu):
        return _powers_of_two(array, saturate, round_mode)
    if dtype.name.startswith("float8"):
        return _small_floats(array, dtype, saturate)
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        return _low_bits(array, dtype)
    if dtype.name.startswith("float4"):
        return array.astype(np.float32).astype(dtype)
    if source.name.startswith(("int4", "uint4", "int2", "uint2")):
        return array.astype(np.int32).astype(dtype)
    return array.astype(np.float32).astype(dtype)


def _texts(array: Any) -> Any:
    wide = array.astype(np.float32) if array.dtype.kind == "V" else array
    return np.array([str(v) for v in wide.reshape(-1)], object).reshape(array.shape)


def _parsed(array: Any, dtype: Any) -> Any:
    numbers = [float(v) for v in array.reshape(-1)]
    return np.array(numbers, np.float64).reshape(array.shape).astype(dtype)


def _small_floats(array: Any, dtype: Any, saturate: bool) -> Any:
    """Rounded to nearest even; too large values are the largest (saturating), else infinite or not a number."""
    wide = array.astype(np.float32)
    found = wide.astype(dtype)
    if not saturate:
        return found
    limits: Any = ml_dtypes.finfo
    top = np.float32(limits(dtype).max)
    infinite = np.isinf(wide) if dtype.type is ml_dtypes.float8_e5m2 else np.zeros(wide.shape, bool)
    bound = np.where(infinite, np.copysign(top, wide), np.clip(wide, -top, top)).astype(dtype)
    return np.where(np.isnan(wide), found, bound).astype(dtype)


def _powers_of_two(array: Any, saturate: bool, round_mode: str) -> Any:
    """The scale type of 8 exponent bits: up, down or to the nearest power of two."""
    wide = np.abs(array.astype(np.float32))
    with np.errstate(all="ignore"):
        exponent = np.log2(wide.astype(np.float64))
    whole = np.floor(exponent)
    if round_mode == "up":
        whole = np.ceil(exponent)
    elif round_mode == "nearest":
        whole = whole + (wide >= np.exp2(whole) * 1.5)
    low, high = -127.0, 127.0
    code = np.where(np.isnan(whole), np.nan, np.clip(whole, low, high if saturate else 128.0))
    bad = np.isnan(wide) | (np.isinf(wide) if not saturate else np.zeros(wide.shape, bool)) | (code > high)
    raw = np.where(bad, 255, np.nan_to_num(code, nan=0.0) + 127).astype(np.uint8)
    return raw.view(ml_dtypes.float8_e8m0fnu)


def _low_bits(array: Any, dtype: Any) -> Any:
    """Integers of 4 or 2 bits: the low bits of the whole part."""
    bits = 4 if dtype.name.endswith("4") else 2
    whole = array.astype(np.float32).astype(np.int64) if array.dtype.kind not in "iub" else array.astype(np.int64)
    low = whole & ((1 << bits) - 1)
    if dtype.name.startswith("int"):
        low = np.where(low >= 1 << (bits - 1), low - (1 << bits), low)
    return low.astype(np.int8).astype(dtype)


@operator("BitCast")
def bit_cast(x: Known, *, to: int) -> Any:
    """The same bits, read as another type."""
    return np.asarray(x, order="C").view(numpy_dtype(to)).reshape(x.shape)


# ---- quantized operators ----


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
