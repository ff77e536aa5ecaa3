"""A Python number that a loop of the graph computes stays one, whatever Python does with it: it takes the dtype of the
tensor it meets, and a variable that was a float before the loop may hold it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor

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


def identities(x: Tensor, y: Tensor) -> Any:
    a, b, three = int(x), int(y), 3
    return a is b, a is not b, bool(x) is bool(y), a is True, 1 if a is three else 2, a is a, a is None


@pytest.mark.parametrize("pair", [(3, 3), (300, 300), (-5, -5), (-6, -6), (256, 256), (257, 257), (1, 2), (0, 1)])
def test_is_of_numbers_that_the_graph_computes(pair: tuple[int, int]) -> None:
    """CPython has one object for True, False and each small int. ``is`` was False there, in silence."""
    x, y = map(Tensor, pair)
    assert ms.jit(identities)(x, y) == identities(x, y)


def test_is_of_a_counted_number_and_an_outside_one() -> None:
    def same(x: Tensor, n: Any) -> Any:
        return int(x) is n

    program = ms.jit(same)
    for x, n in ((3, 3), (3, 4), (3, True), (1, True), (300, 300), (3, 3.0)):
        assert program(Tensor(x), n) == same(Tensor(x), n), (x, n)


def test_is_after_a_loop() -> None:
    @ms.jit
    def counted(x: Tensor) -> Any:
        i, three = 0, 3
        while i < x:
            i = i + 1
        return i is three, i is not three

    assert counted(Tensor(3)) == (True, False)
    assert counted(Tensor(2)) == (False, True)
