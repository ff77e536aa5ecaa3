"""A distribution seen through a bijector: of y = f(x), where x has a known distribution."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import ArgumentError
from msnb.nn.cells.cell import Cell
from msnb.nn.probability.distribution_cell import Distribution


class TransformedDistribution(Distribution):
    """The distribution of ``bijector(x)``.

    Args:
        bijector: of ``nn.probability.bijector``.
        distribution: of x.
        seed, name: as of ``Distribution``.

    Questions take the parameters of ``distribution``.

    Examples:
        >>> import msnb as ms
        >>> p = ms.nn.probability
        >>> y = p.distribution.TransformedDistribution(p.bijector.Exp(), p.distribution.Normal(0.0, 1.0))
        >>> y.cdf(ms.Tensor([1.0])).tolist()
        [0.5]
    """

    def __init__(
        self, bijector: Any, distribution: Distribution, seed: Any = None, name: str = "transformed_distribution"
    ) -> None:
        if not isinstance(bijector, Cell) or not isinstance(distribution, Distribution):
            raise ArgumentError("TransformedDistribution takes a bijector and a distribution.")
        super().__init__(seed, distribution.parameter_type, name)
        self.bijector: Cell = bijector
        self.distribution: Distribution = distribution
        self.parameter_names: tuple[Any | Any, ...] = distribution.parameter_names
        self.default_parameters: list[Any] = distribution.default_parameters

    def _log_prob(self, value: Any, *params: Any) -> Any:
        inner = self.distribution.log_prob(self.bijector.inverse(value), *params)
        return inner + self.bijector.inverse_log_jacobian(value)

    def _cdf(self, value: Any, *params: Any) -> Any:
        inner = self.distribution.cdf(self.bijector.inverse(value), *params)
        return inner if self.bijector.is_increasing else 1.0 - inner

    def _constant(self, what: str) -> None:
        if not self.bijector.is_constant_jacobian:
            raise ArgumentError(f"TransformedDistribution has no formula for {what}: the bijector is no line.")

    def _mean(self, *params: Any) -> Any:
        self._constant("mean")
        return self.bijector.forward(self.distribution.mean(*params))

    def _entropy(self, *params: Any) -> Any:
        self._constant("entropy")
        inner = self.distribution.entropy(*params)
        return inner + self.bijector.forward_log_jacobian(ops.zeros_like(inner))

    def _sample(self, shape: tuple[int, ...], *params: Any) -> Any:
        return self.bijector.forward(self.distribution.sample(shape, *params))
