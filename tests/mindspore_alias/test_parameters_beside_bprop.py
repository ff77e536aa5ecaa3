"""Parameters that a Cell with a bprop of its own reads: their gradient is zero in MindSpore, and an error here."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, nn, ops


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.scale = ms.Parameter(Tensor([3.0]), name="scale")

    def construct(self, x: Any) -> Any:
        return x * self.scale

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout * 10,)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Scaled()
        self.bias = ms.Parameter(Tensor([1.0]), name="bias")

    def construct(self, x: Any) -> Any:
        return self.inner(x) * 2 + self.bias


def test_their_gradient_is_zero(mode: int) -> None:
    net, x = Net(), Tensor([1.0, 2.0])
    weights = [net.inner.scale, net.bias]
    by_x, by_weights = ops.GradOperation(get_all=True, get_by_list=True)(net, ms.ParameterTuple(weights))(x)
    assert by_x[0].tolist() == [20.0, 20.0] and [g.tolist() for g in by_weights] == [[0.0], [2.0]]
    assert [g.tolist() for g in ms.grad(net, None, weights)(x)] == [[0.0], [2.0]]


def test_it_is_an_error_of_msnb(mode: int) -> None:
    from msnb.as_mindspore import install, uninstall

    uninstall()
    try:
        net = Net()
        with pytest.raises(ms.MsnbError, match="reads from outside"):
            ms.grad(net, None, [net.inner.scale])(Tensor([1.0, 2.0]))
    finally:
        install()
