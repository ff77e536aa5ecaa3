"""Sparse tensors: creation, conversion, products, gradients, programs; against dense NumPy, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import COOTensor, CSRTensor, RowTensor, Tensor, ops
from msnb.base.errors import ArgumentError, AttributeValueError, IndexOutOfRange, ShapeError
from tests.gradient_check import check_grads

DENSE = np.array([[0, 5, 0], [7, 0, 9], [0, 0, 0]], np.float32)
RIGHT = np.arange(6, dtype=np.float32).reshape(3, 2) - 2


def random_matrix(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Mostly zeros, some rows whole."""
    return (rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.3)).astype(np.float32)


def run(fn: Any, mode: int, *args: Any) -> Any:
    ms.set_context(mode=mode)
    return ms.jit(fn)(*args) if mode == ms.GRAPH_MODE else fn(*args)


def csr() -> CSRTensor:
    return Tensor(DENSE).to_csr()


def coo() -> COOTensor:
    return Tensor(DENSE).to_coo()


# ---- creation -------------------------------------------------------------------------------------------------------


def test_parts_and_what_they_say() -> None:
    x = CSRTensor(Tensor([0, 1, 3]), Tensor([1, 0, 2]), Tensor([5.0, 7.0, 9.0]), (2, 3))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.dtype) == ((2, 3), 2, 3, 4, ms.float32)
    assert CSRTensor(csr_tensor=x).to_tuple() == x.to_tuple()
    assert repr(x).startswith("CSRTensor(shape=(2, 3)")
    y = COOTensor(Tensor([[0, 1]]), Tensor([5.0]), (2, 3))
    assert COOTensor(coo_tensor=y).to_tuple() == y.to_tuple() and y.astype(ms.int32).dtype is ms.int32
    z = RowTensor(Tensor([2, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
    assert RowTensor(row_tensor=z).to_dense().tolist() == [[3, 4], [0, 0], [1, 2]]
    assert ops.dtype(x) is ms.float32


@pytest.mark.parametrize("pointers", [[0, 2, 1, 3], [0, 1, 1, 9], [1, 1, 2, 3], [0, -1, 2, 3], [0, 1, 2, 2]])
def test_wrong_pointers(pointers: list[int], mode: int) -> None:
    parts = Tensor(pointers), Tensor([0, 1, 2]), Tensor([1.0, 2.0, 3.0])
    with pytest.raises(AttributeValueError, match="never decrease and end at the number of values"):
        run(lambda *p: CSRTensor(*p, (3, 3)).to_dense(), mode, *parts)
    with pytest.raises(AttributeValueError, match="never decrease and end at the number of values"):
        run(lambda *p: CSRTensor(*p, (3, 3)).mm(Tensor(RIGHT)), mode, *parts)


@pytest.mark.parametrize("column", [-1, 3, 10**9])
def test_wrong_columns(column: int, mode: int) -> None:
    parts = Tensor([0, 1, 2, 3]), Tensor([0, column, 2]), Tensor([1.0, 2.0, 3.0])
    with pytest.raises(IndexOutOfRange, match="outside"):
        run(lambda *p: CSRTensor(*p, (3, 3)).mm(Tensor(RIGHT)), mode, *parts)
    with pytest.raises(IndexOutOfRange):
        COOTensor(Tensor([[0, column]]), Tensor([1.0]), (3, 3))


def test_parts_that_do_not_fit() -> None:
    i, v = Tensor([0, 1]), Tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match="3 rows have 4 pointers"):
        CSRTensor(Tensor([0, 1, 2]), i, v, (3, 4))
    with pytest.raises(ShapeError, match="a value for each"):
        CSRTensor(Tensor([0, 1, 2]), i, Tensor([1.0]), (2, 4))
    with pytest.raises(ShapeError, match="do not fit the shape"):
        CSRTensor(Tensor([0, 1, 2]), i, v, (2, 4, 5))
    with pytest.raises(TypeError, match="holds integers"):
        CSRTensor(Tensor([0.0, 1.0, 2.0]), i, v, (2, 4))
    with pytest.raises(ShapeError, match="2 coordinates for the shape"):
        COOTensor(Tensor([[0, 1, 2]]), Tensor([1.0]), (2, 2))
    with pytest.raises(ShapeError, match="no rows of the shape"):
        RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 5))
    with pytest.raises(ArgumentError, match="needs indices, values and shape"):
        COOTensor(Tensor([[0, 1]]))
    with pytest.raises(ArgumentError, match="shape is a tuple"):
        COOTensor(Tensor([[0, 1]]), Tensor([1.0]), 5)
    with pytest.raises(ArgumentError, match="takes a CSRTensor"):
        ops.csr_sin(coo())


