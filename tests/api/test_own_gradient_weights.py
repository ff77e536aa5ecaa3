"""Functions with a bprop of their own that read weights: their gradient is an error, never a silent zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import nn
from msnb.base.errors import GradientError

Mode = Callable[[Callable[..., Any]], Callable[..., Any]]


@pytest.fixture(params=["eager", "graph"])
def run(request: pytest.FixtureRequest) -> Mode:
    return (lambda fn: fn) if request.param == "eager" else ms.jit


class Scaled(nn.Cell):
    """bprop gives 10 times the gradient by x."""

    def __init__(self) -> None:
        super().__init__()
        self.w = ms.Parameter([3.0], name="w")

    def construct(self, x: Any) -> Any:
        return x * self.w

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout * self.w * 10,)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Scaled()
        self.v = ms.Parameter([2.0], name="v")

    def construct(self, x: Any) -> Any:
        return (self.inner(x * self.v) * self.v).sum()


def test_a_weight_inside_is_refused(run: Mode) -> None:
    net = Net()
    step = run(lambda x: ms.value_and_grad(net, None, net.trainable_params())(x))
    with pytest.raises(GradientError, match="Scaled reads from outside.*") as caught:
        step(ms.Tensor([1.0]))
    assert "as an input" in str(caught.value)


def test_weights_outside_and_inputs_have_their_gradients(run: Mode) -> None:
    net = Net()
    out, (dv,) = run(lambda x: ms.value_and_grad(net, None, [net.v])(x))(ms.Tensor([1.0]))
    assert out.item() == 12.0
    assert dv.item() == 6.0 + 2.0 * 3.0 * 10  # y * dv + v * (10 w x)
    assert run(lambda x: ms.grad(net)(x))(ms.Tensor([1.0])).item() == 2.0 * 2.0 * 30.0


def test_a_weight_given_as_input_has_the_gradient_of_bprop(run: Mode) -> None:
    w = ms.Parameter([3.0], name="w")
    scaled = ms.custom_vjp(lambda x, w: x * w, lambda x, w, out, dout: (dout * w, dout * x * 7))
    step = run(lambda x: ms.value_and_grad(lambda x: scaled(x, w).sum(), None, [w])(x))
    out, (dw,) = step(ms.Tensor([2.0]))
    assert (out.item(), dw.item()) == (6.0, 14.0)


def test_a_weight_behind_stop_gradient_is_zero(run: Mode) -> None:
    w = ms.Parameter([3.0], name="w")
    scaled = ms.custom_vjp(lambda x: x * ms.ops.stop_gradient(w), lambda x, out, dout: dout * 5)
    (dw,) = run(lambda x: ms.grad(lambda x: scaled(x).sum(), None, [w])(x))(ms.Tensor([2.0]))
    assert dw.tolist() == [0.0]


def test_a_tensor_of_the_program_read_from_outside_is_refused(run: Mode) -> None:
    def loss(x: Any) -> Any:
        y = x * 2
        return ms.custom_vjp(lambda z: z * y, lambda z, out, dout: dout)(x).sum()

    with pytest.raises(GradientError, match="reads from outside"):
        run(lambda x: ms.grad(loss)(x))(ms.Tensor([2.0]))


def test_an_input_given_back_counts_once(run: Mode) -> None:
    same = ms.custom_vjp(lambda x: x, lambda x, out, dout: dout * 5)
    assert run(lambda x: ms.grad(lambda x: same(x * 1).sum())(x))(ms.Tensor([2.0])).item() == 5.0
    assert run(lambda x: ms.grad(lambda x: same(x).sum())(x))(ms.Tensor([2.0])).item() == 5.0


def test_the_same_value_of_second_order(run: Mode) -> None:
    cube = ms.custom_vjp(lambda x: x * x * x, lambda x, out, dout: 3 * x * x * dout)
    assert run(lambda x: ms.grad(ms.grad(lambda x: cube(x).sum()))(x))(ms.Tensor(2.0)).item() == 12.0


class _Several(nn.Cell):
    """A number, a tensor and nothing: only the tensor has a gradient."""

    def construct(self, x):
        return 3, x * x, None

    def bprop(self, x, out, dout):
        assert out[0] == 3 and out[2] is None and dout[0] is None and dout[2] is None
        return (7 * x * dout[1],)


class _Back(nn.Cell):
    def construct(self, x):
        return x * 2, None

    def bprop(self, *args):
        return args[-1]  # the gradient of the tensor, and that of None


def test_results_that_are_no_tensors_pass(mode):
    several, back = _Several(), _Back()

    def loss(x):
        number, y, nothing = several(x)
        z, nothing = back(y)
        return number * z if nothing is None else x

    x = ms.Tensor([5.0])
    assert loss(x).tolist() == [150] and ms.grad(loss)(x).tolist() == [3 * 1 * 7 * 5]
    assert ms.jit(ms.grad(loss))(x).tolist() == [105]
    assert ms.custom_vjp(lambda x: None, lambda x, out, dout: (x,))(x) is None
