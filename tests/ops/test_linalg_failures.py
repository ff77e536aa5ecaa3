"""Matrices that have no inverse or factors: one error of ours, in both modes, that names the way out."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import LinAlgError

SINGULAR = np.zeros((3, 3), np.float32)
CASES = [
    (ops.cholesky, (-np.eye(3),), "cholesky: the matrix is not positive definite"),
    (ops.inverse, (SINGULAR,), "inverse: the matrix is singular"),
    (ops.solve, (SINGULAR, np.ones((3, 1), np.float32)), "solve: the matrix is singular"),
    (ops.svd, (SINGULAR * np.nan,), "svd: the decomposition does not converge"),
    (ops.eigh, (SINGULAR * np.nan,), "eigh: the decomposition does not converge"),
]


@pytest.mark.parametrize(("op", "matrices", "sentence"), CASES, ids=lambda c: getattr(c, "__name__", None))
def test_refusal(mode, op, matrices, sentence):
    given = [ms.Tensor(m) for m in matrices]
    run = ms.jit(op) if mode == ms.GRAPH_MODE else op
    with pytest.raises(LinAlgError, match=sentence) as told:
        run(*given)
    assert isinstance(told.value, ValueError) and isinstance(told.value, np.linalg.LinAlgError)
    assert told.value.where is not None
