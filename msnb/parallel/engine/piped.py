"""Plans of pipelines: every stage on devices of its own, micro-batches through all of them.

    ms.parallel.plan(nn.PipelineCell(net, 8), x, y, device_num=16, pipeline_stages=4)

A stage is a program with its own plan on device_num / stages devices (``stages``); what it reads from another stage is
sent part by part to those who want it, and so are gradients on the way back. On simulated ranks every micro-batch goes
forward and backward through all stages; the sums of a weight's gradient stay open until the last micro-batch, so they
are taken once. The clock is that of the scheduler (``pipeline``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from msnb.core.errors import AttributeValueError
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.ir.graph import Graph, Value
from msnb.parallel.context import get_auto_parallel_context
from msnb.parallel.engine.entry import RunnablePlan, captured_of, joint_of
from msnb.parallel.engine.inproc import Ranks
from msnb.parallel.engine.ranks import LocalCall, part_of, together
from msnb.parallel.engine.walk import Recipe, Request, Walk
from msnb.parallel.joint import Joint
from msnb.parallel.pipeline import Piece, Pipelined, check, simulated
from msnb.parallel.program import FORWARD, UPDATE, Collective, MoveStep, Program, RunStep, collectives_of, static_type
from msnb.parallel.stages import Stage, balanced, layers_in_order, placed, programs


@dataclass
class PipelinePlan:
    """A pipelined training step.

    Attributes:
        stages, plans: per piece of the network its program and its plan; devices: of a stage.
        micro, scheduler, pipes: micro-batches, schedule, stages of devices (fewer than pieces when interleaved).
        captured, graph: the program of one micro-batch; args: the batch that it was planned with.
        sent: bytes that a rank of each stage sent in the last run ("send": got from other stages), by kind.
    """

    stages: list[Stage]
    plans: list[RunnablePlan]
    devices: int
    micro: int
    scheduler: str
    pipes: int
    captured: Any
    args: tuple[Any, ...]
    graph: Graph
    sent: list[dict[str, int]] = field(default_factory=list)

    def __repr__(self) -> str:
        return (f"<PipelinePlan: {self.pipes} stages of {self.devices} devices, {self.micro} micro-batches, "
                f"{self.scheduler}>")  # fmt: skip

    # ---- what it costs ---------------------------------------------------------------------------------------------

    @property
    def strategies(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Operator -> split counts per input, all stages together."""
        return {name: splits for plan in self.plans for name, splits in plan.strategies.items()}

    @cached_property
    def collectives(self) -> list[list[tuple[Collective, int]]]:
        """Per piece: collectives, and how often in a step (sums of weights' gradients once, others per micro-batch)."""
        out = []
        for plan in self.plans:
            whole = summed(plan.program)
            out.append([(c, 1 if _once(step, whole) else self.micro) for step in plan.program.steps
                        for c in collectives_of(plan.mesh, step)])  # fmt: skip
        return out

    @cached_property
    def sends(self) -> list[int]:
        """Per piece: bytes that each of its ranks gets from other stages in a step: values, gradients of values, and of
        weights that several pieces have."""
        out = []
        for stage, plan in zip(self.stages, self.plans):
            taken = sum(_wanted(plan.program, p) for p in (*stage.reads.values(), *stage.seeds.values()))
            shared = sum(int(layout.local_bytes(plan.mesh, t.nbytes)) * self._others(w.name) for w, (_, layout) in
                         zip(plan.program.weights, plan.program.gradients) if (t := static_type(w)))  # fmt: skip
            out.append(self.micro * taken + shared)
        return out

    def _others(self, weight: str) -> int:
        """How many more pieces have a weight."""
        return sum(w.name == weight for plan in self.plans for w in plan.program.weights) - 1

    @cached_property
    def timeline(self) -> Pipelined:
        """Who works on which micro-batch when, simulated."""
        return simulated([self.piece(i) for i in range(len(self.plans))], self.scheduler, self.pipes, self.micro)

    def piece(self, i: int) -> Piece:
        """Seconds of a piece, simulated."""
        plan, stage = self.plans[i], self.stages[i]
        line = plan.timeline
        kernels = [e for e in line.events if e[0] == "compute"]
        forward = min((a for _, a, _, what in kernels if "gradient" in what), default=line.seconds)
        ends = [b for _, _, b, what in kernels if what != "optimizer"]
        computed = max(ends, default=forward)
        send = 0.0
        if i:
            nbytes = sum(_wanted(plan.program, p) for p in stage.reads.values())
            link = self._link((i - 1) % self.pipes, i % self.pipes)
            send = link.latency + nbytes / link.bandwidth if nbytes else 0.0
        return Piece(forward, computed - forward, send, line.seconds - computed)

    def _link(self, a: int, b: int) -> Any:
        """The link between the first devices of two stages."""
        a, b = a * self.devices, b * self.devices
        levels = self.plans[0].mesh.cluster.levels
        return next(link for unit, link in levels if a // unit == b // unit)

    @property
    def step_time(self) -> float:
        """Seconds of a step, simulated."""
        return self.timeline.seconds

    @cached_property
    def memory(self) -> list[dict[str, float]]:
        """Bytes per device, stage by stage; activations of all micro-batches in flight."""
        out: list[dict[str, float]] = []
        for s in range(self.pipes):
            rows = [self.plans[p].memory for p in range(s, len(self.plans), self.pipes)]
            row = {name: sum(r[name] for r in rows) for name in rows[0] if name != "total"}
            row["activations"] *= self.timeline.flight[s] / len(rows)
            out.append({**row, "total": sum(row.values())})
        return out

    def explain(self) -> str:
        """Stages, their layers, seconds, bytes in flight, and the schedule."""
        lines = [f"{self!r}: step {self.step_time * 1e3:.3f} ms, bubble {self.timeline.bubble:.1%} (simulated)"]
        for i, (stage, n) in enumerate(zip(self.stages, self.sends)):
            piece = self.piece(i)
            flight = self.timeline.flight[i % self.pipes]
            lines.append(f"  stage {i % self.pipes}: {stage.layers[0]} ... {stage.layers[-1]}, "
                         f"forward {piece.forward * 1e6:.0f} us, backward {piece.backward * 1e6:.0f} us, "
                         f"{n / 1e6:.3g} MB received, {flight} micro-batches in flight")  # fmt: skip
        return "\n".join([*lines, str(self.timeline)])

    # ---- running ---------------------------------------------------------------------------------------------------

    def run(self, *inputs: Any) -> tuple[Any, dict[str, Any]]:
        """Run on simulated ranks.

        Args:
            inputs: of a whole batch, as the network takes them; those it was planned with by default.

        Returns:
            The sum of the losses of the micro-batches, {weight: its gradient}.

        Raises:
            ValueError: a batch that micro-batches do not divide, or of another size than planned.
        """
        ranks = [_StageRanks(plan.program) for plan in self.plans]
        total, gradients = 0.0, dict[str, Any]()
        batches = micro_batches(inputs or self.args, self.micro)
        for i, batch in enumerate(batches):
            values = self._values(batch)
            known: dict[Value, Any] = {}
            for stage, r in zip(self.stages, ranks):
                given = {p: values[v] for v, p in stage.given.items()}
                r.begin({**given, **{p: known[v] for v, p in stage.reads.items()}}, set(stage.reads.values()),
                        i == len(batches) - 1)  # fmt: skip
                known.update({v: r.output(k) for v, k in stage.makes.items()})
            total += known[next(v for v in self.stages[-1].makes if v not in self.stages[-1].seeds)]
            back: dict[Value, Any] = {}
            for stage, r in zip(reversed(self.stages), reversed(ranks)):
                r.end({p: back[v] for v, p in stage.seeds.items()})
                for v, k in stage.back.items():
                    back[v] = r.output(k) + back.get(v, 0)
                for name, g in r.gradients().items():
                    gradients[name] = g + gradients.get(name, 0)
        for r in ranks:
            for w, buffer in zip(r.program.weights, r.program.gradients):
                r.count("send", r.walks[0].part(buffer).nbytes * self._others(w.name))
        self.sent = [r.sent for r in ranks]
        return total, gradients

    def _values(self, batch: tuple[Any, ...]) -> dict[Value, Any]:
        owners = self.captured.owners(batch, {})
        out = {}
        for p, owner in zip(self.graph.params, owners):
            value = owner.asnumpy() if isinstance(owner, Tensor) else owner
            if isinstance(p.type, TensorType) and not p.type.weak and np.shape(value) != p.type.shape:
                raise AttributeValueError(f"a micro-batch of {p.name} has shape {list(np.shape(value))}, "
                                          f"the plan is for {p.type!r}.")  # fmt: skip
            out[p] = value
        return out

def summed(program: Program) -> set[Value]:
    """Values that may be summed over micro-batches before anything else happens to them: gradients of weights, back
    through casts, views and sums to the operators that made them."""
    made = {v for s in program.steps if isinstance(s, RunStep) and s.late for v, _ in s.results}
    out: set[Value] = set()
    todo = [v for v, _ in program.gradients if v in made]
    while todo:
        v = todo.pop()
        if v not in out and v.node is not None:
            out.add(v)
            linear = "view" in v.node.op.traits or v.node.op.name in ("cast", "transpose", "add")
            if linear and all(u in made for u in v.node.inputs):
                todo += v.node.inputs
    return out


def _once(step: Any, whole: set[Value]) -> bool:
    """Whether a step is made once and not for every micro-batch."""
    value = step.value if isinstance(step, MoveStep) else step.results[0][0] if step.results else None
    return bool(value in whole or step.phase == UPDATE)


def _wanted(program: Program, p: Value) -> int:
    """Bytes of a value from another stage that a rank asks for: its part, or all where layouts differ."""
    t = static_type(p)
    layouts = {layout for step in program.steps for v, layout in _reads(step) if v is p}
    if t is None or not layouts:
        return 0
    return int(t.nbytes if len(layouts) > 1 else layouts.pop().local_bytes(program.mesh, t.nbytes))


def _reads(step: Any) -> list[Any]:
    return [(step.value, step.source)] if isinstance(step, MoveStep) else list(step.operands)


def micro_batches(inputs: Sequence[Any], micro: int) -> list[tuple[Any, ...]]:
    """The inputs cut along their first axis.

    Raises:
        ValueError: an axis that the number of micro-batches does not divide.
    """
    arrays = [x.asnumpy() if isinstance(x, Tensor) else x for x in inputs]
    for a in arrays:
        if np.ndim(a) and np.shape(a)[0] % micro:
            raise AttributeValueError(f"a batch of {np.shape(a)[0]} cannot be cut into {micro} micro-batches; legal: "
                                      "its divisors.")  # fmt: skip
    cut = [np.split(a, micro) if np.ndim(a) else [a] * micro for a in arrays]
    return [tuple(Tensor(row[i]) if np.ndim(row[i]) else row[i] for row in cut) for i in range(micro)]


class _StageWalk(Walk):
    """A rank of a stage: stops before the gradient, and leaves sums open until the last micro-batch."""

    sums: dict[tuple[int, int], Any]
    last: bool
    summed: set[Value]

    def steps(self, first: int, stop: int) -> Generator[Request, Any, list[Any]]:
        for i in range(first, stop):
            step = self.program.steps[i]
            if isinstance(step, RunStep) and step.results and step.results[0][0] in self.summed:
                yield from self._gradient(i, step)
            elif self.last or not _once(step, self.summed):
                yield from self._move(step) if isinstance(step, MoveStep) else self._run(i, step)
        return []

    def _gradient(self, i: int, step: RunStep) -> Generator[Request, Any, None]:
        handed_on = any(v in self.summed for v, _ in step.operands)
        kernel, moves = self.recipe.kernel(i, step)
        if handed_on or not isinstance(kernel, LocalCall):
            if self.last:
                yield from self._run(i, step)
            return
        for j, (buffer, part) in enumerate(zip(step.results, kernel(self.rank, [self.part(b) for b in step.operands]))):
            self.sums[i, j] = self.sums[i, j] + part if (i, j) in self.sums else part
            if self.last:
                part = self.sums[i, j]
                if moves:
                    part = yield from self._moved(moves[j], part, step.strategy.reducer, step.where)
                self._keep(buffer, part)


class _StageRanks(Ranks):
    """The ranks of a stage over all micro-batches."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, keep=True)
        self.turn = next((i for i, s in enumerate(program.steps) if s.phase != FORWARD), len(program.steps))
        self.recipe = Recipe(program, True)
        self.sums: list[dict[tuple[int, int], Any]] = [{} for _ in range(program.mesh.size)]
        self.summed = summed(program)

    def begin(self, values: dict[Value, Any], sent: set[Value], last: bool) -> None:
        """Forward; ``sent`` are those of the values that come from another stage."""
        self.last = last
        self.stage_walks = [_StageWalk(self.recipe, rank) for rank in range(self.program.mesh.size)]
        for walk, sums in zip(self.stage_walks, self.sums):
            walk.sums, walk.last, walk.summed = sums, last, self.summed
        self.walks = list(self.stage_walks)
        for p, value in values.items():
            self._enter(p, value, p in sent)
        self._lockstep([w.steps(0, self.turn) for w in self.stage_walks])

    def end(self, seeds: dict[Value, Any]) -> None:
        """Backward, from the gradients of what was sent on."""
        for p, value in seeds.items():
            self._enter(p, value, True)
        self._lockstep([w.steps(self.turn, len(self.program.steps)) for w in self.stage_walks])

    def _enter(self, p: Value, value: Any, sent: bool) -> None:
        for walk in self.walks:
            walk.enter(p, value)
        if sent:
            layouts = list({layout for step in self.program.steps for v, layout in _reads(step) if v is p})
            one = part_of(self.program.mesh, layouts[0], value, 0) if len(layouts) == 1 else value
            self.count("send", one.nbytes if layouts else 0)

    def count(self, kind: str, nbytes: int) -> None:
        """Bytes that every rank of the stage got or sent."""
        self.sent[kind] = self.sent.get(kind, 0) + nbytes

    def output(self, k: int) -> Any:
        """A result as a whole."""
        buffer = self.program.outputs[k]
        return together(self.program, buffer, [w.part(buffer) for w in self.walks])

    def gradients(self) -> dict[str, Any]:
        """Those that are ready: sums over all micro-batches behind the last one, others now."""
        out = {}
        for w, buffer in zip(self.program.weights, self.program.gradients):
            if self.last or buffer[0] not in self.summed:
                out[w.name] = together(self.program, buffer, [x.part(buffer) for x in self.walks])
        return out


def settings(stages: int | None, scheduler: str | None) -> tuple[int, str, int]:
    """Stages, scheduler and pieces per stage, from keywords or the context's ``pipeline_config``.

    Raises:
        ValueError: a key that the configuration does not have.
    """
    config = dict(get_auto_parallel_context("pipeline_config") or {})
    legal = ("pipeline_interleave", "pipeline_scheduler", "pieces")
    for key in config:
        if key not in legal:
            raise AttributeValueError(f"pipeline_config has no key {key!r}; legal: {', '.join(legal)}.")
    interleaved = "interleaved" if config.get("pipeline_interleave") else "1f1b"
    name = scheduler or config.get("pipeline_scheduler") or interleaved
    return (stages or get_auto_parallel_context("pipeline_stages"), name,
            int(config.get("pieces", 2)) if name == "interleaved" else 1)  # fmt: skip


def stages_said(cell: Any) -> dict[str, int]:
    """Path of a Cell as operators carry it -> its ``pipeline_stage``, those without left out."""
    out: dict[str, int] = {}

    def walk(c: Any, path: str) -> None:
        if "pipeline_stage" in c.__dict__:
            out[path] = c.__dict__["pipeline_stage"]
        for child in c.cells():
            called = type(child).__name__ != "CellList"
            walk(child, f"{path}/{child.scope_name}" if called else path)

    walk(cell, cell.scope_name)
    return out


def plan_pipeline(cell: Any, inputs: tuple[Any, ...], make: Callable[[Joint, int], RunnablePlan], devices: int,
                  stages: int | None, scheduler: str | None, limit: float) -> PipelinePlan:  # fmt: skip
    """Plan a ``PipelineCell``.

    Args:
        cell: the network with its number of micro-batches; inputs: a whole batch.
        make: (program, devices) -> its plan; limit: bytes per device.
        devices: of all stages; stages, scheduler: by default the context's.

    Raises:
        ValueError: stages that do not divide the devices, too few micro-batches, a cut that is not there.
    """
    pipes, name, per = settings(stages, scheduler)
    micro, net, pieces = cell.micro_size, cell.network, pipes * per
    check(name, pipes, micro, pieces)
    if devices % pipes:
        legal = ", ".join(str(n) for n in range(1, devices + 1) if devices % n == 0)
        raise AttributeValueError(f"pipeline_stages={pipes} does not divide {devices} devices; legal: {legal}.")
    batch = micro_batches(inputs, micro)[0]
    captured = captured_of(net, batch)
    first = make(joint_of(captured, batch, {}, True), devices // pipes)
    runs = layers_in_order(first.problem.graph)
    where = placed(runs, stages_said(net), pieces)
    if where is None:
        where = balanced(first.problem, first.choices, runs, pieces, micro, limit)
    parts = programs(first.problem, runs, where, pieces)
    out = PipelinePlan(parts, [make(s.joint, devices // pipes) for s in parts], devices // pipes, micro, name, pipes,
                       captured, inputs, first.problem.graph)  # fmt: skip
    most = max(row["total"] for row in out.memory)
    if most > limit:
        raise AttributeValueError(f"the pipeline needs {most / 1e9:.3g} GB on a device of {limit / 1e9:.3g} GB.",
                                  hint="use more stages or devices, or smaller micro-batches.")  # fmt: skip
    return out
