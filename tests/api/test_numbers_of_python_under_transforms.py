"""A Python number of an object that changes under a branch or loop which a tensor decides stays a Python number, with
every transform around it and in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import nn, ops

Transform = Callable[[Any], Callable[[Any], Any]]
TRANSFORMS: dict[str, Transform] = {
    "call": lambda f: f,
    "grad": ms.grad,
    "value_and_grad": ms.value_and_grad,
    "vjp": lambda f: lambda x: ms.vjp(f, x)[1](ops.ones(())),
    "jvp": lambda f: lambda x: ms.jvp(f, x, x),
    "jacrev": ms.jacrev,
    "jacfwd": ms.jacfwd,
    "hessian": ms.hessian,
    "grad of grad": lambda f: ms.grad(lambda x: ms.grad(f)(x).sum()),
    "jvp of grad": lambda f: lambda x: ms.jvp(ms.grad(f), x, x),
    "jit of jvp": lambda f: ms.jit(lambda x: ms.jvp(f, x, x)),
}


class Counted(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.turns, self.scale, self.positive, self.seen = 0, 1.5, False, [0]

    def construct(self, x: Any) -> Any:
        k = 0
        while k < 3 and x.sum() > k:
            k = k + 1
            self.turns += 1
        if x.sum() > 0:
            self.scale *= 2
            self.positive = True
            self.seen[0] += 1
        return (x * x * self.scale).sum()


def numbers(net: Counted) -> tuple[Any, ...]:
    return net.turns, net.scale, net.positive, net.seen[0]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_numbers_stay_numbers(name: str, mode: int) -> None:
    net, plain = Counted(), Counted()
    run = TRANSFORMS[name](net)
    for value in (1.0, -1.0, 0.5):
        run(ms.Tensor([value, value + 1.0]))
        with ms.set_context(mode=ms.PYNATIVE_MODE):
            plain(ms.Tensor([value, value + 1.0]))
    assert numbers(net) == numbers(plain)
    assert [type(n) for n in numbers(net)] == [int, float, bool, int]
