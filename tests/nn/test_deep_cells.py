"""Cells within Cells, thousands deep: they are walked without recursion, parents first, each once."""

from __future__ import annotations

from typing import Any

import msnb as ms
from msnb import nn

DEEP = 3000


class Box(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x


def nested(depth: int) -> nn.Cell:
    outermost = cell = Box()
    for _ in range(depth - 1):
        cell.inner = Box()
        cell = cell.inner
    cell.weight = ms.Parameter(ms.Tensor([1.0]), name="weight")
    return outermost


def test_deep_cells_are_walked() -> None:
    net = nested(DEEP)
    paths = [path for path, _ in net.cells_and_names()]
    assert len(paths) == DEEP and paths[:3] == ["", "inner", "inner.inner"]
    (weight,) = net.trainable_params()
    assert weight.name == ".".join(["inner"] * (DEEP - 1) + ["weight"])
    net.update_parameters_name("net.")
    assert weight.name.startswith("net.inner.") and next(net.get_parameters()) is weight


def test_order_and_shared_cells() -> None:
    net, shared = Box(), Box()
    net.first, net.second, net.third = Box(), shared, Box()
    net.first.again = shared
    assert [path for path, _ in net.cells_and_names()] == ["", "first", "first.again", "third"]
    assert [path for path, _ in net.cells_and_names(name_prefix="n")] == ["n", "n.first", "n.first.again", "n.third"]
    assert [path for path, _ in net.cells_and_names({id(net.first)})] == ["", "second", "third"]
