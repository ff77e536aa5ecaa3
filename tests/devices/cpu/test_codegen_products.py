"""Generated matrix products of float64 and integers against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb.ir.kernel.strided_views import View, dense_strides, whole
from tests.devices.cpu.codegen_programs import buffers, native, traced
from tests.devices.cpu.onednn_runs import Run, expected, node_of, run

pytest.importorskip("llvmlite")
from msnb.devices.cpu.kernels.gemm_fallback import recipe

DTYPES = (np.float64, np.int32, np.int64)
LEAD = st.sampled_from((1, 3))
SIZES = st.sampled_from((1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 40))


def numbers(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Integers from the whole range: products wrap around."""
    if dtype is np.float64:
        return rng.standard_normal(shape)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype)


def check(got: Any, x: Any, y: Any) -> None:
    with np.errstate(all="ignore"):
        want = expected("matmul", [x, y])[0]
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.dtype.kind == "i":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * max(1, x.shape[-1]))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.lists(LEAD, max_size=2), st.lists(LEAD, max_size=2), SIZES,
       st.sampled_from((1, 5, 16, 255, 256, 257, 700)), SIZES, st.integers(0, 2**32 - 1))  # fmt: skip
def test_products(dtype: Any, left: Any, right: Any, m: int, k: int, n: int, seed: int) -> None:
    """Leading axes of 1 or 3 meet in every way."""
    rng = np.random.default_rng(seed)
    x, y = numbers(rng, dtype, (*left, m, k)), numbers(rng, dtype, (*right, k, n))
    got = run("matmul", [x, y], recipe)
    if got is None:
        assert max(left.count(3), right.count(3)) == 2 or (3 in left and 3 in right), "several axes that broadcast"
        return
    check(got[0], x, y)


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(3)), st.permutations(range(3)), SIZES, SIZES, st.sampled_from(DTYPES))
def test_permuted_operands_are_seen_through(left: Any, right: Any, m: int, n: int, dtype: Any) -> None:
    """Stored in any order of axes: the program sees them as [2 m k] and [2 k n]."""
    rng = np.random.default_rng(m * n)
    x, y = numbers(rng, dtype, (2, m, 19)), numbers(rng, dtype, (2, 19, n))
    stored = [np.ascontiguousarray(a.transpose(p)) for a, p in ((x, left), (y, right))]
    node = node_of("matmul", [x, y], {})
    bases = [node_of("abs", [s], {}).inputs[0] for s in stored]
    seen = dict(zip(node.inputs, zip(bases, stored, (left, right), (x, y))))

    def view_of(value: Any) -> Any:
        if value not in seen:
            return whole(value)
        base, kept, perm, plain = seen[value]
        strides = dense_strides(kept.shape)
        return View(base, plain.shape, tuple(strides[perm.index(i)] for i in range(3)))

    made = recipe(node, view_of)
    assert made is not None and made.reads is not None and list(made.reads) == bases
    node.inputs[:] = bases
    done = Run(node, made, stored)
    assert done() == 0
    check(done.outs[0], x, y)


def test_vectors_and_strange_numbers() -> None:
    rng = np.random.default_rng(1)
    a, v = rng.standard_normal((7, 5)), rng.standard_normal(5)
    a[0, 0], a[3, 3], v[2] = np.nan, np.inf, -np.inf
    for x, y in ((a, v), (v, np.ascontiguousarray(a.T)), (v, v)):
        check(run("matmul", [x, y], recipe)[0], x, y)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_threads_share_rows(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from msnb.devices.cpu import thread_pool

    monkeypatch.setattr(thread_pool, "count", lambda: count)
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3, 131, 90)), rng.standard_normal((3, 90, 77))
    check(run("matmul", [x, y], recipe)[0], x, y)


def test_what_is_left_to_numpy() -> None:
    one = np.ones((2, 3))
    assert run("matmul", [one.astype(np.float32), one.T.astype(np.float32)], recipe) is None
    assert run("matmul", [np.ones((1, 512)), np.ones((512, 512))], recipe) is None
    assert run("matmul", [np.ones((0, 3)), np.ones((3, 4))], recipe) is None


def test_a_loop_in_float64_is_native(rng: np.random.Generator) -> None:
    w, z = ms.Tensor(rng.standard_normal((9, 9)) / 9), ms.Tensor(rng.standard_normal((4, 9)))

    def turns(w: Any, z: Any) -> Any:
        i = ms.Tensor(0)
        while i < 5:
            z = ms.ops.tanh(z @ w)
            i = i + 1
        return z

    program = native(traced(turns, w, z))
    assert "matmul" not in program.host_steps
    np.testing.assert_allclose(program(buffers([w, z]))[0], turns(w, z).asnumpy(), rtol=1e-12, atol=1e-15)
