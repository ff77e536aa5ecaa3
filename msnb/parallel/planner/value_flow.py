"""What is known of values before any strategy: which have gradients, are weights, depend on no input."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from msnb.core import TensorType
from msnb.ir.graph import Graph, Node, Value
from msnb.parallel.planner.cost_model import ACTIVATION, NONE, WEIGHT


@dataclass
class ValueFlow:
    """What is known of every value before any strategy.

    Attributes:
        weights: params that are trained.
        gradient: values whose gradient is asked for.
        derived: values that are weights seen through views and casts.
        static: values that depend on no input.
        readers: value -> how many operands it is; uses: value -> the nodes that read it, with the operand's number.
        nodes: those of the program.
    """

    weights: set[Value]
    gradient: set[Value] = field(default_factory=set)
    derived: set[Value] = field(default_factory=set)
    static: set[Value] = field(default_factory=set)
    readers: dict[Value, int] = field(default_factory=dict)
    uses: dict[Value, list[tuple[Node, int]]] = field(default_factory=dict)
    nodes: set[Node] = field(default_factory=set)

    @staticmethod
    def of(graph: Graph, weights: set[Value], incoming: Set[Value] = frozenset()) -> ValueFlow:
        """Walk the graph once; ``incoming`` are values whose gradient other programs want."""
        wanted = {v for v in incoming if isinstance(v.type, TensorType) and _float(v.type)}
        flow = ValueFlow(weights, weights | wanted, set(weights), nodes=set(graph.nodes))
        for node in graph.nodes:
            for i, v in enumerate(node.inputs):
                flow.readers[v] = flow.readers.get(v, 0) + 1
                flow.uses.setdefault(v, []).append((node, i))
            flow._follow(node)
        return flow

    def _follow(self, node: Node) -> None:
        """What holds of a node's results, by what holds of its operands."""
        control = "control" in node.op.traits
        if (node.op.grad is not None or control) and any(v in self.gradient for v in node.inputs):
            self.gradient |= {o for o in node.outputs if isinstance(o.type, TensorType) and _float(o.type)}
        if _is_view(node) and all(v in self.derived for v in node.inputs):
            self.derived |= set(node.outputs)
        if not control and "effect" not in node.op.traits and all(_weak(v) or v in self.static for v in node.inputs):
            self.static |= set(node.outputs)

    def role(self, value: Value) -> str:
        """What the gradient of an operand is."""
        if value not in self.gradient:
            return NONE
        return WEIGHT if value in self.derived else ACTIVATION

    def kept(self, value: Value) -> bool:
        """Whether a gradient rule reads the value, so that it is kept for the backward pass."""
        return self.keeper(value) is not None

    def keeper(self, value: Value) -> Node | None:
        """The first node of the program whose gradient rule reads the value: its maker, or a reader."""
        node = value.node
        if node is not None and node in self.nodes and {"out", "outs"} & node.op.wanted_by_grad:
            return node
        for reader, i in self.uses.get(value, ()):
            names = reader.op.inputs
            name = names[min(i, len(names) - 1)].lstrip("*") if names else ""
            if name in reader.op.wanted_by_grad:
                return reader
        return None


def _float(t: TensorType) -> bool:
    return t.dtype.differentiable


def _weak(v: Value) -> bool:
    return v.is_param and isinstance(v.type, TensorType) and v.type.weak


def _is_view(node: Node) -> bool:
    return len(node.inputs) == 1 and ("view" in node.op.traits or node.op.name in ("transpose", "cast"))
