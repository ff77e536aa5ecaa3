"""MindSpore's primitives of sparse tensors, which take the parts of each one by one; part of the table of classes.

    coordinates   SparseToDense(indices, values, shape)        a COOTensor of the three does the work
    matrices      SparseMatrixAdd(shape, batch, indptr, indices, values, ...)      a CSRTensor; ``batch`` is [0, n]
    segments      SparseSegmentMean(x, indices, segment_ids)   rows of x by index, then one result per segment

Shapes may be tensors: they are read.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition.operand_checks import as_sizes, as_tensor
from msnb.ops.sparse.compressed_rows import CSRTensor, coo_to_csr, csr_of
from msnb.ops.sparse.coordinates import COOTensor, coo_of, coordinates_of, flat_keys
from msnb.ops.sparse.entry_merge import merged
from msnb.ops.sparse.segments import segments
from msnb.ops.sparse.sparse_functions import coo_concat, csr_mm, csr_softmax
from msnb.ops.sparse.sparse_tensor import is_known

NEEDED: Any = inspect.Parameter.empty


def _shape(given: Any) -> tuple[Any, ...]:
    """A shape that may be a tensor."""
    return as_sizes("shape", ([given[i] for i in range(len(given))],))


def _coo(indices: Any, values: Any, shape: Any) -> COOTensor:
    """A COOTensor of parts as primitives take them: for a vector, plain places will do."""
    places = as_tensor(indices)
    return COOTensor(places.reshape(-1, 1) if places.ndim == 1 else places, values, _shape(shape))


def _parts(x: COOTensor, kind: Any) -> tuple[Any, Any, Tensor]:
    return x.indices, x.values, Tensor(list(x.shape), kind)


# ---- coordinates ----


def sparse_to_dense(indices: Any, values: Any, sparse_shape: Any) -> Tensor:
    """The dense tensor of coordinates and values; one value may stand for all places."""
    v = as_tensor(values)
    return _coo(indices, v if v.ndim else v.expand_dims(0).broadcast_to((len(indices),)), sparse_shape).to_dense()


def _dense_with_default(
    indices: Any, output_shape: Any, values: Any, default_value: Any, validate_indices: bool
) -> Tensor:
    found = _coo(indices, ops.ones_like(as_tensor(indices)).reshape(len(indices), -1)[:, 0], output_shape)
    if validate_indices and is_known(found.indices) and not found.is_coalesced():
        raise AttributeValueError(
            "SparseToDenseV2: indices stand in order, each once; validate_indices=False lets all pass."
        )
    written = sparse_to_dense(indices, values, output_shape)
    return ops.where(found.to_dense() != 0, written, as_tensor(default_value).astype(written.dtype))  # type: ignore[no-any-return]


def sparse_dense_matmul(
    indices: Any, values: Any, sparse_shape: Any, dense: Any, adjoint_st: bool = False, adjoint_dt: bool = False
) -> Tensor:
    """The product of a matrix by coordinates and a dense one; ``adjoint_st``, ``adjoint_dt``: of their adjoints."""
    x = _coo(indices, values, sparse_shape)
    if x.ndim != 2:
        raise ShapeError(f"SparseTensorDenseMatmul takes a matrix, got the shape {x.shape}.")
    across, down = (1, 0) if adjoint_st else (0, 1)
    right = dense.T if adjoint_dt else dense
    if right.shape[0] != x.shape[down]:
        raise ShapeError(f"SparseTensorDenseMatmul: {x.shape} and {dense.shape} do not fit for a product.")
    rows = x.values.expand_dims(1) * ops.gather(right, x.indices[:, down], 0)
    count: Any = x.shape[across]
    return ops.unsorted_segment_sum(rows, x.indices[:, across], count)


def _sparse_add(i: Any, v: Any, shape: Any, j: Any, w: Any, other: Any, thresh: Any = 0) -> tuple[Any, Any, Any]:
    return _parts(_coo(i, v, shape).add(_coo(j, w, other), thresh), as_tensor(i).dtype)


def _dense_add(indices: Any, values: Any, shape: Any, dense: Any) -> Tensor:
    return sparse_to_dense(indices, values, shape) + dense  # type: ignore[no-any-return]


def _at_places(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        return combine(values, _coo(indices, values, shape).at_places(dense))

    return apply


def _concat(indices: Any, values: Any, shapes: Any, concat_dim: int) -> tuple[Any, Any, Any]:
    whole = coo_concat([_coo(i, v, s) for i, v, s in zip(indices, values, shapes)], concat_dim)
    return _parts(whole, as_tensor(indices[0]).dtype)


def _reorder(indices: Any, values: Any, shape: Any) -> tuple[Any, Any]:
    order = ops.argsort(flat_keys(as_tensor(indices), _shape(shape)))
    return ops.gather(indices, order, 0), ops.gather(values, order, 0)


def _reshape(indices: Any, shape: Any, new_shape: Any) -> tuple[Any, Any]:
    before, after = _shape(shape), list(_shape(new_shape))
    total = math.prod(before)
    if -1 in after:
        at = after.index(-1)
        after[at] = total // max(1, math.prod(d for i, d in enumerate(after) if i != at))
    if math.prod(after) != total:
        raise ShapeError(f"SparseReshape: {before} has {total} elements, {tuple(after)} has {math.prod(after)}.")
    places = coordinates_of(flat_keys(as_tensor(indices), before), tuple(after))
    return places.astype(as_tensor(indices).dtype), Tensor(after, dtypes.int64)


def _addmm(indices: Any, values: Any, shape: Any, dense: Any, added: Any, alpha: Any, beta: Any) -> Tensor:
    return alpha * sparse_dense_matmul(indices, values, shape, dense) + beta * added  # type: ignore[no-any-return]


def _extreme(name: str) -> Callable[..., Any]:
    """Of two sparse tensors, place by place; what is not stored is 0."""

    def apply(i: Any, v: Any, shape: Any, j: Any, w: Any, other: Any) -> tuple[Any, Any]:
        sizes = _shape(shape)
        if sizes != _shape(other):
            raise ShapeError(f"SparseSparse{name.capitalize()} needs two tensors of one shape.")
        keys, most = flat_keys(ops.concat((i, j)), sizes), math.prod(sizes)
        both = ops.stack((ops.concat((v, ops.zeros_like(w))), ops.concat((ops.zeros_like(v), w))), 1)
        found, sums = merged(keys, both, most)
        return coordinates_of(found, sizes).astype(as_tensor(i).dtype), getattr(ops, name)(sums[:, 0], sums[:, 1])

    return apply


def _softmax(indices: Any, values: Any, shape: Any) -> Any:
    """Over the stored values along the last axis."""
    sizes = _shape(shape)
    rows = flat_keys(indices, sizes) // sizes[-1]
    order = ops.argsort(rows)
    ends = ops.cumsum(ops.bincount(rows, minlength=math.prod(sizes[:-1])), 0).astype("int64")
    pointers = ops.concat((ops.zeros((1,), dtype=dtypes.int64), ends))
    flat = csr_of(pointers, ops.gather(rows, order, 0), ops.gather(values, order, 0), (len(pointers) - 1, sizes[-1]))
    return ops.gather(csr_softmax(flat).values, ops.argsort(order), 0)


# ---- matrices ----


def _csr(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any) -> CSRTensor:
    sizes = _shape(shape)
    if len(sizes) != 2:
        raise ShapeError(
            f"a sparse matrix has two axes, got the shape {sizes}; take the matrices of a batch one by one."
        )
    return CSRTensor(indptr, indices, values, sizes)


def _of_csr(x: CSRTensor, like: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The five parts of a matrix: shape, where its batches begin, pointers, columns, values."""
    kind = as_tensor(like).dtype
    batch = Tensor([0, x.values.shape[0]], kind) if type(x.values.shape[0]) is int else _ends(x, kind)
    return Tensor(list(x.shape), kind), batch, x.indptr.astype(kind), x.indices.astype(kind), x.values


