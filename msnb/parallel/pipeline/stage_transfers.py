"""Who sends what to whom when a value goes from one team of ranks to another.

    team 0, two ranks, rows split          team 1, four ranks: two parts, two copies of each
      rank 0 | rows 0..3                     rank 2 | rows 0..3   from rank 0
      rank 1 | rows 4..7                     rank 3 | rows 4..7   from rank 1
                                             rank 4 | rows 0..3   from rank 0
                                             rank 5 | rows 4..7   from rank 1
Every receiver gets its own part and no byte more, in pieces where the teams cut differently. Where several senders hold
the same part they take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msnb.parallel.program.spmd_program import RankGroup
from msnb.parallel.sharding.layout import TensorLayout

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class TransferBlock:
    """A block of a value on its way.

    Attributes:
        sender, receiver: ranks of the world.
        there, here: where the block lies in the sender's part and in the receiver's.
    """

    sender: int
    receiver: int
    there: Slices
    here: Slices

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the block."""
        return tuple(s.stop - s.start for s in self.here)


def pieces(shape: Sequence[int], sender: RankGroup, source: TensorLayout, receiver: RankGroup,
           target: TensorLayout) -> list[TransferBlock]:  # fmt: skip
    """The blocks of one value, in the order of the receivers.

    Examples:
        >>> from msnb.parallel.sharding.device_mesh import Mesh
        >>> two, one = RankGroup(0, Mesh((2,))), RankGroup(2, Mesh(()))
        >>> [(p.sender, p.receiver, p.shape) for p in pieces([8], two, TensorLayout(((0,),)), one, TensorLayout(((),)))]
        [(0, 2, (4,)), (1, 2, (4,))]
    """
    copies: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for rank in range(sender.mesh.size):
        copies.setdefault(_ends(source.part(sender.mesh, shape, rank)), []).append(rank)
    return [piece for rank in range(receiver.mesh.size)
            for piece in _arriving(shape, copies, sender.first, receiver, target, rank)]  # fmt: skip


def _ends(part: Slices) -> tuple[tuple[int, int], ...]:
    return tuple((s.start, s.stop) for s in part)


def _arriving(shape: Sequence[int], copies: dict[tuple[tuple[int, int], ...], list[int]], first: int,
receiver: RankGroup,
              target: TensorLayout, rank: int) -> Iterator[TransferBlock]:  # fmt: skip
    mine = target.part(receiver.mesh, shape, rank)
    for theirs, ranks in copies.items():
        both = [(max(s.start, a), min(s.stop, b)) for s, (a, b) in zip(mine, theirs)]
        if all(a < b for a, b in both):
            there = tuple(slice(a - o, b - o) for (a, b), (o, _) in zip(both, theirs))
            here = tuple(slice(a - s.start, b - s.start) for (a, b), s in zip(both, mine))
            yield TransferBlock(first + ranks[rank % len(ranks)], receiver.first + rank, there, here)
