"""Distributions of numbers above 0, and of shares between 0 and 1."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.nn.probability.distribution_cell import Distribution


class Exponential(Distribution):
    """Waiting times of events that come ``rate`` times per unit.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.probability.distribution.Exponential(2.0).mean().item()
        0.5
    """

    _positive = ("rate",)

    def __init__(self, rate: Any = None, seed: Any = None, dtype: Any = None, name: str = "Exponential") -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _log_prob(self, value: Any, rate: Any) -> Any:
        return ops.where(value < 0, float("-inf"), ops.log(rate) - rate * value)

    def _cdf(self, value: Any, rate: Any) -> Any:
        return ops.where(value < 0, 0.0, -ops.expm1(-rate * ops.maximum(value, 0.0)))

    def _log_survival(self, value: Any, rate: Any) -> Any:
        return -rate * ops.maximum(value, 0.0)

    def _mean(self, rate: Any) -> Any:
        return 1.0 / rate

    _sd = _mean

    def _mode(self, rate: Any) -> Any:
        return ops.zeros_like(rate)

    def _entropy(self, rate: Any) -> Any:
        return 1.0 - ops.log(rate)

    def _kl_loss(self, rate_b: Any, rate_a: Any) -> Any:
        return ops.log(rate_a) - ops.log(rate_b) + rate_b / rate_a - 1.0

    def _sample(self, shape: tuple[int, ...], rate: Any) -> Any:
        return -ops.log1p(-self.draws.uniform(self._sizes(shape, rate))) / rate


class Gamma(Distribution):
    """The gamma distribution: the time of ``concentration`` events that come ``rate`` times per unit."""

    _positive = ("concentration", "rate")

    def __init__(
        self, concentration: Any = None, rate: Any = None, seed: Any = None, dtype: Any = None, name: str = "Gamma"
    ) -> None:
        super().__init__(seed, dtype, name, {"concentration": concentration, "rate": rate})

    def _log_prob(self, value: Any, concentration: Any, rate: Any) -> Any:
        scale = ops.lgamma(concentration) - concentration * ops.log(rate)
        return (concentration - 1.0) * ops.log(value) - rate * value - scale

    def _cdf(self, value: Any, concentration: Any, rate: Any) -> Any:
        return ops.igamma(concentration, rate * value)

    def _survival(self, value: Any, concentration: Any, rate: Any) -> Any:
        return ops.igammac(concentration, rate * value)

    def _mean(self, concentration: Any, rate: Any) -> Any:
        return concentration / rate

    def _var(self, concentration: Any, rate: Any) -> Any:
        return concentration / ops.square(rate)

    def _mode(self, concentration: Any, rate: Any) -> Any:
        return ops.where(concentration > 1.0, (concentration - 1.0) / rate, float("nan"))

    def _entropy(self, concentration: Any, rate: Any) -> Any:
        slope = (1.0 - concentration) * ops.digamma(concentration)
        return concentration - ops.log(rate) + ops.lgamma(concentration) + slope

    def _kl_loss(self, concentration_b: Any, rate_b: Any, concentration_a: Any, rate_a: Any) -> Any:
        slope = (concentration_a - concentration_b) * ops.digamma(concentration_a)
        sizes = ops.lgamma(concentration_b) - ops.lgamma(concentration_a)
        ratio = concentration_b * (ops.log(rate_a) - ops.log(rate_b)) + concentration_a * (rate_b / rate_a - 1.0)
        return slope + sizes + ratio

    def _sample(self, shape: tuple[int, ...], concentration: Any, rate: Any) -> Any:
        return self.draws.gamma(shape, concentration, rate)


def _log_beta(a: Any, b: Any) -> Any:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class Beta(Distribution):
    """The beta distribution of shares: of ``concentration1`` successes and ``concentration0`` failures."""

    _positive = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any = None, concentration0: Any = None, seed: Any = None, dtype: Any = None,
        name: str = "Beta",
    ) -> None:  # fmt: skip
        super().__init__(seed, dtype, name, {"concentration1": concentration1, "concentration0": concentration0})

    def _log_prob(self, value: Any, a: Any, b: Any) -> Any:
        return (a - 1.0) * ops.log(value) + (b - 1.0) * ops.log1p(-value) - _log_beta(a, b)

    def _mean(self, a: Any, b: Any) -> Any:
        return a / (a + b)

    def _var(self, a: Any, b: Any) -> Any:
        return a * b / (ops.square(a + b) * (a + b + 1.0))

    def _mode(self, a: Any, b: Any) -> Any:
        inside = ops.logical_and(a > 1.0, b > 1.0)
        return ops.where(inside, (a - 1.0) / ops.where(inside, a + b - 2.0, 1.0), float("nan"))

    def _entropy(self, a: Any, b: Any) -> Any:
        slope = (a + b - 2.0) * ops.digamma(a + b)
        return _log_beta(a, b) - (a - 1.0) * ops.digamma(a) - (b - 1.0) * ops.digamma(b) + slope

    def _kl_loss(self, a_b: Any, b_b: Any, a_a: Any, b_a: Any) -> Any:
        total = (a_b + b_b - a_a - b_a) * ops.digamma(a_a + b_a)
        slope = (a_a - a_b) * ops.digamma(a_a) + (b_a - b_b) * ops.digamma(b_a)
        return _log_beta(a_b, b_b) - _log_beta(a_a, b_a) + slope + total

    def _sample(self, shape: tuple[int, ...], a: Any, b: Any) -> Any:
        one, other = self.draws.gamma(shape, a + b * 0.0, 1.0), self.draws.gamma(shape, b + a * 0.0, 1.0)
        return one / (one + other)
