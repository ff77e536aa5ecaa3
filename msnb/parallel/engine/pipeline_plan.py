"""Plans of pipelines: every stage on devices of its own, micro-batches through all of them.

    ms.parallel.plan(nn.PipelineCell(net, 8), x, y, device_num=16, pipeline_stages=4)
    ms.parallel.plan(nn.TrainOneStepCell(nn.PipelineCell(net, 8), optimizer), x, y, ...)

The program is the step as it was written, the parts of the batch one after the other (``batches``). Its layers are cut
into stages (``stages``); every stage is planned on its devices by what it does for one part of the batch, and that plan
holds for all parts (``repeated``: the others are captured when the steps are asked for). ``placement`` says which stage
does what, ``assembly`` makes the steps of all ranks: an ordinary program, which every engine runs. The clock is that of
the scheduler (``pipeline``).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from msnb.base import AttributeValueError, CheckpointError
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.engine.executable_plan import Runnable, RunnablePlan
from msnb.parallel.engine.microbatch_replication import MicrobatchReplication
from msnb.parallel.pipeline.microbatches import MicrobatchedProgram, view
from msnb.parallel.pipeline.options import AUTO, PipelineOptions
from msnb.parallel.pipeline.stage_assignment import Runs, StageCosts, Stages, layers_in_order, placed
from msnb.parallel.pipeline.stage_programs import StageProgram, assembled
from msnb.parallel.pipeline.task_placement import Placement
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.pareto_front import asked, layers, with_said
from msnb.parallel.planner.rematerialization import Layer, cheapest, freed
from msnb.parallel.plans.plan_interface import NotDecided, PlanBase
from msnb.parallel.plans.strategy_files import read_strategies
from msnb.parallel.program.spmd_program import SEND, Collective, RankGroup, SpmdProgram, static_type
from msnb.parallel.program.training_graph import TrainingGraph, Transfers
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.pipeline_schedule import PipelineTimeline, ScheduleStage, check, flights, simulated
from msnb.parallel.sharding.strategies import Strategy


class PipelinePlan(PlanBase, Runnable):
    """A pipelined training step.

    Attributes:
        layers: per piece of the network the names of its layers.
        plans: per piece what its devices do for one micro-batch.
        teams: the devices of every stage (fewer stages than pieces when interleaved).
        micro, scheduler: micro-batches, schedule.
    """

    teams: tuple[RankGroup, ...]

    def __init__(self, layers: list[tuple[str, ...]], plans: list[RunnablePlan], placement: Placement,
                 planner: Planner, step: MicrobatchReplication) -> None:  # fmt: skip
        self.layers: list[tuple[str, ...]] = layers
        self.plans: list[RunnablePlan] = plans
        self._placement = placement
        self._planner = planner
        self._step = step
        self.micro: int = placement.batched.micro
        self.scheduler: str = placement.scheduler
        self.args: tuple[Any, ...] = step.args
        sizes = [plan.mesh.size for plan in plans[: placement.pipes]]
        self.teams = tuple(RankGroup(sum(sizes[:i]), plan.mesh) for i, plan in enumerate(plans[: placement.pipes]))

    @property
    def captured(self) -> Any:
        """The captured program, of all micro-batches."""
        return self._step.captured

    @cached_property
    def _steps(self) -> SpmdProgram:
        return _program(self._placement, self._step, self._planner, self.plans, self.teams)

    @property
    def program(self) -> SpmdProgram:
        """The steps of every rank.

        Raises:
            ValueError: the network has changed since it was planned.
        """
        return self._steps

    @property
    def graph(self) -> Graph:
        """The whole step, as captured."""
        return self.program.graph

    @property
    def mode(self) -> str:
        """How it was planned."""
        return f"{self.plans[0].mode}, {self.scheduler} pipeline of {self.pipes} stages"

    @property
    def pipes(self) -> int:
        """The number of stages."""
        return len(self.teams)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return sum(self.devices)

    @property
    def devices(self) -> list[int]:
        """The number of devices of every stage."""
        return [team.mesh.size for team in self.teams]

    def __repr__(self) -> str:
        sizes = sorted(set(self.devices))
        each = str(sizes[0]) if len(sizes) == 1 else " + ".join(map(str, self.devices))
        return f"<PipelinePlan: {self.pipes} stages of {each} devices, {self.micro} micro-batches, {self.scheduler}>"

    # ---- what it costs ----

    @property
    def rematerialized(self) -> tuple[Layer, ...]:
        """The layers that are computed twice."""
        return tuple(layer for plan in self.plans for layer in plan.rematerialized)

    @property
    def strategies(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Operator -> split counts per input, all stages together."""
        return {name: splits for plan in self.plans for name, splits in plan.strategies.items()}

    @property
    def layouts(self) -> dict[str, dict[str, Any]]:
        """Weight or operator -> device matrix and tensor map, on the devices of its stage, all stages together."""
        return {name: layout for plan in self.plans for name, layout in plan.layouts.items()}

    @property
    def front(self) -> Any:
        """Raises NotDecided: a pipeline is weighed stage by stage."""
        raise _by_stage("the time and the memory of a pipeline are weighed", "front")

    def segments(self, algorithm: str = "optimal", cost: str = "time", **settings: Any) -> Any:
        """Raises NotDecided: every stage sums its own gradients, behind its last micro-batch."""
        raise _by_stage("gradients of a pipeline are summed", f"segments({algorithm!r})")

    @cached_property
    def collectives(self) -> list[Collective]:
        """Every collective of a step of all micro-batches, sends between stages among them, with the group of the
        context's ``global_rank``."""
        return self.program.collectives(self.rank)

    @cached_property
    def received(self) -> list[int]:
        """Per stage: bytes that each of its ranks gets from other stages in a step: values, gradients of values, and
        weights that several stages read."""
        firsts = [team.first for team in self.teams]
        out = [0] * self.pipes
        for c in self.collectives:
            if c.kind == SEND:
                out[firsts.index(c.group[0])] += c.nbytes
        return out

    @cached_property
    def timeline(self) -> PipelineTimeline:
        """Who works on which micro-batch when, simulated."""
        return simulated([self.piece(i) for i in range(len(self.plans))], self.scheduler, self.pipes, self.micro)

    def piece(self, i: int) -> ScheduleStage:
        """Seconds of a piece, simulated."""
        plan = self.plans[i]
        line = plan.timeline
        kernels = [e for e in line.events if e[0] == "compute"]
        later = [a for _, a, _, what in kernels if "gradient" in what or what.endswith(" again")]
        forward = min(later, default=line.seconds)
        ends = [b for _, _, b, what in kernels if what != "optimizer"]
        computed = max(ends, default=forward)
        send = 0.0
        if i:
            link = self.teams[0].mesh.cluster.link(*(self.teams[p % self.pipes].first for p in (i - 1, i)))
            nbytes = self._taken(plan)
            send = link.latency + nbytes / link.bandwidth if nbytes else 0.0
        return ScheduleStage(forward, computed - forward, send, line.seconds - computed)

    def _taken(self, plan: RunnablePlan) -> float:
        """Bytes of values that a rank gets from earlier pieces for one micro-batch."""
        joint, laid = plan.problem.joint, plan.program.params
        received = joint.transfers.incoming
        read = {v for n in joint.forward.nodes for v in n.inputs if v in received and v.node is not None}
        return sum(laid[v].local_bytes(plan.mesh, t.nbytes) for v in read if v in laid and (t := static_type(v)))

    @cached_property
    def memory(self) -> list[dict[str, float]]:
        """Bytes per device, stage by stage; activations of all micro-batches in flight."""
        pieces = len(self.plans)
        flight = flights(self.scheduler, self.pipes, self.micro, pieces)
        return [held(self.plans[s :: self.pipes], n * self.pipes / pieces) for s, n in enumerate(flight)]

    def explain(self, op: str = "") -> str:
        """Stages, their layers, seconds, bytes in flight, and the schedule.

        Args:
            op: why this operator is laid out as it is, in its stage, instead.

        Raises:
            ValueError: no operator is called so.
        """
        if op:
            known = [plan for plan in self.plans if plan.problem.operators.matching(op)]
            return (known or self.plans)[0].explain(op)
        lines = [f"{self!r}: step {self.step_time * 1e3:.3f} ms, bubble {self.timeline.bubble:.1%} (simulated)"]
        for i, names in enumerate(self.layers):
            piece, s = self.piece(i), i % self.pipes
            megabytes, flight = self.received[s] / 1e6, self.timeline.flight[s]
            lines.append(f"  stage {s}: {names[0]} ... {names[-1]}, "
                         f"forward {piece.forward * 1e6:.0f} us, backward {piece.backward * 1e6:.0f} us, "
                         f"{megabytes:.3g} MB received, {flight} micro-batches in flight")  # fmt: skip
        if self.rematerialized:
            twice = [layer.name for layer in self.rematerialized]
            lines.append(f"  {len(twice)} layer{'s' * (len(twice) > 1)} computed twice: {', '.join(twice)}")
        return "\n".join([*lines, str(self.timeline)])

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """MindSpore's strategy file: every operator says its stage."""
        out: dict[str, Any] = {"current_stage": 0, "parallel_strategy_item": {}, "parallel_layout_item": {}}
        pieces = []
        for i, plan in enumerate(self.plans):
            page = plan.to_dict()
            for item in page["parallel_strategy_item"].values():
                item["stage"] = i % self.pipes
            for kind in ("parallel_strategy_item", "parallel_layout_item"):
                out[kind].update(page[kind])
            pieces.append(page["msnb"])
        return {**out, "msnb": {"device_num": self.size, "stages": self.devices, "pieces": pieces}}

    def load(self, path: str | Path, every: bool = True) -> PipelinePlan:
        """The same pipeline under the strategies of a file; operators that it does not name keep theirs.

        Args:
            every: whether all operators of the file must be in the program.

        Raises:
            CheckpointError: the file is no strategy file, or was made for other devices.
            ValueError: an operator or a strategy that does not fit the program.
        """
        data = read_strategies(path, self.size)
        own = data.get("msnb", {})
        if own.get("stages", self.devices) != self.devices:
            raise CheckpointError(f"{path} was made for stages of {own['stages']} devices, this plan has stages of "
                                  f"{self.devices}.")  # fmt: skip
        for name in data["parallel_strategy_item"] if every else ():
            if not any(plan.problem.operators.matching(name) for plan in self.plans):
                self.plans[0].problem.operators.named(name)  # says so
        exact = {name: e for piece in own.get("pieces", ()) for name, e in piece.get("operators", {}).items()}
        plans = [plan.with_document(data, exact, every=False) for plan in self.plans]
        return PipelinePlan(self.layers, plans, self._placement, self._planner, self._step)


