"""What a Model and a jitted function say of themselves, and where ragged lists differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.base.errors import ShapeError


def test_a_model_names_its_parts() -> None:
    net = nn.Dense(3, 2)
    whole = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params()), metrics={"loss", "accuracy"})
    assert repr(whole) == "Model(Dense, CrossEntropyLoss, Adam, metrics={'accuracy', 'loss'})"
    assert repr(ms.Model(net)) == "Model(Dense)"


def test_a_jitted_function_counts_its_versions() -> None:
    f = ms.jit(lambda x: x * 2)
    assert repr(f).endswith(": 0 versions>")
    f(ms.Tensor([1.0]))
    assert repr(f).endswith(": 1 version>")


@pytest.mark.parametrize(
    "data, place",
    [
        ([[1, 2], [3]], "data[0] is of length 2, data[1] is of length 1"),
        ([[[1, 2], [3, 4]], [[1, 2], [3]]], "data[1][0] is of length 2, data[1][1] is of length 1"),
        ([[1, 2], 3], "data[0] is of length 2, data[1] is one number"),
        ([1, (2, 3)], "data[0] is one number, data[1] is of length 2"),
        ([[], [1]], "data[0] is of length 0, data[1] is of length 1"),
        ([np.ones(2), ms.Tensor([1.0])], "data[0] is of length 2, data[1] is of length 1"),
    ],
)
def test_ragged_lists_say_where(data: Any, place: str) -> None:
    with pytest.raises(ShapeError, match="rows of equal length") as caught:
        ms.Tensor(data)
    assert place in str(caught.value)
