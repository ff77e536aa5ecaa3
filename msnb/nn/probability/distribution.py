"""``nn.probability.distribution``: every distribution by its name."""

from msnb.base.missing_names import public_names
from msnb.nn.probability.continuous_distributions import Cauchy as Cauchy
from msnb.nn.probability.continuous_distributions import Gumbel as Gumbel
from msnb.nn.probability.continuous_distributions import HalfNormal as HalfNormal
from msnb.nn.probability.continuous_distributions import Laplace as Laplace
from msnb.nn.probability.continuous_distributions import Logistic as Logistic
from msnb.nn.probability.continuous_distributions import LogNormal as LogNormal
from msnb.nn.probability.continuous_distributions import Normal as Normal
from msnb.nn.probability.continuous_distributions import StudentT as StudentT
from msnb.nn.probability.continuous_distributions import Uniform as Uniform
from msnb.nn.probability.discrete_distributions import Bernoulli as Bernoulli
from msnb.nn.probability.discrete_distributions import Categorical as Categorical
from msnb.nn.probability.discrete_distributions import Geometric as Geometric
from msnb.nn.probability.discrete_distributions import Poisson as Poisson
from msnb.nn.probability.distribution_cell import Distribution as Distribution
from msnb.nn.probability.positive_distributions import Beta as Beta
from msnb.nn.probability.positive_distributions import Exponential as Exponential
from msnb.nn.probability.positive_distributions import Gamma as Gamma
from msnb.nn.probability.transformed_distribution import TransformedDistribution as TransformedDistribution

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "TransformedDistribution",
    "Uniform",
]  # fmt: skip


def __dir__() -> list[str]:
    return public_names(__name__)
