"""Arguments at the edge of what an operator takes: fractions, sizes of 1 that broadcast, windows that hang over,
complex numbers, a share that is a tensor. Each is compared with the formula written out in NumPy."""

import itertools

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, mint, ops
from msnb.base.errors import MsnbError

BOTH = pytest.mark.parametrize("way", [lambda fn: fn, ms.jit], ids=["eager", "jit"])


def drawn(*shape, kind=np.float32, seed=5):
    """Normal numbers of a printed seed."""
    print("seed", seed)
    values = np.random.default_rng(seed).normal(size=(2, *shape))
    return (values[0] + 1j * values[1] if np.issubdtype(kind, np.complexfloating) else values[0]).astype(kind)


@BOTH
@pytest.mark.parametrize("correction", [0, 1, 2, 0.5, None])
def test_a_variance_takes_any_number_off_the_count(way, correction):
    x = drawn(4, 6)
    less = 1 if correction is None else correction
    want = ((x - x.mean(1, keepdims=True)) ** 2).sum(1) / (6 - less)
    assert np.allclose(way(lambda t: mint.var(t, 1, correction=correction))(Tensor(x)), want, rtol=1e-5)
    assert np.allclose(way(lambda t: mint.std(t, 1, correction=correction))(Tensor(x)), want**0.5, rtol=1e-5)
    grads = ms.grad(way(lambda t: mint.var(t, 1, correction=correction).sum()))(Tensor(x))
    assert np.allclose(grads, 2 * (x - x.mean(1, keepdims=True)) / (6 - less), rtol=1e-4, atol=1e-6)


@BOTH
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_cosine_of_operands_that_broadcast_along_its_axis(way, axis):
    a, b = drawn(1, 2, 3), drawn(2, 1, 3, seed=6)
    wide, other = np.broadcast_arrays(a, b)
    norms = np.linalg.norm(wide, axis=axis) * np.linalg.norm(other, axis=axis)
    found = way(lambda x, y: ops.cosine_similarity(x, y, axis))(Tensor(a), Tensor(b))
    assert np.allclose(found, (wide * other).sum(axis) / norms, atol=1e-5)
    assert abs(found.asnumpy()).max() <= 1 + 1e-6


WINDOWS = list(itertools.product(((2, 2), (3, 4)), ((2, 2), (3, 1)), (0, 1), (False, True), (1, -3)))


@pytest.mark.parametrize("kernel, stride, pad, ceil, divisor", WINDOWS)
def test_sums_of_windows_by_a_divisor(kernel, stride, pad, ceil, divisor):
    x = drawn(1, 2, 7, 6)
    counts = [
        (size + 2 * pad - k + (step - 1 if ceil else 0)) // step + 1 for size, k, step in zip((7, 6), kernel, stride)
    ]
    counts = [n - ((n - 1) * step >= size + pad) for n, step, size in zip(counts, stride, (7, 6))]
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad + 9), (pad, pad + 9)))
    want = np.zeros((1, 2, *counts), np.float32)
    for i, j in np.ndindex(*counts):
        rows, columns = slice(i * stride[0], i * stride[0] + kernel[0]), slice(j * stride[1], j * stride[1] + kernel[1])
        want[..., i, j] = wide[..., rows, columns].sum((-2, -1)) / divisor
    layer = ms.nn.AvgPool2d(kernel, stride, "pad" if pad else "valid", pad, ceil, divisor_override=divisor)
    for fn in (lambda t: mint.nn.functional.avg_pool2d(t, kernel, stride, pad, ceil, False, divisor), layer):
        found = fn(Tensor(x))
        assert found.shape == want.shape
        assert np.allclose(found, want, atol=1e-5)


def test_sums_of_windows_of_volumes_by_a_divisor():
    x = drawn(1, 1, 5, 5, 5)
    found = mint.nn.functional.avg_pool3d(Tensor(x), 2, 2, 0, True, True, 1)
    wide = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1), (0, 1)))
    assert np.allclose(found, wide.reshape(1, 1, 3, 2, 3, 2, 3, 2).sum((3, 5, 7)), atol=1e-5)
    with pytest.raises(ValueError, match="divisor_override must not be 0"):
        mint.nn.functional.avg_pool3d(Tensor(x), 2, divisor_override=0)


def test_windows_of_rows_take_entries_alone():
    x = Tensor(drawn(2, 3, 9))
    for fn in (ops.avg_pool1d, ops.max_pool1d, mint.nn.functional.avg_pool1d):
        assert np.array_equal(fn(x, (3,), [2]), fn(x, 3, 2))
    assert np.array_equal(ops.adaptive_avg_pool1d(x, (4,)), ops.adaptive_avg_pool1d(x, 4))
    assert mint.nn.functional.avg_pool2d(Tensor(drawn(1, 1, 4, 4)), (2, 2), ()).shape == (1, 1, 2, 2)
    with pytest.raises(MsnbError, match="kernel_size"):
        ops.avg_pool1d(x, (3, 3))


