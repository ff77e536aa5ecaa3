"""Where the last bit of a value decides, and what gives the same bits whenever it is computed.

    t = tanh(x);  m = amin(t);  gradient: where(t == m, ...)      t computed again by other code is 1 ulp off: no t is m

Arithmetic that IEEE 754 rounds is the same in every kernel and reference body; elementary functions are not, and sums
depend on their order. So a value from which such a function is computed again must not reach a comparison, a rounding
to whole numbers or a choice of positions: the value that was computed first is kept for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msnb.ir.graph import Graph, Node, Value
from msnb.ir.kernel.iteration_space import kind_of
from msnb.ir.kernel.scalar_expressions import deciding_names, is_reproducible

_SMOOTH = {"linear", "contraction"}


def reproduces(node: Node) -> bool:
    """True if a node gives the same bits from the same operands in every kernel."""
    kind = kind_of(node)
    if kind == "elementwise":
        return not node.inputs or (node.op.scalar is not None and is_reproducible(node.op.scalar))
    return kind == "view"


def deciding_operands(node: Node) -> list[Value]:
    """The operands whose last bit may change a result by more than its own last bits."""
    kind = kind_of(node)
    if kind in ("view", "reduce"):
        return []
    if kind == "elementwise":
        assert node.op.scalar is not None
        names = deciding_names(node.op.scalar)
        return [v for name, v in zip(node.op.inputs, node.inputs) if name in names]
    return [] if node.op.traits & _SMOOTH else list(node.inputs)


def values_that_decide(graph: Graph) -> set[Value]:
    """The values of a graph from which a deciding operand is computed, and those operands."""
    found: set[Value] = set()
    for node in reversed(graph.nodes):
        found.update(deciding_operands(node))
        if any(v in found for v in node.outputs):
            found.update(node.inputs)
    return found


def all_decided_exactly(nodes: Iterable[Node], is_kept: Callable[[Value], bool]) -> bool:
    """True if every decision among these nodes, in order, is made on values that are kept or have the same bits."""
    inexact: set[Value] = set()
    for node in nodes:
        if any(v in inexact for v in deciding_operands(node)):
            return False
        if not reproduces(node) or any(v in inexact for v in node.inputs):
            inexact.update(v for v in node.outputs if not is_kept(v))
    return True
