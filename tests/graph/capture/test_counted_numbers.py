"""A Python number that a loop of the graph computes stays one, whatever Python does with it: it takes the dtype of the
tensor it meets, and a variable that was a float before the loop may hold it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms

WAYS = {
    "minus": lambda k: -k, "plus": lambda k: +k, "abs": lambda k: abs(1 - k), "round": lambda k: round(k),
    "square": lambda k: k**2, "pow": lambda k: pow(k, 3), "divmod": lambda k: divmod(7, k)[0] + divmod(k, 2)[1],
    "max": lambda k: max(k, 2), "floor": lambda k: 5 // k, "true": lambda k: k / 2,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [ms.float32, ms.float16, ms.float64])
@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_loops(mode: int, way: str, dtype: Any) -> None:
    number = WAYS[way]

    def program(x: Any) -> Any:
        b, k = x * 0.5, 0
        while k < 3 and x > 0:
            k = k + 1
            b = number(k)
        return x * b

    for start in (1.5, -1.0):
        found = program(ms.Tensor(start, dtype))
        assert found.dtype is dtype
        np.testing.assert_allclose(found.asnumpy(), start * (number(3) if start > 0 else start * 0.5), rtol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_loops_compiled(way: str) -> None:
    number = WAYS[way]

    @ms.jit
    def program(x: Any) -> Any:
        b, k = x * 0.5, 0
        while k < 3 and x > 0:
            k = k + 1
            b = number(k)
        return x * b

    assert program(ms.Tensor(2.0)).item() == 2 * number(3)
    assert program(ms.Tensor(-2.0)).item() == 2.0


def test_divmod_of_tensors(mode: int) -> None:
    x = ms.Tensor([7, -7, 5])
    whole, rest = divmod(x, 3)
    assert whole.tolist() == [2, -3, 1] and rest.tolist() == [1, 2, 2]
    assert [t.tolist() for t in divmod(9, ms.Tensor([2, 4]))] == [[4, 2], [1, 1]]
