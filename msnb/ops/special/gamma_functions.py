"""The logarithm of the gamma function, its derivatives, and its incomplete integrals, in plain array arithmetic.

    lgamma      Stirling's series after eight steps of the recurrence; the reflection formula below 1/2
    digamma     the series of its derivative in the same way
    zeta        Hurwitz's sum: terms until the argument is large, then Euler and Maclaurin's remainder
    igamma      the power series where x < a + 1, the continued fraction of the upper integral elsewhere
    betainc     the continued fraction of the incomplete beta integral, or that of the rest from the other end

Everything is computed in float64 and rounded once.

Source: Abramowitz and Stegun, chapters 6 and 23; Lentz's method for the fraction: Press et al., Numerical Recipes, 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, GradientError
from msnb.core import dtypes
from msnb.ops.definition import Example, InvalidExample, Op, as_tensor, define, elementwise, example_inputs
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.comparison import where
from msnb.ops.elementwise.factory import unary
from msnb.ops.elementwise.transcendental import exp, log

__all__ = ["betainc", "digamma", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma", "zeta"]

FAMILY = "special"

# B(2k) / (2k (2k - 1)), the coefficients of Stirling's series
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
# B(2k) / (2k)
_HARMONIC = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# (2k)! / B(2k)
_MACLAURIN = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10,
              -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15)  # fmt: skip
_STEPS, _TERMS, _TURNS, _LEAST = 8, 4096, 1000, 1e-300
_HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))

_COMPLEX = InvalidExample((example_inputs.COMPLEX,), {}, "does not take", DTypeError)


def special(name: str, body: Callable[..., Any], doc: str, grad: Any, *, x: Any = example_inputs.POSITIVE) -> Op:
    """A record of one real operand that no scalar expression says; integers are computed as float32."""
    return define(
        name, "x", infer=elementwise(name, floating=True, kinds="bif"), body=body, doc=doc, grad=grad,
        axes="... -> ...", traits=("pure", "floating"), promotes=True, wrong=(_COMPLEX,), family=FAMILY,
        examples=(Example((x,)), Example((x[0, 1].copy(),)), Example((x[:0],))),
    )  # fmt: skip


def _series(coefficients: Any, z: Any) -> Any:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * z + c
    return total


def _lgamma_up(xp: Any, x: Any) -> Any:
    """For x >= 1/2."""
    product = x
    for k in range(1, _STEPS):
        product = product * (x + k)
    small = x < _STEPS
    high = xp.where(small, x + _STEPS, x)
    tail = _series(_STIRLING, 1 / (high * high)) / high
    found = (high - 0.5) * xp.log(high) - high + _HALF_LOG_TWO_PI + tail
    found = found - xp.where(small, xp.log(xp.where(small, product, 1.0)), 0.0)
    return xp.where(xp.isposinf(x), np.inf, found)


def lgamma_body(xp: Any, x: Any) -> Any:
    """log |gamma(x)| of a float array, computed in float64."""
    x = x.astype(np.float64)
    low = x < 0.5
    up = _lgamma_up(xp, xp.where(low, 1 - x, x))
    finite = xp.where(xp.isinf(x), 0.25, x)
    sine = xp.abs(xp.sin(np.pi * (finite - xp.round(finite))))
    down = np.log(np.pi) - xp.log(xp.where(low, sine, 1.0)) - up
    up = xp.where((x == 1) | (x == 2), 0.0, up)
    return xp.where(xp.isneginf(x), np.inf, xp.where(low, down, up))


def _digamma_body(xp: Any, x: Any) -> Any:
    x = x.astype(np.float64)
    low = x < 0.5
    at = xp.where(low, 1 - x, x)
    steps: Any = 0.0
    for k in range(_STEPS):
        steps = steps + 1 / (at + k)
    small = at < _STEPS
    high = xp.where(small, at + _STEPS, at)
    z = 1 / (high * high)
    up = xp.log(high) - 0.5 / high - z * _series(_HARMONIC, z) - xp.where(small, steps, 0.0)
    finite = xp.where(xp.isinf(x), 0.25, x)
    part = finite - xp.round(finite)
    pole = low & (part == 0)
    found = xp.where(low, up - np.pi / xp.tan(np.pi * xp.where(low & ~pole, part, 0.25)), up)
    return xp.where(pole, xp.where(x == 0, xp.copysign(np.inf, -x), np.nan), found)


def _refuse(name: str, operand: str) -> None:
    hint = f"keep it out of the gradient with ms.ops.stop_gradient({operand})."
    raise GradientError(f"{name} has no gradient by {operand}.", hint=hint)


REFUSE_DERIVATIVE: Op = define(
    "refuse_derivative", "x", attrs=("name", "operand"),
    infer=lambda x, *, name, operand: x, body=lambda xp, x, *, name, operand: xp.array(x),
    doc="The value itself; a gradient that comes to it (of any value: the rules of its readers give 0) is refused.",
    grad=lambda dout, name, operand: _refuse(name, operand), axes="... -> ...",
    examples=(Example((example_inputs.INTS,), {"name": "zeta", "operand": "x"}),),
    wrong=(InvalidExample((example_inputs.INTS,), {"name": "zeta"}, "needs the attribute 'operand'"),), family=FAMILY,
)  # fmt: skip


def _zeta_body(xp: Any, s: Any, q: Any) -> Any:
    """sum (q + k)^-s: ten terms, then the integral and Bernoulli's corrections."""
    s, q = xp.broadcast_arrays(s.astype(np.float64), q.astype(np.float64))
    at = xp.where(q > 0, q, np.nan)
    total = xp.zeros_like(at)
    for _ in range(10):
        total, at = total + at**-s, at + 1
    safe = xp.where(s == 1, 2.0, s)
    total = total + at ** (1 - safe) / (safe - 1) + 0.5 * at**-safe
    factor, power = safe, at ** (-safe - 1)
    for k, c in enumerate(_MACLAURIN):
        total = total + factor * power / c
        factor = factor * (safe + 2 * k + 1) * (safe + 2 * k + 2)
        power = power / (at * at)
    pole = (s == 1) | ((q <= 0) & (q == xp.floor(q)))
    return xp.where(xp.isnan(q) | (s < 1), np.nan, xp.where(pole, np.inf, total))


