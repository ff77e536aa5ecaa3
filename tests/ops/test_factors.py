"""Factors multiply back to the matrix, in both modes; what is built on them agrees with NumPy; gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import GradientError
from tests.gradient_check import check_grads

SHAPES = [(4, 3), (3, 4), (3, 3), (2, 5, 2)]


def near(found: Any, want: Any) -> None:
    np.testing.assert_allclose(found.asnumpy() if hasattr(found, "asnumpy") else found, want, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_back(mode: int, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = rng.standard_normal(shape)
    q, r = (f.asnumpy() for f in ops.qr(ms.Tensor(x)))
    near(q @ r, x)
    near(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1])))
    near(np.tril(r[..., :, : r.shape[-2]], -1), np.zeros_like(r[..., :, : r.shape[-2]]))
    s, u, v = (f.asnumpy() for f in ops.svd(ms.Tensor(x)))
    near((u * s[..., None, :]) @ np.swapaxes(v, -1, -2), x)
    near(s, np.linalg.svd(x, compute_uv=False))
    back = ops.pinv(ms.Tensor(x)).asnumpy()
    near(x @ back @ x, x)  # what defines it, and stays true to rounding where a drawn matrix is nearly singular
    assert back.shape == np.swapaxes(x, -1, -2).shape
    assert (ops.matrix_rank(ms.Tensor(x)).asnumpy() == np.linalg.matrix_rank(x)).all()


def test_complex_matrices_have_factors(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2))
    s, u, v = (f.asnumpy() for f in ops.svd(ms.Tensor(x)))
    near((u * s) @ v.conj().T, x)
    assert s.dtype == np.float64


def test_least_squares_and_norms(mode: int, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    near(ops.lstsq(ms.Tensor(a), ms.Tensor(b)), np.linalg.lstsq(a, b, rcond=None)[0])
    near(ms.Tensor(a).lstsq(ms.Tensor(b[:, 0])), np.linalg.lstsq(a, b[:, 0], rcond=None)[0])
    x = rng.standard_normal((2, 3, 4))
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        near(ops.matrix_norm(ms.Tensor(x), ord), np.linalg.norm(x, ord, (1, 2)))
        kept = ops.matrix_norm(ms.Tensor(x), ord, keepdims=True)
        near(kept, np.linalg.norm(x, ord, (1, 2), keepdims=True))
    near(ops.matrix_norm(ms.Tensor(x), 1, axis=(0, 2)), np.linalg.norm(x, 1, (0, 2)))


def test_gradients_of_what_does_not_depend_on_signs(rng: np.random.Generator) -> None:
    """Singular values kept well apart: where two meet, their vectors have no gradient."""
    left, right = np.linalg.qr(rng.standard_normal((4, 3)))[0], np.linalg.qr(rng.standard_normal((3, 3)))[0]
    x = (left * np.array([3.0, 2.0, 1.0])) @ right.T
    check_grads(lambda a: ops.svd(a, compute_uv=False).sum(), [x])
    check_grads(lambda a: ops.pinv(a), [x])
    check_grads(lambda a: ops.matrix_norm(a, "nuc"), [x.T.copy()])

    def projected(a: Any) -> Any:
        """The part of rank two: it needs values and vectors."""
        s, u, v = ops.svd(a)
        return (u[:, :2] * s[:2]) @ v[:, :2].T

    check_grads(projected, [x])
    check_grads(lambda a: ops.qr(a)[0] @ ops.qr(a)[0].T, [x])
    check_grads(lambda a: ops.abs(ops.qr(a)[1].diagonal()).log().sum(), [x])


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 5, 2), (3, 1)])
def test_full_matrices_of_an_svd(rng: np.random.Generator, mode: int, shape: tuple[int, ...]) -> None:
    x = ms.Tensor(rng.standard_normal(shape))
    s, u, v = ops.svd(x, full_matrices=True)
    m, n = shape[-2:]
    assert u.shape == (*shape[:-2], m, m) and v.shape == (*shape[:-2], n, n)
    k = min(m, n)
    again = (u[..., :k] * s.expand_dims(-2)) @ v[..., :k].swapaxes(-1, -2)
    np.testing.assert_allclose(again.asnumpy(), x.asnumpy(), atol=1e-12)
    for square in (u, v):
        product = (square.swapaxes(-1, -2) @ square).asnumpy()
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), atol=1e-12)
    by_values = ms.grad(lambda a: ops.svd(a, full_matrices=True)[0].sum())(x)
    np.testing.assert_allclose(by_values.asnumpy(), ms.grad(lambda a: ops.svd(a)[0].sum())(x).asnumpy(), atol=1e-12)


def test_refusals() -> None:
    x = ops.ones((2, 3))
    refused = [
        (lambda: ops.qr(x[0]), "needs matrices"),
        (lambda: ops.lstsq(x, ops.ones((3,))), r"takes \[m, n\]"),
        (lambda: ops.matrix_norm(x, 3), "ord is 'fro'"),
    ]
    for call, said in refused:
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(TypeError, match="float32, float64 or complex"):
        ops.qr(x.astype(ms.int32))
    with pytest.raises(GradientError, match="at least as many rows as columns"):
        ms.grad(lambda a: ops.qr(a)[1].sum())(x)
