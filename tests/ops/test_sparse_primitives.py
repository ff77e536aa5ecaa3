"""MindSpore's primitives of sparse tensors against dense NumPy, in both modes; shapes that are tensors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import AttributeValueError, DTypeError, ShapeError

A = np.array([[0, 2, 0, 0], [0, 0, 3, 0], [1, 0, 0, 4]], np.float32)
B = np.array([[0, 5, 0, 0], [6, 0, 0, 0], [0, 0, 0, -9]], np.float32)
D = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
SHAPE = Tensor([3, 4])


def parts(x: np.ndarray) -> tuple[Tensor, Tensor]:
    return Tensor(np.argwhere(x)), Tensor(x[x != 0])


def rows(x: np.ndarray) -> tuple[Any, ...]:
    s = Tensor(x).to_csr()
    return SHAPE, Tensor([0, int((x != 0).sum())]), s.indptr, s.indices, s.values


def run(fn: Any, mode: int, *args: Any) -> Any:
    ms.set_context(mode=mode)
    return ms.jit(fn)(*args) if mode == ms.GRAPH_MODE else fn(*args)


def dense(indices: Any, values: Any, shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    out = np.zeros(shape, np.float32)
    np.add.at(out, tuple(indices.asnumpy().T), values.asnumpy())
    return out


def test_coordinates(mode: int) -> None:
    (i, v), (j, w) = parts(A), parts(B)
    np.testing.assert_array_equal(run(ops.SparseToDense(), mode, i, v, SHAPE).asnumpy(), A)
    np.testing.assert_array_equal(run(ops.SparseTensorDenseAdd(), mode, i, v, SHAPE, Tensor(D)).asnumpy(), A + D)
    filled = run(ops.SparseToDenseV2(), mode, i, SHAPE, v, Tensor(7.0))
    np.testing.assert_array_equal(filled.asnumpy(), np.where(A != 0, A, 7))
    for name, want in (("Add", A + D), ("Mul", A * D), ("Div", A / D)):
        found = run(getattr(ops, f"SparseDenseCwise{name}")(), mode, i, v, SHAPE, Tensor(D))
        np.testing.assert_allclose(found.asnumpy(), want[A != 0], rtol=1e-6)
    added = run(ops.SparseAdd(), mode, i, v, SHAPE, j, w, SHAPE, Tensor(0.0))
    np.testing.assert_array_equal(dense(*added[:2]), A + B)
    for name, pick in (("Maximum", np.maximum), ("Minimum", np.minimum)):
        found = run(getattr(ops, f"SparseSparse{name}")(), mode, i, v, SHAPE, j, w, SHAPE)
        np.testing.assert_array_equal(dense(*found), pick(A, B))


def test_order_and_shape(mode: int) -> None:
    i, v = parts(A)
    turned = Tensor(i.asnumpy()[::-1].copy()), Tensor(v.asnumpy()[::-1].copy())
    found = run(ops.SparseReorder(), mode, *turned, SHAPE)
    assert found[0].tolist() == i.tolist() and found[1].tolist() == v.tolist()
    places, shape = run(ops.SparseReshape(), mode, i, SHAPE, Tensor([6, -1]))
    assert shape.tolist() == [6, 2]
    np.testing.assert_array_equal(dense(places, v, (6, 2)), A.reshape(6, 2))
    with pytest.raises(ShapeError, match="has 12 elements"):
        ops.SparseReshape()(i, SHAPE, Tensor([5, 2]))
    with pytest.raises(AttributeValueError, match="stand in order"):
        ops.SparseToDenseV2()(turned[0], SHAPE, turned[1], 0.0)


@pytest.mark.parametrize("turn", [False, True])
def test_products(mode: int, turn: bool) -> None:
    i, v = parts(A)
    left, right = (A.T if turn else A), (D if turn else D.T)
    for adjoint in (False, True):
        multiply = ms.nn.SparseTensorDenseMatmul(turn, adjoint)
        other = right.T if adjoint else right
        found = run(multiply, mode, i, v, (3, 4), Tensor(other.copy()))
        np.testing.assert_allclose(found.asnumpy(), left @ right, rtol=1e-5)
    added = run(ops.SparseAddmm(), mode, i, v, SHAPE, Tensor(D.T.copy()), Tensor(np.ones((3, 3), np.float32)), 2.0, 3.0)
    np.testing.assert_allclose(added.asnumpy(), 2 * A @ D.T + 3, rtol=1e-5)
    by = ms.grad(ms.nn.SparseTensorDenseMatmul(), (1, 3))(i, v, (3, 4), Tensor(D.T.copy()))
    np.testing.assert_allclose(by[0].asnumpy(), (np.ones((3, 3)) @ D)[A != 0], rtol=1e-5)
    np.testing.assert_allclose(by[1].asnumpy(), A.T @ np.ones((3, 3)), rtol=1e-5)


def test_matrices(mode: int) -> None:
    found = run(ops.SparseMatrixAdd(), mode, *rows(A), *rows(B), Tensor(2.0), Tensor(1.0))
    np.testing.assert_array_equal(run(ops.CSRSparseMatrixToDense(), mode, *found).asnumpy(), 2 * A + B)
    found = run(ops.SparseMatrixMatMul(), mode, *rows(A), Tensor(D.T.copy()))
    np.testing.assert_allclose(found.asnumpy(), A @ D.T, rtol=1e-5)
    turned = run(ops.SparseMatrixTranspose(), mode, *rows(A))
    assert turned[0].tolist() == [4, 3]
    np.testing.assert_array_equal(ops.CSRSparseMatrixToDense()(*turned).asnumpy(), A.T)
    assert run(ops.SparseMatrixNNZ(), mode, *rows(A)).tolist() == [4]
    soft = run(ops.SparseMatrixSoftmax(), mode, *rows(A))[4]
    np.testing.assert_allclose(soft.asnumpy(), [1, 1, 1 / (1 + np.e**3), 1 / (1 + np.e**-3)], rtol=1e-5)
    back = run(ops.SparseTensorToCSRSparseMatrix(), mode, *parts(A), SHAPE)
    np.testing.assert_array_equal(ops.CSRSparseMatrixToDense()(*back).asnumpy(), A)


@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
def test_segments(mode: int, kind: str) -> None:
    x, index, ids = D.reshape(4, 3), np.array([0, 2, 1]), np.array([0, 0, 2])
    want = np.zeros((3, 3), np.float32)
    for s in (0, 2):
        chosen = x[index[ids == s]]
        want[s] = chosen.sum(0) / {"Sum": 1, "Mean": len(chosen), "SqrtN": np.sqrt(len(chosen))}[kind]
    given = Tensor(x.copy()), Tensor(index), Tensor(ids)
    found = run(getattr(ops, f"SparseSegment{kind}")(), mode, *given)
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6)
    found = run(getattr(ops, f"SparseSegment{kind}WithNumSegments")(), mode, *given, Tensor([5]))
    np.testing.assert_allclose(found.asnumpy(), np.concatenate([want, np.zeros((2, 3))]), rtol=1e-6)


def test_segments_that_are_none() -> None:
    with pytest.raises(ShapeError, match="are vectors"):
        ops.sparse_segment_mean(Tensor(D), Tensor([[0]]), Tensor([0]))
    with pytest.raises(TypeError, match="hold integers"):
        ops.sparse_segment_mean(Tensor(D), Tensor([0.5]), Tensor([0]))
    with pytest.raises(TypeError, match="takes a COOTensor"):
        ms.nn.SparseToDense()(Tensor(D))


def test_inputs_that_are_sizes_are_read_at_every_call(mode: int) -> None:
    """Other values are another version of the program, also below a gradient and through arithmetic."""
    ms.set_context(mode=mode)
    x = Tensor(np.arange(6.0))
    turned = ms.jit(lambda t, s: ops.reshape(t, s))
    zeros = ms.jit(lambda s: ops.zeros((s[0] * 2, s[1] - 1)))
    slope = ms.jit(lambda t, s: ms.grad(lambda u: (ops.reshape(u, s)[0] ** 2).sum())(t))
    for sizes in ([2, 3], [3, 2], [2, 3], [1, 6]):
        assert turned(x, Tensor(sizes)).shape == tuple(sizes)
        assert zeros(Tensor(sizes)).shape == (sizes[0] * 2, sizes[1] - 1)
        want = np.where(np.arange(6) < sizes[1], 2 * np.arange(6.0), 0)
        np.testing.assert_array_equal(slope(x, Tensor(sizes)).asnumpy(), want)


def test_sizes_from_numbers_of_a_loop_stay_unknown() -> None:
    @ms.jit(fullgraph=True)
    def grown(n: Any) -> Any:
        while n < 5:
            n = n + 1
        return ops.zeros((n,))

    with pytest.raises(ms.MsnbError, match="not known while the function is captured"):
        grown(Tensor(1))


def test_a_description_of_inputs_can_be_copied() -> None:
    open_sizes = Tensor(shape=[None, 3], dtype=ms.float32)
    assert copy.deepcopy([open_sizes])[0].shape == open_sizes.shape and copy.copy(open_sizes).dtype is ms.float32


def test_sets_of_rows(mode: int) -> None:
    print("seed", 5)
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 9, (2, 3, 6)), rng.integers(0, 9, (2, 3, 4))
    ways = {"a-b": set.difference, "b-a": lambda x, y: y - x, "intersection": set.intersection, "UNION": set.union}
    at, given = Tensor(np.argwhere(b >= 0)), Tensor(b.reshape(-1), ms.int32)
    for name, way in ways.items():
        wanted = [sorted(way({*x}, {*y})) for x, y in zip(a.reshape(6, 6).tolist(), b.reshape(6, 4).tolist())]
        places = [[i // 3, i % 3, k] for i, row in enumerate(wanted) for k in range(len(row))]
        x = Tensor(a, ms.int32)
        from_dense = run(ops.DenseToDenseSetOperation(name), mode, x, Tensor(b, ms.int32))
        sparse = ops.DenseToSparseSetOperation(name)
        from_sparse = run(lambda x, i, v, sparse=sparse: sparse(x, i, v, (2, 3, 4)), mode, x, at, given)
        for found in (from_dense, from_sparse):
            assert [t.dtype for t in found] == [ms.int64, ms.int32, ms.int64]
            assert found[0].tolist() == places and found[1].tolist() == sum(wanted, [])
            assert found[2].tolist() == [2, 3, max(map(len, wanted))]
    empty = run(ops.DenseToDenseSetOperation("a-b"), mode, Tensor([[1, 2]]), Tensor([[2, 1]]))
    assert [t.shape for t in empty] == [(0, 2), (0,), (2,)] and empty[2].tolist() == [1, 0]


def test_sets_of_rows_that_are_refused() -> None:
    x, y = Tensor([[1, 2], [3, 4]]), Tensor([[1, 2], [3, 5]])
    with pytest.raises(AttributeValueError, match="set_operation is one of a-b, b-a, intersection, union, not 'xor'"):
        ops.DenseToDenseSetOperation("xor")(x, y)
    with pytest.raises(DTypeError, match="takes two operands of one dtype of integers"):
        ops.DenseToDenseSetOperation("a-b")(x, y.int())
    with pytest.raises(DTypeError, match="validate_indices is a bool"):
        ops.DenseToDenseSetOperation("a-b", 1)(x, y)
    with pytest.raises(ShapeError, match="all axes but the last are the same"):
        ops.DenseToDenseSetOperation("a-b")(x, y[:1])
    with pytest.raises(AttributeValueError, match="indices stand in order"):
        ops.DenseToSparseSetOperation("a-b")(x, Tensor([[1, 0], [0, 0]]), Tensor([3, 4]), (2, 2))


def test_values_counted_in_each_row(mode: int) -> None:
    places, values = Tensor([[0, 2], [2, 0], [0, 1], [2, 1]]), Tensor([3, 1, 3, -1], ms.int32)
    count = run(ops.SparseCountSparseOutput(), mode, places, values, SHAPE, Tensor([2.0, 4.0, 5.0, 7.0]))
    assert [t.tolist() for t in count] == [[[0, 3], [2, 1]], [7.0, 4.0], [3, 4]]
    with pytest.raises(ShapeError, match="as many weights as values"):
        run(ops.SparseCountSparseOutput(), mode, places, values, SHAPE, Tensor([2.0, 4.0]))
