"""Settings of layers, schedules and distributions that are refused when the object is made: kinds and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn

D = nn.probability.distribution
B = nn.probability.bijector
COLUMN, LONGER = [[2.0], [1.0]], [[2.0], [3.0], [4.0]]
NAMED: list[Callable[..., Any]] = [
    D.Normal, D.Uniform, D.Logistic, D.LogNormal, D.Cauchy, lambda name: D.Gumbel(0.0, 1.0, name=name),
    lambda name: D.Bernoulli([0.1], name=name),
    lambda name: D.Categorical([0.1, 0.9], name=name), lambda name: D.Exponential([0.1], name=name), B.Exp, B.Softplus,
    B.ScalarAffine, B.PowerTransform, B.GumbelCDF, lambda name: B.Invert(B.Exp(), name=name),
    lambda name: D.TransformedDistribution(B.Exp(), D.Normal(0.0, 1.0), name=name),
]  # fmt: skip


def test_a_name_is_a_str(mode: int) -> None:
    for made in NAMED:
        assert made(name="own").name == "own"
        with pytest.raises(TypeError, match="name is a str"):
            made(name=1.0)


def test_parameters_of_a_distribution_broadcast(mode: int) -> None:
    for kind in (D.Normal, D.LogNormal, D.Logistic, D.Gumbel, D.Cauchy, D.Laplace, D.HalfNormal, D.Beta, D.Gamma):
        assert kind(COLUMN, [[2.0, 3.0]]) is not None
        with pytest.raises(ValueError, match="do not broadcast"):
            kind(COLUMN, LONGER)


def test_probabilities(mode: int) -> None:
    for kind in (D.Bernoulli, D.Geometric):
        for wrong in (0.0, 1.0, -0.1, 1.1):
            with pytest.raises(ValueError, match="above 0 and below 1"):
                kind([wrong])
    for shares in ([0.1, 0.2], [[0.5, 0.5], [0.5, 0.6]]):
        for given in (shares, Tensor(shares)):
            with pytest.raises(ValueError, match="sum to 1"):
                D.Categorical(given)
    assert D.Categorical(np.full(1000, 0.001, np.float32)) is not None
    for make in (lambda: D.Bernoulli([0.1], dtype=ms.bool_), lambda: D.Poisson([0.1], dtype=ms.bool_)):
        with pytest.raises(TypeError, match="dtype"):
            make()
    assert D.Bernoulli([0.1], dtype=ms.float32).sample((3,)).dtype is ms.float32


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1, 1),
        lambda: nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 1, 1),
        lambda: nn.inverse_decay_lr(0.1, 0.9, 6, 2, 1, 1),
        lambda: nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 1, 0.5, 1),
        lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, 1),
        lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5, 1),
        lambda: nn.SSIM(max_val=True),
        lambda: nn.SSIM(filter_size=1.1),
        lambda: nn.SSIM(k1="a"),
        lambda: nn.MSSSIM(max_val=True),
        lambda: nn.MSSSIM(filter_size=1.1),
        lambda: nn.PSNR(max_val=True),
        lambda: nn.CentralCrop(True),
        lambda: nn.Rprop([ms.Parameter([1.0], name="w")], etas=[0.5, 1.2]),
        lambda: nn.PSNR()(ms.ops.ones((1, 3, 4, 4)), ms.ops.ones((1, 3, 4, 4), ms.float16)),
    ],
)
def test_wrong_kinds(make: Callable[[], Any], mode: int) -> None:
    with pytest.raises(TypeError):
        make()


def test_wrong_values(mode: int) -> None:
    with pytest.raises(ValueError, match="two numbers"):
        nn.Rprop([ms.Parameter([1.0], name="w")], etas=(0.5, 1.2, 3.0))
    with pytest.raises(ValueError, match="3 or 4 axes"):
        nn.CentralCrop(0.5)(ms.ops.ones((8, 3, 16, 16, 1)))
    assert nn.CentralCrop(1)(ms.ops.ones((3, 4, 4))).shape == (3, 4, 4)
    assert nn.SSIM(np.float32(1.0)).max_val == 1.0
