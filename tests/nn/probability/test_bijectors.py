"""Bijectors: there and back, stretch as the derivative, and distributions seen through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn
from msnb.base.errors import ArgumentError, AttributeValueError
from msnb.nn.probability import bijector as msb, distribution as msd

BIJECTORS: dict[str, Any] = {
    "Exp": lambda: msb.Exp(),
    "PowerTransform": lambda: msb.PowerTransform(0.5),
    "ScalarAffine": lambda: msb.ScalarAffine(-2.0, 1.0),
    "Softplus": lambda: msb.Softplus(1.5),
    "GumbelCDF": lambda: msb.GumbelCDF(0.5, 2.0),
    "Invert": lambda: msb.Invert(msb.ScalarAffine(3.0, -1.0)),
}
X = np.array([-1.5, -0.25, 0.0, 0.75, 1.25], np.float32)


class Asked(nn.Cell):
    def __init__(self, bijector: Any, what: str) -> None:
        super().__init__()
        self.bijector, self.what = bijector, what

    def construct(self, value: Tensor) -> Tensor:
        return getattr(self.bijector, self.what)(value)


@pytest.mark.parametrize("name", BIJECTORS)
def test_there_and_back(mode: int, name: str) -> None:
    bijector, x = BIJECTORS[name](), Tensor(X)
    y = Asked(bijector, "forward")(x)
    np.testing.assert_allclose(Asked(bijector, "inverse")(y).asnumpy(), X, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(bijector(x).asnumpy(), y.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(bijector("inverse", y).asnumpy(), X, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", BIJECTORS)
def test_stretch_is_the_derivative(mode: int, name: str) -> None:
    bijector, x = BIJECTORS[name](), Tensor(X)
    slope = ms.grad(lambda t: bijector.forward(t).sum())(x).asnumpy()
    found = Asked(bijector, "forward_log_jacobian")(x).asnumpy()
    np.testing.assert_allclose(found, np.log(np.abs(slope)), rtol=1e-4, atol=1e-5)
    back = Asked(bijector, "inverse_log_jacobian")(bijector.forward(x)).asnumpy()
    np.testing.assert_allclose(back, -found, rtol=1e-3, atol=1e-4)


def test_distributions_through_bijectors(mode: int) -> None:
    x = Tensor([0.5, 1.5, 3.0])
    through, known = msb.Exp()(msd.Normal(0.3, 0.4)), msd.LogNormal(0.3, 0.4)
    assert isinstance(through, msd.TransformedDistribution)
    for what in ("prob", "log_prob", "cdf"):
        found = getattr(through, what)(x).asnumpy()
        np.testing.assert_allclose(found, getattr(known, what)(x).asnumpy(), rtol=1e-5)
    line = msd.TransformedDistribution(msb.ScalarAffine(-2.0, 1.0), msd.Normal(0.5, 1.0))
    wanted = msd.Normal(0.0, 2.0)
    np.testing.assert_allclose(line.cdf(x).asnumpy(), wanted.cdf(x).asnumpy(), rtol=1e-5)
    assert (line.mean().item(), line.entropy().item()) == pytest.approx((0.0, wanted.entropy().item()))
    ms.set_seed(3)
    assert abs(line.sample((20000,)).asnumpy().mean()) < 0.1
    with pytest.raises(ArgumentError, match="no line"):
        through.mean()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: msb.PowerTransform(-1.0), AttributeValueError),
        (lambda: msb.ScalarAffine(0.0), AttributeValueError),
        (lambda: msb.GumbelCDF(0.0, -1.0), AttributeValueError),
        (lambda: msb.Invert(3), ArgumentError),
        (lambda: msb.Exp().forward(1.0), ArgumentError),
        (lambda: msb.Bijector().forward(Tensor([1.0])), ArgumentError),
    ],
)
def test_wrong_requests(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