def _polygamma_body(xp: Any, x: Any, *, n: int) -> Any:
    if n == 0:
        return _digamma_body(xp, x)
    x = x.astype(np.float64)
    low, sign = x < 0.5, 1.0 if n % 2 else -1.0
    up = sign * factorial(n) * _zeta_body(xp, xp.full_like(x, n + 1.0), xp.where(low, 1 - x, x))
    finite = xp.where(xp.isinf(x), 0.25, x)
    part = finite - xp.round(finite)
    pole = low & (part == 0)
    slope = np.pi ** (n + 1) * _series(_cotangent_slope(n), 1 / xp.tan(np.pi * xp.where(low & ~pole, part, 0.25)))
    return xp.where(pole, np.inf if n % 2 else np.nan, xp.where(low, -sign * up - slope, up))


def _cotangent_slope(n: int) -> list[float]:
    """The derivative of order n of cot as a polynomial in cot: each one is -(1 + c^2) times the slope of the last."""
    of = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(of)][1:]
        of = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope])]
    return of


def _polygamma_infer(x: Any, *, n: int) -> Any:
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= 100:
        raise AttributeValueError(f"polygamma: the order n is an integer from 0 to 100, got {n!r}.")
    return elementwise("polygamma", floating=True, kinds="bif")(x)


