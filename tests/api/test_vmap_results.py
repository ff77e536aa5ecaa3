"""Where vmap puts the batch axis: numbers, results that are alike in all lanes, one Cell per example; both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn, ops
from msnb.base.errors import ArgumentError, AttributeValueError, ShapeError

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("jitted", [False, True])
def test_results_that_are_alike_in_all_lanes(mode: str, jitted: bool) -> None:
    shared = Tensor([5.0, 6.0])

    def fn(x: Any) -> Any:
        return ((1, 2.5), 3), shared + 1, x * shared, True

    run = ms.vmap(fn, 0, (((0, 0), None), None, 1, 0))
    ((one, two), three), alike, own, true = (ms.jit(run) if jitted else run)(Tensor(ROWS))
    assert one.tolist() == [1, 1, 1] and two.tolist() == [2.5] * 3 and true.tolist() == [True] * 3
    assert three == 3 and not isinstance(three, Tensor)
    assert alike.tolist() == [6.0, 7.0]
    np.testing.assert_array_equal(own.asnumpy(), (ROWS * [5, 6]).T)


def test_axes_that_do_not_fit_the_results(mode: str) -> None:
    with pytest.raises(AttributeValueError, match="out_axes=None is for results that are the same in every lane"):
        ms.vmap(lambda x: x * 2, 0, None)(Tensor(ROWS))
    with pytest.raises(ArgumentError, match="does not have the structure of the function's result"):
        ms.vmap(lambda x: x * 2, 0, (0, 0))(Tensor(ROWS))
    with pytest.raises(ArgumentError, match="does not have the structure of the function's result"):
        ms.vmap(lambda x: (x, x), 0, (0,))(Tensor(ROWS))


@pytest.mark.parametrize("jitted", [False, True])
def test_numbers_without_an_axis_stay_numbers(mode: str, jitted: bool) -> None:
    run = ms.vmap(lambda x, y, beta: ops.smooth_l1_loss(x, y, beta, "sum"), (0, 0, None))
    found = (ms.jit(run) if jitted else run)(Tensor(ROWS), Tensor(ROWS[:, :1] + 0.5), 2.0)
    np.testing.assert_allclose(found.asnumpy(), [0.125] * 3)
    with pytest.raises(AttributeValueError, match="the batch axis 0 does not exist"):
        ms.vmap(lambda x, beta: x * beta)(Tensor(ROWS), 2.0)
    with pytest.raises(AttributeValueError, match="the batch axis 1.0 does not exist"):
        ms.vmap(lambda x: x, 1.0)(Tensor(ROWS))


class Member(nn.Cell):
    """Keeps its last example and adds a bias of its own."""

    def __init__(self, k: float) -> None:
        super().__init__()
        self.bias, self.last = Parameter([k, 2 * k], name="bias"), Parameter([0.0, 0.0], name="last")

    def construct(self, x: Any, scale: Any) -> Any:
        ops.assign(self.last, x)
        return x * scale + self.bias, self.last.sum()


@pytest.mark.parametrize("jitted", [False, True])
def test_one_cell_for_each_example(mode: str, jitted: bool) -> None:
    cells = nn.CellList([Member(float(k)) for k in range(3)])
    run = ms.vmap(cells, (1, None), (1, 0))
    out, sums = (ms.jit(run) if jitted else run)(Tensor(ROWS.T), Tensor(3.0))
    want = ROWS * 3 + np.array([[0, 0], [1, 2], [2, 4]])
    np.testing.assert_array_equal(out.asnumpy(), want.T)
    np.testing.assert_array_equal(sums.asnumpy(), ROWS.sum(1))
    np.testing.assert_array_equal(np.stack([cell.last.asnumpy() for cell in cells]), ROWS)
    slopes = ms.grad(lambda x: ms.vmap(cells, (0, None))(x, Tensor(3.0))[0].sum())(Tensor(ROWS))
    np.testing.assert_array_equal(slopes.asnumpy(), np.full((3, 2), 3.0))


def test_as_many_cells_as_examples(mode: str) -> None:
    cells = nn.CellList([Member(1.0), Member(2.0)])
    with pytest.raises(ShapeError, match="2 Cells over a batch of 3: each Cell takes one example"):
        ms.vmap(cells, (0, None))(Tensor(ROWS), Tensor(1.0))
    with pytest.raises(NotImplementedError, match="a CellList does not run"):
        cells(Tensor(ROWS))


def test_every_cell_may_see_the_same_arguments(mode):
    cells = nn.CellList([Member(float(k)) for k in range(3)])
    alone = [cell(Tensor(ROWS[0]), Tensor(3.0)) for cell in cells]
    found = ms.vmap(cells, (None, None))(Tensor(ROWS[0]), Tensor(3.0))
    for k, one in enumerate(alone):
        for part, whole in zip(one, found):
            np.testing.assert_allclose(whole[k].asnumpy(), part.asnumpy())


def test_arrays_are_batches_as_tensors_are(mode):
    rows, places = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.array([0, 1, 1])
    found = ms.vmap(lambda a, i, k: a[i] * k, in_axes=(1, 0, None))(rows, places, 2)
    np.testing.assert_array_equal(found.asnumpy(), rows.T[np.arange(3), places] * 2)