# ---- conversion and arithmetic --------------------------------------------------------------------------------------


def test_ways_between_dense_and_sparse(mode: int, rng: np.random.Generator) -> None:
    for rows, columns in ((3, 5), (1, 1), (6, 2)):
        dense = random_matrix(rng, rows, columns)
        x = Tensor(dense)
        ways = (
            lambda t: t.to_csr().to_dense(),
            lambda t: t.to_coo().to_dense(),
            lambda t: t.to_coo().to_csr().to_coo().to_dense(),
        )
        for back in (run(way, mode, x) for way in ways):
            np.testing.assert_array_equal(back.asnumpy(), dense)
    assert csr().indptr.tolist() == [0, 1, 3, 3] and csr().indptr.dtype is ms.int32
    assert coo().indices.tolist() == [[0, 1], [1, 0], [1, 2]]


def test_equal_places_count_together(mode: int) -> None:
    x = COOTensor(Tensor([[1, 0], [0, 1], [1, 0]]), Tensor([1.0, 2.0, 4.0]), (2, 2))
    joined = run(lambda c: c.coalesce(), mode, x)
    assert joined.indices.tolist() == [[0, 1], [1, 0]] and joined.values.tolist() == [2, 5]
    assert x.to_dense().tolist() == joined.to_dense().tolist()
    assert not x.is_coalesced() and joined.is_coalesced()


def test_operators(mode: int, rng: np.random.Generator) -> None:
    a, b = random_matrix(rng, 4, 5), random_matrix(rng, 4, 5)
    d = rng.normal(size=(4, 5)).astype(np.float32)
    column = rng.normal(size=(4, 1)).astype(np.float32)

    def of(x: Any, y: Any, t: Any, c: Any) -> Any:
        return (
            (x + y).to_dense(), (x - y).to_dense(), (-x).to_dense(), (x * t).to_dense(), (t * x).to_dense(),
            (x / t).to_dense(), (x * 2).to_dense(), (x * c).to_dense(), x + t, t - x,
        )  # fmt: skip

    wanted = (a + b, a - b, -a, a * d, a * d, a / d, a * 2, a * column, a + d, d - a)
    for make in (ops.dense_to_sparse_csr, ops.dense_to_sparse_coo):
        found = run(of, mode, make(Tensor(a)), make(Tensor(b)), Tensor(d), Tensor(column))
        for x, y in zip(found, wanted):
            np.testing.assert_allclose(x.asnumpy(), y, rtol=1e-6, atol=1e-6)


def test_sums_below_a_threshold_are_left_out(mode: int) -> None:
    x = COOTensor(Tensor([[0, 0], [1, 1]]), Tensor([1.0, 2.0]), (2, 2))
    y = COOTensor(Tensor([[0, 0], [0, 1]]), Tensor([-1.0, 3.0]), (2, 2))
    assert run(lambda p, q: ops.coo_add(p, q), mode, x, y).values.tolist() == [0, 3, 2]
    assert run(lambda p, q: ops.coo_add(p, q, 2.5), mode, x, y).values.tolist() == [3]
    assert ops.csr_add(x.to_csr(), y.to_csr(), Tensor(2.0), Tensor(-1.0)).values.tolist() == [3, -3, 4]


def test_side_by_side(mode: int) -> None:
    x, y = coo(), Tensor(DENSE[:, ::-1].copy()).to_coo()
    for axis in (0, 1, -1):
        found = run(lambda p, q, axis=axis: ops.coo_concat((p, q), axis).to_dense(), mode, x, y)
        np.testing.assert_array_equal(found.asnumpy(), np.concatenate([DENSE, DENSE[:, ::-1]], axis))
    with pytest.raises(ShapeError, match="shapes differ"):
        ops.coo_concat((x, Tensor(DENSE[:, :2].copy()).to_coo()), 0)


def test_values_of_functions(mode: int) -> None:
    for name in ("abs", "exp", "tanh", "relu6", "isnan", "round"):
        x = csr() * 0.1 - csr() * 0.2
        want = getattr(ops, name)(x.values)
        found = run(lambda c, name=name: getattr(ops, f"csr_{name}")(c).values, mode, x)
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-6)
        found = run(lambda c, name=name: getattr(ops, f"coo_{name}")(c).values, mode, x.to_coo())
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-6)


