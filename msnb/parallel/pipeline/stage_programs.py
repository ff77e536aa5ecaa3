"""The steps of a pipeline: every team's program made like any other, put into the order of the schedule, and joined by
sends.

    team 0    F0 F1 . B0 . B1 update        each letter the steps of its nodes, as the partitioner made them
                \\   \\  /    /              behind what makes a value that another team reads: a send
    team 1      F0 B0 F1 B1 update          before the first step that reads it: its receipt

What one team sends to another is received in the order of sending. All steps together stand in an order in which they
can be taken: team by team, until one must wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msnb.base import AttributeValueError
from msnb.ir.graph import Node, Value
from msnb.parallel.partition.partitioner import Partitioner
from msnb.parallel.partition.remat_insertion import reads, taken_again
from msnb.parallel.pipeline.microbatches import view
from msnb.parallel.pipeline.task_placement import TAIL, Placement
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.program import spmd_program as spmd
from msnb.parallel.program.training_graph import TrainingGraph, Transfers
from msnb.parallel.sharding.layout import TensorLayout, whole
from msnb.parallel.sharding.pipeline_schedule import Task
from msnb.parallel.sharding.strategies import Strategy

_PHASES = {"F": spmd.FORWARD, "B": spmd.BACKWARD, "T": spmd.UPDATE}


@dataclass
class StageProgram:
    """What one team does of a program.

    Args:
        placement: who does what; number: of the team.

    Attributes:
        results: values of the program's outputs and gradients that it hands in; state: param -> new value.
    """

    placement: Placement
    number: int
    results: list[Value] = field(default_factory=list)
    state: dict[Value, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        place, graph = self.placement, self.placement.batched.graph
        free = place.batched.free
        new = {graph.params[at]: graph.outputs[out] for at, out in graph.state.items()}
        told = [v for i, v in enumerate(graph.outputs) if i not in set(graph.state.values())]
        self.results = [v for v in dict.fromkeys(told) if (0 if v in free else place.team_of(v)) == self.number]
        self.results += [g for _, g in self._gradients() if g not in self.results]
        self.state = {p: v for p, v in new.items() if p not in free and place.team_of(p) == self.number}
        loose = {p: v for p, v in new.items() if p in free}
        while found := {p: v for p, v in loose.items() if p not in self.state and self._reads(p)}:
            self.state.update(found)
            self.__dict__.pop("nodes", None)

    def _reads(self, p: Value) -> bool:
        readers = self.placement.batched.readers.get(p, [])
        own = any(n in self.nodes for n in readers) or p in self.results
        return own or (self.number == 0 and all(n not in self.placement.team for n in readers))

    @cached_property
    def nodes(self) -> dict[Node, Task]:
        """Its nodes, in the order of the program, with their tasks; those that are free go with their first reader."""
        place = self.placement
        when, free = place.when[self.number], place.batched.free
        out = {n: place.task[n] for n, team in place.team.items() if team == self.number}
        for v in (*self.results, *self.state.values()):
            if v.node is not None and v in free:
                out.setdefault(v.node, TAIL)
        order = place.batched.graph.nodes
        for node in reversed(order):
            for v in node.inputs if node in out else ():
                if v in free and v.node is not None:
                    known = out.get(v.node, TAIL)
                    out[v.node] = min(known, out[node], key=when.__getitem__)
        return {n: out[n] for n in order if n in out}

    @cached_property
    def incoming(self) -> dict[Value, int]:
        """Values that another team makes or keeps -> that team."""
        place, free = self.placement, self.placement.batched.free
        read = [v for n in self.nodes for v in n.inputs]
        asked = dict.fromkeys(v for v in (*read, *self.results, *self.state.values()) if v not in free)
        return {v: team for v in asked if (team := place.team_of(v)) != self.number}

    def joint(self, outgoing: set[Value]) -> TrainingGraph:
        """Its program; ``outgoing`` are values that other teams read."""
        place, b = self.placement, self.placement.batched
        nodes = self._scheduled()
        made = {v for n in nodes for v in n.outputs}
        read = dict.fromkeys(v for n in nodes for v in n.inputs if v not in made)
        params = self._params(made, read)
        outputs = list(dict.fromkeys([*self._told(), *self.state.values()]))
        own = view(b.graph, nodes, params, outputs, self.state)
        weights = {w for w in b.joint.weights if w in read and place.team_of(w) == self.number}
        gradients = [g for w, g in self._gradients() if w in weights]
        out = TrainingGraph(own, weights, gradients)
        out.held, out.free = b.joint.held & set(params), b.free & made
        out.names = b.names([n for n in self.nodes if n in b.joint.inside])
        sent = outgoing & made
        out.transfers = Transfers(set(self.incoming), sent, sent - place.summed, place.summed & made)
        return out

    def _scheduled(self) -> list[Node]:
        """Its nodes, the forward ones first, each side in the order of the schedule."""
        forward, when = self.placement.batched.joint.inside, self.placement.when[self.number]
        return sorted(self.nodes, key=lambda n: (n not in forward, when[self.nodes[n]]))

    def _params(self, made: set[Value], read: Mapping[Value, None]) -> list[Value]:
        """What it takes: params of the whole program, values of other teams, and what it only hands on."""
        more = [v for v in (*self.results, *self.state, *self.state.values()) if v not in made]
        own = [p for p in self.placement.batched.graph.params if p in read or p in more]
        return list(dict.fromkeys([*own, *(v for v in read if not v.is_param), *more]))

    def _told(self) -> list[Value]:
        gradients = {g for _, g in self._gradients()}
        return [v for v in self.results if v not in gradients]

    def _gradients(self) -> list[tuple[Value, Value]]:
        joint = self.placement.batched.joint
        order = [p for p in joint.graph.params if p in joint.weights]
        return [(w, g) for w, g in zip(order, joint.gradients) if self.placement.team_of(w) == self.number]


@dataclass
class _TeamSteps:
    """A team's steps in the order of its schedule, and where things lie on it."""

    share: StageProgram
    part: Partitioner
    steps: list[spmd.Local]

    def layout(self, v: Value, leaving: bool) -> TensorLayout:
        """Where a value lies that goes to another team, or comes from one."""
        known = self.part.leaving.get(v) if leaving else next(iter(self.part.layouts.get(v, ())), None)
        return known or whole(getattr(v.type, "ndim", 0))

    def behind(self, v: Value, layout: TensorLayout) -> int:
        """How many steps must be taken before a value lies there."""
        if v.is_param:
            return 0
        at = [i for i, step in enumerate(self.steps) if (isinstance(step, spmd.RunStep) and v in step.node.outputs)
              or (isinstance(step, spmd.MoveStep) and step.value is v and step.target == layout)]  # fmt: skip
        return max(at, default=-1) + 1

    def before(self, v: Value) -> int:
        """How many steps can be taken without a value."""
        return next((i for i, step in enumerate(self.steps) if v in (read for read, _ in reads(step))), len(self.steps))


