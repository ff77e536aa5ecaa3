"""Gamma and Poisson draws: mean and variance, both modes alike, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError

N = 40000


@pytest.mark.parametrize("rate", [0.0, 0.3, 4.0, 9.99, 10.0, 60.0, 1e5])
def test_poisson(mode: int, rate: float) -> None:
    ms.set_seed(11)
    x = ops.random_poisson((N,), Tensor(rate), dtype=ms.float64).asnumpy()
    assert (x == np.floor(x)).all() and (x >= 0).all()
    np.testing.assert_allclose(x.mean(), rate, atol=6 * np.sqrt(rate / N) + 1e-9)
    np.testing.assert_allclose(x.var(), rate, rtol=0.1, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0, 5.0, 300.0])
def test_gamma(mode: int, alpha: float) -> None:
    ms.set_seed(12)
    x = ops.gamma((N,), Tensor(alpha), Tensor(2.0)).asnumpy().astype(np.float64)
    np.testing.assert_allclose(x.mean(), alpha / 2, atol=6 * np.sqrt(alpha / N) / 2)
    np.testing.assert_allclose(x.var(), alpha / 4, rtol=0.15)


def test_both_modes_and_seeds_draw_alike() -> None:
    rate, drawn = Tensor([[2.0, 30.0]]), []
    for fn in (ops.random_poisson, ms.jit(lambda shape, rate: ops.random_poisson((3,), rate))):
        ms.set_seed(5)
        drawn.append(fn((3,), rate))
    assert drawn[0].shape == (3, 1, 2) and (drawn[0] == drawn[1]).all()
    assert (ops.random_gamma((3,), rate, 9) == ops.random_gamma((3,), rate, 9)).all()
    assert (ops.random_gamma((3,), rate) != ops.random_gamma((3,), rate)).any()
    one = ops.RandomPoisson(seed=4)
    assert (one(Tensor([8]), Tensor(50.0)) != one(Tensor([8]), Tensor(50.0))).any()
    assert ops.RandomGamma(seed=4)(Tensor([3, 2]), Tensor([1.0], ms.float64)).dtype is ms.float64


def test_no_gradient_flows_through_a_draw(mode: int) -> None:
    assert ms.grad(lambda a: ops.random_gamma((4,), a).sum() + a.sum())(Tensor([2.0])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("fn", "error"),
    [
        (lambda: ops.random_poisson((-1,), Tensor(1.0)), AttributeValueError),
        (lambda: ops.random_poisson(Tensor([[1]]), Tensor(1.0)), AttributeValueError),
        (lambda: ops.random_poisson(Tensor([1.0]), Tensor(1.0)), DTypeError),
        (lambda: ops.random_poisson(1.0, Tensor(1.0)), DTypeError),
        (lambda: ops.random_poisson((2,), Tensor(True)), DTypeError),
        (lambda: ops.random_poisson((2,), Tensor(1.0), dtype=ms.int8), DTypeError),
        (lambda: ops.random_poisson((2,), Tensor(1.0), 1.5), ArgumentError),
        (lambda: ops.random_poisson((2,), Tensor(1.0), -1), AttributeValueError),
        (lambda: ops.random_gamma((2,), Tensor([1])), DTypeError),
    ],
)
def test_wrong_requests(fn: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        fn()
