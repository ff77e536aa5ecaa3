"""Distributions of counts and classes."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import dtypes
from msnb.eager.recording import known_false
from msnb.nn.probability.distribution_cell import Distribution


def _divergence(p: Any, q: Any) -> Any:
    """p log(p / q), 0 where p is 0."""
    return ops.xlogy(p, p) - ops.xlogy(p, q)


class Bernoulli(Distribution):
    """1 with probability ``probs``, else 0.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.probability.distribution.Bernoulli(0.25).prob(ms.Tensor([0, 1])).tolist()
        [0.75, 0.25]
    """

    _discrete = True
    _shares = ("probs",)

    def __init__(self, probs: Any = None, seed: Any = None, dtype: Any = None, name: str = "Bernoulli") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _log_prob(self, value: Any, probs: Any) -> Any:
        return ops.xlogy(value, probs) + ops.xlogy(1.0 - value, 1.0 - probs)

    def _cdf(self, value: Any, probs: Any) -> Any:
        value = ops.floor(value)
        return ops.where(value < 0, 0.0, ops.where(value < 1, 1.0 - probs, 1.0))

    def _mean(self, probs: Any) -> Any:
        return ops.identity(probs)

    def _var(self, probs: Any) -> Any:
        return probs * (1.0 - probs)

    def _mode(self, probs: Any) -> Any:
        return (probs > 0.5).astype(self.dtype)

    def _entropy(self, probs: Any) -> Any:
        return -ops.xlogy(probs, probs) - ops.xlogy(1.0 - probs, 1.0 - probs)

    def _kl_loss(self, probs_b: Any, probs_a: Any) -> Any:
        return _divergence(probs_a, probs_b) + _divergence(1.0 - probs_a, 1.0 - probs_b)

    def _sample(self, shape: tuple[int, ...], probs: Any) -> Any:
        return self.draws.uniform(self._sizes(shape, probs)) < probs


class Geometric(Distribution):
    """How many failures come before the first success, where each trial succeeds with probability ``probs``."""

    _discrete = True
    _shares = ("probs",)

    def __init__(self, probs: Any = None, seed: Any = None, dtype: Any = None, name: str = "Geometric") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _prob(self, value: Any, probs: Any) -> Any:
        count = ops.floor(value)
        return ops.where(count < 0, 0.0, ops.pow(1.0 - probs, ops.maximum(count, 0.0)) * probs)

    def _cdf(self, value: Any, probs: Any) -> Any:
        count = ops.floor(value)
        return ops.where(count < 0, 0.0, 1.0 - ops.pow(1.0 - probs, ops.maximum(count, 0.0) + 1.0))

    def _mean(self, probs: Any) -> Any:
        return (1.0 - probs) / probs

    def _var(self, probs: Any) -> Any:
        return (1.0 - probs) / ops.square(probs)

    def _mode(self, probs: Any) -> Any:
        return ops.zeros_like(probs).astype(self.dtype)

    def _entropy(self, probs: Any) -> Any:
        return -(ops.xlogy(probs, probs) + ops.xlogy(1.0 - probs, 1.0 - probs)) / probs

    def _kl_loss(self, probs_b: Any, probs_a: Any) -> Any:
        ratio = ops.log((1.0 - probs_a) / (1.0 - probs_b))
        return ops.log(probs_a / probs_b) + (1.0 - probs_a) / probs_a * ratio

    def _sample(self, shape: tuple[int, ...], probs: Any) -> Any:
        return ops.floor(ops.log(self.draws.uniform(self._sizes(shape, probs))) / ops.log1p(-probs))


class Poisson(Distribution):
    """How many events come in one unit if they come ``rate`` times on average."""

    _discrete = True
    _positive = ("rate",)

    def __init__(self, rate: Any = None, seed: Any = None, dtype: Any = None, name: str = "Poisson") -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _log_prob(self, value: Any, rate: Any) -> Any:
        inside = ops.xlogy(value, rate) - rate - ops.lgamma(ops.maximum(value, 0.0) + 1.0)
        return ops.where(value < 0, float("-inf"), inside)

    def _cdf(self, value: Any, rate: Any) -> Any:
        count = ops.maximum(ops.floor(value), 0.0)
        return ops.where(value < 0, 0.0, ops.igammac(count + 1.0, rate))

    def _mean(self, rate: Any) -> Any:
        return ops.identity(rate)

    _var = _mean

    def _mode(self, rate: Any) -> Any:
        return ops.floor(rate)

    def _kl_loss(self, rate_b: Any, rate_a: Any) -> Any:
        return _divergence(rate_a, rate_b) + rate_b - rate_a

    def _sample(self, shape: tuple[int, ...], rate: Any) -> Any:
        return self.draws.poisson(shape, rate)


class Categorical(Distribution):
    """One of the classes 0 .. n - 1; ``probs`` [..., n] adds up to 1."""

    _discrete = True
    _shares = ("probs",)

    def __init__(self, probs: Any = None, seed: Any = None, dtype: Any = None, name: str = "Categorical") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _checked(self, name: str, value: Any) -> Any:
        found = super()._checked(name, value)
        if found is not None and known_false(ops.abs(ops.sum(found, -1) - 1.0) < 1e-5):
            raise AttributeValueError("Categorical: the probabilities of the classes must sum to 1.")
        return found

    def _picked(self, table: Any, value: Any) -> Any:
        at = ops.clamp(ops.floor(value), 0.0, float(table.shape[-1] - 1)).astype(dtypes.int32)
        rows = ops.one_hot(at, table.shape[-1]).astype(table.dtype)
        return ops.sum(ops.where(rows > 0, table, 0.0), -1)

    def _log_prob(self, value: Any, probs: Any) -> Any:
        inside = ops.logical_and(value >= 0, value < probs.shape[-1])
        return ops.where(inside, self._picked(ops.log(probs), value), float("-inf"))

    def _cdf(self, value: Any, probs: Any) -> Any:
        return ops.where(value < 0, 0.0, self._picked(ops.cumsum(probs, -1), value))

    def _mean(self, probs: Any) -> Any:
        """[..., 1], as MindSpore's."""
        return ops.sum(probs * ops.arange(probs.shape[-1]).astype(probs.dtype), -1, True)

    def _var(self, probs: Any) -> Any:
        at = ops.arange(probs.shape[-1]).astype(probs.dtype)
        return ops.sum(probs * ops.square(at), -1, True) - ops.square(self._mean(probs))

    def _mode(self, probs: Any) -> Any:
        return ops.argmax(probs, -1).astype(self.dtype)

    def _entropy(self, probs: Any) -> Any:
        return -ops.sum(ops.xlogy(probs, probs), -1)

    def _kl_loss(self, probs_b: Any, probs_a: Any) -> Any:
        return ops.sum(_divergence(probs_a, probs_b), -1)

    def _sample(self, shape: tuple[int, ...], probs: Any) -> Any:
        noise = -ops.log(-ops.log(self.draws.uniform((*shape, *probs.shape))))
        return ops.argmax(ops.log(probs) + noise, -1)
