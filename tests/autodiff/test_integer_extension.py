"""The extension of a program with integers to the reals: same values, and the gradient that the reals have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.api.transforms.gradients import make_value_and_grad


def branching(x: Any, y: Any) -> Any:
    if x > y:
        x = x * y
    else:
        x = x + 3 * y
    return x * x - y


def looping(x: Any, y: Any) -> Any:
    while x < 40:
        if x > 2:
            y = y - 1
        x = x + y * y + 1
    return x * y


def counting(x: Any, y: Any) -> Any:
    total = x * 0
    for i in range(4):
        total = total * x + i * y
    return total


def rows(x: Any, y: Any) -> Any:
    total = y * 0
    for row in ops.stack([x, y, x * y]):
        total = total + row * row
    return total


def halves(x: Any, y: Any) -> Any:
    return (x * y) / 2 + ops.cast(x, ms.float32) * y


PROGRAMS: list[Callable[[Any, Any], Any]] = [branching, looping, counting, rows, halves]


@pytest.mark.parametrize("fn", PROGRAMS, ids=[fn.__name__ for fn in PROGRAMS])
def test_gradients_are_those_of_floats(mode: int, fn: Any) -> None:
    for a, b in [(2, 7), (9, 4), (5, 5)]:
        pair = [Tensor(n, ms.int32) for n in (a, b)]
        floats = [Tensor(float(n), ms.float64) for n in (a, b)]
        value, found = make_value_and_grad(fn, None, (0, 1), False, False, "real")(*pair)
        expected, by_floats = ms.value_and_grad(fn, (0, 1))(*floats)
        assert value.dtype == fn(*pair).dtype and float(value) == float(expected)
        assert [g.dtype for g in found] == [ms.int32] * 2
        assert [int(g) for g in found] == [int(g) for g in by_floats]


def test_values_of_large_integers_that_only_choose_are_exact(mode: int) -> None:
    big = 2**31 - 2

    def fn(x: Any, i: Any) -> Any:
        return x[i % 3] ^ 1, (x[:2] * x[:2]).astype(ms.float32)

    value, (by_x, by_i) = make_value_and_grad(fn, None, (0, 1), False, False, "real")(
        Tensor([1, 2, big], ms.int32), Tensor(5, ms.int32)
    )
    assert int(value[0]) == big ^ 1 and by_x.dtype == by_i.dtype == ms.int32
    assert int(by_i) == 0


def test_integer_parameters_and_written_ones(mode: int) -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(Tensor(4, ms.int32), name="w")
            self.n = ms.Parameter(Tensor(0, ms.int32), name="n")

        def construct(self, x: Any) -> Any:
            self.n = self.n + x
            return x * self.w

    net = Net()
    value, (by_x, by_w) = make_value_and_grad(net, [net.w], 0, False, False, "real")(Tensor(5, ms.int32))
    assert (int(value), int(by_x), int(by_w[0])) == (20, 4, 5)
    assert int(net.n) == 5 and net.n.dtype == ms.int32


def test_without_the_wish_an_integer_is_refused(mode: int) -> None:
    with pytest.raises(ms.base.errors.DTypeError, match=r"astype\(ms.float32\)"):
        ms.grad(lambda x: x * x)(Tensor(np.int32(3)))


def test_a_wider_integer_is_the_same_number(mode: int) -> None:
    _, found = make_value_and_grad(lambda x: x.astype(ms.int64) * x, None, 0, False, False, "real")(Tensor(7, ms.int32))
    assert (int(found), found.dtype) == (14, ms.int32)


def test_the_gradient_of_a_gradient(mode: int) -> None:
    def first(fn: Any) -> Any:
        return lambda x: make_value_and_grad(fn, None, 0, False, False, "real")(x)[1]

    for fn, second in ((lambda x: x * x * x, 30), (lambda x: x.astype(ms.float32) * x, 2), (lambda x: x + 1, 0)):
        assert int(first(first(fn))(Tensor(5, ms.int32))) == second
    assert int(first(first(first(lambda x: x * x * x)))(Tensor(5, ms.int32))) == 6