@BOTH
def test_covariances_of_complex_numbers_and_of_integers_with_weights(way):
    x, often, much = drawn(3, 6, kind=np.complex64), np.array([1, 2, 1, 3, 1, 1]), np.float32([1, 2, 0.5, 1, 1, 3])
    assert np.allclose(way(ops.cov)(Tensor(x)), np.cov(x), atol=1e-4)
    weighted = way(lambda t: ops.cov(t, fweights=Tensor(often), aweights=Tensor(much)))(Tensor(x))
    assert np.allclose(weighted, np.cov(x, fweights=often, aweights=much), atol=1e-4)
    found = way(ops.corrcoef)(Tensor(x)).asnumpy()
    assert np.allclose(found, np.corrcoef(x), atol=1e-4)
    assert np.allclose(np.diag(found), 1)
    whole = np.random.default_rng(5).integers(0, 9, (3, 6))
    found = way(lambda t: ops.cov(t, aweights=Tensor(much)))(Tensor(whole))
    assert np.allclose(found, np.cov(whole, aweights=much), atol=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_products_with_the_q_of_a_factorization(kind, batch):
    a, other = drawn(*batch, 5, 3, kind=kind), drawn(*batch, 5, 5, kind=kind, seed=6)
    flat = [_householder(part) for part in a.reshape(-1, 5, 3)]
    factors, tau, q = (np.stack(parts).reshape(*batch, *parts[0].shape) for parts in zip(*flat))
    given, adjoint = (Tensor(factors), Tensor(tau)), np.conj(np.swapaxes(q, -1, -2))
    assert np.allclose(ops.orgqr(*given), q[..., :3], atol=1e-5)
    for left, turned in itertools.product((True, False), (True, False)):
        by = adjoint if turned else q
        found = ops.ormqr(*given, Tensor(other), left, turned)
        assert np.allclose(found, by @ other if left else other @ by, atol=1e-4), (left, turned)


def _householder(a):
    """Factors and scales of a matrix as LAPACK keeps them, and its whole Q: reflections I - tau v v^H in a row."""
    m, n = a.shape
    r, q, tau = a.astype(np.complex128), np.eye(m, dtype=np.complex128), np.zeros(n, np.complex128)
    kept = np.zeros((m, n), np.complex128)
    for k in range(n):
        x = r[k:, k].copy()
        beta = -np.sign(x[0].real or 1) * np.linalg.norm(x)
        tau[k] = (beta - x[0]) / beta
        v = np.concatenate([[1], x[1:] / (x[0] - beta)])
        reflection = np.eye(m, dtype=np.complex128)
        reflection[k:, k:] -= tau[k] * np.outer(v, v.conj())
        r, q = reflection.conj().T @ r, q @ reflection
        kept[k + 1 :, k] = v[1:]
    part = (lambda t: t) if np.iscomplexobj(a) else np.real
    return tuple(part(t).astype(a.dtype) for t in (np.triu(r) + kept, tau, q))


@BOTH
@pytest.mark.parametrize("reduce", ["amin", "amax"])
@pytest.mark.parametrize("own", [True, False])
def test_bools_scattered(way, reduce, own):
    rng = np.random.default_rng(7)
    x, index, src = rng.random((4, 5)) > 0.5, rng.integers(0, 5, (4, 3)), rng.random((4, 3)) > 0.5
    want = x.copy()
    for i in range(4):
        for at in set(index[i]):
            parts = [*src[i][index[i] == at], *([x[i, at]] if own else [])]
            want[i, at] = all(parts) if reduce == "amin" else any(parts)
    found = way(lambda t, s: ops.scatter_reduce(t, 1, Tensor(index), s, reduce, include_self=own))(
        Tensor(x), Tensor(src)
    )
    assert np.array_equal(found, want)


@BOTH
def test_places_that_bools_name(way):
    x, mask = drawn(4, 3), np.array([True, False, True, False])
    want = x.copy()
    want[mask] = [[1.0], [2.0]]
    given = Tensor(x), Tensor(mask), Tensor([[1.0], [2.0]])
    assert np.array_equal(way(lambda t, m, v: t.index_put((m,), v))(*given), want)
    want[mask] += 1
    before = (want - [[1], [0], [1], [0]]).astype(np.float32)
    added = way(lambda t, m: t.index_put((m,), Tensor(1.0), True))(Tensor(before), Tensor(mask))
    assert np.allclose(added, want)


def test_places_that_bools_name_in_lanes():
    x, mask, row = drawn(2, 4, 3), Tensor([True, False, True, False]), Tensor([1.0, 2.0, 3.0])
    lanes = ms.vmap(lambda t: t.index_put((mask,), row))(Tensor(x))
    want = x.copy()
    want[:, [0, 2]] = [1.0, 2.0, 3.0]
    assert np.array_equal(lanes, want)


@BOTH
def test_operands_that_broadcast_or_are_flattened(way):
    x = drawn(3, 4)
    assert np.array_equal(way(lambda t: t.sum_to_size(3, 1))(Tensor(x)), x.sum(1, keepdims=True))
    spread = way(lambda t: ops.masked_scatter(ops.zeros(4), t > 0, t))(Tensor(x)).asnumpy()
    want = np.zeros((3, 4), np.float32)
    want[x > 0] = x.reshape(-1)[: (x > 0).sum()]
    assert np.array_equal(spread, want)
    places = Tensor([[1, 2], [3, 4]])
    assert np.array_equal(way(lambda t: ops.take_along_dim(t, places))(Tensor(x)), x.reshape(-1)[[1, 2, 3, 4]])
    assert [p.shape for p in ops.tensor_split(Tensor(x), Tensor(2))] == [(2, 4), (1, 4)]
    assert [p.shape for p in ops.tensor_split(Tensor(x), Tensor([1]))] == [(1, 4), (2, 4)]
    assert way(lambda t: mint.squeeze(t, 0))(Tensor(3.0)).item() == 3.0


@BOTH
def test_a_share_of_0_counts_no_nan(way):
    hole, one, row = (
        Tensor(np.full((2, 2), np.nan, np.float32)),
        Tensor(np.eye(2, dtype=np.float32)),
        Tensor([1.0, 2.0]),
    )
    assert way(lambda c: ops.addmm(c, one, one, beta=0))(hole).tolist() == [[1, 0], [0, 1]]
    assert way(lambda c: ops.addr(c, row, row, 0))(hole).tolist() == [[1, 2], [2, 4]]
    assert np.isnan(way(lambda c: ops.addmm(c, one, one))(hole)).all()


@BOTH
@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_of_shares_that_are_tensors(way, how):
    x, shares = drawn(3, 7), np.float32([0.0, 0.3, 0.5, 1.0])
    found = way(lambda t, q: ops.quantile(t, q, 1, interpolation=how))(Tensor(x), Tensor(shares))
    assert np.allclose(found, np.quantile(x, shares, axis=1, method=how), atol=1e-5)
    holes = np.where(np.arange(7) == 2, np.nan, x)
    found = way(lambda t, q: ops.nanquantile(t, q, 1))(Tensor(holes.astype(np.float32)), Tensor(shares))
    assert np.allclose(found, np.nanquantile(holes, shares, axis=1), atol=1e-5)


@BOTH
def test_the_gradient_of_a_share(way):
    x = Tensor(np.float32([3.0, 1.0, 7.0, 2.0]))
    slope = ms.grad(way(lambda q: ops.quantile(x, q)))(Tensor(0.5))
    assert np.isclose(slope.item(), 3 * (3.0 - 2.0))  # 1, 2, 3, 7: between the second and the third
    with pytest.raises(ValueError, match="from 0 to 1"):
        ops.quantile(x, Tensor(1.5))
    assert np.isnan(ms.jit(lambda q: ops.quantile(x, q))(Tensor(1.5)).item())


@BOTH
def test_no_difference_at_all(way):
    x = drawn(2, 3)
    assert np.array_equal(way(lambda t: ops.diff(t, 0, prepend=t))(Tensor(x)), x)
    assert way(lambda t: ops.diff(t, 1, prepend=t))(Tensor(x)).shape == (2, 5)


@BOTH
def test_nothing_to_scatter_and_nothing_to_join(way):
    x, none = Tensor(drawn(2, 3)), ops.zeros((0,))
    fill = way(lambda t, mask: ops.masked_scatter(t, mask, none))
    assert np.array_equal(fill(x, ops.zeros((2, 3), ms.bool_)), x)
    with pytest.raises(IndexError, match="outside axis 0"):
        fill(x, x == x[0, 1]).asnumpy()
    assert np.array_equal(way(lambda t: mint.cat((none, t, none), -2))(x), x)
    with pytest.raises(MsnbError, match="concat"):
        way(lambda t: mint.cat((ops.zeros((1,)), t), -2))(x)
