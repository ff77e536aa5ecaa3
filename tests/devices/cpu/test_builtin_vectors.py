"""Products with a vector in eager mode: the values of NumPy's, however the matrix lies and whatever is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.devices.cpu import thread_pool

pytest.importorskip("llvmlite")
from tests.devices.cpu.test_builtin_eager import LAYOUTS, kernels

SHAPES = {
    "row @ matrix": lambda m, k: ((1, k), (k, m)),
    "matrix @ column": lambda m, k: ((m, k), (k, 1)),
    "vector @ matrix": lambda m, k: ((k,), (k, m)),
    "matrix @ vector": lambda m, k: ((m, k), (k,)),
    "leading ones": lambda m, k: ((1, 1, k), (k, m)),
}


def compare(native: Any, x: Any, y: Any) -> None:
    """A sum of k terms, in any order, is wrong by no more than k roundings of the sum of their sizes."""
    wide = [np.asarray(a, np.float64) for a in (x, y)]
    bound = 2 * x.shape[-1] * np.finfo(x.dtype).eps * np.matmul(*map(np.abs, wide)).max(initial=1e-30)
    found, want = native(x, y), np.matmul(*wide)
    assert found.shape == want.shape and found.dtype == x.dtype
    np.testing.assert_allclose(found, want, rtol=0, atol=bound)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(SHAPES)), st.integers(1, 700), st.integers(1, 700), st.booleans(), st.integers(0, 2**32))
def test_any_sizes(name: str, m: int, k: int, wide: bool, seed: int) -> None:
    shapes, rng = SHAPES[name](m, k), np.random.default_rng(seed)
    x, y = (rng.standard_normal(s).astype(np.float64 if wide else np.float32) for s in shapes)
    native, body = kernels("matmul", x, y)
    assert (native is not None) == (max(x.size, y.size) >= 1 << 13)
    compare(native or body, x, y)


@pytest.mark.parametrize("layout", [n for n in LAYOUTS if n != "repeated"])
@pytest.mark.parametrize("name", ["row @ matrix", "matrix @ column"])
def test_operands_lie_as_they_like(name: str, layout: str, rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal(s).astype(np.float32) for s in SHAPES[name](130, 77))
    native, _ = kernels("matmul", x, y)
    for a, b in ((LAYOUTS[layout](x), y), (x, LAYOUTS[layout](y)), (LAYOUTS[layout](x), LAYOUTS[layout](y))):
        compare(native, a, b)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_not_a_number_stays_where_it_is(turned: bool, bad: float, rng: np.random.Generator) -> None:
    x, v = rng.standard_normal((150, 90)).astype(np.float32), np.abs(rng.standard_normal((90, 1))).astype(np.float32)
    x[3, 5] = x[149, 89] = bad
    if turned:
        x = np.asfortranarray(x)
    found = kernels("matmul", x, v)[0](x, v)
    np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(found[:, 0])), [3, 149])
    np.testing.assert_array_equal(np.isnan(found[[3, 149], 0]), [np.isnan(bad)] * 2)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_threads_share_the_results(count: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(thread_pool, "count", lambda: count)
    x, y = rng.standard_normal((1, 1100)).astype(np.float32), rng.standard_normal((1100, 1003)).astype(np.float32)
    for b in (y, np.asfortranarray(y)):
        compare(kernels("matmul", x, b)[0], x, b)


def test_a_head_of_one_output_trains_alike_in_both_modes(rng: np.random.Generator) -> None:
    x, w = (ms.Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((300, 40), (40, 1)))
    step = ms.value_and_grad(lambda x, w: ops.square(ops.matmul(x, w) - 1).mean(), (0, 1))
    for _ in range(2):
        (value, grads), (want, wanted) = step(x, w), ms.jit(step)(x, w)
        for a, b in zip((value, *grads), (want, *wanted), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)
