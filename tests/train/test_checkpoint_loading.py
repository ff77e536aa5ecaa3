"""Values into a network: every mismatch is named, and a failed load changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError, CheckpointError
from msnb.train.files.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint


class Net:
    """All that loading asks of a Cell."""

    def __init__(self, **values: Any) -> None:
        self.params = {k.replace("_", "."): ms.Parameter(ms.Tensor(v), k.replace("_", ".")) for k, v in values.items()}

    def cells_and_names(self) -> list[Any]:
        return []

    def parameters_and_names(self) -> Iterator[tuple[str, ms.Parameter]]:
        yield from self.params.items()

    def values(self) -> dict[str, list[Any]]:
        return {k: p.asnumpy().tolist() for k, p in self.params.items()}


def test_a_network_comes_back(tmp_path: Any, mode: int) -> None:
    net = Net(conv_weight=np.float32([[1, 2]]), conv_bias=np.float32([3]))
    save_checkpoint(net, tmp_path / "net.ckpt")
    other = Net(conv_weight=np.zeros((1, 2), np.float32), conv_bias=np.zeros(1, np.float32))
    held = other.params["conv.weight"]
    loaded = load_checkpoint(tmp_path / "net.ckpt", other, strict_load=True)
    assert other.values() == net.values() and list(loaded) == ["conv.weight", "conv.bias"]
    assert other.params["conv.weight"] is held  # an optimizer that holds the Parameter sees the new value
    loaded["conv.weight"].set_data(ms.Tensor([[9.0, 9.0]]))
    assert other.values() == net.values()  # values, not views


WRONG = {
    "shape": ({"a": [1.0, 2.0, 3.0]}, r"1 of 2 .*do not fit[\s\S]*a: .*f32\[2\].*f32\[3\]: the shapes differ"),
    "kind": ({"a": [1, 2]}, r"a: .*f32\[2\].*i64\[2\]: the dtypes differ"),
    "both": ({"a": [1], "b": [1]}, r"2 of 2 [\s\S]*a: .*shapes[\s\S]*b: .*shapes"),
    "names": ({"x": [1.0]}, r"no name of the checkpoint is a name[\s\S]*network: a, b[\s\S]*checkpoint: x"),
    "too large": ({"h": np.float32([1e6])}, r"h: values of f32\[1\] are too large for f16\[1\]"),
    "too many": ({"i": np.int64([2**40])}, r"i: values of i64\[1\] are too large for i32\[1\]"),
    "negative": ({"u": np.int8([-1])}, r"u: values of i8\[1\] are too large for u8\[1\]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_misfit_is_named_and_changes_nothing(case: str) -> None:
    given, sentence = WRONG[case]
    net = Net(a=[5.0, 6.0], b=[7.0, 8.0])
    if case in ("too large", "too many", "negative"):
        net = Net(h=np.float16([1]), i=np.int32([1]), u=np.uint8([1]), a=[1.0, 2.0])
    before = net.values()
    both = {"b": ms.Tensor([0.0, 0.0])} | {k: ms.Tensor(v) for k, v in given.items()}
    if case == "names":
        del both["b"]
    with pytest.raises(CheckpointError, match=sentence):
        load_param_into_net(net, both)
    assert net.values() == before


def test_strict_names_and_dtypes() -> None:
    net = Net(a=[1.0], b=[2.0])
    with pytest.raises(CheckpointError, match=r"missing in the checkpoint: b\n.*not in the network: c"):
        load_param_into_net(net, {"a": ms.Tensor([3.0]), "c": ms.Tensor([4.0])}, strict_load=True)
    with pytest.raises(CheckpointError, match="the dtypes differ"):
        load_param_into_net(net, {"a": ms.Tensor(np.float64([3])), "b": ms.Tensor([4.0])}, strict_load=True)
    assert net.values() == {"a": [1.0], "b": [2.0]}


def test_lenient_names_are_returned_and_announced(notices: list[str]) -> None:
    net = Net(a=[1.0], b=[2.0])
    assert load_param_into_net(net, {"a": ms.Tensor([3.0]), "c": ms.Tensor([4.0])}) == (["b"], ["c"])
    assert net.values() == {"a": [3.0], "b": [2.0]}
    assert notices == ["the checkpoint has no value for b; kept as they were."]


def test_floats_change_their_width(notices: list[str]) -> None:
    net = Net(h=np.float16([0]), w=np.float32([0]), i=np.int32([0]))
    given = {"h": np.float32([0.5]), "w": np.float64([0.1]), "i": np.int64([-7])}
    assert load_param_into_net(net, {k: ms.Tensor(v) for k, v in given.items()}) == ([], [])
    assert net.values() == {"h": [0.5], "w": [float(np.float32(0.1))], "i": [-7]}
    assert [p.dtype.name for p in net.params.values()] == ["float16", "float32", "int32"]


def test_a_prefix_on_every_name_is_seen_through(notices: list[str]) -> None:
    net = Net(conv_weight=[1.0], conv_bias=[2.0])
    given = {"net.conv.weight": ms.Tensor([3.0]), "net.conv.bias": ms.Tensor([4.0]), "step": ms.Tensor(1)}
    assert load_param_into_net(net, given) == ([], ["step"])
    assert net.values() == {"conv.weight": [3.0], "conv.bias": [4.0]}
    assert notices == ["the names in the checkpoint begin with 'net.'; loaded without it."]
    with pytest.raises(CheckpointError):
        load_param_into_net(net, given, strict_load=True)


def test_arguments_of_the_wrong_kind() -> None:
    net = Net(a=[1.0])
    with pytest.raises(ArgumentError, match="needs a Cell, not int"):
        load_param_into_net(3, {})
    with pytest.raises(ArgumentError, match="needs a dict from names to Parameters, not list"):
        load_param_into_net(net, [ms.Tensor([1.0])])
    with pytest.raises(ArgumentError, match="the value of 'a' is a list"):
        load_param_into_net(net, {"a": [1.0]})


def test_a_damaged_file_leaves_the_network_alone(tmp_path: Any) -> None:
    net = Net(a=[1.0], b=[2.0])
    save_checkpoint({"a": ms.Tensor([8.0]), "b": ms.Tensor([9.0])}, tmp_path / "n.ckpt")
    good = (tmp_path / "n.ckpt").read_bytes()
    for length in range(0, len(good), 7):
        (tmp_path / "n.ckpt").write_bytes(good[:length])
        with pytest.raises(CheckpointError):
            load_checkpoint(tmp_path / "n.ckpt", net)
    assert net.values() == {"a": [1.0], "b": [2.0]}


def test_strings_are_among_the_unused_names(mode: int, tmp_path: Any) -> None:
    net = ms.nn.Dense(1, 1)
    save_checkpoint(net, str(tmp_path / "n.ckpt"), append_dict={"epoch": 3, "note": "best"})
    found = load_checkpoint(str(tmp_path / "n.ckpt"))
    assert load_param_into_net(ms.nn.Dense(1, 1), found) == ([], ["epoch", "note"])
    found.pop("epoch")
    assert load_param_into_net(ms.nn.Dense(1, 1), found, strict_load=True) == ([], ["note"])
    with pytest.raises(ArgumentError, match="neither|not a Parameter"):
        load_param_into_net(ms.nn.Dense(1, 1), {"note": b"best"})
