"""Distributions of a place and a width: their formulas in z = (value - place) / width."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.eager.recording import known_false
from msnb.nn.probability.distribution_cell import Distribution

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_EULER = float(np.euler_gamma)


def _normal_kl(place_b: Any, width_b: Any, place_a: Any, width_a: Any) -> Any:
    ratio = ops.square(width_a / width_b)
    return 0.5 * (ops.square((place_a - place_b) / width_b) + ratio - 1.0 - ops.log(ratio))


class Normal(Distribution):
    """The normal distribution.

    Args:
        mean: the middle. sd: the standard deviation, above 0.
        seed, dtype, name: as of ``Distribution``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.probability.distribution.Normal(0.0, 1.0).cdf(ms.Tensor([0.0])).tolist()
        [0.5]
    """

    _positive = ("sd",)

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: Any = None, dtype: Any = None, name: str = "Normal"
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Any, mean: Any, sd: Any) -> Any:
        return -0.5 * ops.square((value - mean) / sd) - ops.log(sd) - _HALF_LOG_TWO_PI

    def _cdf(self, value: Any, mean: Any, sd: Any) -> Any:
        return 0.5 * ops.erfc((mean - value) / (sd * math.sqrt(2.0)))

    def _survival(self, value: Any, mean: Any, sd: Any) -> Any:
        return 0.5 * ops.erfc((value - mean) / (sd * math.sqrt(2.0)))

    def _mean(self, mean: Any, sd: Any) -> Any:
        return mean + sd * 0.0

    _mode = _mean

    def _sd(self, mean: Any, sd: Any) -> Any:
        return sd + mean * 0.0

    def _entropy(self, mean: Any, sd: Any) -> Any:
        return ops.log(sd) + (0.5 + _HALF_LOG_TWO_PI)

    def _kl_loss(self, mean_b: Any, sd_b: Any, mean_a: Any, sd_a: Any) -> Any:
        return _normal_kl(mean_b, sd_b, mean_a, sd_a)

    def _sample(self, shape: tuple[int, ...], mean: Any, sd: Any) -> Any:
        return mean + sd * self.draws.normal(self._sizes(shape, mean, sd))


class LogNormal(Distribution):
    """The distribution of exp(x) for a normal x of mean ``loc`` and standard deviation ``scale``."""

    _positive = ("scale",)

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: Any = None, dtype: Any = None, name: str = "LogNormal"
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any, scale: Any) -> Any:
        z = (ops.log(value) - loc) / scale
        return -0.5 * ops.square(z) - ops.log(scale) - _HALF_LOG_TWO_PI - ops.log(value)

    def _cdf(self, value: Any, loc: Any, scale: Any) -> Any:
        return 0.5 * ops.erfc((loc - ops.log(ops.maximum(value, 0.0))) / (scale * math.sqrt(2.0)))

    def _survival(self, value: Any, loc: Any, scale: Any) -> Any:
        return 0.5 * ops.erfc((ops.log(ops.maximum(value, 0.0)) - loc) / (scale * math.sqrt(2.0)))

    def _mean(self, loc: Any, scale: Any) -> Any:
        return ops.exp(loc + 0.5 * ops.square(scale))

    def _mode(self, loc: Any, scale: Any) -> Any:
        return ops.exp(loc - ops.square(scale))

    def _var(self, loc: Any, scale: Any) -> Any:
        square = ops.square(scale)
        return ops.expm1(square) * ops.exp(2.0 * loc + square)

    def _entropy(self, loc: Any, scale: Any) -> Any:
        return loc + ops.log(scale) + (0.5 + _HALF_LOG_TWO_PI)

    def _kl_loss(self, loc_b: Any, scale_b: Any, loc_a: Any, scale_a: Any) -> Any:
        return _normal_kl(loc_b, scale_b, loc_a, scale_a)

    def _sample(self, shape: tuple[int, ...], loc: Any, scale: Any) -> Any:
        return ops.exp(loc + scale * self.draws.normal(self._sizes(shape, loc, scale)))


class Cauchy(Distribution):
    """The Cauchy distribution; it has neither mean nor variance."""

    _positive = ("scale",)

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: Any = None, dtype: Any = None, name: str = "Cauchy"
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any, scale: Any) -> Any:
        return -ops.log1p(ops.square((value - loc) / scale)) - ops.log(scale) - math.log(math.pi)

    def _cdf(self, value: Any, loc: Any, scale: Any) -> Any:
        return ops.atan((value - loc) / scale) / math.pi + 0.5

    def _survival(self, value: Any, loc: Any, scale: Any) -> Any:
        return 0.5 - ops.atan((value - loc) / scale) / math.pi

    def _mode(self, loc: Any, scale: Any) -> Any:
        return loc + scale * 0.0

    def _entropy(self, loc: Any, scale: Any) -> Any:
        return ops.log(scale) + (math.log(4.0 * math.pi) + loc * 0.0)

    def _kl_loss(self, loc_b: Any, scale_b: Any, loc_a: Any, scale_a: Any) -> Any:
        square = ops.square(scale_a + scale_b) + ops.square(loc_a - loc_b)
        return ops.log(square) - math.log(4.0) - ops.log(scale_a) - ops.log(scale_b)

    def _sample(self, shape: tuple[int, ...], loc: Any, scale: Any) -> Any:
        return loc + scale * ops.tan(math.pi * (self.draws.uniform(self._sizes(shape, loc, scale)) - 0.5))


class Gumbel(Distribution):
    """The Gumbel distribution: of the largest of many numbers."""

    _positive = ("scale",)

    def __init__(self, loc: Any, scale: Any, seed: Any = None, dtype: Any = None, name: str = "Gumbel") -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any, scale: Any) -> Any:
        z = (value - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _log_cdf(self, value: Any, loc: Any, scale: Any) -> Any:
        return -ops.exp((loc - value) / scale)

    def _survival(self, value: Any, loc: Any, scale: Any) -> Any:
        return -ops.expm1(-ops.exp((loc - value) / scale))

    def _mean(self, loc: Any, scale: Any) -> Any:
        return loc + scale * _EULER

    def _mode(self, loc: Any, scale: Any) -> Any:
        return loc + scale * 0.0

    def _sd(self, loc: Any, scale: Any) -> Any:
        return scale * (math.pi / math.sqrt(6.0)) + loc * 0.0

    def _entropy(self, loc: Any, scale: Any) -> Any:
        return ops.log(scale) + (1.0 + _EULER) + loc * 0.0

    def _kl_loss(self, loc_b: Any, scale_b: Any, loc_a: Any, scale_a: Any) -> Any:
        ratio = scale_a / scale_b
        moved = ops.exp((loc_b - loc_a) / scale_b + ops.lgamma(ratio + 1.0))
        return (loc_a - loc_b) / scale_b + moved - 1.0 - ops.log(ratio) + _EULER * (ratio - 1.0)

    def _sample(self, shape: tuple[int, ...], loc: Any, scale: Any) -> Any:
        return loc - scale * ops.log(-ops.log(self.draws.uniform(self._sizes(shape, loc, scale))))


class Logistic(Distribution):
    """The logistic distribution."""

    _positive = ("scale",)

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: Any = None, dtype: Any = None, name: str = "Logistic"
    ) -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _log_prob(self, value: Any, loc: Any, scale: Any) -> Any:
        z = (value - loc) / scale
        return ops.logsigmoid(z) + ops.logsigmoid(-z) - ops.log(scale)

    def _cdf(self, value: Any, loc: Any, scale: Any) -> Any:
        return ops.sigmoid((value - loc) / scale)

    def _log_cdf(self, value: Any, loc: Any, scale: Any) -> Any:
        return ops.logsigmoid((value - loc) / scale)

    def _survival(self, value: Any, loc: Any, scale: Any) -> Any:
        return ops.sigmoid((loc - value) / scale)

    def _log_survival(self, value: Any, loc: Any, scale: Any) -> Any:
        return ops.logsigmoid((loc - value) / scale)

    def _mean(self, loc: Any, scale: Any) -> Any:
        return loc + scale * 0.0

    _mode = _mean

    def _sd(self, loc: Any, scale: Any) -> Any:
        return scale * (math.pi / math.sqrt(3.0)) + loc * 0.0

    def _entropy(self, loc: Any, scale: Any) -> Any:
        return ops.log(scale) + 2.0 + loc * 0.0

    def _sample(self, shape: tuple[int, ...], loc: Any, scale: Any) -> Any:
        u = self.draws.uniform(self._sizes(shape, loc, scale))
        return loc + scale * (ops.log(u) - ops.log1p(-u))


class Laplace(Distribution):
    """The Laplace distribution: exponential on both sides of ``mean``, with width ``sd``."""

    _positive = ("sd",)

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: Any = None, dtype: Any = None, name: str = "Laplace"
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Any, mean: Any, sd: Any) -> Any:
        return -ops.abs(value - mean) / sd - math.log(2.0) - ops.log(sd)


class HalfNormal(Distribution):
    """The normal distribution from ``mean`` upwards."""

    _positive = ("sd",)

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: Any = None, dtype: Any = None, name: str = "HalfNormal"
    ) -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value: Any, mean: Any, sd: Any) -> Any:
        z = (value - mean) / sd
        inside = -0.5 * ops.square(z) - ops.log(sd) + 0.5 * math.log(2.0 / math.pi)
        return ops.where(z < 0, float("-inf"), inside)


class StudentT(Distribution):
    """Student's t distribution of ``df`` degrees of freedom, moved to ``mean`` and widened by ``sd``."""

    _positive = ("df", "sd")

    def __init__(
        self, df: Any = None, mean: Any = None, sd: Any = None, seed: Any = None, dtype: Any = None,
        name: str = "StudentT",
    ) -> None:  # fmt: skip
        super().__init__(seed, dtype, name, {"df": df, "mean": mean, "sd": sd})

    def _log_prob(self, value: Any, df: Any, mean: Any, sd: Any) -> Any:
        z = (value - mean) / sd
        spread = ops.log(sd) + 0.5 * ops.log(df) + 0.5 * math.log(math.pi) + ops.lgamma(0.5 * df)
        return -0.5 * (df + 1.0) * ops.log1p(ops.square(z) / df) - spread + ops.lgamma(0.5 * (df + 1.0))


