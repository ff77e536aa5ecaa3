"""NumPy's functions of elements, whose result is asked for in a dtype: ``mnp.add(a, b, dtype=mnp.int32)``.

The function computes in the dtypes of its operands, as in MindSpore, and its result is converted.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (math operations)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.core.dtypes import as_dtype
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.record import Op

__all__ = [
    "abs", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "deg2rad", "divide", "equal",
    "exp", "exp2", "expm1", "fabs", "fix", "float_power", "floor", "floor_divide", "fmod", "gcd", "greater",
    "greater_equal", "hypot", "invert", "isfinite", "isinf", "isnan", "lcm", "less", "less_equal", "log", "log10",
    "log1p", "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "maximum", "minimum", "mod", "multiply", "negative", "not_equal", "positive", "power", "rad2deg", "reciprocal",
    "remainder", "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trace",
    "true_divide", "trunc",
]  # fmt: skip
_DTYPE = inspect.Parameter("dtype", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Any")


def in_dtype(found: Any, dtype: Any) -> Any:
    """A result, or several, in the dtype that was asked for."""
    if dtype is None:
        return found
    return tuple(in_dtype(part, dtype) for part in found) if isinstance(found, tuple) else found.astype(as_dtype(dtype))


def typed(operands: int, fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` of so many operands, with ``dtype=`` behind them."""
    called = fn if isinstance(fn, Op) else worded(fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, dtype: Any = None, **given: Any) -> Any:
        if len(args) == operands + 1:
            *args, dtype = args  # type: ignore[assignment]
        return in_dtype(called(*args, **given), dtype)

    own = [p for p in inspect.signature(fn).parameters.values() if p.kind is not p.VAR_KEYWORD]
    call.__signature__ = inspect.Signature([*own[:operands], _DTYPE])  # type: ignore[attr-defined]
    return call


def of_one(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one operand, with ``dtype=``."""
    return typed(1, fn)


def of_two(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two operands, with ``dtype=``."""
    return typed(2, fn)


abs, absolute, arccos, arccosh, arcsin, arcsinh = map(
    of_one, (ops.abs, ops.absolute, ops.arccos, ops.arccosh, ops.arcsin, ops.arcsinh)
)
arctan, arctanh, ceil, cos, cosh, deg2rad = map(
    of_one, (ops.arctan, ops.arctanh, ops.ceil, ops.cos, ops.cosh, ops.deg2rad)
)
exp, exp2, expm1, floor, invert, isfinite = map(
    of_one, (ops.exp, ops.exp2, ops.expm1, ops.floor, ops.invert, ops.isfinite)
)
isinf, isnan, log, log10, log1p, log2 = map(of_one, (ops.isinf, ops.isnan, ops.log, ops.log10, ops.log1p, ops.log2))
logical_not, negative, positive, rad2deg, reciprocal, sign = map(
    of_one, (ops.logical_not, ops.negative, ops.positive, ops.rad2deg, ops.reciprocal, ops.sign)
)
signbit, sin, sinh, sqrt, square, tan = map(of_one, (ops.signbit, ops.sin, ops.sinh, ops.sqrt, ops.square, ops.tan))
tanh, trunc = map(of_one, (ops.tanh, ops.trunc))
rint = of_one(ops.round)
fabs, fix = abs, trunc
add, arctan2, bitwise_and, bitwise_or, bitwise_xor, copysign = map(
    of_two, (ops.add, ops.arctan2, ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor, ops.copysign)
)
divide, equal, float_power, floor_divide, fmod, gcd = map(
    of_two, (ops.divide, ops.equal, ops.float_power, ops.floor_divide, ops.fmod, ops.gcd)
)
greater, greater_equal, hypot, lcm, less, less_equal = map(
    of_two, (ops.greater, ops.greater_equal, ops.hypot, ops.lcm, ops.less, ops.less_equal)
)
logaddexp, logaddexp2, logical_and, logical_or, logical_xor, matmul = map(
    of_two, (ops.logaddexp, ops.logaddexp2, ops.logical_and, ops.logical_or, ops.logical_xor, ops.matmul)
)
maximum, minimum, mod, multiply, not_equal, power = map(
    of_two, (ops.maximum, ops.minimum, ops.mod, ops.multiply, ops.not_equal, ops.power)
)
remainder, subtract, true_divide = map(of_two, (ops.remainder, ops.subtract, ops.true_divide))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    return in_dtype(ops.trace(a, offset, axis1, axis2), dtype)
