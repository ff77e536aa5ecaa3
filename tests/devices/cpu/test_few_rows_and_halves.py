"""Products of few rows walk over their matrix; half precision multiplies in float32 and rounds once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels import half_product
from msnb.devices.cpu.kernels.half_product import HalfProductRecipe
from msnb.devices.cpu.kernels.matvec import VectorRecipe

pytest.importorskip("llvmlite")

DIGITS = {"float32": 1e-5, "float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3}
HALVES = ("float16", "bfloat16")


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> ms.Tensor:
    x = np.random.default_rng(seed).standard_normal(shape)
    return ms.Tensor(x.astype(np.float64 if dtype == "float64" else np.float32)).astype(getattr(ms, dtype))


def wide(t: ms.Tensor) -> np.ndarray:
    return t.astype(ms.float64).asnumpy()


def check(f: Any, *operands: ms.Tensor, dtype: str) -> Any:
    """Compiled and eager results against the reference bodies; the recipes of the program."""
    with ms.set_context(jit_level="O0"):
        wanted = f(*operands)
    size = np.abs(wide(wanted)).max(initial=1e-30)
    with ms.set_context(jit_level="O1"):
        compiled = ms.jit(f)
        for found in (compiled(*operands), f(*operands)):
            assert found.shape == wanted.shape and found.dtype is wanted.dtype
            np.testing.assert_allclose(wide(found) / size, wide(wanted) / size, atol=DIGITS[dtype], equal_nan=True)
    return list(compiled.versions[0].compiled.executable.recipes.values())


@pytest.mark.parametrize("dtype", DIGITS)
@pytest.mark.parametrize("transposed", (False, True))
def test_few_rows(dtype: str, transposed: bool) -> None:
    walked = 0
    for m in (2, 3, 4, 5, 8):
        for k, n in ((200, 131), (131, 200), (1030, 17), (16, 1100)):
            x, y = drawn((m, k), dtype, m), drawn((n, k) if transposed else (k, n), dtype, n)
            found = check(lambda x, y: ops.matmul(x, y.T if transposed else y), x, y, dtype=dtype)
            walked += any(isinstance(r, VectorRecipe) for r in found)
    assert walked >= (12 if dtype == "bfloat16" else 20)


@pytest.mark.parametrize("dtype", DIGITS)
def test_leading_axes(dtype: str) -> None:
    for left, right in (
        ((1, 1, 300), (300, 90)),
        ((1, 1, 1, 70), (1, 1, 70, 300)),
        ((3, 1, 70), (3, 70, 200)),
        ((3, 2, 70), (1, 70, 200)),
        ((1, 2, 70), (4, 70, 200)),
        ((2, 3, 1, 40), (2, 3, 40, 90)),
        ((5, 4, 300), (300, 1)),
        ((300,), (300, 70)),
        ((90, 300), (300,)),
    ):
        check(ops.matmul, drawn(left, dtype, 1), drawn(right, dtype, 2), dtype=dtype)


def test_a_cache_is_read_as_it_lies() -> None:
    q, c = drawn((1, 4, 1, 64), "float32", 3), drawn((1, 4, 512, 64), "float32", 4)
    found = check(lambda q, c: ops.matmul(q, c.transpose(0, 1, 3, 2)), q, c, dtype="float32")
    assert [type(r) for r in found if isinstance(r, VectorRecipe)]


def test_caches_of_a_batch_are_read_as_they_lie() -> None:
    q, c = drawn((3, 4, 1, 32), "float32", 3), drawn((3, 200, 4, 32), "float32", 4)
    found = check(lambda q, c: ops.matmul(q, c.transpose(0, 2, 3, 1)), q, c, dtype="float32")
    assert any(isinstance(r, VectorRecipe) for r in found)
    w = drawn((3, 4, 1, 200), "float32", 5)
    found = check(lambda w, c: ops.matmul(w, c.transpose(0, 2, 1, 3)), w, c, dtype="float32")
    assert any(isinstance(r, VectorRecipe) for r in found)


def test_what_is_no_number_stays() -> None:
    x, y = drawn((3, 200), "float32", 5).asnumpy().copy(), drawn((200, 90), "float32", 6).asnumpy().copy()
    x[1, 7], y[3, 4], y[150, 80] = np.inf, np.nan, -np.inf
    check(ops.matmul, ms.Tensor(x), ms.Tensor(y), dtype="float32")


@pytest.mark.parametrize("dtype", DIGITS)
def test_the_gradient_of_few_rows(dtype: str) -> None:
    x, y = drawn((4, 150), dtype, 7), drawn((150, 60), dtype, 8)
    for n in (0, 1):
        check(ms.grad(lambda x, y: (ops.matmul(x, y) ** 2).mean(), n), x, y, dtype=dtype)


@pytest.mark.parametrize("threads", (1, 2))
def test_threads_give_the_same_bits(threads: int) -> None:
    before = thread_pool.count()
    x, y = drawn((5, 700), "float32", 9), drawn((700, 901), "float32", 10)
    f = ms.jit(lambda x, y: (ops.matmul(x, y), ops.matmul(x, y.reshape(901, 700).T)))
    try:
        with ms.set_context(jit_level="O1"):
            ms.set_context(runtime_num_threads=1)
            wanted = [t.asnumpy() for t in f(x, y)]
            ms.set_context(runtime_num_threads=threads)
            for a, b in zip(f(x, y), wanted, strict=True):
                np.testing.assert_array_equal(a.asnumpy(), b)
    finally:
        ms.set_context(runtime_num_threads=before)


# ---- half precision -------------------------------------------------------------------------------------------------


@pytest.fixture(params=HALVES)
def half(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A dtype that the library shall have no units for."""
    monkeypatch.setattr(half_product, "has_units", lambda dtype: False)
    return str(request.param)


