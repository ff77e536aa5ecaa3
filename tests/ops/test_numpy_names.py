"""`msnb.numpy` is NumPy: one expression, once with each, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp

Case = Callable[[Any, Any, Any], Any]

# x is [3, 4] of floats, n a row of five small ints
CASES: dict[str, Case] = {
    "array": lambda np, x, n: np.array([[1, 2], [3, 4]]) * 2,
    "array_ndmin": lambda np, x, n: np.array(3.5, ndmin=2),
    "full": lambda np, x, n: np.full((2, 3), 7) + np.zeros(3) + np.ones((2, 1)),
    "likes": lambda np, x, n: np.full_like(x, 2.0) + np.ones_like(x) + np.zeros_like(x),
    "arange": lambda np, x, n: np.arange(5) + np.arange(1, 11, 2),
    "arange_floats": lambda np, x, n: np.arange(1.0, 3.0, 0.5),
    "linspace": lambda np, x, n: np.linspace(0, 2, 5),
    "linspace_open": lambda np, x, n: np.linspace(0, 2, 5, endpoint=False),
    "logspace": lambda np, x, n: np.logspace(0, 2, 3),
    "geomspace": lambda np, x, n: np.geomspace(1, 8, 4),
    "eye": lambda np, x, n: np.eye(3, 4, k=1) + np.tri(3, 4),
    "diag": lambda np, x, n: np.diag(np.diag(x[:, :3])) + np.diagflat(n[:3]),
    "meshgrid": lambda np, x, n: np.meshgrid(n, x[0]),
    "meshgrid_sparse": lambda np, x, n: np.meshgrid(n, x[0], sparse=True, indexing="ij"),
    "mgrid": lambda np, x, n: np.mgrid[0:2, 0:3],
    "mgrid_count": lambda np, x, n: np.mgrid[0:1:3j],
    "ogrid": lambda np, x, n: list(np.ogrid[0:2, 0:3]),
    "indices": lambda np, x, n: np.indices((2, 3)),
    "sum": lambda np, x, n: np.sum(x, axis=1, keepdims=True) + np.sum(n, initial=3),
    "sum_where": lambda np, x, n: np.sum(x, where=x > 0),
    "prod": lambda np, x, n: np.prod(x, axis=0) + np.prod(n, initial=2),
    "max": lambda np, x, n: np.max(x, axis=(0, 1)) + np.amax(x, 0, keepdims=True) - np.min(x, initial=-5.0),
    "max_where": lambda np, x, n: np.max(x, axis=1, where=x > 0, initial=0.0),
    "mean": lambda np, x, n: np.mean(x, 0) + np.std(x, 0) + np.var(x, 0, ddof=1) + np.mean(n),
    "nans": lambda np, x, n: [f(np.where(np.eye(3, 4), np.nan, x), axis=0) for f in (np.nanmax, np.nanmin)],
    "nan_sums": lambda np, x, n: [
        f(np.where(np.eye(3, 4), np.nan, x)) for f in (np.nansum, np.nanmean, np.nanvar, np.nanstd)
    ],
    "cumsum": lambda np, x, n: np.cumsum(x) + np.cumprod(n[:1]),
    "cumsum_axis": lambda np, x, n: np.cumsum(x, axis=1) + np.cumprod(x, axis=0),
    "repeat": lambda np, x, n: np.repeat(x, 2),
    "repeat_axis": lambda np, x, n: np.repeat(x, 2, axis=1),
    "concatenate": lambda np, x, n: np.concatenate((x, x + 1), axis=1),
    "concatenate_flat": lambda np, x, n: np.concatenate((x, n), axis=None),
    "append": lambda np, x, n: np.append(x, [[9.0, 8.0, 7.0, 6.0]], axis=0),
    "stack": lambda np, x, n: np.stack([x, x * 2], axis=1) - np.vstack([x, x])[:1],
    "split": lambda np, x, n: np.split(x, 2, axis=1),
    "split_at": lambda np, x, n: np.split(n, [1, 3]),
    "array_split": lambda np, x, n: np.array_split(n, 3),
    "rollaxis": lambda np, x, n: np.rollaxis(x[None], 2) + np.rollaxis(x[None], 2, 0),
    "rollaxis_behind": lambda np, x, n: np.rollaxis(x[None], 0, 2),
    "turned": lambda np, x, n: np.flip(x) + np.flip(x, 0) + np.roll(x, 1) + np.roll(x, 1, axis=0),
    "rot90": lambda np, x, n: np.rot90(x),
    "pad": lambda np, x, n: np.pad(n, (1, 2), constant_values=4),
    "pad_pairs": lambda np, x, n: np.pad(x, ((1, 0), (0, 2))),
    "pad_reflect": lambda np, x, n: np.pad(x, 1, mode="reflect"),
    "pad_wrap": lambda np, x, n: np.pad(x, ((1, 0), (2, 3)), mode="wrap"),
    "pad_symmetric": lambda np, x, n: np.pad(x, ((1, 2), (0, 4)), mode="symmetric"),
    "pad_reflect_far": lambda np, x, n: np.pad(x, ((9, 1), (1, 13)), mode="reflect"),
    "pad_reflect_far_odd": lambda np, x, n: np.pad(x, ((9, 1), (1, 13)), mode="reflect", reflect_type="odd"),
    "pad_symmetric_far_odd": lambda np, x, n: np.pad(x, ((1, 9), (13, 0)), mode="symmetric", reflect_type="odd"),
    "pad_reflect_one_odd": lambda np, x, n: np.pad(x[:1], ((2, 1), (0, 0)), mode="reflect", reflect_type="odd"),
    "where": lambda np, x, n: np.where(x > 0, x, 0),
    "isin": lambda np, x, n: np.isin(n, [1, 2]),
    "digitize": lambda np, x, n: np.digitize(x, np.array([-1.0, 0.0, 1.0])),
    "searchsorted": lambda np, x, n: np.searchsorted(np.array([1, 2, 2, 5]), n, side="right"),
    "take": lambda np, x, n: np.take(x, [2, 0]),
    "take_axis": lambda np, x, n: np.take(x, [2, 0], axis=1),
    "expand_dims": lambda np, x, n: np.expand_dims(x, (0, 2)) - np.squeeze(x[None])[:, None],
    "broadcast_arrays": lambda np, x, n: list(np.broadcast_arrays(x, x[:1], x[:, :1])),
    "gradient": lambda np, x, n: np.gradient(x, axis=-1),
    "gradient_rows": lambda np, x, n: np.gradient(x[0], 0.5),
    "gradient_all": lambda np, x, n: np.gradient(x),
    "convolve": lambda np, x, n: np.convolve(x[0], x[1, :3]),
    "convolve_same": lambda np, x, n: np.convolve(x[0], x[1, :3], mode="same"),
    "convolve_valid": lambda np, x, n: np.convolve(x[0], x[1, :3], mode="valid"),
    "polyval": lambda np, x, n: np.polyval([1.0, -2.0, 3.0], x),
    "histogram": lambda np, x, n: np.histogram(n, bins=4, range=(0.0, 4.0)),
    "histogram_of_one_number": lambda np, x, n: np.histogram(x[0, 0] * np.ones(3, np.float32), bins=3),
    "histogram_empty_end": lambda np, x, n: np.histogram(n, bins=[0.0, 3.0, 3.0]),
    "histogram_density": lambda np, x, n: np.histogram(n, bins=[0.0, 1.5, 4.0], density=True),
    "interp": lambda np, x, n: np.interp(x, [-1.0, 0.0, 2.0], [3.0, 4.0, 0.0]),
    "interp_ends": lambda np, x, n: np.interp(x, [-1.0, 0.0, 0.5], [3.0, 4.0, 0.0], left=-9.0, right=9.0),
    "divmod": lambda np, x, n: np.divmod(n, 2),
    "cbrt": lambda np, x, n: np.cbrt(x) + np.radians(x),
    "windows": lambda np, x, n: np.hanning(5) + np.hamming(5) + np.blackman(5),
    "windows_of_one": lambda np, x, n: np.hanning(1) + np.hamming(1) + np.blackman(1),
    "array_equal": lambda np, x, n: [np.array_equal(x, x + 0), np.array_equal(x, x + 1), np.array_equal(x, n)],
    "norm": lambda np, x, n: np.sqrt(np.square(x).sum(axis=1)) + np.fabs(x[:, 0]) + np.rint(x[:, 1]),
    "ops_by_name": lambda np, x, n: np.matmul(x, np.transpose(x)) + np.outer(x[:, 0], x[:, 1]) + np.tensordot(x, x),
    "constants": lambda np, x, n: x * np.pi + np.e,
    "bincount": lambda np, x, n: np.bincount(n, minlength=6) + np.count_nonzero(n),
}


@pytest.mark.parametrize("name", CASES)
def test_same_as_numpy(name: str, mode: int, rng: np.random.Generator) -> None:
    case = CASES[name]
    x, n = rng.standard_normal((3, 4)).astype(np.float32), np.array([1, 0, 3, 2, 3], np.int32)
    ours = ms.jit(lambda x, n: case(mnp, x, n)) if mode == ms.GRAPH_MODE else lambda x, n: case(mnp, x, n)
    found, want = ours(ms.Tensor(x), ms.Tensor(n)), case(np, x, n)
    found, want = (found, want) if isinstance(want, (list, tuple)) else ([found], [want])
    assert len(found) == len(want)
    for f, w in zip(found, want):
        assert tuple(f.shape) == np.shape(w)
        # float32 against NumPy's float64 here and there; sums of a dozen numbers of size 1 to 10
        np.testing.assert_allclose(f.asnumpy(), w, rtol=2e-5, atol=2e-5)


def test_new_arrays_are_narrow() -> None:
    assert [mnp.array(v).dtype for v in (1, [1.0], [[True]], [1, 2.0])] == [ms.int32, ms.float32, ms.bool_, ms.float32]
    assert [mnp.zeros(2).dtype, mnp.arange(3).dtype, mnp.full(2, 3).dtype] == [ms.float32, ms.int32, ms.int32]
    made = [mnp.ones(2, int), mnp.zeros_like([1.0], "int"), mnp.array([1.5], int), mnp.eye(2, dtype=int)]
    assert {x.dtype for x in made} == {mnp.promote_types(int, bool)} == {ms.int32}
    assert mnp.polyval(3.0, mnp.ones((2, 2))).tolist() == [[3, 3], [3, 3]]
    assert mnp.array(np.ones(2)).dtype == ms.float64 and mnp.array([ms.Tensor(1.0), ms.Tensor(2.0)]).shape == (2,)
    assert mnp.promote_types(mnp.int32, mnp.float32) == mnp.result_type(mnp.array(1), 2.0) == mnp.float32
    assert mnp.isscalar(3.0) and not mnp.isscalar([3.0]) and mnp.array_equal([1, 2], [1, 2])


def test_gradients_go_through(mode: int) -> None:
    def loss(x: Any) -> Any:
        return mnp.sum(mnp.concatenate((x, mnp.square(x)))) + mnp.norm(x)

    fn = ms.grad(loss)
    slope = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(ms.Tensor([3.0, 4.0]))
    np.testing.assert_allclose(slope.asnumpy(), [1 + 6 + 0.6, 1 + 8 + 0.8], rtol=1e-6)


def test_draws_follow_the_seed() -> None:
    def draws() -> Any:
        ms.set_seed(3)
        return [t.tolist() for t in (mnp.rand(2), mnp.randn(2), mnp.randint(0, 9, (2,)))]

    assert draws() == draws()


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (lambda: mnp.split(mnp.arange(5), 2), "axis 0 of size 5 does not divide into 2 equal parts"),
        (lambda: mnp.max(mnp.ones(2), where=[True, False]), "say with `initial` what counts then"),
        (lambda: mnp.pad(mnp.ones(2), ((1, 1), (1, 1), (1, 1))), "3 pairs of widths for 1 axes"),
        (lambda: mnp.where([True], 1), "a condition alone, or with both x and y"),
        (lambda: mnp.linspace(0, 1, -1), "num is how many numbers"),
        (lambda: mnp.mgrid[3], "a grid is made of slices"),
        (lambda: mnp.gradient(mnp.ones(1)), "needs at least two numbers"),
        (lambda: mnp.convolve(mnp.ones((2, 2)), mnp.ones(2)), "two rows of numbers, got 2 and 1 axes"),
        (lambda: mnp.convolve(mnp.ones(2), mnp.ones(0)), "at least one number in each row"),
        (lambda: mnp.polyfit, "numpy.polyfit is not part of msnb yet"),
        (lambda: mnp.concatenat, "did you mean concatenate"),
    ],
)
def test_wrong_calls(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError), match=sentence) as raised:
        wrong()
    assert not sentence.startswith(("axis 0 of size", "3 pairs", "two rows", "at least one n")) or isinstance(
        raised.value, ValueError
    )
