"""Operators that have nothing to do give a tensor of their own: a write into the result leaves the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, ops

NOTHING_TO_DO = {
    "add_n": lambda x: ops.add_n([x]), "multi_dot": lambda x: ops.multi_dot([x]), "cartesian_prod": ops.cartesian_prod,
    "dropout": lambda x: ops.dropout(x, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_a_write_into_the_result_leaves_the_operand(mode: int, name: str) -> None:
    fn: Callable[..., Any] = NOTHING_TO_DO[name]

    def write(x: Tensor) -> Any:
        y = fn(x)
        y[0] = 7.0
        return x * 1, y

    x = Tensor([1.0, 2.0])
    before, after = (ms.jit(write) if mode == ms.GRAPH_MODE else write)(x)
    assert (before.tolist(), after.tolist(), x.tolist()) == ([1.0, 2.0], [7.0, 2.0], [1.0, 2.0])
    assert ms.grad(lambda t: (fn(t) * t).sum())(x).tolist() == [2.0, 4.0]


def test_an_unused_dropout_gives_its_operand(mode: int) -> None:
    x = Tensor([1.0, 2.0])
    assert ops.dropout(x, 0.5, training=False) is x
    for p in (-0.5, 1.5):
        with pytest.raises(ValueError, match="p must be"):
            ops.dropout(x, p)
    with pytest.raises(TypeError, match="at least one"):
        ops.add_n([])
