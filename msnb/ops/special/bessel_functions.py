"""Bessel functions of order 0 and 1 in plain array arithmetic, in float64, rounded once.

    small x     the trapezoid rule over a period (I, J: converges geometrically), power series with a logarithm (K, Y)
    middle x    integrals over cosh and sinh by the trapezoid rule and by Gauss and Legendre's (K, Y)
    large x     the asymptotic series, whose smallest term is below exp(-2 x)

``e`` stands for a factor exp(-|x|) (I) or exp(x) (K) that keeps large arguments finite.

Source: Abramowitz and Stegun, chapter 9 (9.1.18, 9.1.22, 9.2.5, 9.6.16, 9.6.24, 9.7.1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.ops.definition import Op, example_inputs
from msnb.ops.elementwise.arithmetic import sign
from msnb.ops.elementwise.comparison import where
from msnb.ops.special.gamma_functions import special

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
    "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "i0",
]  # fmt: skip

FAMILY = "special"

_FAR, _NODES, _EULER = 30.0, 96, 0.57721566490153286061
_STEP = 1 / 8


@functools.cache
def _gauss() -> tuple[Any, Any]:
    """Nodes and weights on (-1, 1); made when first needed: importing polynomials takes time."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return nodes, weights


def _asymptotic(order: int, x: Any, signs: tuple[int, ...]) -> tuple[Any, Any]:
    """The sums of the even and of the odd terms of Hankel's series, signs repeated in turn."""
    sums: list[Any] = [0.0, 0.0]
    term: Any = 1.0
    for k in range(24):
        sums[k % 2] = sums[k % 2] + signs[k % len(signs)] * term
        term = term * (4 * order * order - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
    return sums[0], sums[1]


def _scaled_i(xp: Any, order: int, x: Any) -> Any:
    """exp(-|x|) I(x)"""
    a = xp.abs(x.astype(np.float64))
    near, total = xp.minimum(a, _FAR), 0.0
    for theta in np.arange(_NODES) * (2 * np.pi / _NODES):
        total = total + float(np.cos(order * theta)) * xp.exp(near * (float(np.cos(theta)) - 1))
    far = xp.maximum(a, _FAR)
    even, odd = _asymptotic(order, far, (1, -1))
    found = xp.where(a < _FAR, total / _NODES, (even + odd) / xp.sqrt(2 * np.pi * far))
    return xp.where(xp.isinf(a), 0.0, found) if order == 0 else xp.copysign(xp.where(xp.isinf(a), 0.0, found), x)


def _plain_i(xp: Any, order: int, x: Any) -> Any:
    x = x.astype(np.float64)
    found = _scaled_i(xp, order, x) * xp.exp(xp.abs(x))
    return xp.where(xp.isinf(x), x if order else xp.abs(x), found)


def _plain_j(xp: Any, order: int, x: Any) -> Any:
    x = x.astype(np.float64)
    a = xp.abs(x)
    near, total = xp.minimum(a, _FAR), 0.0
    for theta in np.arange(_NODES) * (2 * np.pi / _NODES):
        total = total + xp.cos(near * float(np.sin(theta)) - order * float(theta))
    far = xp.where(xp.isinf(a), _FAR, xp.maximum(a, _FAR))
    p, q = _asymptotic(order, far, (1, 1, -1, -1))
    angle = far - (order / 2 + 0.25) * np.pi
    wave = xp.sqrt(2 / (np.pi * far)) * (p * xp.cos(angle) - q * xp.sin(angle))
    found = xp.where(a < _FAR, total / _NODES, xp.where(xp.isinf(a), 0.0, wave))
    return found * xp.where(x < 0, -1.0, 1.0) if order else found


def _scaled_k(xp: Any, order: int, x: Any) -> Any:
    """exp(x) K(x)"""
    x = x.astype(np.float64)
    near = xp.clip(x, 1e-300, 1.0)
    series = _k_series(xp, order, near) * xp.exp(near)
    middle, total = xp.clip(x, 1.0, _FAR), 0.0
    for k in range(40):
        t = k * _STEP
        weight = (0.5 if k == 0 else 1.0) * _STEP * float(np.cosh(order * t))
        total = total + weight * xp.exp(-middle * (float(np.cosh(t)) - 1))
    far = xp.maximum(x, _FAR)
    even, odd = _asymptotic(order, far, (1,))
    large = xp.where(xp.isinf(x), 0.0, (even + odd) * xp.sqrt(np.pi / (2 * far)))
    found = xp.where(x <= 1, series, xp.where(x < _FAR, total, large))
    return xp.where(x > 0, found, xp.where(x == 0, np.inf, np.nan))


def _k_series(xp: Any, order: int, x: Any) -> Any:
    """A&S 9.6.11 and 9.6.13 for 0 < x <= 1."""
    z, log = x * x / 4, xp.log(x / 2) + _EULER
    term: Any = x / 2 if order else xp.ones_like(x)
    total, harmonic = xp.zeros_like(x), 0.0
    for k in range(1, 14):
        # psi(k) + psi(k + 1), without Euler's constants, halved
        middle = harmonic + 0.5 / k if order else harmonic
        total = total + term * ((log - middle) if order else (middle - log))
        term = term * z / (k * (k + order))
        harmonic += 1.0 / k
    return total + 1 / x if order else total


def _plain_k(xp: Any, order: int, x: Any) -> Any:
    return _scaled_k(xp, order, x) * xp.exp(-xp.maximum(x.astype(np.float64), 0.0))


def _y_series(xp: Any, order: int, x: Any) -> Any:
    """A&S 9.1.11 and 9.1.13 for 0 < x <= 5."""
    z, log = -x * x / 4, xp.log(x / 2) + _EULER
    term: Any = x / 2 if order else xp.ones_like(x)
    total, harmonic = xp.zeros_like(x), 0.0
    for k in range(1, 34):
        middle = harmonic + 0.5 / k if order else harmonic
        total = total + term * (log - middle)
        term = term * z / (k * (k + order))
        harmonic += 1.0 / k
    return 2 / np.pi * (total - 1 / x) if order else 2 / np.pi * total


def _y_integral(xp: Any, order: int, x: Any) -> Any:
    """A&S 9.1.16 for 5 <= x <= 30: a wave over half a period, and what decays like exp(-x sinh t)."""
    wave, tail = 0.0, 0.0
    end = xp.arcsinh(40 / x)
    for node, weight in zip(*_gauss()):
        theta = float(node + 1) * np.pi / 2
        wave = wave + float(weight) * np.pi / 2 * xp.sin(x * float(np.sin(theta)) - order * theta)
        t = float(node + 1) / 2 * end
        growth = 2 * xp.sinh(t) if order else 2.0
        tail = tail + float(weight) / 2 * end * growth * xp.exp(-x * xp.sinh(t))
    return (wave - tail) / np.pi


def _plain_y(xp: Any, order: int, x: Any) -> Any:
    x = x.astype(np.float64)
    far = xp.where(xp.isinf(x), _FAR, xp.maximum(x, _FAR))
    p, q = _asymptotic(order, far, (1, 1, -1, -1))
    angle = far - (order / 2 + 0.25) * np.pi
    large = xp.sqrt(2 / (np.pi * far)) * (p * xp.sin(angle) + q * xp.cos(angle))
    small = _y_series(xp, order, xp.clip(x, 1e-300, 5.0))
    middle = _y_integral(xp, order, xp.clip(x, 5.0, _FAR))
    found = xp.where(x <= 5, small, xp.where(x < _FAR, middle, xp.where(xp.isinf(x), 0.0, large)))
    return xp.where(x > 0, found, xp.where(x == 0, -np.inf, np.nan))


def _by(f: Any, x: Any) -> Any:
    """f(x) / x where f(x) ~ x / 2 at 0."""
    return where(x == 0, 0.5, f / where(x == 0, 1.0, x))


def _bessel(name: str, body: Callable[..., Any], order: int, what: str, grad: Any) -> Op:
    x = example_inputs.SIGNED if name[7] in "ij" else example_inputs.POSITIVE
    doc = f"{what} of order {order}."
    return special(name, lambda xp, x: body(xp, order, x), doc, grad, x=x)


_I, _J = "The modified Bessel function of the first kind", "The Bessel function of the first kind"
_K, _Y = "The modified Bessel function of the second kind", "The Bessel function of the second kind"

bessel_i0: Op = _bessel("bessel_i0", _plain_i, 0, _I, lambda dout, x: dout * bessel_i1(x))
bessel_i1: Op = _bessel("bessel_i1", _plain_i, 1, _I, lambda dout, x, out: dout * (bessel_i0(x) - _by(out, x)))
bessel_i0e: Op = _bessel("bessel_i0e", _scaled_i, 0, f"exp(-|x|) times {_I[0].lower()}{_I[1:]}",
                     lambda dout, x, out: dout * (bessel_i1e(x) - sign(x) * out))  # fmt: skip
bessel_i1e: Op = _bessel("bessel_i1e", _scaled_i, 1, f"exp(-|x|) times {_I[0].lower()}{_I[1:]}",
                     lambda dout, x, out: dout * (bessel_i0e(x) - sign(x) * out - _by(out, x)))  # fmt: skip
bessel_j0: Op = _bessel("bessel_j0", _plain_j, 0, _J, lambda dout, x: -dout * bessel_j1(x))
bessel_j1: Op = _bessel("bessel_j1", _plain_j, 1, _J, lambda dout, x, out: dout * (bessel_j0(x) - _by(out, x)))
bessel_k0: Op = _bessel("bessel_k0", _plain_k, 0, _K, lambda dout, x: -dout * bessel_k1(x))
bessel_k1: Op = _bessel("bessel_k1", _plain_k, 1, _K, lambda dout, x, out: -dout * (bessel_k0(x) + out / x))
bessel_k0e: Op = _bessel("bessel_k0e", _scaled_k, 0, f"exp(x) times {_K[0].lower()}{_K[1:]}",
                     lambda dout, x, out: dout * (out - bessel_k1e(x)))  # fmt: skip
bessel_k1e: Op = _bessel("bessel_k1e", _scaled_k, 1, f"exp(x) times {_K[0].lower()}{_K[1:]}",
                     lambda dout, x, out: dout * (out - bessel_k0e(x) - out / x))  # fmt: skip
bessel_y0: Op = _bessel("bessel_y0", _plain_y, 0, _Y, lambda dout, x: -dout * bessel_y1(x))
bessel_y1: Op = _bessel("bessel_y1", _plain_y, 1, _Y, lambda dout, x, out: dout * (bessel_y0(x) - out / x))
i0 = bessel_i0