POLYGAMMA: Op = define(
    "polygamma_one", "x", attrs=("n",), infer=_polygamma_infer, body=_polygamma_body,
    doc="The derivative of order n of digamma.", grad=lambda dout, x, n: dout * polygamma(n + 1, x),
    axes="... -> ...", traits=("pure", "floating"), promotes=True, family=FAMILY,
    examples=(Example((example_inputs.POSITIVE,), {"n": 1}), Example((example_inputs.POSITIVE,), {"n": 2}),
              Example((example_inputs.POSITIVE[:0],), {"n": 0})),
    wrong=(InvalidExample((example_inputs.POSITIVE,), {"n": -1}, "order n is an integer from 0 to 100"),
           InvalidExample((example_inputs.COMPLEX,), {"n": 1}, "does not take", DTypeError)),
)  # fmt: skip
lgamma: Op = unary(
    "lgamma", lgamma_body, "lgamma(x)", "The logarithm of the absolute value of the gamma function.",
    lambda dout, x: dout * digamma(x), floating=True, kinds="bif", x=example_inputs.POSITIVE,
)  # fmt: skip
digamma: Op = special("digamma", _digamma_body, "The derivative of lgamma.", lambda dout, x: dout * polygamma(1, x))


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order ``n`` of digamma.

    Args:
        n: an integer from 0 to 100, or a tensor of one.
        x: tensor of any shape; integers are computed as float32.

    Raises:
        ValueError: another order. DTypeError: complex numbers.

    Source: `mindspore.ops.polygamma`

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.polygamma(1, ms.Tensor([1.0])).item(), 4)
        1.6449
    """
    order = n.item() if hasattr(n, "item") else n
    return POLYGAMMA(as_tensor(x), n=order)


def _two_real(name: str, body: Any, doc: str, grad: Any, x: Any, y: Any, inputs: str) -> Op:
    return define(
        name, inputs, infer=elementwise(name, floating=True, kinds="bif"), body=body, doc=doc, grad=grad,
        axes="..., ... -> ...", traits=("pure", "floating"), promotes=True, family=FAMILY,
        examples=(Example((x, y)), Example((x.astype(np.int64), y[0])), Example((x[:0].astype(np.int64), y[:1]))),
        wrong=(InvalidExample((example_inputs.COMPLEX, example_inputs.COMPLEX), {}, "does not take", DTypeError),),
    )  # fmt: skip


ZETA: Op = _two_real(
    "hurwitz_zeta", _zeta_body, "Hurwitz's zeta function, the sum of (q + k) to the power of -x over k = 0, 1, ...",
    lambda dout, x, q: (dout * 0, dout * -x * ZETA(x + 1, q)), np.array([[2, 3, 4], [5, 2, 3]]),
    example_inputs.POSITIVE, "x, q",
)  # fmt: skip


def zeta(input: Any, other: Any) -> Any:
    """Hurwitz's zeta function, the sum of (other + k) to the power of -input over k = 0, 1, 2 ...

    Args:
        input: exponents above 1 (1: infinity, less: NaN). They have no gradient: asking for one raises.
        other: the first base, above 0 (0, -1 ...: infinity, between them: NaN); broadcasts with ``input``.

    Raises:
        GradientError: a gradient by ``input``. DTypeError: complex numbers.

    Source: `mindspore.ops.zeta`

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.zeta(ms.Tensor([2.0]), ms.Tensor([1.0])).item(), 4)
        1.6449
    """
    return ZETA(REFUSE_DERIVATIVE(as_tensor(input), name="zeta", operand="input"), as_tensor(other))


# ---- incomplete gamma functions ----


def _factor(xp: Any, a: Any, x: Any) -> Any:
    """x^a exp(-x) / gamma(a)"""
    return xp.exp(a * xp.log(xp.maximum(x, _LEAST)) - x - lgamma_body(xp, a))


def _lower_series(xp: Any, a: Any, x: Any) -> Any:
    term = total = 1 / a
    for k in range(1, _TERMS):
        term = term * x / (a + k)
        total = total + term
        if xp is np and not (term > total * 1e-17).any():  # a GPU is not asked
            break
    return total * _factor(xp, a, x)


def _upper_fraction(xp: Any, a: Any, x: Any) -> Any:
    b = x + 1 - a
    c, d = xp.full_like(b, 1 / _LEAST), 1 / b
    h = d
    for k in range(1, _TERMS):
        an = -k * (k - a)
        b = b + 2
        d = an * d + b
        c = b + an / c
        d = 1 / xp.where(d == 0, _LEAST, d)
        c = xp.where(c == 0, _LEAST, c)
        h = h * (d * c)
        if xp is np and not (xp.abs(d * c - 1) > 1e-16).any():
            break
    return h * _factor(xp, a, x)


def _both_parts(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper integral, as shares of gamma(a)."""
    a, x = xp.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    legal, nothing = (a > 0) & (x >= 0) & xp.isfinite(a), (a == 0) & (x > 0)  # without a, all lies at 0
    end = xp.isposinf(x)
    a, x = xp.where(legal, a, 1.0), xp.where(legal & ~end, x, 1.0)
    below = x < a + 1
    lower = _lower_series(xp, a, xp.where(below, x, 0.5))
    upper = _upper_fraction(xp, a, xp.where(below, a + 2, x))
    lower, upper = xp.where(below, lower, 1 - upper), xp.where(below, 1 - lower, upper)
    lower, upper = xp.where(end, 1.0, lower), xp.where(end, 0.0, upper)
    lower, upper = xp.where(nothing, 1.0, lower), xp.where(nothing, 0.0, upper)
    return xp.where(legal | nothing, lower, np.nan), xp.where(legal | nothing, upper, np.nan)


