"""Questions about a node and everything inside it: the bodies that it holds, the graphs that it calls, and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msnb.ir.control_flow import CALL, HOST_CALL
from msnb.ir.graph import Graph, Node


class NestedSearch:
    """Whether a predicate holds for a node or for any node inside it; every graph is searched once.

    A call of a graph that is not there counts as one that does everything. The graphs may lose nodes for which the
    predicate does not hold while the object is in use, and may change in no other way.

    Args:
        holds: says of one node, looking at nothing inside it.
    """

    def __init__(self, holds: Callable[[Node], bool]) -> None:
        self._holds = holds
        self._known: dict[Graph, bool] = {}

    def node(self, node: Node, graph: Graph) -> bool:
        """True where it holds for a node of ``graph``, or inside it."""
        if self._holds(node):
            return True
        if "control" not in node.op.traits:
            return False
        return any(inner is None or self.graph(inner) for inner in _inner(node, graph))

    def graph(self, graph: Graph) -> bool:
        """True where it holds for any node of a graph, or inside it."""
        if graph not in self._known:
            reached = dict.fromkeys([graph])
            if self._found(list(reached), reached):
                self._known[graph] = True
            else:
                self._known.update(dict.fromkeys(reached, False))
        return self._known[graph]

    def _found(self, queue: list[Graph], reached: dict[Graph, None]) -> bool:
        """The search; ``reached`` are then the graphs that were looked at, without those known before."""
        for graph in queue:
            for node in graph.nodes:
                if self._holds(node):
                    return True
                for inner in _inner(node, graph):
                    if inner is None or self._known.get(inner):
                        return True
                    if inner not in reached and inner not in self._known:
                        reached[inner] = None
                        queue.append(inner)
        return False


def _inner(node: Node, graph: Graph) -> Iterator[Graph | None]:
    """Bodies, and the callee; None where there is no such graph."""
    yield from node.graphs
    if node.op is CALL:
        yield graph.module.graphs.get(node.attrs["callee"])


def effects() -> NestedSearch:
    """Which nodes do something besides giving values: print, assert, call Python, or contain or call what does."""
    return NestedSearch(lambda n: "effect" in n.op.traits or (n.op is HOST_CALL and bool(n.attrs.get("effect"))))


def draws() -> NestedSearch:
    """Which nodes make random numbers of their own shape; the stream's own ``next_key`` has no attributes."""
    return NestedSearch(lambda n: "random" in n.op.traits and bool(n.attrs))


def host_calls() -> NestedSearch:
    """Which nodes call Python."""
    return NestedSearch(lambda n: n.op is HOST_CALL)
