"""Pointers of compressed rows (CSR): row r has the entries ``indptr[r]`` to ``indptr[r + 1]``.

    indptr [0, 1, 4, 6]   ->   row of every entry [0, 1, 1, 1, 2, 2]

Pointers begin at 0, never decrease and end at the number of entries; a column is one of the matrix. What does not is
told in one sentence, by the records' bodies: the native kernels decline such operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base.errors import AttributeValueError, DTypeError, IndexOutOfRange, ShapeError
from msnb.core import TensorType, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, define, operand_lines
from msnb.ops.shape.concat_split import stack

FAMILY = "sparse"  # of the records in this package: pictures and the JSON of graphs name it
POINTERS = np.array([0, 1, 1, 4])
COLUMNS = np.array([1, 0, 2, 3])


def need_pointers(name: str, indptr: TensorType, indices: TensorType) -> None:
    """Raise where pointers and columns are no integer vectors."""
    for t, what in ((indptr, "indptr"), (indices, "indices")):
        if not t.dtype.is_int:
            raise DTypeError(f"{name}: {what} holds integers.", operands=operand_lines(t, names=(what,)))
        if t.ndim != 1:
            raise ShapeError(f"{name}: {what} is a vector.", operands=operand_lines(t, names=(what,)))
    if indptr.shape[0] == 0:
        raise ShapeError(f"{name}: indptr has one number more than there are rows.")


def row_count(indptr: TensorType) -> Any:
    """How many rows the pointers are for."""
    rows: Any = indptr.shape[0]
    return rows - 1


def check_pointers(xp: Any, indptr: Any, count: int | None) -> None:
    """Raise AttributeValueError for pointers that do not begin at 0, decrease, or do not end at ``count`` (None: end
    anywhere). A GPU is not asked: it would have to wait."""
    if xp is not np:
        return
    count = int(indptr[-1]) if count is None else count
    if indptr[0] != 0 or indptr[-1] != count or (indptr[1:] < indptr[:-1]).any():
        shown = ", ".join(str(int(p)) for p in indptr[:8]) + (", ..." if len(indptr) > 8 else "")
        raise AttributeValueError(
            f"CSR pointers begin at 0, never decrease and end at the number of values, here {count}; got [{shown}]."
        )


def check_columns(xp: Any, indices: Any, size: Any, what: str = "column") -> None:
    """Raise IndexOutOfRange for an index that is not from 0 to ``size - 1``. A GPU is not asked."""
    if xp is not np:
        return
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        raise IndexOutOfRange(f"{what} {int(indices[outside][0])} of a sparse tensor is outside of 0 to {size - 1}.")


def check_counts(name: str, values: Any, count: int) -> None:
    """Raise ShapeError where there is not a value for every entry: sizes that only the data tell are compared here."""
    if values.shape[0] != count:
        raise ShapeError(f"{name} needs a value for every index, got {values.shape[0]} for {count}.")


def rows_of_entries(xp: Any, indptr: Any, count: int) -> Any:
    """The row of every entry."""
    check_pointers(xp, indptr, count)
    return xp.searchsorted(indptr, xp.arange(count, dtype=indptr.dtype), side="right") - 1


def one_by_one(op_name: str) -> Any:
    """A vmap rule that runs the op once per element of the new axis and puts the results together."""

    def batch(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], **attrs: Any) -> tuple[Any, bool]:
        from_lane = [[x[i] if b else x for x, b in zip(inputs, batched)] for i in range(axis_size)]
        return stack([RECORDS[op_name](*lane, **attrs) for lane in from_lane]), True

    return batch


RECORDS: dict[str, Op] = {}


def _rows_type(indptr: TensorType, indices: TensorType) -> TensorType:
    need_pointers("csr_rows", indptr, indices)
    return tensor_type(indices.shape, indices.dtype)


RECORDS["csr_rows"] = CSR_ROWS = define(
    "csr_rows",
    "indptr, indices",
    onnx="csr_rows",
    infer=_rows_type,
    body=lambda xp, indptr, indices: rows_of_entries(xp, indptr, indices.shape[0]).astype(indices.dtype),
    no_grad="a row number does not change with small changes of values",
    axes="r!, p! -> p!",
    batch=one_by_one("csr_rows"),
    doc="The row of every entry of compressed rows.",
    examples=(Example((POINTERS, COLUMNS)), Example((np.array([0, 0]), np.zeros((0,), np.int64)))),
    wrong=(
        InvalidExample((np.array([0, 3, 1, 4]), COLUMNS), {}, "never decrease", AttributeValueError),
        InvalidExample((np.array([0, 5]), COLUMNS), {}, "end at the number of values", AttributeValueError),
        InvalidExample((np.array([0.0, 4.0]), COLUMNS), {}, "holds integers", DTypeError),
    ),
)
