"""Exponentials, logarithms, circular and hyperbolic functions. Integers are computed as float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import Tensor
from msnb.ops.definition import Op, as_floats, example_inputs, find
from msnb.ops.elementwise.error_function import erf_body, erfc_body, erfinv_body
from msnb.ops.elementwise.factory import adjoint, binary, times_adjoint, unary

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh", "atan",
    "atan2", "atanh", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2",
    "logaddexp", "relu", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))
_TWO_BY_ROOT_PI = float(2 / np.sqrt(np.pi))


def _named(name: str, numpy_name: str, doc: str, grad: Callable[..., Any], **options: Any) -> Op:
    """A record whose body is NumPy's function ``numpy_name``."""

    def body(xp: Any, x: Any) -> Any:
        return getattr(xp, numpy_name)(x)

    traits = ("ufunc",) if name == numpy_name else ()
    return unary(name, body, f"{name}(x)", doc, grad, floating=True, traits=traits, **options)


_POS, _UNIT, _BIG = example_inputs.POSITIVE, example_inputs.UNIT, example_inputs.ABOVE_ONE

exp: Op = _named("exp", "exp", "e to the power of x.", lambda dout, out: times_adjoint(dout, out))
exp2: Op = _named("exp2", "exp2", "2 to the power of x.", lambda dout, out: times_adjoint(dout, out * LN2), kinds="bif")
expm1: Op = _named("expm1", "expm1", "exp(x) - 1, exact near 0.", lambda dout, out: times_adjoint(dout, out + 1))
log: Op = _named("log", "log", "Natural logarithm.", lambda dout, x: times_adjoint(dout, 1 / x), x=_POS)
log1p = _named("log1p", "log1p", "log(1 + x), exact near 0.", lambda dout, x: times_adjoint(dout, 1 / (x + 1)), x=_POS)
log2: Op = _named("log2", "log2", "Logarithm to base 2.", lambda dout, x: dout / (adjoint(x) * LN2), x=_POS)
log10 = _named("log10", "log10", "Logarithm to base 10.", lambda dout, x: times_adjoint(dout, 1 / (x * LN10)), x=_POS)
sqrt: Op = _named("sqrt", "sqrt", "Square root.", lambda dout, out: times_adjoint(dout, 0.5 / out), x=_POS)
rsqrt: Op = unary(
    "rsqrt", lambda xp, x: np.ones((), x.dtype)[()] / xp.sqrt(x), "1 / sqrt(x)", "Reciprocal of the square root.",
    lambda dout, x, out: times_adjoint(dout, -0.5 * out / x), floating=True, x=_POS,
    onnx="Reciprocal(Sqrt(x))",
)  # fmt: skip
sin: Op = _named("sin", "sin", "Sine of radians.", lambda dout, x: times_adjoint(dout, find("cos")(x)))
cos: Op = _named("cos", "cos", "Cosine of radians.", lambda dout, x: times_adjoint(dout, -sin(x)))
tan: Op = _named("tan", "tan", "Tangent of radians.", lambda dout, out: times_adjoint(dout, out * out + 1))
asin: Op = _named("asin", "arcsin", "Inverse sine in radians.", lambda dout, x: _over_root(dout, 1 - x * x), x=_UNIT)
acos: Op = _named("acos", "arccos", "Inverse cosine in radians.", lambda dout, x: -_over_root(dout, 1 - x * x), x=_UNIT)
atan: Op = _named("atan", "arctan", "Inverse tangent in radians.", lambda dout, x: times_adjoint(dout, 1 / (x * x + 1)))
sinh: Op = _named("sinh", "sinh", "Hyperbolic sine.", lambda dout, x: times_adjoint(dout, find("cosh")(x)))
cosh: Op = _named("cosh", "cosh", "Hyperbolic cosine.", lambda dout, x: times_adjoint(dout, sinh(x)))
tanh: Op = _named("tanh", "tanh", "Hyperbolic tangent.", lambda dout, out: times_adjoint(dout, 1 - out * out))
asinh: Op = _named("asinh", "arcsinh", "Inverse hyperbolic sine.", lambda dout, x: _over_root(dout, x * x + 1))
acosh = _named("acosh", "arccosh", "Inverse hyperbolic cosine.", lambda dout, x: _acosh_grad(dout, x), x=_BIG)
atanh: Op = _named(
    "atanh", "arctanh", "Inverse hyperbolic tangent.", lambda dout, x: times_adjoint(dout, 1 / (1 - x * x)), x=_UNIT
)
atan2: Op = binary(
    "atan2", lambda xp, x, y: xp.arctan2(x, y), "atan2(x, y)", "Angle of the point (y, x) in radians, from -pi to pi.",
    lambda dout, x, y: _atan2_grad(dout, x, y), kinds="bif", floating=True,
)  # fmt: skip