def assembled(placement: Placement, problems: Callable[[int, TrainingGraph], CostGraphBuilder],
              teams: Sequence[spmd.RankGroup],
              strategies: Mapping[Node, Strategy], layouts: Mapping[Value, TensorLayout],
              again: Collection[str] = ()) -> spmd.SpmdProgram:  # fmt: skip
    """The program of all teams.

    Args:
        problems: (number of a team, its program) -> strategies and costs on its devices.
        strategies: of the nodes of part 0; layouts: of weights with several readers.
        again: layers that are computed twice.

    Raises:
        ValueError: a value goes from team to team whose size only the data tell.
    """
    shares = [StageProgram(placement, i) for i in range(len(teams))]
    outgoing = {v for share in shares for v in share.incoming}
    made = [_scheduled(share, problems(share.number, share.joint(outgoing)), strategies, layouts) for share in shares]
    for one in made:
        program = one.part.program
        leaving = {v for v, _ in (*program.outputs, *program.gradients)} | outgoing
        one.steps = taken_again(one.steps, leaving, again, placement.batched.joint.rematerialized)
    return _together(placement, made, _joined(made), teams)


def _scheduled(share: StageProgram, problem: CostGraphBuilder, strategies: Mapping[Node, Strategy],
               layouts: Mapping[Value, TensorLayout]) -> _TeamSteps:  # fmt: skip
    """A team's program, its steps in the order of the schedule."""
    twin = share.placement.batched.twin
    own = {n: strategies[twin[n]] for n in problem.place if n in twin and twin[n] in strategies}
    mine = {v: layout for v, layout in layouts.items() if v in problem.flow.weights}
    part = Partitioner(problem, own, mine)
    program = part.build()
    when, at = share.placement.when[share.number], {n: i for i, n in enumerate(share.nodes)}
    last = when[TAIL], len(at)

    def turn(k: int) -> tuple[int, int, int]:
        node = part.made_for[k]
        return (*(last if node is None else (when[share.nodes[node]], at[node])), k)

    steps: list[spmd.Local] = []
    for k in sorted(range(len(program.steps)), key=turn):
        step = program.steps[k]
        assert isinstance(step, (spmd.MoveStep, spmd.RunStep))
        step.team = share.number
        steps.append(step)
    return _TeamSteps(share, part, steps)


