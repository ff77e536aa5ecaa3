"""What one rank does for its part of an op: attributes that name sizes become local, indexed rows are shifted.

    reshape(x, shape=(8, 4, 16))   split in two along axis 0   ->   every rank: reshape(part, shape=(4, 4, 16))
    gather(table, ids)             table's rows in two         ->   ids - first row; ids of the other half give zeros
    arange, zeros, random draws    no input to split           ->   every rank makes the whole and keeps its slice

A strategy whose local call does not infer to the part it should make is no strategy (``fits``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import MsnbError
from msnb.core import TensorType, float32, tensor_type
from msnb.ops.definition.record import Op


def local_attrs(op: Op, attrs: Mapping[str, Any], outs: Sequence[TensorType]) -> dict[str, Any]:
    """The attributes of a rank's own call, whose results have the types ``outs``."""
    same_rank = op.name == "unindex" and len(outs[0].shape) == len(attrs["shape"])
    if same_rank or ("shape" in attrs and (op.view or op.reduction)):
        return {**attrs, "shape": outs[0].shape}
    return dict(attrs)


def local_type(t: TensorType, shape: Sequence[int]) -> TensorType:
    """The type of a part."""
    return tensor_type(tuple(shape), t.dtype, t.weak)


def widened(t: TensorType) -> TensorType:
    """The type in which terms of a sum over ranks travel that is taken in float32: 16-bit floats become float32."""
    narrow = t.dtype.is_float and t.dtype.itemsize < 4 and not t.weak
    return tensor_type(t.shape, float32) if narrow else t


def fits(op: Op, attrs: Mapping[str, Any], types: Sequence[TensorType], outs: Sequence[TensorType]) -> bool:
    """True when the local call gives results of the types ``outs``."""
    if not types:
        return True
    try:
        made = op.result_types(tuple(types), local_attrs(op, attrs, outs))
    except (MsnbError, ValueError):
        return False
    return len(made) == len(outs) and all(isinstance(m, TensorType) and m.shape == t.shape for m, t in zip(made, outs))


def own_rows(index: Any, size: int, rows: int, first: int, xp: Any = np) -> tuple[Any, Any]:
    """Indices into a table of ``size`` rows as indices into rows ``first`` ... of one rank, and which are its own."""
    positive = xp.where(index < 0, index + size, index)
    mine = (positive >= first) & (positive < first + rows)
    return xp.where(mine, positive - first, 0), mine
