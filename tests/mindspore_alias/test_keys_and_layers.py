"""What MindSpore's compiled functions have beside Python: ``has_key`` of dicts; and Cells that a tensor chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.as_mindspore import install, uninstall

TABLE: dict[Any, Any] = {"a": 1}


def test_has_key_of_dicts() -> None:
    @ms.jit
    def here(x: Any) -> Any:
        table = {"a": x, 2: x + 1}
        return table.has_key("a"), table.has_key(3), table["a"]  # type: ignore[attr-defined]

    assert here(ms.Tensor(4))[:2] == (True, False)


def test_has_key_follows_a_dict_from_outside() -> None:
    @ms.jit
    def known(x: Any) -> Any:
        return x + 1 if TABLE.has_key("b") else x - 1  # type: ignore[attr-defined]

    assert known(ms.Tensor(4)).item() == 3
    TABLE["b"] = 2
    try:
        assert known(ms.Tensor(4)).item() == 5
    finally:
        del TABLE["b"]
    assert known(ms.Tensor(4)).item() == 3


def test_has_key_belongs_to_the_alias() -> None:
    def ask(x: Any) -> Any:
        return {"a": x}.has_key("a")  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="has_key"):
        ask(ms.Tensor(1))
    uninstall()
    try:
        with pytest.raises(AttributeError, match="has_key"):
            ms.jit(ask)(ms.Tensor(1))
    finally:
        install()
    with pytest.raises(TypeError):
        ms.jit(lambda x: {"a": x}.has_key())(ms.Tensor(1))  # type: ignore[attr-defined]


class Chooses(nn.Cell):
    """One of two layers, by a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = (nn.Dense(2, 2, weight_init="ones"), nn.ReLU())

    def construct(self, index: Any, x: Any) -> Any:
        from mindspore.ops import functional

        return functional.switch_layer(index, self.layers)(x)


def test_switch_layer(mode: int) -> None:
    net, x = Chooses(), ms.Tensor([[-1.0, 2.0]])
    for i, layer in enumerate(net.layers):
        np.testing.assert_allclose(net(ms.Tensor(i, ms.int32), x).asnumpy(), layer(x).asnumpy())
    slope = ms.grad(net, 1)(ms.Tensor(1, ms.int32), x)
    assert slope.tolist() == [[0.0, 1.0]]