# ---- between teams ----


def _joined(made: Sequence[_TeamSteps]) -> list[list[spmd.Step]]:
    """The steps of every team with sends and receipts between them."""
    inserts: list[list[tuple[int, int, spmd.Step]]] = [[] for _ in made]
    for receiver in made:
        by_sender: dict[int, list[tuple[int, int, spmd.SendStep]]] = {}
        for v, sender in receiver.share.incoming.items():
            send = _send(v, made[sender], receiver)
            row = by_sender.setdefault(sender, [])
            row.append((made[sender].behind(v, send.source), receiver.before(v), send))
        for sender, row in by_sender.items():
            row.sort(key=lambda entry: entry[:2])
            earliest = len(receiver.steps)
            for i, (sent, needed, send) in reversed(list(enumerate(row))):
                earliest = min(earliest, needed)  # what was sent before must be received before
                take = spmd.RecvStep(**vars(send))
                inserts[sender].append((sent, i, send))
                inserts[send.receiver].append((earliest, i, take))
    out: list[list[spmd.Step]] = []
    for one, more in zip(made, inserts):
        steps: list[spmd.Step] = []
        more.sort(key=lambda entry: (entry[0], isinstance(entry[2], spmd.RecvStep), entry[2].team, entry[1]))
        for i in range(len(one.steps) + 1):
            while more and more[0][0] == i:
                steps.append(more.pop(0)[2])
            steps += one.steps[i : i + 1]
        out.append(steps)
    return out


def _send(v: Value, sender: _TeamSteps, receiver: _TeamSteps) -> spmd.SendStep:
    if spmd.static_type(v) is None:
        raise AttributeValueError(f"{v} goes from one pipeline stage to another, but its size is known only when the "
                                  "program runs.", hint="let one Cell make and read it.")  # fmt: skip
    source, target = sender.layout(v, True), receiver.layout(v, False)
    place = sender.share.placement
    task = TAIL if v.node is None else place.task[v.node]
    phase = spmd.FORWARD if v.is_param else _PHASES[task[0]]
    where = v.name if v.is_param else f"{v.node.scope}/{v.node.op.name}" if v.node is not None else ""
    return spmd.SendStep(v, sender.share.number, source, receiver.share.number, target, phase, where)


# ---- one program ----


def _together(placement: Placement, made: Sequence[_TeamSteps], steps: Sequence[Sequence[spmd.Step]],
              teams: Sequence[spmd.RankGroup]) -> spmd.SpmdProgram:  # fmt: skip
    joint = placement.batched.joint
    out = spmd.SpmdProgram(tuple(teams), joint.graph, trains=True)
    out.steps = _merged(steps)
    known: dict[Value, spmd.Buffer] = {}
    homes: dict[Value, list[int]] = {}
    for one in made:
        own = one.part.program
        out.params.update((p, layout) for p, layout in own.params.items() if p in joint.graph.params
                          and p not in one.share.incoming)  # fmt: skip
        out.anywhere |= own.anywhere
        for p in own.graph.params:
            if p.is_param and p not in one.share.incoming:
                homes.setdefault(p, []).append(one.share.number)
        for v, layout in (*own.outputs, *own.gradients):
            known[v] = v, layout
            homes.setdefault(v, []).append(one.share.number)
    out.outputs = [known[v] for v in joint.graph.outputs]
    out.weights = [p for p in joint.graph.params if p in joint.weights]
    out.gradients = [known[g] for g in joint.gradients]
    out.homes = {v: tuple(numbers) for v, numbers in homes.items()}
    out.homes.update({p: (0,) for p in joint.graph.params if p not in homes})
    return out


def _merged(rows: Sequence[Sequence[spmd.Step]]) -> list[spmd.Step]:
    """All steps in an order in which they can be taken."""
    out: list[spmd.Step] = []
    at, sent = [0] * len(rows), set[tuple[Value, int]]()
    while len(out) < sum(map(len, rows)):
        before = len(out)
        for i, row in enumerate(rows):
            while at[i] < len(row):
                step = row[at[i]]
                if isinstance(step, spmd.RecvStep) and (step.value, step.receiver) not in sent:
                    break
                if isinstance(step, spmd.SendStep):
                    sent.add((step.value, step.receiver))
                out.append(step)
                at[i] += 1
        assert len(out) > before, "a schedule of pipeline stages waits for itself"
    return out
