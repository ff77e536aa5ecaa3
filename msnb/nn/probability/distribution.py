"""``nn.probability.distribution``: every distribution by its name."""

from msnb.base.missing_names import public_names
from msnb.nn.probability.continuous_distributions import (
    Cauchy,
    Gumbel,
    HalfNormal,
    Laplace,
    Logistic,
    LogNormal,
    Normal,
    StudentT,
    Uniform,
)
from msnb.nn.probability.discrete_distributions import Bernoulli, Categorical, Geometric, Poisson
from msnb.nn.probability.distribution_cell import Distribution
from msnb.nn.probability.positive_distributions import Beta, Exponential, Gamma
from msnb.nn.probability.transformed_distribution import TransformedDistribution

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "TransformedDistribution",
    "Uniform",
]  # fmt: skip


def __dir__() -> list[str]:
    return public_names(__name__)