def is_half(recipes: Any) -> bool:
    return any(isinstance(r, HalfProductRecipe) for r in recipes)


def test_products_in_half_precision(half: str) -> None:
    for left, right in (((64, 300), (300, 90)), ((3, 20, 70), (3, 70, 200)), ((33, 64), (64, 64))):
        x, y = drawn(left, half, 11), drawn(right, half, 12)
        assert is_half(check(lambda x, y: ops.matmul(x, y) + x.sum(), x, y, dtype=half))
    x, y = drawn((40, 90), half, 13), drawn((50, 90), half, 14)
    assert is_half(check(lambda x, y: ops.matmul(x, y.T), x, y, dtype=half))
    assert is_half(check(lambda x: ops.matmul(x, x.T), x, dtype=half))
    assert is_half(check(lambda x: ops.matmul(x[4:24], x[1, :].reshape(90, 1) * x[:1]), x, dtype=half))


def test_half_precision_rounds_once(half: str) -> None:
    """The result is the float32 product, rounded: in half precision the sums would have lost everything."""
    x, y = drawn((64, 4096), half, 15), drawn((4096, 32), half, 16)
    exact = wide(x) @ wide(y)
    with ms.set_context(jit_level="O1"):
        found = wide(ms.jit(ops.matmul)(x, y))
    step = 2.0 ** -(10 if half == "float16" else 7)
    assert (np.abs(found - exact) <= np.abs(exact) * step * 0.51 + 1e-3).all()


def test_half_precision_overflows_to_infinity() -> None:
    x = ms.Tensor(np.full((64, 64), 300.0, np.float16))
    with ms.set_context(jit_level="O1"):
        assert np.isinf(ms.jit(ops.matmul)(x, x).asnumpy()).all()


@pytest.mark.parametrize("shape", ((4, 16, 12, 12), (2, 3, 9, 11)))
def test_convolutions_in_half_precision(half: str, shape: tuple[int, ...]) -> None:
    x, w = drawn(shape, half, 17), drawn((8, shape[1], 3, 3), half, 18)

    def f(x: Any, w: Any) -> Any:
        return ops.conv2d(x, w, pad_mode="pad", padding=1)

    assert is_half(check(f, x, w, dtype=half))
    for n in (0, 1):
        check(ms.grad(lambda x, w: (f(x, w) ** 2).mean(), n), x, w, dtype=half)


def test_a_layer_in_half_precision_trains_as_one_in_float32(half: str) -> None:
    dtype = getattr(ms, half)
    x = drawn((32, 48), half, 19)
    found = []
    for kind, level in ((dtype, "O1"), (ms.float32, "O1")):
        ms.set_seed(3)
        with ms.set_context(jit_level=level):
            net = nn.SequentialCell(nn.Dense(48, 64, dtype=kind), nn.GELU(), nn.Dense(64, 16, dtype=kind))
            step = ms.jit(ms.value_and_grad(lambda x, net=net: (net(x) ** 2).mean(), None, net.trainable_params()))
            loss, grads = step(x.astype(kind))
            found.append([wide(loss), *map(wide, grads)])
    for a, b in zip(*found, strict=True):
        assert np.abs(a - b).max() <= 0.05 * np.abs(b).max() + 1e-3
