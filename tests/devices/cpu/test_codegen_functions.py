"""How exact the inlined functions are: units in the last place against float64 (or against libm through Python)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.ops.definition.record import find
from tests.devices.cpu.codegen_programs import buffers, native, one_op

pytest.importorskip("llvmlite")

TINY = float(np.finfo(np.float32).smallest_subnormal)


def spread(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    """Uniform, log-spaced and random-bit samples within [low, high]."""
    uniform = rng.uniform(low, high, 60_000)
    small = np.exp(rng.uniform(math.log(1e-44), math.log(max(abs(low), abs(high))), 40_000)) * rng.choice(
        [-1, 1], 40_000
    )
    with np.errstate(all="ignore"):
        x = np.concatenate([uniform, small]).astype(np.float32)
    return x[(x >= low) & (x <= high)]


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance in units in the last place of the exact value, denormals included."""
    with np.errstate(all="ignore"):
        near = np.abs(exact).astype(np.float32)
        unit = np.maximum(np.spacing(near).astype(np.float64), TINY)
    fine = np.isfinite(exact) & (np.abs(exact) < 3.4e38)
    return float((np.abs(got[fine].astype(np.float64) - exact[fine]) / unit[fine]).max())


def run(name: str, *arrays: np.ndarray) -> np.ndarray:
    inputs = [ms.Tensor(a) for a in arrays]
    found: np.ndarray = native(one_op(find(name), inputs, {}))(buffers(inputs))[0]
    return found


erf = np.vectorize(math.erf)
CASES: list[tuple[str, Any, float, float, float]] = [
    ("exp", np.exp, -104.0, 88.7, 2),
    ("log", np.log, 0.0, 3e38, 2),
    ("tanh", np.tanh, -20.0, 20.0, 4),
    ("erf", erf, -6.0, 6.0, 4),
    ("sin", np.sin, -(2.0**15), 2.0**15, 2),
    ("cos", np.cos, -(2.0**15), 2.0**15, 2),
    ("expm1", np.expm1, -20.0, 80.0, 4),
    ("log1p", np.log1p, -0.9999, 1e6, 4),
    ("exp2", np.exp2, -149.0, 127.9, 1),
    ("log2", np.log2, 0.0, 3e38, 1),
    ("log10", np.log10, 0.0, 3e38, 1),
    ("tan", np.tan, -(2.0**15), 2.0**15, 4),
    ("sinh", np.sinh, -89.0, 89.0, 1),
    ("cosh", np.cosh, -89.0, 89.0, 1),
    ("asin", np.arcsin, -1.0, 1.0, 1),
    ("acos", np.arccos, -1.0, 1.0, 1),
    ("atan", np.arctan, -3e38, 3e38, 1),
    ("asinh", np.arcsinh, -3e38, 3e38, 1),
    ("acosh", np.arccosh, 1.0, 3e38, 1),
    ("atanh", np.arctanh, -1.0, 1.0, 1),
    ("erfc", np.vectorize(math.erfc), -6.0, 10.0, 1),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -80.0, 80.0, 4),
]


@pytest.mark.parametrize("name, exact, low, high, bound", CASES, ids=[c[0] for c in CASES])
def test_ulps(name: str, exact: Any, low: float, high: float, bound: float, rng: np.random.Generator) -> None:
    x = spread(rng, low, high)
    with np.errstate(all="ignore"):
        worst = ulps(run(name, x), exact(x.astype(np.float64)))
    assert worst <= bound, f"{name}: {worst} ulp"


def test_pow_within_four_ulp(rng: np.random.Generator) -> None:
    x = np.abs(spread(rng, 0.0, 50.0))
    y = rng.uniform(-12, 12, x.size).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run("power", x, y), exact) <= 4


def test_pow_at_the_edges() -> None:
    edge = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, np.inf, -np.inf, np.nan, 1e38, 1e-40], np.float32
    )
    x, y = (a.ravel().copy() for a in np.meshgrid(edge, edge))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = run("power", x, y)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))
    np.testing.assert_allclose(got, want, rtol=5e-7, atol=1e-44)


@pytest.mark.parametrize("name, exact", [("atan2", np.arctan2), ("hypot", np.hypot)])
def test_two_operands(name: str, exact: Any, rng: np.random.Generator) -> None:
    edge = np.array([0, -0.0, 1, -1, 3, np.inf, -np.inf, np.nan, 3e38, 1e-45, -1e-38], np.float32)
    x, y = (a.ravel() for a in np.meshgrid(edge, edge))
    x, y = (np.concatenate([a, rng.standard_normal(5000).astype(np.float32)]) for a in (x, y))
    with np.errstate(over="ignore"):
        want, got = exact(x.astype(np.float64), y.astype(np.float64)).astype(np.float32), run(name, x, y)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))
    np.testing.assert_allclose(got, want, rtol=1.3e-7, atol=1e-45)


EDGES = "exp log tanh erf sin cos expm1 log1p sqrt exp2 log2 log10 tan sinh cosh asin acos atan asinh acosh atanh erfc"


@pytest.mark.parametrize("name", EDGES.split())
def test_edges(name: str) -> None:
    """Infinities, NaN, zeros and denormals."""
    x = np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45, 1e-40, 89.0, -105.0, 3.4e38, -1.0, 1.0], np.float32
    )
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(np.nan_to_num(x, posinf=0, neginf=0)) < 1e9]
    plain = {"erf": erf, "erfc": np.vectorize(math.erfc)}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        want = plain(x.astype(np.float64)).astype(np.float32)
    got = run(name, x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, rtol=3e-7, atol=1e-45)
    zeros = (want == 0) & ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))
