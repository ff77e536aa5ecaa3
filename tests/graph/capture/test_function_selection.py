"""Lists of functions, Cells and values indexed by a tensor: one decision, both modes alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.base.errors import CaptureError, ConcretizationError, DTypeError


class Layers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.some = (nn.ReLU(), nn.Dense(3, 3, weight_init="ones"), nn.Softmax())
        self.others = nn.CellList([nn.Dense(3, 3, weight_init="ones"), nn.Tanh()])

    def construct(self, x: Tensor, i: Tensor) -> Tensor:
        return self.others[i - 1](self.some[i](x))


class Steps(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell([nn.Dense(2, 2, weight_init="ones"), nn.Tanh(), nn.ReLU()])

    def construct(self, x: Tensor, i: Tensor) -> Tensor:
        while i < 3:
            x = x + self.layers[i](x)
            i = i + 1
        return x


def chosen(x: Tensor, i: Tensor) -> Tensor:
    fn = [ops.sin, ops.cos, lambda t: t * 2][i]
    return fn(x)


def value(i: Tensor) -> Tensor:
    return (Tensor(1.0), Tensor(2.0), Tensor(3.0))[i]


def both(fn: Any, *args: Any) -> tuple[Any, Any]:
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        ready = fn if mode == ms.PYNATIVE_MODE or isinstance(fn, nn.Cell) else ms.jit(fn)
        found.append(ready(*args).asnumpy())
    return found[0], found[1]


def test_cells_and_functions() -> None:
    x, net, steps = Tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)), Layers(), Steps()
    for i in (1, 2):
        np.testing.assert_allclose(*both(net, x, Tensor(i)), rtol=1e-5)
    for i in (0, 1, 2, -1, -3):
        np.testing.assert_allclose(*both(chosen, x, Tensor(i)), rtol=1e-5)
        np.testing.assert_allclose(*both(value, Tensor(i)))
    for i in (0, 2):
        np.testing.assert_allclose(*both(steps, x[:, :2], Tensor(i)), rtol=1e-5)
        np.testing.assert_allclose(*both(lambda t, i=i: ms.grad(steps)(t, Tensor(i)), x[:, :2]), rtol=1e-5)


def test_one_version_serves_all_places() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    fn = ms.jit(chosen)
    for i in range(3):
        fn(Tensor([0.5]), Tensor(i))
    assert "1 version" in repr(fn)


def test_places_outside_the_list(mode: int) -> None:
    fn = ms.jit(chosen) if mode == ms.GRAPH_MODE else chosen
    for i in (3, -4):
        with pytest.raises(IndexError):
            fn(Tensor([0.5]), Tensor(i)).asnumpy()


def test_what_cannot_be_chosen() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises((CaptureError, DTypeError, ValueError)):
        ms.jit(lambda i: (Tensor([1.0]), Tensor([1.0, 2.0]))[i])(Tensor(0))
    with pytest.raises(ConcretizationError, match="dict cannot be indexed"):
        ms.jit(lambda i: {0: 1.0, 1: 2.0}[i], fullgraph=True)(Tensor(0))
