"""Choices, sets, functions along axes, polynomials and indices of ``msnb.numpy`` against NumPy's; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb.base.errors import ArgumentError, AttributeValueError, ShapeError

SEED = 22
RNG = np.random.default_rng(SEED)
X = RNG.normal(size=(3, 4)).astype(np.float32)
ROW, OTHER = RNG.integers(-4, 5, 9), RNG.integers(-4, 5, 4)


def value(x: Any) -> Any:
    return tuple(map(value, x)) if isinstance(x, (tuple, list)) else x.asnumpy() if isinstance(x, ms.Tensor) else x


CASES: dict[str, Any] = {
    "choose": lambda n, a: n.choose(a(ROW), [a(ROW), a(-ROW), a(ROW * 2)], mode="clip"),
    "choose, wrapped": lambda n, a: n.choose(a(ROW), [a(ROW), a(-ROW), a(ROW * 2)], mode="wrap"),
    "select": lambda n, a: n.select([a(ROW < 0), a(ROW < 3)], [a(ROW), a(ROW * 10)], 7),
    "piecewise": lambda n, a: n.piecewise(a(X), [a(X < 0), a(X > 1)], [lambda t: -t, 5.0, lambda t: t * t]),
    "intersect1d": lambda n, a: n.intersect1d(a(ROW), a(OTHER)),
    "setdiff1d": lambda n, a: n.setdiff1d(a(ROW), a(OTHER)),
    "array_equiv": lambda n, a: (n.array_equiv(a(ROW), a(ROW)), n.array_equiv(a(ROW), a(OTHER))),
    "apply_along_axis": lambda n, a: n.apply_along_axis(lambda r: r[:2] * r[-1], 0, a(X)),
    "apply_over_axes": lambda n, a: n.apply_over_axes(lambda t, axis: t.sum(axis), a(X), (0, 1)),
    "unwrap": lambda n, a: n.unwrap(a(X * 4), axis=0),
    "ediff1d": lambda n, a: n.ediff1d(a(ROW), a(OTHER), a(OTHER)),
    "correlate": lambda n, a: tuple(n.correlate(a(ROW), a(OTHER), m) for m in ("full", "same", "valid")),
    "polyadd": lambda n, a: n.polyadd(a(ROW), a(OTHER)),
    "polysub": lambda n, a: n.polysub(a(OTHER), a(ROW)),
    "polymul": lambda n, a: (n.polymul(a(ROW), a(OTHER)), n.polymul(3, a(ROW))),
    "ravel_multi_index": lambda n, a: n.ravel_multi_index((a(OTHER), a(OTHER + 2)), (3, 4), mode="wrap"),
    "ravel_multi_index, clipped": lambda n, a: n.ravel_multi_index((a(ROW), a(ROW)), (3, 4), "clip", "F"),
    "histogram_bin_edges": lambda n, a: (n.histogram_bin_edges(a(X), 3), n.histogram_bin_edges(a(X), 2, (0, 1))),
    "histogramdd": lambda n, a: (n.histogramdd(a(X), (2, 3, 1, 2))[0], *n.histogramdd(a(X), (2, 3, 1, 2))[1]),
    "histogramdd, weighted": lambda n, a: n.histogramdd(a(X.T[:, :2]), 2, weights=[1, 2, 3, 4], density=True),
    "histogramdd, range": lambda n, a: n.histogramdd(a(X[:, :2]), 3, ((-1, 1), (-2, 0.5))),
    "histogram2d": lambda n, a: n.histogram2d(a(X[0]), a(X[1]), [2, a(np.array([-3.0, 0.0, 3.0]))]),
    "histogram2d, borders": lambda n, a: n.histogram2d(a(X[0]), a(X[1]), a(np.array([-3.0, -1.0, 0.0, 3.0]))),
    "bitwise_not": lambda n, a: n.bitwise_not(a(ROW)),
    "polyder": lambda n, a: n.polyder(a(ROW), 2),
    "polyint": lambda n, a: n.polyint(a(ROW), 2, [1, 2]),
    "diag_indices": lambda n, a: n.diag_indices(3, 3),
    "tril_indices_from": lambda n, a: n.tril_indices_from(a(X), 1),
    "triu_indices_from": lambda n, a: n.triu_indices_from(a(X), -1),
    "ix_": lambda n, a: a(X)[n.ix_(a(np.array([0, 2])), a(np.array([1, 3])))],
    "unravel_index": lambda n, a: n.unravel_index(a(np.array([5, 23])), (2, 3, 4)),
    "bartlett": lambda n, a: n.bartlett(7),
    "gcd": lambda n, a: (n.gcd(a(ROW), a(ROW + 2)), n.lcm(a(ROW), a(ROW + 2))),
    "fft": lambda n, a: n.fft.fft(a(X), 6, axis=0),
    "rfft2": lambda n, a: n.fft.rfft2(a(X), axes=(0, 1)),
    "irfftn": lambda n, a: n.fft.irfftn(a(X)),
    "fftshift": lambda n, a: n.fft.fftshift(a(X), axes=1),
}


@pytest.mark.parametrize("name", CASES)
def test_is_numpys(name: str) -> None:
    have, want = value(CASES[name](mnp, ms.Tensor)), CASES[name](np, np.asarray)
    pairs = zip(have, want, strict=True) if isinstance(want, tuple) else [(have, want)]
    for h, w in pairs:
        np.testing.assert_allclose(h, w, rtol=1e-5, atol=1e-5, err_msg=f"seed {SEED}")


def test_they_compile() -> None:
    compiled = ("choose", "select", "unwrap", "correlate", "polyder", "fft",
                "polymul", "histogram_bin_edges", "histogramdd")
    for name in compiled:
        case = CASES[name]
        have = ms.jit(lambda t, case=case: case(mnp, lambda x: ms.Tensor(x) + t))(ms.Tensor(0))
        want = case(mnp, ms.Tensor)
        for h, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (have, want))):
            np.testing.assert_allclose(h.asnumpy(), w.asnumpy(), rtol=1e-5, atol=1e-5)


def test_they_refuse() -> None:
    with pytest.raises(AttributeValueError, match="a choice for each condition"):
        mnp.select([], [])
    with pytest.raises(AttributeValueError, match="mode is 'clip' or 'wrap'"):
        mnp.choose(ms.Tensor([0]), [ms.Tensor([1])], mode="raise")
    with pytest.raises(AttributeValueError, match="mode is 'full'"):
        mnp.correlate([1.0], [1.0], "all")
    with pytest.raises(ShapeError, match="needs one axis"):
        mnp.polyadd([[1.0]], [1.0])
    with pytest.raises(ShapeError, match="4 axes need as many bins and ranges, got 2 and 4"):
        mnp.histogramdd(ms.Tensor(X), (2, 3))
    with pytest.raises(ShapeError, match="a row of borders"):
        mnp.histogram_bin_edges(ms.Tensor(X), "auto")
    with pytest.raises(ShapeError, match="12 numbers need as many weights, got 1"):
        mnp.histogram_bin_edges(ms.Tensor(X), 2, weights=[1.0])
    with pytest.raises(AttributeValueError, match=r"range is \(low, high\)"):
        mnp.histogram(ms.Tensor(X), 2, (1, 0))
    with pytest.raises(ShapeError, match="2 axes need as many arrays, got 3"):
        mnp.ravel_multi_index((1, 2, 3), (4, 5))
    with pytest.raises(AttributeValueError, match="mode is 'clip' or 'wrap'"):
        mnp.ravel_multi_index((1, 2), (4, 5), "raise")
    with pytest.raises(ShapeError, match="needs a matrix"):
        mnp.tril_indices_from([1.0])
    with pytest.raises(ArgumentError, match="as many functions"):
        mnp.piecewise(2, True, [1, 2, 3])


def test_an_array_made_of_a_tensor_is_another_one(mode: int) -> None:
    def fn(x: Any) -> Any:
        made, same, cast = mnp.array(x), mnp.asarray(x), mnp.array(x, x.dtype)
        made[0], cast[1] = 5, 6
        return x, made, same, cast

    x = ms.Tensor([1, 2])
    found = ms.jit(fn)(x) if mode == ms.GRAPH_MODE else fn(x)
    assert [t.tolist() for t in found] == [[1, 2], [5, 2], [1, 2], [1, 6]]
    assert x.tolist() == [1, 2] and mnp.array(x, copy=False) is x is mnp.asarray(x, ms.int64)


def test_forms_that_are_numpys(mode: int) -> None:
    x = np.arange(24).reshape(2, 3, 4) ** 2 % 7
    t = ms.Tensor(x)
    pairs = [
        (mnp.diff(t, 0, append=3), np.diff(x, 0, append=3)), (mnp.diff(t, 2, prepend=6), np.diff(x, 2, prepend=6)),
        (mnp.roll(t, (4,), [0, 0, 1]), np.roll(x, (4,), [0, 0, 1])), (mnp.roll(t, 3, (0, 2)), np.roll(x, 3, (0, 2))),
        (mnp.convolve([1, 2, 3], 2), np.convolve([1, 2, 3], 2)), (mnp.correlate(3, [2, 1]), np.correlate([3], [2, 1])),
        (mnp.convolve([1, 2, 3], [4, 5]), np.convolve([1, 2, 3], [4, 5])),
        (mnp.polyadd(3, [1, 2]), np.polyadd(3, [1, 2])), (mnp.polysub([1, 2], 3), np.polysub([1, 2], 3)),
        (mnp.piecewise(t[1, 1], t[1, 1] > 3, [lambda v: v * 2, -1]),
         np.piecewise(x[1, 1], x[1, 1] > 3, [lambda v: v * 2, -1])),
        (mnp.piecewise(2, True, [lambda v: v - 1]), np.piecewise(2, True, [lambda v: v - 1])),
        *zip(mnp.intersect1d(t, t[1] + 1, return_indices=True), np.intersect1d(x, x[1] + 1, return_indices=True)),
        *((window(m), like(m)) for m in (-2, 0, 1, 5) for window, like in (
            (mnp.bartlett, np.bartlett), (mnp.hamming, np.hamming), (mnp.blackman, np.blackman))),
    ]  # fmt: skip
    for have, want in pairs:
        assert have.shape == want.shape and have.dtype.is_float == (want.dtype.kind == "f")
        np.testing.assert_allclose(have.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_a_first_value_is_one_number() -> None:
    for reduce in (mnp.sum, mnp.prod, mnp.amax, mnp.amin):
        with pytest.raises(TypeError, match="initial is one number"):
            reduce(ms.Tensor([1.0, 2.0]), initial=[1.0, 2.0])
    with pytest.raises(TypeError, match="arange needs numbers"):
        mnp.arange([1])
