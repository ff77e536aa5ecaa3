"""A plan as a straight list of steps that every rank walks through: runs of ops and moves of values.

    move   w.T   [(), (0,1)] -> [(), ()]     all_gather over mesh axes 0, 1
    run    matmul  m over 0, k over 1        local product; the open sum over mesh axis 1 is taken by an all_reduce

A buffer is a value in one layout. The same list is run by the simulated ranks, timed by the simulator, and counted: so
the bytes that a plan promises are the bytes that its ranks send.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msnb.core.types import TensorType
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.layout import TensorLayout
from msnb.parallel.local import widened
from msnb.parallel.mesh import REDUCE, SCATTER, Mesh, sent_bytes
from msnb.parallel.reshard import SLICE, Move
from msnb.parallel.strategies import Call, Strategy

Buffer = tuple[Value, TensorLayout]
FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"


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


@dataclass
class RunStep:
    """Run an op on every rank, then take its open sum.

    Attributes:
        operands, results: the values and layouts it reads and makes.
        late: nothing but gradients of weights waits for it, so its collective may run beside other work.
        wide: 16-bit terms of its open sum are made and added in float32 and rounded once, as on one device.
    """

    node: Node
    call: Call
    strategy: Strategy
    operands: list[Buffer]
    results: list[Buffer]
    phase: str
    where: str
    late: bool = False
    wide: bool = False


Step = MoveStep | RunStep


@dataclass(frozen=True)
class Collective:
    """One collective of a plan.

    Attributes:
        kind: "all_gather", "all_to_all", "reduce_scatter" or "all_reduce".
        group: the ranks of one rank's group (the context's ``global_rank``, 0 unless set); the others are its
            translations along the mesh.
        groups: how many groups do it at once.
        nbytes: bytes that each rank puts in; sent: bytes that each rank sends.
        where: the operator it belongs to; phase: "forward", "backward" or "update".
        seconds: simulated.
    """

    kind: str
    group: tuple[int, ...]
    groups: int
    nbytes: int
    sent: int
    where: str
    phase: str
    seconds: float


@dataclass
class Program:
    """The steps of a plan.

    Attributes:
        graph: the program they come from, with its gradient where it has one; trains: whether weights are trained.
        params: layouts of weights and optimizer state; anywhere: values of which every rank has the whole.
        outputs: the results; gradients: those of the weights, in the layout of the weight, of a step made from a loss.
    """

    mesh: Mesh
    graph: Graph
    steps: list[Step] = field(default_factory=list)
    params: dict[Value, TensorLayout] = field(default_factory=dict)
    anywhere: set[Value] = field(default_factory=set)
    outputs: list[Buffer] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    gradients: list[Buffer] = field(default_factory=list)
    trains: bool = False

    def collectives(self, rank: int = 0) -> list[Collective]:
        """Every collective in the order of the steps, with the group that ``rank`` is in."""
        return [c for step in self.steps for c in collectives_of(self.mesh, step, rank)]


def closing(mesh: Mesh, step: RunStep) -> Iterator[Move]:
    """The collectives that take the open sum of a step, one per result."""
    yield from moves_closing(mesh, step.call, step.strategy, step.wide)


def moves_closing(mesh: Mesh, call: Call, s: Strategy, wide: bool = False) -> Iterator[Move]:
    """The collectives behind an op under a strategy; ``wide``: 16-bit terms travel in float32."""
    if not s.partial:
        return
    kind = REDUCE if s.scatter < 0 else SCATTER
    for t, before, after in zip(call.outs, s.open_outputs(), s.outputs):
        n = int(before.local_bytes(mesh, (widened(t) if wide else t).nbytes))
        yield Move(kind, s.partial, s.scatter, s.scatter, before, after, n, mesh.seconds(kind, s.partial, n))


def collectives_of(mesh: Mesh, step: Step, rank: int = 0) -> Iterator[Collective]:
    """The collectives of one step, with the group that ``rank`` is in."""
    moves = step.moves if isinstance(step, MoveStep) else closing(mesh, step)
    for m in moves:
        if m.kind != SLICE:
            groups = mesh.groups(m.axes)
            n = int(m.nbytes)
            sent = sent_bytes(m.kind, len(groups[0]), n)
            mine = next(g for g in groups if rank in g)
            yield Collective(m.kind, tuple(mine), len(groups), n, sent, step.where, step.phase, m.seconds)


def static_type(value: Value) -> TensorType | None:
    """The type of a tensor whose sizes are known, else None."""
    t: Any = value.type
    return t if isinstance(t, TensorType) and t.is_static else None
