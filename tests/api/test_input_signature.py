"""Axes that a user says to change are symbols from the first call on. Both modes where a Cell is called."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops
from msnb.api.graph_mode import compiled_cell
from msnb.base.errors import DTypeError, ShapeError

OPEN = Tensor(shape=[None, 3], dtype=ms.float32)


def _rows(n: int, k: int = 3) -> Tensor:
    return Tensor(np.arange(n * k, dtype=np.float32).reshape(n, k))


def test_one_capture_serves_all_sizes() -> None:
    f = ms.jit(lambda x: (x * 2).sum(0), input_signature=(OPEN,))
    for n in (4, 5, 6, 9):
        np.testing.assert_allclose(f(_rows(n)).asnumpy(), 2 * _rows(n).asnumpy().sum(0))
    assert f._made == 4 and f._bound == 3
    assert "x.shape[0]" in f.explain()


def test_one_tensor_needs_no_tuple() -> None:
    @ms.jit(input_signature=Tensor(shape=[None], dtype=ms.float32))
    def total(x: Tensor) -> Tensor:
        return x.sum()

    assert [float(total(ops.ones(n))) for n in (3, 4, 5)] == [3, 4, 5] and total._bound == 2


def test_sizes_that_mean_something_of_their_own_are_right_too() -> None:
    f = ms.jit(lambda x, y: x + y, input_signature=(OPEN, OPEN))
    for n, m in ((1, 1), (1, 4), (4, 4), (4, 1), (5, 5), (0, 0)):
        np.testing.assert_allclose(f(_rows(n), _rows(m)).asnumpy(), _rows(n).asnumpy() + _rows(m).asnumpy())


def test_two_open_axes_of_one_size_at_first() -> None:
    f = ms.jit(lambda x, y: x.sum() + y.sum(), input_signature=(OPEN, OPEN))
    for n, m in ((4, 4), (4, 5), (6, 7), (3, 3)):
        assert float(f(_rows(n), _rows(m))) == _rows(n).asnumpy().sum() + _rows(m).asnumpy().sum()


def test_lists_of_tensors() -> None:
    f = ms.jit(lambda xs: xs[0].sum() + xs[1].sum(), input_signature=([OPEN, OPEN],))
    for n in (3, 4, 5):
        assert float(f([_rows(n), _rows(n)])) == 2 * _rows(n).asnumpy().sum()
    assert f._bound == 2


def test_methods() -> None:
    class Scaled:
        by = 2.0

        @ms.jit(input_signature=(OPEN,))
        def twice(self, x: Tensor) -> Tensor:
            return x * self.by

    scaled = Scaled()
    for n in (3, 4, 5):
        assert float(scaled.twice(_rows(n)).sum()) == 2 * _rows(n).asnumpy().sum()
    assert Scaled.twice._bound == 2


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (_rows(4, 5), ShapeError, r"x is f32\[4,5\], and was declared as \[-1, 3\]"),
        (ops.ones(3), ShapeError, "declared"),
        (_rows(4).astype(ms.float16), DTypeError, "declared"),
    ],
)
def test_what_was_said_holds(given: Tensor, error: type[Exception], words: str) -> None:
    f = ms.jit(lambda x: x * 2, input_signature=(OPEN,))
    with pytest.raises(error, match=words):
        f(given)
    f(_rows(4))
    with pytest.raises(error, match="None for each axis"):
        f(given)


def test_a_signature_travels_with_its_function() -> None:
    f = ms.jit(ops.sum, input_signature=(OPEN,))
    again: Any = pickle.loads(pickle.dumps(f))
    with pytest.raises(ShapeError, match="declared"):
        again(_rows(4, 5))


def test_inputs_of_a_cell(mode: int) -> None:
    net = nn.Dense(3, 2)
    net.set_inputs(OPEN)
    for n in (4, 5, 6):
        want = _rows(n).asnumpy() @ net.weight.asnumpy().T + net.bias.asnumpy()
        np.testing.assert_allclose(net(_rows(n)).asnumpy(), want, rtol=1e-5)
    compiled = compiled_cell(net)
    assert mode == ms.PYNATIVE_MODE or compiled._bound == 2
    if mode == ms.GRAPH_MODE:
        with pytest.raises(ShapeError, match="declared"):
            net(ops.ones((2, 3, 3)))


def test_inputs_of_a_cell_by_name(mode: int) -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return x.sum() - y.sum()

    net = Net()
    net.set_inputs(y=OPEN)
    for n in (4, 5, 6):
        assert float(net(_rows(2), y=_rows(n))) == _rows(2).asnumpy().sum() - _rows(n).asnumpy().sum()
        assert float(net(_rows(2), _rows(n))) == _rows(2).asnumpy().sum() - _rows(n).asnumpy().sum()
    assert mode == ms.PYNATIVE_MODE or compiled_cell(net)._bound == 4


def test_symbols_say_which_sizes_may_come(mode: int) -> None:
    any_size, even, same = ms.Symbol(max=9, min=2), ms.Symbol(divisor=4, remainder=1), ms.Symbol(max=32, unique=True)
    net = nn.ReLU()
    net.set_inputs(Tensor(shape=(any_size, even, even, same, same), dtype=ms.float32))
    for shape in ((2, 5, 9, 3, 3), (9, 13, 5, 32, 32)):
        assert net(ops.ones(shape)).shape == shape
    if mode == ms.GRAPH_MODE:
        for shape, told in {
            (1, 5, 9, 3, 3): "shape.0. is 1, and was declared as Symbol.max=9, min=2",
            (10, 5, 9, 3, 3): "shape.0. is 10",
            (2, 6, 9, 3, 3): "shape.1. is 6, and was declared as Symbol.divisor=4, remainder=1",
            (2, 5, 9, 3, 4): "shape.4. is 4, and another axis of the same Symbol",
            (2, 5, 9, 33, 33): "max=32",
        }.items():
            with pytest.raises(ShapeError, match=told):
                net(ops.ones(shape))
    copied = pickle.loads(pickle.dumps(Tensor(shape=[any_size, 3, None], dtype=ms.int32)))
    assert copied.shape == (-1, 3, -1) and copied.symbols[0].max == 9


@pytest.mark.parametrize("wrong", [{"min": 0}, {"max": 2, "min": 3}, {"divisor": 0}, {"divisor": 2, "remainder": 2}])
def test_symbols_that_mean_no_size(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no size is meant"):
        ms.Symbol(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="divisor must be an int"):
        ms.Symbol(divisor=2.0)  # type: ignore[arg-type]
