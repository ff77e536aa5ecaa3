"""Bijectors of a program, written as MindSpore's page of probability has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.nn.probability import bijector


class Line(bijector.Bijector):
    """slope x + shift; its base gets the locals of ``__init__``."""

    def __init__(self, slope: Any, shift: Any, dtype: Any = None) -> None:
        param = dict(locals())
        param["param_dict"] = {"slope": slope, "shift": shift}
        super().__init__(name="Line", dtype=dtype, param=param)
        self._slope = self._add_parameter(slope, "slope")
        self._shift = self._add_parameter(shift, "shift")

    def _forward(self, value: Any) -> Any:
        value = self._check_value_dtype(value)
        return value * self.cast_param_by_value(value, self._slope) + self.cast_param_by_value(value, self._shift)


class Net(nn.Cell):
    """A bijector within a network."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__()
        self.line = Line(np.float32(2.0), np.float32(1.0), dtype)

    def construct(self, value: Any) -> Any:
        return self.line.forward(value)


def test_values_keep_their_dtype(mode: int) -> None:
    for dtype in (ms.float16, ms.float32):
        found = Net()(ms.Tensor([3.0], dtype))
        assert found.dtype is dtype and found.tolist() == [7.0]


def test_a_dtype_holds(mode: int) -> None:
    net = Net(ms.float32)
    assert net(ms.Tensor([3.0], ms.float32)).tolist() == [7.0]
    for wrong in (ms.Tensor([3.0], ms.float16), ms.Tensor([3]), 3.0, None):
        with pytest.raises(TypeError):
            net(wrong)
    with pytest.raises(TypeError):
        Net()(ms.Tensor([3]))


def test_parameters() -> None:
    line = Line(2.0, 1.0)
    assert {name: p.item() for name, p in line.parameters.items()} == {"slope": 2.0, "shift": 1.0}
    for wrong in (None, True):
        with pytest.raises(TypeError):
            Line(2.0, wrong)
