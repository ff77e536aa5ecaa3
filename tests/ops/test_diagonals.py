"""Bands and bundles of diagonals against loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import AttributeValueError, ShapeError


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_bands(mode: int, dtype: Any) -> None:
    x = np.arange(1, 25).reshape(2, 3, 4).astype(dtype)
    for lower in (-1, 0, 1, 2):
        for upper in (-1, 0, 2):
            wanted = np.triu(x, -lower) if lower >= 0 else x
            wanted = np.tril(wanted, upper) if upper >= 0 else wanted
            found = run(lambda t, lower=lower, upper=upper: ops.matrix_band_part(t, lower, upper), Tensor(x))
            assert (found.asnumpy() == wanted).all()
    assert run(ops.matrix_band_part, Tensor(x), Tensor(0), Tensor(-1)).tolist() == np.triu(x).tolist()


def test_bands_of_infinite_numbers_and_their_gradient(mode: int) -> None:
    x = Tensor([[1.0, np.inf], [np.nan, 2.0]])
    assert run(lambda t: ops.matrix_band_part(t, 0, 0), x).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    found = ms.grad(lambda t: (ops.matrix_band_part(t, 1, 0) ** 2).sum())(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[2.0, 0.0], [6.0, 8.0]]


def _row(x: np.ndarray, d: int, length: int, align: str) -> np.ndarray:
    line = np.diagonal(x, d)
    word = align.split("_")[0 if d > 0 else 1]
    left = word == "LEFT" or (d == 0 and align.startswith("LEFT"))
    gap = length - len(line)
    return np.pad(line, (0, gap) if left else (gap, 0), constant_values=-7)


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("bounds", [(0, 0), (1, 1), (-2, -2), (-1, 1), (0, 2), (-2, 3)])
def test_bundles(mode: int, align: str, bounds: tuple[int, int]) -> None:
    x = np.arange(1, 13).reshape(3, 4)
    low, high = bounds
    length = max(len(np.diagonal(x, d)) for d in range(low, high + 1))
    rows = np.stack([_row(x, d, length, align) for d in range(high, low - 1, -1)])
    wanted = rows[0] if low == high else rows
    k = low if low == high else bounds
    found = run(lambda t: ops.matrix_diag_part(t, k, -7, align), Tensor(x))
    assert found.tolist() == wanted.tolist()
    on = (np.arange(4) - np.arange(3)[:, None] >= low) & (np.arange(4) - np.arange(3)[:, None] <= high)
    back = run(lambda t: ops.matrix_diag(t, k, 3, 4, -1, align), Tensor(wanted))
    assert back.tolist() == np.where(on, x, -1).tolist()
    both = run(lambda t, d: ops.matrix_set_diag(t, d, k, align), Tensor(x * 0 + 5), Tensor(wanted))
    assert both.tolist() == np.where(on, x, 5).tolist()


def test_sizes_that_follow_from_the_diagonals() -> None:
    assert ops.matrix_diag(Tensor([[1, 2], [3, 4]])).shape == (2, 2, 2)
    assert ops.matrix_diag(Tensor([1, 2]), k=-1).tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert ops.matrix_diag(Tensor([1, 2]), k=1, num_rows=2).shape == (2, 3)
    found = ms.vmap(lambda t: ops.matrix_diag_part(t, (0, 1)))(ops.ones((5, 3, 3)))
    assert found.shape == (5, 2, 3)


@pytest.mark.parametrize(
    ("fn", "error"),
    [
        (lambda: ops.matrix_band_part(Tensor([1.0]), 0, 0), ShapeError),
        (lambda: ops.matrix_diag_part(ops.ones((2, 2)), 2), AttributeValueError),
        (lambda: ops.matrix_diag_part(ops.ones((2, 2)), (1, 0)), AttributeValueError),
        (lambda: ops.matrix_diag_part(ops.ones((2, 2)), 0, 0, "MIDDLE"), AttributeValueError),
        (lambda: ops.matrix_diag(Tensor([1.0, 2.0]), 0, 3, 3), AttributeValueError),
        (lambda: ops.matrix_diag(Tensor([1.0]), (0, 1)), ShapeError),
        (lambda: ops.matrix_set_diag(ops.ones((2, 2)), Tensor([1.0])), ShapeError),
    ],
)
def test_wrong_requests(fn: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        fn()
