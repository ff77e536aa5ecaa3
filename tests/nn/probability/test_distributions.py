"""Distributions against sums over their own densities and draws, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError
from msnb.nn.probability import distribution as msd

CONTINUOUS: dict[str, tuple[Any, tuple[float, ...], tuple[float, float]]] = {
    "Normal": (msd.Normal, (1.0, 2.0), (-15.0, 17.0)),
    "LogNormal": (msd.LogNormal, (0.3, 0.4), (1e-4, 20.0)),
    "Gumbel": (msd.Gumbel, (0.5, 1.5), (-8.0, 40.0)),
    "Logistic": (msd.Logistic, (0.5, 1.5), (-40.0, 40.0)),
    "Uniform": (msd.Uniform, (-1.0, 3.0), (-1.0, 3.0)),
    "Exponential": (msd.Exponential, (0.7,), (0.0, 40.0)),
    "Gamma": (msd.Gamma, (3.0, 2.0), (1e-6, 30.0)),
    "Beta": (msd.Beta, (3.0, 2.0), (1e-6, 1.0 - 1e-6)),
}
COUNTS: dict[str, tuple[Any, Any]] = {
    "Bernoulli": (msd.Bernoulli, 0.3),
    "Geometric": (msd.Geometric, 0.4),
    "Poisson": (msd.Poisson, 4.0),
    "Categorical": (msd.Categorical, [0.2, 0.5, 0.3]),
}


class Asked(nn.Cell):
    def __init__(self, dist: Any, what: str) -> None:
        super().__init__()
        self.dist, self.what = dist, what

    def construct(self, *args: Any) -> Any:
        return getattr(self.dist, self.what)(*args)


def ask(dist: Any, what: str, *args: Any) -> Any:
    return Asked(dist, what)(*args).asnumpy().astype(np.float64)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_moments_are_those_of_the_density(mode: int, name: str) -> None:
    make, params, (low, high) = CONTINUOUS[name]
    dist, x = make(*params), np.linspace(low, high, 40001)
    density = ask(dist, "prob", Tensor(x.astype(np.float32)))
    step = x[1] - x[0]
    np.testing.assert_allclose((density * step).sum(), 1.0, atol=2e-3)
    np.testing.assert_allclose((density * x * step).sum(), ask(dist, "mean"), rtol=5e-3, atol=5e-3)
    entropy = -(density * np.log(np.maximum(density, 1e-30)) * step).sum()
    np.testing.assert_allclose(ask(dist, "entropy"), entropy, rtol=5e-3, atol=5e-3)
    spread = (density * (x - ask(dist, "mean")) ** 2 * step).sum()
    np.testing.assert_allclose(ask(dist, "var"), spread, rtol=1e-2)
    np.testing.assert_allclose(ask(dist, "sd") ** 2, ask(dist, "var"), rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "Beta"])
def test_distribution_functions_are_sums_of_the_density(mode: int, name: str) -> None:
    make, params, (low, high) = CONTINUOUS[name]
    dist, x = make(*params), np.linspace(low, high, 20001)
    total = np.cumsum(ask(dist, "prob", Tensor(x.astype(np.float32)))) * (x[1] - x[0])
    at = Tensor(x[2000::6000].astype(np.float32))
    np.testing.assert_allclose(ask(dist, "cdf", at), total[2000::6000], atol=5e-3)
    np.testing.assert_allclose(ask(dist, "survival_function", at), 1 - ask(dist, "cdf", at), atol=1e-6)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(ask(dist, "log_cdf", at)), ask(dist, "cdf", at), atol=1e-5)
        np.testing.assert_allclose(np.exp(ask(dist, "log_survival", at)), 1 - ask(dist, "cdf", at), atol=1e-5)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(mode: int, name: str) -> None:
    make, param = COUNTS[name]
    dist, k = make(param), np.arange(2 if name == "Bernoulli" else 3 if name == "Categorical" else 60)
    chance = ask(dist, "prob", Tensor(k.astype(np.float32)))
    np.testing.assert_allclose(chance.sum(), 1.0, atol=1e-5)
    np.testing.assert_allclose((chance * k).sum(), ask(dist, "mean"), rtol=1e-4)
    np.testing.assert_allclose((chance * (k - ask(dist, "mean")) ** 2).sum(), ask(dist, "var"), rtol=1e-3)
    np.testing.assert_allclose(ask(dist, "cdf", Tensor(k.astype(np.float32))), np.cumsum(chance), atol=1e-5)
    assert ask(dist, "mode") == k[np.argmax(chance)] or name == "Poisson"


@pytest.mark.parametrize("name", [*CONTINUOUS, *COUNTS])
def test_divergences(mode: int, name: str) -> None:
    make, params, span = CONTINUOUS[name] if name in CONTINUOUS else (*COUNTS[name], None)
    mine = (params,) if span is None else params
    other = tuple(np.asarray(p) * 1.1 for p in mine) if name != "Categorical" else ([0.3, 0.3, 0.4],)
    if name == "Logistic":
        with pytest.raises(ArgumentError, match="no formula"):
            make(*mine).kl_loss(name, *other)
        return
    a, b = make(*mine), make(*other)
    x = np.arange(60) if span is None else np.linspace(*span, 40001)
    x = x[: {"Bernoulli": 2, "Categorical": 3}.get(name, len(x))]
    questions = ((a, "prob"), (a, "log_prob"), (b, "log_prob"))
    p, log_p, log_q = (ask(dist, what, Tensor(x.astype(np.float32))) for dist, what in questions)
    with np.errstate(invalid="ignore"):
        wanted = np.where(p > 0, p * (log_p - log_q), 0.0).sum() * (1.0 if span is None else x[1] - x[0])
    tensors = [Tensor(np.asarray(value, np.float32)) for value in other]
    if name != "Uniform":
        np.testing.assert_allclose(ask(a, "kl_loss", name, *tensors), wanted, rtol=2e-2, atol=2e-3)
    same = [Tensor(np.asarray(value, np.float32)) for value in mine]
    np.testing.assert_allclose(ask(a, "kl_loss", name, *same), 0.0, atol=1e-5)


@pytest.mark.parametrize("name", [*CONTINUOUS, *COUNTS])
def test_draws_have_the_mean_of_the_distribution(mode: int, name: str) -> None:
    make, params, _ = CONTINUOUS[name] if name in CONTINUOUS else (*COUNTS[name], None)
    ms.set_seed(7)
    dist = make(*(params if name in CONTINUOUS else (params,)))
    found = ask(dist, "sample", (20000,))
    assert found.shape == (20000,)
    error = 5 * float(np.squeeze(ask(dist, "sd"))) / np.sqrt(20000)
    np.testing.assert_allclose(found.mean(), np.squeeze(ask(dist, "mean")), atol=error)


def test_a_seed_starts_a_stream_of_its_own(mode: int) -> None:
    one, two = msd.Normal(0.0, 1.0, seed=3), msd.Normal(0.0, 1.0, seed=3)
    first, second = Asked(one, "sample")((4,)).asnumpy(), Asked(one, "sample")((4,)).asnumpy()
    assert (first == Asked(two, "sample")((4,)).asnumpy()).all() and (first != second).any()


def test_parameters_come_with_the_question_or_before(mode: int) -> None:
    x, mean, sd = Tensor([0.5]), Tensor([1.0]), Tensor([2.0])
    wanted = msd.Normal(1.0, 2.0).log_prob(x).asnumpy()
    np.testing.assert_allclose(ask(msd.Normal(), "log_prob", x, mean, sd), wanted, rtol=1e-6)
    assert msd.Normal().get_dist_args() == [None, None] and msd.Normal().get_dist_type() == "Normal"
    np.testing.assert_allclose(msd.Normal(0.0, 1.0)("log_prob", x, mean=mean, sd=sd).asnumpy(), wanted, rtol=1e-6)
    with pytest.raises(ArgumentError, match="mean was not given"):
        msd.Normal(sd=1.0).log_prob(x)
    assert float(ms.grad(lambda m: msd.Normal(m, 2.0).log_prob(x).sum())(mean)[0]) == pytest.approx(-0.125)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: msd.Normal(0.0, -1.0), AttributeValueError),
        (lambda: msd.Bernoulli(1.5), AttributeValueError),
        (lambda: msd.Uniform(2.0, 1.0), AttributeValueError),
        (lambda: msd.Normal("0", 1.0), ArgumentError),
        (lambda: msd.Normal(0.0, 1.0, seed=1.5), ArgumentError),
        (lambda: msd.Normal(0.0, 1.0, dtype=ms.int32), DTypeError),
        (lambda: msd.Normal(0.0, 1.0).kl_loss("Gamma", 1.0, 1.0), AttributeValueError),
        (lambda: msd.Normal(0.0, 1.0).kl_loss("Normal", 1.0), ArgumentError),
        (lambda: msd.Normal(0.0, 1.0).prob("x"), ArgumentError),
        (lambda: msd.Normal(0.0, 1.0).prob(Tensor([1.0]), width=1.0), ArgumentError),
        (lambda: msd.Cauchy(0.0, 1.0).mean(), ArgumentError),
        (lambda: msd.TransformedDistribution(1, 2), ArgumentError),
    ],
)
def test_wrong_requests(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_densities_of_tails(mode: int) -> None:
    x = np.array([-2.0, 0.3, 4.0], np.float32)
    at, z = Tensor(x), x.astype(np.float64) - 0.5
    found = ask(msd.Laplace(0.5, 2.0), "log_prob", at)
    np.testing.assert_allclose(found, -np.abs(z) / 2 - np.log(4.0), rtol=1e-5)
    found = ask(msd.HalfNormal(0.5, 2.0), "prob", at)
    np.testing.assert_allclose(found, np.where(z < 0, 0, np.exp(-(z**2) / 8) / np.sqrt(2 * np.pi)), rtol=1e-5)
    found = ask(msd.StudentT(1.0, 0.5, 2.0), "log_prob", at)
    np.testing.assert_allclose(found, ask(msd.Cauchy(0.5, 2.0), "log_prob", at), rtol=1e-5)


def test_cross_entropy(mode: int) -> None:
    a, b = msd.Normal(0.0, 1.0), (Tensor(1.0), Tensor(2.0))
    wanted = ask(a, "entropy") + ask(a, "kl_loss", "Normal", *b)
    np.testing.assert_allclose(ask(a, "cross_entropy", "Normal", *b), wanted, rtol=1e-6)


class Waiting(msd.Distribution):
    """Exponential waiting times, as programs of users write a distribution."""

    def __init__(self, rate: Any = None, seed: Any = None, dtype: Any = ms.float32, name: str = "Waiting") -> None:
        param = dict(locals())
        param["param_dict"] = {"rate": rate}
        super().__init__(seed, dtype, name, param)
        self._rate = self._add_parameter(rate, "rate")

    def _mean(self, rate: Any = None) -> Any:
        return 1.0 / self._check_param_type(rate)

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._check_value(value, "value"), self._check_param_type(rate)
        return ms.ops.log(rate) - rate * value


def test_distributions_of_users(mode: int) -> None:
    value, rate = np.array([0.5, 0.25], np.float32), np.array([1.0, 2.0], np.float32)
    wanted = np.log(rate) - rate * value
    made, open_ = Waiting(Tensor(rate)), Waiting()
    np.testing.assert_allclose(Asked(made, "log_prob")(Tensor(value)).asnumpy(), wanted, 1e-6)
    np.testing.assert_allclose(Asked(made, "prob")(Tensor(value)).asnumpy(), np.exp(wanted), 1e-6)
    np.testing.assert_allclose(Asked(open_, "log_prob")(Tensor(value), Tensor(rate)).asnumpy(), wanted, 1e-6)
    assert made.mean().asnumpy().tolist() == [1.0, 0.5] and made._rate.asnumpy().tolist() == rate.tolist()
    with pytest.raises(NotImplementedError, match="Waiting has no formula for entropy"):
        Asked(made, "entropy")()
    with pytest.raises(TypeError, match="rate was not given"):
        Asked(open_, "log_prob")(Tensor(value))


@pytest.mark.parametrize("name", ["LogNormal", "Uniform", "Exponential"])
def test_nothing_lies_below_the_values_of_a_distribution(mode: int, name: str) -> None:
    make, params, _ = CONTINUOUS[name]
    below = Tensor([-2.0, -1.5])
    found = {what: ask(make(*params), what, below).tolist() for what in ("cdf", "survival_function", "log_survival")}
    assert found == {"cdf": [0, 0], "survival_function": [1, 1], "log_survival": [0, 0]}
