"""``dtype=`` of sums, means and products is the dtype of the result, for every kind of input and in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

INPUTS = (np.int32, np.int64, np.uint8, np.float16, np.float32, np.bool_)
ASKED = {ms.int32: np.int32, ms.int64: np.int64, ms.float16: np.float16, ms.float32: np.float32, ms.float64: np.float64}


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("given", INPUTS, ids=lambda d: d.__name__)
def test_the_result_has_the_dtype_that_was_asked_for(mode: str, name: str, given: Any) -> None:
    values = np.array([[1, 0, 1], [1, 1, 1]]).astype(given)
    for asked, numpys in ASKED.items():
        if name == "mean" and asked.is_int:
            continue  # a mean of integers is a float, by NumPy and by MindSpore
        found = getattr(ops, name)(ms.Tensor(values), 1, dtype=asked)
        assert found.dtype is asked, (name, asked)
        want = getattr(np, name)(values.astype(np.float64), axis=1)
        want = want.astype(numpys).astype(np.float64)
        np.testing.assert_allclose(found.asnumpy().astype(np.float64), want, rtol=1e-2)