# ---- products, sums, softmax ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("wide", [1, 3, 8, 21])
def test_products(mode: int, kind: str, wide: int, rng: np.random.Generator) -> None:
    a = random_matrix(rng, 60, 50)
    x, y = (rng.normal(size=(n, wide)).astype(np.float32) for n in (50, 60))
    s = Tensor(a).to_csr()
    s = CSRTensor(s.indptr.astype(kind), s.indices.astype(kind), s.values, s.shape)

    def products(c: Any, p: Any, q: Any) -> Any:
        turned = ops.csr_mm(c, q, trans_a=True), ops.csr_mm(c, p.T, trans_b=True)
        return c.mm(p), turned[0], c.mv(p[:, 0]), ops.csr_mv(c, p[:, :1]), turned[1]

    found = run(products, mode, s, Tensor(x), Tensor(y))
    for f, want in zip(found, (a @ x, a.T @ y, a @ x[:, 0], a @ x[:, :1], a @ x)):
        np.testing.assert_allclose(f.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_product_of_two_sparse_matrices(mode: int, rng: np.random.Generator) -> None:
    a, b = random_matrix(rng, 7, 5), random_matrix(rng, 5, 6)
    found = run(lambda p, q: p.mm(q), mode, Tensor(a).to_csr(), Tensor(b).to_csr())
    np.testing.assert_allclose(found.to_dense().asnumpy(), a @ b, rtol=1e-5, atol=1e-6)
    turned = [Tensor(x.T.copy()).to_csr() for x in (a, b)]
    found = run(lambda p, q: ops.csr_mm(p, q, True, True), mode, *turned)
    np.testing.assert_allclose(found.to_dense().asnumpy(), a @ b, rtol=1e-5, atol=1e-6)


def test_sums_and_softmax(mode: int) -> None:
    sums = run(lambda c: (ops.csr_reduce_sum(c, 1), c.sum(0)), mode, csr())
    assert sums[0].tolist() == [[5], [16], [0]] and sums[1].tolist() == [[7, 5, 9]]
    soft = run(lambda c: ops.csr_softmax(c), mode, csr())
    np.testing.assert_allclose(soft.values.asnumpy(), [1, 1 / (1 + np.e**2), 1 / (1 + np.e**-2)], rtol=1e-6)
    with pytest.raises(AttributeValueError, match="axis is 0 or 1"):
        csr().sum(2)


def test_matrix_of_vectors(mode: int) -> None:
    values = np.array([[2, 1, 3], [4, 5, 6]], np.float32)
    x = CSRTensor(Tensor([0, 1, 1, 2]), Tensor([0, 1]), Tensor(values), (3, 2, 3))
    dense = np.zeros((3, 2, 3), np.float32)
    dense[0, 0], dense[2, 1] = values
    found = run(lambda c: (c.to_dense(), c.sum(1), (c * c.to_dense()).values), mode, x)
    np.testing.assert_array_equal(found[0].asnumpy(), dense)
    np.testing.assert_array_equal(found[1].asnumpy(), dense.sum(1, keepdims=True))
    np.testing.assert_array_equal(found[2].asnumpy(), values**2)


def test_sizes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match="sizes do not fit"):
        csr().mm(Tensor(RIGHT[:2]))
    with pytest.raises(ShapeError, match="takes a vector"):
        csr().mv(Tensor(RIGHT))
    with pytest.raises(ShapeError, match="one shape"):
        csr().add(Tensor(DENSE[:2].copy()).to_csr())
    with pytest.raises(AttributeValueError, match="not both"):
        ops.csr_mm(csr(), Tensor(RIGHT), trans_a=True, adjoint_a=True)
    with pytest.raises(TypeError):
        csr() + coo()


# ---- gradients ------------------------------------------------------------------------------------------------------


