"""Functions whose arguments differ between ops, MindSpore's numpy, NumPy and PyTorch: each means what its room says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import ops

A = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
CUBE = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
ORDERS = (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")


def near(found: Any, expected: Any) -> None:
    assert found.shape == np.shape(expected) == found.asnumpy().shape
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_norms_of_matrices(order: Any, mode: Any) -> None:
    near(mnp.norm(A, order), np.linalg.norm(A, order))
    near(ops.norm(ms.Tensor(A), order), np.linalg.norm(A, order))
    near(ms.Tensor(A).norm(ord=order), np.linalg.norm(A, order))
    for axes, kept in itertools.product(itertools.permutations((0, 1, 2), 2), (False, True)):
        expected = np.linalg.norm(CUBE, order, axes, kept)
        near(mnp.norm(CUBE, order, axes, kept), expected)
        near(ops.norm(ms.Tensor(CUBE), order, axes, kept), expected)
    near(ms.jit(lambda x: ops.norm(x, order, (0, -1)))(ms.Tensor(CUBE)), np.linalg.norm(CUBE, order, (0, -1)))


@pytest.mark.parametrize("order", (None, 0, 1, 2, 3.5, np.inf, -np.inf), ids=str)
def test_norms_of_vectors(order: Any, mode: Any) -> None:
    for axis in (0, -1, (1,)):
        near(mnp.norm(A, order, axis), np.linalg.norm(A, order, axis))
        near(ops.norm(ms.Tensor(A), order, axis), np.linalg.norm(A, order, axis))
    near(mnp.norm(A[0], order), np.linalg.norm(A[0], order))
    near(mnp.norm(CUBE), np.linalg.norm(CUBE))


def test_words_of_pytorch_ask_for_all_elements(mode: Any, notices: list[str]) -> None:
    x = ms.Tensor(A)
    near(x.norm(p=1), np.abs(A).sum())
    near(ops.norm(x, p=2), np.linalg.norm(A.reshape(-1)))
    assert not notices
    ops.norm(x, 1)
    assert len(notices) == 1 and "vector_norm" in notices[0]
    with pytest.raises(TypeError, match="by one name"):
        ops.norm(x, 1, p=1)


def test_gradients_of_matrix_norms(mode: Any) -> None:
    found = ms.grad(lambda x: ops.norm(x, 1))(ms.Tensor(A))
    np.testing.assert_array_equal(found.asnumpy(), [[0, -1, 0], [0, 1, 0]])


@pytest.mark.parametrize("call", [
    lambda: mnp.norm(CUBE, 1), lambda: mnp.norm(A, 3), lambda: mnp.norm(A[0], "nuc"), lambda: mnp.norm(A, 1, (0, 0)),
    lambda: mnp.norm(A, 1, (0, 2)), lambda: ops.norm(ms.Tensor(A), 3), lambda: ops.matrix_norm(ms.Tensor(A), True),
])  # fmt: skip
def test_wrong_norms(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize("name", ["triu_indices", "tril_indices"])
def test_triangles(name: str, mode: Any) -> None:
    for n, k, m in itertools.product(range(4), range(-3, 5), (None, 2, 4)):
        found = getattr(mnp, name)(n, k, m)
        for part, expected in zip(found, getattr(np, name)(n, k, m), strict=True):
            np.testing.assert_array_equal(part.asnumpy(), expected)
    assert getattr(ops, name)(3, 4, 1).shape[0] == 2  # rows, columns, offset there
    np.testing.assert_array_equal(mnp.triu(A, k=1).asnumpy(), np.triu(A, k=1))
    np.testing.assert_array_equal(mnp.tril(A, k=-1).asnumpy(), np.tril(A, k=-1))


@pytest.mark.parametrize("flags", list(itertools.product((False, True), repeat=3)), ids=str)
def test_unique(flags: Any, mode: Any) -> None:
    words = dict(zip(("return_index", "return_inverse", "return_counts"), flags))
    a = np.array([[5, 2, 2], [7, 5, 0]], np.int32)
    found, expected = mnp.unique(a, **words), np.unique(a, **words)
    if not any(flags):
        found, expected = (found,), (expected,)
    for part, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part.asnumpy().reshape(-1), np.reshape(want, -1))


def test_unique_takes_flags_by_name_alone() -> None:
    with pytest.raises(TypeError):
        mnp.unique([1, 2], True)


def test_clip(mode: Any) -> None:
    a = np.array([1, 5, 9], np.int32)
    for call in (lambda n, x: n.clip(x, 2, 6), lambda n, x: n.clip(x, 2, None), lambda n, x: n.clip(x, None, 6)):
        np.testing.assert_array_equal(call(mnp, a).asnumpy(), call(np, a))
    for words in ({"a_min": 2, "a_max": 6}, {"min": 2, "max": 6}, {"xmin": 2, "xmax": 6}):
        assert mnp.clip(a, **words).tolist() == [2, 5, 6]
    assert mnp.clip(a, 2, 6, dtype=ms.float32).dtype is ms.float32
    for wrong in (lambda: mnp.clip(a, 2, a_min=3), lambda: mnp.clip(a, 2, upper=3), lambda: mnp.clip(a)):
        with pytest.raises((TypeError, ValueError), match="clip"):
            wrong()


def test_heaviside(mode: Any) -> None:
    a = np.array([-1.5, 0.0, 2.0, np.nan, np.inf, -0.0], np.float32)
    np.testing.assert_array_equal(mnp.heaviside(a, 0.5).asnumpy(), np.heaviside(a, np.float32(0.5)))
    np.testing.assert_array_equal(mnp.heaviside([-1, 0, 3], 0.5).asnumpy(), np.heaviside([-1, 0, 3], 0.5))


def test_nonzero_is_a_tuple(mode: Any) -> None:
    for part, expected in zip(mnp.nonzero(A > 0), np.nonzero(A > 0), strict=True):
        np.testing.assert_array_equal(part.asnumpy(), expected)


def test_cross(mode: Any) -> None:
    a, b = np.random.default_rng(4).normal(size=(2, 3, 2, 3)).astype(np.float32)
    x, y = ms.Tensor(a), ms.Tensor(b)
    near(mnp.cross(a, b), np.cross(a, b))
    near(mnp.cross(a, b, 0, 0, 0), np.cross(a, b, 0, 0, 0))
    near(mnp.cross(a, b, axis=0), np.cross(a, b, axis=0))
    near(mnp.cross(a, b[0, 0]), np.cross(a, b[0, 0]))
    near(mnp.cross(a[:, 0, :2], b[:, 0]), np.cross(np.pad(a[:, 0, :2], ((0, 0), (0, 1))), b[:, 0]))
    near(mnp.cross(a[0, :, :2], b[0, :, :2]), a[0, :, 0] * b[0, :, 1] - a[0, :, 1] * b[0, :, 0])
    near(ops.cross(x, y), np.cross(a, b, axis=0))  # the first axis of size 3
    near(x[0].cross(y[0]), np.cross(a[0], b[0]))
    near(ops.cross(x, y, -1), np.cross(a, b))
    near(ops.Cross()(x, y), np.cross(a, b, axis=0))
    near(ops.cross(x[:, :1], y), np.cross(a[:, :1], b, axis=0))
    for wrong in (lambda: ops.cross(x[:2, :, :2], y[:2, :, :2]), lambda: ops.cross(x, y, 1), lambda: ops.cross(x, y, 5),
                  lambda: mnp.cross([1, 2, 3, 4], [1, 2, 3, 4])):  # fmt: skip
        with pytest.raises(ValueError, match="cross"):
            wrong()


def test_covariances(mode: Any) -> None:
    a, b = CUBE[0], CUBE[1]
    near(mnp.cov(a), np.cov(a))
    near(mnp.cov(a, b), np.cov(a, b))
    near(mnp.cov(a, b, False), np.cov(a, b, False))
    near(mnp.cov(a[0], b[0], bias=True), np.cov(a[0], b[0], bias=True))
    near(mnp.cov(a, ddof=0), np.cov(a, ddof=0))
    near(mnp.corrcoef(a, b), np.corrcoef(a, b))
    near(mnp.corrcoef(a, rowvar=False), np.corrcoef(a, rowvar=False))


def test_repeat_elements(mode: Any) -> None:
    a = np.array([[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(ops.repeat_elements(ms.Tensor(a), 2).asnumpy(), np.repeat(a, 2, 0))
    np.testing.assert_array_equal(ops.repeat_elements(ms.Tensor(a), rep=3, axis=1).asnumpy(), np.repeat(a, 3, 1))
    np.testing.assert_array_equal(ops.repeat_interleave(ms.Tensor(a), 2).asnumpy(), np.repeat(a, 2))
    for wrong in (lambda: ops.repeat_elements(ms.Tensor(a), 0), lambda: ops.repeat_elements(ms.Tensor(a), 2, 2)):
        with pytest.raises(ValueError):
            wrong()


def test_the_mean_of_whole_numbers_is_a_float(mode: Any) -> None:
    whole = ms.Tensor([100, 51, 100, 50])
    assert whole.mean().dtype is ms.float32 and whole.mean().item() == 75.25
    assert ops.mean(whole).item() == mnp.mean(whole).item() == ops.ReduceMean()(whole).item() == 75.25


def compiled(fn: Callable[..., Any], *inputs: Any) -> Any:
    """fn's results in the mode of the test."""
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def test_the_largest_number_has_a_place(mode: Any) -> None:
    for seed in range(8):
        x = np.random.default_rng(seed).standard_normal(12).astype(np.float32)
        counts, borders = compiled(lambda x: mnp.histogram(x, 4), ms.Tensor(x))
        assert (counts.tolist(), float(borders[-1])) == (np.histogram(x, 4)[0].tolist(), x.max())
    assert mnp.histogram([1, 2, 4], [0, 2, 4])[1].dtype is ms.int32
    assert float(mnp.linspace(0, 0.3, 4)[-1]) == np.float32(0.3)
    assert mnp.linspace(0, 0.3, 4, endpoint=False).tolist() == pytest.approx(np.linspace(0, 0.3, 4, endpoint=False))


