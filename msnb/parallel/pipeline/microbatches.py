"""A program that runs a network on the parts of a batch (``nn.PipelineCell``), read from its graph.

    part 0    index(x) -> Net ... -> loss     scope PipelineCell/micro[0]/Net ...
    part 1    index(x) -> Net ... -> loss     scope PipelineCell/micro[1]/Net ...      the same nodes again
    the rest  sum of the losses, gradients, sums of gradients, optimizer

The program is the whole training step as it was written and says what is meant: every part goes through the network
after the one before it, so a moving average or a random draw of part 1 continues that of part 0, as on one device.
Two parts show what all of them do, and what one hands on to the next: the rest is asked for when the steps are.

A value is *free* when any stage can have it without asking another: data, numbers, constants, and what follows from
them outside of the network; inside, small numbers only (the next random key), so that no stage does another's work.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msnb.base import AttributeValueError
from msnb.core import TensorType
from msnb.core.microbatch_scope import micro_of
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.planner.cost_graph_builder import names_of
from msnb.parallel.program.training_graph import TrainingGraph

_SMALL = 64  # bytes of a value that every stage may make for itself


class MicrobatchedProgram:
    """A program and the parts of the batch in it.

    Args:
        joint: a program with a gradient, from ``copied``: sums of gradients will be written anew in its graph.
        micro: the number of parts of the batch, where the program goes through the first of them alone.

    Attributes:
        micro: the number of parts of the batch.
        parts: the forward nodes of every part, in program order; number: forward node -> its part.
        twin: forward node -> the same node of part 0.
        free: values that every stage can have for itself; data: those of them that the program makes of its data before
            the network sees them (the parts of the batch).

    Raises:
        ValueError: there are no parts, or they differ.
    """

    def __init__(self, joint: TrainingGraph, micro: int | None = None) -> None:
        self.joint: TrainingGraph = joint
        self.graph: Graph = joint.graph
        self.number: dict[Node, int] = {}
        found: dict[int, list[Node]] = {}
        for node in joint.graph.nodes:
            i = micro_of(node.scope) if node in joint.inside else None
            if i is not None:
                self.number[node] = i
                found.setdefault(i, []).append(node)
        self.parts: list[list[Node]] = [found[i] for i in sorted(found)]
        self.micro: int = len(self.parts) if micro is None else micro
        self._check()
        self.twin: dict[Node, Node] = {n: first for part in self.parts for n, first in zip(part, self.parts[0])}
        self.free: set[Value] = self._free()

    def _check(self) -> None:
        if not self.parts:
            raise AttributeValueError(
                "pipeline stages need micro-batches: a batch in one piece keeps one stage busy at a time.",
                hint="run the network inside of nn.PipelineCell(net, micro_size), with a micro_size of at least the "
                     "number of stages.")  # fmt: skip
        kinds = [[(n.op.name, tuple(repr(v.type) for v in n.outputs)) for n in part] for part in self.parts]
        for i, row in enumerate(kinds):
            if row != kinds[0]:
                raise AttributeValueError(f"micro-batch {i} runs {len(row)} operators that are not the "
                                          f"{len(kinds[0])} of micro-batch 0: every part of a batch must take the same "
                                          "way through the network.")  # fmt: skip

    @cached_property
    def readers(self) -> dict[Value, list[Node]]:
        """Who reads a value."""
        out: dict[Value, list[Node]] = {}
        for node in self.graph.nodes:
            for v in dict.fromkeys(node.inputs):
                out.setdefault(v, []).append(node)
        return out

    def names(self, nodes: Iterable[Node]) -> dict[Node, str]:
        """What operators are called: the same in every part of the batch and in every stage."""
        return {n: self._names[self.twin[n]] for n in nodes if n in self.twin}

    @cached_property
    def _names(self) -> dict[Node, str]:
        return names_of(self.parts[0])

    def handed_on(self) -> list[Value]:
        """What part 0 makes and the rest of the forward program reads: its loss, usually."""
        rest = [v for n in self.graph.nodes if n in self.joint.inside and n not in self.number for v in n.inputs]
        asked = {*rest, *self.graph.outputs}
        return [v for n in self.parts[0] for v in n.outputs if v in asked]

    # ---- what every stage can have for itself ----

    def _free(self) -> set[Value]:
        """Params that need no other stage, and what follows from them. State whose new value needs one is not free."""
        graph, joint = self.graph, self.joint
        params = {p for p in graph.params if p not in joint.weights and p not in joint.companions}
        while True:
            free = self._following(params)
            bound = {p for at, new in graph.state.items() if (p := graph.params[at]) in params
                     and graph.outputs[new] not in free}  # fmt: skip
            if not bound:
                return free
            params -= bound

    def _following(self, params: set[Value]) -> set[Value]:
        free, static = set(params), set[Value]()
        for node in self.graph.nodes:
            if "effect" in node.op.traits or not all(v in free for v in node.inputs):
                continue
            constant = all(v in static for v in node.inputs) and "random" not in node.op.traits
            outside = node not in self.number and node.primal is None
            if constant or outside or all(_is_small(v) for v in node.outputs):
                free |= set(node.outputs)
                static |= set(node.outputs) if constant else set()
        self.data: set[Value] = {v for v in free - static if v.node is not None and v.node not in self.number}
        return free


def _is_small(v: Value) -> bool:
    return isinstance(v.type, TensorType) and v.type.is_static and v.type.nbytes <= _SMALL


def copied(joint: TrainingGraph) -> TrainingGraph:
    """The program in a graph of its own."""
    twins: dict[Node, Node] = {}
    graph = joint.graph.copy(twins=twins)
    seen = dict(zip(joint.graph.params, graph.params))
    seen.update((a, b) for old, new in twins.items() for a, b in zip(old.outputs, new.outputs))
    out = TrainingGraph(graph, {seen[w] for w in joint.weights}, [seen[g] for g in joint.gradients])
    out.held, out.rematerialized = {seen[p] for p in joint.held}, joint.rematerialized
    return out


def view(graph: Graph, nodes: list[Node], params: list[Value], outputs: list[Value],
         state: dict[Value, Value] | None = None) -> Graph:  # fmt: skip
    """Some nodes as a graph: the same objects, no copies.

    Args:
        nodes: in an order in which they can run; params: what they read from outside, results of other nodes too.
        state: param -> its new value, one of the outputs.
    """
    out = Graph(graph.name, graph.module)
    out.nodes, out.params, out.outputs = nodes, params, outputs
    out.state = {params.index(p): outputs.index(v) for p, v in (state or {}).items()}
    return out
