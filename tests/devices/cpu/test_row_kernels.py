"""Triangles, recurrences, searches, borders and permutations run natively, and give what the reference bodies give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.devices.cpu import thread_pool
from msnb.ops.indexing.pad import PAD
from msnb.ops.linalg.triangular import TRIL, TRIU
from msnb.ops.math.sort import SEARCHSORTED
from msnb.ops.random import draws
from msnb.ops.reduction.cumulative import LINEAR_RECURRENCE, LINEAR_RECURRENCE_SHIFT

pytest.importorskip("llvmlite")

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "uint32", "bool")


def tensors(arrays: Any, dtype: str) -> list[ms.Tensor]:
    return [ms.Tensor(a, dtype=getattr(ms, "bool_" if dtype == "bool" else dtype)) for a in arrays]


def equal(f: Any, *operands: ms.Tensor, exact: bool = True) -> None:
    """Compiled, eager and reference results agree, and nothing is left to Python."""
    with ms.set_context(jit_level="O0"):
        wanted = f(*operands)
    with ms.set_context(jit_level="O1"):
        compiled = ms.jit(lambda *x: f(*x))
        found = [compiled(*operands), f(*operands)]
    assert compiled.versions[0].compiled.executable.host_steps == []
    for out in found:
        assert out.dtype is wanted.dtype and out.shape == wanted.shape
        a, b = (t.astype(ms.float64).asnumpy() if t.dtype.is_float else t.asnumpy() for t in (out, wanted))
        np.testing.assert_allclose(a, b, rtol=0 if exact else 2e-7, equal_nan=True)


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers that every dtype holds, some of them equal."""
    return np.random.default_rng(seed).integers(0, 9, shape).astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", (TRIL, TRIU), ids=lambda op: op.name)
def test_triangles(op: Any, dtype: str) -> None:
    for shape, diagonal in (((200, 90), 0), ((3, 70, 90), -5), ((70, 300), 200), ((130, 130), -400), ((1, 17000), 3)):
        (x,) = tensors([numbers(shape, 1)], dtype)
        equal(lambda x, k=diagonal: op(x, diagonal=k), x)


def test_triangles_keep_what_is_no_number_out_of_the_zeros() -> None:
    x = np.full((150, 150), np.nan, np.float32)
    equal(lambda x: TRIL(x, diagonal=-1), ms.Tensor(x))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_recurrences(dtype: str) -> None:
    for shape, axis in (((5000,), 0), ((130, 150), 1), ((130, 150), 0), ((7, 33, 90), 1), ((2, 4500, 1), -2)):
        a, b = tensors(
            [numbers(shape, 2) / 8 if "float" in dtype else numbers(shape, 2) % 2, numbers(shape, 3) % 2], dtype
        )
        for reverse in (False, True):
            equal(lambda a, b, k=axis, r=reverse: LINEAR_RECURRENCE(a, b, axis=k, reverse=r), a, b)
            equal(lambda a, k=axis, r=reverse: LINEAR_RECURRENCE_SHIFT(a, axis=k, reverse=r), a)


def test_the_first_factor_of_a_recurrence_is_not_read() -> None:
    a, b = np.ones((200, 100), np.float32), np.ones((200, 100), np.float32)
    a[:, 0], b[3, 5] = np.nan, np.inf
    for axis in (0, 1):
        equal(lambda a, b, k=axis: LINEAR_RECURRENCE(a, b, axis=k), ms.Tensor(a), ms.Tensor(b))


