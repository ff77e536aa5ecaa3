"""What ``assign_add`` and its kind give stands for the variable: what is assigned to it reaches that, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import nn


class Assigns(nn.Cell):
    """Runs one of the programs below with operators as attributes, as MindSpore's programs have them."""

    def __init__(self, program: Callable[..., Any]) -> None:
        super().__init__()
        self.add, self.sub, self.assign = ms.ops.AssignAdd(), ms.ops.AssignSub(), ms.ops.Assign()
        self.p = ms.Parameter(ms.Tensor(5), name="p")
        self.program = program

    def construct(self, *inputs: Any) -> Any:
        return self.program(self, *inputs)


def by_results(net: Assigns, x: Any, y: Any) -> Any:
    first = net.add(x, x)
    second = net.add(first, y)
    third = net.add(second, x)
    return net.add(third, y)


def an_argument(net: Assigns, x: Any, y: Any) -> Any:
    z = net.add(y, x)
    net.add(z, y)
    net.sub(z, x)
    return z


def a_local_value(net: Assigns, x: Any, y: Any) -> Any:
    z = x + y
    net.add(net.add(z, x), y)
    return z


def a_parameter(net: Assigns, x: Any, y: Any) -> Any:
    net.assign(net.add(net.p, x), y)
    return net.p * 1


def in_a_branch(net: Assigns, x: Any, y: Any) -> Any:
    z = net.add(y, x)
    if x < 3:
        net.add(z, y)
    return y * 1


@pytest.mark.parametrize(
    ("program", "given", "x", "y"),
    [(by_results, 17, 17, 3), (an_argument, 8, 2, 8), (a_local_value, 10, 2, 3), (a_parameter, 3, 2, 3),
     (in_a_branch, 10, 2, 10)],
)  # fmt: skip
def test_assignments_to_a_result(mode: int, program: Callable[..., Any], given: int, x: int, y: int) -> None:
    net, inputs = Assigns(program), (ms.Tensor(2), ms.Tensor(3))
    assert net(*inputs).item() == given
    assert [v.item() for v in inputs] == [x, y]
    assert net.p.item() == (3 if program is a_parameter else 5)


def test_scattered_results(mode: int) -> None:
    table, at = ms.Parameter(ms.Tensor([[1.0], [2.0]]), name="t"), ms.Tensor([0])

    def run(update: Any) -> Any:
        first = ms.ops.ScatterAdd()(table, at, update)
        return ms.ops.ScatterUpdate()(first, at + 1, update)

    found = (ms.jit(run) if mode == ms.GRAPH_MODE else run)(ms.Tensor([[3.0]]))
    assert found.tolist() == table.tolist() == [[4.0], [3.0]]


def test_gradients_of_a_result(mode: int) -> None:
    p = ms.Parameter(ms.Tensor(2.0), name="p")

    def loss(x: Any) -> Any:
        return ms.ops.assign_add(p, x * x) * 3

    slope = ms.grad(loss)
    assert (ms.jit(slope) if mode == ms.GRAPH_MODE else slope)(ms.Tensor(2.0)).item() == 12.0
    assert p.item() == 6.0


def test_a_value_that_does_not_fit(mode: int) -> None:
    net = Assigns(lambda net, x: net.add(net.add(net.p, 1), x))
    with pytest.raises(TypeError, match="cannot hold"):
        net(ms.Tensor(1.5))
    with pytest.raises(ValueError, match="does not fit"):
        net(ms.Tensor([1, 2]))
