"""``cell.construct = fn``: a Cell that gets another ``construct``, before and after it was compiled, in both modes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, nn

X = Tensor(1.0)


class Times(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 10


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner: nn.Cell = Times()

    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x) + 0.5


def more(cell: nn.Cell, number: float) -> Callable[[Tensor], Tensor]:
    def construct(self: Any, x: Tensor) -> Tensor:
        return Times.construct(self, x) + number

    return functools.update_wrapper(functools.partial(construct, cell), construct)


def test_the_last_one_counts(mode: int) -> None:
    net = Times()
    assert net(X).item() == 10.0
    for number in (1.0, 2.0, 1.0):
        net.construct = more(net, number)  # type: ignore[method-assign]
        assert net(X).item() == 10.0 + number
    twin = copy.deepcopy(net)
    del net.construct
    assert net(X).item() == 10.0 and twin(X).item() == 11.0
    with pytest.raises(AttributeError, match="construct"):
        del net.construct


def test_inside_another_cell(mode: int) -> None:
    net = Outer()
    step = ms.jit(lambda x: net(x) * 2)
    assert (net(X).item(), step(X).item()) == (10.5, 21.0)
    net.inner.construct = lambda x: x + 5  # type: ignore[method-assign]
    assert (net(X).item(), step(X).item()) == (6.5, 13.0)
    net.inner.construct = lambda x: x + 6  # type: ignore[method-assign]
    assert (net(X).item(), step(X).item()) == (7.5, 15.0)
    assert ms.grad(net)(X).item() == 1.0


def test_what_it_holds_may_change(mode: int) -> None:
    hooks: list[Any] = [lambda x: x + 1]
    net = Times()
    net.construct = lambda x: hooks[0](x)  # type: ignore[method-assign]
    assert net(X).item() == 2.0
    hooks[0] = lambda x: x - 1
    assert net(X).item() == 0.0


def test_compiled_by_the_program(mode: int) -> None:
    net = Times()
    net.construct = ms.jit(net.construct)  # type: ignore[method-assign]
    assert net(X).item() == 10.0
    net.construct = ms.jit(more(net, 3.0))  # type: ignore[method-assign]
    assert net(X).item() == 13.0
