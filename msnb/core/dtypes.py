"""Element types and the rules by which two of them meet.

Categories are ordered: bool < int < float < complex. Within a category the wider one wins (int8 with uint8 gives
int16, float16 with bfloat16 gives float32); across categories the higher category wins *as it is*: int64 with float16
is float16. A Python scalar is weak: it never widens a tensor of its own category and jumps category to a default
(int32 + 1.5 is float32, bool + 1 is int64). 0-d tensors are tensors and take part as such.
Source: MindSpore's type promotion, https://www.mindspore.cn (API, implicit conversion), measured on 2.10.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from msnb.base import DTypeError

BOOL, INT, FLOAT, COMPLEX = range(4)


class DType:
    """An element type.

    Attributes:
        name: MindSpore's name (``"float32"``).
        short: the name in IR text (``"f32"``).
        numpy: the ``numpy.dtype`` that stores it.
        category: BOOL, INT, FLOAT or COMPLEX.
    """

    __slots__ = ("category", "itemsize", "name", "numpy", "short", "signed")

    def __init__(self, name: str, short: str, numpy: Any, category: int, signed: bool = True) -> None:
        self.name: str = name
        self.short: str = short
        self.category: int = category
        self.signed: bool = signed
        self.numpy: np.dtype[Any] = np.dtype(numpy)
        self.itemsize: int = self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        """True for float16, bfloat16, float32, float64."""
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        """True for complex64 and complex128."""
        return self.category == COMPLEX

    @property
    def is_int(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.category == INT

    @property
    def differentiable(self) -> bool:
        """True where gradients exist: floats and complex numbers."""
        return self.category >= FLOAT

    @property
    def real(self) -> DType:
        """The float dtype of the parts of a complex one; every other dtype is its own."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def holds(self, number: int) -> bool:
        """True where ``number`` lies in the range of this integer dtype."""
        end = 1 << 8 * self.itemsize - self.signed
        return (-end if self.signed else 0) <= number < end

    def __repr__(self) -> str:
        return self.name.capitalize().replace("Uint", "UInt").replace("Bfloat", "BFloat")

    def __reduce__(self) -> tuple[Any, ...]:
        return (as_dtype, (self.name,))


bool_: DType = DType("bool", "bool", np.bool_, BOOL)
int8: DType = DType("int8", "i8", np.int8, INT)
int16: DType = DType("int16", "i16", np.int16, INT)
int32: DType = DType("int32", "i32", np.int32, INT)
int64: DType = DType("int64", "i64", np.int64, INT)
uint8: DType = DType("uint8", "u8", np.uint8, INT, signed=False)
uint16: DType = DType("uint16", "u16", np.uint16, INT, signed=False)
uint32: DType = DType("uint32", "u32", np.uint32, INT, signed=False)
uint64: DType = DType("uint64", "u64", np.uint64, INT, signed=False)
float16: DType = DType("float16", "f16", np.float16, FLOAT)
bfloat16: DType = DType("bfloat16", "bf16", ml_dtypes.bfloat16, FLOAT)
float32: DType = DType("float32", "f32", np.float32, FLOAT)
float64: DType = DType("float64", "f64", np.float64, FLOAT)
complex64: DType = DType("complex64", "c64", np.complex64, COMPLEX)
complex128: DType = DType("complex128", "c128", np.complex128, COMPLEX)

ALL = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
FLOATS = (float16, bfloat16, float32, float64)

_BY_NAME = {t.name: t for t in ALL} | {t.short: t for t in ALL} | {"bool_": bool_, "half": float16, "float": float32}
_BY_NAME |= {"int": int64, "double": float64, "complex": complex64}
_BY_NUMPY = {t.numpy: t for t in ALL}
_BY_PYTHON: dict[Any, DType] = {bool: bool_, int: int64, float: float32, complex: complex64}


def as_dtype(spec: Any) -> DType:
    """The DType that ``spec`` names: a DType, a name, a Python type, a numpy dtype or scalar type.

    Raises:
        TypeError: nothing here is called that.

    Examples:
        >>> as_dtype("float32") is float32
        True
    """
    if isinstance(spec, DType):
        return spec
    table: dict[Any, DType] = _BY_PYTHON if isinstance(spec, type) else _BY_NAME
    found = table.get(spec.lower() if isinstance(spec, str) else spec) if isinstance(spec, (str, type)) else None
    if found is None:
        try:
            found = _BY_NUMPY.get(np.dtype(spec))
        except TypeError:
            found = None
    if found is None:
        raise DTypeError(
            f"{spec!r} is not a dtype of msnb; legal: {', '.join(t.name for t in ALL)}.",
            hint="a shape goes to ops.zeros((2, 3)), ops.ones, ops.randn ..." if isinstance(spec, (int, tuple)) else "",
        )
    return found


def dtype_to_nptype(type_: DType) -> type:
    """The NumPy scalar type of a dtype: ``np.float32`` for ``ms.float32``."""
    return as_dtype(type_).numpy.type


def dtype_to_pytype(type_: DType) -> type:
    """The Python type of a dtype's elements: ``float`` for ``ms.float32``."""
    return (bool, int, float, complex)[as_dtype(type_).category]


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype of a Python or NumPy type: same as ``as_dtype``."""
    return as_dtype(obj)


def of_numpy(dtype: np.dtype[Any]) -> DType | None:
    """The DType stored as this numpy dtype (native byte order), or None."""
    return _BY_NUMPY.get(dtype)


def _promote_ints(a: DType, b: DType) -> DType:
    if a.signed == b.signed:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.signed else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: int64, 8: float32}[unsigned.itemsize]


def _promote_floats(a: DType, b: DType) -> DType:
    if a.itemsize == b.itemsize:
        return a if a is b else float32
    return a if a.itemsize > b.itemsize else b


def promote(a: DType, b: DType) -> DType:
    """The dtype of a result of two tensors with dtypes ``a`` and ``b``."""
    if a is b:
        return a
    if a.category == b.category:
        if a.category == INT:
            return _promote_ints(a, b)
        return _promote_floats(a, b) if a.category == FLOAT else complex128
    low, high = (a, b) if a.category < b.category else (b, a)
    return complex128 if high is complex64 and low is float64 else high


def guard(eps: float, dtype: DType) -> float:
    """``eps``, which keeps a divisor or a logarithm from zero; where float16 rounds it to nothing, the smallest number
    whose inverse float16 holds."""
    return 2.0**-14 if dtype is float16 and 0 < eps < 2.0**-24 else eps


def promote_weak(strong: DType, weak_category: int) -> DType:
    """The dtype of a result of a tensor and a Python scalar of the given category."""
    if weak_category <= strong.category:
        return strong
    if weak_category == COMPLEX:
        return complex128 if strong is float64 else complex64
    return float32 if weak_category == FLOAT else int64