def _ends(x: CSRTensor, kind: Any) -> Any:
    """[0, n] where only the data tell n: it is the last pointer."""
    return ops.concat((ops.zeros((1,), dtype=kind), x.indptr[-1:].astype(kind)))


def _matrix_add(
    shape: Any, batch: Any, indptr: Any, indices: Any, values: Any, other_shape: Any, other_batch: Any,
    other_indptr: Any, other_indices: Any, other_values: Any, alpha: Any, beta: Any,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    first = _csr(shape, batch, indptr, indices, values)
    second = _csr(other_shape, other_batch, other_indptr, other_indices, other_values)
    return _of_csr(first.add(second, alpha, beta), shape)


def _matrix_matmul(
    shape: Any, batch: Any, indptr: Any, indices: Any, values: Any, dense: Any, transpose_x1: bool, transpose_x2: bool,
    adjoint_x1: bool, adjoint_x2: bool, transpose_output: bool, conjugate_output: bool,
) -> Any:  # fmt: skip
    x = _csr(shape, batch, indptr, indices, values)
    out = csr_mm(x, dense, transpose_x1, transpose_x2, adjoint_x1, adjoint_x2)
    out = out.T if transpose_output else out
    return ops.conj(out) if conjugate_output else out


def _matrix_softmax(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any, dtype: Any) -> Any:
    return _of_csr(csr_softmax(_csr(shape, batch, indptr, indices, values), dtype), shape)


def _matrix_transpose(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any, conjugate: bool) -> Any:
    x = _csr(shape, batch, indptr, indices, ops.conj(values) if conjugate else values).to_coo()
    return _of_csr(coo_to_csr(coo_of(x.indices.flip(1), x.values, x.shape[::-1])), shape)


def _stored(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any) -> Any:
    pointers = as_tensor(batch)
    return (pointers[1:] - pointers[:-1]).astype("int32")


def _csr_to_dense(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any) -> Tensor:
    sizes = _shape(shape)
    if len(sizes) != 3:
        return _csr(shape, batch, indptr, indices, values).to_dense()
    starts = indptr.reshape((sizes[0], sizes[1] + 1))[:, :-1] + batch[:-1].reshape((-1, 1))
    begins = starts.reshape(-1)
    rows = ops.searchsorted(begins, ops.arange(values.shape[0], dtype=begins.dtype), right=True) - 1
    places = (rows * sizes[2] + indices).expand_dims(-1)
    flat = ops.tensor_scatter_add(ops.zeros((math.prod(sizes),), dtype=values.dtype), places, values)
    return flat.reshape(sizes)


def _csr_to_coo(shape: Any, batch: Any, indptr: Any, indices: Any, values: Any) -> tuple[Any, Any, Any]:
    x = _csr(shape, batch, indptr, indices, values).to_coo()
    return x.indices, x.values, as_tensor(shape)


def _coo_to_csr(indices: Any, values: Any, shape: Any) -> tuple[Any, ...]:
    """Matrices by coordinates; a batch has the pointers of its matrices behind one another."""
    sizes = _shape(shape)
    if len(sizes) == 2:
        return _of_csr(coo_to_csr(_coo(indices, values, shape)), indices)
    if len(sizes) != 3:
        raise ShapeError(f"SparseTensorToCSRSparseMatrix takes matrices or a batch of them, got the shape {sizes}.")
    kind = as_tensor(indices).dtype
    order = ops.argsort(flat_keys(indices, sizes))
    places = ops.gather(indices, order, 0)
    per_row = ops.bincount(places[:, 0] * sizes[1] + places[:, 1], minlength=sizes[0] * sizes[1])
    rows = per_row.reshape((sizes[0], sizes[1])).astype(kind)
    begin = ops.zeros((sizes[0], 1), dtype=kind)
    pointers = ops.concat((begin, ops.cumsum(rows, 1).astype(kind)), axis=1).reshape(-1)
    batch = ops.concat((begin[:1, 0], ops.cumsum(rows.sum(1), 0).astype(kind)))
    return Tensor(list(sizes), kind), batch, pointers, places[:, 2], ops.gather(values, order, 0)


def _dense_to_csr(dense: Any, indices: Any) -> tuple[Any, Any, Any, Any, Any]:
    return _of_csr(coo_to_csr(COOTensor(indices, ops.gather_nd(dense, indices), dense.shape)), indices)


def _taken_parts(method: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive on (indptr, indices, values, shape, ...) from a function of a CSRTensor."""

    def apply(indptr: Any, indices: Any, values: Any, shape: Any, *operands: Any) -> Any:
        return method(CSRTensor(indptr, indices, values, _shape(shape)), *operands)

    return apply


def _count(indices: Any, values: Any, dense_shape: Any, weights: Any, binary_output: bool, minlength: int,
           maxlength: int) -> tuple[Any, Any, Any]:  # fmt: skip
    """How often each value occurs in each row, by coordinates (row, value)."""
    v, sizes = as_tensor(values), _shape(dense_shape)
    if minlength < -1 or maxlength < -1:
        raise AttributeValueError("SparseCountSparseOutput: minlength and maxlength are -1 or a length.")
    fine = v >= 0 if maxlength < 0 else ops.logical_and(v >= 0, v < maxlength)
    kept = ops.nonzero(fine)[:, 0]
    width = max(int(ops.where(fine, v, -1).max()) + 1 if v.size else 0, minlength)
    v, rows = v[kept].astype("int64"), as_tensor(indices)[kept][:, 0].astype("int64")
    amounts = as_tensor(weights)
    if amounts.size and amounts.shape != fine.shape:
        raise ShapeError(f"SparseCountSparseOutput takes as many weights as values, {fine.size}, not {amounts.size}.")
    amounts = amounts[kept] if amounts.size else ops.ones_like(v)
    keys, sums = merged(rows * width + v, amounts, sizes[0] * width)
    counts = ops.ones_like(sums) if binary_output else sums
    places = coordinates_of(keys, (sizes[0], width)).astype("int64")
    return places, counts, Tensor([sizes[0], width], dtypes.int64)


def _slice(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> tuple[Any, Any, Any]:
    first, wanted, sizes = _shape(start), _shape(size), _shape(shape)
    ends = [min(a + n, d) for a, n, d in zip(first, wanted, sizes)]
    inside = _all([ops.logical_and(indices[:, k] >= a, indices[:, k] < b) for k, (a, b) in enumerate(zip(first, ends))])
    kept = ops.nonzero(inside)[:, 0]
    moved = indices[kept] - Tensor(list(first), as_tensor(indices).dtype)
    return moved, values[kept], Tensor([max(0, b - a) for a, b in zip(first, ends)], dtypes.int64)


_SETS: dict[str, Any] = {"a-b": ops.gt, "b-a": ops.lt, "intersection": ops.logical_and, "union": ops.logical_or}


def _set_of_sparse(
    x1: Any, indices: Any, values: Any, shape: Any, set_operation: str, validate_indices: bool, name: str = "Sparse"
) -> tuple[Any, Any, Any]:
    """For each row of the last axis the set of ``x1`` and of the other operand, combined: ascending, by coordinates."""
    what, sizes = f"DenseTo{name}SetOperation", x1.shape[:-1]
    if set_operation.lower() not in _SETS:
        raise AttributeValueError(f"{what}: set_operation is one of {', '.join(_SETS)}, not {set_operation!r}.")
    if not isinstance(validate_indices, bool) or x1.dtype != values.dtype or not x1.dtype.is_int:
        kinds = f"{x1.dtype}, {values.dtype}, {validate_indices!r}"
        raise DTypeError(
            f"{what} takes two operands of one dtype of integers, validate_indices is a bool, not {kinds}."
        )
    if not sizes or _shape(shape)[:-1] != sizes:
        raise ShapeError(f"{what}: all axes but the last are the same, one at least, not {x1.shape}, {_shape(shape)}.")
    if validate_indices and is_known(indices) and not _coo(indices, values, shape).is_coalesced():
        raise AttributeValueError(f"{what}: indices stand in order, each once; validate_indices=False lets all pass.")
    flat = ops.arange(math.prod(sizes)).repeat_interleave(x1.shape[-1])
    rows, found = ops.concat([flat, flat_keys(indices[:, :-1], sizes)]), ops.concat([x1.reshape(-1), values])
    order = ops.argsort(found, stable=True)
    order = order[ops.argsort(rows[order], stable=True)]
    rows, found = rows[order], found[order]
    same = ops.logical_and(rows.expand_dims(1) == rows, found.expand_dims(1) == found)
    of_first = order < len(flat)
    members = [ops.logical_and(same, of).any(1) for of in (of_first, ops.logical_not(of_first))]
    kept = ops.logical_and(_SETS[set_operation.lower()](*members), same.int().argmax(1) == ops.arange(len(found)))
    before = ops.logical_and(rows.expand_dims(1) == rows, kept).int().tril(-1).sum(1)
    width = ops.where(kept, before + 1, 0).max().long().reshape(1)
    places = ops.concat([coordinates_of(rows, sizes), before.long().expand_dims(1)], 1)
    return places[kept], found[kept], ops.concat([Tensor(list(sizes), dtypes.int64), width])


def _set_of_dense(x1: Any, x2: Any, set_operation: str, validate_indices: bool) -> tuple[Any, Any, Any]:
    places = coordinates_of(ops.arange(x2.size), x2.shape)
    return _set_of_sparse(x1, places, x2.reshape(-1), x2.shape, set_operation, validate_indices, "Dense")


def _all(tests: Sequence[Any]) -> Any:
    found = tests[0]
    for test in tests[1:]:
        found = ops.logical_and(found, test)
    return found


_TURNS = dict.fromkeys(
    ("transpose_x1", "transpose_x2", "adjoint_x1", "adjoint_x2", "transpose_output", "conjugate_output"), False
)
SPARSE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "SparseToDense": (sparse_to_dense, {}), "SparseToDenseV2": (_dense_with_default, {"validate_indices": True}),
    "SparseTensorDenseMatmul": (sparse_dense_matmul, {"adjoint_st": False, "adjoint_dt": False}),
    "SparseAdd": (_sparse_add, {}), "SparseTensorDenseAdd": (_dense_add, {}),
    "SparseDenseCwiseAdd": (_at_places(lambda a, b: a + b), {}),
    "SparseDenseCwiseMul": (_at_places(lambda a, b: a * b), {}),
    "SparseDenseCwiseDiv": (_at_places(lambda a, b: a / b), {}), "SparseConcat": (_concat, {"concat_dim": 0}),
    "SparseReorder": (_reorder, {}), "SparseReshape": (_reshape, {}), "SparseSlice": (_slice, {}),
    "SparseSoftmax": (_softmax, {}), "SparseAddmm": (_addmm, {}),
    "SparseSparseMaximum": (_extreme("maximum"), {}), "SparseSparseMinimum": (_extreme("minimum"), {}),
    "SparseCountSparseOutput": (_count, {"binary_output": False, "minlength": -1, "maxlength": -1}),
    "DenseToDenseSetOperation": (_set_of_dense, {"set_operation": NEEDED, "validate_indices": True}),
    "DenseToSparseSetOperation": (_set_of_sparse, {"set_operation": NEEDED, "validate_indices": True}),
    **{f"SparseSegment{word}{more}": (functools.partial(segments, kind), {})
       for word, kind in (("Sum", "sum"), ("Mean", "mean"), ("SqrtN", "sqrt_n")) for more in ("", "WithNumSegments")},
    "SparseMatrixAdd": (_matrix_add, {}), "SparseMatrixMatMul": (_matrix_matmul, _TURNS),
    "SparseMatrixSoftmax": (_matrix_softmax, {"dtype": None}),
    "SparseMatrixTranspose": (_matrix_transpose, {"conjugate": False}), "SparseMatrixNNZ": (_stored, {}),
    "CSRSparseMatrixToDense": (_csr_to_dense, {}), "CSRSparseMatrixToSparseTensor": (_csr_to_coo, {}),
    "SparseTensorToCSRSparseMatrix": (_coo_to_csr, {}), "DenseToCSRSparseMatrix": (_dense_to_csr, {}),
    "CSRReduceSum": (_taken_parts(lambda x, axis: x.sum(axis)), {}),
    "CSRMV": (_taken_parts(lambda x, dense: x.mv(dense)), {}),
    "CSRMM": (_taken_parts(lambda x, dense: x.mm(dense)), {}),
    "CSRMul": (_taken_parts(lambda x, dense: (x * dense).values), {}),
    "CSRDiv": (_taken_parts(lambda x, dense: (x / dense).values), {}),
}  # fmt: skip
"""Primitive classes by name: the function, and the attributes in MindSpore's order."""
