"""Tensors with unknown sizes, which say to ``set_inputs`` what will come. Both modes."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor
from msnb.base.errors import MsnbError, ShapeError


def test_they_describe_inputs(mode: int) -> None:
    class Net(ms.nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return x + y

    open_one = Tensor(shape=[2, None], dtype=ms.float32)
    assert isinstance(open_one, Tensor) and open_one.shape == (2, -1) and open_one.dtype == ms.float32
    assert repr(open_one) == "Tensor(shape=[2, -1], dtype=Float32, value= <no values>)"
    net = Net()
    net.set_inputs(open_one, open_one)
    for n in (1, 3):
        x = Tensor([[1.0] * n] * 2)
        assert net(x, x).tolist() == [[2.0] * n] * 2


def test_they_have_no_values(mode: int) -> None:
    open_one = Tensor(shape=(None,), dtype=ms.float32)
    for use in (lambda: open_one + 1, lambda: open_one.asnumpy(), lambda: ms.jit(lambda x: x * 2)(open_one)):
        with pytest.raises(ShapeError, match="set_inputs"):
            use()
    with pytest.raises(MsnbError, match="shape and init"):
        Tensor(None)
    for unranked in (Tensor(None, ms.float32), Tensor(dtype=ms.float32), Tensor(shape=None, dtype=ms.float32)):
        assert unranked.shape == (-2,) and unranked.dtype == ms.float32
