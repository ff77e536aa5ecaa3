"""Triangular systems that are nearly singular: substitution finds them to a few digits of the dtype, exchanges of rows
do not. In both modes, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError


def run(mode: int, fn: Any, *args: Any) -> Any:
    return (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*map(ms.Tensor, args)).asnumpy()


def substituted(a: np.ndarray, b: np.ndarray, lower: bool) -> np.ndarray:
    """The solution of one system, in float64."""
    n = len(a)
    x = np.zeros(b.shape)
    for i in range(n) if lower else range(n - 1, -1, -1):
        x[i] = (b[i].astype(np.float64) - a[i].astype(np.float64) @ x) / a[i, i]
    return x


def system(n: int, lower: bool, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    a, b = rng.uniform(-1, 1, (n, n)), rng.uniform(-1, 1, (n, 2))
    a[np.arange(n), np.arange(n)] = np.sign(np.diag(a)) * (0.1 + np.abs(np.diag(a)))
    return (np.tril(a) if lower else np.triu(a)).astype(dtype), b.astype(dtype)


def near(found: np.ndarray, want: np.ndarray, dtype: Any) -> None:
    assert np.abs(found - want).max() <= 100 * np.finfo(dtype).eps * np.abs(want).max()


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("lower", (False, True))
@pytest.mark.parametrize("n", (1, 3, 20, 30))
def test_substitution(n: int, lower: bool, dtype: Any, mode: int) -> None:
    a, b = system(n, lower, dtype)
    want = substituted(a, b, lower)
    near(run(mode, lambda a, b: ops.solve_triangular(a, b, 0, lower), a, b), want, dtype)
    near(run(mode, lambda a, b: ops.solve_triangular(a, b, "T", not lower), np.ascontiguousarray(a.T), b), want, dtype)
    near(run(mode, lambda a, b: ops.solve(a, b), a, b), want, dtype)
    near(run(mode, lambda a, b: ops.solve(a, b), np.stack([a] * 3), np.stack([b] * 3)), np.stack([want] * 3), dtype)


@pytest.mark.parametrize("lower", (False, True))
def test_gradients(lower: bool, mode: int) -> None:
    a, b = system(20, lower, np.float64)
    found = run(mode, ms.grad(lambda b, a: ops.solve_triangular(a, b, 0, lower).sum()), b, a)
    near(found, substituted(np.ascontiguousarray(a.T), np.ones_like(b), not lower), np.float64)


def test_batches_of_both_kinds(mode: int) -> None:
    upper, b = system(4, False, np.float64)
    lower, _ = system(4, True, np.float64)
    full = upper + lower
    a, rows = np.stack([upper, lower, full, np.eye(4)] * 8), np.stack([b] * 32)
    near(run(mode, lambda a, b: ops.solve(a, b), a, rows), np.linalg.solve(a, rows), np.float64)


@pytest.mark.parametrize("lower", (False, True))
def test_a_zero_on_the_diagonal(lower: bool, mode: int) -> None:
    a, b = system(20, lower, np.float32)
    a[3, 3] = 0
    with pytest.raises((MsnbError, np.linalg.LinAlgError), match="(?i)singular"):
        run(mode, lambda a, b: ops.solve_triangular(a, b, 0, lower), a, b)
