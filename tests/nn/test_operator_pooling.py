"""Layers around other poolings and measures of images, and Tensor's methods of the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import AttributeValueError, DTypeError, ShapeError

RNG = np.random.default_rng(23)
IMAGES = ms.Tensor(RNG.uniform(0.1, 1, (2, 3, 12, 12)).astype(np.float32))
VOLUME = ms.Tensor(RNG.normal(size=(1, 2, 4, 4, 4)).astype(np.float32))
ROWS = ms.Tensor(RNG.normal(size=(2, 3, 8)).astype(np.float32))
AT = ms.Tensor(RNG.uniform(size=(2, 3, 2)).astype(np.float32))
LAYERS: dict[str, tuple[Any, Any, Any]] = {
    "AdaptiveMaxPool1d": (nn.AdaptiveMaxPool1d(3), ROWS, lambda x: ops.adaptive_max_pool1d(x, 3)),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d((2, None)), IMAGES, lambda x: ops.adaptive_max_pool2d(x, (2, None))),
    "AdaptiveMaxPool3d": (nn.AdaptiveMaxPool3d(2), VOLUME, lambda x: ops.adaptive_max_pool3d(x, 2)),
    "FractionalMaxPool2d": (nn.FractionalMaxPool2d(2, (5, 7), _random_samples=AT), IMAGES,
                            lambda x: ops.fractional_max_pool2d(x, 2, (5, 7), None, False, AT)),
    "LPPool1d": (nn.LPPool1d(2, 2), ROWS, lambda x: ops.lp_pool1d(x, 2, 2)),
    "LPPool2d": (nn.LPPool2d(3, 2, 1), IMAGES, lambda x: ops.lp_pool2d(x, 3, 2, 1)),
    "LRN": (nn.LRN(1), IMAGES, lambda x: ops.lrn(x, 1)),
    "LGamma": (nn.LGamma(), IMAGES, ops.lgamma),
    "ReduceLogSumExp": (nn.ReduceLogSumExp(1), IMAGES, lambda x: ops.logsumexp(x, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_its_function(name: str) -> None:
    layer, x, fn = LAYERS[name]
    np.testing.assert_allclose(layer(x).asnumpy(), fn(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(ms.jit(layer)(x).asnumpy(), fn(x).asnumpy(), rtol=1e-5)
    slope = ms.grad(lambda t: layer(t).sum())(x)
    assert slope.shape == x.shape and np.isfinite(slope.asnumpy()).all()


def test_maxima_of_a_pooling_go_back() -> None:
    for pool, unpool, x, size in ((nn.AdaptiveMaxPool1d, nn.MaxUnpool1d, ROWS, 4),
                                  (nn.AdaptiveMaxPool2d, nn.MaxUnpool2d, IMAGES, 6),
                                  (nn.AdaptiveMaxPool3d, nn.MaxUnpool3d, VOLUME, 2)):  # fmt: skip
        values, places = pool(size, return_indices=True)(x)
        back = unpool(2)(values, places)
        assert back.shape == x.shape
        np.testing.assert_allclose(back.sum().item(), values.sum().item(), rtol=1e-5)


def test_alike_images() -> None:
    net = nn.SSIM(filter_size=5)
    np.testing.assert_allclose(net(IMAGES, IMAGES).asnumpy(), 1, rtol=1e-5)
    darker = net(IMAGES, IMAGES * 0.5).asnumpy()
    assert (darker < 0.9).all()
    np.testing.assert_allclose(ms.jit(net)(IMAGES, IMAGES * 0.5).asnumpy(), darker, rtol=1e-4)
    with pytest.raises(ShapeError, match="two batches"):
        nn.SSIM()(IMAGES[:, :, :4], IMAGES[:, :, :4])
    with pytest.raises(AttributeValueError, match="numbers above 0"):
        nn.SSIM(max_val=0)


def test_methods_of_tensors_are_the_functions() -> None:
    x = ms.Tensor([[4.0, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(x.lgamma().asnumpy(), ops.lgamma(x).asnumpy())
    np.testing.assert_array_equal(x.digamma().asnumpy(), ops.digamma(x).asnumpy())
    assert [t.tolist() for t in x.argmax_with_value(1)] == [[4.0, 3.0], [0, 1]]
    assert x.argmin_with_value(0, keep_dims=True)[0].tolist() == [[2.0, 1.0]]
    assert x.top_k(1)[0].tolist() == [[4.0], [3.0]] and x.inv().tolist()[0] == [0.25, 1.0]
    solved, kept = ms.Tensor([[2.0], [9.0]]).triangular_solve(ms.Tensor([[2.0, 0.0], [1.0, 4.0]]), upper=False)
    assert solved.tolist() == [[1.0], [2.0]] and kept.shape == (2, 2)
    assert x.scatter_sub(ms.Tensor([[0]]), ms.Tensor([[1.0, 1.0]])).tolist() == [[3.0, 0.0], [2.0, 3.0]]
    y = ms.Tensor([0.5])
    y.erfinv_()
    np.testing.assert_allclose(y.asnumpy(), ops.erfinv(ms.Tensor([0.5])).asnumpy())
    with pytest.raises(DTypeError):
        x.gcd(x)
