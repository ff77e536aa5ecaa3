"""Results whose size only the data tell: once a compiled function has returned, they are ordinary tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

X = np.array([1, 0, 3], np.int32)


@pytest.mark.parametrize(
    "fn, want",
    [
        (lambda x: ops.nonzero(x), [[0], [2]]),
        (lambda x: x[x > 0] * 2, [2, 6]),
        (lambda x: ops.bincount(x), [1, 1, 0, 1]),
        (lambda x: ops.masked_select(x, x > 5), []),
    ],
    ids=["nonzero", "mask", "bincount", "nothing"],
)
def test_the_result_has_the_size_that_came_out(fn: Any, want: list[Any]) -> None:
    found = ms.jit(fn)(ms.Tensor(X))
    assert len(found) == len(want) and all(isinstance(size, int) for size in found.shape)
    assert (found + 0).tolist() == [row.tolist() for row in found] == found.tolist() == want


def test_a_network_whose_result_has_such_a_size(mode: int) -> None:
    class Chosen(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x[x > 1.5] * 2

    assert Chosen()(ms.Tensor([1.0, 2.0, 3.0])).shape == (2,)


def test_an_eager_gradient_goes_through_it() -> None:
    chosen = ms.jit(lambda x: x[x > 1.5] * x[x > 1.5])
    sizes = []

    def loss(x: Any) -> Any:
        found = chosen(x)
        sizes.append(found.shape)
        return found.sum()

    assert ms.grad(loss)(ms.Tensor([1.0, 2.0, 3.0])).tolist() == [0.0, 4.0, 6.0]
    assert ms.grad(loss)(ms.Tensor([2.0, 2.0, 3.0])).tolist() == [4.0, 4.0, 6.0]
    assert sizes == [(2,), (3,)]


def test_such_a_size_is_divided_in_the_call(mode: int) -> None:
    @ms.jit
    def blocks(x: Any, mask: Any) -> Any:
        found = ops.masked_select(x, mask)
        parts = found.reshape((2, 3, -1))
        return parts, parts.reshape(-1) + found, parts.reshape(parts.shape[2], 6), (found * 2).reshape((-1, 4))

    x = ms.Tensor(np.arange(24, dtype=np.float32))
    for count in (12, 24, 0):
        first, same, turned, others = blocks(x, x < count)
        assert [first.shape, turned.shape] == [(2, 3, count // 6), (count // 6, 6)]
        assert same.tolist() == [2.0 * i for i in range(count)] and others.shape == (count // 4, 4)
    loss = ms.jit(lambda x, mask: (ops.masked_select(x, mask).reshape((2, 3, -1)) ** 2).sum())
    assert ms.grad(loss)(x, x < 6).tolist() == [2.0 * i if i < 6 else 0.0 for i in range(24)]
    with pytest.raises(ValueError, match="reshape"):
        blocks(x, x < 7)
    with pytest.raises(ValueError, match="only one size may be -1"):
        ms.jit(lambda x: x[x > 1].reshape((2, -1, -1)))(x)
