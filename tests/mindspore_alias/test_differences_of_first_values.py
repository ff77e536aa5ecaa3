"""Rows of the table of differences about the first values of Parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb
from msnb.as_mindspore import uninstall


def test_first_values_into_a_tensor(mode: int) -> None:
    from mindspore.common.initializer import Constant, Initializer, Normal

    class Half(Initializer):
        def _initialize(self, arr: Any) -> None:
            arr[...] = 0.5

    array, net = np.zeros((2, 3), np.int32), msnb.nn.Dense(40, 30)
    assert Constant(3.0)(array) is None and (array == 3).all()
    assert Constant(0.25)(net.bias) is None and net(msnb.ops.zeros((1, 40))).tolist() == [[0.25] * 30]
    Half()(net.bias)
    Normal(5.0)(net.weight)
    assert net.bias.tolist() == [0.5] * 30 and 4 < net.weight.asnumpy().std() < 6
    assert net.weight.dtype == msnb.float32 and Constant(1)((2,)).tolist() == [1.0, 1.0]


def test_truncated_first_values(mode: int) -> None:
    from mindspore.common.initializer import VarianceScaling, initializer

    for kind, wanted in {"truncated_normal": 2.36, "untruncated_normal": 3.0, "uniform": 1.8}.items():
        x = initializer(VarianceScaling(2.0, "fan_avg", kind), (300, 500)).asnumpy()
        assert x.std() == pytest.approx((2.0 / 400) ** 0.5, rel=0.02)
        assert (x**4).mean() / x.var() ** 2 == pytest.approx(wanted, rel=0.03), "the fourth moment tells the shape"
    for wrong in ((-1.0,), (1.0, "fan"), (1.0, "fan_in", "normal")):
        with pytest.raises(ValueError, match="VarianceScaling"):
            VarianceScaling(*wrong)


def test_first_values_and_numpys_seed() -> None:
    found = [(seed(1), msnb.nn.Dense(2, 2).weight.tolist())[1] for seed in (msnb.set_seed, np.random.seed) * 2]
    assert found[0] == found[2] and found[1] == found[3] != found[0]


def test_dtype_of_first_values(mode: int) -> None:
    """Half-precision first values make a layer of half precision, which answers so."""
    from mindspore.common.initializer import initializer

    ms, nn, Tensor = msnb, msnb.nn, msnb.Tensor
    halves = lambda *shape: Tensor(np.ones(shape, np.float16))
    x = Tensor(np.arange(8, dtype=np.float16).reshape(1, 2, 2, 2))
    for layer in (
        nn.Dense(2, 3, weight_init=halves(3, 2), bias_init=halves(3)),
        nn.Conv2d(2, 3, 1, weight_init=halves(3, 2, 1, 1), has_bias=True, bias_init=halves(3)),
        nn.BatchNorm2d(2, 1e-5, 0.9, True, halves(2), halves(2), halves(2), halves(2)),
        nn.LayerNorm([2], gamma_init=halves(2), beta_init=halves(2)),
    ):
        assert {p.dtype for p in layer.get_parameters()} == {ms.float16}
        assert layer(x).dtype is ms.float16 and ms.grad(lambda x: layer(x).sum())(x).dtype is ms.float16
    made = initializer(halves(2), [2], ms.float32)
    assert made.dtype is ms.float16 and initializer("ones", [2], ms.float16).dtype is ms.float16
    with pytest.raises(ValueError, match="has shape"):
        initializer(halves(2), [3], ms.float32)
    uninstall()
    assert initializer(halves(2), [2], ms.float32).dtype is ms.float32
    assert nn.Dense(2, 3, weight_init=halves(3, 2)).weight.dtype is ms.float32
