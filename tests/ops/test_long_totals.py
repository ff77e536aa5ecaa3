"""Long sums and running totals of float32 do not drift, in both modes and at both levels; nor do their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.ops.definition.accurate_sum import total

N = 1_000_000


@pytest.fixture(autouse=True, params=["O0", "O1"])
def level(request: pytest.FixtureRequest) -> None:
    ms.set_context(jit_level=request.param)


def run(mode: int, fn: Callable[..., Any], *arrays: Any) -> Any:
    found = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*map(ms.Tensor, arrays))
    return found.asnumpy()


def apart(found: Any, want: Any) -> float:
    return float((np.abs(found - want) / np.maximum(np.abs(want), 1)).max())


def test_cumsum(mode: int, rng: np.random.Generator) -> None:
    x = rng.random(N).astype(np.float32)
    want = np.cumsum(x.astype(np.float64))
    assert apart(run(mode, lambda t: ops.cumsum(t, 0), x), want) < 1e-7
    assert apart(run(mode, lambda t: ops.cumsum(t, 0, exclusive=True), x), want - x) < 1e-7
    back = np.cumsum(x[::-1].astype(np.float64))[::-1]
    assert apart(run(mode, lambda t: ops.cumsum(t, 0, reverse=True), x), back) < 1e-7
    gradient = ms.grad(lambda t, w: (ops.cumsum(t, 0) * w).sum())
    assert apart(run(mode, gradient, x, x), back) < 1e-7
    z = (x + 1j * x[::-1]).astype(np.complex64)
    assert apart(run(mode, lambda t: ops.cumsum(t, 0), z), np.cumsum(z.astype(np.complex128))) < 2e-7


def test_cumprod(mode: int, rng: np.random.Generator) -> None:
    x = (1 + (rng.random(20_000) - 0.5) * 1e-3).astype(np.float32)
    want = np.cumprod(x.astype(np.float64))
    assert apart(run(mode, lambda t: ops.cumprod(t, 0), x), want) < 1e-7
    slope = np.cumsum(want[::-1])[::-1] / x
    assert apart(run(mode, ms.grad(lambda t: ops.cumprod(t, 0).sum()), x), slope) < 3e-7


def test_dtypes_stay(mode: int) -> None:
    for dtype, want in (("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"), ("int32", "int64")):
        for fn in (ops.cumsum, ops.cumprod):
            found = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(ms.Tensor([1, 2, 3]).astype(dtype), 0)
            assert found.dtype.name == want
            assert found.astype("float32").tolist() == ([1, 3, 6] if fn is ops.cumsum else [1, 2, 6])


def test_sums_over_many_rows(mode: int) -> None:
    """A million rows of 0.1: added one after the other in float32 they would be 100958."""
    x = np.full((N, 2), 0.1, np.float32)
    for fn, want in ((lambda t: t.sum(axis=0), 1e5), (lambda t: t.mean(axis=0), 0.1),
                     (lambda t: ms.ops.broadcast_to(t[:1], (N, 2)).sum(axis=0), 1e5)):  # fmt: skip
        np.testing.assert_allclose(run(mode, fn, x), want, rtol=5e-6)
    assert run(mode, lambda t: ops.var(t, 0), x).max() < 1e-12
    bias = ms.grad(lambda b, t: (t + b).sum())
    np.testing.assert_allclose(run(mode, bias, np.zeros(2, np.float32), x), N, rtol=1e-6)


def test_totals_are_sums(rng: np.random.Generator) -> None:
    for shape, axes in (((2000, 3), (0,)), ((3, 2000, 2), (1,)), ((30, 50, 4), (0, 1)), ((2, 1500, 3), (0, 1, 2)),
                        ((0, 3), (0,)), ((5,), (0,)), ((1500, 1), (0,)), ((4, 2000, 2), (2, 1))):  # fmt: skip
        for dtype in (np.float32, np.complex64, np.float64):
            x = rng.standard_normal(shape).astype(dtype)
            for keepdims in (False, True):
                found = total(np, x, axes, keepdims, x.dtype)
                want = x.astype(np.complex128).sum(axes, keepdims=keepdims)
                assert found.shape == want.shape and found.dtype == x.dtype
                np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)
