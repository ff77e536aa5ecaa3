"""Quantiles, distances, counts, segments and rearranged blocks against NumPy, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from tests.gradient_check import check_grads


def same(found: Any, want: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(found.asnumpy(), want, rtol=rtol, atol=1e-12)


def test_quantiles(mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 7, 2))
    t = ms.Tensor(x)
    for way in ("linear", "lower", "higher", "nearest", "midpoint"):
        same(ops.quantile(t, 0.3, 1, interpolation=way), np.quantile(x, 0.3, axis=1, method=way))
    same(ops.quantile(t, [0.0, 0.5, 1.0]), np.quantile(x, [0.0, 0.5, 1.0]))
    same(t.quantile(0.25, -1, keepdims=True), np.quantile(x, 0.25, axis=-1, keepdims=True))
    assert ops.quantile(t, 0.5, keepdims=True).shape == (1, 1, 1)
    holes = np.where(rng.random(x.shape) < 0.3, np.nan, x)
    holes[0, :, 0] = np.nan
    h = ms.Tensor(holes)
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        same(ops.nanquantile(h, 0.4, 1), np.nanquantile(holes, 0.4, axis=1))
    same(ops.nanquantile(h, 0.4, keepdims=True), np.nanquantile(holes, 0.4, keepdims=True))
    rest = np.sort(holes[~np.isnan(holes)])
    same(h.nanmedian(), rest[(len(rest) - 1) // 2])
    missing = np.isnan(holes).any(1)
    np.testing.assert_array_equal(np.isnan(ops.quantile(h, 0.5, 1).asnumpy()), missing)
    check_grads(lambda a: ops.quantile(a, 0.3, 0), [rng.standard_normal((5, 2))])


def test_spreads_and_differences(mode: int, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((3, 6)), rng.standard_normal((4, 6))
    t = ms.Tensor(x)
    same(ops.cov(t), np.cov(x))
    same(ops.cov(t, correction=0, rowvar=False), np.cov(x, ddof=0, rowvar=False))
    same(ops.cov(t[0]), np.cov(x[0]))
    same(ops.cov(t[:1]), np.cov(x[:1]))
    same(ops.corrcoef(t[:1]), np.corrcoef(x[:1]))
    same(ops.corrcoef(t), np.corrcoef(x))
    same(ops.diff(t, 2), np.diff(x, 2))
    same(t.diff(axis=0), np.diff(x, axis=0))
    assert ops.diff(ms.Tensor([True, False, False])).tolist() == [True, False]
    assert ops.diff(t, 9).shape == (3, 0)
    same(ops.trapz(t, dx=0.5), np.sum((x[:, 1:] + x[:, :-1]) * 0.25, 1))
    at = np.cumsum(rng.random(3))
    same(ops.trapz(t, ms.Tensor(at), dim=0), ((x[1:] + x[:-1]) / 2 * np.diff(at)[:, None]).sum(0))
    for p in (1.0, 2.0, 3.0, float("inf")):
        want = np.linalg.norm(x[:, None] - y[None], p, axis=-1)
        same(ops.cdist(t, ms.Tensor(y), p), want)
    same(ops.dist(t, ms.Tensor(y[:3])), np.linalg.norm(x - y[:3]))
    spread, middle = ops.std_mean(t, 1)
    same(spread, x.std(1))
    same(middle, x.mean(1))
    check_grads(lambda a, b: ops.cdist(a, b), [x[:2, :2], y[:2, :2]])
    still = ms.grad(lambda a: ops.cdist(a, a).sum())(t)
    assert np.isfinite(still.asnumpy()).all()


def test_counts(mode: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal(50)
    edges = [-1.0, 0.0, 1.0]
    np.testing.assert_array_equal(ops.bucketize(ms.Tensor(x), edges).asnumpy(), np.digitize(x, edges, right=True))
    np.testing.assert_array_equal(
        ops.bucketize(ms.Tensor([0.0, 1.0]), ms.Tensor(edges), right=True).asnumpy(), [2, 3]
    )  # fmt: skip
    same(ops.histc(ms.Tensor(x), 7), np.histogram(x, 7)[0])
    same(ms.Tensor(x).histc(5, -1.0, 1.0), np.histogram(x, 5, (-1, 1))[0])
    assert ops.histc(ms.Tensor([2.0, 2.0]), 2).asnumpy().sum() == 2
    mask = ops.sequence_mask(ms.Tensor([[1, 0], [3, 2]]), 3).asnumpy()
    np.testing.assert_array_equal(mask, np.arange(3) < np.array([[1, 0], [3, 2]])[..., None])


def test_longest_sequence_says_the_length() -> None:
    assert ops.sequence_mask(ms.Tensor([2, 4])).shape == (2, 4)


def test_segments(mode: int, rng: np.random.Generator) -> None:
    x, ids = rng.standard_normal((6, 2)), np.array([0, 3, 0, 1, 1, 0])
    t, i = ms.Tensor(x), ms.Tensor(ids)
    for fn, pick, empty in (
        (ops.unsorted_segment_sum, np.sum, 0.0),
        (ops.unsorted_segment_max, np.max, np.finfo(np.float64).min),
        (ops.unsorted_segment_min, np.min, np.finfo(np.float64).max),
    ):
        want = [pick(x[ids == k], axis=0) if (ids == k).any() else np.full(2, empty) for k in range(5)]
        same(fn(t, i, 5), want)
    whole = ops.unsorted_segment_max(ms.Tensor([3, 1]), ms.Tensor([1, 1]), 2)
    assert whole.tolist() == [np.iinfo(np.int64).min, 3]
    pairs = ops.unsorted_segment_sum(t, ms.Tensor(np.stack([ids, ids], 1)), 4)
    same(pairs, [x[ids == k].sum() for k in range(4)])
    check_grads(lambda a: ops.unsorted_segment_sum(a, i, 4), [x])


@pytest.mark.parametrize("name", ("sum", "max", "min", "prod"))
def test_rows_of_a_negative_segment_belong_to_none(mode: int, name: str) -> None:
    reduce, slope = getattr(ops, f"unsorted_segment_{name}"), ms.grad(lambda x, i: reduce(x, i, 4).sum())
    wrap: Any = ms.jit if mode == ms.GRAPH_MODE else lambda fn: fn
    for dtype in (np.float32, np.int32):
        x, ids = np.arange(1, 9, dtype=dtype).reshape(4, 2), np.array([0, -1, 2, -5])
        found = wrap(lambda x, i: reduce(x, i, 4))(ms.Tensor(x), ms.Tensor(ids))
        without = reduce(ms.Tensor(x[::2]), ms.Tensor(ids[::2]), 4)
        assert found.dtype == without.dtype and found.tolist() == without.tolist()
    found = wrap(slope)(ms.Tensor(x.astype(np.float32)), ms.Tensor(ids))
    assert found.tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


def test_blocks(mode: int, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 4)), rng.standard_normal((3, 2))
    t, u = ms.Tensor(x), ms.Tensor(y)
    want = np.zeros((5, 6))
    want[:2, :4], want[2:, 4:] = x, y
    same(ops.block_diag(t, u), want)
    for ours, theirs in ((ops.hsplit, np.hsplit), (ops.vsplit, np.vsplit)):
        for a, b in zip(ours(t, 2), theirs(x, 2), strict=True):
            same(a, b)
    assert [p.shape for p in ops.dsplit(t.expand_dims(0), [1, 3])] == [(1, 2, 1), (1, 2, 2), (1, 2, 1)]
    same(ops.column_stack([t[0], t[1]]), x.T)
    same(ops.row_stack([t[0], t[1]]), x)
    same(t.t(), x.T)
    same(ops.cartesian_prod(t[0], t[1]), [[a, b] for a in x[0] for b in x[1]])
    same(ops.combinations(t[0], 3), x[0][[[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]])
    assert ops.combinations(t[0], 2, with_replacement=True).shape == (10, 2)
    same(ops.vander(t[0], 3), np.vander(x[0], 3))
    same(ops.vander(t[0], increasing=True), np.vander(x[0], increasing=True))
    same(ops.logspace(0.0, 2.0, 3), [1, 10, 100], rtol=1e-6)
    assert u.view_as(ops.ones((2, 3))).shape == (2, 3) and u[:, :1].expand_as(u).shape == (3, 2)
    assert u.type_as(ops.ones((1,))).dtype is ms.float32


def test_numbers_with_signs_and_holes(mode: int) -> None:
    x, y = np.array([1.0, np.nan, -2.0, np.nan]), np.array([2.0, 3.0, np.nan, np.nan])
    same(ops.fmax(ms.Tensor(x), ms.Tensor(y)), np.fmax(x, y))
    same(ops.fmin(ms.Tensor(x), ms.Tensor(y)), np.fmin(x, y))
    z = np.array([0.0, -0.0, 3.0, -np.inf, np.inf])
    np.testing.assert_array_equal(ops.signbit(ms.Tensor(z)).asnumpy(), np.signbit(z))
    assert ops.signbit(ms.Tensor([-1, 0])).tolist() == [True, False]
    same(ops.sgn(ms.Tensor(np.array([3 + 4j, 0j]))), [0.6 + 0.8j, 0])
    same(ops.sgn(ms.Tensor([-2.0, 0.0])), [-1, 0])
    same(ops.logaddexp2(ms.Tensor(np.array([1.0, 1e5])), ms.Tensor(np.array([3.0, 1e5]))), [np.log2(10), 1e5 + 1])


METHODS = (
    "angle cholesky copysign corrcoef cov cross deg2rad det diff erfinv float_power frac heaviside inverse logaddexp "
    "logdet matrix_power median multinomial nanmean nansum ptp rad2deg searchsorted sgn sinc slogdet t xlogy"
)


def test_functions_are_methods_too() -> None:
    for name in METHODS.split():
        assert callable(getattr(ms.Tensor, name)), name
    x = ms.Tensor([[2.0, 0.0], [1.0, 4.0]])
    assert x.det().item() == 8.0 and x.median(1)[0].tolist() == [0.0, 1.0] and x.mH.tolist() == [[2.0, 1.0], [0.0, 4.0]]
    assert (x.ndimension(), x.nelement(), x.is_signed()) == (2, 4, True)
    assert (x.byte().dtype, x.short().dtype) == (ms.uint8, ms.int16)
    assert x.new_full((2,), 7).tolist() == [7.0, 7.0] and x.new_empty((3,)).shape == (3,)
    assert x.diagflat().shape == (4, 4) and not x.bool().is_signed()
    i = (ms.Tensor([0, 0]), ms.Tensor([1, 1]))
    assert x.index_put(i, ms.Tensor([5.0, 6.0]), accumulate=True).tolist() == [[2.0, 11.0], [1.0, 4.0]]
    assert x.index_put(i[:1], 9.0).tolist() == [[9.0, 9.0], [1.0, 4.0]]


def test_refusals() -> None:
    x = ops.ones((2, 3))
    refused = [
        (lambda: ops.quantile(x, 1.5), "from 0 to 1"),
        (lambda: ops.quantile(x, 0.5, interpolation="cubic"), "interpolation is one of"),
        (lambda: ops.cdist(x, ops.ones((2, 4))), "same number of features"),
        (lambda: ops.histc(x, 0), "bins is at least 1"),
        (lambda: ops.diff(x, -1), "at least 0"),
        (lambda: ops.unsorted_segment_sum(x, ms.Tensor([0, 1, 1]), 2), "one for every entry"),
        (lambda: ops.t(x.expand_dims(0)), "at most two axes"),
        (lambda: ops.block_diag(x.expand_dims(0)), "takes matrices"),
        (lambda: ops.vsplit(x[0], 1), "at least 2 axes"),
        (lambda: ops.cov(x.expand_dims(0)), "takes"),
    ]
    for call, said in refused:
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(TypeError, match="floating point"):
        ops.quantile(ms.Tensor([1, 2]), 0.5)
