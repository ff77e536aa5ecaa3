"""A plan as a straight list of steps that every rank walks through: runs of ops and moves of values.

    move   w.T   [(), (0,1)] -> [(), ()]     all_gather over mesh axes 0, 1
    run    matmul  m over 0, k over 1        local product; the open sum over mesh axis 1 is taken by an all_reduce

A buffer is a value in one layout. The same list is run by the simulated ranks, timed by the simulator, and counted: so
the bytes that a plan promises are the bytes that its ranks send.

Ranks that walk the same steps are a *team*, on a mesh of their own. Most programs have one; the stages of a pipeline
are a team each, and what one of them needs of another is sent (``SendStep``) and received (``RecvStep``): two steps,
because the sender goes on at once.

    send   h  (0,) on team 0 -> (0,) on team 1     behind the step that makes h
    recv   h  (0,) on team 0 -> (0,) on team 1     before the step of team 1 that reads it

Every team takes its own steps in the order of the list, and the list is an order in which all steps can be taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.core import TensorType
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.sharding.device_mesh import REDUCE, SCATTER, Mesh
from msnb.parallel.sharding.halo import Halo, exchanges, returns
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.local_op import widened
from msnb.parallel.sharding.reshard import Move
from msnb.parallel.sharding.strategies import OpSignature, Strategy

Buffer = tuple[Value, TensorLayout]
FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
SEND = "send"


@dataclass(frozen=True)
class RankGroup:
    """Ranks that walk the same steps.

    Attributes:
        first: the rank in the world of its first; mesh: how they stand.
    """

    first: int
    mesh: Mesh

    @property
    def ranks(self) -> range:
        """Their ranks in the world."""
        return range(self.first, self.first + self.mesh.size)


@dataclass
class MoveStep:
    """Bring a value from one layout to another."""

    value: Value
    moves: tuple[Move, ...]
    source: TensorLayout
    target: TensorLayout
    phase: str
    where: str
    late: bool = False
    team: int = 0


@dataclass
class RunStep:
    """Run an op on every rank, then take its open sum.

    Attributes:
        operands, results: the values and layouts it reads and makes.
        late: nothing but gradients of weights waits for it, so its collective may run beside other work.
        wide: 16-bit terms of its open sum are made and added in float32 and rounded once, as on one device.
    """

    node: Node
    call: OpSignature
    strategy: Strategy
    operands: list[Buffer]
    results: list[Buffer]
    phase: str
    where: str
    late: bool = False
    wide: bool = False
    team: int = 0


@dataclass
class _Passing:
    """A value on its way from one team to another.

    Attributes:
        sender, receiver: numbers of the teams; source: the layout there; target: the layout here.
    """

    value: Value
    sender: int
    source: TensorLayout
    receiver: int
    target: TensorLayout
    phase: str
    where: str


class SendStep(_Passing):
    """Give parts to the ranks of another team, without waiting for them."""

    @property
    def team(self) -> int:
        """Who takes the step."""
        return self.sender


class RecvStep(_Passing):
    """Wait for the parts that another team sends. What a team sends to another is received in the order of sending."""

    @property
    def team(self) -> int:
        """Who takes the step."""
        return self.receiver


Local = MoveStep | RunStep  # what a team does without the others
Step = Local | SendStep | RecvStep


@dataclass(frozen=True)
class Collective:
    """One collective of a plan.

    Attributes:
        kind: "all_gather", "all_to_all", "reduce_scatter" or "all_reduce"; "halo_exchange" and "halo_add" where
            images are split; "send" between pipeline stages.
        group: the ranks of one rank's group (the context's ``global_rank``, 0 unless set; of a send, those that
            receive); the others are its translations along the mesh.
        groups: how many groups do it at once.
        nbytes: bytes that each rank puts in, or the most that one does.
        sent: bytes that each rank sends (of a send, that each rank receives), the mean where they differ.
        where: the operator it belongs to; phase: "forward", "backward" or "update".
        seconds: simulated.
    """

    kind: str
    group: tuple[int, ...]
    groups: int
    nbytes: int
    sent: float
    where: str
    phase: str
    seconds: float

    @property
    def total(self) -> int:
        """Bytes that all ranks together send."""
        return round(self.sent * len(self.group) * self.groups)


@dataclass
class SpmdProgram:
    """The steps of a plan.

    Attributes:
        teams: who walks; steps: of all teams.
        graph: the program they come from, with its gradient where it has one; trains: whether weights are trained.
        params: layouts of weights and optimizer state; anywhere: values of which every rank has the whole.
        outputs: the results; gradients: those of the weights, in the layout of the weight, of a step made from a loss.
        homes: the teams that have a param, a result or a gradient; what is not named here all have.
    """

    teams: tuple[RankGroup, ...]
    graph: Graph
    steps: list[Step] = field(default_factory=list)
    params: dict[Value, TensorLayout] = field(default_factory=dict)
    anywhere: set[Value] = field(default_factory=set)
    outputs: list[Buffer] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    gradients: list[Buffer] = field(default_factory=list)
    trains: bool = False
    homes: dict[Value, tuple[int, ...]] = field(default_factory=dict)

    @property
    def mesh(self) -> Mesh:
        """The mesh of the first team; of the only one, where there are no stages."""
        return self.teams[0].mesh

    @property
    def size(self) -> int:
        """The number of ranks."""
        return sum(team.mesh.size for team in self.teams)

    def team_of(self, rank: int) -> int:
        """The number of a rank's team."""
        return next(i for i, team in enumerate(self.teams) if rank in team.ranks)

    def holders(self, value: Value) -> tuple[int, ...]:
        """The numbers of the teams that have a param, a result or a gradient."""
        return self.homes.get(value) or tuple(range(len(self.teams)))

    def collectives(self, rank: int = 0) -> list[Collective]:
        """Every collective in the order of the steps, in its own team with the group that ``rank`` is in."""
        return [c for step in self.steps for c in collectives_of(self.teams, step, rank)]


