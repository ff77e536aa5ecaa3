"""Names of Parameters under the alias: what MindSpore calls them, since its checkpoints hold these names."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import msnb as ms
from msnb import nn
from msnb.as_mindspore import install, uninstall


class Stage(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.CellList([nn.Dense(1, 1, has_bias=False) for _ in range(2)])


class Late(nn.Cell):
    """Its list has a place before it has members."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.CellList()
        for _ in range(3):
            self.stages.append(Stage())


class Tied(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Dense(1, 1, has_bias=False)
        self.tail = nn.SequentialCell([nn.ReLU(), self.head])


class Around(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net


def names(net: Any) -> list[str]:
    return [p.name for p in net.get_parameters()]


def test_members_that_come_late_are_called_by_their_position() -> None:
    uninstall()
    assert names(Late())[:2] == ["stages.0.blocks.0.weight", "stages.0.blocks.1.weight"]
    install()
    try:
        late = Late()
        called = ["0.blocks.0.weight", "0.blocks.1.weight", "0.blocks.1.blocks.0.weight", "0.blocks.1.blocks.1.weight",
                  "0.blocks.2.blocks.0.weight", "0.blocks.2.blocks.1.weight"]  # fmt: skip
        assert names(late) == called
        assert [path for path, _ in late.parameters_and_names()][:2] == [
            "stages.0.blocks.0.weight", "stages.0.blocks.1.weight",
        ]  # fmt: skip
        assert names(copy.deepcopy(late)) == called
        assert names(pickle.loads(pickle.dumps(late))) == called
        assert names(Around(late)) == [f"net.{path}" for path, _ in late.parameters_and_names()], "a new place: paths"
        assert names(nn.CellList([Stage(), Stage()]).append(Stage()))[-1] == "2.blocks.1.weight"
    finally:
        uninstall()


def test_cells_in_lists_of_python_do_not_count() -> None:
    class Shared(nn.Cell):
        def __init__(self, part: nn.Cell) -> None:
            super().__init__()
            self.parts = [part, part]
            self.inner = nn.SequentialCell([part])

    assert names(Around(Shared(nn.Dense(1, 1, has_bias=False)))) == ["net.inner.0.weight"]


def test_the_last_place_names_a_cell() -> None:
    uninstall()
    assert names(Tied()) == ["head.weight"]
    install()
    try:
        tied = Tied()
        assert names(tied) == ["tail.1.weight"]
        assert names(Around(tied)) == ["net.head.weight"], "a new place: the first path"
    finally:
        uninstall()


def test_statistics_come_before_the_scale() -> None:
    assert names(Around(nn.BatchNorm2d(2))) == ["net.moving_mean", "net.moving_variance", "net.gamma", "net.beta"]
    assert [p.name for p in nn.BatchNorm2d(2).trainable_params()] == ["gamma", "beta"]


def test_a_checkpoint_with_these_names_comes_back(tmp_path: Any) -> None:
    install()
    try:
        first, second = Late(), Late()
        ms.save_checkpoint(first, str(tmp_path / "late.ckpt"))
        left, unused = ms.load_param_into_net(second, ms.load_checkpoint(str(tmp_path / "late.ckpt")))
        assert (left, unused) == ([], [])
        for a, b in zip(first.get_parameters(), second.get_parameters()):
            assert a.asnumpy() == b.asnumpy()
    finally:
        uninstall()


def test_update_parameters_name_starts_anew_from_the_paths() -> None:
    class Own(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = ms.Parameter(ms.Tensor([1.0]), name="own")
            self.fc = nn.Dense(1, 1, has_bias=False)

    install()
    try:
        one = Own()
        one.update_parameters_name("a.")
        assert names(one) == ["a.scale", "a.fc.weight"], "the attribute's name, not the one of its own"
        assert names(copy.deepcopy(one)) == names(one)
        one.update_parameters_name("b.", recurse=False)
        assert names(one) == ["b.scale", "a.fc.weight"]
        net = Around(one)
        assert names(net) == ["net.scale", "net.fc.weight"], "a place: a prefix from before is gone"
        net.net.fc.update_parameters_name("q.")
        assert names(net) == ["net.scale", "q.weight"]
        net.update_parameters_name("")
        assert names(net) == ["net.scale", "net.fc.weight"]
        row = Around(nn.CellList([nn.Dense(1, 1, has_bias=False)]))
        row.net[0].update_parameters_name("u.")
        row.net.append(nn.Dense(1, 1, has_bias=False))
        assert names(row) == ["u.weight", "1.weight"], "no position is left in the first one's name"
        with pytest.raises(ValueError, match="make a prefix"):
            net.update_parameters_name("a b.")
    finally:
        uninstall()


def test_cells_in_a_list_of_python_have_the_names_of_the_attributes(tmp_path: Any) -> None:
    import mindspore as ms

    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [ms.nn.Dense(1, 1, has_bias=False), ms.nn.ReLU()]
            for i, layer in enumerate(self.layers):
                self.insert_child_to_cell(str(i), layer)
            self.a = ms.Parameter(ms.Tensor([1.0]), name="scale")
            self.b = ms.Parameter(ms.Tensor([2.0]), name="scale")  # legal in MindSpore

    net = Net()
    assert [name for name, _ in net.cells_and_names()] == ["", "0", "1"]
    assert net.__getattr__("0") is net.layers[0]
    assert [p.name for p in net.get_parameters()] == ["scale", "scale", "0.weight"]
    with pytest.raises(AttributeError, match="nothing"):
        net.__getattr__("nothing")


def test_a_parameter_that_comes_after_its_cell_has_no_prefix_until_the_tree_has_another_root(tmp_path: Any) -> None:
    import mindspore as ms

    def weight() -> Any:
        return ms.Parameter(ms.Tensor([[2.0]]))

    class Net(ms.nn.Cell):
        def __init__(self, *late: str) -> None:
            super().__init__()
            self.table = ms.nn.Dense(1, 1, has_bias=False)
            self.head = ms.nn.Dense(1, 1)
            for name in late:
                getattr(self, name).weight = weight()
            self.head.bias = ms.Parameter(ms.Tensor([1.0]), name="own")

    class Around(ms.nn.Cell):
        def __init__(self, net: Any) -> None:
            super().__init__()
            self.net = net

    def names(net: Any) -> list[str]:
        return [p.name for p in net.get_parameters()]

    net = Net("table")
    assert names(net) == names(copy.deepcopy(net)) == ["weight", "head.weight", "own"]
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    assert list(ms.load_checkpoint(str(tmp_path / "net.ckpt"))) == ["weight", "head.weight", "own"]
    net.table.weight = weight()
    assert names(net) == ["weight", "head.weight", "own"], "replaced once more"
    assert names(Around(net)) == ["net.table.weight", "net.head.weight", "net.head.bias"]
    assert names(Net("table", "head")) == ["table.weight", "head.weight", "own"], "two of one name have their paths"


def test_a_tuple_gives_its_parameters_their_own_names() -> None:
    class Kept(nn.Cell):
        def __init__(self, net: nn.Cell) -> None:
            super().__init__()
            self.sums = ms.ParameterTuple([ms.Parameter(0.0, name="a"), ms.Parameter(0.0, name="part.b")])
            self.weights = ms.ParameterTuple(net.trainable_params())

    net = nn.SequentialCell(nn.Dense(2, 1))
    around = Around(Kept(net))
    paths = [path for path, _ in around.parameters_and_names()]
    assert paths == ["net.a", "net.part.b", "net.0.weight", "net.0.bias"] == list(around.state_dict())
    rule = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    assert [path for path, _ in rule.parameters_and_names()][-2:] == ["moments.0.weight", "moments.0.bias"]


def test_a_tuple_numbers_the_parameters_without_names() -> None:
    """Names of MindSpore 2.10."""

    class Kept(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            made = [ms.Parameter(0.0) for _ in range(3)]
            self.sums = ms.ParameterTuple((made[0], ms.Parameter(0.0, name="own"), made[1]))
            self.more = ms.ParameterTuple(made[2:])

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.kept, self.rows = Kept(), nn.CellList([Kept()])
            self.own = ms.ParameterTuple([ms.Parameter(0.0)])

    expected = ["Parameter$1", "own", "Parameter$2", "Parameter$3"]
    assert sorted(names(Kept())) == sorted(expected)
    assert set(names(Net())) == {"Parameter$1", *(f"{at}.{name}" for at in ("kept", "rows.0") for name in expected)}


def test_a_list_beside_the_cells_made_of_it_is_no_place() -> None:
    class Blocks(nn.Cell):
        def __init__(self, made: list[nn.Cell]) -> None:
            super().__init__()
            self.row = nn.SequentialCell(made)

    class Net(nn.Cell):
        def __init__(self, kind: Any) -> None:
            super().__init__()
            self.made = [nn.Dense(2, 2, has_bias=False) for _ in range(2)]
            self.first = nn.Dense(2, 2, has_bias=False)
            self.blocks = kind(self.made)
            self.alone = [nn.Dense(2, 2, has_bias=False)]

    for kind, path in ((nn.CellList, "blocks"), (nn.SequentialCell, "blocks"), (Blocks, "blocks.row")):
        net = Net(kind)
        wanted = ["first.weight", f"{path}.0.weight", f"{path}.1.weight", "alone.0.weight"]
        assert [name for name, _ in net.parameters_and_names()] == wanted
        assert [p.name for p in net.trainable_params()] == wanted == list(net.parameters_dict())
        assert list(net.name_cells()) == ["first", "blocks", "alone.0"]
        assert not any(name.startswith("made") for name, _ in net.cells_and_names())
    uninstall()
    try:
        assert next(Net(nn.CellList).parameters_and_names())[0] == "made.0.weight", "of msnb the first place"
    finally:
        install()
