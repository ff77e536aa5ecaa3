"""Matrix products through oneDNN against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.cpu.onednn.provider import recipe
from msnb.ir.kernel.strided_views import View, dense_strides, whole
from tests.devices.cpu.onednn_runs import Run, expected, node_of, run

pytestmark = pytest.mark.skipif(c.api() is None, reason="oneDNN is not installed")

SIZES = st.integers(1, 40)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=2), st.lists(st.integers(0, 1), min_size=4, max_size=4), SIZES, SIZES,
       SIZES, st.integers(0, 2**32 - 1))  # fmt: skip
def test_products_broadcast(lead: Any, ones: Any, m: int, k: int, n: int, seed: int) -> None:
    left = tuple(1 if one else d for d, one in zip(lead, ones))
    right = tuple(1 if one else d for d, one in zip(lead, ones[2:]))
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((*left, m, k)), rng.standard_normal((*right[seed % 2 :], k, n))
    check(x.astype(np.float32), y.astype(np.float32))


def check(x: Any, y: Any) -> None:
    got, want = run("matmul", [x, y], recipe), expected("matmul", [x, y])[0]
    assert got is not None
    assert got[0].shape == want.shape
    np.testing.assert_allclose(got[0], want, rtol=1e-4, atol=1e-4)


def test_vectors() -> None:
    rng = np.random.default_rng(1)
    a, v = rng.standard_normal((7, 5)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    check(a, v)
    check(v, np.ascontiguousarray(a.T))
    check(v, v)
    check(rng.standard_normal((3, 7, 5)).astype(np.float32), v)


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(4)), st.permutations(range(4)), st.integers(0, 2**32 - 1))
def test_permuted_operands_are_seen_through(left: Any, right: Any, seed: int) -> None:
    """Stored in any order of axes: the program sees them as [2 3 m k] and [2 3 k n]."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, 3, 4, 5)).astype(np.float32), rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    stored = [np.ascontiguousarray(a.transpose(p)) for a, p in ((x, left), (y, right))]
    node = node_of("matmul", [x, y], {})
    bases = [node_of("relu", [s], {}).inputs[0] for s in stored]
    perms = dict(zip(node.inputs, zip(bases, stored, (left, right), (x, y))))

    def view_of(value: Any) -> Any:
        if value not in perms:
            return whole(value)
        base, array, perm, seen = perms[value]
        strides = dense_strides(array.shape)
        return View(base, seen.shape, tuple(strides[list(perm).index(i)] for i in range(4)))

    made = recipe(node, view_of)
    assert made is not None and set(made.reads) <= set(bases)
    node.inputs = bases
    done = Run(node, made, stored)
    assert done() == 0
    np.testing.assert_allclose(done.outs[0], x @ y, rtol=1e-4, atol=1e-4)


def test_nan_and_infinity() -> None:
    x = np.array([[np.nan, 1, 2], [np.inf, 0, 1], [1, 1, 1]], np.float32)
    y = np.eye(3, dtype=np.float32)
    got = run("matmul", [x, y], recipe)
    assert got is not None
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got[0], x @ y)


def test_no_recipe() -> None:
    assert run("matmul", [np.ones((2, 2)), np.ones((2, 2))], recipe) is None
    assert run("matmul", [np.ones((2, 0), np.float32), np.ones((0, 2), np.float32)], recipe) is None
    assert run("matmul", [np.ones((2, 2), np.int32), np.ones((2, 2), np.int32)], recipe) is None


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("perm", [(1, 0), (0, 3, 1, 2), (3, 2, 1, 0), (2, 3, 0, 1), (0,), (0, 2, 4, 1, 3)])
def test_transposes(perm: Any, dtype: Any) -> None:
    shape = (3, 1, 4, 5, 2)[: len(perm)]
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    got = run("transpose", [x], recipe, perm=perm)
    assert got is not None
    np.testing.assert_array_equal(got[0], x.transpose(perm))


def test_transposes_keep_every_bit_of_strange_floats() -> None:
    x = np.array([[np.nan, -0.0, 1e-45], [np.inf, -np.inf, 3]], np.float32)
    got = run("transpose", [x], recipe, perm=(1, 0))
    assert got is not None
    np.testing.assert_array_equal(got[0].view(np.int32), np.ascontiguousarray(x.T).view(np.int32))
