"""Differences from MindSpore in operators of tensors: rows of ``differences``, as in ``test_differences``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def both(fn: Any, *inputs: Any) -> tuple[Any, Any]:
    """Under the alias, and without it."""
    from msnb.as_mindspore import install, uninstall

    theirs = run(fn, *inputs)
    uninstall()
    try:
        return theirs, run(fn, *inputs)
    finally:
        install()


def test_inversion_of_numbers(mode: int) -> None:
    theirs, ours = both(lambda x: ~x, Tensor([0, 1, 2]))
    assert theirs.dtype is ms.bool_ and theirs.tolist() == [True, False, False]
    assert ours.dtype is ms.int64 and ours.tolist() == [-1, -2, -3]
    mask, x = Tensor([1, 0, 1], ms.uint8), Tensor([1.0, 2.0, 3.0])
    assert run(lambda m, x: x[~m], mask, x).tolist() == [2.0]  # a program's mask of 0 and 1
    assert run(lambda x: ~x, Tensor([0.0, 0.5])).tolist() == [True, False]
    assert run(lambda x: ~x, Tensor([True, False])).tolist() == [False, True]
    assert run(lambda x: ~(x.shape[0]), x) == -4  # a number of Python stays one
    parameter = ms.Parameter(Tensor([0, 3]), name="kept")
    assert run(lambda: ~parameter).tolist() == [True, False]
    assert ms.ops.bitwise_invert(Tensor([0, 1])).tolist() == [-1, -2]
    assert ms.ops.Invert()(Tensor([0, 1], ms.int16)).tolist() == [-1, -2]


def test_inversion_in_cells_compiled_before(mode: int) -> None:
    class Net(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ~x

    net = Net()
    theirs, ours = both(net, Tensor([0, 1]))
    assert theirs.tolist() == [True, False] and ours.tolist() == [-1, -2]


@pytest.mark.parametrize("element", [[2.0], (2.0,), [1.0, 2.0], np.array(2.0), np.array([1.0, 2.0])])
def test_lists_in_a_tensor(mode: int, element: Any) -> None:
    assert both(lambda x: bool(element in x), Tensor([1.0, 2.0])) == (False, True)


@pytest.mark.parametrize("element", [2.0, 2, True, np.float32(2), Tensor(2.0), Tensor([2.0])])
def test_numbers_in_a_tensor(mode: int, element: Any) -> None:
    x = Tensor([1.0, 2.0])
    assert bool(run(lambda x: element in x, x)) and not bool(run(lambda x: element in x, x + 7))


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [1.5, 2], [[1, 2]], [Tensor(1), 2]])
def test_lists_beside_a_tensor(mode: int, other: Any) -> None:
    x = Tensor([1, 2])
    theirs, ours = both(lambda x: [x == other, other == x, x != other, other != x], x)
    assert theirs == [False, False, True, True]
    assert all(isinstance(found, Tensor) for found in ours)


def test_tensors_among_other_things_in_a_list(mode: int) -> None:
    x = Tensor(1)
    things: list[Any] = ["a", ("b", "c"), 20, [1, 2], x, Tensor(1), (1,)]
    assert run(lambda x: things.count(x), x) == 2 and run(lambda x: things.index(x), x) == 4
    assert run(lambda x: (x in [[1], x], x in ([1], (1,))), x) == (True, False)
    assert run(lambda x: [x, 2] == [[1], 2], x) is False
    assert run(lambda x: x == 1, x).item() is True and run(lambda x: x != Tensor([1, 2]), x).tolist() == [False, True]


def test_lists_that_are_no_operands(mode: int) -> None:
    with pytest.raises(TypeError):
        run(lambda x: x < ["a"], Tensor([1]))
    assert run(lambda x: x == np.array([1, 3]), Tensor([1, 2])).tolist() == [True, False]


def test_extremes_compute(mode: int) -> None:
    x = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7)
    top, low = x.amax(2), x.amin(2)

    def computed(x: Any) -> Any:
        most, least = x.max(2), x.min(-1)
        spread = most - least, 1 - most, most * 2, 2**least, -most, abs(least), most + least, 3.0 + most
        return most < 5.0, 5.0 < most, most.expand_dims(-1) * x, ms.ops.exp(most), ms.ops.stack((most, least)), *spread

    found = run(computed, x)
    wanted = [
        top < 5, top > 5, top[..., None] * x, ms.ops.exp(top), ms.ops.stack((top, low)),
        top - low, 1 - top, top * 2, 2**low, -top, abs(low), top + low, 3 + top,
    ]  # fmt: skip
    for result, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result.asnumpy(), want.asnumpy(), rtol=1e-6)  # ``exp`` compiled rounds otherwise
    assert [f.dtype for f in found] == [w.dtype for w in wanted]
    values, places = run(lambda x: x.max(2), x)
    assert values.tolist() == top.tolist() and places.tolist() == x.argmax(2).tolist() and len(x.max(2)) == 2
    assert run(lambda x: x.max(2)[1], x).tolist() == places.tolist()
    assert len(run(lambda x: x.max(2) + (x,), x)) == 3, "a pair and a tuple"
    y = Tensor([[3.0, 1.0], [2.0, 5.0]])
    assert run(ms.grad(lambda y: (y.max(1) * y.max(1)).sum()), y).tolist() == [[6, 0], [0, 10]]
    for pair in (lambda x: ms.ops.max(x, 2), lambda x: x.sort(2)):
        with pytest.raises(TypeError):
            run(lambda x, pair=pair: pair(x) < 5.0, x)
    with pytest.raises(AttributeError, match="no_such"):
        run(lambda x: x.max(2).no_such, x)
    with pytest.raises(TypeError):
        both(lambda x: x.max(2) < 5.0, x)  # without the alias: take .values
