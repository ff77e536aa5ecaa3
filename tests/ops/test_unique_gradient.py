"""`unique` of floats: the gradient goes back to the element (the first of equal ones) that a value came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import mint


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


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
@pytest.mark.parametrize("shape", [(5, 2), (4, 3, 2), (6,), (0, 3), (3, 1)])
def test_slices(shape: tuple[int, ...], dtype: Any, mode: Any, rng: np.random.Generator) -> None:
    x = rng.integers(0, 2, shape).astype(dtype)
    for axis in range(-1, x.ndim - 1):
        found = mint.unique(ms.Tensor(x), True, True, True, axis)
        wanted = np.unique(x, return_inverse=True, return_counts=True, axis=axis)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got.asnumpy(), want.reshape(got.shape), strict=True)
        assert found[1].shape == (x.shape[axis],)
        np.testing.assert_array_equal(ms.Tensor(x).unique(dim=axis).asnumpy(), wanted[0])


@pytest.mark.parametrize("graph", [False, True])
def test_the_gradient_reaches_the_first_of_equal_slices(graph: bool) -> None:
    gradient = ms.grad(lambda x: (ms.ops.unique(x, axis=1) ** 2).sum())
    run = ms.jit(lambda x: gradient(x)) if graph else gradient
    assert run(ms.Tensor([[3.0, 1.0, 3.0], [2.0, 5.0, 2.0]])).tolist() == [[6.0, 2.0, 0.0], [4.0, 10.0, 0.0]]


def test_an_axis_that_is_not_there_is_refused(mode: Any) -> None:
    with pytest.raises(ms.MsnbError, match="unique"):
        ms.Tensor([1, 2]).unique(dim=1)
