"""A Python integer beside an integer tensor keeps its value, whatever the tensor's dtype; only results wrap around.

The judge is Python: every element in integers without a bound, then cut to the bits of the result's dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

Function = Callable[[Any, Any], Any]

FUNCTIONS: dict[str, tuple[Function, Function]] = {
    **{name: (getattr(operator, name), getattr(operator, name)) for name in ("add", "sub", "mul", "floordiv", "mod")},
    **{name: (getattr(operator, name), getattr(operator, name)) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: (getattr(operator, name), getattr(operator, name)) for name in ("and_", "or_", "xor")},
    "maximum": (ops.maximum, max),
    "minimum": (ops.minimum, min),
    "clamp_low": (lambda x, y: ops.clamp(x, min=y), max),
    "clamp_high": (lambda x, y: ops.clamp(x, max=y), min),
    "logical_and": (ops.logical_and, lambda x, y: bool(x) and bool(y)),
}
NARROW = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)


def wrapped(values: list[Any], dtype: Any) -> list[Any]:
    """Integers as a dtype of so many bits holds them; truth values as they are."""
    if isinstance(values[0], bool):
        return values
    return [int(v) for v in np.array([v & (2**64 - 1) for v in values], np.uint64).astype(dtype)]


def drawn_number(rng: np.random.Generator) -> int:
    """Of any size up to 63 bits, near a power of two as often as not; never 0, by which some functions divide."""
    bits = int(rng.integers(1, 63))
    number = 2**bits + int(rng.integers(-2, 3)) if rng.random() < 0.5 else int(rng.integers(1, 2**bits + 1))
    return (number or 1) * int(rng.choice([-1, 1]))


@pytest.mark.parametrize("level", ("eager", "O0", "O1"))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_keep_their_value(name: str, level: str, rng: np.random.Generator) -> None:
    ours, exact = FUNCTIONS[name]
    for dtype in rng.choice(np.array(NARROW, object), 2, replace=False):
        limits, number = np.iinfo(dtype), drawn_number(rng)
        x = np.array([limits.min, limits.max, 1, *rng.integers(limits.min, limits.max, 4)], dtype)

        def program(t: ms.Tensor, number: int = number) -> ms.Tensor:
            return ours(t, number)  # type: ignore[no-any-return]

        with ms.set_context(jit_level="O1" if level == "eager" else level):
            found = (program if level == "eager" else ms.jit(program))(ms.Tensor(x))
        wanted = [exact(int(v), number) for v in x]
        assert found.tolist() == wrapped(wanted, dtype), (name, dtype, number, x)


@pytest.mark.parametrize("level", ("eager", "O0", "O1"))
def test_numbers_on_the_left_and_numbers_that_are_arguments(level: str) -> None:
    def program(t: ms.Tensor, number: int) -> tuple[ms.Tensor, ...]:
        return number > t, number // t, (number * t.shape[0]) > t

    x = ms.Tensor(np.array([1, 100, 200], np.uint8))
    with ms.set_context(jit_level="O1" if level == "eager" else level):
        step = program if level == "eager" else ms.jit(program)
        for number in (-1, 300, 2**40, 7):
            above, times, thrice = step(x, number)
            assert above.tolist() == [number > v for v in (1, 100, 200)]
            assert thrice.tolist() == [3 * number > v for v in (1, 100, 200)]
            assert times.tolist() == wrapped([number // v for v in (1, 100, 200)], np.uint8)


@pytest.mark.parametrize("level", ("eager", "O0", "O1"))
@pytest.mark.parametrize("dtype, number", ((ms.int32, 2**63), (ms.int64, 2**63), (ms.uint64, -1)))
def test_what_no_dtype_holds_is_an_error(dtype: Any, number: int, level: str) -> None:
    def program(t: ms.Tensor) -> ms.Tensor:
        return t // number

    with ms.set_context(jit_level="O1" if level == "eager" else level):
        step = program if level == "eager" else ms.jit(program)
        with pytest.raises(OverflowError, match="outside the range"):
            step(ms.Tensor([1, 2], dtype))
