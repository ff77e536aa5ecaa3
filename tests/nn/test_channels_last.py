"""data_format="NHWC": the layers and ops on images with their channels last give what NCHW gives, gradients too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import AttributeValueError
from msnb.ir.builder import build
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD, CONV2D_WEIGHT_GRAD
from msnb.ops.spatial.pooling_records import AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D, MAX_POOL2D_GRAD, MAX_POOL2D_PICK


def last(x: Any) -> Any:
    return np.moveaxis(x, 1, 3)


def first(x: Any) -> Any:
    return np.moveaxis(np.asarray(x), 3, 1)


LAYERS = {
    "conv": lambda f: nn.Conv2d(4, 6, 3, stride=2, has_bias=True, weight_init=0.3, bias_init=0.25, group=2,
                              data_format=f),
    "depthwise": lambda f: nn.Conv2d(4, 4, (3, 2), pad_mode="pad", padding=(1, 0, 2, 1), group=4, weight_init=0.5,
                                     data_format=f),
    "max": lambda f: nn.MaxPool2d(3, 2, pad_mode="pad", padding=1, data_format=f),
    "avg": lambda f: nn.AvgPool2d((2, 3), 2, pad_mode="same", data_format=f),
    "ceil": lambda f: nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=False, data_format=f),
    "norm": lambda f: nn.BatchNorm2d(4, gamma_init=2.0, beta_init=0.5, data_format=f).set_train(),
    "running": lambda f: nn.BatchNorm2d(4, moving_mean_init=0.25, data_format=f),
}  # fmt: skip


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_do_the_same_on_turned_images(make: Any, mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4, 7, 6)).astype(np.float32)
    found = []
    for form, images in (("NCHW", x), ("NHWC", last(x))):
        layer = make(form)
        value, grads = ms.value_and_grad(lambda t, layer=layer: (ops.sin(layer(t)) * 3.0).sum(), 0,
                                         layer.trainable_params() or None)(ms.Tensor(images))  # fmt: skip
        inner, weights = grads if layer.trainable_params() else (grads, ())
        y = layer(ms.Tensor(images)).asnumpy()
        found.append((float(value), *((y, inner.asnumpy()) if form == "NCHW" else (first(y), first(inner.asnumpy()))),
                      *[w.asnumpy() for w in weights]))  # fmt: skip
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)


_ATTRS = {"stride": (2, 1), "pads": (1, 0, 0, 2), "dilation": (1, 2), "groups": 2}
_WINDOW = {"kernel": (3, 2), "stride": (2, 1), "pads": (1, 1, 0, 1), "ceil_mode": True}
X, W, Y = (2, 4, 5, 6), (6, 2, 2, 3), (2, 6, 3, 4)
POOLED = (2, 4, 3, 6)
RECORDS = [
    (CONV2D, (X, W), _ATTRS, (0,), True),
    (CONV2D_INPUT_GRAD, (Y, W), {"size": (5, 6), **_ATTRS}, (0,), True),
    (CONV2D_WEIGHT_GRAD, (X, Y), {"kernel": (2, 3), **_ATTRS}, (0, 1), False),
    (MAX_POOL2D, (X,), _WINDOW, (0,), True),
    (MAX_POOL2D_GRAD, (X, POOLED, POOLED), _WINDOW, (0, 1, 2), True),
    (MAX_POOL2D_PICK, (X, POOLED, X), _WINDOW, (0, 1, 2), True),
    (AVG_POOL2D, (X,), _WINDOW, (0,), True),
    (AVG_POOL2D_GRAD, (POOLED,), {"size": (5, 6), **_WINDOW}, (0,), True),
]


@pytest.mark.parametrize("op, shapes, attrs, images, result", RECORDS, ids=[r[0].name for r in RECORDS])
@pytest.mark.parametrize("lanes", [(True, False, False), (False, True, True), (True, True, True)])
def test_lanes_of_vmap_on_turned_images(
    op: Any, shapes: Any, attrs: Any, images: Any, result: bool, lanes: Any, rng: np.random.Generator
) -> None:
    lanes = lanes[: len(shapes)] if any(lanes[: len(shapes)]) else (True,) * len(shapes)
    plain = [rng.integers(-8, 9, (3, *s) if b else s).astype(float) for s, b in zip(shapes, lanes)]
    turned = [np.moveaxis(t, -3, -1) if i in images else t for i, t in enumerate(plain)]
    axes = tuple(0 if b else None for b in lanes)
    expected = ms.vmap(lambda *t: op(*t, **attrs), axes)(*map(ms.Tensor, plain)).asnumpy()
    got = ms.vmap(lambda *t: op(*t, data_format="NHWC", **attrs), axes)(*map(ms.Tensor, turned)).asnumpy()
    np.testing.assert_allclose(np.moveaxis(got, -1, -3) if result else got, expected, atol=1e-12)


def test_the_default_is_not_printed() -> None:
    x, w = ms.Tensor(np.ones(X)), ms.Tensor(np.ones(W))
    types = (x._type, w._type)
    assert "data_format" not in str(build("f", types, lambda x, w: CONV2D(x, w, groups=2)))
    types = (ms.Tensor(last(np.ones(X)))._type, w._type)
    assert 'data_format="NHWC"' in str(build("f", types, lambda x, w: CONV2D(x, w, groups=2, data_format="NHWC")))


def test_operator_classes_take_both_formats(rng: np.random.Generator) -> None:
    x, w = rng.standard_normal((1, 2, 5, 5)), rng.standard_normal((4, 2, 3, 3))
    for make, more in (
        (lambda f: ops.Conv2D(4, 3, data_format=f), (ms.Tensor(w),)),
        (lambda f: ops.MaxPool(2, 2, data_format=f), ()),
        (lambda f: ops.AvgPool(3, 1, "SAME", f), ()),
    ):
        got = make("NHWC")(ms.Tensor(last(x)), *more).asnumpy()
        np.testing.assert_allclose(first(got), make("NCHW")(ms.Tensor(x), *more).asnumpy(), atol=1e-12)


def test_batch_norm_needs_an_axis_of_channels() -> None:
    with pytest.raises(AttributeValueError, match="axis must be from 1 to 3"):
        ops.batch_norm_train(ops.ones((1, 2, 3, 4)), axis=4)
    assert nn.BatchNorm1d(3, data_format="NHWC")(ops.ones((2, 5, 3))).shape == (2, 5, 3)
    assert nn.BatchNorm1d(3, data_format="NHWC")(ops.ones((2, 3))).shape == (2, 3)
