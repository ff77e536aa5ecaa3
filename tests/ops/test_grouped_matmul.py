"""Groups of rows, each times a matrix of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import mint, ops
from msnb.base.errors import AttributeValueError, ShapeError

BOTH = pytest.mark.parametrize("run", [lambda f, *a: f(*a), lambda f, *a: ms.jit(f)(*a)], ids=["eager", "jit"])
ENDS = [2, 2, 5]  # the second group is empty, the last two rows are in none


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)


X, WEIGHT = drawn(7, 4), drawn(3, 4, 2)


def by_loop(x: Any, weight: Any) -> Any:
    y = np.zeros((7, weight.shape[2]), np.float32)
    for i, (a, b) in enumerate(zip([0, *ENDS], ENDS)):
        y[a:b] = x[a:b] @ weight[i]
    return y


@BOTH
def test_rows_in_groups(run: Any) -> None:
    y = run(lambda x, w, ends: mint.nn.functional.grouped_mm(x, w, offs=ends), *map(ms.Tensor, (X, WEIGHT, ENDS)))
    np.testing.assert_allclose(y.asnumpy(), by_loop(X, WEIGHT), rtol=1e-5, atol=1e-6)


@BOTH
def test_columns_in_groups_and_one_matrix_for_each(run: Any) -> None:
    ends = ms.Tensor(ENDS, ms.int32)
    outer = run(lambda a, b: ops.grouped_mm(a, b, offs=ends), ms.Tensor(X.T), ms.Tensor(X))
    for i, (a, b) in enumerate(zip([0, *ENDS], ENDS)):
        np.testing.assert_allclose(outer[i].asnumpy(), X[a:b].T @ X[a:b], rtol=1e-5, atol=1e-6)
    right = run(lambda a, b: ops.grouped_mm(a, b, offs=ends), ms.Tensor(WEIGHT.swapaxes(1, 2)), ms.Tensor(X.T))
    np.testing.assert_allclose(right.asnumpy(), by_loop(X, WEIGHT).T, rtol=1e-5, atol=1e-6)
    stacks = ops.grouped_mm(ms.Tensor(drawn(3, 2, 4)), ms.Tensor(WEIGHT))
    np.testing.assert_allclose(stacks.asnumpy(), drawn(3, 2, 4) @ WEIGHT, rtol=1e-5, atol=1e-6)


@BOTH
def test_gradients_of_any_order_and_lanes(run: Any) -> None:
    ends = ms.Tensor(ENDS)

    def loss(x: ms.Tensor, w: ms.Tensor) -> ms.Tensor:
        return (ops.grouped_mm(x, w, offs=ends) ** 3).sum()

    def by_one_hot(x: ms.Tensor, w: ms.Tensor) -> ms.Tensor:
        mask = ms.Tensor([[1, 0, 0]] * 2 + [[0, 0, 1]] * 3 + [[0, 0, 0]] * 2, ms.float32)
        return (ops.einsum("sk,se,ekn->sn", x, mask, w) ** 3).sum()

    x, w = ms.Tensor(X), ms.Tensor(WEIGHT)
    for got, want in zip(run(ms.grad(loss, (0, 1)), x, w), ms.grad(by_one_hot, (0, 1))(x, w)):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-4)

    def slope(f: Any) -> Any:
        return lambda x, w: (ms.grad(f, 0)(x, w) ** 2).sum()

    for got, want in zip(run(ms.grad(slope(loss), (0, 1)), x, w), ms.grad(slope(by_one_hot), (0, 1))(x, w)):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-2)
    lanes = run(ms.vmap(loss, (0, None)), ops.stack([x, 2 * x]), w)
    np.testing.assert_allclose(lanes.asnumpy(), [loss(x, w).item(), loss(2 * x, w).item()], rtol=1e-4)


@BOTH
@pytest.mark.parametrize("ends", [[2, 1, 5], [0, 0, 9], [-1, 2, 3]])
def test_ends_that_do_not_ascend(run: Any, ends: list[int]) -> None:
    with pytest.raises(AttributeValueError, match="must ascend from 0 to 7"):
        run(lambda x, e: ops.grouped_mm(x, ms.Tensor(WEIGHT), offs=e), ms.Tensor(X), ms.Tensor(ends)).asnumpy()


def test_sizes_that_do_not_fit() -> None:
    for x, weight, ends in ((X.T, WEIGHT, ENDS), (X, WEIGHT[:2], ENDS), (X, WEIGHT, [2.0, 2.0, 5.0])):
        with pytest.raises(ShapeError, match="sizes do not fit"):
            ops.grouped_mm(ms.Tensor(x), ms.Tensor(weight), offs=ms.Tensor(ends))