def test_the_gradient_of_a_running_product_is_native() -> None:
    x = np.random.default_rng(4).uniform(0.9, 1.1, (300, 70)).astype(np.float32)
    x[5, 7] = 0
    grad = ms.grad(lambda x: (ops.cumprod(x, 0) ** 2).sum())
    with ms.set_context(jit_level="O1"):
        compiled = ms.jit(grad)
        found = compiled(ms.Tensor(x)).asnumpy()
    assert "linear_recurrence" not in compiled.versions[0].compiled.executable.host_steps
    with ms.set_context(jit_level="O0"):
        np.testing.assert_allclose(found, grad(ms.Tensor(x)).asnumpy(), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_searches(dtype: str) -> None:
    for n, m in ((1, 20000), (7, 30000), (20000, 40), (1000, 5000)):
        line, x = tensors([np.sort(numbers((n,), 5)), numbers((m,), 6)], dtype)
        for right in (False, True):
            equal(lambda a, x, r=right: SEARCHSORTED(a, x, right=r), line, x)
    rows, x = tensors([np.sort(numbers((130, 40), 7)), numbers((130, 150), 8)], dtype)
    equal(lambda a, x: SEARCHSORTED(a, x, right=True), rows, x)


@pytest.mark.parametrize("right", (False, True))
@pytest.mark.parametrize("rows", (False, True))
def test_searches_put_nan_behind_all_numbers(right: bool, rows: bool) -> None:
    line = np.array([-np.inf, -0.0, 0.0, 1.0, np.inf, np.nan, np.nan], np.float32)
    x = np.resize(np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 0.5], np.float32), 20000)
    a, x = (line[None], x[None]) if rows else (line, x)
    equal(lambda a, x: SEARCHSORTED(a, x, right=right), ms.Tensor(a), ms.Tensor(x))
    wanted = np.searchsorted(line, x.reshape(-1), side="right" if right else "left")
    with ms.set_context(jit_level="O1"):
        np.testing.assert_array_equal(SEARCHSORTED(ms.Tensor(a), ms.Tensor(x), right=right).asnumpy().ravel(), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_borders(dtype: str) -> None:
    for shape, pads in (
        ((200, 100), ((1, 2), (3, 0))),
        ((200, 100), ((-1, 2), (3, -4))),
        ((4, 6, 30, 40), ((0, 0), (0, 0), (1, 1), (2, 2))),
        ((20000,), ((-5000, -10000),)),
        ((20000,), ((-20000, 30000),)),
    ):
        (x,) = tensors([numbers(shape, 9)], dtype)
        equal(lambda x, p=pads: PAD(x, pads=p, value=1), x)


def test_borders_hold_what_numpy_holds() -> None:
    x = numbers((200, 100), 10)
    for value in (float("nan"), float("-inf"), -0.0, 1e300):
        equal(lambda x, v=value: PAD(x, pads=((1, 1), (0, 1)), value=v), ms.Tensor(x))
    small = ms.Tensor(x.astype(np.uint8))
    for level in ("O0", "O1"):
        with ms.set_context(jit_level=level), pytest.raises(Exception, match=r"300|out of bounds"):
            ms.jit(lambda x: PAD(x, pads=((1, 1), (0, 1)), value=300))(small)


@pytest.mark.parametrize("mode", ("reflect", "edge", "circular"))
def test_borders_that_are_read(mode: str) -> None:
    x = ms.Tensor(numbers((2, 3, 60, 70), 11).astype(np.float32))
    equal(lambda x: ops.pad(x, (2, 1, 3, 4), mode=mode), x)


def test_updates_with_a_number() -> None:
    for dtype in DTYPES:
        (x,) = tensors([numbers((300, 100), 12)], dtype)

        def f(x: Any) -> Any:
            y = ops.index_update(x, (slice(3, 50), slice(None, None, 2)), 1)
            return ops.index_update(y, 7, 2)

        equal(f, x)


@pytest.mark.parametrize("n", (1, 2, 31, 64, 5000, 70001))
def test_permutations(n: int) -> None:
    key = ms.Tensor(np.array([7, 3], np.uint64))

    def f(key: Any) -> Any:
        return draws.RANDOM_PERMUTATION(key, n=n)

    with ms.set_context(jit_level="O0"):
        wanted = f(key).asnumpy()
    with ms.set_context(jit_level="O1"):
        np.testing.assert_array_equal(f(key).asnumpy(), wanted)
        np.testing.assert_array_equal(ms.jit(f)(key).asnumpy(), wanted)
    np.testing.assert_array_equal(np.sort(wanted), np.arange(n))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
@pytest.mark.parametrize("op", (draws.RANDOM_UNIFORM, draws.RANDOM_NORMAL), ids=lambda op: op.name)
def test_draws_in_half_precision(op: Any, dtype: str) -> None:
    key = ms.Tensor(np.array([11, 2], np.uint64))
    for n in (1, 63, 64, 20001):

        def f(key: Any, n: int = n) -> Any:
            return op(key, shape=(n,), dtype=getattr(ms, dtype)).astype(ms.float32)

        with ms.set_context(jit_level="O0"):
            wanted = f(key).asnumpy()
        with ms.set_context(jit_level="O1"):
            for found in (f(key).asnumpy(), ms.jit(f)(key).asnumpy()):
                assert (found != wanted).mean() < 1e-3
                np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("threads", (1, 2))
def test_any_number_of_threads_gives_the_same(threads: int) -> None:
    before = thread_pool.count()
    a, b = (np.random.default_rng(s).standard_normal((900, 900)).astype(np.float32) / 2 for s in (13, 14))
    try:
        ms.set_context(runtime_num_threads=threads)
        equal(lambda a, b: LINEAR_RECURRENCE(a, b, axis=0), ms.Tensor(a), ms.Tensor(b))
        equal(lambda a, b: LINEAR_RECURRENCE(a, b, axis=1), ms.Tensor(a), ms.Tensor(b))
        equal(lambda a: TRIU(a, diagonal=3), ms.Tensor(a))
        equal(lambda a, b: SEARCHSORTED(ops.sort(a.reshape(-1))[0], b), ms.Tensor(a), ms.Tensor(b))
    finally:
        ms.set_context(runtime_num_threads=before)