def _density(a: Any, x: Any) -> Any:
    safe = where(x > 0, x, 1.0)
    return where(x > 0, exp((a - 1) * log(safe) - safe - lgamma(a)), where(a > 1, 0.0, where(a < 1, np.inf, 1.0)))


def slope_by_parameter(part: Op, a: Any, x: Any) -> Any:
    """The derivative of a share of gamma(a) by a, float64: a difference of fourth order."""
    a, x = cast(a, dtypes.float64), cast(x, dtypes.float64)
    h = 1e-3 * a / (1 + a) ** 0.5
    near, far = (part(a + k * h, x) - part(a - k * h, x) for k in (1, 2))
    return (8 * near - far) / (12 * h)


LOWER: Op = _two_real(
    "lower_gamma", lambda xp, a, x: _both_parts(xp, a, x)[0], "The share of gamma(a) that the integral to x has.",
    lambda dout, a, x: (dout * cast(slope_by_parameter(LOWER, a, x), dout.dtype), dout * _density(a, x)),
    np.array([[2, 3, 4], [5, 2, 3]]), example_inputs.POSITIVE, "a, x",
)  # fmt: skip
UPPER: Op = _two_real(
    "upper_gamma", lambda xp, a, x: _both_parts(xp, a, x)[1], "The share of gamma(a) that the integral from x has.",
    lambda dout, a, x: (dout * cast(slope_by_parameter(UPPER, a, x), dout.dtype), dout * -_density(a, x)),
    np.array([[2, 3, 4], [5, 2, 3]]), example_inputs.POSITIVE, "a, x",
)  # fmt: skip


def igamma(input: Any, other: Any) -> Any:
    """The regularized lower incomplete gamma function P(input, other).

    Args:
        input: the parameter, above 0.
        other: the end of the integral, from 0; broadcasts with ``input``.

    Returns:
        Values from 0 to 1; NaN outside the domain.

    Raises:
        DTypeError: complex numbers.

    Source: `mindspore.ops.igamma`

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.igamma(ms.Tensor([2.0]), ms.Tensor([3.0])).item(), 4)
        0.8009
    """
    return LOWER(as_tensor(input), as_tensor(other))


def igammac(input: Any, other: Any) -> Any:
    """The regularized upper incomplete gamma function, 1 - igamma(input, other), exact where that is small.

    Source: `mindspore.ops.igammac`
    """
    return UPPER(as_tensor(input), as_tensor(other))


