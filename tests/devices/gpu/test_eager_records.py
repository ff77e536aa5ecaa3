"""Every record's examples in eager mode, again and again: the body first, then the kernels made for what comes again.

Python numbers stand among the operands of some: they are no memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.ops.definition.record import REGISTRY, Example, Op
from tests.gpu.test_gpu_records import CASES, SIGNS, near

pytestmark = pytest.mark.slow

TURNS = 3


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def turns(op: Op, inputs: Any, attrs: Any, device: str, level: str, count: int) -> list[list[np.ndarray]]:
    """What an operation gives, turn by turn."""
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target=device, jit_level=level)
    given = [ms.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in inputs]
    found = []
    for _ in range(count):
        ms.set_seed(3)
        made = op(*given, **attrs)
        parts = made if isinstance(made, tuple) else (made,)
        found.append([np.asarray(part.asnumpy()) for part in parts if isinstance(part, ms.Tensor)])
    return found


def hold(op: Op, inputs: Any, attrs: Any) -> None:
    """Every turn on the GPU gives what the CPU's bodies give."""
    (want,) = turns(op, inputs, attrs, "CPU", "O0", 1)
    for found in turns(op, inputs, attrs, "GPU", "O1", TURNS):
        assert len(found) == len(want)
        for here, there in zip(found, want):
            near(here, there, op.name in SIGNS)


@pytest.mark.parametrize("op, example", CASES)
def test_each_turn_is_as_on_the_cpu(gpu: Any, op: Op, example: Example) -> None:
    hold(op, example.inputs, example.attrs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_python_numbers_among_the_operands(gpu: Any, dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    at, whole = np.array([2, 0]), (slice(None), 1)
    for number in (9, True) if dtype == "int32" else (9.0, 9, True):
        for key in (1, whole, at):
            for device, level in (("CPU", "O0"), ("GPU", "O1"), ("GPU", "O0")):
                ms.set_context(mode=ms.PYNATIVE_MODE, device_target=device, jit_level=level)
                for _ in range(TURNS):
                    t = ms.Tensor(x)
                    t[ms.Tensor(key) if isinstance(key, np.ndarray) else key] = number
                    want = x.copy()
                    want[key] = number
                    np.testing.assert_array_equal(t.asnumpy(), want)
    for number, attrs in ((2.5, {"shape": (3, 2)}), (7, {"shape": (4,)})):
        hold(REGISTRY["broadcast_to"], (number,), attrs)


def test_a_complex_number_in_a_program(gpu: Any) -> None:
    """It does not fit where programs keep Python numbers: such a program runs operation by operation."""
    x = np.array([1.0, 2.0, 3.0], np.complex64)

    @ms.jit
    def f(t: Any, factor: complex) -> Any:
        return t * factor + 1.0

    for factor in (2j, 1 + 1j, 2j):
        np.testing.assert_allclose(f(ms.Tensor(x), factor).asnumpy(), x * factor + 1)
