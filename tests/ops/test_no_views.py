"""A part of a tensor is a value of its own; who writes into one is told once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops


def written(z: Any, key: Any) -> Any:
    v = z[key]
    v[...] = 5
    return z, v


@pytest.mark.parametrize("key", [0, slice(0, 1), (slice(None), 1), None, ..., (0, 1)], ids=str)
def test_a_write_into_a_part_is_told(key: Any, mode: Any, notices: list[str]) -> None:
    run = ms.jit(lambda z: written(z, key)) if ms.get_context("mode") == ms.GRAPH_MODE else lambda z: written(z, key)
    z, v = run(ops.zeros((2, 2)))
    assert z.asnumpy().sum() == 0 and (v.asnumpy() == 5).all()
    assert len(notices) == 1 and "never a view of x" in notices[0]


def quiet_copy(x: Any) -> Any:
    v = x[np.array([0, 1])]  # a copy in every library
    v[0] = 1
    return v


def quiet_sum(x: Any) -> Any:
    v = x[0] + 1
    v[0] = 3
    return v


def quiet_self(x: Any) -> Any:
    y = x * 1
    y[0] = y[1]
    y[0, 1] = 3
    return y


@pytest.mark.parametrize("fn", [quiet_copy, quiet_sum, quiet_self])
def test_other_writes_are_not(fn: Any, mode: Any, notices: list[str]) -> None:
    run = ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn
    run(ops.ones((2, 2)))
    assert not notices


def test_gradients_pass_a_marked_part(mode: Any) -> None:
    found = ms.grad(lambda x: (x[0] * x[1]).sum())(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[3.0, 4.0], [1.0, 2.0]]
