"""Images in pieces: what the windows of a rank see of its neighbours' rows.

    rows        0  1  2  3 | 4  5  6  7         two ranks with four rows each, windows of three rows, one row of padding
    rank 0      windows 0..3 see rows -1..4     padding above, its own rows, row 4 of rank 1
    rank 1      windows 4..7 see rows 3..8      row 3 of rank 0, its own rows, padding below

    halo_exchange    before the op: every rank gets the rows that its windows see, and lets go those that they do not
    halo_add         behind a gradient by the images: the same rows the other way, terms are added where the row lives

What a rank's windows see is one interval of rows (``Slide.sees``), whatever stride, dilation and padding are; who lacks
what of it follows from the intervals alone. So windows may reach over more than one neighbour, ranks at the border have
fewer neighbours, and intervals may be of unequal lengths. Rows and columns go one after the other: the second exchange
carries the corners that the first one brought.

Every rank computes the windows it owns and no other: no arithmetic is done twice. What is exchanged is not kept; the
gradient of a convolution by its weight asks for the rows once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from msnb.core import TensorType
from msnb.ops.definition.window_geometry import WindowExtent
from msnb.parallel.sharding.device_mesh import HALO, HALO_ADD, Mesh
from msnb.parallel.sharding.layout import Axes, TensorLayout
from msnb.parallel.sharding.op_axes import HALO as SEEN, Label, OpAxes
from msnb.parallel.sharding.reshard import Move

Views = Mapping[str, tuple[WindowExtent, ...]]  # halo label -> what the windows of every piece see


@dataclass(frozen=True)
class Halo(Move):
    """Rows (or columns) of images to the ranks whose windows see them, or terms of rows back.

    Attributes:
        seen: per rank of a group, in its order, the first row that its windows see and the one behind the last.
        block: how many rows every rank owns; rank i has those from ``i * block`` on.
        share: bytes that a rank sends, the mean over all ranks. ``nbytes`` is the most that one sends.
    """

    seen: tuple[tuple[int, int], ...] = ()
    block: int = 0
    share: float = 0.0

    @property
    def silent(self) -> bool:
        """True when no rank sees a row of another."""
        return not self.share

    def sent(self, mesh: Mesh) -> float:
        """Bytes that a rank sends, the mean over all ranks."""
        return int(self.share) if self.share.is_integer() else self.share

    def common(self, viewer: int, owner: int) -> tuple[int, int]:
        """The rows that the windows of one see and that another owns (none where the second is not the greater)."""
        start, stop = self.seen[viewer]
        return max(start, owner * self.block), min(stop, (owner + 1) * self.block)

    def outgoing(self, at: int, part: Any, xp: Any = np) -> dict[int, Any]:
        """What the rank at a place in its group sends to which others, and what it keeps under its own number."""
        out = {}
        for other in range(len(self.seen)):
            start, stop = self.common(at, other) if self.kind == HALO_ADD else self.common(other, at)
            first = self.seen[at][0] if self.kind == HALO_ADD else at * self.block
            if start < stop:
                out[other] = xp.asarray(part[self._rows(start - first, stop - first)], order="C")
        return out

    def incoming(self, at: int, part: Any) -> dict[int, tuple[int, ...]]:
        """From which others something comes, and of what shape."""
        out = {}
        for other in range(len(self.seen)):
            start, stop = self.common(other, at) if self.kind == HALO_ADD else self.common(at, other)
            if start < stop and other != at:
                out[other] = (*part.shape[: self.dim], stop - start, *part.shape[self.dim + 1 :])
        return out

    def joined(self, at: int, part: Any, came: Mapping[int, Any], xp: Any = np) -> Any:
        """A rank's array after the move, of what came and what it kept, in the order of the group."""
        if self.kind == HALO:
            return xp.concatenate([came[other] for other in sorted(came)], axis=self.dim)
        out = xp.zeros((*part.shape[: self.dim], self.block, *part.shape[self.dim + 1 :]), part.dtype)
        for other in sorted(came):
            start, stop = self.common(other, at)
            out[self._rows(start - at * self.block, stop - at * self.block)] += came[other]
        return out

    def _rows(self, start: int, stop: int) -> tuple[slice, ...]:
        return (slice(None),) * self.dim + (slice(start, stop),)


