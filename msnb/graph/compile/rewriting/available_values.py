"""What a sweep has written so far, found by what it computes: sums by operand and axes, products and quotients by
their operands. Laws that pay only where something is there already ask here. New nodes are entered when somebody asks,
each once, so all questions together walk the graph once.
"""

from __future__ import annotations

from msnb.core import TensorType
from msnb.graph.compile.rewriting.rewriter import GraphRewriter
from msnb.ir.graph import Node, Value
from msnb.ops.definition import has_sizes, normal_axes

Axes = tuple[int, ...]


def summed_axes(node: Node) -> Axes | None:
    """The axes longer than 1 that a ``sum`` or ``sum_to`` adds up; None where sizes are not known."""
    x = node.inputs[0].type
    if not isinstance(x, TensorType) or not has_sizes(x):
        return None
    if node.op.name == "sum":
        axes: Axes = normal_axes("sum", node.attrs["axis"], x.ndim)
    else:
        shape = node.attrs["shape"]
        gap = x.ndim - len(shape)
        axes = (*range(gap), *(i + gap for i, d in enumerate(shape) if d == 1))
    return tuple(sorted(a for a in axes if x.shape[a] != 1))


class AvailableValues:
    """The nodes of one graph under construction; ``age`` numbers the quotients in the order they were made."""

    def __init__(self) -> None:
        self._read = 0
        self.sums: dict[tuple[Value, Axes], Value] = {}
        self.products: dict[frozenset[Value], Value] = {}
        self.quotients: dict[tuple[Value, Value], Value] = {}
        self.age: dict[Value, int] = {}

    def catch_up(self, nodes: list[Node]) -> None:
        """Enter what was written since the last time."""
        for node in nodes[self._read :]:
            name = node.op.name
            if name == "multiply":
                self.products.setdefault(frozenset(node.inputs), node.out)
            elif name == "divide":
                self.quotients.setdefault((node.inputs[0], node.inputs[1]), node.out)
                self.age[node.out] = len(self.age)
            elif name in ("sum", "sum_to"):
                axes = summed_axes(node)
                if axes is not None:
                    self.sums.setdefault((node.inputs[0], axes), node.out)
        self._read = len(nodes)


def seen(sweep: GraphRewriter) -> AvailableValues:
    """What stands in the graph that ``sweep`` writes."""
    found = sweep.memory.get(AvailableValues)
    if found is None:
        found = sweep.memory[AvailableValues] = AvailableValues()
    assert isinstance(found, AvailableValues)
    found.catch_up(sweep.out.nodes)
    return found