@pytest.mark.parametrize("right", (False, True))
def test_bins_that_fall(right: bool, mode: Any) -> None:
    for bins in ([2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0]):
        found = compiled(lambda x, b: mnp.digitize(x, b, right), ms.Tensor(A), ms.Tensor(bins))
        assert found.tolist() == np.digitize(A, bins, right).tolist()


def test_numbers_of_lists_and_of_python_count_32_bits(mode: Any) -> None:
    small, half = ms.Tensor([1, 2], ms.uint8), ms.Tensor([1.0, 2.0], ms.float16)
    found = compiled(lambda s, h: (mnp.add(s, 300), mnp.multiply(h, 0.5), mnp.add(h, 1), mnp.subtract(s, [1, 2])),
                     small, half)  # fmt: skip
    assert [t.dtype for t in found] == [ms.int32, ms.float32, ms.float16, ms.int32] and found[0].tolist() == [301, 302]
    assert mnp.add([1, 2], 3).dtype is mnp.power(2, 7).dtype is mnp.add(ms.Tensor([True]), 2).dtype is ms.int32
    assert mnp.kron(ms.Tensor([1], ms.int32), [2]).dtype is mnp.maximum([1], 2).dtype is ms.int32
    assert [t.dtype for t in mnp.divmod(small, 2)] == [ms.int32] * 2
    assert mnp.maximum(small, 2).dtype is ms.uint8 and mnp.power(ms.Tensor(np.ones(2)), 2.5).dtype is ms.float64
    assert mnp.arange(ms.Tensor(1.5)).tolist() == [0.0, 1.0] and mnp.arange(ms.Tensor(1.5)).dtype is ms.float32
    assert mnp.polyder(mnp.array([1, 2, 3])).dtype is ms.int32
    assert mnp.intersect1d([1, 2], [2.0, 2.5]).dtype is ms.float32
    with pytest.raises(TypeError):
        mnp.add(small, [1, 2], mnp.int32, 4)


