"""One rank's walk through a plan, the same on simulated and on real ranks.

    walk = Walk(recipe, rank)
    walk.enter(param, whole)                    what the rank needs of it
    for request in walk.run(): ...              a generator: it stops where it needs the others

The way is a list of ``legs``: the steps, or the compiled programs of ``stretches`` and what lies between them.
The walk itself knows no network. Where a step needs the other ranks of its team it yields a ``CollectiveRequest`` and
is sent its new part; work that gives the same on every rank of a team (control flow, prints) is a ``ReplicatedWork``,
so that ranks in one process do it once. Between teams blocks are ``SendRequest``, which is over at once, and
``RecvRequest``. Who answers is the engine: in one process the walks of a team are driven in lockstep (``inproc``), a
real rank answers with its network (``comm``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from msnb.core import TensorType
from msnb.devices.device import ArrayDevice
from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.graph import Graph, Value, copy_node
from msnb.ops.elementwise.constant import constant
from msnb.parallel.engine.comm import rank_requests as ask
from msnb.parallel.engine.comm.shards import LocalCall, part_of, sliced
from msnb.parallel.pipeline.stage_transfers import TransferBlock, pieces
from msnb.parallel.program import spmd_program as spmd
from msnb.parallel.sharding.halo import Halo
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.reshard import SLICE, Move

if TYPE_CHECKING:
    from msnb.parallel.sharding.device_mesh import Mesh

Moves = Sequence[Sequence[Move]]


class RankProgram:
    """A program made ready once for all ranks and runs: kernels, and what is dead after each leg.

    Args:
        program: the plan's steps.
        team: whose steps; keep: keep every buffer until the end; xp: the array module of the parts.

    Attributes:
        steps: those of the team, numbered; legs: the way through them; dead: per leg, what nobody reads behind it.
    """

    def __init__(self, program: spmd.SpmdProgram, team: int = 0, keep: bool = False, xp: Any = np) -> None:
        self.program: spmd.SpmdProgram = program
        self.team: int = team
        self.xp: Any = xp
        self.mesh: Mesh = program.teams[team].mesh
        self.first: int = program.teams[team].first
        self.kernels: dict[int, tuple[Any, Moves, Moves]] = {}
        self.steps: list[tuple[int, spmd.Step]] = [
            (i, step) for i, step in enumerate(program.steps) if step.team == team
        ]
        self._pieces: dict[int, list[TransferBlock]] = {}
        self.keep = keep
        self.go_by([ask.StepSegment(i, step.where, step) for i, step in self.steps])

    def go_by(self, legs: Sequence[ask.Segment]) -> None:
        """Take this way through the steps, instead of one after the other."""
        self.legs: list[ask.Segment] = list(legs)
        self.dead: list[list[Any]] | list[list[Value]] = [[]] * len(legs) if self.keep else _dead(legs, self._kept)

    def kernel(self, i: int, step: spmd.RunStep) -> tuple[Any, Moves, Moves]:
        """The step's op, ready to run, the moves of its operands before it and those of its results behind it."""
        found = self.kernels.get(i)
        if found is None:
            plain = step.call.plain and not {"control", "effect"} & step.node.op.traits
            made: Any = (
                LocalCall(self.mesh, step.call, step.strategy, self.xp, step.wide) if plain else self._whole_call(step)
            )
            found = self.kernels[i] = made, spmd.opening(self.mesh, step), spmd.closing(self.mesh, step)
        return found

    def pieces(self, i: int, step: spmd.SendStep | spmd.RecvStep) -> list[TransferBlock]:
        """Who sends what to whom."""
        found = self._pieces.get(i)
        if found is None:
            assert isinstance(step.value.type, TensorType)
            teams, shape = self.program.teams, step.value.type.ints()
            found = self._pieces[i] = pieces(shape, teams[step.sender], step.source, teams[step.receiver], step.target)
        return found

    @cached_property
    def _kept(self) -> set[Value]:
        """Results and params: there to the end."""
        asked = (*self.program.outputs, *self.program.gradients)
        return {v for v, _ in asked} | set(self.program.graph.params)

    def _whole_call(self, step: spmd.RunStep) -> ReferenceProgram:
        """Control flow, effects and results of unknown size: a program of one node."""
        graph = Graph(step.node.op.name, self.program.graph.module)
        seen = {v: graph.add_param(v.type, v.name) for v in dict.fromkeys(step.node.inputs)}
        copy_node(step.node, graph, seen)
        graph.outputs = [seen[v] for v in step.node.outputs]
        return ReferenceProgram(ArrayDevice("ranks", self.xp), graph)