@lru_cache(maxsize=4096)
def seen_along(label: Label, pieces: int) -> tuple[WindowExtent, ...]:
    """What the windows of every piece see of a label's rows, when rows and windows are split evenly."""
    assert label.slide is not None
    n = label.windows // pieces
    return tuple(label.slide.sees(i * n, (i + 1) * n, label.size) for i in range(pieces))


def views(axes: OpAxes, blocks: Mapping[str, Axes], mesh: Mesh) -> dict[str, tuple[WindowExtent, ...]]:
    """What the windows of every piece see, for the halo labels that a strategy splits."""
    halos = {name: run for name, run in blocks.items() if axes.labels[name].kind == SEEN}
    return {name: seen_along(axes.labels[name], mesh.count(run)) for name, run in halos.items()}


def blind(found: Views) -> bool:
    """True when the windows of some piece see padding alone: such a piece has nothing to compute from."""
    return any(seen.stop <= seen.start for pieces in found.values() for seen in pieces)


def seen_shape(axes: OpAxes, i: int, shape: Sequence[int], seen: Mapping[str, WindowExtent]) -> tuple[int, ...]:
    """The shape of a rank's part of tensor ``i`` (inputs, then outputs) with all rows that its windows see."""
    row = (*axes.inputs, *axes.outputs)[i]
    asked = set(axes.rims[i]) & set(seen) if axes.rims else set()
    return tuple(seen[name].stop - seen[name].start if name in asked else n for name, n in zip(row, shape))


def exchanges(mesh: Mesh, axes: OpAxes, i: int, blocks: Mapping[str, Axes], layout: TensorLayout,
              t: TensorType) -> tuple[Halo, ...]:  # fmt: skip
    """The moves after which every rank has all rows of tensor ``i`` (inputs, then outputs) that its windows see.

    Args:
        blocks: the mesh axes of every label that is split; layout: of the tensor; t: its type.
    """
    found = views(axes, blocks, mesh)
    names = [name for name in axes.rims[i] if name in found] if found else []
    if not names:
        return ()
    row, local = (*axes.inputs, *axes.outputs)[i], layout.local_shape(mesh, t.ints())
    mean = most = Fraction(int(layout.local_bytes(mesh, t.nbytes)))  # bytes that a rank has of the tensor by now
    out = []
    for name in names:
        dim, pieces = row.index(name), found[name]
        block, lengths = local[dim], [seen.stop - seen.start for seen in pieces]
        rows = Halo(HALO, blocks[name], dim, -1, layout, layout, 0.0, 0.0, tuple(seen[:2] for seen in pieces), block)
        if any(seen != (k * block, (k + 1) * block) for k, seen in enumerate(rows.seen)):
            out.append(_priced(mesh, rows, mean / block, most / block))
        mean, most = mean * sum(lengths) / (len(lengths) * block), most * max(lengths) / block
    return tuple(out)


def _priced(mesh: Mesh, halo: Halo, mean: Fraction, most: Fraction) -> Halo:
    """With bytes and seconds; ``mean``, ``most``: bytes of a row, on average and at most."""
    p, crossing = len(halo.seen), 0
    loads: dict[tuple[int, int], float] = {}
    for viewer, (start, stop) in enumerate(halo.seen):
        for owner in range(start // halo.block, (stop - 1) // halo.block + 1):
            first, last = halo.common(viewer, owner)
            if owner != viewer:
                loads[owner, viewer] = float((last - first) * most)
                crossing += last - first
    sent = [sum(n for (owner, _), n in loads.items() if owner == at) for at in range(p)]
    return replace(halo, nbytes=max(sent), seconds=mesh.seconds_between(halo.axes, loads),
                   share=float(crossing * mean / p))  # fmt: skip


def returns(there: Sequence[Halo]) -> tuple[Halo, ...]:
    """The moves that bring terms of rows back where the rows live: those of the exchange, the other way."""
    return tuple(replace(move, kind=HALO_ADD) for move in reversed(there))
