"""MindSpore's further names of dtypes: ``mindspore.float`` is float32, ``mindspore.long`` is int64.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore/mindspore.dtype.html
"""

from __future__ import annotations

from msnb.core import dtypes
from msnb.dataset import string_tensor

bool = dtypes.bool_
byte, short, intc, intp = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
int, long = dtypes.int32, dtypes.int64
ubyte, ushort, uintc, uintp = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
half, single, float, double = dtypes.float16, dtypes.float32, dtypes.float32, dtypes.float64
cfloat, cdouble = dtypes.complex64, dtypes.complex128

string = string_tensor.string

int_type = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
uint_type = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
float_type = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16)
complex_type = (dtypes.complex64, dtypes.complex128)
signed_type = (*int_type, *float_type, *complex_type)
number_type = (*int_type, *uint_type, *float_type, *complex_type)
all_types = (dtypes.bool_, *number_type)

__all__ = [
    "all_types", "bool", "byte", "cdouble", "cfloat", "complex_type", "double", "float", "float_type", "half", "int",
    "int_type", "intc", "intp", "long", "number_type", "short", "signed_type", "single", "string", "ubyte", "uint_type",
    "uintc", "uintp", "ushort",
]  # fmt: skip
