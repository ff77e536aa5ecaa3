"""Systems with a triangle: every way it can be given, stacks, gradients, lanes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import LinAlgError

linalg = pytest.importorskip("scipy.linalg")
WAYS = [(trans, lower, unit) for trans in (0, 1, 2) for lower in (False, True) for unit in (False, True)]


def system(lead: tuple[int, ...], n: int, k: int, dtype: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    a, b = rng.normal(size=(*lead, n, n)) / np.sqrt(n) + 3 * np.eye(n), rng.normal(size=(*lead, n, k))
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * rng.normal(size=a.shape) / n, b + 1j * rng.normal(size=b.shape)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_solutions_are_scipys(way: tuple[int, bool, bool], dtype: Any, mode: str, rng: np.random.Generator) -> None:
    for lead, n, k in (((), 1, 1), ((), 30, 7), ((5,), 16, 4), ((2, 3), 20, 1)):
        a, b = system(lead, n, k, dtype, rng)
        each = zip(a.reshape(-1, n, n), b.reshape(-1, n, k))
        wanted = np.stack([linalg.solve_triangular(x, y, *way) for x, y in each]).reshape(b.shape)
        for level in ("O0", "O1"):
            with ms.set_context(jit_level=level):
                found = ops.solve_triangular(ms.Tensor(a), ms.Tensor(b), *way).asnumpy()
            off = np.abs(found - wanted).max() / np.abs(wanted).max()
            assert found.dtype == dtype and off < (1e-11 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_gradients_are_slopes(way: tuple[int, bool, bool], dtype: Any, rng: np.random.Generator) -> None:
    given = system((), 4, 2, dtype, rng)

    def loss(a: Any, b: Any) -> Any:
        return (ops.abs(ops.solve_triangular(a, b, *way)) ** 2).sum()

    found = [g.asnumpy() for g in ms.grad(loss, (0, 1))(*map(ms.Tensor, given))]
    for which, x in enumerate(given):
        along = rng.normal(size=x.shape).astype(dtype)
        moved = [[v + s * along if i == which else v for i, v in enumerate(given)] for s in (1e-6, -1e-6)]
        ends = [loss(*map(ms.Tensor, pair)) for pair in moved]
        slope = (ends[0].item() - ends[1].item()) / 2e-6
        assert abs((found[which].conj() * along).sum().real - slope) < 1e-5 * max(1.0, abs(slope))


def test_lanes_vectors_and_halves(mode: str, rng: np.random.Generator) -> None:
    a, b = system((3,), 6, 1, np.float32, rng)
    lanes = ms.vmap(lambda x, y: ops.solve_triangular(x, y, lower=True))(ms.Tensor(a), ms.Tensor(b[..., 0]))
    for x, y, lane in zip(a, b[..., 0], lanes.asnumpy()):
        np.testing.assert_allclose(lane, linalg.solve_triangular(x, y, lower=True), rtol=1e-5, atol=1e-5)
    half = ops.solve_triangular(ms.Tensor(a[0].astype(np.float16)), ms.Tensor(b[0].astype(np.float16)))
    assert half.dtype is ms.float16


def test_a_zero_on_the_diagonal_is_refused_where_it_counts(mode: str, rng: np.random.Generator) -> None:
    a, b = system((), 20, 20, np.float32, rng)
    a[3, 3] = 0
    for level in ("O0", "O1"):
        with ms.set_context(jit_level=level):
            with pytest.raises(LinAlgError, match="solve_triangular: the matrix is singular"):
                ops.solve_triangular(ms.Tensor(a), ms.Tensor(b))
            wanted = linalg.solve_triangular(a, b, unit_diagonal=True)
            found = ops.solve_triangular(ms.Tensor(a), ms.Tensor(b), unit_diagonal=True).asnumpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())
