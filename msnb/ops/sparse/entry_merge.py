"""Entries that meet: equal keys become one, and entries are joined with the rows that they name.

    entry_merge   keys [5, 2, 5], values [a, b, c]   ->   keys [2, 5], values [b, a + c], place of each [1, 0, 1]
    row_join      pointers of B, columns of A        ->   for every entry of A the entries of B in the row it meets

Sums of sparse tensors are a merge; a product of two is a join, a product of values, and a merge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base.errors import DTypeError, IndexOutOfRange, ShapeError
from msnb.core import dtypes
from msnb.core.types import TensorType, tensor_type
from msnb.ops.definition.operand_checks import strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, define
from msnb.ops.definition.symbolic_sizes import bound_of, fresh
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.indexing.gather import take
from msnb.ops.shape.index_spec import may_equal
from msnb.ops.sparse.row_pointers import COLUMNS, POINTERS, check_columns, check_counts, check_pointers, need_pointers

FAMILY = "sparse"

_KEYS = np.array([5, 2, 5])


def _merge_type(keys: TensorType, values: TensorType) -> tuple[TensorType, TensorType, TensorType]:
    if keys.ndim != 1 or not keys.dtype.is_int:
        raise DTypeError("entry_merge: keys are a vector of integers.", operands=operand_lines(keys))
    if not values.ndim or not may_equal(values.shape[0], keys.shape[0]):
        raise ShapeError("entry_merge needs a value for every key.", operands=operand_lines(keys, values))
    n = fresh("n", bound_of(keys.shape[0]))
    sums = tensor_type((n, *values.shape[1:]), strong_dtype(values))
    return tensor_type((n,), keys.dtype), sums, tensor_type(keys.shape, dtypes.int64)


def _merge_body(xp: Any, keys: Any, values: Any) -> Any:
    check_counts("entry_merge", values, len(keys))
    found, places = xp.unique(keys, return_inverse=True)
    sums = xp.zeros((found.shape[0], *values.shape[1:]), values.dtype)
    xp.add.at(sums, places, values)
    return found, sums, places.astype(xp.int64, copy=False)


ENTRY_MERGE = define(
    "entry_merge",
    "keys, values",
    infer=_merge_type,
    body=_merge_body,
    grad=lambda douts, outs: (None, take(douts[1], outs[2])),
    axes=lambda types, attrs: (lambda rest: f"p!, p!{rest} -> q!, q!{rest}, p!")("".join(f" {c}" for c in "abcdefgh"[: types[1].ndim - 1])),
    traits=("pure", "dynamic"),
    doc="The different keys in order, the sum of the values of each, and where every key is among them.",
    examples=(
        Example((_KEYS, np.array([0.5, -1.0, 2.0]))),
        Example((_KEYS, np.arange(6.0).reshape(3, 2) / 4)),
        Example((np.zeros((0,), np.int64), np.zeros((0,)))),
    ),
    wrong=(
        InvalidExample((_KEYS, np.ones(2)), {}, "a value for every key", ShapeError),
        InvalidExample((np.ones(2), np.ones(2)), {}, "a vector of integers", DTypeError),
    ),
)  # fmt: skip


def _join_type(indptr: TensorType, indices: TensorType) -> tuple[TensorType, TensorType]:
    need_pointers("row_join", indptr, indices)
    pairs = tensor_type((fresh("n", None),), dtypes.int64)
    return pairs, pairs


def _join_body(xp: Any, indptr: Any, indices: Any) -> Any:
    check_pointers(xp, indptr, int(indptr[-1]))
    check_columns(xp, indices, indptr.shape[0] - 1)
    first = indptr[indices].astype(xp.int64)
    ends = xp.cumsum(indptr[indices + 1].astype(xp.int64) - first)
    turns = xp.arange(int(ends[-1]) if len(ends) else 0, dtype=xp.int64)
    entry = xp.searchsorted(ends, turns, side="right").astype(xp.int64)
    before = xp.concatenate([xp.zeros(1, xp.int64), ends[:-1]]) if len(ends) else ends
    return entry, first[entry] + turns - before[entry]


ROW_JOIN = define(
    "row_join",
    "indptr, indices",
    infer=_join_type,
    body=_join_body,
    no_grad="positions do not change with small changes of values",
    axes="r!, p! -> q!, q!",
    traits=("pure", "dynamic"),
    doc="For every index, the entries of the row that it names: pairs (which index, which entry).",
    examples=(Example((POINTERS, np.array([2, 0, 1]))), Example((POINTERS, np.zeros((0,), np.int64)))),
    wrong=(InvalidExample((POINTERS, COLUMNS), {}, "column 3", IndexOutOfRange),),
)
