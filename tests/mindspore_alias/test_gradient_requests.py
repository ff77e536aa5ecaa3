"""What gradients are asked for and how they come back, as MindSpore has it: integers, rules of one's own, no inputs."""

from __future__ import annotations

from typing import Any

import pytest

import msnb
from msnb import Parameter, Tensor, nn


class Doubled(nn.Cell):
    """Its bprop is not its gradient, so that the two can be told apart."""

    def construct(self, x: Any, y: Any) -> Any:
        return 2 * x + y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return 5 * dout, 7 * y


class Around(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubled()

    def construct(self, x: Any, y: Any) -> Any:
        return self.inner(x * 3, y) + x


class SecondResult(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x + 1, x + 2

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (out[1],)


class Sum(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = Parameter(Tensor([6.0]), name="w"), Parameter(Tensor([2.0]), name="b")

    def construct(self, *xs: Any) -> Any:
        return self.w * 3 + self.b + sum(xs)


def integers(x: Any) -> list[Any]:
    return [v.tolist() for v in x]


def test_a_rule_of_ones_own_holds_for_integers(mode: int) -> None:
    """It was passed over: the gradient by an integer that goes through a bprop was 0, in silence."""
    from mindspore import ops

    x, y = Tensor(1, msnb.int32), Tensor(2, msnb.int32)
    by_all = ops.GradOperation(get_all=True)
    assert integers(by_all(Doubled())(x, y)) == [5, 14]
    assert integers(by_all(Around())(x, y)) == [16, 14]
    assert integers(by_all(lambda x: SecondResult()(x)[0])(Tensor([1]))) == [[3]]
    assert all(v.dtype is msnb.int32 for v in by_all(Doubled())(x, y))


def test_no_inputs_no_gradients(mode: int) -> None:
    from mindspore import ops

    net = Sum()
    weights = net.trainable_params()
    assert ops.GradOperation()(net)() == ()
    assert ops.GradOperation(get_all=True)(net)() == ()
    inputs, by_weights = ops.GradOperation(get_all=True, get_by_list=True)(net, weights)()
    assert inputs == () and integers(by_weights) == [[3.0], [1.0]]
    assert integers(ops.GradOperation(get_by_list=True)(net, weights)()) == [[3.0], [1.0]]


def test_values_and_gradients_with_names(mode: int) -> None:
    from mindspore import get_grad, value_and_grad

    net = Sum()

    def program(x: Any) -> Any:
        return value_and_grad(net, 0, net.trainable_params(), False, True)(x)

    step = msnb.jit(program) if mode == msnb.GRAPH_MODE else program
    value, ((position, by_x), by_weights) = step(Tensor([4.0]))
    assert (value.tolist(), position, by_x.tolist()) == ([24.0], 0, [1.0])
    assert [(name, g.tolist()) for name, g in by_weights] == [("w", [3.0]), ("b", [1.0])]
    assert get_grad(((position, by_x), by_weights), net.w).tolist() == [3.0]


def test_positions_that_are_not_there() -> None:
    net = Sum()
    with pytest.raises(IndexError, match="outside the 0 positional arguments"):
        msnb.grad(net, 0)()
    with pytest.raises(ValueError, match="grad_position, weights, or both"):
        msnb.grad(net, None)(Tensor([1.0]))
