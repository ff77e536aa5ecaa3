"""Arithmetic, position by position. ``msnb.ops.elementwise.factory`` makes such records."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import result_dtype
from msnb.ops.definition import Op, example_inputs, find
from msnb.ops.elementwise.factory import adjoint, binary, times_adjoint, unary

__all__ = [
    "abs", "absolute", "add", "ceil", "div", "divide", "floor", "floor_div", "floor_divide", "floor_mod", "fmod",
    "hypot", "inv", "maximum", "minimum", "mod", "mul", "multiply", "neg", "negative", "positive", "pow", "power",
    "reciprocal", "remainder", "round", "sign", "square", "sub", "subtract", "true_divide", "trunc",
]  # fmt: skip

FAMILY = "elementwise"  # of the records in this module: pictures and the JSON of graphs name it

add: Op = binary(
    "add", lambda xp, x, y: xp.add(x, y), "x + y", "Sum of two tensors.", lambda dout: (dout, dout),
    traits=("modular", "commutative", "ufunc", "linear"),
)  # fmt: skip
subtract: Op = binary(
    "subtract", lambda xp, x, y: xp.subtract(x, y), "x - y", "Difference of two tensors.", lambda dout: (dout, -dout),
    kinds="ifc", traits=("modular", "ufunc", "linear"),
)  # fmt: skip
multiply: Op = binary(
    "multiply", lambda xp, x, y: xp.multiply(x, y), "x * y", "Product of two tensors.",
    lambda dout, x, y: (times_adjoint(dout, y), times_adjoint(dout, x)), traits=("modular", "commutative", "ufunc"),
)  # fmt: skip
divide: Op = binary(
    "divide", lambda xp, x, y: xp.divide(x, y), "x / y", "True quotient; integers give float32.",
    lambda dout, y, out: (dout / adjoint(y), -dout * adjoint(out) / adjoint(y)),
    floating=True, traits=("ufunc",),
)  # fmt: skip


floor_divide: Op = binary(
    "floor_divide", lambda xp, x, y: xp.floor_divide(x, y), "x // y", "Quotient rounded towards minus infinity.",
    no_grad="piecewise constant: the derivative is zero wherever it exists",
    kinds="if", traits=("ufunc",),
)  # fmt: skip
remainder: Op = binary(
    "remainder", lambda xp, x, y: xp.remainder(x, y), "x % y",
    "Remainder of floor division; it has the sign of the divisor, as Python's %.",
    lambda dout, x, y: (dout, -dout * find("floor")(divide(x, y))),
    kinds="if", traits=("ufunc",),
)  # fmt: skip
fmod: Op = binary(
    "fmod", lambda xp, x, y: xp.fmod(x, y), "fmod(x, y)", "Remainder with the sign of the dividend, as C's fmod.",
    lambda dout, x, y: (dout, -dout * find("trunc")(divide(x, y))),
    kinds="if", traits=("ufunc",),
)  # fmt: skip


def is_product(dtype: Any, y: Any) -> bool:
    """Whether a power is x * x or x * x * x: libraries take logarithms, of negative numbers one by one."""
    number = type(y) in (int, float) or (type(y) is np.ndarray and y.ndim == 0)  # of a GPU nothing is read
    return number and y in (2, 3) and dtype.name in ("float32", "float64")


def _power(xp: Any, x: Any, y: Any) -> Any:
    """Integers to a negative power are what is left of the true value: 1 and -1 stay, the rest is 0."""
    if x.dtype.kind != "i":
        return xp.power(x, y) if not is_product(x.dtype, y) else x * x if y == 2 else x * x * x
    negative_power = xp.where(x == 1, 1, xp.where(x == -1, 1 - 2 * (y & 1), 0))
    return xp.where(y < 0, negative_power, xp.power(x, xp.maximum(y, 0)))


def _power_grad(dout: Any, x: Any, y: Any, out: Any, types: Any) -> tuple[Any, Any]:
    """d/dx = y x^(y-1), with 0 where y is 0; d/dy = x^y log x, with 0 where x is 0 (and y >= 0)."""
    where = find("where")
    slope = y * power(x, where(find("equal")(y, 0), 1, y) - 1)
    dx = times_adjoint(dout, slope)
    if types[1].weak or not types[1].dtype.differentiable:
        return dx, None
    safe = where(find("equal")(x, 0), 1, x)
    if out.dtype.is_complex:  # the logarithm of a negative number is complex, too
        safe = find("cast")(safe, dtype=out.dtype)
    return dx, times_adjoint(dout, where(find("equal")(x, 0), 0, out * find("log")(safe)))


power: Op = binary(
    "power", _power, "pow(x, y)", "x to the power of y; integers to a negative power are truncated.", _power_grad,
    x=example_inputs.POSITIVE, kinds="ifc",
)  # fmt: skip
maximum: Op = binary(
    "maximum", lambda xp, x, y: xp.maximum(x, y), "max(x, y)", "The larger of two; NaN wins. Ties share the gradient.",
    lambda dout, x, y: _share(dout, find("greater")(x, y), find("less")(x, y), find("equal")(x, y)),
    kinds="bif", traits=("commutative", "ufunc"),
)  # fmt: skip
minimum: Op = binary(
    "minimum", lambda xp, x, y: xp.minimum(x, y), "min(x, y)", "The smaller of two; NaN wins. Ties share the gradient.",
    lambda dout, x, y: _share(dout, find("less")(x, y), find("greater")(x, y), find("equal")(x, y)),
    kinds="bif", traits=("commutative", "ufunc"),
)  # fmt: skip


clamp_min: Op = binary(
    "clamp_min", lambda xp, x, y: xp.maximum(x, y), "max(x, y)",
    "x, or the bound y where that is larger; NaN wins. On the bound the gradient is that of x.",
    lambda dout, x, y: _held(dout, find("greater_equal")(x, y), find("less")(x, y)),
    kinds="bif", traits=("ufunc",),
)  # fmt: skip
clamp_max: Op = binary(
    "clamp_max", lambda xp, x, y: xp.minimum(x, y), "min(x, y)",
    "x, or the bound y where that is smaller; NaN wins. On the bound the gradient is that of x.",
    lambda dout, x, y: _held(dout, find("less_equal")(x, y), find("greater")(x, y)),
    kinds="bif", traits=("ufunc",),
)  # fmt: skip


def _share(dout: Any, first: Any, second: Any, tie: Any) -> tuple[Any, Any]:
    """All to the winner, half to each at a tie, all to both where one is NaN, and so is neither larger nor equal."""
    where = find("where")
    both = where(tie, dout * 0.5, dout)
    return where(second, 0, both), where(first, 0, both)


def _held(dout: Any, free: Any, bound: Any) -> tuple[Any, Any]:
    """All to x where it is free or on the bound, all to the bound where that holds it; nothing at NaN."""
    where = find("where")
    return where(free, dout, 0), where(bound, dout, 0)


negative: Op = unary(
    "negative", lambda xp, x: xp.negative(x), "-x", "The negated value.", lambda dout: -dout,
    kinds="ifc", traits=("ufunc", "linear"),
)  # fmt: skip
positive: Op = unary(
    "positive", lambda xp, x: xp.positive(x), "x", "The value itself.", lambda dout: dout,
    kinds="ifc", traits=("linear",),
)  # fmt: skip


def _abs_grad(dout: Any, x: Any, out: Any) -> Any:
    if not x.dtype.is_complex:
        return dout * sign(x)
    where = find("where")
    return where(find("equal")(out, 0), 0, dout * x / where(find("equal")(out, 0), 1, out))


abs: Op = unary(
    "abs", lambda xp, x: xp.absolute(x), "abs(x)", "Absolute value (modulus of complex numbers).", _abs_grad,
    infer=lambda x: x.with_dtype(result_dtype((x,)).real),
)  # fmt: skip


sign: Op = unary(
    "sign", lambda xp, x: x if x.dtype.kind == "b" else xp.sign(x), "sign(x)", "-1, 0 or 1 by the sign; NaN stays NaN.",
    no_grad="piecewise constant: the derivative is zero wherever it exists", kinds="bif",
)  # fmt: skip
square: Op = unary(
    "square", lambda xp, x: xp.square(x), "x * x", "x times x.", lambda dout, x: times_adjoint(dout, x * 2),
    kinds="ifc", traits=("ufunc",),
)  # fmt: skip
reciprocal: Op = unary(
    "reciprocal", lambda xp, x: xp.divide(np.ones((), x.dtype)[()], x), "1 / x", "1 / x; integers give float32.",
    lambda dout, out: times_adjoint(dout, -out * out), floating=True,
    onnx="Reciprocal(x)",
)  # fmt: skip

_CONSTANT = "piecewise constant: the derivative is zero wherever it exists"


def _rounding(name: str, scalar: str, doc: str) -> Any:
    def body(xp: Any, x: Any) -> Any:
        return x if x.dtype.kind in "biu" else getattr(xp, "rint" if name == "round" else name)(x)

    return unary(name, body, scalar, doc, no_grad=_CONSTANT, kinds="bif")


floor: Any = _rounding("floor", "floor(x)", "The next integer below.")
ceil: Any = _rounding("ceil", "ceil(x)", "The next integer above.")
round: Any = _rounding("round", "round(x)", "The nearest integer, halves to the even one.")
trunc: Any = _rounding("trunc", "trunc(x)", "The fraction cut off.")
hypot: Op = binary(
    "hypot", lambda xp, x, y: xp.hypot(x, y), "hypot(x, y)", "sqrt(x*x + y*y) without overflow.",
    lambda dout, x, y, out: (dout * x / out, dout * y / out), kinds="bif", floating=True,
    traits=("commutative", "ufunc"),
)  # fmt: skip

sub: Op = subtract
mul: Op = multiply
div: Op = divide
true_divide: Op = divide
neg: Op = negative
mod: Op = remainder
absolute: Op = abs
floor_div: Op = floor_divide
floor_mod: Op = remainder
pow: Op = power


# names of MindSpore and PyTorch for the same
inv = reciprocal
