"""`unique` of floats: the gradient goes back to the element (the first of equal ones) that a value came from."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms


@pytest.mark.parametrize("graph", [False, True])
def test_the_gradient_reaches_the_elements(graph: bool) -> None:
    def loss(x: Any) -> Any:
        values = ms.ops.unique(x)
        return (values * values).sum()

    gradient = ms.grad(loss)
    run = ms.jit(lambda x: gradient(x)) if graph else gradient
    assert run(ms.Tensor([3.0, -1.0, 2.0])).tolist() == [6.0, -2.0, 4.0]
    assert run(ms.Tensor([[3.0, 1.0], [3.0, 3.0]])).tolist() == [[6.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("graph", [False, True])
def test_with_positions_and_counts(graph: bool) -> None:
    def loss(x: Any) -> Any:
        values, inverse, counts = ms.ops.unique(x, return_inverse=True, return_counts=True)
        assert inverse.shape == x.shape
        return (values * counts).sum()

    gradient = ms.grad(loss)
    run = ms.jit(lambda x: gradient(x)) if graph else gradient
    assert run(ms.Tensor([2.0, 1.0, 2.0])).tolist() == [2.0, 1.0, 0.0]