def test_decimals_rows_and_roots(mode: Any) -> None:
    x = ms.Tensor([1.26, -2.54])
    assert compiled(lambda x: mnp.around(x, 1), x).tolist() == pytest.approx([1.3, -2.5])
    assert mnp.round([125, 135], -1).tolist() == [120, 140] and mnp.around([1, 2], 1).dtype is ms.int32
    assert compiled(lambda x: mnp.in1d(x, [2.0, 4.0]), ms.Tensor(A)).tolist() == np.isin(A, [2, 4]).ravel().tolist()
    assert mnp.cbrt(ms.Tensor(np.array([0.3]))).item() == pytest.approx(0.3 ** (1 / 3), rel=1e-14)
    assert mnp.roll(A, (1, 2)).tolist() == np.roll(A, 3).tolist()
    same = compiled(lambda x: mnp.array_equiv(x, x), x)
    assert same.dtype is ms.bool_ and bool(same) and not bool(mnp.array_equiv([1, 2], [1, 2, 3]))
    with pytest.raises(TypeError):
        mnp.around(x, 1, 2)


def test_means_of_narrow_numbers(mode: Any) -> None:
    many = np.full(3000, 40, np.float16)
    for x, want in ((np.array([True, False]), 0.5), (np.ones(600, np.uint8), 1.0), (many, 40.0)):
        assert float(compiled(lambda t: ops.nanmean(t), ms.Tensor(x))) == want
    x = ms.Tensor([0.5, 2.0], ms.float16)
    found = compiled(lambda x, y: (ops.xlogy(x, y), ops.xdivy(x, y)), x, ms.Tensor([0, 3]))
    assert [t.dtype for t in found] == [ms.float16] * 2 and float(found[1][1]) == pytest.approx(2 / 3, rel=1e-3)
    ramp = ms.Tensor([1.0, 300.0, 599.0], ms.float16)  # squares beyond float16
    assert float(compiled(lambda x: mnp.nanvar(x), ramp)) == pytest.approx(np.var([1, 300, 599]), rel=1e-2)


GRID = np.arange(-3, 9).reshape(3, 4)
AS_NUMPY: dict[str, Any] = {
    "values per side": lambda n, x: n.pad(x, ((1, 2), (0, 3)), constant_values=((3, 4), (5, 6))),
    "values before and after": lambda n, x: n.pad(x / 2, 1, constant_values=(1.5, 2.5)),
    "a pair of values": lambda n, x: n.pad(x, ((1, 1), (2, 2)), constant_values=((7, 8),)),
    "shifts along one axis": lambda n, x: n.roll(x, [-2, -3], 1),
    "one shift along axes": lambda n, x: n.roll(x, 1, (0, 1)),
    "running sums as bools": lambda n, x: n.cumsum(x, dtype=bool),
    "running sums in bytes": lambda n, x: n.cumsum(x, 0, dtype="int8"),
    "running products as bools": lambda n, x: n.cumprod(x, 1, dtype=bool),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_arguments_mean_what_they_mean_to_numpy(mode: Any, name: str) -> None:
    want, found = AS_NUMPY[name](np, GRID), compiled(lambda x: AS_NUMPY[name](mnp, x), ms.Tensor(GRID)).asnumpy()
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype or want.dtype == np.float64
    assert mnp.atleast_1d() == ()