def _atan2_grad(dout: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(y, -x) / (x^2 + y^2), and 0 at the origin, which has no angle."""
    square = x * x + y * y
    scale = dout / find("where")(find("equal")(square, 0), 1, square)
    return scale * y, -scale * x


def _over_root(dout: Any, square: Any) -> Any:
    return times_adjoint(dout, rsqrt(square))


def _acosh_grad(dout: Any, x: Any) -> Any:
    """1 / sqrt(x^2 - 1); left of the imaginary axis only the product of both roots has the sign of acosh's branch."""
    return times_adjoint(dout, rsqrt(x - 1) * rsqrt(x + 1)) if x.dtype.is_complex else _over_root(dout, x * x - 1)


def _sigmoid(xp: Any, x: Any) -> Any:
    """1 / (1 + exp(-x)) without overflow: e = exp(-|x|) is at most 1, and the two halves are 1/(1+e) and e/(1+e)."""
    if x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    e = xp.exp(-xp.abs(wide))
    return xp.maximum(e, wide >= 0) / (1 + e)


sigmoid: Op = unary(
    "sigmoid", _sigmoid, "where(x >= 0, 1 / (1 + exp(-abs(x))), exp(-abs(x)) / (1 + exp(-abs(x))))",
    "1 / (1 + exp(-x)), from 0 to 1.", lambda dout, out: times_adjoint(dout, out * (1 - out)), floating=True,
    onnx="Sigmoid(x)",
)  # fmt: skip
erf: Op = unary(
    "erf", lambda xp, x: erf_body(xp, x), "erf(x)",
    "The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.",
    lambda dout, x: dout * (exp(-(x * x)) * _TWO_BY_ROOT_PI), floating=True, kinds="bif",
)  # fmt: skip
erfc: Op = unary(
    "erfc", lambda xp, x: erfc_body(xp, x), "erfc(x)", "1 - erf(x), exact where erf is close to 1.",
    lambda dout, x: dout * (exp(-(x * x)) * -_TWO_BY_ROOT_PI), floating=True, kinds="bif",
)  # fmt: skip
erfinv: Op = unary(
    "erfinv", lambda xp, x: erfinv_body(xp, x), "erfinv(x)", "The inverse of the error function, on (-1, 1).",
    lambda dout, out: dout * (exp(out * out) * (1 / _TWO_BY_ROOT_PI)), floating=True, kinds="bif", x=_UNIT,
)  # fmt: skip


def logaddexp(x: Any, y: Any) -> Tensor:
    """log(exp(x) + exp(y)) without overflow.

    Source: `mindspore.ops.logaddexp`
    """
    x, y = as_floats(x, y)
    high, same = find("maximum")(x, y), find("equal")(x, y)  # equal infinities have no difference
    gap = find("where")(same, 0, x) - find("where")(same, 0, y)
    return high + log1p(exp(-find("abs")(gap)))


def softplus_body(xp: Any, x: Any) -> Any:
    """max(x, 0) + log1p(exp(-|x|)): exp never overflows, log1p keeps the small digits."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return xp.maximum(wide, np.zeros((), wide.dtype)[()]) + xp.log1p(xp.exp(-xp.abs(wide)))


softplus_one: Op = unary(
    "softplus", softplus_body, "max(x, 0) + log1p(exp(-abs(x)))", "log(1 + exp(x)), a smooth relu.",
    lambda dout, x: dout * sigmoid(x), floating=True, kinds="bif",
    onnx="Softplus(x)",
)  # fmt: skip
relu: Op = unary(
    "relu", lambda xp, x: xp.maximum(x, np.zeros((), x.dtype)[()]), "max(x, 0)", "x where positive, else 0.",
    lambda dout, out: find("where")(out > 0, dout, 0), kinds="if",
    onnx="Relu(x)",
)  # fmt: skip

arcsin: Op = asin
arccos: Op = acos
arctan: Op = atan
arctan2: Op = atan2
arcsinh: Op = asinh
arccosh: Op = acosh
arctanh: Op = atanh
