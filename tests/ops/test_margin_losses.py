"""Losses by margins over classes, against loops; what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import AttributeValueError, ShapeError

RNG = np.random.default_rng(24)
X, T, W = RNG.normal(size=(4, 3)), RNG.integers(0, 3, 4), RNG.uniform(0.5, 1, 3)


@pytest.mark.parametrize("p", [1, 2])
def test_margins_are_counted_over_other_classes(p: int) -> None:
    want = [sum(W[t] * max(0, 0.7 - x[t] + x[c]) ** p for c in range(3) if c != t) / 3 for x, t in zip(X, T)]

    def loss(x: ms.Tensor, t: ms.Tensor) -> ms.Tensor:
        return ops.multi_margin_loss(x, t, p, 0.7, ms.Tensor(W), "none")

    for fn in (loss, ms.jit(loss)):
        np.testing.assert_allclose(fn(ms.Tensor(X), ms.Tensor(T)).asnumpy(), want, rtol=1e-12)
    assert ms.grad(lambda x: loss(x, ms.Tensor(T)).sum())(ms.Tensor(X)).shape == X.shape


def test_labels_of_each_class() -> None:
    t = (X > 0).astype(np.float64)
    want = -(t * np.log(1 / (1 + np.exp(-X))) + (1 - t) * np.log(1 / (1 + np.exp(X)))) * W
    have = ops.multilabel_soft_margin_loss(ms.Tensor(X), ms.Tensor(t), ms.Tensor(W), "none")
    np.testing.assert_allclose(have.asnumpy(), want.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(ops.fast_gelu(ms.Tensor(X)).asnumpy(), X / (1 + np.exp(-1.702 * X)), rtol=1e-12)


def test_they_refuse() -> None:
    x, t = ms.Tensor(X), ms.Tensor(T)
    with pytest.raises(ShapeError, match="values and"):
        ops.multi_margin_loss(x, t[:2])
    with pytest.raises(AttributeValueError, match="p is 1 or 2"):
        ops.multi_margin_loss(x, t, 3)
    with pytest.raises(AttributeValueError, match="reduction"):
        ops.multi_margin_loss(x, t, reduction="max")
