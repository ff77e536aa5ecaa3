"""Entries that meet: equal keys become one, and entries are joined with the rows that they name.

    entry_merge   keys [5, 2, 5]                  ->   keys [2, 5], number of each [1, 0, 1]
    merged        ..., values [a, b, c]           ->   keys [2, 5], values [b, a + c]
    row_join      pointers of B, columns of A     ->   for every entry of A the entries of B in the row it meets

Sums of sparse tensors are a merge; a product of two is a join, a product of values, and a merge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base.errors import DTypeError, IndexOutOfRange
from msnb.core import Tensor, TensorType, dtypes, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, bound_of, define, fresh, operand_lines, strong_dtype
from msnb.ops.indexing.gather import take
from msnb.ops.shape.index_records import UNINDEX
from msnb.ops.sparse.row_pointers import (
    COLUMNS,
    POINTERS,
    RECORDS,
    check_columns,
    check_pointers,
    need_pointers,
    one_by_one,
)

FAMILY = "sparse"

_KEYS = np.array([5, 2, 5])
_VALUES, _PLACES = np.array([0.5, -1.0, 2.0]), np.array([2, 0, 2, 1])


def _merge_type(keys: TensorType) -> tuple[TensorType, TensorType, TensorType]:
    if keys.ndim != 1 or not keys.dtype.is_int:
        raise DTypeError("entry_merge: keys are a vector of integers.", operands=operand_lines(keys))
    n = fresh("n", bound_of(keys.shape[0]))
    return tensor_type((n,), keys.dtype), tensor_type((n,), dtypes.int64), tensor_type(keys.shape, dtypes.int64)


def _merge_body(xp: Any, keys: Any) -> Any:
    found, places = xp.unique(keys, return_inverse=True)
    return found, xp.arange(found.shape[0], dtype=xp.int64), places.astype(xp.int64, copy=False)


ENTRY_MERGE = define(
    "entry_merge",
    "keys",
    infer=_merge_type,
    body=_merge_body,
    no_grad="keys are places, no numbers",
    axes="p! -> q!, q!, p!",
    traits=("pure", "dynamic"),
    doc="The different keys in order, their numbers from 0 on, and the number of every key.",
    examples=(Example((_KEYS,)), Example((np.zeros((0,), np.int64),))),
    wrong=(InvalidExample((np.ones(2),), {}, "a vector of integers", DTypeError),),
)


def merged(keys: Any, values: Any, most: int) -> tuple[Any, Tensor]:
    """The different keys in order, and the sum of the values of each; ``most``: how many keys there can be.

    The sums are made where there is room for as many as there are entries, of which the first are kept: so all sizes
    but that of the result are known before the program runs, and it can be differentiated.
    """
    found, numbers, places = ENTRY_MERGE(keys)
    bound = bound_of(values.shape[0])
    room = most if bound is None else min(most, bound)
    spec = ("t", *((None, None, None),) * (values.ndim - 1))
    whole = UNINDEX(values, places, spec=spec, shape=(room, *values.shape[1:]))
    return found, take(whole, numbers, axis=0)  # the room is known, so plain rows of a table


def _rest(t: TensorType) -> str:
    return "".join(f" {c}" for c in "abcdefgh"[: t.ndim - 1])


ENTRY_TAKE: Op = define(
    "entry_take",
    "x, index, entries",
    onnx="Gather(x, index, axis=0)",
    infer=lambda x, index, entries: tensor_type((index.shape[0], *x.shape[1:]), strong_dtype(x)),
    body=lambda xp, x, index, entries: x[index],
    grad=lambda dout, index, entries: (ENTRY_PUT(dout, index, entries), None, None),
    axes=lambda types, attrs: f"q!{_rest(types[0])}, p!, q! -> p!{_rest(types[0])}",
    batch=one_by_one("entry_take"),
    doc="x[index] where only the data tell how many entries x has: as many as there are integers ``entries``.",
    examples=(Example((_VALUES, _PLACES, np.arange(3))),),
    wrong=(InvalidExample((np.ones(2),), {}, "entry_take takes the tensors"),),
)


def _put_body(xp: Any, y: Any, index: Any, entries: Any) -> Any:
    out = xp.zeros((entries.shape[0], *y.shape[1:]), y.dtype)
    xp.add.at(out, index, y)
    return out


ENTRY_PUT: Op = define(
    "entry_put",
    "y, index, entries",
    infer=lambda y, index, entries: tensor_type((entries.shape[0], *y.shape[1:]), strong_dtype(y)),
    body=_put_body,
    grad=lambda dout, index, entries: (ENTRY_TAKE(dout, index, entries), None, None),
    axes=lambda types, attrs: f"p!{_rest(types[0])}, p!, q! -> q!{_rest(types[0])}",
    batch=one_by_one("entry_put"),
    doc="Zeros for as many entries as there are integers ``entries``, with y added at an index.",
    examples=(Example((np.array([0.5, -1.0, 2.0, 4.0]), _PLACES, np.arange(3))),),
    wrong=(InvalidExample((np.ones(2),), {}, "entry_put takes the tensors"),),
)
RECORDS["entry_take"], RECORDS["entry_put"] = ENTRY_TAKE, ENTRY_PUT


def taken(x: Any, index: Any, entries: Any) -> Tensor:
    """x[index] along the first axis; ``entries``: a vector of as many integers as x has entries."""
    return take(x, index, axis=0) if type(x.shape[0]) is int else ENTRY_TAKE(x, index, entries)


def _join_type(indptr: TensorType, indices: TensorType) -> tuple[TensorType, TensorType]:
    need_pointers("row_join", indptr, indices)
    pairs = tensor_type((fresh("n", None),), dtypes.int64)
    return pairs, pairs


def _join_body(xp: Any, indptr: Any, indices: Any) -> Any:
    check_pointers(xp, indptr, None)
    check_columns(xp, indices, indptr.shape[0] - 1)
    first = indptr[indices].astype(xp.int64)
    counts = indptr[indices + 1].astype(xp.int64) - first
    ends = xp.cumsum(counts)
    entry = xp.cumsum(xp.bincount(ends))[:-1].astype(xp.int64)  # how many entries end before each pair
    turns = xp.arange(entry.shape[0], dtype=xp.int64)
    return entry, first[entry] + turns - (ends - counts)[entry]


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
