"""Hooks of state_dict and load_state_dict."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import nn


class Old(nn.Cell):
    """A layer whose weight had another name in older files."""

    def __init__(self) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0]))
        self.register_load_state_dict_pre_hook(self.renamed)

    @staticmethod
    def renamed(
        cell: Any, state: Any, prefix: str, local: Any, strict: bool, missing: Any, extra: Any, errors: Any
    ) -> None:
        if prefix + "kernel" in state:
            state[prefix + "w"] = state.pop(prefix + "kernel")

    def construct(self, x: Any) -> Any:
        return x * self.w


def test_names_of_older_files(mode: int) -> None:
    net, state = nn.SequentialCell(Old(), Old()), {"0.kernel": ms.Tensor([3.0]), "1.w": ms.Tensor([2.0])}
    assert net(ms.Tensor([1.0])).tolist() == [1.0]
    found = net.load_state_dict(state)
    assert found.missing_keys == found.unexpected_keys == [] and list(state) == ["0.kernel", "1.w"]
    assert net(ms.Tensor([1.0])).tolist() == [6.0]
    net[0].register_load_state_dict_pre_hook(lambda *told: told[-1].append("the file is too old"))
    with pytest.raises(ValueError, match="nothing was loaded") as e:
        net.load_state_dict({"0.w": ms.Tensor([9.0]), "1.w": ms.Tensor([9.0])})
    assert "the file is too old" in str(e.value) and net(ms.Tensor([1.0])).tolist() == [6.0]


def test_what_a_state_says(mode: int) -> None:
    net, seen = nn.SequentialCell(nn.Dense(1, 1), Old()), []
    net[1].register_state_dict_pre_hook(lambda cell, prefix, keep_vars: seen.append((type(cell), prefix, keep_vars)))
    handle = net[1].register_state_dict_post_hook(lambda cell, state, prefix, local: state.pop(prefix + "w"))
    assert list(net.state_dict("net.")) == ["net.0.weight", "net.0.bias"] and seen == [(Old, "net.1.", False)]
    assert net.load_state_dict({**net.state_dict(), "1.w": ms.Tensor([4.0])}) == ([], [])
    handle.remove()
    assert net.state_dict()["1.w"].tolist() == [4.0]


def test_names_that_a_hook_forgives(mode: int) -> None:
    net = Old()
    net.register_load_state_dict_post_hook(lambda cell, keys: keys.unexpected_keys.clear())
    assert net.load_state_dict({"w": ms.Tensor([5.0]), "v": ms.Tensor([1.0])}) == ([], [])
    assert net(ms.Tensor([2.0])).tolist() == [10.0]
    with pytest.raises(RuntimeError, match=r"does not fit Old\.") as e:
        net.load_state_dict({"v": ms.Tensor([1.0])})
    assert "missing: w" in str(e.value)
