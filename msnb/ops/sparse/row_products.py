"""Products with compressed rows, three records that are each other's gradients; A has the stored values v.

    csr_matmul              A [m k] @ x [k n]         out[row p, :]    += v[p] x[column p, :]
    csr_matmul_transposed   A^T [k m] @ y [m n]       out[column p, :] += v[p] y[row p, :]
    csr_sampled_matmul      (a [m n] @ b^T [n k])     out[p]            = a[row p, :] . b[column p, :]
                            where A has entries

The zeros of A cost nothing, in memory or time. ``devices/cpu/kernels/sparse_rows`` has the native loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base.errors import DTypeError, IndexOutOfRange, ShapeError
from msnb.core import TensorType, tensor_type
from msnb.ops.definition import Example, InvalidExample, Work, as_size, define, operand_lines
from msnb.ops.elementwise.factory import adjoint
from msnb.ops.shape.index_spec import may_equal
from msnb.ops.sparse.row_pointers import (
    COLUMNS,
    POINTERS,
    RECORDS,
    check_columns,
    check_counts,
    need_pointers,
    one_by_one,
    row_count,
    rows_of_entries,
)

FAMILY = "sparse"

_V = np.array([0.5, -1.0, 2.0, 0.75])
_X = np.arange(8.0).reshape(4, 2) / 8 - 0.25
_Y = np.arange(6.0).reshape(3, 2) / 4 - 0.5


def _check(name: str, indptr: TensorType, indices: TensorType, *numbers: TensorType) -> None:
    need_pointers(name, indptr, indices)
    if any(t.dtype is not numbers[0].dtype for t in numbers):
        raise DTypeError(f"{name} needs numbers of one dtype.", operands=operand_lines(*numbers))
    if numbers[0].ndim == 1 and not may_equal(numbers[0].shape[0], indices.shape[0]):
        raise ShapeError(f"{name} needs a value for every index.", operands=operand_lines(indices, numbers[0]))
    if any(t.ndim != 2 for t in numbers if t is not numbers[0]):
        raise ShapeError(f"{name} needs a matrix.", operands=operand_lines(*numbers[1:]))


def _need_rows(name: str, indptr: TensorType, y: TensorType) -> None:
    if not may_equal(y.shape[0], row_count(indptr)):
        raise ShapeError(f"{name}: a row of the matrix for every row of the pointers.", operands=operand_lines(y))


def _summed_as(xp: Any, dtype: Any) -> Any:
    """Half precision is added up in float32."""
    return xp.float32 if np.dtype(dtype).itemsize == 2 and dtype not in (np.int16, np.uint16) else dtype


def _work(types: Any, out_types: Any, attrs: Any) -> Work:
    wide = max(t.ndim and t.shape[-1] for t in (*types, *out_types) if t.ndim == 2)
    return Work(vector=2.0 * types[1].shape[0] * wide)


# ---- A x ----


def _matmul_type(indptr: TensorType, indices: TensorType, values: TensorType, x: TensorType) -> TensorType:
    _check("csr_matmul", indptr, indices, values, x)
    return tensor_type((row_count(indptr), x.shape[1]), x.dtype)


def _matmul_body(xp: Any, indptr: Any, indices: Any, values: Any, x: Any) -> Any:
    rows = rows_of_entries(xp, indptr, indices.shape[0])
    check_columns(xp, indices, x.shape[0])
    check_counts("csr_matmul", values, len(rows))
    out = xp.zeros((indptr.shape[0] - 1, x.shape[1]), _summed_as(xp, x.dtype))
    xp.add.at(out, rows, (values[:, None] * x[indices]).astype(out.dtype, copy=False))
    return out.astype(x.dtype, copy=False)


def _matmul_grad(dout: Any, indptr: Any, indices: Any, values: Any, x: Any) -> Any:
    seen = CSR_SAMPLED_MATMUL(indptr, indices, dout, adjoint(x))
    return None, None, seen, CSR_MATMUL_TRANSPOSED(indptr, indices, adjoint(values), dout, columns=x.shape[0])


RECORDS["csr_matmul"] = CSR_MATMUL = define(
    "csr_matmul",
    "indptr, indices, values, x",
    infer=_matmul_type,
    body=_matmul_body,
    grad=_matmul_grad,
    axes="r!, p!, p!, k! n -> m! n",
    batch=one_by_one("csr_matmul"),
    work=_work,
    doc="A matrix of compressed rows times a matrix.",
    examples=(
        Example((POINTERS, COLUMNS, _V, _X)),
        Example((np.array([0, 0, 0]), np.zeros((0,), np.int64), np.zeros((0,)), _X)),
    ),
    wrong=(
        InvalidExample((POINTERS, COLUMNS, _V, _X[:3]), {}, "column 3", IndexOutOfRange),
        InvalidExample((POINTERS, COLUMNS, _V[:3], _X), {}, "a value for every index", ShapeError),
        InvalidExample((POINTERS, COLUMNS, _V, _X[0]), {}, "needs a matrix", ShapeError),
        InvalidExample((POINTERS, COLUMNS, _V, _X.astype(np.float32)), {}, "one dtype", DTypeError),
    ),
)


# ---- A^T y ----


def _transposed_type(
    indptr: TensorType, indices: TensorType, values: TensorType, y: TensorType, *, columns: Any
) -> TensorType:
    _check("csr_matmul_transposed", indptr, indices, values, y)
    _need_rows("csr_matmul_transposed", indptr, y)
    return tensor_type((as_size("csr_matmul_transposed", columns), y.shape[1]), y.dtype)


def _transposed_body(xp: Any, indptr: Any, indices: Any, values: Any, y: Any, *, columns: int) -> Any:
    rows = rows_of_entries(xp, indptr, indices.shape[0])
    check_columns(xp, indices, columns)
    check_counts("csr_matmul_transposed", values, len(rows))
    out = xp.zeros((columns, y.shape[1]), _summed_as(xp, y.dtype))
    xp.add.at(out, indices, (values[:, None] * y[rows]).astype(out.dtype, copy=False))
    return out.astype(y.dtype, copy=False)


def _transposed_grad(dout: Any, indptr: Any, indices: Any, values: Any, y: Any, columns: Any) -> Any:
    seen = CSR_SAMPLED_MATMUL(indptr, indices, adjoint(y), dout)
    return None, None, seen, CSR_MATMUL(indptr, indices, adjoint(values), dout)


RECORDS["csr_matmul_transposed"] = CSR_MATMUL_TRANSPOSED = define(
    "csr_matmul_transposed",
    "indptr, indices, values, y",
    attrs=("columns",),
    infer=_transposed_type,
    body=_transposed_body,
    grad=_transposed_grad,
    axes="r!, p!, p!, m! n -> k! n",
    batch=one_by_one("csr_matmul_transposed"),
    work=_work,
    doc="A transposed matrix of compressed rows times a matrix.",
    examples=(Example((POINTERS, COLUMNS, _V, _Y), {"columns": 5}),),
    wrong=(
        InvalidExample((POINTERS, COLUMNS, _V, _Y), {"columns": 3}, "column 3", IndexOutOfRange),
        InvalidExample((POINTERS, COLUMNS, _V, _Y[:2]), {"columns": 5}, "for every row", ShapeError),
    ),
)


# ---- a b^T where A has entries ----


def _sampled_type(indptr: TensorType, indices: TensorType, a: TensorType, b: TensorType) -> TensorType:
    _check("csr_sampled_matmul", indptr, indices, a, b)
    if a.ndim != 2 or not may_equal(a.shape[1], b.shape[1]):
        raise ShapeError("csr_sampled_matmul needs two matrices of as many columns.", operands=operand_lines(a, b))
    _need_rows("csr_sampled_matmul", indptr, a)
    return tensor_type(indices.shape, a.dtype)


def _sampled_body(xp: Any, indptr: Any, indices: Any, a: Any, b: Any) -> Any:
    rows = rows_of_entries(xp, indptr, indices.shape[0])
    check_columns(xp, indices, b.shape[0])
    return (a[rows] * b[indices]).sum(axis=1, dtype=_summed_as(xp, a.dtype)).astype(a.dtype, copy=False)


def _sampled_grad(dout: Any, indptr: Any, indices: Any, a: Any, b: Any) -> Any:
    left = CSR_MATMUL(indptr, indices, dout, adjoint(b))
    return None, None, left, CSR_MATMUL_TRANSPOSED(indptr, indices, dout, adjoint(a), columns=b.shape[0])


RECORDS["csr_sampled_matmul"] = CSR_SAMPLED_MATMUL = define(
    "csr_sampled_matmul",
    "indptr, indices, a, b",
    infer=_sampled_type,
    body=_sampled_body,
    grad=_sampled_grad,
    axes="r!, p!, m! n, k! n -> p!",
    batch=one_by_one("csr_sampled_matmul"),
    work=_work,
    doc="The product of two matrices, at the entries of compressed rows alone.",
    examples=(Example((POINTERS, COLUMNS, _Y, _X)),),
    wrong=(InvalidExample((POINTERS, COLUMNS, _Y, _X[:, :1]), {}, "as many columns", ShapeError),),
)