def _dead(legs: Sequence[ask.Segment], kept: set[Value]) -> list[list[Value]]:
    """By leg the values that no rank of the team reads behind it before they are made again."""
    wanted, out = set(kept), []
    for leg in reversed(legs):
        reads, makes = leg.buffers()
        unread = [v for v in dict.fromkeys(v for v, _ in (*makes, *reads)) if v not in wanted]
        out.append(unread)
        wanted |= set(unread)
        wanted -= set(leg.made) - kept
    return out[::-1]


def _constant(value: Value, xp: Any) -> Any:
    assert value.node is not None and value.node.op is constant, f"{value} has no value yet"
    const = value.node.attrs["value"]
    return const.data if const.type.weak else xp.asarray(const.data)


class RankExecutor:
    """A rank of a team and what it holds.

    Args:
        recipe: of its team; rank: its number in the team; watch: called before every step of the program, also of other
            teams', with the step's number.

    Attributes:
        parts: value -> layout -> this rank's part; whole: values of which every rank has all.
        leg: where it is; None before it begins.
    """

    def __init__(self, recipe: RankProgram, rank: int, watch: Callable[[int], None] | None = None) -> None:
        self.recipe: RankProgram = recipe
        self.program: spmd.SpmdProgram = recipe.program
        self.mesh: Mesh = recipe.mesh
        self.xp: Any = recipe.xp
        self.rank = rank
        self.parts: dict[Value, dict[TensorLayout, Any]] = {}
        self.whole: dict[Value, Any] = {}
        self.watch: Callable[..., Any] | None = watch
        self._seen = -1
        self.leg: ask.Segment | None = None

    def enter(self, p: Value, value: Any) -> None:
        """Give a param's whole value."""
        layout = self.program.params.get(p)
        if layout is None or p in self.program.anywhere:
            self.whole[p] = self.xp.asarray(value) if isinstance(value, np.ndarray) else value
        else:
            self.parts[p] = {layout: part_of(self.mesh, layout, value, self.rank, self.xp)}

    def part(self, buffer: spmd.Buffer) -> Any:
        """This rank's part of a value in a layout."""
        value, layout = buffer
        if value in self.whole:
            whole = self.whole[value]
        elif value in self.parts:
            return self.parts[value][layout]
        else:
            whole = _constant(value, self.xp)
        if not isinstance(value.type, TensorType) or not value.type.is_static:
            return whole
        return part_of(self.mesh, layout, whole, self.rank, self.xp)

    def run(self) -> ask.Run:
        """Walk to the end; gives the parts of the outputs, then of the gradients."""
        for leg, dead in zip(self.recipe.legs, self.recipe.dead):
            self.leg = leg
            self._comes_to(leg.at)
            yield from leg.go(self)
            for v in dead:
                self.parts.pop(v, None)
                self.whole.pop(v, None)
        self.leg = None
        self._comes_to(len(self.program.steps))
        team, asked = self.recipe.team, (*self.program.outputs, *self.program.gradients)
        return [self.part(b) if team in self.program.holders(b[0]) else None for b in asked]

    def _comes_to(self, i: int) -> None:
        """Pass all steps up to this one, also those of other teams."""
        for at in range(self._seen + 1, i + 1):
            self._seen = at
            if self.watch is not None:
                self.watch(at)

    def take(self, i: int, step: spmd.Step) -> ask.Going:
        """Take one step."""
        if isinstance(step, spmd.SendStep):
            return self._send(i, step)
        if isinstance(step, spmd.RecvStep):
            return self._receive(i, step)
        return self._move(step) if isinstance(step, spmd.MoveStep) else self._run(i, step)

    def _send(self, i: int, step: spmd.SendStep) -> ask.Going:
        me = self.recipe.first + self.rank
        mine = [p for p in self.recipe.pieces(i, step) if p.sender == me]
        if mine:
            part = self.part((step.value, step.source))
            yield ask.SendRequest({p.receiver: self.xp.asarray(part[p.there], order="C") for p in mine}, step.where)

    def _receive(self, i: int, step: spmd.RecvStep) -> ask.Going:
        me, t = self.recipe.first + self.rank, step.value.type
        assert isinstance(t, TensorType)
        mine, dtype = [p for p in self.recipe.pieces(i, step) if p.receiver == me], t.dtype.numpy
        came = yield ask.RecvRequest({p.sender: self.xp.empty(p.shape, dtype) for p in mine}, step.where)
        part = self.xp.empty(step.target.local_shape(self.mesh, t.ints()), dtype)
        for p in mine:
            part[p.here] = came[p.sender]
        self.also((step.value, step.target), part)

    def _move(self, step: spmd.MoveStep) -> ask.Going:
        part = self.part((step.value, step.source))
        for move in step.moves:
            part = yield from self.moved(move, part, "sum", step.where)
        self.also((step.value, step.target), part)

    def moved(self, move: Move, part: Any, reducer: str, where: str) -> Generator[ask.Request, Any, Any]:
        """The part after a move."""
        if move.kind == SLICE:
            made = sliced(self.mesh, move.axes, move.dim, part, self.rank)
        elif isinstance(move, Halo) and move.silent:
            at = self.mesh.position(move.axes, self.rank)
            made = move.joined(at, part, move.outgoing(at, part, self.xp), self.xp)
        else:
            made = yield ask.CollectiveRequest(move, part, reducer, where, self.recipe.first)
        return self.xp.asarray(made, order="C")  # BLAS rounds strided operands in another order than contiguous ones

    def _run(self, i: int, step: spmd.RunStep) -> ask.Going:
        kernel, before, behind = self.recipe.kernel(i, step)
        if isinstance(kernel, LocalCall):
            yield from self._run_part(step, kernel, before, behind)
            return
        given = dict(zip(step.node.inputs, step.operands))
        args = [self.part(given[v]) for v in dict.fromkeys(step.node.inputs)]
        results = yield ask.ReplicatedWork(lambda: kernel(args))
        for (value, _), result in zip(step.results, results):
            self.whole[value] = result

    def _run_part(self, step: spmd.RunStep, kernel: LocalCall, before: Moves, behind: Moves) -> ask.Going:
        operands = [self.part(b) for b in step.operands]
        for j, moves in enumerate(before):
            for move in moves:
                operands[j] = yield from self.moved(move, operands[j], "sum", step.where)
        for j, (buffer, part) in enumerate(zip(step.results, kernel(self.rank, operands))):
            for move in behind[j]:
                part = yield from self.moved(move, part, step.strategy.reducer, step.where)
            if step.wide:
                part = self.xp.asarray(part, step.call.outs[j].dtype.numpy)
            self.keep(buffer, part)

    def keep(self, buffer: spmd.Buffer, part: Any) -> None:
        """Hold a part of a value that was made anew."""
        self.parts.pop(buffer[0], None)
        self.also(buffer, part)

    def also(self, buffer: spmd.Buffer, part: Any) -> None:
        """Hold a part of a value, beside those in other layouts."""
        value, layout = buffer
        if value in self.program.anywhere:
            self.whole[value] = part
        else:
            self.parts.setdefault(value, {})[layout] = part
