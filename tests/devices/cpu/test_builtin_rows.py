"""Eager operations row by row: operands that broadcast, and reductions of rows that lie close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.core.dtypes import as_dtype
from msnb.core.types import tensor_type
from msnb.devices.cpu import thread_pool
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import find

pytest.importorskip("llvmlite")
from msnb.devices.cpu.eager import elementwise
from msnb.devices.cpu.eager.kernel_cache import EagerKernel, eager_kernel
from msnb.devices.cpu.kernels import row_reduction

Rng = np.random.Generator


@pytest.fixture(params=[1, 3])
def several_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "count", lambda: request.param)


@pytest.fixture
def machine_code() -> Iterator[None]:
    before = ms.get_context("jit_level")
    ms.set_context(jit_level="O1")
    yield
    ms.set_context(jit_level=before)


def kernels(name: str, *arrays: Any, **attrs: Any) -> tuple[Any, Any]:
    op = find(name)
    full, types = op.bind_attrs(attrs), tuple(tensor_type(a.shape, as_dtype(a.dtype)) for a in arrays)
    body = body_kernel(np, op, types, full)
    return eager_kernel(op, types, full, body), body


def odd(rng: Rng, shape: Any, dtype: Any = np.float32) -> Any:
    """Random numbers, with a few that arithmetic treats in ways of their own."""
    x = rng.standard_normal(shape).astype(dtype)
    places = rng.integers(0, x.size, 5)
    x.flat[places] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    return x


# ---- operands that broadcast -----------------------------------------------------------------------------------------

PAIRS = {
    "a number per row": ((300, 301), (300, 1)),
    "a row for all": ((300, 301), (301,)),
    "a number per channel": ((5, 7, 40, 51), (7, 1, 1)),
    "a mask per example": ((4, 3, 90, 80), (4, 1, 90, 80)),
    "two that complete each other": ((400, 1, 17), (1, 30, 17)),
    "column and row": ((300, 1), (1, 301)),
    "one number": ((300, 301), (1, 1)),
    "one long row": ((1, 70_001), (70_001,)),
    "two long rows": ((2, 70_001), (2, 1)),
}


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("name", ["add", "subtract", "divide", "maximum", "greater"])
@pytest.mark.parametrize("pair", PAIRS)
def test_operands_broadcast(pair: str, name: str, rng: Rng) -> None:
    x, y = (odd(rng, shape) for shape in PAIRS[pair])
    for a, b in ((x, y), (y, x)):
        native, body = kernels(name, a, b)
        assert isinstance(native, EagerKernel)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(native(a, b), body(a, b))


def test_any_shapes_broadcast(rng: Rng) -> None:
    for _ in range(12):
        outer = [int(n) for n in rng.choice([1, 2, 3, 16, 19], rng.integers(1, 4))]
        out = [*outer, elementwise.WORTH // int(np.prod(outer)) + int(rng.integers(1, 40))]
        shapes = [tuple(n if rng.random() < 0.6 else 1 for n in out) for _ in range(3)]
        whole = np.broadcast_shapes(*shapes)
        arrays = [rng.standard_normal(shape) for shape in (*shapes[:2], whole)]
        native, body = kernels("where", arrays[0] > 0, *arrays[1:])
        rows = elementwise.rows_of([tensor_type(a.shape, ms.float64) for a in arrays], tensor_type(whole, ms.float64))
        worth = rows is not None and rows.extent >= elementwise.SHORT and arrays[2].size >= elementwise.SEVERAL
        assert (native is not None) == worth
        if native is not None:
            mask = arrays[0] > 0
            np.testing.assert_array_equal(native(mask, *arrays[1:]), body(mask, *arrays[1:]))


def test_short_rows_and_many_counters_are_left_to_numpy(rng: Rng) -> None:
    assert kernels("add", rng.standard_normal((9000, 15)), rng.standard_normal((9000, 1)))[0] is None
    assert kernels("add", rng.standard_normal((9, 8, 7, 6, 90)), rng.standard_normal((9, 1, 7, 1, 90)))[0] is None


def test_all_shapes_share_their_code(rng: Rng) -> None:
    x = rng.standard_normal((300, 400))
    kernels("atan2", x, x[:, :1])
    before = len(elementwise._made)
    for shape in ((200, 500), (3, 90, 700), (2, 80_000)):
        x = rng.standard_normal(shape)
        native, body = kernels("atan2", x, x[..., :1])
        np.testing.assert_allclose(native(x, x[..., :1]), body(x, x[..., :1]), rtol=1e-12)
    assert len(elementwise._made) == before


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (2, 0, 1)])
def test_operands_that_lie_alike_are_run_through_as_they_lie(order: Any, rng: Rng) -> None:
    x, y = (odd(rng, (30, 50, 60)).transpose(order) for _ in range(2))
    native, body = kernels("multiply", x, y)
    found = native(x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, body(x, y))
        np.testing.assert_array_equal(native(x, x.copy()), body(x, x))  # one of them lies otherwise
    assert found.strides == x.strides


def test_numbers_meet_transposed_tensors(machine_code: None, rng: Rng) -> None:
    x = rng.standard_normal((300, 301))
    t = ms.Tensor(x).T
    np.testing.assert_array_equal(((t * 2 - 1) / t).asnumpy(), (x.T * 2 - 1) / x.T)
    np.testing.assert_array_equal((t > 0).asnumpy(), x.T > 0)


@pytest.mark.parametrize("new", ["float32", "float64", "int16", "int64", "uint8"])
@pytest.mark.parametrize("old", ["uint8", "int8", "int32", "int64", "uint16"])
def test_casts_of_integers(old: str, new: str, rng: Rng) -> None:
    limits = np.iinfo(old)
    x = rng.integers(limits.min, limits.max, (7, 100, 101), np.dtype(old), endpoint=True).transpose(0, 2, 1)
    native, body = kernels("cast", x, dtype=as_dtype(new))
    if native is not None:
        np.testing.assert_array_equal(native(x), body(x))
    assert (native is None) == (old == new)


def test_casts_that_round_or_overflow_are_left_to_numpy(rng: Rng) -> None:
    x = rng.standard_normal(70_000).astype(np.float32)
    assert [kernels("cast", x, dtype=d)[0] for d in (ms.int32, ms.float16, ms.float32)] == [None] * 3
    native, body = kernels("cast", x, dtype=ms.float64)
    np.testing.assert_array_equal(native(x), body(x))


# ---- reductions ------------------------------------------------------------------------------------------------------

AXES = {
    "the last": ((300, 301), -1),
    "short rows": ((40_000, 3), 1),
    "the last two": ((8, 9, 31, 37), (2, 3)),
    "all": ((41, 43, 47), None),
    "all but channels": ((6, 5, 47, 53), (0, 2, 3)),
    "few long rows": ((2, 70_001), 1),
    "beside axes of one": ((1, 300, 1, 301), 3),
}


def found_and_wanted(name: str, x: Any, axis: Any) -> tuple[Any, Any]:
    native, body = kernels(name, x, axis=axis, keepdims=False)
    assert isinstance(native, EagerKernel)
    with np.errstate(all="ignore"):
        return native(x), body(x)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("axes", AXES)
def test_reductions(axes: str, name: str, dtype: Any, rng: Rng) -> None:
    shape, axis = AXES[axes]
    x = rng.standard_normal(shape).astype(dtype)
    found, want = found_and_wanted(name, x, axis)
    assert found.dtype == want.dtype
    if name in ("max", "min"):
        np.testing.assert_array_equal(found, want)
        return
    # each number is off by its own rounding, and by that of partial sums: no more than the sum of what is added up
    bound = np.finfo(dtype).eps * 100 * np.abs(x).sum(axis).max() / (x.size / found.size if name == "mean" else 1)
    np.testing.assert_allclose(found, want, rtol=0, atol=bound)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_what_is_no_number_is_seen(name: str, rng: Rng) -> None:
    x = rng.standard_normal((300, 301)).astype(np.float32)
    x[3, rng.integers(301)] = np.nan
    x[5, rng.integers(301)] = np.inf
    x[7, rng.integers(301)] = -np.inf
    x[9, [1, 300]] = np.inf, -np.inf
    x[11] = -np.inf
    found, want = found_and_wanted(name, x, 1)
    np.testing.assert_allclose(found[:12], want[:12], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape, axis", [((300, 301), (300, 1)), ((7, 90, 200), (7, 1, 1)), ((7, 90, 200), (90, 1))])
def test_what_was_broadcast_is_summed_back(shape: Any, axis: Any, rng: Rng) -> None:
    x = rng.standard_normal(shape)
    native, body = kernels("sum_to", x, shape=axis)
    np.testing.assert_allclose(native(x), body(x), rtol=0, atol=1e-10)


def test_long_sums_keep_their_digits() -> None:
    x = np.full((2, 3_000_000), 0.1, np.float32)
    found, _ = found_and_wanted("sum", x, 1)
    np.testing.assert_allclose(found, x.astype(np.float64).sum(1), rtol=1e-5)


def test_sums_of_whole_rows_are_left_to_numpy(rng: Rng) -> None:
    x = rng.standard_normal((300, 301))
    assert kernels("sum", x, axis=0)[0] is None
    assert kernels("sum", x.reshape(10, 30, 301), axis=1)[0] is None
    assert kernels("sum", x.astype(np.int64), axis=1)[0] is None
    assert row_reduction.seen((4, 5, 6, 7), (1, 3)) is None


def test_a_transposed_operand_has_the_same_sums(machine_code: None, rng: Rng) -> None:
    x = rng.standard_normal((301, 300))
    t = ms.Tensor(x).T
    np.testing.assert_allclose((t - t.mean(1, keepdims=True)).asnumpy(), x.T - x.T.mean(1, keepdims=True), atol=1e-12)
