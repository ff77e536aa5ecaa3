"""Broadcasts whose last axes are short: loops along longer ones, with the numbers of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.devices.cpu.eager.short_rows import columns
from msnb.ops.definition.record import find

SHAPES = [
    ((200, 1, 2), (1, 200, 2)), ((1000, 1, 4), (5, 4)), ((3, 1000, 1, 2), (3, 1, 2, 2)), ((300, 2, 3), (2, 1)),
    ((2, 300, 4), (300, 1)), ((70, 1, 1, 3), (70, 1, 3)), ((4000, 3), (3,)), ((1000, 1), (1, 3)), ((64, 64, 3), ()),
    ((0, 1, 2), (1, 200, 2)),
]  # fmt: skip


@pytest.mark.parametrize("name", ["add", "divide", "minimum", "greater"])
@pytest.mark.parametrize("left, right", SHAPES)
def test_numbers_of_numpy(left: tuple[int, ...], right: tuple[int, ...], name: str, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal(s).astype(np.float32) for s in (left, right))
    for x, y in ((a, b), (b, a)):
        got, want = find(name)(ms.Tensor(x), ms.Tensor(y)).asnumpy(), getattr(np, name)(x, y)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_operands_that_do_not_lie_dense(rng: np.random.Generator) -> None:
    a = rng.standard_normal((2, 300, 1)).astype(np.float32)
    b = rng.standard_normal((300, 2)).astype(np.float32)
    want = a.transpose(1, 2, 0) + b[None]
    got = ms.Tensor(a).permute(1, 2, 0) + ms.Tensor(b)
    np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("left, right, taken", [
    ((200, 1, 2), (1, 200, 2), True), ((1000, 1, 4), (5, 4), True), ((200, 200), (200, 200), False),
    ((200, 1, 64), (1, 200, 64), False), ((4, 1, 2), (1, 4, 2), False), ((4000, 3), (3,), True),
])  # fmt: skip
def test_which_broadcasts_go_by_columns(left: tuple[int, ...], right: tuple[int, ...], taken: bool) -> None:
    types = tuple(ops.zeros(s)._type for s in (left, right))
    (out,) = find("add").result_types(types, {})
    assert (columns(types, out, np.add) is not None) is taken
    assert columns(types, out, lambda x, y: x) is None


def test_sizes_that_only_the_data_tell(rng: np.random.Generator) -> None:
    """A program with such a size runs operation by operation: whether this way is worth it, nobody knows before."""
    x = rng.standard_normal(300).astype(np.float32)
    with ms.set_context(jit_level="O1"):
        found = ms.jit(lambda t: ops.masked_select(t, t > 0).reshape(-1, 1) + ops.arange(3.0))(ms.Tensor(x))
    np.testing.assert_array_equal(found.asnumpy(), x[x > 0][:, None] + np.arange(3, dtype=np.float32))