def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension ``p``.

    Raises:
        ValueError: p is no integer from 1.

    Source: `mindspore.ops.mvlgamma`

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.mvlgamma(ms.Tensor([3.0]), 2).item(), 4)
        1.5502
    """
    if isinstance(p, bool) or not isinstance(p, int) or p < 1:
        raise AttributeValueError(f"mvlgamma: p is an integer from 1, got {p!r}.")
    x = as_tensor(input)
    total: Any = p * (p - 1) / 4 * float(np.log(np.pi))
    for j in range(p):
        total = lgamma(x - 0.5 * j) + total
    return total


# ---- incomplete beta function ----


def _beta_fraction(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """Lentz's method for the fraction whose terms are m (b - m) x / ((a + 2 m - 1) (a + 2 m)) and its odd fellows."""
    c, d = xp.ones_like(x), 1 / _away(xp, 1 - (a + b) * x / (a + 1))
    h, done = d, xp.zeros(x.shape, dtype=bool)
    for m in range(1, _TURNS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / _away(xp, 1 + term * d), _away(xp, 1 + term / c)
            h = xp.where(done, h, h * (d * c))
        done = done | (xp.abs(d * c - 1) < 3e-16)
        if xp is np and done.all():  # a GPU is not asked
            break
    return h


def _away(xp: Any, x: Any) -> Any:
    return xp.where(xp.abs(x) < _LEAST, _LEAST, x)


def _beta_body(xp: Any, a: Any, b: Any, x: Any) -> Any:
    a, b, x = xp.broadcast_arrays(a.astype(np.float64), b.astype(np.float64), x.astype(np.float64))
    legal = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    inner = legal & (x > 0) & (x < 1)
    a, b, at = xp.where(inner, a, 1.0), xp.where(inner, b, 1.0), xp.where(inner, x, 0.5)
    turned = at > (a + 1) / (a + b + 2)
    p, q, t = xp.where(turned, b, a), xp.where(turned, a, b), xp.where(turned, 1 - at, at)
    scale = lgamma_body(xp, a + b) - lgamma_body(xp, a) - lgamma_body(xp, b)
    found = xp.exp(scale + p * xp.log(t) + q * xp.log1p(-t)) * _beta_fraction(xp, p, q, t) / p
    return xp.where(inner, xp.where(turned, 1 - found, found), xp.where(legal, x, np.nan))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp((a - 1) * log(x) + (b - 1) * log(1 - x) + lgamma(a + b) - lgamma(a) - lgamma(b))


_SHARES = np.array([[0.25, 0.5, 0.75], [0.125, 0.9, 0.0625]])
BETAINC: Op = define(
    "betainc", "a, b, x", infer=elementwise("betainc", floating=True, kinds="bif"), body=_beta_body,
    doc="The share of the beta integral from 0 to 1 that the one from 0 to x has.",
    grad=lambda dout, a, b, x: (dout * 0, dout * 0, dout * _beta_density(a, b, x)), axes="..., ..., ... -> ...",
    traits=("pure", "floating"), promotes=True, family=FAMILY,
    examples=(Example((np.array([[2, 3, 4], [5, 2, 3]]), np.array([3, 1, 2]), _SHARES)),
              Example((np.array([[2], [3]]), np.array([3, 2, 0]), np.array([0, 1, 1])))),
    wrong=(InvalidExample((example_inputs.COMPLEX,) * 3, {}, "does not take", DTypeError),),
)  # fmt: skip


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function.

    Args:
        a, b: the parameters, above 0. They have no gradient: asking for one raises.
        x: the end of the integral, from 0 to 1; broadcasts with the parameters.

    Returns:
        Values from 0 to 1; NaN outside the domain.

    Raises:
        GradientError: a gradient by ``a`` or ``b``. DTypeError: complex numbers.

    Source: `mindspore.ops.Betainc`

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.betainc(ms.Tensor([2.0]), ms.Tensor([3.0]), ms.Tensor([0.5])).item(), 4)
        0.6875
    """
    a, b = (REFUSE_DERIVATIVE(as_tensor(v), name="betainc", operand=n) for n, v in (("a", a), ("b", b)))
    return BETAINC(a, b, as_tensor(x))