def opening(mesh: Mesh, step: RunStep) -> list[tuple[Halo, ...]]:
    """What brings a step's operands the rows that a rank's windows see of its neighbours, per operand."""
    return moves_opening(mesh, step.call, step.strategy)


def closing(mesh: Mesh, step: RunStep) -> list[tuple[Move, ...]]:
    """The collectives that take the open sum of a step, per result."""
    return moves_closing(mesh, step.call, step.strategy, step.wide)


def moves_opening(mesh: Mesh, call: OpSignature, s: Strategy) -> list[tuple[Halo, ...]]:
    """The moves in front of an op under a strategy, per operand."""
    if not any(call.axes.rims):
        return [() for _ in zip(s.inputs, call.types)]
    blocks = dict(s.blocks)
    return [exchanges(mesh, call.axes, i, blocks, *one) for i, one in enumerate(zip(s.inputs, call.types))]


def moves_closing(mesh: Mesh, call: OpSignature, s: Strategy, wide: bool = False) -> list[tuple[Move, ...]]:
    """The moves behind an op under a strategy, per result: terms of images' rows go where the rows live, then sums over
    ranks are taken. ``wide``: 16-bit terms travel in float32."""
    if not s.partial and not any(call.axes.rims):
        return [() for _ in zip(call.outs, s.outputs)]
    out: list[tuple[Move, ...]] = []
    for i, (t, before, after) in enumerate(zip(call.outs, s.open_outputs(), s.outputs), len(call.types)):
        carried = widened(t) if wide else t
        moves: list[Move] = [*returns(exchanges(mesh, call.axes, i, dict(s.blocks), before, carried))]
        if s.partial:
            kind, n = REDUCE if s.scatter < 0 else SCATTER, int(before.local_bytes(mesh, carried.nbytes))
            seconds = mesh.seconds(kind, s.partial, n)
            moves.append(Move(kind, s.partial, s.scatter, s.scatter, before, after, n, seconds))
        out.append(tuple(moves))
    return out


def collectives_of(teams: Sequence[RankGroup], step: Step, rank: int = 0) -> Iterator[Collective]:
    """The collectives of one step, with the group that ``rank`` is in; what is sent counts where it is received."""
    if isinstance(step, RecvStep):
        yield _received(teams, step)
    if isinstance(step, (SendStep, RecvStep)):
        return
    team = teams[step.team]
    own = rank - team.first if rank in team.ranks else 0
    for m in moves_of(team.mesh, step):
        if not m.silent:
            groups = team.mesh.groups(m.axes)
            group = tuple(team.first + r for r in next(g for g in groups if own in g))
            sent, n = m.sent(team.mesh), int(m.nbytes)
            yield Collective(m.kind, group, len(groups), n, sent, step.where, step.phase, m.seconds)


def moves_of(mesh: Mesh, step: Local) -> Sequence[Move]:
    """All moves of a step, in the order in which they are taken."""
    if isinstance(step, MoveStep):
        return step.moves
    return [m for row in (*opening(mesh, step), *closing(mesh, step)) for m in row]


def _received(teams: Sequence[RankGroup], step: RecvStep) -> Collective:
    t, team = static_type(step.value), teams[step.receiver]
    n = 0 if t is None else int(step.target.local_bytes(team.mesh, t.nbytes))
    link = team.mesh.cluster.link(teams[step.sender].first, team.first)
    return Collective(SEND, tuple(team.ranks), 1, n, n, step.where, step.phase, link.latency + n / link.bandwidth)


def static_type(value: Value) -> TensorType | None:
    """The type of a tensor whose sizes are known, else None."""
    t: Any = value.type
    return t if isinstance(t, TensorType) and t.is_static else None