def _by_stage(what: str, name: str) -> NotDecided:
    return NotDecided(f"{what} stage by stage.", hint=f"[p.{name} for p in plan.plans] tells it of every piece.")


# ---- planning ----


@dataclass
class Planner:
    """How the parts of a pipeline are planned.

    Attributes:
        problem: (program, devices) -> strategies and costs; search: (problem, strategies by name) -> its plan.
        wanted: strategies by name, for the whole network.
    """

    problem: Callable[[TrainingGraph, int], CostGraphBuilder]
    search: Callable[[CostGraphBuilder, Mapping[str, Any]], RunnablePlan]
    wanted: Mapping[str, Any] = field(default_factory=dict)

    def plan(self, joint: TrainingGraph, devices: int) -> RunnablePlan:
        """The plan of a program."""
        problem = self.problem(joint, devices)
        return self.search(problem, {name: s for name, s in self.wanted.items() if problem.operators.matching(name)})


def plan_pipeline(step: MicrobatchReplication, planner: Planner, how: PipelineOptions, devices: int, limit: float,
                  recompute: Any = None) -> PipelinePlan:  # fmt: skip
    """Plan a step with a ``PipelineCell`` in it.

    Args:
        step: what is planned; planner: plans the parts.
        how: what is asked for; devices: of all stages; limit: bytes per device.
        recompute: layers that are computed twice, as ``plan`` takes them.

    Raises:
        ValueError: too few micro-batches, a cut that is not there, or not enough memory.
    """
    sizes, batched, said = how.sizes(devices), step.first(), step.joint.rematerialized
    check(how.scheduler, how.stages, batched.micro, how.pieces)
    runs = layers_in_order(batched.parts[0])
    flight = [n / how.per for n in flights(how.scheduler, how.stages, batched.micro, how.pieces)] * how.per
    where = placed(runs, how.pieces)
    ways = [(where, [row[0] for row in sizes])] if where is not None and how.said != AUTO else []
    if not ways:
        stages = Stages(sizes * how.per, devices * how.per, flight, batched.micro, limit, where)
        ways = _ways(planner, _first(batched), runs, stages, said, recompute)

    def laid(own: MicrobatchedProgram, where: Sequence[int], shares: Sequence[int]) -> PipelinePlan:
        piece_of = {n: p for (_, nodes), p in zip(layers_in_order(own.parts[0]), where) for n in nodes}
        placement = Placement(own, piece_of, how.scheduler, how.stages, how.pieces)
        plans = [planner.plan(_of_one(placement, p), shares[p % how.stages]) for p in range(how.pieces)]
        for name in planner.wanted:
            if not any(plan.problem.operators.matching(name) for plan in plans):
                plans[0].problem.operators.named(name)  # says so
        plans = _computing_twice(plans, how.stages, flight, limit, said, recompute)
        names = [tuple(dict.fromkeys(name for (name, _), at in zip(runs, where) if at == p)) for p in range(how.pieces)]
        return PipelinePlan(names, plans, placement, planner, step)

    first, *others = ways  # a placement writes sums anew in its graph, so every way has its own
    made = [laid(batched, *first), *(laid(step.first(), *way) for way in others)]
    most = [max(row["total"] for row in plan.memory) for plan in made]
    if min(most) > limit:
        raise AttributeValueError(f"the pipeline needs {min(most) / 1e9:.3g} GB on a device of {limit / 1e9:.3g} GB.",
                                  hint="use more stages or devices, smaller micro-batches, or recompute='auto'."
                                  )  # fmt: skip
    fitting = [plan for plan, n in zip(made, most) if n <= limit]
    return fitting[0] if len(fitting) == 1 else min(fitting, key=lambda plan: plan.step_time)


