"""Casts, with 8-, 4- and 2-bit types as storage and texts as numbers; constants and identities."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from msnb import ops
from msnb.core.tensor import Tensor
from msnb.onnx.model_reader import numpy_dtype
from msnb.onnx.operator_table import Known, has_tensors, known, operator, tensor

# of the floats of 8 bits, those that say "not a number" where a value is too large and nothing saturates
_FINITE = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz)


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
    top = np.float32(ml_dtypes.finfo(dtype).max)
    infinite = np.isinf(wide) if dtype.type is ml_dtypes.float8_e5m2 else np.zeros(wide.shape, bool)
    bound = np.clip(wide, -top, top).astype(dtype)
    return np.where(np.isnan(wide), found, np.where(infinite, np.copysign(top, wide).astype(dtype), bound)).astype(dtype)


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
    return np.ascontiguousarray(x).view(numpy_dtype(to)).reshape(x.shape)
