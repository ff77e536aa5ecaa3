"""Mean and variance that a normalising primitive gives beside its result hand no gradient on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops

X = Tensor(np.array([[1.0, 2.0, 4.0], [1.0, 5.0, 3.0]], np.float32))
SCALE, BIAS = Tensor([1.0, 2.0, 3.0]), Tensor([0.5, 0.0, -1.0])
MEAN, VARIANCE = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 1.0, 2.0])


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    return ops.LayerNorm()(x, scale, bias)


def batch_norm(x: Any, scale: Any, bias: Any) -> Any:
    return ops.BatchNorm(is_training=True)(x, scale, bias, MEAN, VARIANCE)


def rms_norm(x: Any, scale: Any, bias: Any) -> Any:
    import mindspore

    out, root = mindspore.ops.rms_norm(x, scale)
    return out + bias, root, root


def add_rms_norm(x: Any, scale: Any, bias: Any) -> Any:
    out, root, _ = ops.add_rms_norm(x, x * 0.5, scale)
    return out + bias, root, root


def add_layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    return ops.add_layer_norm(x, x * x, scale, bias)[:3]


def gradients(fn: Any, *inputs: Any) -> list[Any]:
    return [np.round(g.asnumpy(), 4).tolist() for g in ms.grad(fn, (0, 1, 2))(*inputs)]


@pytest.mark.parametrize("norm", [layer_norm, batch_norm, rms_norm, add_rms_norm, add_layer_norm])
def test_gradients_of_statistics(mode: int, norm: Any) -> None:
    weights = Tensor([[1.0, -2.0, 0.5], [3.0, 1.0, -1.0]])
    alone = gradients(lambda *a: norm(*a)[0] * weights, X, SCALE, BIAS)
    beside = gradients(lambda *a: [norm(*a)[0] * weights, *norm(*a)[1:]], X, SCALE, BIAS)
    assert beside == alone and np.abs(alone[0]).max() > 0.05
    for place in (1, 2):
        assert not any(np.any(g) for g in gradients(lambda *a: norm(*a)[place], X, SCALE, BIAS))


def test_values_of_statistics(mode: int) -> None:
    found = batch_norm(X, SCALE, BIAS)
    np.testing.assert_allclose(found[1].asnumpy(), X.asnumpy().mean(0), 1e-5)
    np.testing.assert_allclose(found[2].asnumpy(), X.asnumpy().var(0), 1e-5, 1e-6)
    mean, variance = ms.Parameter(MEAN, name="mean"), ms.Parameter(VARIANCE, name="variance")
    ops.BatchNorm(is_training=True, momentum=0.5)(X, SCALE, BIAS, mean, variance)
    np.testing.assert_allclose(mean.asnumpy(), (MEAN.asnumpy() + X.asnumpy().mean(0)) / 2, 1e-5)
    np.testing.assert_allclose(variance.asnumpy(), (VARIANCE.asnumpy() + X.asnumpy().var(0, ddof=1)) / 2, 1e-5)


def test_norms_of_wrong_inputs(mode: int) -> None:
    with pytest.raises(ValueError):
        ops.LayerNorm()(X, Tensor([1.0, 2.0]), BIAS)
    with pytest.raises(ValueError):
        ops.BatchNorm(is_training=True, data_format="NCH")(X, SCALE, BIAS, MEAN, VARIANCE)
