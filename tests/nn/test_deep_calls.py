"""Calls of Cells nested deeper than the stack: an error of msnb that says the way out, in both modes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import msnb as ms
from msnb import nn
from msnb.base.errors import MsnbError


class Box(nn.Cell):
    def construct(self, x: Any) -> Any:
        return self.inner(x) if hasattr(self, "inner") else x * 2


class Endless(nn.Cell):
    def construct(self, x: Any) -> Any:
        return self(x)


def nested(depth: int) -> nn.Cell:
    outermost = cell = Box()
    for _ in range(depth - 1):
        cell.inner = Box()
        cell = cell.inner
    return outermost


def test_too_deep_in_eager_mode() -> None:
    with pytest.raises(MsnbError, match="nested deeper than Python's stack") as caught:
        nested(sys.getrecursionlimit())(ms.Tensor([1.0]))
    assert isinstance(caught.value, RecursionError) and "SequentialCell" in str(caught.value)


def test_too_deep_under_a_gradient() -> None:
    with pytest.raises(MsnbError, match="nested deeper"):
        ms.grad(nested(sys.getrecursionlimit()))(ms.Tensor([1.0]))


def test_a_cell_that_calls_itself_without_end() -> None:
    with pytest.raises(MsnbError, match="Endless is called in calls nested deeper"):
        Endless()(ms.Tensor([1.0]))


@pytest.mark.long
def test_too_deep_in_a_graph() -> None:
    with pytest.raises(MsnbError, match="nested"):
        ms.jit(nested(2000))(ms.Tensor([1.0]))


def test_what_fits_runs_and_the_next_call_after_an_error_too() -> None:
    with pytest.raises(MsnbError):
        Endless()(ms.Tensor([1.0]))
    assert nested(20)(ms.Tensor([1.0])).tolist() == [2.0]
