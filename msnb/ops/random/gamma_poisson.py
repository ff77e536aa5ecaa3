"""Draws from gamma and Poisson distributions, by rejection with a fixed number of rounds.

A program has no loop of unknown length for it: all rounds are drawn at once, and each element takes the first that is
accepted. A round is accepted with more than 0.9 (gamma) and 0.8 (Poisson), so that 24 rounds all fail less than once in
10^16 draws.

    gamma     d = a - 1/3, v = (1 + x / sqrt(9 d))^3; d v is accepted if log u < x^2 / 2 + d - d v + d log v;
              a < 1: a draw for a + 1 times u^(1/a)
    Poisson   below 10: how many steps of exponential length fit into the rate; from 10: transformed rejection

Sources: Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; Hoermann 1993, "The transformed
rejection method for generating Poisson random variables".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.elementwise import arithmetic, logic, stop_gradient, transcendental
from msnb.ops.indexing.gather import gather_elements
from msnb.ops.indexing.masked_select import where
from msnb.ops.random.draws import RANDOM_NORMAL, RANDOM_UNIFORM, random_key
from msnb.ops.reduction.cumulative import cumsum
from msnb.ops.reduction.functional import argmax
from msnb.ops.shape.views import broadcast_to
from msnb.ops.special.gamma_functions import lgamma

__all__ = ["gamma", "random_gamma", "random_poisson"]

_ROUNDS = 24
_STEPS = 64  # of exponential length; more than 64 within a rate below 10 happen less than once in 10^30 draws
_FEW = 10.0
_COUNTED = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def gamma(shape: Any, alpha: Any, beta: Any, seed: Any = None) -> Any:
    """Numbers of gamma distributions.

    Args:
        shape: sizes in front of those of ``alpha`` and ``beta``.
        alpha: the concentration, above 0; beta: the rate, above 0.
        seed: an int, or a key: draws of their own, the same at every call; else from the stream of ``ms.set_seed``.

    Returns:
        float32 [*shape, *shape of alpha and beta]; no gradient flows through it.

    Raises:
        ValueError: a shape with negative sizes or of other numbers than ints.

    Source: `mindspore.ops.gamma`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.gamma((4,), ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 0.5])).shape
        (4, 2)
    """
    a, b = as_tensor(alpha).astype(dtypes.float64), as_tensor(beta).astype(dtypes.float64)
    whole = arithmetic.add(a, b * 0)
    return (_gamma((*_sizes("gamma", shape), *whole.shape), whole, _Keys(seed)) / b).astype(dtypes.float32)


def random_gamma(shape: Any, alpha: Any, seed: Any = None) -> Any:
    """Numbers of gamma distributions of rate 1; arguments as of ``gamma``, the result in alpha's dtype.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.random_gamma((4,), ms.Tensor([1.0, 2.0])).shape
        (4, 2)
    """
    a = as_tensor(alpha)
    if not a.dtype.is_float:
        raise DTypeError(f"random_gamma: alpha has dtype {a.dtype!r}, which is no floating-point dtype.")
    drawn = _gamma((*_sizes("random_gamma", shape), *a.shape), a.astype(dtypes.float64), _Keys(seed))
    return drawn.astype(a.dtype)


def random_poisson(shape: Any, rate: Any, seed: Any = None, dtype: Any = dtypes.float32) -> Any:
    """Counts of Poisson distributions.

    Args:
        shape: sizes in front of those of ``rate``.
        rate: the mean, at least 0.
        seed: an int, or a key: draws of their own, the same at every call; else from the stream of ``ms.set_seed``.
        dtype: of the result.

    Returns:
        [*shape, *shape of rate]; no gradient flows through it.

    Raises:
        TypeError: a shape, rate, seed or dtype of other types than ints, numbers, an int from 0, a dtype of counts.
        ValueError: a shape or seed below 0.

    Source: `mindspore.ops.random_poisson`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.random_poisson((4,), ms.Tensor([1.0, 20.0])).shape
        (4, 2)
    """
    for word, given in (("rate", as_tensor(rate).dtype), ("dtype", dtypes.as_dtype(dtype))):
        if given not in _COUNTED:
            raise DTypeError(f"random_poisson: {word} is one of {', '.join(map(repr, _COUNTED))}, not {given!r}.")
    mean = as_tensor(rate).astype(dtypes.float64)
    sizes, keys = (*_sizes("random_poisson", shape), *mean.shape), _Keys(seed)
    mean = stop_gradient(broadcast_to(mean, sizes))
    few = mean < _FEW
    found = where(few, _few_counts(where(few, mean, 0.0), keys), _many_counts(where(few, _FEW, mean), keys))
    return found.astype(dtypes.as_dtype(dtype))


class _Keys:
    """Keys of the draws of one call: from the stream of all draws, or from a seed or key of its own."""

    def __init__(self, seed: Any) -> None:
        if isinstance(seed, float):
            raise ArgumentError(f"a seed is an int from 0, or a key, not {seed}.")
        if isinstance(seed, int) and seed < 0:
            raise AttributeValueError(f"a seed is an int from 0, not {seed}.")
        own = np.array([seed, 0], np.uint64) if isinstance(seed, int) and seed else seed
        self._own, self._next = None if own is None or isinstance(own, int) else as_tensor(own), 0

    def uniform(self, *sizes: int) -> Any:
        """Numbers in [0, 1)."""
        return RANDOM_UNIFORM(self._key(), shape=sizes, dtype=dtypes.float64)

    def normal(self, *sizes: int) -> Any:
        """Normal numbers."""
        return RANDOM_NORMAL(self._key(), shape=sizes, dtype=dtypes.float64)

    def _key(self) -> Any:
        if self._own is None:
            return random_key()
        self._next += 1
        return arithmetic.add(self._own, as_tensor(np.array([0, self._next << 40], np.uint64)))


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Tensor):
        if shape.ndim != 1:
            raise AttributeValueError(f"{name}: a tensor as shape has one axis, not {shape.ndim}.")
        shape = shape.tolist()
    if isinstance(shape, float):
        raise DTypeError(f"{name}: sizes are ints, not {shape}.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(isinstance(n, float) for n in sizes):
        raise DTypeError(f"{name}: sizes are ints, not {list(sizes)}.")
    if any(not isinstance(n, int) or n < 0 for n in sizes):
        raise AttributeValueError(f"{name}: sizes are ints from 0, not {list(sizes)}.")
    return sizes


def _first(accepted: Any, values: Any) -> Any:
    """The value of the first round that is accepted."""
    return gather_elements(values, 0, argmax(accepted.astype(dtypes.int32), 0, True))[0]


def _gamma(sizes: tuple[int, ...], alpha: Any, keys: _Keys) -> Any:
    a = stop_gradient(broadcast_to(alpha, sizes))
    small = a < 1.0
    d = where(small, a + 1.0, a) - 1.0 / 3.0
    x, u = keys.normal(_ROUNDS, *sizes), keys.uniform(_ROUNDS, *sizes)
    base = 1.0 + x / transcendental.sqrt(9.0 * d)
    v = where(base > 0, base, 1.0) ** 3
    bound = 0.5 * x * x + d - d * v + d * transcendental.log(v)
    drawn = d * _first(logic.logical_and(base > 0, transcendental.log1p(-u) < bound), v)
    scale = transcendental.exp(transcendental.log1p(-keys.uniform(*sizes)) / a)
    return where(small, drawn * scale, drawn)


def _few_counts(mean: Any, keys: _Keys) -> Any:
    steps = -transcendental.log1p(-keys.uniform(_STEPS, *mean.shape))
    return (cumsum(steps, 0) < mean).astype(dtypes.float64).sum(0)


def _many_counts(mean: Any, keys: _Keys) -> Any:
    b = 0.931 + 2.53 * transcendental.sqrt(mean)
    a = -0.059 + 0.02483 * b
    u, v = keys.uniform(_ROUNDS, *mean.shape) - 0.5, 1.0 - keys.uniform(_ROUNDS, *mean.shape)
    us = 0.5 - arithmetic.abs(u)
    inside = us > 0
    us = where(inside, us, 0.5)
    k = arithmetic.floor((2.0 * a / us + b) * u + mean + 0.43)
    possible = logic.logical_and(logic.logical_and(inside, k >= 0), logic.logical_or(us >= 0.013, v <= us))
    n = where(k >= 0, k, 0.0)
    ratio = transcendental.log(v) + transcendental.log(1.1239 + 1.1328 / (b - 3.4)) - transcendental.log(a / us**2 + b)
    exact = ratio <= n * transcendental.log(mean) - mean - lgamma(n + 1.0)
    quick = logic.logical_and(us >= 0.07, v <= 0.9277 - 3.6224 / (b - 2.0))
    return _first(logic.logical_and(possible, logic.logical_or(quick, exact)), n)
