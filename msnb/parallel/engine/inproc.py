"""All ranks of a plan in this process, in lockstep: every rank walks to its next collective, then all do it together.

Values are real (NumPy bodies, NumPy collectives), so a plan can be checked against the single device: the same loss,
the same gradients, up to the order of sums. Bytes are counted as the ranks send them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.core.errors import DeviceError
from msnb.parallel.engine.collectives import run_move
from msnb.parallel.engine.ranks import together
from msnb.parallel.engine.walk import Moved, Recipe, Request, Run, Same, Walk
from msnb.parallel.layout import TensorLayout
from msnb.parallel.mesh import sent_bytes
from msnb.parallel.program import Buffer, Program

MOST = 64


@dataclass
class Ranks:
    """A run on simulated ranks.

    Args:
        keep: keep every buffer until the end, to look at.

    Attributes:
        sent: bytes that each rank sent, by kind of collective.
    """

    program: Program
    keep: bool = False
    sent: dict[str, int] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Run on the params' values (arrays, Python numbers); gives the whole outputs, then the gradients.

        Raises:
            DeviceError: more than 64 ranks.
        """
        mesh = self.program.mesh
        if mesh.size > MOST:
            raise DeviceError(f"{mesh.size} ranks are too many for one process; inproc runs up to {MOST}.")
        recipe = Recipe(self.program, self.keep)
        self.walks = [Walk(recipe, rank) for rank in range(mesh.size)]
        for walk in self.walks:
            for p, value in zip(self.program.graph.params, args):
                walk.enter(p, value)
        results = self._lockstep([walk.run() for walk in self.walks])
        return [
            together(self.program, b, column)
            for b, column in zip((*self.program.outputs, *self.program.gradients), zip(*results))
        ]

    def _lockstep(self, runs: list[Run]) -> list[list[Any]]:
        """Drive all walks to their ends."""
        replies: list[Any] = [None] * len(runs)
        while True:
            requests: list[Request] = []
            ended: list[list[Any]] = []
            for run, reply in zip(runs, replies):
                try:
                    requests.append(run.send(reply))
                except StopIteration as end:
                    ended.append(end.value)
            if ended:
                assert len(ended) == len(runs), "all ranks walk the same steps"
                return ended
            replies = self._together(requests)

    def _together(self, requests: list[Request]) -> list[Any]:
        first = requests[0]
        if isinstance(first, Same):
            return [first.run()] * len(requests)
        mesh, move = self.program.mesh, first.move
        parts = [r.part for r in requests if isinstance(r, Moved)]
        sent = sent_bytes(move.kind, mesh.count(move.axes), parts[0].nbytes)
        self.sent[move.kind] = self.sent.get(move.kind, 0) + sent
        return run_move(mesh, move, parts, first.reducer)

    @property
    def buffers(self) -> dict[Buffer, list[Any]]:
        """Every rank's part of every value that is still held."""
        held = self.walks[0].parts
        return {(v, layout): [w.parts[v][layout] for w in self.walks] for v in held for layout in held[v]}


def same_on_copies(program: Program, buffer: Buffer, parts: Sequence[Any]) -> bool:
    """True when ranks that should hold the same part do."""
    layout: TensorLayout = buffer[1]
    coordinates = program.mesh.coordinates[:, list(layout.used)] if layout.used else np.zeros((program.mesh.size, 0))
    first: dict[tuple[int, ...], Any] = {}
    for row, part in zip(coordinates, parts):
        held = first.setdefault(tuple(int(i) for i in row), part)
        if not np.array_equal(held, part, equal_nan=getattr(part.dtype, "kind", "") in "fc"):
            return False
    return True
