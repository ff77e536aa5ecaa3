"""All ranks of a plan in this process: those of a team walk in lockstep, each to its next collective, then all do it
together. Teams (pipeline stages) go on in turn; what one sends lies in a mailbox until another asks for it.

Values are real (NumPy bodies, NumPy collectives), so a plan can be checked against the single device: the same loss,
the same gradients, up to the order of sums. Bytes are counted as the ranks send them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.base import DeviceError
from msnb.parallel.engine.comm.rank_requests import CollectiveRequest, RecvRequest, ReplicatedWork, Request, SendRequest
from msnb.parallel.engine.comm.shards import together
from msnb.parallel.engine.comm.simulated_collectives import bytes_sent, run_move
from msnb.parallel.engine.rank.rank_executor import RankExecutor, RankProgram
from msnb.parallel.program.spmd_program import SEND, Buffer, SpmdProgram
from msnb.parallel.sharding.device_mesh import Mesh

MOST = 64
Mail = dict[tuple[int, int], deque[Any]]  # (sender, receiver) -> blocks on their way


@dataclass
class Ranks:
    """A run on simulated ranks.

    Args:
        keep: keep every buffer until the end, to look at.

    Attributes:
        walks: rank by rank.
    """

    program: SpmdProgram
    keep: bool = False
    walks: list[RankExecutor] = field(default_factory=list)
    _bytes: dict[str, int] = field(default_factory=dict)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Run on the params' values (arrays, Python numbers); gives the whole outputs, then the gradients.

        Raises:
            DeviceError: more than 64 ranks.
        """
        program = self.program
        if program.size > MOST:
            raise DeviceError(f"{program.size} ranks are too many for one process; inproc runs up to {MOST}.")
        self.walks = self._walks()
        for walk in self.walks:
            for p, value in zip(program.graph.params, args):
                if walk.recipe.team in program.holders(p):
                    walk.enter(p, value)
        results = self._all_teams()
        return [
            together(program, b, column) for b, column in zip((*program.outputs, *program.gradients), zip(*results))
        ]

    def _walks(self) -> list[RankExecutor]:
        """All ranks, at their beginnings; those of a team share what was made ready."""
        recipes = [RankProgram(self.program, team, self.keep) for team in range(len(self.program.teams))]
        return [RankExecutor(r, rank) for r in recipes for rank in range(r.mesh.size)]

    def _all_teams(self) -> list[list[Any]]:
        """Drive the teams in turn, each until it waits for another, until all are at their ends."""
        mail: Mail = {}
        crews = [_Crew(self, team.mesh, [self.walks[r] for r in team.ranks], mail) for team in self.program.teams]
        while open_ := [crew for crew in crews if not crew.results]:
            moved = [crew.go_on() for crew in open_]
            assert any(moved), "a plan's steps stand in an order in which they can be taken"
        return [row for crew in crews for row in crew.results]

    def count(self, kind: str, nbytes: int) -> None:
        """Bytes that were sent, by all ranks together."""
        self._bytes[kind] = self._bytes.get(kind, 0) + nbytes

    @property
    def sent(self) -> dict[str, float]:
        """Bytes that a rank sent (the mean, where they differ), by kind of collective."""
        size = self.program.size
        return {kind: n / size if n % size else n // size for kind, n in self._bytes.items()}

    @property
    def buffers(self) -> dict[Buffer, list[Any]]:
        """Every rank's part of every value that is still held."""
        held = self.walks[0].parts
        return {(v, layout): [w.parts[v][layout] for w in self.walks] for v in held for layout in held[v]}


class _Crew:
    """The walks of a team, in lockstep.

    Attributes:
        results: per rank what its walk gave, at the end.
    """

    def __init__(self, ranks: Ranks, mesh: Mesh, walks: list[RankExecutor], mail: Mail) -> None:
        self.ranks, self.mesh, self.mail = ranks, mesh, mail
        self.numbers = [walk.recipe.first + walk.rank for walk in walks]
        self.runs = [walk.run() for walk in walks]
        self.replies: list[Any] = [None] * len(walks)
        self.waiting: list[Request] = []
        self.results: list[list[Any]] = []

    def go_on(self) -> bool:
        """Walk until nothing is left, or until something must come first; False when that holds at once."""
        moved = False
        while not self.results and (not self.waiting or self._answered()):
            moved = True
            self._walk()
        return moved

    def _walk(self) -> None:
        """All to their next request, or to their end. A rank that has nothing to send goes straight on."""
        self.waiting = []
        for i, run in enumerate(self.runs):
            try:
                request = run.send(self.replies[i])
                while isinstance(request, SendRequest):
                    self._post(self.numbers[i], request)
                    request = run.send(None)
                self.waiting.append(request)
            except StopIteration as end:
                self.results.append(end.value)
        assert len(self.results) in (0, len(self.runs)), "all ranks of a team walk the same steps"

    def _answered(self) -> bool:
        """Whether the requests could be answered."""
        requests, first = self.waiting, self.waiting[0]
        if isinstance(first, RecvRequest):
            asked = [(me, r.blocks) for me, r in zip(self.numbers, requests) if isinstance(r, RecvRequest)]
            if not all(self.mail.get((source, me)) for me, blocks in asked for source in blocks):
                return False
            self.replies = [{source: self.mail[source, me].popleft() for source in blocks} for me, blocks in asked]
            return True
        if isinstance(first, ReplicatedWork):
            self.replies = [first.run()] * len(requests)
            return True
        assert isinstance(first, CollectiveRequest)
        parts = [r.part for r in requests if isinstance(r, CollectiveRequest)]
        move = first.move
        self.ranks.count(move.kind, bytes_sent(self.mesh, move, parts))
        self.replies = run_move(self.mesh, move, parts, first.reducer)
        return True

    def _post(self, me: int, request: SendRequest) -> None:
        for to, block in request.blocks.items():
            self.mail.setdefault((me, to), deque()).append(block)
            self.ranks.count(SEND, block.nbytes)