def _ways(planner: Planner, whole: TrainingGraph, runs: Runs, stages: Stages, said: Container[str],
          recompute: Any) -> list[tuple[list[int], list[int]]]:  # fmt: skip
    """The stage of every run and the devices of every stage: the best cut, and where its stages differ in size the best
    of equal ones too. The cut knows operators, the clock knows kernels, so the clock has the last word."""
    tables = _tables(planner, whole, runs, list(dict.fromkeys(n for row in stages.sizes for n in row)))
    every = [layer for row in next(iter(tables.values())).layers for layer in row]
    wanted = with_said(every, said, recompute)
    twice = None if wanted == "auto" else {x.name for x in asked(every, wanted)}
    stages = replace(stages, sizes=[[n for n in row if n in tables] for row in stages.sizes])
    found = [stages.best(tables, twice)]
    even = stages.devices // len(stages.sizes)
    if any(len(row) > 1 for row in stages.sizes) and even in tables and set(found[0].devices) != {even}:
        equal = replace(stages, sizes=[[even]] * len(stages.sizes)).found(tables, twice)
        found += [equal] if equal is not None else []
    return [(cut.stages, list(cut.devices)) for cut in found]


def _tables(planner: Planner, whole: TrainingGraph, runs: Runs, sizes: Sequence[int]) -> dict[int, StageCosts]:
    """What layers cost on every number of devices. Numbers on which a given strategy cannot be are left out."""
    out: dict[int, StageCosts] = {}
    for n in dict.fromkeys(sizes):
        try:
            plan = planner.plan(whole, n)
        except AttributeValueError:
            if len(sizes) == 1 or (n == sizes[-1] and not out):
                raise
            continue
        out[n] = StageCosts.of(plan.problem, plan.choices, runs)
    return out


