"""The plan: strategies chosen, laid out as steps, timed, weighed, explained, saved.

    plan.strategies     op -> split counts per input          plan.collectives   kind, group, bytes, where
    plan.layouts        value -> device matrix, tensor map     plan.step_time     simulated seconds
    plan.explain(op)    the candidates, their costs, why       plan.memory        bytes per device

Files have MindSpore's strategy schema (current_stage, parallel_strategy_item, parallel_layout_item); what it cannot say
(which mesh axes a split uses, copies in between) stands under a key of its own, and is used where it agrees with the
split counts, so an edited file means what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from msnb.base import AttributeValueError, events
from msnb.devices.ascend.peak_memory import MOST
from msnb.ir.graph import Node, Value
from msnb.parallel.partition.gradient_buckets import Gradient, Segments, feature_costs, names_of_late, segmented
from msnb.parallel.partition.partitioner import Partitioner
from msnb.parallel.partition.remat_insertion import taken_again
from msnb.parallel.partition.step_simulator import Timeline, simulate
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import TimeModel
from msnb.parallel.planner.pareto_front import Point, front, layers
from msnb.parallel.planner.rematerialization import Layer, freed, kept_values
from msnb.parallel.planner.shard_constraints import marked, written
from msnb.parallel.plans.plan_interface import PlanBase
from msnb.parallel.plans.strategy_files import read_strategies
from msnb.parallel.program import spmd_program as spmd
from msnb.parallel.program.optimizer_sharding import gradients_of
from msnb.parallel.search.cost_graph import NoPlan
from msnb.parallel.search.elimination import TooLarge, dynamic_programming
from msnb.parallel.search.heuristics import recursive_programming, sharding_propagation
from msnb.parallel.search.oracles import brute_force, linear_program
from msnb.parallel.sharding.layout import TensorLayout, from_map
from msnb.parallel.sharding.strategies import OpSignature, Strategy, chosen, place

if TYPE_CHECKING:
    from msnb.parallel.sharding.device_mesh import Mesh

SEARCHES = ("dynamic_programming", "recursive_programming", "sharding_propagation", "brute_force", "linear_program")


_TAKEN_OVER = (
    "the exact search needs tables that are too large for this program: recursive_programming plans it "
    "(search_mode= chooses)."
)


def search(problem: CostGraphBuilder, mode: str, wanted: Mapping[str, Any], limit: float | None,
           insists: bool = True) -> list[int]:  # fmt: skip
    """The choices of a search over a problem.

    Args:
        wanted: strategies by name; they go before those that were written in the program (``shard``).
        insists: whether somebody chose the mode; else recursive programming takes over, and says so, where the exact
            search would need too much memory.

    Raises:
        ValueError: an unknown mode, a wrong strategy, or no plan that fits into memory.
    """
    if mode not in SEARCHES:
        raise AttributeValueError(f"no search is called {mode!r}; legal: {', '.join(SEARCHES)}.")
    given = {**marked(problem), **written(problem, wanted)}
    problem.replace(given)
    problem.searched = mode
    fixed = {node for node, strategies in given.items() if len(strategies) == 1}
    try:
        choices = _searched(problem, mode, fixed, limit)
    except NoPlan:
        raise no_room(problem, limit, "no plan fits") from None
    except TooLarge:
        if not insists:
            events.notice(_TAKEN_OVER, key="recursive programming takes over")
            return search(problem, "recursive_programming", wanted, limit)
        raise AttributeValueError(
            "the exact search needs tables that are too large for this program.",
            hint="use search_mode='recursive_programming', or max_split=1.",
        ) from None
    if limit is not None and problem.costs.bytes(choices) > limit:
        raise no_room(problem, limit, f"the plan of {mode} does not fit")
    return choices


def _searched(problem: CostGraphBuilder, mode: str, fixed: set[Node], limit: float | None) -> list[int]:
    costs = problem.costs
    if mode == "recursive_programming":
        return recursive_programming(costs, problem.runs())
    if mode == "sharding_propagation":
        return sharding_propagation(costs, {problem.place[node]: 0 for node in fixed})
    if mode == "dynamic_programming":
        return dynamic_programming(costs, limit)
    return (brute_force if mode == "brute_force" else linear_program)(costs, limit)


def no_room(problem: CostGraphBuilder, limit: float | None, what: str) -> AttributeValueError:
    """The error of a program that does not fit; it names what takes most room where all is split as far as it goes."""
    least = [int(m.argmin()) for m in problem.costs.memory]
    largest = sorted(problem.parts(least), key=lambda part: -part.nbytes)[:MOST]
    return AttributeValueError(
        f"{what} into {(limit or 0) / 1e9:.3g} GB per device: weights and activations need at least "
        f"{problem.costs.bytes(least) / 1e9:.3g} GB each on {problem.mesh.size} devices.",
        operands=[f"{part.name}: {part.type!r}, {part.what}, {part.nbytes / 1e9:.3g} GB" for part in largest],
        hint="use auto_parallel with dynamic_programming (it knows the limit), more devices, a smaller batch, or a "
        "larger memory_limit.",
    )


def batch_split(problem: CostGraphBuilder) -> dict[Node, Strategy]:
    """Data parallel: axis 0 of the data, and what it becomes, over all devices; weights whole everywhere."""
    held = problem.flow.weights | problem.joint.held
    axis: dict[Value, int] = {
        p: 0 for p in problem.graph.params if p not in held and (t := spmd.static_type(p)) and t.ndim
    }
    out: dict[Node, Strategy] = {}
    for node in problem.graph.nodes:
        call = problem.calls[node]
        made = _split_along(problem, call, {i: axis[v] for i, v in enumerate(node.inputs) if v in axis})
        if made is None:
            continue
        if node in problem.place:
            out[node] = made
        label = made.blocks[0][0]
        axis.update((v, row.index(label)) for row, v in zip(call.axes.outputs, node.outputs) if label in row)
    return out


def _split_along(problem: CostGraphBuilder, call: OpSignature, batch: Mapping[int, int]) -> Strategy | None:
    """The strategy that splits a batch over all devices; None where inputs disagree, or the op cannot be split so.

    Args:
        batch: per input with a batch, its axis.
    """
    found = {call.axes.inputs[i][axis] for i, axis in batch.items()} - {None}
    label = found.pop() if len(found) == 1 else None
    if label is None or label not in _splittable(call):
        return None
    return place(call, {label: tuple(range(len(problem.mesh.factors)))}, problem.mesh)


def _splittable(call: Any) -> set[str]:
    return {label.name for label in call.axes.splittable()}


Made = TypeVar("Made", bound="Plan")


@dataclass(frozen=True)
class PlanOrigin:
    """What a plan was made of, besides its problem.

    Attributes:
        captured: the program that was planned; args: what it was planned with.
        replica: makes the plan of one device's part of the batch.
        cuts: gradients behind which a bucket of the all-reduce ends; bucket: bytes that fill one.
    """

    captured: Any = None
    args: tuple[Any, ...] = ()
    replica: Callable[[], Plan | None] | None = None
    cuts: tuple[int, ...] = ()
    bucket: float = math.inf


NO_ORIGIN = PlanOrigin()


class Plan(PlanBase):
    """A program laid over devices.

    Attributes:
        problem: program and costs; choices: one per node of its cost graph.
        rematerialized: layers that are computed twice.
    """

    def __init__(self, problem: CostGraphBuilder, choices: list[int], mode: str,
                 rematerialized: Sequence[Layer] = (), origin: PlanOrigin = NO_ORIGIN) -> None:  # fmt: skip
        self.problem: CostGraphBuilder = problem
        self.choices: list[int] = list(choices)
        self.mode: str = mode
        self.mesh: Mesh = problem.mesh
        self.rematerialized: tuple[Layer, ...] = tuple(rematerialized)
        self._origin = origin

    def changed(self: Made, choices: Sequence[int] | None = None, mode: str | None = None,
                rematerialized: Sequence[Layer] | None = None) -> Made:  # fmt: skip
        """This plan with other choices, layers computed twice or another word for how it was made.

        Layers that are computed twice are, under other choices, those of the same names.
        """
        choices = list(self.choices if choices is None else choices)
        twice = self.alike(self.rematerialized, choices) if rematerialized is None else rematerialized
        return self.__class__(self.problem, choices, self.mode if mode is None else mode, twice, self._origin)

    def alike(self, which: Sequence[Layer], choices: Sequence[int]) -> tuple[Layer, ...]:
        """The layers of these names, with what they cost and save under these choices."""
        names = {x.name for x in which}
        return tuple(x for x in layers(self.problem, choices) if x.name in names) if names else ()

    # ---- what was chosen ----

    @cached_property
    def chosen(self) -> dict[Node, Strategy]:
        """The strategy of every operator that has a choice."""
        p = self.problem
        return {n: p.strategies[p.place[n]][self.choices[p.place[n]]] for n in p.graph.nodes if n in p.place}

    @cached_property
    def objective(self) -> float:
        """The search's value: simulated seconds, or weighted bytes with cost_model="bytes"."""
        return self.problem.total(self.choices)[0]

    @property
    def strategies(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Operator -> split counts per input."""
        return {self.problem.names[node]: s.splits(self.mesh) for node, s in self.chosen.items()}

    @property
    def program(self) -> spmd.SpmdProgram:
        """The steps of every rank."""
        return self._twice if self.rematerialized else self._once

    @cached_property
    def _twice(self) -> spmd.SpmdProgram:
        once = self._once
        steps = [step for step in once.steps if isinstance(step, spmd.Local)]
        leaving = {v for v, _ in (*once.outputs, *once.gradients)}
        layers = {layer.name for layer in self.rematerialized}
        return replace(once, steps=list(taken_again(steps, leaving, layers, self.problem.joint.rematerialized)))

    @cached_property
    def _once(self) -> spmd.SpmdProgram:
        """The steps with no layer computed twice."""
        p = self.problem
        layouts = {v: p.strategies[i][self.choices[i]].outputs[0] for v, i in p.place.items() if isinstance(v, Value)}
        return Partitioner(p, self.chosen, layouts).build()

    @property
    def layouts(self) -> dict[str, dict[str, Any]]:
        """Weight or operator -> device matrix and tensor map of the weight, or of the operator's first result."""
        out = {v.name: layout.mindspore(self.mesh) for v, layout in self.program.params.items()}
        for node, s in self.chosen.items():
            if s.outputs:
                out[self.problem.names[node]] = s.outputs[0].mindspore(self.mesh)
        return out

    # ---- what it costs ----

    @cached_property
    def replica(self) -> Plan | None:
        """What one device runs in data_parallel mode, where devices know nothing of each other; None in other modes."""
        return None

    @property
    def collectives(self) -> list[spmd.Collective]:
        """Every collective of a step, in order, with the group of the context's ``global_rank``."""
        return self.program.collectives(self.rank)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.mesh.size

    @cached_property
    def timeline(self) -> Timeline:
        """Simulated: when a device computes and when it talks."""
        alone, origin = self.replica, self._origin
        if alone is None:
            return simulate(self.program, self._update, origin.cuts, origin.bucket, self.mode == "data_parallel")
        learned = gradients_of(alone.problem.joint)
        return simulate(alone.program, alone._update, origin.cuts, origin.bucket, over=self.mesh, learned=learned)

    @property
    def _update(self) -> float:
        """Seconds of the optimizer: its bytes, and a kernel per weight."""
        states, chip = self.problem.prices.rule.optimizer_states, self.mesh.cluster.chip
        update = TimeModel(self.mesh).update(self.memory["optimizer"] / max(states, 1), states)
        return update + chip.launch * max(0, len(self.program.weights) - 1)

    @cached_property
    def memory(self) -> dict[str, float]:
        """Bytes per device: weights, gradients, optimizer, activations kept for the gradient, and their total."""
        held = [self.problem.prices.holdings(layout, t) for v, layout in self._readers_layouts().items()
                if (t := spmd.static_type(v))]  # fmt: skip
        out = {name: float(sum(row[i] for row in held)) for i, name in enumerate(("weights", "gradients", "optimizer"))}
        out["activations"] = self.activations - freed(self.rematerialized)
        return {**out, "total": sum(out.values())}

    def _readers_layouts(self) -> dict[Value, TensorLayout]:
        """Weights as their readers want them (as they lie, but for sharding at level 3)."""
        wanted: dict[Value, TensorLayout] = {}
        for step in self.program.steps:
            for v, layout in step.operands if isinstance(step, spmd.RunStep) and step.phase == spmd.FORWARD else ():
                if v in self.problem.flow.weights:
                    wanted.setdefault(v, layout)
        return {v: wanted.get(v, layout) for v, layout in self.program.params.items() if v in self.problem.flow.weights}

    @cached_property
    def activations(self) -> float:
        """Bytes per device that are kept for the gradient where no layer is computed twice."""
        if not self.problem.prices.rule.training:
            return 0.0
        return sum(nbytes for _, _, nbytes in kept_values(self.problem, self.chosen))

    def segments(self, algorithm: str = "optimal", cost: str = "time", **settings: Any) -> Segments:
        """Which gradients are reduced together, and the tail that this leaves (simulated).

        Args:
            algorithm: "optimal", "algorithm_1", "algorithm_2", "size", "index", "all" or "single".
            cost: the axis of "algorithm_1": "time", or "features" as MindSpore has it.
            **settings: those of the algorithm, see ``msnb.parallel.partition.gradient_buckets.segmented``.

        Raises:
            ValueError: an unknown algorithm, axis or setting.

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(64, 64)
            >>> how = {"device_num": 4, "parallel_mode": "data_parallel"}
            >>> plan = ms.parallel.plan(lambda x: ms.ops.relu(net(x)).mean(), ms.ops.ones((512, 64)), **how)
            >>> plan.segments("single").buckets
            [('bias',), ('weight',)]
        """
        if cost not in ("time", "features"):
            raise AttributeValueError(f"cost={cost!r} is not legal; legal: 'time', 'features'.")
        names, line = names_of_late((self.replica or self).problem.joint), self.timeline
        found = [Gradient(names.get(v, v.name), ready, n, axes, kind) for ready, n, axes, v, kind in line.gradients]
        if cost == "features" and algorithm == "algorithm_1":
            known = feature_costs(self.problem)
            settings["costs"] = [known.get(g.name, 0.0) for g in found]
        return segmented(found, self.mesh, line.computed, algorithm, **settings)

    @cached_property
    def front(self) -> list[Point]:
        """Plans of this program of which none is better in seconds and in bytes, the fastest first (simulated)."""
        return front(self.problem)

    def with_choices(self: Made, choices: Sequence[int]) -> Made:
        """The plan of the same program under other strategies, by their numbers: sensible or not, it can be run and is
        priced like any other.

        Args:
            choices: per node of the cost graph the number of one of its strategies, ``plan.problem.strategies``.

        Returns:
            A new plan; layers that this one computes twice it computes twice too.

        Raises:
            ValueError: not one number per node, or a strategy that is not there.

        Examples:
            >>> import msnb as ms
            >>> plan = ms.parallel.plan(ms.nn.Dense(64, 64), ms.ops.ones((512, 64)), device_num=4)
            >>> slowest = plan.with_choices([int(seconds.argmax()) for seconds in plan.problem.costs.time])
            >>> slowest.step_time > plan.step_time
            True
        """
        legal = [len(row) for row in self.problem.strategies]
        if len(choices) != len(legal):
            raise AttributeValueError(f"{len(choices)} choices are not one for each of {len(legal)} nodes.")
        for at, (choice, n) in enumerate(zip(choices, legal)):
            if not 0 <= choice < n:
                raise AttributeValueError(f"choice {choice} of node {at} is not there; legal: 0 to {n - 1}.")
        return self.changed(choices, "given")

    # ---- why ----

    def explain(self, op: str, most: int = 8) -> str:
        """Why an operator is laid out as it is.

        Args:
            op: its name in ``strategies`` (or the kind of op).
            most: how many candidates to show.

        Returns:
            A table: candidates, their own seconds, those of the reshards to the neighbours as planned, the sum; the one
            chosen is marked. A cheaper line than the marked one cannot exist after an exact search.
        """
        node = self.problem.operators.named(op)[0]
        v = self.problem.place[node]
        g = self.problem.costs
        around = np.zeros(len(g.time[v]))
        for a, b, m in g.edges:
            if v in (a, b):
                around += m[:, self.choices[b]] if a == v else m[self.choices[a], :]
        return self._table(node, g.time[v], around, self.choices[v], most)

    def _table(self, node: Node, own: Any, around: Any, chosen_at: int, most: int) -> str:
        unit = 1e6 if self.problem.prices.model.name == "time" else 1.0
        head = "us, simulated" if unit > 1 else "weighted bytes"
        order = list(np.argsort(own + around, kind="stable"))
        shown = order[:most] + ([chosen_at] if chosen_at not in order[:most] else [])
        call = self.problem.calls[node]
        shapes = ", ".join(map(repr, call.types))
        lines = [f"{self.problem.names[node]}: {node.op.name}({shapes}), {len(order)} strategies on "
                 f"{self.mesh.size} devices ({head})",
                 f"  {'own':>10} {'reshard':>10} {'sum':>10}  strategy"]  # fmt: skip
        for i in shown:
            s = self.problem.strategies[self.problem.place[node]][i]
            lines.append(f"{'->' if i == chosen_at else '  '}{own[i] * unit:10.1f} {around[i] * unit:10.1f} "
                         f"{(own[i] + around[i]) * unit:10.1f}  {self._words(call, s)}")  # fmt: skip
        return "\n".join(lines)

    def _words(self, call: OpSignature, s: Strategy) -> str:
        """Split counts, and what the ranks say to each other before and behind the op."""
        before, behind = spmd.moves_opening(self.mesh, call, s), spmd.moves_closing(self.mesh, call, s)
        text = [str(s.splits(self.mesh))]
        for word, rows in (("after", before), ("then", behind)):
            text += [f"{word} {m.kind} over {self.mesh.count(m.axes)}" for row in rows for m in row if not m.silent]
        return " ".join(dict.fromkeys(text))

    def __repr__(self) -> str:
        size = self.memory["total"] / 1e6
        return (
            f"<Plan: {len(self.chosen)} operators on {self.mesh.size} devices, {self.mode}; {len(self.collectives)} "
            f"collectives, {size:,.1f} MB per device, a step of {self.step_time * 1e6:,.1f} us (simulated)>"
        )

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """MindSpore's strategy file."""
        items = {name: {"stage": 0, "parallel_strategy": [list(s) for s in splits]}
                 for name, splits in self.strategies.items()}  # fmt: skip
        rest = {"field": 0, "opt_weight_shard_step": 0, "opt_weight_shard_size": 0, "param_split_shape": [],
                "indices_offset": []}  # fmt: skip
        weights = {v.name: {**layout.mindspore(self.mesh), "tensor_shape": list(t.shape), **rest}
                   for v, layout in self.program.params.items() if (t := spmd.static_type(v))}  # fmt: skip
        exact = {self.problem.names[n]: {"blocks": [[name, list(run)] for name, run in s.blocks], "scatter": s.scatter}
                 for n, s in self.chosen.items()}  # fmt: skip
        own = {"device_num": self.mesh.size, "mesh": list(self.mesh.factors), "operators": exact}
        return {"current_stage": 0, "parallel_strategy_item": items, "parallel_layout_item": weights, "msnb": own}

    def load(self: Made, path: str | Path, every: bool = True) -> Made:
        """The same program under the strategies of a file; operators that it does not name keep theirs.

        Args:
            every: whether all operators of the file must be in the program.

        Raises:
            CheckpointError: the file is no strategy file, or was made for another number of devices.
            ValueError: an operator or a strategy that does not fit the program.
        """
        data = read_strategies(path, self.mesh.size)
        return self.with_document(data, data.get("msnb", {}).get("operators", {}), every)

    def with_document(self: Made, data: Mapping[str, Any], exact: Mapping[str, Any], every: bool) -> Made:
        """The same program under the strategies of a document; ``exact``: operator -> what split counts cannot say."""
        given: dict[Node, Strategy] = {}
        for name, item in data["parallel_strategy_item"].items():
            for node in self.problem.operators.named(name) if every or self.problem.operators.has(name) else ():
                given[node] = self._from_file(name, node, item["parallel_strategy"], exact.get(name))
        return self.with_strategies(given, data.get("parallel_layout_item", {}), "file")

    def _from_file(self, name: str, node: Node, splits: list[list[int]], exact: Any) -> Strategy:
        """The saved strategy where it still says the same as the split counts, else the one of the counts."""
        call = self.problem.calls[node]
        found = None if exact is None else self._exact(call, splits, exact)
        return chosen(name, call, splits, self.mesh) if found is None else found

    def _exact(self, call: OpSignature, splits: list[list[int]], exact: Mapping[str, Any]) -> Strategy | None:
        """The strategy that gives labels these mesh axes; None where it does not exist, or splits otherwise."""
        blocks = {label: tuple(run) for label, run in exact["blocks"]}
        offered = self.problem.prices.candidates(call)
        alike = [s for s in offered if dict(s.blocks) == blocks and s.scatter == exact["scatter"]]
        used = [a for run in blocks.values() for a in run]
        known = set(blocks) <= _splittable(call) and set(used) <= set(range(len(self.mesh.factors)))
        made = [place(call, blocks, self.mesh)] if known and len(set(used)) == len(used) else []
        fitting = (s for s in (*alike, *made) if s is not None and [list(r) for r in s.splits(self.mesh)] == splits)
        return next(fitting, None)

    def with_strategies(self: Made, given: Mapping[Node, Strategy], weights: Mapping[str, Any], mode: str) -> Made:
        """A plan with these strategies of operators, and layouts of weights by name; ``mode``: how it was made."""
        choices, known = list(self.choices), self.problem.strategies
        place_of = self.problem.place
        more = {n: [*known[place_of[n]], s] for n, s in given.items() if s not in known[place_of[n]]}
        self.problem.replace(more)
        for node, s in given.items():
            v = self.problem.place[node]
            choices[v] = self.problem.strategies[v].index(s)
        for value in self.problem.graph.params:
            if value.name and value.name in weights:  # values between stages have no name
                tensor_map, place = weights[value.name]["tensor_map"], self.problem.place.get(value)
                _need_axes(value, tensor_map)
                if place is not None:  # else the operators that read it say how it lies
                    choices[place] = self._layout_choice(value.name, place, from_map(self.mesh, tensor_map))
        return self.changed(choices, mode)

    def _layout_choice(self, name: str, v: int, layout: TensorLayout) -> int:
        """Which choice of a weight is this layout."""
        offered = [s.outputs[0] for s in self.problem.strategies[v]]
        if layout not in offered:
            legal = dict.fromkeys(str(list(x.mindspore(self.mesh)["tensor_map"])) for x in offered)
            asked = list(layout.mindspore(self.mesh)["tensor_map"])
            raise AttributeValueError(
                f"the layout of {name}: this weight has no choice with the tensor map {asked} on the device matrix "
                f"{list(self.mesh.factors)}.",
                hint=f"legal at parallel_layout_item, {name!r}: {', '.join(legal)}; without an entry the plan chooses.",
            )
        return offered.index(layout)

    def computing_twice(self: Made, which: Sequence[Layer]) -> Made:
        """The same plan with these layers computed twice, and no others."""
        return self.changed(rematerialized=which)


def _need_axes(weight: Value, tensor_map: Sequence[Any]) -> None:
    t = spmd.static_type(weight)
    if t is not None and len(tensor_map) != t.ndim:
        raise AttributeValueError(
            f"the layout of {weight.name}: the tensor map {list(tensor_map)} has {len(tensor_map)} entries, the weight "
            f"{t} has {t.ndim} axes.",
            hint="write one entry per axis at parallel_layout_item: a device axis, or -1 where it is not split.",
        )
