"""The strategies of backward nodes: inherited from the forward op, else the cheapest where operands lie.

A gradient rule computes on the axes of its op. Each axis of a backward value is tagged with the label of the forward op
that it stands for; a node then splits what the forward op splits, along the same mesh axes.

    forward    y = x w       labels m k, k n -> m n
    backward   dw = x^T dy   x^T has k and m, dy has m and n: what the plan split stays split
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msnb.core import TensorType
from msnb.ir.graph import Node, Value
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import TimeModel
from msnb.parallel.program.optimizer_sharding import passes
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.op_axes import Row
from msnb.parallel.sharding.strategies import OpSignature, Strategy, candidates, place

if TYPE_CHECKING:
    from msnb.parallel.sharding.device_mesh import Mesh

Known = tuple[tuple[TensorLayout, ...] | None, ...]  # per operand the layouts it is in; None: a copy on every device


class GradientStrategies:
    """Chooses strategies of nodes that the search did not see.

    Args:
        problem: program and costs; strategies: of the nodes that have a choice.
    """

    def __init__(self, problem: CostGraphBuilder, strategies: Mapping[Node, Strategy]) -> None:
        self.problem: CostGraphBuilder = problem
        self.strategies: Mapping[Node, Strategy] = strategies
        self.mesh: Mesh = problem.mesh
        self.time: TimeModel = TimeModel(self.mesh, training=False)
        self._greedy: dict[Any, Strategy] = {}
        self._candidates: dict[Any, list[Strategy]] = {}
        self._tagged: dict[tuple[Node, Value], Row] = {}

    def forward(self, node: Node) -> Strategy:
        """The strategy of a forward node."""
        found = self.strategies.get(node)
        return self.first(self.problem.calls[node]) if found is None else found

    def first(self, call: OpSignature) -> Strategy:
        """The first candidate of a call: nothing is split."""
        return self._all(call)[0]

    def backward(self, node: Node, call: OpSignature, known: Known) -> Strategy:
        """The strategy of a backward node; ``known``: where its operands lie."""
        return self._inherited(node, call) or self._cheapest(node, call, known)

    def primal(self, node: Node) -> Node | None:
        """The forward node whose gradient a node belongs to."""
        return node.primal if node.primal in self.problem.joint.inside else None

    def _all(self, call: OpSignature) -> list[Strategy]:
        key = call.key
        found = self._candidates.get(key)
        if found is None:
            found = self._candidates[key] = candidates(call, self.mesh, self.problem.prices.most, scatter=False)
        return found

    def _cheapest(self, node: Node, call: OpSignature, here: Known) -> Strategy:
        allowed = self._axes(node, here)
        key = (call.key, here, allowed)
        found = self._greedy.get(key)
        if found is None:
            options = [s for s in self._all(call) if all(a in allowed for _, run in s.blocks for a in run)]
            costs = [self._seconds(call, s, here) for s in options]
            found = self._greedy[key] = options[costs.index(min(costs))]
        return found

    def _axes(self, node: Node, here: Known) -> frozenset[int]:
        """The mesh axes that split the forward op; where there is none, those that split an operand.

        What the plan keeps as copies stays copies: cutting it for one op would have to be paid back by a gather.
        """
        primal = self.primal(node)
        if primal is not None:
            return frozenset(a for _, run in self.forward(primal).blocks for a in run)
        return frozenset(a for known in here for layout in known or () for a in layout.used)

    def _inherited(self, node: Node, call: OpSignature) -> Strategy | None:
        """The strategy that splits every axis as the forward op does; None where tags do not say it."""
        primal = self.primal(node)
        if primal is None:
            return None
        own = self._own_tags(primal, node, call)
        forward = self.forward(primal)
        blocks = {mine: forward.axes_of(theirs) for mine, theirs in own.items() if forward.axes_of(theirs)}
        used = [a for run in blocks.values() for a in run]
        fine = {label.name for label in call.axes.splittable()}
        if not own or len(set(used)) < len(used) or not set(blocks) <= fine:
            return None
        known, key = self.problem.prices.cache.inherited, (call.key, tuple(blocks.items()))
        if key not in known:
            known[key] = place(call, blocks, self.mesh)
        return known[key]

    def _own_tags(self, primal: Node, node: Node, call: OpSignature) -> dict[str, str]:
        """A backward op's labels -> those of the forward op that they stand for; the results' axes are tagged so."""
        own: dict[str, str] = {}
        for row, v in zip(call.axes.inputs, node.inputs):
            _match(row, self._tags(primal, v), own)
        read = {name for row in call.axes.inputs for name in row}
        for row, v in zip(call.axes.outputs, node.outputs):
            made = tuple(None if name in read else name for name in row)  # axes that a broadcast makes
            _match(made, self._alike(primal, v), own)
            self._tagged[primal, v] = tuple(None if name is None else own.get(name) for name in row)
        return own

    def _tags(self, primal: Node, value: Value) -> Row | None:
        """Labels of the forward op for the axes of a value that its gradient rule reads."""
        known = self._tagged.get((primal, value))
        if known is not None:
            return known
        axes = self.problem.calls[primal].axes
        for values, rows in ((primal.inputs, axes.inputs), (primal.outputs, axes.outputs)):
            for v, row in zip(values, rows):
                if v is value:
                    return row
        return self._alike(primal, value)

    def _alike(self, primal: Node, value: Value) -> Row | None:
        """Labels of the forward op's results, else of its operands, that have a value's shape, where they agree."""
        axes, shape = self.problem.calls[primal].axes, getattr(value.type, "shape", None)
        for values, rows in ((primal.outputs, axes.outputs), (primal.inputs, axes.inputs)):
            found = {row for v, row in zip(values, rows) if getattr(v.type, "shape", None) == shape}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _seconds(self, call: OpSignature, strategy: Strategy, here: Known) -> float:
        """Seconds of bringing the operands, running, and closing."""
        total = self.time.compute(call, strategy) + self.time.close(call, strategy)
        for t, target, known in zip(call.types, strategy.inputs, here):
            if known and isinstance(t, TensorType) and t.is_static:
                total += min(self.time.resharder.cost(k, target, t.ints(), t.dtype.itemsize) for k in known)
        return total


def _match(row: Row, tags: Row | None, own: dict[str, str]) -> None:
    """Note labels with the tags of their axes; the first one counts."""
    for mine, theirs in zip(row, tags or ()):
        if mine is not None and theirs is not None:
            own.setdefault(mine, theirs)


def left_open(strategy: Strategy, wide: bool) -> Strategy:
    """The strategy of a sum that leaves it open, to be taken once for all parts of a batch.

    Args:
        wide: whether 16-bit terms are added in float32, which ends with their sum: then it is closed here.
    """
    plain = strategy.reducer == "sum" and not wide
    return replace(strategy, outputs=strategy.open_outputs(), partial=()) if plain else strategy


def passed_on(node: Node, call: OpSignature, layouts: Sequence[TensorLayout | None], mesh: Any) -> Strategy | None:
    """The strategy of a view, cast or sum that hands on the open sum which all its operands are; None where they are
    none, or lie differently.

    Args:
        layouts: where the operands lie.
    """
    known = set(layouts)
    layout = known.pop() if passes(node) and len(known) == 1 else None
    if layout is None or not layout.partial:
        return None
    blocks = {name: axes for name, axes in zip(call.axes.inputs[0], layout.dims) if axes and name is not None}
    made = place(call, blocks, mesh) if set(blocks) <= {x.name for x in call.axes.splittable()} else None
    if made is None or made.partial or any(t.dims != layout.dims for t in made.inputs):
        return None
    opened = [tuple(TensorLayout(t.dims, layout.partial) for t in row) for row in (made.inputs, made.outputs)]
    return replace(made, inputs=opened[0], outputs=opened[1])


def late_values(joint: TrainingGraph) -> set[Value]:
    """Gradients on which only outputs and updates wait, through views, casts and sums: they can run late."""
    readers: dict[Value, list[Node]] = {}
    for node in joint.graph.nodes:
        for v in node.inputs if node not in joint.updates else ():
            readers.setdefault(v, []).append(node)
    late: set[Value] = set()
    for node in reversed(joint.graph.nodes):
        for v in node.outputs if node not in joint.inside else ():
            quiet = all(passes(n) and all(o in late for o in n.outputs) for n in readers.get(v, ()))
            if quiet and v not in joint.transfers.urgent:
                late.add(v)
    return late


def last_values(joint: TrainingGraph) -> set[Value]:
    """Gradients that no rule of a gradient reads any more, but through views, casts and sums: those of weights."""
    readers: dict[Value, list[Node]] = {}
    backward = [n for n in joint.graph.nodes if n not in joint.inside and n not in joint.updates]
    for node in backward:
        for v in node.inputs:
            readers.setdefault(v, []).append(node)
    last: set[Value] = set()
    for node in reversed(backward):
        if all(passes(n) and all(o in last for o in n.outputs) for v in node.outputs for n in readers.get(v, ())):
            last |= set(node.outputs)
    return last
