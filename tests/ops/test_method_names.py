"""Errors of methods name the method that was called, never where in msnb it was made."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest

import msnb as ms

CALLS = {
    "add": lambda x: x.add(), "abs": lambda x: x.abs(1), "remainder": lambda x: x.remainder(divisor=x),
    "div": lambda x: x.div(x, mode="floor"), "float": lambda x: x.float(1), "where": lambda x: x.where(),
    "copy": lambda x: x.copy(1), "type": lambda x: x.type(1, 2), "new_zeros": lambda x: x.new_zeros(1, size=2),
    "flatten": lambda x: x.flatten(1, 2, 3), "repeat": lambda x: x.repeat(), "matmul": lambda x: x.matmul(),
    "index_put": lambda x: x.index_put(), "byte": lambda x: x.byte(1), "select": lambda x: x.select(0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_method_is_named(name: str, mode: Any) -> None:
    with pytest.raises(TypeError, match=rf"^Tensor\.{name}\(\) "):
        CALLS[name](ms.Tensor([1.0, 2.0]))


@pytest.mark.parametrize("owner", [ms.Tensor, ms.Parameter])
def test_no_method_has_an_internal_name(owner: type) -> None:
    inner = {
        name: f.__qualname__
        for name, f in vars(owner).items()
        if isinstance(f, FunctionType) and name[:1] != "_"
        and ("<" in f.__qualname__ or f.__qualname__.rpartition(".")[2][:1] == "_")
    }  # fmt: skip
    assert not inner


def test_methods_that_write_are_named() -> None:
    p = ms.Parameter(ms.Tensor([1.0]), name="p")
    with pytest.raises(TypeError, match=r"^Parameter\.zero_\(\) takes"):
        p.zero_(1)
