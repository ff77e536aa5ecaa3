"""MindSpore's further names of dtypes: ``mindspore.float`` is float32, ``mindspore.long`` is int64.

Source: `mindspore.dtype`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msnb.core import dtypes
from msnb.dataset import string_tensor

if TYPE_CHECKING:
    from msnb.core.dtypes import DType
    from msnb.dataset.string_tensor import StringType

bool: DType = dtypes.bool_
byte: DType = dtypes.int8
short: DType = dtypes.int16
intc: DType = dtypes.int32
intp: DType = dtypes.int64
int: DType = dtypes.int32
long: DType = dtypes.int64
ubyte: DType = dtypes.uint8
ushort: DType = dtypes.uint16
uintc: DType = dtypes.uint32
uintp: DType = dtypes.uint64
half: DType = dtypes.float16
single: DType = dtypes.float32
float: DType = dtypes.float32
double: DType = dtypes.float64
cfloat: DType = dtypes.complex64
cdouble: DType = dtypes.complex128

string: StringType = string_tensor.string

int_type: tuple[DType, DType, DType, DType] = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
uint_type: tuple[DType, DType, DType, DType] = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
float_type: tuple[DType, DType, DType, DType] = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16)
complex_type: tuple[DType, DType] = (dtypes.complex64, dtypes.complex128)
signed_type: tuple[DType, ...] = (*int_type, *float_type, *complex_type)
number_type: tuple[DType, ...] = (*int_type, *uint_type, *float_type, *complex_type)
all_types: tuple[DType, ...] = (dtypes.bool_, *number_type)

__all__ = [
    "all_types", "bool", "byte", "cdouble", "cfloat", "complex_type", "double", "float", "float_type", "half", "int",
    "int_type", "intc", "intp", "long", "number_type", "short", "signed_type", "single", "string", "ubyte", "uint_type",
    "uintc", "uintp", "ushort",
]  # fmt: skip
