"""Numbers that come as double, are rounded to float32 and to half precision, and go into a function: kernels call
nothing that loaded code does not have (the process would end), and the numbers are right."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import msnb as ms
from msnb import ops

pytest.importorskip("llvmlite")

NAMES = ("tanh", "erf", "sinh", "atanh", "round", "sigmoid")


def wide(x: Any, dtype: Any) -> Any:
    """By way of float32: rounded twice."""
    return (x.astype(ms.float64) * 1.1).astype(ms.float32).astype(dtype)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
def test_functions_of_what_was_double(dtype: Any, rng: np.random.Generator) -> None:
    """Sums carry doubles, and casts may."""
    functions = [getattr(ops, name) for name in NAMES]
    x = ms.Tensor(rng.uniform(0.02, 0.15, (2, 3))).astype(dtype)
    bound = 4 * float(ml_dtypes.finfo(dtype.numpy).eps)
    for f in functions:
        with ms.set_context(jit_level="O1"):
            found = [ms.jit(lambda x, f=f: f(x.sum()))(x), ms.jit(lambda x, f=f: f(wide(x, dtype)))(x)]
        with ms.set_context(jit_level="O0"):
            want = [f(v.astype(ms.float64)) for v in (x.sum(), wide(x, dtype))]
        for got, exact in zip(found, want, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got.astype(ms.float64).asnumpy(), exact.asnumpy(), rtol=bound, atol=bound)
