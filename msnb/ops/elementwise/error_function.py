"""The error function, and its inverse, in plain array arithmetic, to about one ulp of float64.

Three intervals of |x|, a rational approximation on each (W. J. Cody, "Rational Chebyshev approximations for the error
function", Math. Comp. 23, 1969):

    0 .. 0.46875    erf(x)  = x R(x^2)
    0.46875 .. 4    erfc(x) = exp(-x^2) R(x)
    4 ..            erfc(x) = exp(-x^2) / x (1/sqrt(pi) + R(1/x^2) / x^2)

exp(-x^2) loses digits when x^2 is rounded, so x is split: x = h + l with h a multiple of 1/16, whose square is exact,
and exp(-x^2) = exp(-h^2) exp(-l (x + h)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_NEAR_TOP = (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
             3.20937758913846947e3)  # fmt: skip
_NEAR_LOW = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MID_TOP = (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
            2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
            1.23033935479799725e3)  # fmt: skip
_MID_LOW = (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
            3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3)  # fmt: skip
_FAR_TOP = (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
            1.60837851487422766e-2, 6.58749161529837803e-4)  # fmt: skip
_FAR_LOW = (1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2,
            2.33520497626869185e-3)  # fmt: skip
_ONE_BY_ROOT_PI = float(1 / np.sqrt(np.pi))
_NEAR, _FAR, _GONE = 0.46875, 4.0, 27.3


def _horner(coefficients: Sequence[float], x: Any) -> Any:
    total = coefficients[0] * x + coefficients[1]
    for c in coefficients[2:]:
        total *= x
        total += c
    return total


def _ratio(top: Sequence[float], low: Sequence[float], x: Any) -> Any:
    return _horner(top, x) / _horner(low, x)


def _tail(xp: Any, a: Any) -> Any:
    """erfc(a) for a >= 0.46875; the operands of the interval not meant are clamped to keep them finite."""
    a = xp.minimum(a, _GONE)
    found = _ratio(_MID_TOP, _MID_LOW, xp.minimum(a, _FAR))
    if xp is not np or not a.max(initial=0.0) <= _FAR:
        far_a = xp.maximum(a, _FAR)
        z = 1 / (far_a * far_a)
        far = (_ONE_BY_ROOT_PI - z * _ratio(_FAR_TOP, _FAR_LOW, z)) / far_a
        found = xp.where(a <= _FAR, found, far)
    high = xp.floor(a * 16) / 16
    return xp.exp(-high * high) * xp.exp(-(a - high) * (a + high)) * found


def _near(x: Any) -> Any:
    return x * _ratio(_NEAR_TOP, _NEAR_LOW, x * x)


def erf_body(xp: Any, x: Any) -> Any:
    """erf of a float array, computed in float64."""
    x = x.astype(np.float64)
    a = xp.abs(x)
    return xp.where(a <= _NEAR, _near(xp.clip(x, -_NEAR, _NEAR)), xp.copysign(1 - _tail(xp, xp.maximum(a, _NEAR)), x))


def erfc_body(xp: Any, x: Any) -> Any:
    """erfc of a float array, computed in float64."""
    x = x.astype(np.float64)
    a = xp.abs(x)
    tail = _tail(xp, xp.maximum(a, _NEAR))
    return xp.where(a <= _NEAR, 1 - _near(xp.clip(x, -_NEAR, _NEAR)), xp.where(x < 0, 2 - tail, tail))


# erfinv: a first guess to single precision (M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2011)
_GUESS_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
               -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_GUESS_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
              0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


def erfinv_body(xp: Any, x: Any) -> Any:
    """The inverse of erf: a guess for |x|, then two steps of Halley's method; near 1 by erfc, which keeps digits."""
    x = x.astype(np.float64)
    a = xp.abs(x)
    w = xp.minimum(-xp.log((1 - a) * (1 + a)), 40.0)
    y = a * xp.where(w < 5, _horner(_GUESS_NEAR, w - 2.5), _horner(_GUESS_FAR, xp.sqrt(xp.maximum(w, 5.0)) - 3))
    for _ in range(2):
        apart = xp.where(a < 0.5, erf_body(xp, y) - a, (1 - a) - erfc_body(xp, y))
        miss = apart * xp.exp(y * y) * (0.5 / _ONE_BY_ROOT_PI)
        y = y - miss / (1 + y * miss)
    return xp.copysign(xp.where(a == 1, np.inf, xp.where(a > 1, np.nan, y)), x)
