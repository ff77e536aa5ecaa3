"""Functions that MindSpore programs use, against NumPy, SciPy or a loop; in both modes; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import ArgumentError, AttributeValueError, DTypeError, ShapeError

SEED = 21
RNG = np.random.default_rng(SEED)


def both(fn: Any, *args: Any) -> Any:
    """The eager results, after those of a compiled call were found to be the same."""
    given = [ms.Tensor(a) for a in args]
    eager, graph = fn(*given), ms.jit(fn)(*given)
    pairs = zip(eager, graph) if isinstance(eager, tuple) else [(eager, graph)]
    for e, g in pairs:
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-12, atol=1e-14, err_msg=f"seed {SEED}")
    return tuple(e.asnumpy() for e in eager) if isinstance(eager, tuple) else eager.asnumpy()


# ---- windows and pieces ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8])
def test_windows_are_scipys(name: str, n: int) -> None:
    windows = pytest.importorskip("scipy.signal").windows
    args = (12.0,) if name == "kaiser" else ()
    for periodic in (True, False):
        have = getattr(ops, f"{name}_window")(n, periodic, dtype=ms.float64).asnumpy()
        np.testing.assert_allclose(have, getattr(windows, name)(n, *args, sym=not periodic), atol=1e-14)


def test_stft_is_the_transform_of_every_piece() -> None:
    x, w = RNG.normal(size=(2, 40)), RNG.uniform(0.5, 1, 6)
    have = both(lambda t, v: ops.stft(t, 8, 3, 6, v, center=False, return_complex=True), x, w)
    weights = np.pad(w, 1)
    want = np.stack([np.fft.rfft(x[:, k * 3 : k * 3 + 8] * weights) for k in range(11)], -1)
    np.testing.assert_allclose(have, want, atol=1e-12)
    assert ops.stft(ms.Tensor(x), 8).shape == (2, 5, 21, 2)
    with pytest.raises(ShapeError, match="at least n_fft"):
        ops.stft(ms.Tensor(x[0, :4]), 8, center=False)


# ---- linear algebra --------------------------------------------------------------------------------------------------


def test_factors_solve() -> None:
    a = RNG.normal(size=(2, 4, 4)) + 3 * np.eye(4)
    b, spd = RNG.normal(size=(2, 4, 3)), a @ np.swapaxes(a, -1, -2)
    want = np.linalg.solve(spd, b)
    np.testing.assert_allclose(both(lambda m, r: ops.cholesky_solve(r, ops.cholesky(m)), spd, b), want, 1e-9)
    np.testing.assert_allclose(both(lambda m, r: ops.cholesky_solve(r, ops.cholesky(m).mT, True), spd, b), want, 1e-9)
    np.testing.assert_allclose(both(lambda m: ops.cholesky_inverse(ops.cholesky(m)), spd), np.linalg.inv(spd), 1e-9)
    np.testing.assert_allclose(both(lambda m, r: ops.lu_solve(r, *ops.lu_factor(m)), spd, b), want, 1e-9)
    np.testing.assert_allclose(both(ops.matrix_solve, spd, b), want, 1e-9)


def test_lu_is_scipys_and_has_a_gradient() -> None:
    linalg = pytest.importorskip("scipy.linalg")
    a = RNG.normal(size=(5, 5))
    factors, pivots = both(ops.lu_factor, a)
    want = linalg.lu_factor(a)
    np.testing.assert_allclose(factors, want[0], atol=1e-12)
    np.testing.assert_array_equal(pivots, want[1])
    p, low, high = both(ops.lu_unpack, factors, pivots)
    np.testing.assert_allclose(p @ low @ high, a, atol=1e-12)
    det = ms.grad(lambda t: ops.lu_factor(t)[0].diagonal().abs().log().sum())(ms.Tensor(a))
    np.testing.assert_allclose(det.asnumpy(), np.linalg.inv(a).T, rtol=1e-8)


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 5), (1, 1)])
def test_reflections_are_lapacks(shape: tuple[int, int]) -> None:
    lapack = pytest.importorskip("scipy.linalg.lapack")
    a = RNG.normal(size=shape)
    factors, tau = both(ops.geqrf, a)
    want = lapack.dgeqrf(a)
    np.testing.assert_allclose(factors, want[0], atol=1e-12)
    np.testing.assert_allclose(tau, want[1], atol=1e-12)
    full, x = both(ops.ormqr, factors, tau, np.eye(shape[0])), RNG.normal(size=(shape[0], 2))
    np.testing.assert_allclose(full @ full.T, np.eye(shape[0]), atol=1e-12)
    if shape[0] >= shape[1]:
        np.testing.assert_allclose(both(ops.orgqr, factors, tau), full[:, : shape[1]], atol=1e-12)
    np.testing.assert_allclose(both(lambda f, t, v: ops.ormqr(f, t, v, True, True), factors, tau, x), full.T @ x, 1e-9)
    np.testing.assert_allclose(both(lambda f, t, v: ops.ormqr(f, t, v.mT, False), factors, tau, x), x.T @ full, 1e-9)


@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 1, 3, 3), (0, 3, 2), (2, 3, 0)])
def test_reflections_of_many_matrices(shape: tuple[int, ...]) -> None:
    a = RNG.normal(size=shape)
    factors, tau = both(ops.geqrf, a)
    assert factors.shape == shape and tau.shape == (*shape[:-2], min(shape[-2:]))
    for at in np.ndindex(shape[:-2]):
        one = both(ops.geqrf, a[at])
        np.testing.assert_allclose(factors[at], one[0], atol=1e-13)
        np.testing.assert_allclose(tau[at], one[1], atol=1e-13)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, "C"])
def test_triangles_are_solved_as_scipy_does(lower: bool, trans: Any) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    a, b = RNG.normal(size=(4, 4)) + 3 * np.eye(4), RNG.normal(size=4)
    for unit in (False, True):
        have = both(lambda t, v, u=unit: ops.solve_triangular(t, v, trans, lower, u), a, b)
        np.testing.assert_allclose(have, linalg.solve_triangular(a, b, trans, lower, unit), rtol=1e-9)


def test_solvers_refuse() -> None:
    wide = ops.ones((2, 3))
    for fn in (ops.cholesky_inverse, ops.lu_factor, lambda t: ops.solve_triangular(t, t)):
        with pytest.raises(ShapeError, match="square"):
            fn(wide)
    with pytest.raises(ShapeError, match="geqrf needs a matrix"):
        ops.geqrf(ops.ones((3,)))
    with pytest.raises(DTypeError, match="geqrf needs real floating-point numbers"):
        ops.geqrf(ops.ones((3, 2), ms.int32))
    with pytest.raises(AttributeValueError, match="trans is"):
        ops.solve_triangular(ops.ones((2, 2)), ops.ones((2,)), "H")


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_functions_of_integers_are_numpys() -> None:
    x, y = RNG.integers(-50, 50, 40), RNG.integers(1, 9, 40)
    np.testing.assert_array_equal(both(ops.gcd, x, y), np.gcd(x, y))
    np.testing.assert_array_equal(both(ops.lcm, x, y), np.lcm(x, y))
    np.testing.assert_array_equal(both(ops.truncate_div, x, y), np.trunc(x / y))
    np.testing.assert_array_equal(both(ops.truncate_mod, x, y), np.fmod(x, y))
    small = x.astype(np.int8)
    np.testing.assert_array_equal(both(ops.population_count, small), [bin(v & 255).count("1") for v in small.tolist()])
    with pytest.raises(DTypeError, match="needs integers"):
        ops.population_count(ms.Tensor([1.0]))


def test_questions_about_numbers() -> None:
    x = ms.Tensor([1.0, np.inf, -np.inf, np.nan])
    assert ops.isposinf(x).tolist() == [False, True, False, False]
    assert ops.isneginf(x).tolist() == [False, False, True, False]
    assert ops.isreal(ms.Tensor([1 + 0j, 1j])).tolist() == [True, False] and ops.isreal(x).tolist() == [True] * 4
    assert bool(ops.is_nonzero(ms.Tensor([[2]])))
    assert ops.nextafter(ms.Tensor([1.0]), ms.Tensor([2.0])).item() == np.nextafter(np.float32(1), np.float32(2))
    np.testing.assert_allclose(ops.ldexp(ms.Tensor([3.0]), ms.Tensor([2])).tolist(), [12.0])
    np.testing.assert_allclose(ops.polar(ms.Tensor([2.0]), ms.Tensor([np.pi / 2])).asnumpy(), [2j], atol=1e-6)
    assert ops.view_as_real(ms.Tensor([1 + 2j])).tolist() == [[1.0, 2.0]]
    with pytest.raises(ShapeError, match="one element"):
        ops.is_nonzero(x)


def test_values_of_many_numbers() -> None:
    x = RNG.normal(size=(5, 4))
    low, high = both(lambda t: ops.aminmax(t, axis=1), x)
    np.testing.assert_array_equal(low, x.min(1))
    np.testing.assert_array_equal(high, x.max(1))
    pairs = [np.linalg.norm(x[i] - x[j]) for i in range(5) for j in range(i + 1, 5)]
    np.testing.assert_allclose(both(ops.pdist, x), pairs)
    small = both(lambda t: ops.renorm(t, 2, 0, 1.0), x)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(small, np.where(norms > 1, x / norms, x), rtol=1e-6)
    ids = np.array([0, 2, 0, 2, 2])
    have = both(lambda t, i: ops.unsorted_segment_prod(t, i, 3), x, ids)
    np.testing.assert_allclose(have, [x[ids == k].prod(0) for k in range(3)])


def test_consecutive_repetitions_go() -> None:
    x = np.array([3, 3, 1, 1, 1, 3])
    values, inverse, counts = both(lambda t: ops.unique_consecutive(t, True, True), x)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([3, 1, 3], [0, 0, 1, 1, 1, 2], [2, 3, 1])
    rows = np.array([[1, 2], [1, 2], [2, 1]])
    np.testing.assert_array_equal(both(lambda t: ops.unique_consecutive(t, axis=0), rows), rows[1:])


def test_drawn_numbers_have_their_distribution() -> None:
    ms.set_seed(SEED)
    x = ops.laplace((20_000,), 1.0, 2.0).asnumpy()
    assert abs(x.mean() - 1) < 0.1 and abs(np.abs(x - 1).mean() - 2) < 0.1
    assert ops.random_categorical(ms.Tensor([[0.0, 50.0]]), 5).tolist() == [[1] * 5]
    assert ops.laplace((2, 3), ms.Tensor(1.0), ms.Tensor(1.0), seed=5).shape == (2, 3)
    assert ops.random_categorical(ms.Tensor([[0.0, 50.0]]), 5, seed=3).tolist() == [[1] * 5]


# ---- parts written ---------------------------------------------------------------------------------------------------


def test_parts_are_written_into_copies() -> None:
    x, v = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 2))
    want = x.copy()
    want[:, 1:5:2] = v
    np.testing.assert_array_equal(both(lambda t, s: ops.slice_scatter(t, s, 1, 1, 5, 2), x, v), want)
    want = x.copy()
    want[:, -1] = v[:, 0]
    np.testing.assert_array_equal(both(lambda t, s: ops.select_scatter(t, s[:, 0], 1, -1), x, v), want)
    want = x.copy()
    want[np.arange(4), np.arange(1, 5)] = v[:, 0]
    np.testing.assert_array_equal(both(lambda t, s: ops.diagonal_scatter(t, s[:, 0], 1), x, v), want)
    rows = RNG.normal(size=(2, 5))
    for name, sign in (("inplace_add", 1), ("inplace_sub", -1)):
        want = x.copy()
        want[[0, 2]] += sign * rows
        np.testing.assert_allclose(both(lambda t, s, n=name: getattr(ops, n)(t, s, (0, 2)), x, rows), want)
    slope = ms.grad(lambda t: (ops.slice_scatter(t, ms.Tensor(v), 1, 1, 5, 2) ** 2).sum())(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(slope, 2 * x * np.array([1, 0, 1, 0, 1]))


def test_parts_that_do_not_fit_are_refused() -> None:
    x = ops.zeros((4, 5))
    with pytest.raises(ShapeError, match="needs src of the shape"):
        ops.slice_scatter(x, ops.ones((3, 5)), 0, 0, 2)
    with pytest.raises(ShapeError, match="slice's shape"):
        ops.select_scatter(x, ops.ones((4,)), 0, 1)
    with pytest.raises(ShapeError, match="diagonal_scatter needs"):
        ops.diagonal_scatter(x, ops.ones((5,)))
    with pytest.raises(AttributeValueError, match="two axes"):
        ops.reverse_sequence(x, ms.Tensor([1] * 4), 0, 0)
    with pytest.raises(AttributeValueError, match="has no 4 elements to mirror"):
        ops.mirror_pad(ops.ones((4,)), [[4, 0]])
    with pytest.raises(AttributeValueError, match="one length"):
        ops.strided_slice(x, (0,), (1, 2), (1,))


def test_orders_and_mirrors() -> None:
    x, lengths = RNG.normal(size=(3, 4, 2)), np.array([0, 2, 4])
    want = x.copy()
    for i, n in enumerate(lengths):
        want[i, :n] = x[i, :n][::-1]
    np.testing.assert_array_equal(both(lambda t, s: ops.reverse_sequence(t, s, 1), x, lengths), want)
    for mode in ("REFLECT", "SYMMETRIC"):
        have = both(lambda t, m=mode: ops.mirror_pad(t, ((1, 0), (2, 1), (0, 1)), m), x)
        np.testing.assert_array_equal(have, np.pad(x, ((1, 0), (2, 1), (0, 1)), mode.lower()))
    part = both(lambda t: ops.strided_slice(t, (0, 3, 0), (3, 0, 1), (2, -1, 1), 1, 0, 0, 0, 4), x)
    np.testing.assert_array_equal(part, x[:3:2, 3:0:-1, 0])


def test_blocks_go_to_the_batch_and_back() -> None:
    x = RNG.normal(size=(2, 3, 4, 6))
    moved = both(lambda t: ops.space_to_batch_nd(t, [2, 3], [[0, 0], [0, 0]]), x)
    np.testing.assert_array_equal(moved[:2], x[:, :, ::2, ::3])
    np.testing.assert_array_equal(moved[-2:], x[:, :, 1::2, 2::3])
    back = both(lambda t: ops.batch_to_space_nd(ops.space_to_batch_nd(t, 2, [[1, 1], [2, 0]]), 2, [[1, 1], [2, 0]]), x)
    np.testing.assert_array_equal(back, x)
    with pytest.raises(AttributeValueError, match="do not divide"):
        ops.space_to_batch_nd(ms.Tensor(x), 5, [[0, 0], [0, 0]])


# ---- pooling ---------------------------------------------------------------------------------------------------------


def test_norms_over_windows() -> None:
    x = RNG.normal(size=(2, 3, 7, 8))
    have = both(lambda t: ops.lp_pool2d(t, 3, (2, 3), 2), x)
    at, p = (0, 2, 4), x**3
    want = [[np.cbrt(p[..., i : i + 2, j : j + 3].sum((-1, -2))) for j in at] for i in at]
    np.testing.assert_allclose(have, np.moveaxis(want, (0, 1), (2, 3)))
    assert ops.lp_pool1d(ops.ones((1, 5)), 1, 2, 2, True).tolist() == [[2.0, 2.0, 1.0]]
    with pytest.raises(ShapeError, match="does not fit"):
        ops.lp_pool1d(ops.ones((1, 2)), 2, 3)


def test_adaptive_maxima_and_their_places() -> None:
    x = RNG.normal(size=(2, 3, 5, 7))
    values, places = both(lambda t: ops.adaptive_max_pool2d(t, (3, None), True), x)
    for i in range(3):
        rows = slice(i * 5 // 3, -(-(i + 1) * 5 // 3))
        np.testing.assert_array_equal(values[..., i, :], x[..., rows, :].max(-2))
    there = np.take_along_axis(x.reshape(2, 3, 35), places.reshape(2, 3, 21), -1)
    np.testing.assert_array_equal(there.reshape(values.shape), values)
    assert ops.adaptive_max_pool3d(ops.ones((1, 2, 4, 4, 4)), 2).shape == (1, 2, 2, 2, 2)
    slope = ms.grad(lambda t: ops.adaptive_max_pool1d(t, 1).sum())(ms.Tensor([[1.0, 3.0, 2.0]]))
    assert slope.tolist() == [[0.0, 1.0, 0.0]]


def test_maxima_go_back_to_their_places() -> None:
    x = RNG.normal(size=(2, 3, 4, 6))
    back = both(lambda t: ops.max_unpool2d(*ops.adaptive_max_pool2d(t, (2, 3), True), 2), x)
    windows = x.reshape(2, 3, 2, 2, 3, 2)
    kept = windows * (windows == windows.max((3, 5), keepdims=True))
    np.testing.assert_array_equal(back, kept.reshape(x.shape))
    assert ops.max_unpool1d(ops.ones((1, 2)), ms.Tensor([[0, 2]]), 2, output_size=(1, 5)).shape == (1, 5)
    with pytest.raises(AttributeValueError, match="no size that pools"):
        ops.max_unpool1d(ops.ones((1, 2)), ms.Tensor([[0, 2]]), 2, output_size=(1, 9))


def test_responses_are_normalized_by_neighbouring_channels() -> None:
    x = RNG.normal(size=(2, 5, 3, 3))
    squares = np.stack([(x[:, max(0, c - 1) : c + 2] ** 2).sum(1) for c in range(5)], 1)
    np.testing.assert_allclose(both(lambda t: ops.lrn(t, 1, 2.0, 0.5, 0.75), x), x / (2 + 0.5 * squares) ** 0.75)


def test_operators_take_their_attributes_first() -> None:
    x = ms.Tensor(RNG.normal(size=(1, 2, 4, 4)))
    np.testing.assert_array_equal(ops.LRN(1, 2.0)(x).asnumpy(), ops.lrn(x, 1, 2.0).asnumpy())
    np.testing.assert_array_equal(ops.Renorm(2, 1, 0.5)(x).asnumpy(), ops.renorm(x, 2, 1, 0.5).asnumpy())
    np.testing.assert_array_equal(ops.MirrorPad("SYMMETRIC")(x[0, 0], [[1, 0], [0, 1]]).asnumpy(),
                                  np.pad(x[0, 0].asnumpy(), [[1, 0], [0, 1]], "symmetric"))  # fmt: skip
    values, places = ops.adaptive_max_pool2d(x, 2, True)
    assert ops.MaxUnpool2D(2)(values, places).shape == x.shape
    assert ops.ReverseSequence(1)(ms.Tensor([[1, 2, 3]]), ms.Tensor([2])).tolist() == [[2, 1, 3]]
    assert ops.BesselI0()(ms.Tensor([0.0])).tolist() == [1.0]
    with pytest.raises(ArgumentError, match="needs p"):
        ops.Mvlgamma()


def test_the_next_number_has_slope_one(mode: int) -> None:
    x, y = ms.Tensor([[1.0], [-2.0]]), ms.Tensor([1.0, 3.0])
    by_x, by_y = ms.grad(lambda x, y: (ms.ops.nextafter(x, y) * 3).sum(), (0, 1))(x, y)
    assert by_x.tolist() == [[6], [6]] and by_y.tolist() == [0, 0]
