"""Names are put together when they are read: giving Cells their places is linear, and every rule of names holds."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import msnb as ms
from msnb import nn


class Box(nn.Cell):
    """One weight, and a Cell inside."""

    def __init__(self, inner: Any = None) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0]), name="w")
        if inner is not None:
            self.inner = inner

    def construct(self, x: Any) -> Any:
        return x * self.w


class Wrapper(nn.Cell):
    """Gives no names to what it holds, as optimizers and training steps do."""

    def __init__(self, net: Any, name: str = "state") -> None:
        super().__init__(auto_prefix=False)
        self.net, self.state = net, ms.Parameter(ms.Tensor([1.0]), name=name)


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


# ---- growth ---------------------------------------------------------------------------------------------------------


def from_inside(n: int) -> nn.Cell:
    cell = Box()
    for _ in range(n - 1):
        cell = Box(cell)
    return cell


def from_outside(n: int) -> nn.Cell:
    outermost = cell = Box()
    for _ in range(n - 1):
        cell.inner = Box()
        cell = cell.inner
    return outermost


def side_by_side(n: int) -> nn.Cell:
    return nn.SequentialCell([Box() for _ in range(n)])


def work(make: Callable[[int], nn.Cell], n: int) -> int:
    """Lines that run while n Cells are made and all names are read."""
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return seen

    before = sys.gettrace()
    gc.disable()
    sys.settrace(seen)
    try:
        found = names(make(n))
    finally:
        sys.settrace(before)
        gc.enable()
    assert len(set(found)) == n
    return count


@pytest.mark.parametrize("make", [from_inside, from_outside])
def test_nested_cells_are_built_and_named_in_linear_time(make: Callable[[int], nn.Cell]) -> None:
    few, many = work(make, 60), work(make, 240)
    assert many < 5 * few, (few, many)


def test_a_list_of_cells_costs_each_the_same() -> None:
    few, many = work(side_by_side, 60), work(side_by_side, 240)
    assert many < 5 * few, (few, many)


def test_three_thousand_nested_cells_have_their_names() -> None:
    net = from_inside(3000)
    assert names(net)[-1] == "inner." * 2999 + "w"
    twin = nn.SequentialCell(net)
    assert names(twin)[-1] == "0." + "inner." * 2999 + "w" == names(net)[-1]


# ---- the rules ------------------------------------------------------------------------------------------------------


def test_a_name_given_by_hand_goes_on_getting_prefixes() -> None:
    net = Box(Box())
    net.inner.w.name = "mine"
    outer = Box(net)
    assert names(outer) == ["w", "inner.w", "inner.mine"]
    net.inner.w.name = "inner.inner.other"
    nn.SequentialCell(outer)
    assert names(outer)[2] == "0.inner.inner.other"


def test_a_cell_that_is_taken_out_keeps_its_names() -> None:
    net = Box(Box())
    inner = net.inner
    del net.inner
    nn.SequentialCell(net)
    assert names(net) == ["0.w"] and names(inner) == ["inner.w"]
    again = nn.SequentialCell(inner)
    assert names(again) == ["inner.w"]
    assert names(Box(again)) == ["w", "inner.inner.w"]


def test_a_cell_that_is_exchanged_keeps_its_names() -> None:
    cells = nn.CellList([Box(), Box()])
    first = cells[0]
    cells[0] = Box()
    holder = nn.SequentialCell(cells)
    assert names(holder) == ["0.0.w", "0.1.w"] and names(first) == ["0.w"]


def test_a_part_of_a_network_that_is_gone_gets_the_names_of_the_next() -> None:
    one, two = nn.SequentialCell(Box(Box()).inner), nn.SequentialCell(Box(Box()).inner)
    net = nn.CellDict({"a": one, "b": two})
    assert names(net) == ["a.inner.w", "b.inner.w"]
    source = Box(Box())  # and one that is still there: its own names do not change
    third = nn.SequentialCell(source.inner)
    net["c"] = third
    assert names(net) == ["a.inner.w", "b.inner.w", "c.inner.w"] and source.w.name == "w"


def test_a_cell_in_two_places_of_one_network_has_the_first_name() -> None:
    shared = Box()
    a, b = nn.SequentialCell(shared), nn.SequentialCell(shared)
    net = nn.CellDict({"a": a, "b": b})
    assert names(net) == ["a.0.w"]
    nn.SequentialCell(net)
    assert names(net) == ["0.a.0.w"]


def test_cells_without_prefixes_hand_theirs_on() -> None:
    net = Box()
    step = Wrapper(net)
    assert names(step) == ["state", "w"]
    top = nn.SequentialCell(step)
    assert names(top) == ["0.state", "0.w"] and net.w.name == "0.w"
    step.more = Box()
    assert step.more.w.name == "w"
    nn.CellDict({"k": top})
    assert names(top) == ["k.0.state", "k.0.w", "k.w"]
    Box(net)
    assert net.w.name == "inner.k.0.w"


def test_wrappers_in_wrappers() -> None:
    net = Box(Box())
    top = nn.CellDict({"t": Wrapper(Wrapper(net, "low"), "high")})
    assert names(top) == ["t.high", "t.low", "t.w", "t.inner.w"]


def test_what_once_held_a_cell_may_stand_in_it() -> None:
    outer, inner = Box(), Box()
    outer.parts = [inner]
    outer.parts.clear()
    inner.back = outer
    assert inner.w.name == "parts.0.w" and outer.w.name.endswith("w")
    assert [p for p, _ in inner.parameters_and_names()] == ["w", "back.w"]


def test_update_parameters_name() -> None:
    net = Box(Box(Box()))
    net.inner.update_parameters_name("x.")
    assert names(net) == ["w", "x.inner.w", "x.inner.inner.w"]
    net.update_parameters_name("y.")
    assert names(net) == ["y.w", "y.x.inner.w", "y.x.inner.inner.w"]
    nn.SequentialCell(net)
    assert names(net) == ["0.y.w", "0.y.x.inner.w", "0.y.x.inner.inner.w"]
    net.inner.update_parameters_name("z.", recurse=False)
    assert names(net) == ["0.y.w", "z.0.y.x.inner.w", "0.y.x.inner.inner.w"]
    net.inner.more = ms.Parameter(ms.Tensor([1.0]))
    assert net.inner.more.name == "z.0.y.x.inner.more"
    nn.CellDict({"k": net})  # it has its place already
    assert net.w.name == "0.y.w"


def test_update_of_one_cell_and_then_a_place() -> None:
    net = Box(Box())
    net.update_parameters_name("a.", recurse=False)
    nn.SequentialCell(net)
    assert names(net) == ["0.a.w", "0.inner.w"]


@pytest.mark.parametrize("through", [copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))])
def test_copies_and_pickles_have_names_of_their_own(through: Any) -> None:
    net = Box(Box(Box()))
    net.tied = nn.CellList([Box()])
    net.tied[0].w = net.inner.w
    twin = through(net)
    assert names(twin) == names(net) == ["w", "inner.w", "inner.inner.w"]
    assert twin.inner.w is not net.inner.w and twin.inner.w.requires_grad
    outer = nn.SequentialCell(twin)
    assert names(outer) == ["0.w", "0.inner.w", "0.inner.inner.w"]
    assert names(net) == ["w", "inner.w", "inner.inner.w"]


def test_a_copied_part_starts_at_itself_whatever_it_shares() -> None:
    shared = Box()
    elsewhere = nn.CellDict({"e": shared})
    net = nn.SequentialCell(Box(shared))
    assert names(net) == ["0.w", "0.e.w"]
    twin = copy.deepcopy(net[0])
    assert names(twin) == ["w", "e.w"]
    nn.CellDict({"k": twin})
    assert names(twin) == ["k.w", "k.e.w"] and names(elsewhere) == ["0.e.w"]


def test_checkpoints_carry_the_names(tmp_path: Path) -> None:
    net = nn.CellDict({"a": nn.SequentialCell(Box()), "b": Box(nn.BatchNorm1d(2))})
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    read = ms.load_checkpoint(str(tmp_path / "net.ckpt"))
    assert list(read) == names(net) == [
        "a.0.w", "b.w", "b.inner.moving_mean", "b.inner.moving_variance", "b.inner.gamma", "b.inner.beta",
    ]  # fmt: skip
    assert ms.load_param_into_net(copy.deepcopy(net), read) == ([], [])


def test_a_name_is_read_in_a_program(mode: int) -> None:
    net = nn.SequentialCell(Box())

    class Named(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def construct(self, x: Any) -> Any:
            return x * len(self.net[0].w.name)

    named = Named()
    assert named(ms.Tensor([1.0])).tolist() == [float(len("net.0.w"))]
    nn.CellDict({"key": named})
    assert named(ms.Tensor([1.0])).tolist() == [float(len("key.net.0.w"))]
