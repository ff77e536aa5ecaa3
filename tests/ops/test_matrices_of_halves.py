"""Linear algebra of halves counts in float32 and gives halves; powers of integers are integers. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, ops

A = np.array([[4.0, 1.0], [1.0, 3.0]])


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


CASES: dict[str, Any] = {
    "det": (ops.det, 11.0),
    "slogdet": (lambda x: ops.slogdet(x)[1], np.log(11)),
    "logdet": (ops.logdet, np.log(11)),
    "cholesky": (ops.cholesky, np.linalg.cholesky(A)),
    "upper": (lambda x: ops.cholesky(x, upper=True), np.linalg.cholesky(A).T),
    "cholesky_inverse": (ops.cholesky_inverse, np.linalg.inv(np.tril(A) @ np.tril(A).T)),
    "solve": (lambda x: ops.solve(x, x), np.eye(2)),
    "lstsq": (lambda x: ops.lstsq(x, x), np.eye(2)),
    "qr": (lambda x: ops.abs(ops.qr(x)[1]), abs(np.linalg.qr(A)[1])),
    "by name": (lambda x: ops.det(x=x), 11.0),
    "method": (lambda x: x.det(), 11.0),
}


@pytest.mark.parametrize("dtype", [msnb.float16, msnb.bfloat16])
@pytest.mark.parametrize("name", CASES)
def test_halves(mode: int, name: str, dtype: Any) -> None:
    fn, expected = CASES[name]
    found = run(fn, Tensor(A, dtype))
    assert found.dtype is dtype
    np.testing.assert_allclose(found.astype(msnb.float32).asnumpy(), expected, rtol=1e-2, atol=1e-2)


def test_gradient_of_halves(mode: int) -> None:
    found = run(msnb.grad(lambda x: ops.det(x)), Tensor(A, msnb.float16))
    assert found.dtype is msnb.float16
    np.testing.assert_allclose(found.asnumpy(), [[3, -1], [-1, 4]], rtol=1e-3)


def test_norms_by_singular_values(mode: int) -> None:
    for dtype in (msnb.float16, msnb.bfloat16, msnb.int32):
        for ord, expected in ((2, np.linalg.norm(A, 2)), ("nuc", 7.0)):
            found = run(lambda x, ord=ord: ops.matrix_norm(x, ord), Tensor(A, dtype))
            assert found.dtype is msnb.float32 and found.asnumpy() == pytest.approx(expected, rel=1e-5)


def test_powers_of_integers(mode: int) -> None:
    for dtype in (msnb.int8, msnb.int32, msnb.int64, msnb.uint8, msnb.float16):
        for n in (0, 1, 2, 3):
            found = run(lambda x, n=n: ops.matrix_power(x, n), Tensor(A, dtype))
            assert found.dtype is dtype
            np.testing.assert_array_equal(found.asnumpy(), np.linalg.matrix_power(A, n).astype(dtype.numpy))
    with pytest.raises(TypeError, match="float32"):
        ops.matrix_power(Tensor(A, msnb.int32), -1)
    with pytest.raises(ValueError, match="square"):
        ops.matrix_power(Tensor([[1, 2]], msnb.int32), 2)
