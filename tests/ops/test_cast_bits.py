"""Casts between floats round once, with NumPy's bits, in both modes and at both levels: all of float16, and samples of
float64 that lie where rounding twice goes wrong."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import msnb as ms
from msnb import ops

NUMPY = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def same_bits(values: np.ndarray[Any, Any], source: str, target: str, mode: int) -> None:
    """NaN may differ in its payload, nothing else may."""
    with np.errstate(all="ignore"):
        want = values.astype(NUMPY[target])
        fn = lambda t: ops.cast(t, target)
        t = ms.Tensor(values) if source != "bfloat16" else ops.cast(ms.Tensor(values.astype(np.float32)), "bfloat16")
        out = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(t)
        found = out.asnumpy().astype(NUMPY[target])
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    kind = BITS[want.dtype.itemsize]
    wrong = np.flatnonzero((found.view(kind) != want.view(kind)) & ~nan)
    assert wrong.size == 0, (source, target, values[wrong[:5]], found[wrong[:5]], want[wrong[:5]])


def doubles(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Values half-way between two halves (or bfloat16s), and beside it by less than a float32 can tell."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (halves[:-1] + halves[1:]) / 2
    brain = np.arange(0x0080, 0x7F7F, 7, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
    middle = np.r_[middle, (brain[:-1] + brain[1:]) / 2]
    beside = [middle * (1 + s * 2.0**-k) for s in (1, -1) for k in (26, 30, 40, 52)]
    special = [0.0, np.inf, np.nan, 65504.0, 65519.999999999, 65520.0, 2.0**-25, 5e-324, 1e308, 3.4e38, 3.5e38]
    plain = rng.standard_normal(20000) * 10.0 ** rng.uniform(-12, 6, 20000)
    found = np.concatenate([middle, *beside, np.array(special), plain])
    return np.r_[found, -found]


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_float64_rounds_once(mode: int, level: str, rng: np.random.Generator) -> None:
    ms.set_context(jit_level=level)
    values = doubles(rng)
    for target in ("float16", "bfloat16", "float32"):
        same_bits(values, "float64", target, mode)
        same_bits(values[:31], "float64", target, mode)  # a last part that is masked, or done one by one


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_other_floats_and_integers(mode: int, level: str, rng: np.random.Generator) -> None:
    ms.set_context(jit_level=level)
    singles = rng.integers(0, 2**32, 40000, dtype=np.uint32).view(np.float32)
    every_half = np.arange(2**16, dtype=np.uint16)
    for target in NUMPY:
        same_bits(singles, "float32", target, mode)
        same_bits(every_half.view(np.float16), "float16", target, mode)
        same_bits(every_half.view(ml_dtypes.bfloat16), "bfloat16", target, mode)
        ints = rng.integers(-(2**62), 2**62, 5000) >> rng.integers(0, 62, 5000)
        same_bits(ints, "int64", target, mode)
        same_bits(ints.astype(np.int32), "int32", target, mode)
