"""Mistakes that people coming from MindSpore make, and the sentence that tells them what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb import nn, ops
from msnb.base import events
from msnb.base.errors import MsnbError


def _net_as_weights() -> Any:
    net = nn.Dense(3, 2)
    return ms.value_and_grad(lambda x: net(x).sum(), None, net)(ops.ones((2, 3)))


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a network where its parameters are meant": (_net_as_weights, r"not a Dense.(?s:.)*net.trainable_params\(\)"),
    "a number where parameters are meant": (
        lambda: ms.grad(lambda x: x.sum(), None, 3.0)(ops.ones(2)),
        "weights is a Parameter or a list of them, not a float",
    ),
    "class numbers for a dense loss": (
        lambda: nn.SoftmaxCrossEntropyWithLogits()(ops.ones((2, 3)), ms.Tensor([0, 1])),
        r"labels: i64\[2\](?s:.)*sparse=True",
    ),
    "one image without a batch": (
        lambda: nn.Conv2d(3, 4, 3)(ops.ones((3, 5, 5))),
        r"one image alone becomes a batch of one by x.expand_dims\(0\)",
    ),
    "a layer's window that no image has": (
        lambda: nn.ResizeBilinear()(ops.ones((1, 1, 2, 2))),
        "needs either size or scale_factor",
    ),
    "borders for another number of axes": (
        lambda: nn.Pad(((1, 1),))(ops.ones((2, 3))),
        "Pad has 1 pairs for 2 axes",
    ),
    "a border that is no pair": (lambda: nn.Pad((1, 1)), r"paddings is \(\(before, after\), ...\)"),
    "a border of an unknown kind": (lambda: nn.Pad(((1, 1),), mode="reflect"), "CONSTANT, REFLECT, SYMMETRIC"),
    "more mirrored than there is": (
        lambda: nn.Pad(((3, 0),), mode="SYMMETRIC")(ops.ones(2)),
        "axis 0 of size 2 cannot mirror 3",
    ),
    "two conventions at once": (
        lambda: ops.ResizeBilinear((2, 2), True, True)(ops.ones((1, 1, 2, 2))),
        "exclude one another",
    ),
    "words in a tuple of numbers": (lambda: ops.tuple_to_array(("a",)), "takes a tuple of numbers"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_sentence_says_what_to_write(name: str, mode: int) -> None:
    wrong, sentence = MISTAKES[name]
    with pytest.raises(MsnbError, match=sentence):
        wrong()


def test_a_model_without_an_optimizer_says_that_it_does_not_learn() -> None:
    rows = ds.NumpySlicesDataset((np.ones((4, 3), np.float32), np.zeros(4, np.int32)), ["x", "y"]).batch(2)
    net = nn.Dense(3, 2)
    before = net.weight.asnumpy().copy()
    said: list[dict[str, Any]] = []
    events.forget_notices()
    with events.listening("notice", lambda **data: said.append(data)):
        ms.Model(net, nn.CrossEntropyLoss()).train(1, rows)
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    assert any("changes no parameter" in str(data) for data in said)


@pytest.mark.parametrize("pick", [max, min])
def test_the_largest_of_a_tensor(pick: Any, mode: int) -> None:
    fn = ms.jit(lambda x: pick(x)) if mode == ms.GRAPH_MODE else pick
    assert fn(ms.Tensor([2.0, 5.0, -1.0])).item() == pick([2.0, 5.0, -1.0])
    of_a_constant = ms.jit(lambda x: x * pick(ms.Tensor([3.0, 4.0])))
    assert of_a_constant(ms.Tensor(2.0)).item() == 2 * pick(3.0, 4.0)


def test_a_class_is_a_result_like_any_other() -> None:
    assert ms.jit(lambda x: (x, int, type(x)))(ms.Tensor(1.0))[1:] == (int, ms.Tensor)


def test_steps_through_memory() -> None:
    x = ops.ones((2, 3, 4))
    assert (x.strides, x.stride(), x.stride(1)) == ((48, 16, 4), (12, 4, 1), 4)
    assert ms.jit(lambda x: x * x.stride(0))(x)[0, 0, 0].item() == 12
