"""NumPy's functions of elements, whose result is asked for in a dtype: ``mnp.add(a, b, dtype=mnp.int32)``.

The function computes in the dtypes of its operands, as in MindSpore, and its result is converted.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (math operations)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from msnb import ops
from msnb.core import Tensor, as_dtype, float16, float32, int32, slot
from msnb.numpy.creation import asarray as array
from msnb.ops.definition import Op, worded

__all__ = [
    "abs", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "deg2rad", "divide", "equal", "exp",
    "exp2", "expm1", "fabs", "fix", "float_power", "floor", "floor_divide", "fmod", "gcd", "greater", "greater_equal",
    "hypot", "invert", "isfinite", "isinf", "isnan", "lcm", "less", "less_equal", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "maximum",
    "minimum", "mod", "multiply", "negative", "not_equal", "positive", "power", "rad2deg", "reciprocal", "remainder",
    "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trace", "true_divide",
    "trunc",
]  # fmt: skip
Function: TypeAlias = Callable[..., Any]
_DTYPE = inspect.Parameter("dtype", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Any")


def in_dtype(found: Any, dtype: Any) -> Any:
    """A result, or several, in the dtype that was asked for."""
    if dtype is None:
        return found
    return tuple(in_dtype(part, dtype) for part in found) if isinstance(found, tuple) else found.astype(as_dtype(dtype))


def operands_of(args: Any, wide: bool = True) -> list[Any]:
    """Lists as arrays, and (``wide``) an array no narrower than the 32 bits of a number of Python's beside it."""
    made = [array(a) if isinstance(a, (list, tuple)) else a for a in args]
    of_each = [slot.engine.number_kind(a) or a.__class__ for a in made]
    kinds, tensors = set(of_each) & {int, float}, [issubclass(kind, Tensor) for kind in of_each]
    if not kinds or not any(tensors):
        return [array(a) if kind in kinds else a for a, kind in zip(made, of_each)]
    return [_widened(a, float in kinds) if strong and wide else a for a, strong in zip(made, tensors)]


def _widened(x: Tensor, by_float: bool) -> Tensor:
    if x.dtype is float16 and by_float:
        return x.astype(float32)
    narrow = x.dtype.itemsize < int32.itemsize and not (x.dtype.is_float or by_float)
    return x.astype(int32) if narrow else x


def typed(operands: int, fn: Callable[..., Any], wide: bool = True) -> Callable[..., Any]:
    """``fn`` of so many operands, with ``dtype=`` behind them; ``wide``: numbers of Python's count 32 bits."""
    called = fn if isinstance(fn, Op) else worded(fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, dtype: Any = None, **given: Any) -> Any:
        if len(args) == operands + 1:
            *args, dtype = args  # type: ignore[assignment]
        return in_dtype(called(*operands_of(args, wide), **given), dtype)

    own = [p for p in inspect.signature(fn).parameters.values() if p.kind is not p.VAR_KEYWORD]
    call.__signature__ = inspect.Signature([*own[:operands], _DTYPE])  # type: ignore[attr-defined]
    return call


def of_one(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one operand, with ``dtype=``."""
    return typed(1, fn)


def of_two(fn: Callable[..., Any], wide: bool = True) -> Callable[..., Any]:
    """A function of two operands, with ``dtype=``."""
    return typed(2, fn, wide)


abs: Function = of_one(ops.abs)
absolute: Function = of_one(ops.absolute)
arccos: Function = of_one(ops.arccos)
arccosh: Function = of_one(ops.arccosh)
arcsin: Function = of_one(ops.arcsin)
arcsinh: Function = of_one(ops.arcsinh)
arctan: Function = of_one(ops.arctan)
arctanh: Function = of_one(ops.arctanh)
ceil: Function = of_one(ops.ceil)
cos: Function = of_one(ops.cos)
cosh: Function = of_one(ops.cosh)
deg2rad: Function = of_one(ops.deg2rad)
exp: Function = of_one(ops.exp)
exp2: Function = of_one(ops.exp2)
expm1: Function = of_one(ops.expm1)
floor: Function = of_one(ops.floor)
invert: Function = of_one(ops.invert)
bitwise_not = invert
isfinite: Function = of_one(ops.isfinite)
isinf: Function = of_one(ops.isinf)
isnan: Function = of_one(ops.isnan)
log: Function = of_one(ops.log)
log10: Function = of_one(ops.log10)
log1p: Function = of_one(ops.log1p)
log2: Function = of_one(ops.log2)
logical_not: Function = of_one(ops.logical_not)
negative: Function = of_one(ops.negative)
positive: Function = of_one(ops.positive)
rad2deg: Function = of_one(ops.rad2deg)
reciprocal: Function = of_one(ops.reciprocal)
sign: Function = of_one(ops.sign)
signbit: Function = of_one(ops.signbit)
sin: Function = of_one(ops.sin)
sinh: Function = of_one(ops.sinh)
sqrt: Function = of_one(ops.sqrt)
square: Function = of_one(ops.square)
tan: Function = of_one(ops.tan)
tanh: Function = of_one(ops.tanh)
trunc: Function = of_one(ops.trunc)
rint: Function = of_one(ops.round)
fabs: Function = abs
fix: Function = trunc
add: Function = of_two(ops.add)
arctan2: Function = of_two(ops.arctan2)
bitwise_and: Function = of_two(ops.bitwise_and)
bitwise_or: Function = of_two(ops.bitwise_or)
bitwise_xor: Function = of_two(ops.bitwise_xor)
copysign: Function = of_two(ops.copysign)
divide: Function = of_two(ops.divide)
equal: Function = of_two(ops.equal)
float_power: Function = of_two(ops.float_power)
floor_divide: Function = of_two(ops.floor_divide)
fmod: Function = of_two(ops.fmod)
gcd: Function = of_two(ops.gcd)
greater: Function = of_two(ops.greater)
greater_equal: Function = of_two(ops.greater_equal)
hypot: Function = of_two(ops.hypot)
lcm: Function = of_two(ops.lcm)
less: Function = of_two(ops.less)
less_equal: Function = of_two(ops.less_equal)
logaddexp: Function = of_two(ops.logaddexp)
logaddexp2: Function = of_two(ops.logaddexp2)
logical_and: Function = of_two(ops.logical_and)
logical_or: Function = of_two(ops.logical_or)
logical_xor: Function = of_two(ops.logical_xor)
matmul: Function = of_two(ops.matmul)
maximum: Function = of_two(ops.maximum, wide=False)
minimum: Function = of_two(ops.minimum, wide=False)
mod: Function = of_two(ops.mod)
multiply: Function = of_two(ops.multiply)
not_equal: Function = of_two(ops.not_equal)
power: Function = of_two(ops.power)
remainder: Function = of_two(ops.remainder)
subtract: Function = of_two(ops.subtract)
true_divide: Function = of_two(ops.true_divide)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    return in_dtype(ops.trace(a, offset, axis1, axis2), dtype)
