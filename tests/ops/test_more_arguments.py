"""Arguments that MindSpore 2.10 has beyond the usual ones, against NumPy or windows taken one by one; both modes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import Tensor, mint, nn, ops


def run(fn: Any, *inputs: Any) -> Any:
    """In the mode of the test."""
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


DRAW = np.random.default_rng(0)
A = DRAW.normal(size=(3, 5)).astype(np.float32)
B = DRAW.normal(size=(3, 5)).astype(np.float32)


def test_dtype_of_results_of_numpy(mode: int) -> None:
    for name in ("add", "subtract", "multiply", "maximum", "arctan2", "hypot", "less", "equal"):
        found = run(lambda a, b, n=name: getattr(mnp, n)(a, b, dtype=mnp.float16), Tensor(A), Tensor(B))
        assert found.dtype is mnp.float16
        np.testing.assert_allclose(found.asnumpy(), getattr(np, name)(A, B).astype(np.float16), rtol=2e-3)
    for name in ("abs", "exp", "sin", "sign", "isnan", "rint", "trunc", "cbrt", "radians", "nanmax", "nanvar"):
        found = run(lambda a, n=name: getattr(mnp, n)(a, dtype=mnp.float64), Tensor(A))
        assert found.dtype is mnp.float64
        close(found, getattr(np, name)(A))
    assert mnp.add([1.7], [1.0], mnp.int32).tolist() == [2]
    assert [t.dtype for t in mnp.divmod(Tensor([7.0]), 2.0, dtype=mnp.int32)] == [mnp.int32] * 2
    assert mnp.trace(Tensor(A[:, :3]), dtype=mnp.float16).dtype is mnp.float16
    assert mnp.add(x1=Tensor([1]), x2=Tensor([2])).tolist() == [3]


def test_extremes_of_what_counts(mode: int) -> None:
    mask = A > 0
    for name, start in (("amax", -1.0), ("amin", 1.0)):
        found = run(lambda a, m, n=name, s=start: getattr(ops, n)(a, 1, initial=s, where=m), Tensor(A), Tensor(mask))
        close(found, getattr(np, name)(A, 1, initial=start, where=mask))
        with pytest.raises(ValueError, match="where= needs initial="):
            getattr(ops, name)(Tensor(A), where=Tensor(mask))
    close(Tensor(A).amax(0, initial=0.5), np.amax(A, 0, initial=0.5))
    slope = ms.grad(lambda a: ops.amax(a, 0, initial=-9.0, where=Tensor(mask[0])).sum())(Tensor(A[0]))
    assert slope.asnumpy().sum() == 1.0 and slope.asnumpy()[int(np.argmax(np.where(mask[0], A[0], -9)))] == 1.0


def test_diff_with_ends(mode: int) -> None:
    for axis, end in ((0, A[:1]), (1, A[:, :2])):
        found = run(lambda a, e, k=axis: ops.diff(a, 2, k, prepend=e, append=e), Tensor(A), Tensor(end))
        close(found, np.diff(A, 2, axis, prepend=end, append=end))
    close(Tensor(A).diff(prepend=0.5), np.diff(A, prepend=0.5))
    close(mnp.diff(Tensor(A), append=1.0), np.diff(A, append=1.0))


def test_searchsorted_of_what_is_not_sorted(mode: int) -> None:
    row, wanted = np.array([3.0, 1.0, 2.0], np.float32), np.array([2.0, 0.5, 9.0], np.float32)
    order = np.argsort(row)
    for side in ("left", "right"):
        found = run(
            lambda r, w, o, s=side: ops.searchsorted(r, w, side=s, sorter=o, out_int32=True),
            Tensor(row), Tensor(wanted), Tensor(order),
        )  # fmt: skip
        assert found.dtype is ms.int32
        np.testing.assert_array_equal(found.asnumpy(), np.searchsorted(row, wanted, side, order))
    assert mint.searchsorted(Tensor(row), Tensor(wanted), sorter=Tensor(order)).tolist() == [1, 0, 3]
    with pytest.raises(ValueError, match="side must be"):
        ops.searchsorted(Tensor([1.0]), 2.0, side="middle")


@pytest.mark.parametrize(("often", "much"), [(True, False), (False, True), (True, True)])
def test_covariances_of_weighted_observations(often: bool, much: bool, mode: int) -> None:
    f = np.array([1, 2, 3, 1, 2]) if often else None
    w = np.array([0.5, 1.0, 0.25, 2.0, 1.0], np.float32) if much else None
    fw, aw = (None if v is None else Tensor(v) for v in (f, w))
    for ddof in (0, 1):
        found = run(lambda a, d=ddof: ops.cov(a, correction=d, fweights=fw, aweights=aw), Tensor(A))
        close(found, np.cov(A, ddof=ddof, fweights=f, aweights=w))
    with pytest.raises(ValueError, match="one number per observation"):
        ops.cov(Tensor(A), aweights=Tensor([1.0]))


# ---- poolings ---------------------------------------------------------------------------------------------------------


def windows(x: Any, kernel: Any, stride: Any, pads: Any, gaps: Any, ceil: bool) -> tuple[Any, Any]:
    """Largest elements and their places, window by window."""
    sizes = x.shape[2:]
    outs = []
    for n, k, s, p, d in zip(sizes, kernel, stride, pads, gaps):
        room = n + 2 * p - (d * (k - 1) + 1)
        count = -(-room // s) + 1 if ceil else room // s + 1
        outs.append(count - 1 if ceil and (count - 1) * s >= n + p else count)
    values, places = np.empty((*x.shape[:2], *outs), x.dtype), np.empty((*x.shape[:2], *outs), np.int64)
    for at in itertools.product(*map(range, values.shape)):
        best = None
        for inside in itertools.product(*map(range, kernel)):
            where = [o * s - p + i * d for o, s, p, i, d in zip(at[2:], stride, pads, inside, gaps)]
            if all(0 <= w < n for w, n in zip(where, sizes)):
                value = x[(*at[:2], *where)]
                if best is None or value > best[0]:
                    best = value, int(np.ravel_multi_index(where, sizes))
        values[at], places[at] = best  # type: ignore[misc]
    return values, places


POOLS = [
    ((2, 3, 9), (3,), (2,), (1,), (2,), False), ((1, 2, 8), (2,), (3,), (0,), (1,), True),
    ((2, 2, 6, 7), (2, 3), (1, 2), (1, 1), (2, 1), False), ((1, 1, 7, 7), (3, 3), (2, 2), (0, 1), (1, 2), True),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (0, 1, 1), (1, 2, 1), False),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "gaps", "ceil"), POOLS)
def test_max_pools_with_gaps_and_places(
    shape: Any, kernel: Any, stride: Any, pads: Any, gaps: Any, ceil: bool, mode: int
) -> None:
    x = DRAW.normal(size=shape).astype(np.float32)
    n = len(kernel)
    one = (lambda t: t[0]) if n == 1 else lambda t: t
    pool, layer = getattr(ops, f"max_pool{n}d"), getattr(nn, f"MaxPool{n}d")
    values, places = windows(x, kernel, stride, pads, gaps, ceil)
    given = one(kernel), one(stride), "pad", one(pads)
    found = run(lambda x: pool(x, *given, ceil, dilation=one(gaps), return_indices=True), Tensor(x))
    close(found[0], values)
    np.testing.assert_array_equal(found[1].asnumpy(), places)
    close(layer(*given, one(gaps), False, ceil)(Tensor(x)), values)
    slopes = ms.grad(lambda x: pool(x, *given, ceil, dilation=one(gaps), return_indices=True)[0].sum())(Tensor(x))
    expected = np.zeros((*shape[:2], int(np.prod(shape[2:]))), np.float32)
    for at in itertools.product(*map(range, values.shape)):
        expected[(*at[:2], places[at])] += 1
    close(slopes, expected.reshape(shape))


def test_max_pools_in_other_words(mode: int) -> None:
    x = Tensor(DRAW.normal(size=(1, 2, 6, 6)).astype(np.float32))
    values, places = run(lambda x: mint.nn.functional.max_pool2d(x, 2, return_indices=True), x)
    close(ops.max_unpool2d(values, places, 2).sum(), values.asnumpy().sum())
    same = run(lambda x: ops.max_pool2d(x, 3, 2, "same", return_indices=True)[0], x)
    close(same, ops.max_pool2d(x, 3, 2, "same").asnumpy())
    with pytest.raises(ValueError, match="before ceil_mode"):
        nn.MaxPool2d(2, 2, "valid", 0, True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a window reaches over 7"):
        ops.max_pool2d(x, 4, dilation=2)
    with pytest.raises(ValueError, match="NCHW"):
        ops.max_pool2d(x, 2, data_format="NHWC", dilation=2)


def test_divisors_of_mean_pools(mode: int) -> None:
    x = Tensor(np.ones((1, 1, 4, 4), np.float32))
    assert run(lambda x: mint.nn.functional.avg_pool2d(x, 2, divisor_override=2), x).asnumpy().max() == 2.0
    assert run(lambda x: mint.nn.functional.avg_pool3d(x[None], 2, padding=(1, 0, 0), divisor_override=1), x).max() == 4.0
    with pytest.raises(ValueError, match="must not be 0"):
        mint.nn.functional.avg_pool2d(x, 2, divisor_override=0)
