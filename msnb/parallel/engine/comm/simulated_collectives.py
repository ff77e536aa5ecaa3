"""Collectives on simulated ranks: a list of arrays in, one per rank, a list of arrays out.

The same moves that ``msnb.parallel.sharding.reshard`` and ``msnb.parallel.sharding.halo`` plan. Reductions add in the
order of the ranks of a group, so results do not depend on timing, and all ranks of a group hold the same bits.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.parallel.engine.comm.shards import sliced
from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, REDUCE, SCATTER, Mesh, sent_bytes
from msnb.parallel.sharding.halo import Halo
from msnb.parallel.sharding.reshard import SLICE, Move

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
        return [sliced(mesh, move.axes, move.dim, part, rank) for rank, part in enumerate(parts)]
    out: Parts = list(parts)
    for group in mesh.groups(move.axes):
        for rank, part in zip(group, _together(move, [parts[r] for r in group], reducer)):
            out[rank] = part
    return out


def _together(move: Move, parts: Parts, reducer: str) -> Parts:
    """One group's collective."""
    p = len(parts)
    if isinstance(move, Halo):
        mail = [move.outgoing(at, part) for at, part in enumerate(parts)]
        came = [{other: sent[at] for other, sent in enumerate(mail) if at in sent} for at in range(p)]
        return [move.joined(at, part, came[at]) for at, part in enumerate(parts)]
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


def bytes_sent(mesh: Mesh, move: Move, parts: Parts) -> int:
    """Bytes that all ranks together send for a move into which they put these parts."""
    if not isinstance(move, Halo):
        return len(parts) * sent_bytes(move.kind, mesh.count(move.axes), parts[0].nbytes)
    places = ((at, parts[rank]) for group in mesh.groups(move.axes) for at, rank in enumerate(group))
    return sum(block.nbytes for at, part in places for to, block in move.outgoing(at, part).items() if to != at)
