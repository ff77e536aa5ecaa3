"""Recursion that a tensor ends: a graph that calls itself, with gradients and a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.base.errors import CaptureError, StackError


def ready(fn: Any, mode: int) -> Any:
    return ms.jit(fn) if mode == ms.GRAPH_MODE and not isinstance(fn, nn.Cell) else fn


def factorial(n: Tensor) -> Any:
    if n <= 1:
        return n * 0 + 1
    return n * factorial(n - 1)


def fibonacci(n: Tensor) -> Any:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def short(n: Tensor) -> Any:
    return 1 if n <= 1 else n * short(n - 1)


def power(x: Tensor, n: Tensor) -> Tensor:
    if n <= 0:
        return x
    return x * power(x, n - 1)


def collatz(n: Tensor, steps: Tensor) -> Tensor:
    if n == 1:
        return steps
    if n % 2 == 0:
        return collatz(n // 2, steps + 1)
    return collatz(3 * n + 1, steps + 1)


def even(n: Tensor) -> Any:
    return odd(n - 1) if n > 0 else n == 0


def odd(n: Tensor) -> Any:
    return even(n - 1) if n > 0 else n != 0


def pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    if a <= 0:
        return a, b
    u, v = pair(a - 1, b * 2)
    return u, v + a


def inside(x: Tensor) -> Tensor:
    k = x * 2

    def inner(n: Tensor) -> Tensor:
        if n <= 0:
            return k
        return inner(n - 1) + k

    return inner(x)


INTEGERS: list[tuple[Callable[[Any], Any], int, int]] = [
    (factorial, 5, 120), (fibonacci, 9, 34), (short, 5, 120), (even, 6, 1), (even, 7, 0), (odd, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "given", "expected"), INTEGERS)
def test_values(mode: int, fn: Any, given: int, expected: int) -> None:
    assert int(ready(fn, mode)(Tensor(given, ms.int32))) == expected


def test_one_version_serves_all_depths() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    fn = ms.jit(factorial)
    assert [float(fn(Tensor(float(n)))) for n in (1, 3, 6)] == [1, 6, 720]
    assert "1 version" in repr(fn)


def test_several_arguments_and_results(mode: int) -> None:
    assert int(ready(collatz, mode)(Tensor(27, ms.int32), Tensor(0, ms.int32))) == 111
    found = ready(pair, mode)(Tensor(3.0), Tensor(1.0))
    assert [float(x) for x in found] == [0, 14]


def test_outer_values_and_parameters(mode: int) -> None:
    assert float(ready(inside, mode)(Tensor(3.0))) == 24
    assert float(ms.grad(ready(inside, mode))(Tensor(3.0))) == 8

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Dense(2, 2, weight_init="ones", has_bias=False)

        def construct(self, x: Tensor, n: Tensor) -> Tensor:
            if n <= 0:
                return x
            return self.construct(self.dense(x), n - 1)

    net, x = Net(), Tensor([[1.0, 2.0]])
    np.testing.assert_allclose(net(x, Tensor(3)).asnumpy(), [[12, 12]])
    (by_weight,) = ms.grad(lambda: net(x, Tensor(2)).sum(), None, net.trainable_params())()
    np.testing.assert_allclose(by_weight.asnumpy(), [[5, 7], [5, 7]])


def test_gradients(mode: int) -> None:
    x, n = Tensor(3.0), Tensor(4)
    assert float(ms.grad(ready(power, mode))(x, n)) == 405
    assert float(ms.grad(ms.grad(ready(power, mode)))(x, n)) == 540


def test_recursion_that_python_ends_is_unrolled(mode: int) -> None:
    def scaled(x: Tensor, k: int) -> Tensor:
        if x.sum() > 0:
            return x if k == 0 else scaled(x * 2, k - 1)
        return x

    assert ready(scaled, mode)(Tensor([1.0, 2.0]), 3).asnumpy().tolist() == [8, 16]


def test_deep_calls(mode: int) -> None:
    assert float(ms.grad(ready(power, mode))(Tensor(1.0), Tensor(100))) == 101


def endless(x: Tensor) -> Any:
    return endless(x + 1) if x > -1 else x


def hopeless(x: Tensor) -> Any:
    if x > 0:
        return hopeless(x - 1)
    return hopeless(x + 1)


def growing(x: Tensor) -> Tensor:
    if x.sum() <= 0:
        return x
    return ops.concat((growing(x - 1), x))


def test_wrong_programs_have_a_sentence() -> None:
    ms.set_context(mode=ms.GRAPH_MODE, max_call_depth=50)
    try:
        with pytest.raises(StackError, match="endless called itself more than 50 deep"):
            ms.jit(endless)(Tensor(1.0)).asnumpy()
        with pytest.raises(CaptureError, match="hopeless calls itself in every branch that returns: a loop"):
            ms.jit(hopeless)(Tensor(1.0))
        with pytest.raises(ms.base.errors.ShapeError, match="both must agree"):
            ms.jit(growing, fullgraph=True)(Tensor([3.0]))
    finally:
        ms.set_context(max_call_depth=1000)


def test_a_write_in_a_recursion_is_refused() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    w = ms.Parameter(Tensor(2.0), name="w")

    def counted(n: Tensor) -> Tensor:
        w.set_data(w + 1)
        if n <= 0:
            return n
        return counted(n - 1)

    with pytest.raises(CaptureError, match="counted calls itself where a tensor decides, and writes"):
        ms.jit(counted)(Tensor(3.0))
    assert float(w) == 2
