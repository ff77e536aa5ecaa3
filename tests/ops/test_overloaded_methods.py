"""Methods of Tensor that are called in two ways, as MindSpore's and PyTorch's are; both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor
from msnb.base.errors import AttributeValueError

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def test_select_takes_a_slice_or_chooses(mode: str) -> None:
    x, y = Tensor(X), Tensor(X * 10)
    run = ms.jit(lambda *args: args[0].select(*args[1:]))
    for call in (lambda *args: args[0].select(*args[1:]), run):
        assert call(x, 0, 1).tolist() == [3.0, 4.0]
        assert call(x, -1, 0).tolist() == [1.0, 3.0]
        assert call(x, Tensor([True, False]), y).tolist() == [[1.0, 20.0], [3.0, 40.0]]
        assert call(x, Tensor([[True], [False]]), 7.0).tolist() == [[1.0, 2.0], [7.0, 7.0]]
    slope = ms.grad(lambda t: t.select(Tensor([True, False]), y).sum())(x)
    assert slope.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_unique_says_first_whether_it_sorts(mode: str) -> None:
    x = Tensor([3, 1, 3, 2])
    assert x.unique(True).tolist() == x.unique(False).tolist() == [1, 2, 3]
    values, places, counts = x.unique(True, True, True)
    assert (values.tolist(), places.tolist(), counts.tolist()) == ([1, 2, 3], [2, 0, 2, 1], [1, 1, 2])
    assert x.unique(return_counts=True)[1].tolist() == [1, 1, 2]
    with pytest.raises(AttributeValueError, match="unique: dim is not supported"):
        x.unique(dim=0)


def test_draws_in_place_from_a_generator(mode: str) -> None:
    x, generator = Tensor(np.zeros((50, 4), np.float32)), ms.Generator()

    def drawn(fill: Any) -> Any:
        generator.manual_seed(3)
        assert fill() is x
        return x.asnumpy().copy()

    normal = drawn(lambda: x.normal_(10.0, 0.5, generator=generator))
    assert abs(normal.mean() - 10) < 0.2 and 0.3 < normal.std() < 0.7
    np.testing.assert_array_equal(drawn(lambda: x.normal_(10.0, 0.5, generator=generator)), normal)
    uniform = drawn(lambda: x.uniform_(2.0, 3.0, generator=generator))
    assert uniform.min() >= 2 and uniform.max() < 3 and uniform.std() > 0.2
    np.testing.assert_array_equal(drawn(lambda: x.uniform_(2.0, 3.0, generator=generator)), uniform)


def test_new_empty_on_a_device() -> None:
    made = Tensor(X).new_empty((2, 3), dtype=ms.int32, device="CPU")
    assert made.shape == (2, 3) and made.dtype == ms.int32
