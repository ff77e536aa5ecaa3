"""``Cell.to``: Parameters and buffers in another dtype, or on another device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn


class Shifted(nn.Cell):
    def __init__(self, shift: Tensor) -> None:
        super().__init__()
        self.dense: nn.Dense = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        self.register_buffer("shift", shift)
        self.register_buffer("places", Tensor([1, 0]))
        self.register_buffer("absent", None)

    def construct(self, x: Any) -> Any:
        return self.dense(x) + self.shift


def test_parameters_and_buffers_take_a_dtype(mode: int) -> None:
    shift = Tensor([0.5])
    net = Shifted(shift)
    run = ms.jit(net) if mode == ms.GRAPH_MODE else net
    weight, optimizer = net.dense.weight, nn.SGD(net.trainable_params(), 0.5)
    x = Tensor([[1.0, 2.0]])
    assert run(x).tolist() == [[3.5]]
    assert net.to(ms.float16) is net
    assert net.dense.weight is weight is optimizer.parameters[0] and weight.dtype == ms.float16
    assert (net.shift.dtype, net.places.dtype, shift.dtype) == (ms.float16, ms.int64, ms.float32)
    out = run(x.astype(ms.float16))
    assert out.dtype == ms.float16 and out.tolist() == [[3.5]]
    grads = ms.grad(net, None, optimizer.parameters)(x.astype(ms.float16))
    optimizer(grads)
    np.testing.assert_allclose(weight.asnumpy(), [[0.5, 0.0]])
    net.to(Tensor(1.0))
    assert run(x).dtype == net.to(device="cpu").dense.weight.dtype == ms.float32
    assert net.to("CPU", ms.bfloat16).shift.dtype == ms.bfloat16 and weight.device == "CPU"


def test_what_is_no_dtype_of_floats_or_device_is_refused() -> None:
    net = nn.Dense(2, 1)
    for wrong, error in ((ms.int32, TypeError), (3, TypeError), ("nowhere", ValueError)):
        with pytest.raises(error):
            net.to(wrong)
    assert net.weight.dtype == ms.float32
