"""Draws, running totals, extremes and class indices of the GPU against the reference bodies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from kernel_runs import native, nearly, same

from msnb.core import dtypes

BF16 = ml_dtypes.bfloat16
KEY = np.array([2**63 + 12345678901, 2**40 + 17], np.uint64)


# ---- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 8), (333,)])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.float64])
def test_floats(shape: Any, dtype: Any) -> None:
    same("random_uniform", [KEY], {"shape": shape, "dtype": dtype})
    wide = dtype is dtypes.float64
    nearly("random_normal", [KEY], {"shape": shape, "dtype": dtype}, 16 if wide else 1, 1 if wide else 0)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-3, 4, dtypes.int64),
        (0, 2**40, dtypes.int64),
        (-(2**63), 2**63 - 1, dtypes.int64),
        (0, 2**32, dtypes.int64),
        (-5, 100, dtypes.int8),
        (0, 7, dtypes.uint16),
    ],
)
def test_whole_numbers(low: int, high: int, dtype: Any) -> None:
    for shape in ((1,), (63,), (2, 4)):
        same("random_integers", [KEY], {"low": low, "high": high, "shape": shape, "dtype": dtype})


def test_the_next_key() -> None:
    same("next_key", [KEY], {})


# ---- extremes --------------------------------------------------------------------------------------------------------

KINDS = [np.float32, np.float16, BF16, np.float64, np.bool_, np.int64, np.uint8]


def numbers(seed: int, shape: Any, dtype: Any, nan: bool = True) -> np.ndarray:
    print(f"seed {seed}")
    draw = np.random.default_rng(seed)
    x = np.round(draw.standard_normal(shape) * 2)
    x = (x if np.dtype(dtype).kind in "fVi" else np.abs(x)).astype(dtype)
    if nan and np.dtype(dtype).kind in "fV" and x.size > 3:
        x.reshape(-1)[draw.integers(x.size, size=x.size // 8)] = np.nan
    return x


@pytest.mark.parametrize("dtype", KINDS)
def test_where_extremes_stand(dtype: Any) -> None:
    for seed, (shape, axes) in enumerate([((3, 7, 4), (1,)), ((2, 300), (1,))]):
        for axis in axes:
            for nan in (True, False):
                x = numbers(seed, shape, dtype, nan)
                same("argmax", [x], {"axis": axis, "keepdims": nan})
                same("argmin", [x], {"axis": axis})


def test_extremes_of_long_lines() -> None:
    x = np.full((2, 17000), -np.inf, np.float32)
    same("argmax", [x], {"axis": 1})
    x[0, 9999:12000], x[1, 16999] = 5, np.nan
    same("argmax", [x], {"axis": 1})
    same("argmin", [x], {"axis": None})
    same("argmin", [x[:1, :1]], {"axis": None, "keepdims": True})


# ---- running totals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("exclusive", "reverse"), [(False, False), (True, True)])
def test_running_totals(dtype: Any, exclusive: bool, reverse: bool) -> None:
    for seed, (shape, axis) in enumerate([((3, 7, 4), 1), ((2, 300), 1)]):
        x, attrs = numbers(seed, shape, dtype, nan=False), {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        nearly("cumsum", [x], attrs, 1, 1)
        nearly("cumprod", [x], attrs, 1, 1)


def test_a_line_of_several_stretches() -> None:
    x = np.random.default_rng(8).standard_normal((2, 2500)).astype(np.float32)
    nearly("cumsum", [x], {"axis": 1}, 1, 1)
    same("cumsum", [(x * 9).astype(np.int32)], {"axis": 1, "reverse": True})
    x[1, 700] = np.nan
    nearly("cumsum", [x], {"axis": 1}, 1, 1)


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int64])
def test_recurrences_and_running_extremes(dtype: Any) -> None:
    for seed, (shape, axis) in enumerate([((3, 7, 4), 1), ((2, 9), -1)]):
        x, y = numbers(seed, shape, dtype), numbers(seed + 9, shape, dtype, nan=False)
        same("cummax", [x], {"axis": axis})
        same("cummin", [x], {"axis": axis})
        nearly("linear_recurrence", [y, y], {"axis": axis, "reverse": axis > 0}, 1, 1)


# ---- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_class_indices(dtype: Any) -> None:
    labels, attrs = np.array([0, 2, 1, -100, 2], dtype), {"classes": 3, "ignore": -100}
    same("class_index", [labels], attrs)
    for wrong in (3, -1):
        labels[3] = wrong
        run = native("class_index", [labels], attrs)
        assert f"a target is class {wrong}, and there are 3 classes" in str(run.error)
        assert run.outs[0].tolist() == [0, 2, 1, 0, 2]


# ---- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, BF16, np.bool_, np.int16, np.uint32, np.uint64])
def test_short_lines_in_order(dtype: Any) -> None:
    for seed, (shape, axis) in enumerate([((3, 7, 4), 1), ((2, 70), -1)]):
        x = numbers(seed, shape, dtype, nan=dtype is not BF16)  # NumPy has no place for a NaN of bfloat16
        if dtype is np.uint64:
            x = x * np.uint64(2**62)
        for falling in (True, False):
            same("sort", [x], {"axis": axis, "descending": falling})
            same("top_k", [x], {"k": (x.shape[axis] + 1) // 2, "axis": axis, "largest": falling})


def test_zeros_of_both_signs_are_equal() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, 0.0, -0.0, np.nan, -1e-45], np.float32)
    same("sort", [x], {"axis": 0, "descending": False})
    same("sort", [x], {"axis": 0, "descending": True})
