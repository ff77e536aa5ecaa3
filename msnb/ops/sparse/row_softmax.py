"""Softmax over the stored values of every row of a sparse matrix; what is not stored counts as minus infinity.

row r:   out[p] = exp(v[p] - max) / sum of exp(v[q] - max)        p, q: the entries of row r
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import TensorType, tensor_type
from msnb.ops.definition import Example, InvalidExample, define, operand_lines
from msnb.ops.indexing.gather import take
from msnb.ops.shape.index_records import UNINDEX
from msnb.ops.sparse.row_pointers import POINTERS, RECORDS, need_pointers, one_by_one, row_count, rows_of_entries

FAMILY = "sparse"

_V = np.array([0.5, -1.0, 2.0, 0.75])


def _softmax_type(indptr: TensorType, values: TensorType) -> TensorType:
    if not values.dtype.is_float:
        raise DTypeError("csr_row_softmax needs floats.", operands=operand_lines(values))
    need_pointers("csr_row_softmax", indptr, indptr)
    if values.ndim != 1:
        raise ShapeError("csr_row_softmax: values are a vector.", operands=operand_lines(values))
    return tensor_type(values.shape, values.dtype)


def _softmax_body(xp: Any, indptr: Any, values: Any) -> Any:
    rows, count = rows_of_entries(xp, indptr, values.shape[0]), indptr.shape[0] - 1
    wide = values if values.dtype.itemsize > 2 else values.astype(xp.float32)
    most = xp.full(count, -np.inf, wide.dtype)
    xp.maximum.at(most, rows, wide)
    raised = xp.exp(wide - most[rows])
    total = xp.zeros(count, wide.dtype)
    xp.add.at(total, rows, raised)
    return (raised / total[rows]).astype(values.dtype, copy=False)


def _softmax_grad(dout: Any, indptr: Any, out: Any) -> Any:
    rows = RECORDS["csr_rows"](indptr, entry_numbers(out))
    weighed = dout * out
    total = UNINDEX(weighed, rows, spec=("t",), shape=(row_count(indptr._type),))
    return None, weighed - out * take(total, rows)


def entry_numbers(values: Any) -> Any:
    """An integer for every stored value: the entries, where their columns are not asked for."""
    return (values != values).astype("int64")


RECORDS["csr_row_softmax"] = CSR_ROW_SOFTMAX = define(
    "csr_row_softmax",
    "indptr, values",
    infer=_softmax_type,
    body=_softmax_body,
    grad=_softmax_grad,
    axes="r!, p! -> p!",
    batch=one_by_one("csr_row_softmax"),
    doc="Softmax over the stored values of every row of compressed rows.",
    examples=(Example((POINTERS, _V)), Example((np.array([0, 0]), np.zeros((0,))))),
    wrong=(
        InvalidExample((POINTERS, np.arange(4)), {}, "needs floats", DTypeError),
        InvalidExample((POINTERS, _V[:3]), {}, "end at the number of values"),
    ),
)
