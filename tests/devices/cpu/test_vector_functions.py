"""Functions that are vector code now: remainders of floats to the last bit, erfinv, lgamma, extremes and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

pytest.importorskip("llvmlite")
special = pytest.importorskip("scipy.special")
COUNT = 70_000  # more than eager mode leaves to NumPy


def pairs(dtype: Any, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Operands: plain ones, near multiples, of all sizes, zeros and infinities, any bits."""
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    n = COUNT
    whole = rng.integers(-50, 50, n) * 0.1
    any_bits = [rng.integers(0, np.iinfo(bits).max, n, dtype=bits).view(dtype) for _ in range(2)]
    edges = [rng.choice([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40], n) for _ in range(2)]
    wide = [np.exp(rng.normal(size=n) * 20) for _ in range(2)]
    plain = rng.normal(size=n), rng.normal(size=n)
    with np.errstate(all="ignore"):
        near = whole, (whole.astype(dtype) / rng.integers(1, 1000, n)).astype(dtype)
        both = plain, near, wide, edges, any_bits
        return [(np.asarray(a).astype(dtype), np.asarray(b).astype(dtype)) for a, b in both]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_remainders_are_numpys_to_the_last_bit(name: str, dtype: Any, mode: str, rng: np.random.Generator) -> None:
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "fmod": ops.fmod, "remainder": lambda a, b: a % b, "floor_divide": lambda a, b: a // b,
    }  # fmt: skip
    run = ms.jit(ways[name])
    for a, b in pairs(dtype, rng):
        with np.errstate(all="ignore"), ms.set_context(jit_level="O1"):
            wanted = getattr(np, name)(a, b)
            for found in (way(ms.Tensor(a), ms.Tensor(b)).asnumpy() for way in (ways[name], run)):
                np.testing.assert_array_equal(found, wanted)
                known = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


def units_off(found: Any, wanted: Any) -> Any:
    """The largest error in units of the last place of float32."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite].astype(np.float32))
    return (np.abs(found[finite] - wanted[finite]) / np.spacing(np.abs(wanted[finite].astype(np.float32)))).max()


def test_the_inverse_of_erf_rounds_nearly_once(mode: str, rng: np.random.Generator) -> None:
    near_one, tiny = 1 - np.exp(-rng.uniform(0, 17, COUNT)), np.exp(-rng.uniform(0, 80, COUNT))
    ends = [0.0, -0.0, 1.0, -1.0, 2.0, np.nan, np.inf, 1 - 2**-24]
    x = np.concatenate([rng.uniform(-1, 1, COUNT), near_one, tiny, ends]).astype(np.float32)
    with ms.set_context(jit_level="O1"):
        for way in (ops.erfinv, ms.jit(ops.erfinv)):
            assert units_off(way(ms.Tensor(x)).asnumpy(), special.erfinv(x.astype(np.float64))) < 0.6


def test_lgamma_keeps_its_digits_at_its_zeros(mode: str, rng: np.random.Generator) -> None:
    roots = np.concatenate([k + rng.normal(size=COUNT // 2) * 1e-3 for k in (1.0, 2.0)])
    ends = [0.0, -0.0, -1.0, -5.0, 1.0, 2.0, np.nan, np.inf, -0.5, 1e-45]
    x = np.concatenate([rng.uniform(-20, 50, COUNT), np.exp(rng.uniform(-80, 80, COUNT)), roots, ends])
    x = x.astype(np.float32)
    want = special.gammaln(x.astype(np.float64))
    finite = np.isfinite(want)
    near = np.spacing(np.abs(want[finite]).astype(np.float32)) + 1e-13  # digits of float64 are left at roots below 0
    with ms.set_context(jit_level="O1"):
        for way in (ops.lgamma, ms.jit(ops.lgamma)):
            found = way(ms.Tensor(x)).asnumpy()
            np.testing.assert_array_equal(found[~finite], want[~finite].astype(np.float32))
            assert (np.abs(found[finite] - want[finite]) <= near).all()
        assert ops.lgamma(ms.Tensor([-np.inf])).tolist() == [np.inf]


def test_functions_without_code_in_double_precision_spoil_no_group(rng: np.random.Generator) -> None:
    x = rng.uniform(0.1, 0.9, (50, 100))
    with ms.set_context(jit_level="O1"):
        compiled = ms.jit(lambda t: (ops.erfinv(t * 2 - 1) + ops.lgamma(t)) * ops.exp(t) + 1)
        found = compiled(ms.Tensor(x)).asnumpy()
        steps = [str(step) for step in compiled.versions[0].compiled.executable.host_steps]
    wanted = (special.erfinv(x * 2 - 1) + special.gammaln(x)) * np.exp(x) + 1
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    assert sorted(steps) == ["erfinv", "lgamma"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_rows(dtype: Any, mode: str, rng: np.random.Generator) -> None:
    x = np.exp(rng.normal(size=(40, 333)) / 16).astype(dtype)  # the product of all stays a normal number
    with ms.set_context(jit_level="O1"):
        for axis in (None, 0, 1):
            found = ops.prod(ms.Tensor(x), axis).asnumpy()
            np.testing.assert_allclose(found, np.prod(x.astype(np.float64), axis=axis).astype(dtype), rtol=1e-4)
        x[3, 5] = 0
        assert ops.prod(ms.Tensor(x), 1).asnumpy()[3] == 0


def test_a_loss_of_log_probabilities_reads_the_class_alone(mode: str) -> None:
    with np.errstate(divide="ignore"):
        x = np.log(np.array([[0.25, 0.75, 0.0], [0.5, 0.0, 0.5], [0.1, 0.2, 0.7]], np.float32))
    target, weight = ms.Tensor([1, -100, 2]), ms.Tensor([1.0, 2.0, 3.0])
    found = ops.nll_loss(ms.Tensor(x), target, weight)
    np.testing.assert_allclose(found.item(), -(2 * x[0, 1] + 3 * x[2, 2]) / 5, rtol=1e-6)
    slope = ms.grad(lambda t: ops.nll_loss(t, target, weight))(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(slope, [[0, -0.4, 0], [0, 0, 0], [0, 0, -0.6]], rtol=1e-6)
