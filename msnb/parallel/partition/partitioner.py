"""Strategies made into steps, for the forward program and for its gradient.

Forward, every node has its strategy from the search. A backward node inherits: the axes of its operands stand for axes
of the forward op (x^T has its k and m, dy its m and n), and what the plan split stays split, along the same mesh axes.
Where that says nothing (sums of gradients), a node takes the strategy that is cheapest in the layouts its operands are
in. Data parallelism comes out as it should: the product x^T dy contracts the axis that the batch was split along, its
result is an open sum, and closing it is the gradient's all-reduce.

    forward    x [m/8, k]   w [k, n]        y = x w      [m/8, n]       no communication
    backward   x^T [k, m/8], dy [m/8, n]    dw = x^T dy  [k, n] partial over 8  ->  all_reduce
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msnb.ir.graph import Node, Value
from msnb.parallel.context import EVERY_SUM, GRADIENT_SUMS
from msnb.parallel.partition.gradient_strategies import (
    GradientStrategies,
    last_values,
    late_values,
    left_open,
    passed_on,
)
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import TimeModel
from msnb.parallel.program.optimizer_sharding import GradientSpreading, OptimizerSharding
from msnb.parallel.program.spmd_program import (
    BACKWARD,
    FORWARD,
    UPDATE,
    Buffer,
    MoveStep,
    RankGroup,
    RunStep,
    SpmdProgram,
    moves_closing,
    static_type,
)
from msnb.parallel.sharding.layout import TensorLayout, whole
from msnb.parallel.sharding.local_op import widened
from msnb.parallel.sharding.strategies import OpSignature, Strategy

if TYPE_CHECKING:
    from msnb.parallel.program.training_graph import TrainingGraph
    from msnb.parallel.sharding.device_mesh import Mesh


class Partitioner:
    """Builds the steps of a plan.

    Args:
        problem: program and costs.
        strategies: the strategy of every node that has a choice; layouts: of weights with several readers.
    """

    program: SpmdProgram

    def __init__(self, problem: CostGraphBuilder, strategies: Mapping[Node, Strategy],
                 layouts: Mapping[Value, TensorLayout]) -> None:  # fmt: skip
        self.problem: CostGraphBuilder = problem
        self.mesh: Mesh = problem.mesh
        self.joint: TrainingGraph = problem.joint
        self.choose: GradientStrategies = GradientStrategies(problem, strategies)
        self.time: TimeModel = TimeModel(self.mesh, training=False)
        self.program = SpmdProgram((RankGroup(0, self.mesh),), self.joint.graph, trains=problem.prices.rule.training)
        resident = problem.flow.weights | set(self.joint.companions)
        resident |= self.joint.transfers.incoming | set(self.joint.fed)
        self.program.anywhere = {p for p in self.joint.graph.params if p not in resident}
        self.program.anywhere |= problem.copied
        self.layouts: dict[Value, list[TensorLayout]] = {v: [layout] for v, layout in layouts.items()}
        for p in problem.flow.weights:  # of which no forward node reads: a copy everywhere
            if p not in problem.flow.readers:
                self.layouts[p] = [whole(getattr(p.type, "ndim", 0))]
        self._late, self._last = late_values(self.joint), last_values(self.joint)
        self.sharding: OptimizerSharding = problem.prices.sharding
        self._spread: GradientSpreading | None = None
        self._homes: dict[Value, TensorLayout] = {}  # of weights: where their optimizer state is
        if self.sharding.level == 3:  # those with several readers
            self.layouts.update({v: [self._shared(v, known[0])] for v, known in self.layouts.items()})
        self.made_for: list[Node | None] = []  # per step the node for which it was made
        self.leaving: dict[Value, TensorLayout] = {}  # where values lie that are sent to others

    def build(self) -> SpmdProgram:
        """The steps of the whole program: forward, and where it trains gradients and updates."""
        joint = self.joint
        copied = set(self.problem.copied)
        for node in joint.graph.nodes:
            if node in joint.inside:
                where = self.problem.names[node]
                self._run(node, self.problem.calls[node], self.choose.forward(node), FORWARD, where)
            else:
                if self._spread is None:
                    self._turn()
                self._run_back(node, copied)
            self._note(node)
        self._conclude()
        self._note(None)
        return self.program

    def _note(self, node: Node | None) -> None:
        self.made_for += [node] * (len(self.program.steps) - len(self.made_for))

    # ---- copies that share their update ----

    def _shared(self, weight: Value, layout: TensorLayout) -> TensorLayout:
        """Where a weight's optimizer state is."""
        return self.sharding.spread(self.mesh, layout, weight.type) if self.program.trains else layout

    def _turn(self) -> None:
        """Before the first gradient: every weight has its layout; at level 3 what was gathered is let go."""
        gathered = self.sharding.level == 3
        held = {w: self.layouts[w][0] for w in self.joint.weights if self.layouts.get(w)}
        self._homes = held if gathered else {w: self._shared(w, layout) for w, layout in held.items()}
        moved = {w: home for w, home in self._homes.items() if gathered or home != held[w]}
        self._spread = GradientSpreading(self.mesh, self.joint, self._late, moved)
        if gathered:
            self.layouts.update({w: [home] for w, home in held.items()})

    def _renewed(self, weight: Value) -> None:
        """A program that ends with its gradients: the update's part of a weight, gathered to what its readers want."""
        home, wanted = self._homes[weight], self.layouts[weight][0]
        t = static_type(weight)
        if home == wanted or t is None:
            return
        for a, b in ((wanted, home), (home, wanted)):
            moves = self.time.resharder.moves(a, b, t.ints(), t.dtype.itemsize)
            self.program.steps.append(MoveStep(weight, moves, a, b, UPDATE, f"new value of {weight.name}"))

    def _conclude(self) -> None:
        """Where results are; new state goes where the old one was, gradients where their weight is."""
        program, joint = self.program, self.joint
        resident = [p for p in joint.graph.params if self.layouts.get(p) and p not in program.anywhere]
        program.params = {p: self.layouts[p][0] for p in resident}
        outputs = {i: self._closed(v) for i, v in enumerate(joint.graph.outputs)}
        self.leaving = {v: self._closed(v)[1] for v in joint.graph.params if v in self.layouts}
        self.leaving.update((v, self._closed(v)[1]) for v in joint.transfers.outgoing)
        for at, new in joint.graph.state.items():
            p, value = joint.graph.params[at], joint.graph.outputs[new]
            layout = program.params.get(p) or whole(getattr(value.type, "ndim", 0))
            outputs[new] = self._bring(value, layout, UPDATE, f"new value of {p.name}")
        program.outputs = [outputs[i] for i in range(len(joint.graph.outputs))]
        program.weights = [p for p in joint.graph.params if p in joint.weights]
        program.gradients = [
            self._bring(g, self._homes.get(w, self.layouts[w][0]), BACKWARD, f"gradient of {w.name}")
            for g, w in zip(joint.gradients, program.weights)
        ]
        for w in program.weights if joint.gradients else ():
            self._renewed(w)

    def _where_it_is(self, value: Value) -> Buffer:
        if value in self.program.anywhere or value not in self.layouts:
            return value, whole(getattr(value.type, "ndim", 0))
        return value, self.layouts[value][0]

    def _closed(self, value: Value) -> Buffer:
        """A value where it is, its sum taken."""
        value, layout = self._where_it_is(value)
        return self._bring(value, TensorLayout(layout.dims), BACKWARD, "sum") if layout.partial else (value, layout)

    # ---- steps ----

    def _bring(self, value: Value, target: TensorLayout, phase: str, where: str) -> Buffer:
        """The value in this layout; a step if it is not there yet."""
        t = static_type(value)
        if value in self.program.anywhere or t is None:
            return value, target
        known = self.layouts.setdefault(value, [])
        if target in known:
            return value, target
        if not known:  # a weight is laid out as its first reader wants it
            shared = self.sharding.level == 3 and value in self.joint.weights
            known.append(self._shared(value, target) if shared else target)
            if known[0] == target:
                return value, target
        cost = [self.time.resharder.cost(k, target, t.ints(), t.dtype.itemsize) for k in known]
        source = known[cost.index(min(cost))]
        moves = self.time.resharder.moves(source, target, t.ints(), t.dtype.itemsize)
        self.program.steps.append(MoveStep(value, moves, source, target, phase, where, value in self._late))
        known.append(target)
        return value, target

    def _run(self, node: Node, call: OpSignature, strategy: Strategy, phase: str, where: str) -> None:
        operands = [self._bring(v, s, phase, where) for v, s in zip(node.inputs, strategy.inputs)]
        results = list(zip(node.outputs, strategy.outputs))
        late = all(v in self._late for v in node.outputs)
        self.program.steps.append(
            RunStep(node, call, strategy, operands, results, phase, where, late, self._is_wide(node, call, strategy))
        )
        for v, layout in results:
            self.layouts[v] = [layout]

    def _is_wide(self, node: Node, call: OpSignature, strategy: Strategy) -> bool:
        """Whether 16-bit terms of the op's open sum are added in float32."""
        asked = self.problem.wide == EVERY_SUM or (
            self.problem.wide == GRADIENT_SUMS and any(v in self._last for v in node.outputs)
        )
        added = strategy.partial or any(moves_closing(self.mesh, call, strategy))
        return asked and bool(added) and any(widened(t) is not t for t in call.outs)

    # ---- gradients ----

    def _run_back(self, node: Node, copied: set[Value]) -> None:
        call = self.problem.prices.call(node).saying(node.attrs)
        for v in node.inputs:
            if v in self.joint.companions and v not in self.layouts:
                weight = self.joint.companions[v]
                self.layouts[v] = [self._homes[weight]] if weight in self._homes else self.layouts[weight][:1]
        strategy = self._strategy_back(node, call, copied)
        primal = self.choose.primal(node)
        if node in self.joint.updates:
            self._run(node, call, strategy, UPDATE, f"update in {node.scope}/{node.op.name}")
        else:
            where = "a sum of gradients" if primal is None else f"gradient of {self.problem.names[primal]}"
            self._run(node, call, strategy, BACKWARD, where)

    def _strategy_back(self, node: Node, call: OpSignature, copied: set[Value]) -> Strategy:
        if all(v in copied for v in node.inputs):
            copied |= set(node.outputs)
            self.program.anywhere |= set(node.outputs)
            return self.choose.first(call)
        here = [None if v in self.program.anywhere else tuple(self.layouts.get(v, ())) for v in node.inputs]
        strategy = self.choose.backward(node, call, tuple(here))
        if node.outputs[0] in self.joint.transfers.summed:
            if strategy.partial:
                return left_open(strategy, self._is_wide(node, call, strategy))
            first = [self.layouts[v][0] if self.layouts.get(v) else None for v in node.inputs]
            return passed_on(node, call, first, self.mesh) or strategy
        return strategy if self._spread is None else self._spread.strategy(node, strategy)
