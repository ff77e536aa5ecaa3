"""What a recorded program keeps for its gradient: as little as computing again at once allows.

    gelu:  x -> x*x -> ... -> tanh -> ... -> y       the rules of the nodes ask for five values of the size of x
    kept:  x (the caller's own)                      the backward program computes the other four in the same loops

A value that elementwise operations make from what is there anyway (params, results, what is kept already) is not
written to memory: a sweep of the processor over a vector costs less than writing it and reading it again. Results of
reductions, products and draws are kept, and so is what a comparison in the gradient reads, unless computing it again
gives the same bits (``ir/analysis/reproducibility``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msnb.autodiff.reverse_mode import VJP
from msnb.core.types import TensorType
from msnb.ir.analysis.reproducibility import all_decided_exactly, reproduces, values_that_decide
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.ir.kernel.iteration_space import kind_of
from msnb.ir.size_binding import bind_type

LONGEST = 32


def slim(pair: VJP, sizes: Mapping[str, int] = MappingProxyType({})) -> tuple[Graph, Graph]:
    """The same pair (forward, backward) with fewer residuals.

    Args:
        pair: what ``vjp`` gave; its forward graph is changed.
        sizes: values of its symbolic sizes, by which what is cheaper is told.
    """
    choice = _Choice(pair, sizes)
    results = pair.forward.outputs[: len(pair.forward.outputs) - pair.residuals]
    pair.forward.outputs = [*results, *choice.kept]
    return pair.forward, choice.backward()


class _Choice:
    """Which values are kept (``kept``), and which nodes run again (``again``)."""

    def __init__(self, pair: VJP, sizes: Mapping[str, int]) -> None:
        self.pair, self.sizes = pair, sizes
        self.there = set(pair.forward.outputs[: len(pair.forward.outputs) - pair.residuals])
        self.kept: dict[Value, None] = {}
        self.again: set[Node] = set()
        decide = values_that_decide(pair.backward)
        self.deciding = {v for p, v in zip(pair.backward.params, pair.residual_list) if p in decide}
        for value in sorted(pair.residual_list, key=lambda v: not self._is_free(v)):
            self._enter(value)

    def _is_free(self, value: Value) -> bool:
        return value.node is None or value in self.there

    def _enter(self, value: Value) -> None:
        leaves: dict[Value, None] = {}
        nodes: set[Node] = set()
        cheap = self._walk(value, leaves, nodes) and sum(map(self._cost, leaves)) < self._cost(value)
        if cheap and self._is_exact(value, nodes):
            self.kept.update(leaves)
            self.again |= nodes
        elif value.node not in self.again:
            self.kept[value] = None

    def _walk(self, value: Value, leaves: dict[Value, None], nodes: set[Node]) -> bool:
        """Collect what makes ``value``, back to what is kept; False where that is too long."""
        node = value.node
        if self._is_free(value) or value in self.kept or node is None or not _is_made_at_once(node):
            leaves[value] = None
        elif node not in nodes:
            nodes.add(node)
            return len(nodes) <= LONGEST and all(self._walk(v, leaves, nodes) for v in node.inputs)
        return True

    def _is_exact(self, value: Value, nodes: set[Node]) -> bool:
        """True if no decision, here or in the gradient, depends on how a value is computed again."""
        if value in self.deciding and not all(map(reproduces, nodes)):
            return False
        return all_decided_exactly((n for n in self.pair.forward.nodes if n in nodes), self._is_free)

    def _cost(self, value: Value) -> int:
        """Bytes that keeping a value adds."""
        if self._is_free(value) or value in self.kept:
            return 0
        t = bind_type(value.type, self.sizes)
        return t.nbytes if isinstance(t, TensorType) and t.is_static else 1 << 60  # stacks, sizes that the data tell

    def backward(self) -> Graph:
        """The backward graph over what is kept."""
        old, new = self.pair.backward, Graph(self.pair.backward.name, self.pair.backward.module)
        seen: dict[Value, Value] = {v: new.add_param(v.type, v.name) for v in self.kept}
        for node in self.pair.forward.nodes:
            if node in self.again and not all(v in seen for v in node.outputs):
                copy_node(node, new, seen)
        for param, value in zip(old.params, self.pair.residual_list):
            seen[param] = seen[value]
        for param in old.params[self.pair.residuals :]:
            seen[param] = new.add_param(param.type, param.name)
        for node in old.nodes:
            copy_node(node, new, seen)
        new.outputs = [seen[v] for v in old.outputs]
        return new


def _is_made_at_once(node: Node) -> bool:
    """True for elementwise operations, views, and constants."""
    traits: Any = node.op.traits
    if traits & {"random", "effect", "control", "host", "custom"}:
        return False
    return not node.inputs or kind_of(node) in ("elementwise", "view")
