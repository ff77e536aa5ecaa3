"""A tensor of one bool is a place in a list, as True is in Python."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def test_one_bool_in_a_list(mode: int) -> None:
    items = [5, 6, 7]
    for flag in (Tensor([True]), Tensor(True)):
        assert run(lambda: (items[flag:], items[flag], "ab"[flag])) == ([6, 7], 6, "b")
        assert run(lambda flag: items[flag], flag) == 6
    assert run(lambda: items[Tensor(False)]) == 5


@pytest.mark.parametrize("wrong", [Tensor([True, False]), Tensor(1.0), Tensor([1, 2])])
def test_what_is_no_place(mode: int, wrong: Tensor) -> None:
    with pytest.raises(TypeError):
        run(lambda: [5, 6][wrong])