def _computing_twice(plans: list[RunnablePlan], pipes: int, flight: Sequence[float], limit: float, said: Container[str],
                     recompute: Any) -> list[RunnablePlan]:  # fmt: skip
    """The plans of the pieces with layers computed twice, as asked for or as the limit of their device needs."""
    rows = [layers(plan.problem, plan.choices) for plan in plans]
    every = [x for row in rows for x in row]
    wanted = with_said(every, said, recompute)
    if wanted == "auto":
        names = {x.name for s in range(pipes) for x in _least(rows[s::pipes], plans[s::pipes], flight[s], limit)}
    else:
        names = {x.name for x in asked(every, wanted)}
    chosen = [[x for x in row if x.name in names] for row in rows]
    return [plan.computing_twice(found) if found else plan for plan, found in zip(plans, chosen)]


def _least(rows: Sequence[Sequence[Layer]], plans: Sequence[RunnablePlan], flight: float, limit: float) -> list[Layer]:
    """Layers of a device's pieces that, computed twice, make them fit into memory in the least time."""
    mine = [x for row in rows for x in row]
    return [mine[i] for i in cheapest(mine, held(plans, flight)["total"] - limit, flight) or ()]


def held(plans: Sequence[RunnablePlan], flight: float) -> dict[str, float]:
    """Bytes of a device that does these pieces of the network, by what they are for, and their total.

    Args:
        flight: of each piece so many micro-batches are in flight.
    """
    row = {name: sum(plan.memory[name] for plan in plans) for name in ("weights", "gradients", "optimizer")}
    again = [layer for plan in plans for layer in plan.rematerialized]
    row["activations"] = flight * sum(plan.activations for plan in plans) - freed(again, flight)
    return {**row, "total": sum(row.values())}


