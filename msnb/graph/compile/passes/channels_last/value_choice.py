"""Which values of a graph are kept channels-last.

    x --transpose--> conv - norm - relu - conv - ... - pool --transpose--> flatten      one region, two borders
                     |__________ all or none ____________|

Values that an operation ties together (operands and results of convolutions, of elementwise operations, of reductions
that keep their axes) are one *region*, found by union-find. A region is turned as a whole or not at all:

    gain    WON of the bytes of each image that a convolution or pooling of the region reads or writes (left plain, the
            library brings it into an order of its own and back), and each transpose of the program that falls away;
            an image of a few channels loses as much, for loops over its last axis are too short for vectors
    cost    the bytes of each value that crosses the border, once per value: made plain and read in the region, or made
            in the region and read plain

Turned where the gain is greater than the cost: a chain of convolutions pays for two transposes, a lone one does not.
Values whose turning is free belong to no region. One walk over the nodes, so the cost of choosing is linear.
"""

from __future__ import annotations

from collections.abc import Iterable

from msnb.core import TensorType, size_hint
from msnb.graph.compile.passes.channels_last.axis_rules import Attrs, is_free, is_image, is_seed, shape_of, turned_attrs
from msnb.ir.graph import Graph, Node, Value
from msnb.ops.definition.data_format import TO_FIRST, TO_LAST
from msnb.ops.elementwise.constant import is_constant

WON = 0.5
"""What a plain image costs a convolution, as a part of what a transpose of it costs."""
FEW = 16
"""So many channels fill a vector."""


class Choice:
    """The regions of one graph and what was decided for them.

    Args:
        graph: the graph; bodies of control flow are graphs of their own.

    Attributes:
        attrs: the attributes that a node would have on turned images, for the nodes that can work on them.
    """

    def __init__(self, graph: Graph) -> None:
        self._parent: dict[Value, Value] = {}
        self._gain: dict[Value, float] = {}
        self._cost: dict[Value, float] = {}
        self._tied: dict[Node, Value] = {}
        self.attrs: dict[Node, Attrs] = {}
        if any(map(is_seed, graph.nodes)):
            self._tie_all(graph)
        self._last = {r for r, gain in self._gain.items() if gain > self._cost.get(r, 0.0)}

    def _tie_all(self, graph: Graph) -> None:
        for node in graph.nodes:
            attrs = turned_attrs(node)
            if attrs is not None:
                self.attrs[node] = attrs
                self._tie(node)
        self._count_gains(graph.nodes)
        self._count_costs(graph)

    def turned(self, node: Node) -> bool | None:
        """Whether a node of a region works on turned images; None for a node that belongs to none."""
        value = self._tied.get(node)
        return None if value is None else self._find(value) in self._last

    # ---- regions ----

    def _find(self, value: Value) -> Value:
        root = value
        while self._parent[root] is not root:
            root = self._parent[root]
        while self._parent[value] is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def _tie(self, node: Node) -> None:
        values = [v for v in _images(node) if not is_free(shape_of(v))]
        for v in values:
            self._parent.setdefault(v, v)
            self._parent[self._find(v)] = self._find(values[0])
        if values:
            self._tied[node] = values[0]

    # ---- gain and cost ----

    def _count_gains(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if is_seed(node):
                for v in _images(node):
                    channels = shape_of(v)[1]
                    self._add(self._gain, v, -WON if isinstance(channels, int) and channels < FEW else WON)
            elif node.op.name == "transpose":
                if node.attrs["perm"] == TO_FIRST:
                    self._add(self._gain, node.out, 1.0)
                elif node.attrs["perm"] == TO_LAST:
                    self._add(self._gain, node.inputs[0], 1.0)

    def _count_costs(self, graph: Graph) -> None:
        crossing: dict[Value, None] = dict.fromkeys(graph.params)
        for node in graph.nodes:
            if node not in self._tied and node.op.name not in ("transpose", "constant"):
                crossing.update(dict.fromkeys(node.outputs))
                crossing.update(dict.fromkeys(node.inputs))
            elif node in self._tied:
                self._low_operands(node)
        crossing.update(dict.fromkeys(graph.outputs))
        for value in crossing:
            self._add(self._cost, value, 1.0)

    def _low_operands(self, node: Node) -> None:
        """Operands of fewer axes are turned for the region alone."""
        for v in node.inputs:
            t = v.type
            if isinstance(t, TensorType) and 0 < len(t.shape) < 4 and not is_free(t.shape) and not is_constant(v):
                root = self._find(self._tied[node])
                self._cost[root] = self._cost.get(root, 0.0) + size_hint(t.nbytes)

    def _add(self, sums: dict[Value, float], value: Value, share: float) -> None:
        if value in self._parent:
            assert isinstance(value.type, TensorType)
            root = self._find(value)
            sums[root] = sums.get(root, 0.0) + share * size_hint(value.type.nbytes)


def _images(node: Node) -> list[Value]:
    """The images a node reads and makes; the weight of a convolution is none, nor is its gradient."""
    if not is_seed(node):
        return [v for v in (*node.inputs, *node.outputs) if is_image(v)]
    made = [node.out] if -1 in node.op.images else []
    return [*(node.inputs[i] for i in node.op.images if i >= 0), *made]
