"""What methods give, and how Parameters look, under the alias: one class serves both worlds, so its attributes are
exchanged while the alias holds and come back with ``uninstall``.

    x.argmin() x.argsort() x.sort() x.topk(k) x.searchsorted(v) x.count_nonzero()      places are int32
    x.stride()                                                                         a list
    print(parameter)                                                                   its name, shape, dtype
    cell.cells()                                                                       has a length, is read twice
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.as_mindspore import answers
from msnb.core.parameter import Parameter
from msnb.core.tensor import Tensor
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.keyword_aliases import ValuesAndIndices

_PLACES = ("argmin", "argsort", "sort", "topk", "count_nonzero")
_before: dict[tuple[type, str], Any] = {}


def _narrow(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose places are int32; values that it gives with them stay."""

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **named: Any) -> Any:
        found = method(self, *args, **named)
        if isinstance(found, tuple):
            return ValuesAndIndices(found[0], answers.int32(found[1]))
        return answers.int32(found)

    return call


def _searchsorted(self: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """``ops.searchsorted`` with NumPy's words and int32 places."""
    return ops.searchsorted(self, v, side=side, sorter=sorter, out_int32=True)


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """Elements from one to the next along every axis, or along ``dim``."""
    steps = _before[Tensor, "stride"](self)
    return list(steps) if dim is None else steps[dim]


def _looks(self: Parameter) -> str:
    shape, wants = tuple(self.shape), self.requires_grad
    return f"Parameter (name={self.name}, shape={shape}, dtype={self.dtype!r}, requires_grad={wants})"


def _cells(self: Cell) -> Any:
    """The Cells directly inside this one, each once."""
    return self.name_cells().values()


def exchange(on: bool) -> None:
    """MindSpore's attributes, or msnb's again."""
    if on == bool(_before):
        return
    if not on:
        for (owner, name), value in _before.items():
            setattr(owner, name, value)
        _before.clear()
        return
    theirs: dict[tuple[type, str], Any] = {(Tensor, name): _narrow(getattr(Tensor, name)) for name in _PLACES}
    theirs |= {(Tensor, "searchsorted"): _searchsorted, (Tensor, "stride"): _stride, (Cell, "cells"): _cells}
    theirs |= {(Parameter, "__repr__"): _looks, (Parameter, "__str__"): _looks}
    for (owner, name), value in theirs.items():
        _before[owner, name] = getattr(owner, name)
        setattr(owner, name, value)
