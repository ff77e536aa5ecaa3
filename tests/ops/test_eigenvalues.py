"""Eigenvalues, exponentials and logarithms of matrices of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
FULL = np.sin(np.arange(16.0) * 1.7 + 0.3).reshape(4, 4)


def run(fn: Any, *args: Any) -> Any:
    tensors = [ms.Tensor(a) for a in args]
    return ms.jit(fn)(*tensors) if ms.get_context("mode") == ms.GRAPH_MODE else fn(*tensors)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues(dtype: str, mode: Any) -> None:
    a = np.stack([FULL, FULL.T @ FULL]).astype(dtype)
    w, v = (x.asnumpy() for x in run(ops.eig, a))
    assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
    tolerance = 1e-4 if w.dtype == np.complex64 else 1e-12
    np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=tolerance)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, atol=tolerance)
    np.testing.assert_allclose(run(ops.eigvals, a).asnumpy(), w, atol=tolerance)
    assert ms.Tensor(TURN).eigvals().imag.abs().tolist() == [1.0, 1.0]
    values, nothing = ops.Eig()(ms.Tensor(TURN))
    assert values.shape == (2,) and nothing.shape == ()


def test_gradient_of_complex_eigenvalues(mode: Any) -> None:
    """A pair of conjugate values multiplied is the determinant: twice that is differentiated."""

    def energy(x: Any) -> Any:
        w = ops.eigvals(x)
        return (ops.real(w) ** 2 + ops.imag(w) ** 2).sum()

    found = run(ms.grad(energy), 3 * TURN).asnumpy()
    np.testing.assert_allclose(found, 6 * TURN, atol=1e-12)  # cofactors


def test_gradient_of_vectors_is_pytorchs() -> None:
    """Of the sum of |v|^4, which no phase changes; the numbers are PyTorch's."""
    x = np.array([[1.0, 2.0], [-3.0, 0.5]])
    found = ms.grad(lambda a: (ops.abs(ops.eig(a)[1]) ** 4).sum())(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, [[0.0, -0.096], [-0.064, 0.0]], atol=1e-10)


def test_exponentials(mode: Any) -> None:
    nilpotent = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    want = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 3.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(run(ops.matrix_exp, nilpotent).asnumpy(), want, atol=1e-14)
    far = np.stack([np.pi * 7 * TURN, np.diag([-40.0, 3.0])])
    want = np.stack([-np.eye(2), np.diag(np.exp([-40.0, 3.0]))])
    np.testing.assert_allclose(run(ops.matrix_exp, far).asnumpy(), want, atol=1e-11)
    half = run(ops.matrix_exp, np.eye(2, dtype=np.float16))
    assert half.dtype is ms.float16 and half[0, 0].item() == pytest.approx(np.e, rel=1e-3)
    assert run(ops.matrix_exp, np.zeros((0, 2, 2))).shape == (0, 2, 2)


def test_logarithms(mode: Any) -> None:
    a = np.stack([FULL + 1j * FULL.T, np.diag([-1.0, 2.0, -3.0, 1e-6]), np.eye(4), np.eye(4) + np.eye(4, k=1)])
    log = run(ops.matrix_log, a).asnumpy()
    np.testing.assert_allclose(ops.matrix_exp(ms.Tensor(log)).asnumpy(), a, atol=1e-9)
    assert np.abs(np.linalg.eigvals(log[0]).imag).max() <= np.pi
    np.testing.assert_allclose(log[1].diagonal()[[0, 2]].imag, np.pi, atol=1e-9)


def test_refusals() -> None:
    for call, sentence in (
        (lambda: ops.eig(ops.ones((2, 3))), "square matrices"),
        (lambda: ops.eig(ms.Tensor([[1, 2], [3, 4]])), "float32, float64 or complex"),
        (lambda: ops.eig(ms.Tensor([[np.nan, 1.0], [0.0, 1.0]])), "eig: "),
        (lambda: ops.matrix_exp(ms.Tensor([[1]])), "float32, float64 or complex"),
        (lambda: ops.matrix_log(ops.ones((2, 2))), "complex matrices"),
        (lambda: ops.matrix_log(ms.Tensor(np.zeros((2, 2), np.complex128))), "no inverse|no logarithm"),
    ):
        with pytest.raises((ValueError, TypeError), match=sentence):
            call()
