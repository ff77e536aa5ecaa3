"""``unique`` by a sort and the runs of equals: NumPy's answers for every dtype, and the gradient of the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

CASES = {
    "ints": lambda rng: rng.integers(0, 9, (3, 40)),
    "many": lambda rng: rng.integers(0, 500, 9000),
    "bytes": lambda rng: rng.integers(-99, 99, 5000).astype(np.int8),
    "floats": lambda rng: rng.integers(0, 3, 7).astype(np.float32),
    "doubles": lambda rng: rng.integers(0, 50, (2, 5000)).astype(np.float64),
    "edges": lambda rng: np.array([np.nan, 1.0, np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0]),
    "bools": lambda rng: rng.integers(0, 2, 50).astype(bool),
    "none": lambda rng: np.zeros((0,)),
    "number": lambda rng: np.array(3.0),
    "complex": lambda rng: rng.integers(0, 3, 9) + 1j,
}


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("case", CASES)
def test_values_places_and_counts_are_numpys(case: str, level: str, mode: str, rng: Any) -> None:
    x = CASES[case](rng)

    def three(t: ms.Tensor) -> tuple[ms.Tensor, ...]:
        return ops.unique(t, True, True)

    with ms.set_context(jit_level=level):
        ways = [three(ms.Tensor(x)), ms.jit(three)(ms.Tensor(x))]
    for found in ways:
        for a, b in zip(found, np.unique(x, return_inverse=True, return_counts=True), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.astype(a.asnumpy().dtype))


def test_the_first_of_equals_has_the_gradient(mode: str) -> None:
    w = ms.Tensor([1.0, 2.0, 3.0])
    found = ms.grad(lambda t: (ops.unique(t) * w).sum())(ms.Tensor([2.0, 1.0, 2.0, 5.0, 1.0]))
    assert found.tolist() == [2.0, 1.0, 0.0, 3.0, 0.0]
