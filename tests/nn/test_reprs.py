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


LAYERS = [
    "Dense(3, 4)", "Linear(3, 2, bias=False)", "Conv1d(2, 3, 3)", "Conv2d(2, 3, (3, 2), pad_mode='valid')",
    "Conv3d(1, 2, 3)", "Conv2dTranspose(2, 3, 3)", "MaxPool2d(2, 2)", "AvgPool2d(2, 2)", "BatchNorm1d(3)",
    "BatchNorm2d(3)", "LayerNorm((3,))", "GroupNorm(2, 4)", "InstanceNorm2d(3)", "Dropout(p=0.3)", "Embedding(5, 3)",
    "ReLU()", "LeakyReLU()", "PReLU()", "Softmax()", "Flatten()", "LSTM(3, 4)", "GRU(3, 4)", "AdaptiveAvgPool2d(2)",
    "Upsample(2)", "PixelShuffle(2)", "Pad(((1, 1),))", "CrossEntropyLoss()", "MSELoss('sum')",
    "SoftmaxCrossEntropyWithLogits(sparse=True)",
]  # fmt: skip


@pytest.mark.parametrize("written", LAYERS)
def test_what_a_layer_says_of_itself_makes_it_again(written: str) -> None:
    layer = eval(f"nn.{written}")
    assert repr(eval(f"nn.{layer!r}")) == repr(layer)


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
