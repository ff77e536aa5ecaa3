"""x ** 2 and x ** 3 are products, in both modes and for each way of writing them."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops

WRITTEN = {2: lambda x: x**2, 3: lambda x: x**3}


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 3.0])
@pytest.mark.parametrize("size", [5, 70_000])
def test_products_in_both_modes(exponent: float, size: int, rng: np.random.Generator) -> None:
    a = rng.standard_normal(size).astype(np.float32)
    x = ms.Tensor(a)
    want = a * a if exponent == 2 else a * a * a
    for found in (x**exponent, ops.pow(x, exponent), x.pow(exponent), ms.jit(WRITTEN[exponent])(x)):
        np.testing.assert_array_equal(found.asnumpy(), want)
    # an exponent from outside may change from call to call: the library's power, rounded once
    np.testing.assert_allclose(ms.jit(lambda x: x**exponent)(x).asnumpy(), want, rtol=2e-7)
    slope = ms.grad(lambda x: (x**exponent).sum())
    np.testing.assert_allclose(slope(x).asnumpy(), exponent * a ** (exponent - 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ms.jit(slope)(x).asnumpy(), slope(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_other_powers_are_as_they_were() -> None:
    assert (ms.Tensor([2, -3]) ** 3).tolist() == [8, -27]
    assert (ms.Tensor([2, -2]) ** 3.0).tolist() == [8.0, -8.0]
    assert (ms.Tensor([2.0], ms.float16) ** 3).dtype is ms.float16
    assert (ms.Tensor([2.0, 0.5]) ** ms.Tensor([3.0, 2.0])).tolist() == [8.0, 0.25]
    with pytest.raises(TypeError):
        ms.Tensor([2.0]) ** "3"


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("dtype", [ms.float16, ms.float32])
def test_powers_of_a_number(level: str, dtype: ms.DType, rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal(70_000).astype(np.float32), dtype)
    with ms.set_context(jit_level=level):
        for found in (2.5**x, ops.pow(2.5, x), ms.jit(lambda x: 2.5**x)(x)):
            want = 2.5 ** x.asnumpy().astype(np.float64)
            np.testing.assert_allclose(found.asnumpy(), want, rtol=2e-3 if dtype is ms.float16 else 1e-6)
