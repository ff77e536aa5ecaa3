"""The cost graph: what every search sees.

    node    a choice among n strategies, each with its seconds and its bytes
    edge    a matrix: the seconds of choice i at one end with choice j at the other
    total   the sum of all of them; a plan is one choice per node

Keys name the content of an array: nodes and edges of identical layers have equal keys, which is what folding needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass
class CostGraph:
    """Choices and what they cost.

    Attributes:
        time: per node the seconds of every choice.
        memory: per node the bytes of every choice.
        edges: (node, node, matrix).
        node_keys, edge_keys: equal keys promise equal arrays.
    """

    time: list[Floats] = field(default_factory=list)
    memory: list[Floats] = field(default_factory=list)
    edges: list[tuple[int, int, Floats]] = field(default_factory=list)
    node_keys: list[Hashable] = field(default_factory=list)
    edge_keys: list[Hashable] = field(default_factory=list)

    def add_node(self, time: Any, memory: Any = None, key: Hashable = None) -> int:
        """A node; gives its number."""
        seconds = np.asarray(time, np.float64)
        self.time.append(seconds)
        self.memory.append(np.zeros(len(seconds)) if memory is None else np.asarray(memory, np.float64))
        self.node_keys.append(("node", len(self.time)) if key is None else key)
        return len(self.time) - 1

    def add_edge(self, u: int, v: int, matrix: Any, key: Hashable = None) -> None:
        """An edge between two nodes; several between the same two add up."""
        assert u != v
        self.edges.append((u, v, np.asarray(matrix, np.float64)))
        self.edge_keys.append(("edge", len(self.edges)) if key is None else key)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.time)

    def cost(self, choices: Sequence[int]) -> float:
        """Seconds of a plan."""
        own = sum(float(t[c]) for t, c in zip(self.time, choices))
        return own + sum(float(m[choices[u], choices[v]]) for u, v, m in self.edges)

    def bytes(self, choices: Sequence[int]) -> float:
        """Bytes of a plan."""
        return sum(float(m[c]) for m, c in zip(self.memory, choices))

    def neighbours(self) -> list[list[tuple[int, Floats]]]:
        """Per node the other ends of its edges, with matrices turned so that this node is the first index."""
        out: list[list[tuple[int, Floats]]] = [[] for _ in range(self.size)]
        for u, v, m in self.edges:
            out[u].append((v, m))
            out[v].append((u, m.T))
        return out


class NoPlan(ValueError):
    """No plan fits into the memory of a device."""