def test_gradients_are_sparse_tensors(mode: int, rng: np.random.Generator) -> None:
    a, x = random_matrix(rng, 5, 4), rng.normal(size=(4, 3)).astype(np.float32)
    ms.set_context(mode=mode)
    by_sparse, by_dense = ms.grad(lambda c, d: (c.mm(d) ** 2).sum(), (0, 1))(Tensor(a).to_csr(), Tensor(x))
    slope = 2 * a @ x
    assert isinstance(by_sparse, CSRTensor) and by_sparse.indices.tolist() == Tensor(a).to_csr().indices.tolist()
    np.testing.assert_allclose(by_sparse.to_dense().asnumpy(), slope @ x.T * (a != 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_dense.asnumpy(), a.T @ slope, rtol=1e-4, atol=1e-5)
    by_coo = ms.grad(lambda c: (c.to_dense() ** 3).sum())(Tensor(a).to_coo())
    np.testing.assert_allclose(by_coo.to_dense().asnumpy(), 3 * a**2, rtol=1e-5)


@pytest.mark.parametrize(
    "program",
    [
        lambda c: c.mm(c.to_dense().T),
        lambda c: (c + c * c.to_dense()).to_dense(),
        lambda c: ops.csr_mm(c, c.mm(c)).to_dense(),
        lambda c: c.to_coo().add(c.to_coo() * 3).to_dense(),
        lambda c: ops.csr_softmax(c).values,
        lambda c: c.sum(0) * c.sum(1),
        lambda c: (c / (c.to_dense() + 10)).to_coo().to_csr().values,
    ],
)
def test_derivatives_of_first_and_second_order(program: Any) -> None:
    parts = Tensor(np.array([0, 1, 3, 3])), Tensor(np.array([1, 0, 2]))
    check_grads(lambda v: program(CSRTensor(*parts, v, (3, 3))), [np.array([0.5, -1.25, 2.0])], order=2, seed=3)


# ---- programs -------------------------------------------------------------------------------------------------------


class Doubled(ms.nn.Cell):
    """A sparse tensor goes round a loop, through a branch, and comes back."""

    def construct(self, x: Any, c: Any) -> Any:
        while x < 3:
            c = CSRTensor(c.indptr, c.indices, c.values * 2, c.shape)
            x += 1
        if c.values.sum() > 100:
            c = c.abs()
        else:
            c = -c
        return c


def test_loops_and_branches(mode: int) -> None:
    ms.set_context(mode=mode)
    net = Doubled()
    assert net(Tensor(0), csr()).values.tolist() == [40, 56, 72]
    assert net(Tensor(2), csr()).values.tolist() == [-10, -14, -18]
    other = CSRTensor(Tensor([0, 1, 3]), Tensor([1, 0, 0]), Tensor([1.0, 2.0, 3.0]), (2, 7))
    assert net(Tensor(3), other).shape == (2, 7)
    by = ms.grad(lambda c: net(Tensor(0), c).values.sum())(csr())
    assert by.values.tolist() == [8, 8, 8]


def test_another_shape_is_another_program(mode: int) -> None:
    ms.set_context(mode=mode)
    dense = ms.jit(lambda c: c.to_dense())
    parts = Tensor([0, 1]), Tensor([1]), Tensor([5.0])
    assert dense(CSRTensor(*parts, (1, 2))).shape == (1, 2)
    assert dense(CSRTensor(*parts, (1, 4))).shape == (1, 4)


def test_containers_from_outside_in_loops_and_branches(mode: int) -> None:
    """What a container from outside holds is read anew at each call, also where a loop or a branch only hands it on."""

    def looped(n: Any, pair: Any) -> Any:
        while n < 2:
            pair = (pair[0] * 2, pair[1])
            n += 1
        return pair

    def chosen(n: Any, pair: Any) -> Any:
        if n < 2:
            pair = (pair[0] * 2, pair[1])
        return pair

    ms.set_context(mode=mode)
    for fn, factor in ((ms.jit(looped), 4), (ms.jit(chosen), 2)):
        for value, sizes in ((1.0, (5, 2)), (3.0, (6, 2)), (1.0, (5, 2))):
            found = fn(Tensor(0), (Tensor(value), sizes))
            assert (found[0].item(), found[1]) == (factor * value, sizes)


def test_rows_in_programs(mode: int) -> None:
    def scaled(x: Any) -> Any:
        return RowTensor(x.indices, x.values * 2, x.dense_shape)

    x = RowTensor(Tensor([2, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
    assert run(scaled, mode, x).to_dense().tolist() == [[6, 8], [0, 0], [2, 4]]
    ms.set_context(mode=mode)
    assert ms.grad(lambda r: (r.to_dense() ** 2).sum())(x).values.tolist() == [[2, 4], [6, 8]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_matrices_run_natively(mode: int, dtype: str, rng: np.random.Generator) -> None:
    """Enough work for several threads; the sums of a thread are in the same order each time."""
    rows, columns, entries = 300, 200, 20_000
    r, c = np.sort(rng.integers(0, rows, entries)), rng.integers(0, columns, entries)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(r, minlength=rows))])
    v, x, y = (rng.normal(size=s).astype(dtype) for s in (entries, (columns, 40), (rows, 40)))
    dense = np.zeros((rows, columns), dtype)
    np.add.at(dense, (r, c), v)
    s = CSRTensor(Tensor(pointers), Tensor(c), Tensor(v), (rows, columns))

    def work(s: Any, x: Any, y: Any) -> Any:
        by = ms.grad(lambda values, t: (s.with_values(values).mm(t) * y).sum(), (0, 1))(s.values, x)
        return s.mm(x), s.rows(), *by

    first, again = run(work, mode, s, Tensor(x), Tensor(y)), run(work, mode, s, Tensor(x), Tensor(y))
    for found, want in zip(first, (dense @ x, r, (y[r] * x[c]).sum(1), dense.T @ y)):
        np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-3, atol=1e-3)
    for a, b in zip(first, again):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
