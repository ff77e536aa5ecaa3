"""Kernels of the GPU that read, add and write at index tensors, against the reference bodies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from kernel_runs import native, nearly, same

BF16 = ml_dtypes.bfloat16
FULL = (None, None, None)
DTYPES = [np.float32, np.float16, BF16, np.bool_, np.int64, np.uint8]


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> np.random.Generator:
    seed = abs(hash(request.node.name)) % 10_000
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def numbers(draw: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    return (draw.standard_normal(shape) * 3).astype(dtype)


# ---- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, np.complex64, np.float64])
def test_rows(draw: np.random.Generator, dtype: Any) -> None:
    x = numbers(draw, (7, 5, 24), dtype)
    same("gather", [x, draw.integers(-7, 7, (3, 4))], {"axis": 0})
    same("gather", [x, draw.integers(-5, 5, 3).astype(np.int32)], {"axis": 1})
    same("gather", [x, np.array(3, np.int8)], {"axis": -1})
    same("gather", [x[:1, :1, :1], np.array([0, -1, 0], np.int16)], {"axis": 1})


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint16, np.uint32, np.int64, np.uint64])
def test_every_kind_of_index(draw: np.random.Generator, kind: Any) -> None:
    same("gather", [numbers(draw, (9, 3), np.float32), draw.integers(0, 9, 11).astype(kind)], {"axis": 0})


@pytest.mark.parametrize(
    ("shape", "indices", "spec"),
    [
        ((7, 5, 24), [(3, 1), (4,)], ("t", "t")),
        ((7, 5, 24), [(3, 1), (4,)], ("t", (4, 0, -2), "t")),
        ((7, 5, 24), [(3,)], (2, "t", (23, 3, -4))),
        ((2, 3, 4, 5, 6), [(2, 1, 2), (3, 1)], (FULL, "t", (1, 3, 1), "t", None)),
        ((6,), [()], ("t",)),
    ],
)
def test_keys(draw: np.random.Generator, shape: Any, indices: Any, spec: Any) -> None:
    axes = [d for d, e in zip(shape, [e for e in spec if e is not None]) if e == "t"]
    entries = [draw.integers(-d, d, s) for d, s in zip(axes, indices)]
    x = numbers(draw, shape, np.float32)
    run = same("index", [x, *entries], {"spec": spec})
    same("unindex", [numbers(draw, run.outs[0].shape, np.int32), *entries], {"spec": spec, "shape": shape})
    same("index_taken", [x, *entries], {"spec": spec})
    same("index_update", [x, run.outs[0] + 1, *entries], {"spec": spec})


def test_one_index_per_element(draw: np.random.Generator) -> None:
    x, rows = numbers(draw, (6, 9), BF16), np.arange(6)[:, None]
    same("index", [x, rows, draw.integers(0, 9, (6, 4))], {"spec": ("t", "t")})


@pytest.mark.parametrize("bad", [7, -8, 2**40, -(2**62)])
def test_a_wrong_index_is_told(draw: np.random.Generator, bad: int) -> None:
    x, entries = numbers(draw, (7, 4), np.float32), np.array([1, bad, 3])
    told = f"index {bad} is outside axis 0 of size 7"
    for name, args, attrs in (
        ("gather", [x, entries], {"axis": 0}),
        ("unindex", [x[:3], entries], {"spec": ("t",), "shape": (7, 4)}),
        ("index_update", [x, x[:3], entries], {"spec": ("t",)}),
    ):
        assert told in str(native(name, args, attrs).error)
    error = native("index", [x, np.array([0, 1]), np.array([3, 4])], {"spec": ("t", "t")}).error
    assert "index 4 is outside axis 1 of size 4" in str(error)


# ---- adding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_sums_of_few_entries_are_in_order(draw: np.random.Generator, dtype: Any) -> None:
    y = numbers(draw, (30, 24), dtype)
    same("unindex", [y, draw.integers(-7, 7, 30)], {"spec": ("t",), "shape": (7, 24)})
    y = numbers(draw, (5, 30, 6), dtype)
    same("unindex", [y, draw.integers(-7, 7, 30).astype(np.int32)], {"spec": (FULL, "t"), "shape": (5, 7, 6)})
    same("unindex", [y[:1, :1, :1], np.array([0])], {"spec": (FULL, "t"), "shape": (1, 1, 1)})


@pytest.mark.parametrize("dtype", [np.float16, BF16])
def test_two_byte_floats_are_summed_in_float32(draw: np.random.Generator, dtype: Any) -> None:
    y, entries = numbers(draw, (90, 16), dtype), draw.integers(0, 5, 90)
    run = native("unindex", [y, entries], {"spec": ("t",), "shape": (6, 16)})
    want = np.zeros((6, 16))
    np.add.at(want, entries, y.astype(np.float64))
    np.testing.assert_allclose(run.outs[0].astype(np.float64), want, rtol=2.0**-8 if dtype is BF16 else 2.0**-11)


@pytest.mark.parametrize(("entries", "rows", "used"), [(700, 3, 2), (2500, 900, 600), (2100, 100_000, 100_000)])
def test_long_runs_and_many_rows(draw: np.random.Generator, entries: int, rows: int, used: int) -> None:
    index = np.minimum(draw.integers(0, rows, entries), used - 1)
    y = draw.integers(-99, 99, entries)
    first = same("unindex", [y, index], {"spec": ("t",), "shape": (rows,)})
    assert first.launches == {700: 6, 2500: 12, 2100: 15}[entries]
    nearly("unindex", [y * 0.1, index], {"spec": ("t",), "shape": (rows,)}, 64, 16)


# ---- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int64, np.bool_])
def test_the_last_write_counts(draw: np.random.Generator, dtype: Any) -> None:
    x, value, entries = numbers(draw, (7, 24), dtype), numbers(draw, (9, 24), dtype), draw.integers(-7, 7, 9)
    same("index_update", [x, value, entries], {"spec": ("t",)})
    same("index_update", [x, value[:1], entries], {"spec": ("t",)})
    same("index_update", [x, value[0, 0], entries], {"spec": ("t", (23, None, -2))})
    same("index_update", [x, numbers(draw, (9, 1), np.float32), entries], {"spec": ("t", (3, 17, 1))})
    same("index_taken", [x, entries], {"spec": ("t",)})


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("how", ["max", "min", "mul"])
def test_values_that_combine(draw: np.random.Generator, dtype: Any, how: str) -> None:
    x, value, entries = numbers(draw, (5, 8), dtype), numbers(draw, (9, 8), dtype), draw.integers(-5, 5, 9)
    if how != "mul" and dtype is np.float32:
        value[3, 4] = np.nan
    nearly("index_reduce", [x, value, entries], {"spec": ("t",), "reduce": how}, 8)