def _first(batched: MicrobatchedProgram) -> TrainingGraph:
    """What is done for part 0 of the batch, forward and backward."""
    part = set(batched.parts[0])
    nodes = [n for n in batched.graph.nodes if n in part or n.primal in part]
    return _for_planning(batched, nodes, batched.handed_on(), set())


def _of_one(placement: Placement, piece: int) -> TrainingGraph:
    """What a piece of the network does for part 0 of the batch."""
    share = StageProgram(placement, piece % placement.pipes)
    tasks = {(kind, piece, 0) for kind in "FB"}
    nodes = [n for n, task in share.nodes.items() if task in tasks]
    made = {v for n in nodes for v in n.outputs}
    elsewhere = {v for n in nodes for v in n.inputs if v not in made and v not in placement.batched.free
                 and (v.node is not None or placement.team_of(v) != share.number)}  # fmt: skip
    leaving = [v for v in made if any(n not in share.nodes or share.nodes[n] not in tasks
                                      for n in placement.batched.readers.get(v, ()))]  # fmt: skip
    turn = {n: i for i, n in enumerate(nodes)}
    leaving.sort(key=lambda v: (turn[v.node], v.index) if v.node else (0, 0))
    return _for_planning(placement.batched, nodes, leaving, elsewhere, placement.summed)


def _for_planning(batched: MicrobatchedProgram, nodes: list[Node], leaving: list[Value], incoming: set[Value],
                  summed: set[Value] = frozenset()) -> TrainingGraph:  # type: ignore[assignment]  # fmt: skip
    """Some nodes as a program: forward, then backward. Parts of the batch are its data."""
    inside = batched.joint.inside
    nodes = [n for n in nodes if not batched.data.intersection(n.outputs)]
    nodes = [*(n for n in nodes if n in inside), *(n for n in nodes if n not in inside)]
    made = {v for n in nodes for v in n.outputs}
    read = dict.fromkeys(v for n in nodes for v in n.inputs if v not in made)
    params = [*(p for p in batched.graph.params if p in read), *(v for v in read if not v.is_param)]
    weights = {w for w in batched.joint.weights if w in read and w not in incoming}
    out = TrainingGraph(view(batched.graph, nodes, params, leaving), weights)
    out.held, out.free, out.names = batched.joint.held & set(params), batched.free & made, batched.names(nodes)
    received = incoming | {v for v in params if not v.is_param and v not in batched.free}
    out.transfers = Transfers(received, urgent=set(leaving) - summed)
    out.parts, out.rematerialized = batched.micro, batched.joint.rematerialized
    return out


def _program(planned: Placement, step: MicrobatchReplication, planner: Planner, plans: Sequence[RunnablePlan],
             teams: Sequence[RankGroup]) -> SpmdProgram:  # fmt: skip
    """The steps of all ranks; what was planned for one part of the batch holds for all."""
    placement, nodes, params = step.placed(planned)
    strategies: dict[Node, Strategy] = {}
    layouts: dict[Value, TensorLayout] = {}
    for plan in plans:
        p = plan.problem
        strategies.update((nodes[n], s) for n, s in plan.chosen.items() if n in nodes)
        for v, i in p.place.items():
            if isinstance(v, Value) and v in params:
                layouts.setdefault(params[v], p.strategies[i][plan.choices[i]].outputs[0])
    again = {layer.name for plan in plans for layer in plan.rematerialized}
    return assembled(placement, lambda i, joint: planner.problem(joint, teams[i].mesh.size), teams, strategies, layouts,
                     again)  # fmt: skip
