"""``x.data`` of a tensor, under MindSpore's names: its values, that may be written, and that hand no gradient on."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor


def test_values_and_gradient(mode: int) -> None:
    x = Tensor([1.0, 2.0])
    assert x.data.asnumpy().tolist() == [1.0, 2.0] and x.data.shape == (2,)
    assert ms.jit(lambda x: x.data * 2)(x).tolist() == [2.0, 4.0]
    assert ms.grad(lambda x: (x.data * x).sum())(x).tolist() == [1.0, 2.0]
    assert ms.grad(lambda x: (x * x).data.sum() + x.sum())(x).tolist() == [1.0, 1.0]


def test_writing(mode: int) -> None:
    x = Tensor([1.0, 2.0])
    x.data[0] = 5
    assert x.tolist() == [5.0, 2.0]
    x.data = Tensor([3.0, 4.0])
    assert x.tolist() == [3.0, 4.0]
    p = ms.Parameter(Tensor([1.0, 2.0]), name="p")
    p.data[1] = 7
    p.data.set_data(p * 2)
    assert isinstance(p, ms.Parameter) and p.tolist() == [2.0, 14.0]


def test_without_the_names() -> None:
    from msnb.as_mindspore import install, uninstall

    uninstall()
    try:
        with pytest.raises(AttributeError, match="detach"):
            Tensor([1.0]).data
        assert ms.Parameter(Tensor([1.0]), name="p").data.name == "p"
    finally:
        install()


def test_wrong_values(mode: int) -> None:
    x: Any = Tensor([1.0, 2.0])
    with pytest.raises((TypeError, ValueError)):
        x.data = "ab"
