"""A number read from outside, where an operator takes a tensor: an input of the program, not part of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

ROW = ms.Tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, k: ops.float_power(k, x),
        lambda x, k: ops.searchsorted(x, k),
        lambda x, k: ops.histc(x, 4, k, 4),
        lambda x, k: ops.stack([ops.sum(x), ms.Tensor(k, ms.float32)]),
        lambda x, k: ops.xlogy(x, k),
    ],
)
def test_numbers_where_tensors_are_taken(fn: Any) -> None:
    given: dict[str, Any] = {}
    program = ms.jit(lambda x: fn(x, given["k"]))
    for given["k"] in (2, 3, 1.5, 2.5):
        want = fn(ROW, given["k"])
        found = program(ROW)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-6)


def test_another_number_compiles_nothing() -> None:
    given = {"k": 2.0}
    program = ms.jit(lambda x: ops.float_power(given["k"], x))
    for k in (2.0, 3.0, 4.0):
        given["k"] = k
        np.testing.assert_allclose(program(ROW).asnumpy(), k ** ROW.asnumpy(), rtol=1e-6)
    assert len(program.versions) == 1


def test_what_is_no_number_is_refused_in_both_modes(mode: int) -> None:
    given = {"k": "two"}
    with pytest.raises((TypeError, ValueError)):
        ms.jit(lambda x: ops.float_power(given["k"], x))(ROW)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, k: ops.hann_window(k),
        lambda x, k: ops.vander(x, k),
        lambda x, k: ops.concat(ops.tensor_split(ops.arange(7), k)),
        lambda x, k: ops.zeros_like(k),
        lambda x, k: ops.tril(ops.ones((5, 5)), k),
        lambda x, k: ms.Tensor(np.arange(4) * k + 1),
        lambda x, k: x * divmod(7, k)[0] + divmod(k, 2)[1],
        lambda x, k: ops.adaptive_avg_pool1d(ops.reshape(ops.arange(10.0), (1, 1, 10)), k),
    ],
)
def test_numbers_that_numpy_computes_with(fn: Any) -> None:
    """What is made of them is part of the program: another number compiles another one, and is never mistaken."""
    given: dict[str, Any] = {}
    program = ms.jit(lambda x: fn(x, given["k"]))
    for given["k"] in (3, 4, 3):
        want = fn(ROW, given["k"])
        found = program(ROW)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-6)


def test_a_diagonal_is_an_integer(mode: int) -> None:
    with pytest.raises(TypeError, match="diagonal must be an int, got 0.5"):
        ms.jit(lambda x: ops.tril(x, 0.5))(ops.ones((3, 3)))