class Uniform(Distribution):
    """Every number from ``low`` to ``high`` alike."""

    def __init__(
        self, low: Any = None, high: Any = None, seed: Any = None, dtype: Any = None, name: str = "Uniform"
    ) -> None:
        super().__init__(seed, dtype, name, {"low": low, "high": high})
        if low is not None and high is not None and known_false(self.low < self.high):
            raise AttributeValueError("Uniform: low must lie below high.")

    def _prob(self, value: Any, low: Any, high: Any) -> Any:
        return ops.where(ops.logical_and(value >= low, value <= high), 1.0 / (high - low), 0.0)

    def _cdf(self, value: Any, low: Any, high: Any) -> Any:
        return ops.clamp((value - low) / (high - low), 0.0, 1.0)

    def _mean(self, low: Any, high: Any) -> Any:
        return (low + high) / 2.0

    def _var(self, low: Any, high: Any) -> Any:
        return ops.square(high - low) / 12.0

    def _entropy(self, low: Any, high: Any) -> Any:
        return ops.log(high - low)

    def _kl_loss(self, low_b: Any, high_b: Any, low_a: Any, high_a: Any) -> Any:
        inside = ops.logical_and(low_b <= low_a, high_a <= high_b)
        return ops.where(inside, ops.log(high_b - low_b) - ops.log(high_a - low_a), float("inf"))

    def _sample(self, shape: tuple[int, ...], low: Any, high: Any) -> Any:
        return low + (high - low) * self.draws.uniform(self._sizes(shape, low, high))
