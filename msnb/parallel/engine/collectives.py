"""Collectives on simulated ranks: a list of arrays in, one per rank, a list of arrays out.

The same five moves that ``msnb.parallel.reshard`` plans. Reductions add in the order of the ranks of a group, so
results do not depend on timing, and all ranks of a group hold the same bits.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.parallel.layout import Axes
from msnb.parallel.mesh import EXCHANGE, GATHER, REDUCE, SCATTER, Mesh
from msnb.parallel.reshard import SLICE, Move

Parts = list[NDArray[Any]]

REDUCERS = {
    "sum": "add",
    "mean": "add",
    "max": "maximum",
    "min": "minimum",
    "prod": "multiply",
    "any": "logical_or",
    "all": "logical_and",
}


def run_move(mesh: Mesh, move: Move, parts: Parts, reducer: str = "sum") -> Parts:
    """Every rank's array after the move."""
    if move.kind == SLICE:
        return _sliced(mesh, move.axes, move.dim, parts)
    out: Parts = list(parts)
    for group in mesh.groups(move.axes):
        for rank, part in zip(group, _together(move, [parts[r] for r in group], reducer)):
            out[rank] = part
    return out


def _together(move: Move, parts: Parts, reducer: str) -> Parts:
    """One group's collective."""
    p = len(parts)
    if move.kind == GATHER:
        return [np.concatenate(parts, axis=move.dim)] * p
    if move.kind == EXCHANGE:
        chunks = [np.split(part, p, axis=move.to) for part in parts]
        return [np.concatenate([row[i] for row in chunks], axis=move.dim) for i in range(p)]
    total = reduced(parts, reducer)
    if move.kind == REDUCE:
        return [total] * p
    assert move.kind == SCATTER
    return list(np.split(total, p, axis=move.dim))


def reduced(parts: Parts, reducer: str, xp: Any = np) -> Any:
    """The reduction of the parts, in their order."""
    total = xp.asarray(reduce(getattr(xp, REDUCERS[reducer]), parts), dtype=parts[0].dtype)
    return xp.asarray(total / len(parts), dtype=total.dtype) if reducer == "mean" else total


def _sliced(mesh: Mesh, axes: Axes, dim: int, parts: Parts) -> Parts:
    out = []
    for rank, part in enumerate(parts):
        i = 0
        for a in axes:
            i = i * mesh.factors[a] + int(mesh.coordinates[rank][a])
        n = part.shape[dim] // mesh.count(axes)
        out.append(part[(slice(None),) * dim + (slice(i * n, (i + 1) * n),)])
    return out
