"""What is no number, or none that is finite, comes out of a function as it does in PyTorch: nothing is swallowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

NAN, INF = float("nan"), float("inf")


def run(fn: Any, *args: Any) -> np.ndarray:
    found: np.ndarray = ms.jit(fn)(*args).asnumpy() if ms.get_context("mode") == ms.GRAPH_MODE else fn(*args).asnumpy()
    return found


@pytest.mark.parametrize(
    "fn, want",
    [
        (lambda x: ops.hardshrink(x), [NAN, 1.0, -1.0, 0.0, INF]),
        (lambda x: ops.softshrink(x), [NAN, 0.5, -0.5, 0.0, INF]),
        (lambda x: ops.threshold(x, 0.5, 7.0), [NAN, 1.0, 7.0, 7.0, INF]),
    ],
)
def test_a_threshold_keeps_what_is_no_number(mode: int, fn: Any, want: list[float]) -> None:
    np.testing.assert_array_equal(run(fn, ms.Tensor([NAN, 1.0, -1.0, 0.2, INF])), want)


def test_the_middle_of_what_has_no_order_is_nan(mode: int) -> None:
    x = ms.Tensor([[3.0, NAN, 1.0], [6.0, 5.0, 4.0]])
    assert np.isnan(run(ops.median, x))
    np.testing.assert_array_equal(run(lambda x: ops.median(x, 1).values, x), [NAN, 5.0])
    np.testing.assert_array_equal(run(lambda x: ops.median(x, 1).indices, x), [1, 1])
    np.testing.assert_array_equal(run(lambda x: ops.median(x, 1, True).values, x), [[NAN], [5.0]])
    np.testing.assert_array_equal(run(lambda x: ops.nanmedian(x, 1), x), [1.0, 5.0])
    assert run(ops.median, ms.Tensor([3, 1, 2])) == 2
    assert np.isnan(run(ops.median, ops.zeros((0, 2))))
    np.testing.assert_array_equal(run(lambda x: ops.median(x, 1).values, ops.zeros((2, 0))), [NAN, NAN])


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_equal_infinities_are_added(mode: int, name: str) -> None:
    fn = getattr(ops, name)
    x, y = ms.Tensor([INF, -INF, INF, 1.0]), ms.Tensor([INF, -INF, -INF, 1.0])
    one = np.log(2) if name == "logaddexp" else 1
    np.testing.assert_allclose(run(fn, x, y), [INF, -INF, INF, 1 + one], rtol=1e-6)
    slope = ms.grad(lambda x: fn(x, x).sum())(ms.Tensor([1.0, 2.0]))
    np.testing.assert_allclose(slope.asnumpy(), [1.0, 1.0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64])
@pytest.mark.parametrize(
    "fn",
    [
        ops.nan_to_num,
        lambda x: ops.xlogy(x, 2.0),
        lambda x: ops.logaddexp2(x, x > 0),
        lambda x: ms.mint.round(x, decimals=1),
        lambda x: ms.mint.round(x, decimals=-1),
    ],
)
def test_numbers_beside_a_tensor_leave_its_dtype(mode: int, fn: Any, dtype: Any) -> None:
    x = ms.Tensor([0.52, 2.25, 31.0], dtype)
    found = ms.jit(fn)(x) if mode == ms.GRAPH_MODE else fn(x)
    assert found.dtype == dtype


def test_nan_to_num_by_its_numbers(mode: int) -> None:
    x = ms.Tensor([NAN, INF, -INF, 2.0], ms.float16)
    np.testing.assert_array_equal(run(ops.nan_to_num, x), np.array([0, 65504, -65504, 2], np.float16))
    np.testing.assert_array_equal(run(lambda x: ops.nan_to_num(x, 1.0, 2.0, 3.0), x), [1, 2, 3, 2])


def test_bools_are_close_where_they_are_equal(mode: int) -> None:
    found = run(ops.isclose, ms.Tensor([True, False]), ms.Tensor([True, True]))
    np.testing.assert_array_equal(found, [True, False])
    assert run(lambda x: ms.numpy.isclose([1.0, INF], x), ms.Tensor([1.0, 2.0])).tolist() == [True, False]


# ---- running sums ----------------------------------------------------------------------------------------------------


def test_small_numbers_before_large_ones_are_not_lost(mode: int, rng: np.random.Generator) -> None:
    x = np.concatenate([rng.standard_normal(9), [1000.0], rng.standard_normal(3)]) * 3
    want = np.logaddexp.accumulate(x)
    found = run(lambda x: ops.logcumsumexp(x, 0), ms.Tensor(x))
    np.testing.assert_allclose(found, want, rtol=1e-12)
    both = run(lambda x: ops.logcumsumexp(x, -1), ms.Tensor(np.stack([x, x[::-1]])))
    np.testing.assert_allclose(both[0], want, rtol=1e-12)


def test_what_comes_later_changes_nothing_before(mode: int) -> None:
    found = run(lambda x: ops.logcumsumexp(x, 0), ms.Tensor([0.0, -INF, 1.0, INF, NAN, 2.0]))
    np.testing.assert_allclose(found, [0.0, 0.0, np.logaddexp(0, 1), INF, NAN, NAN], rtol=1e-6)
    assert run(lambda x: ops.logcumsumexp(x, 0), ms.ops.zeros((0, 4))).shape == (0, 4)


def test_gradient_of_running_sums(mode: int, rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal(7))
    weights = ms.Tensor(rng.standard_normal(7))
    found = ms.grad(lambda x: (ops.logcumsumexp(x, 0) * weights).sum())(x).asnumpy()
    want = ms.grad(lambda x: (ops.log(ops.cumsum(ops.exp(x), 0)) * weights).sum())(x).asnumpy()
    np.testing.assert_allclose(found, want, rtol=1e-10)
    far = ms.grad(lambda x: ops.logcumsumexp(x, 0).sum())(ms.Tensor([0.0, 1000.0, -INF]))
    np.testing.assert_allclose(far.asnumpy(), [1.0, 2.0, 0.0])


def test_the_whole_of_no_integral(mode: int) -> None:
    a, x = ms.Tensor([0.0]), ms.Tensor([2.0])
    assert run(ops.igamma, a, x) == 1 and run(ops.igammac, a, x) == 0


def test_a_window_sees_its_own_elements_alone(mode: int) -> None:
    row = ms.Tensor(np.array([1, 2, 3, 4, NAN, 6], np.float32)).reshape(1, 1, 6)
    np.testing.assert_array_equal(run(lambda x: ops.adaptive_avg_pool1d(x, 4), row), [[[1.5, 2.5, NAN, NAN]]])
    image = ops.concat([row, ops.ones_like(row)]).reshape(1, 1, 2, 6)
    found = run(lambda x: ops.adaptive_avg_pool2d(x, (2, 4)), image)
    np.testing.assert_array_equal(found[0, 0, 1], [1, 1, 1, 1])
    assert np.isnan(found[0, 0, 0]).tolist() == [False, False, True, True]
