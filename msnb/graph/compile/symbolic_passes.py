"""Passes over a program with symbolic sizes: run once, and their result bound to every size.

    graph f(x: f32[s1,8])   --gradients, hardware-independent passes-->   g(x: f32[s1,8])
                                                                                | s1 = 24
    graph f(x: f32[24,8])   --the same-->   what must not be cheaper      g(x: f32[24,8])

A pass may ask whether two sizes are equal: a symbol says no, and the result is for sizes of which that is true. A pass
that needs numbers fails, or leaves a node as it is where it would have changed it for numbers. So the first size goes
both ways, and where the graph with symbols has more to do, it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from msnb.ir.control_flow import FUSED
from msnb.ir.graph import Graph
from msnb.ir.node_cost import bytes_of, flops_of
from msnb.ir.size_binding import SizeError, bind_sizes
from msnb.ops.definition.symbolic_sizes import Comparison, compared, differ, typical_sizes
from msnb.ops.elementwise.constant import constant

Passes = Callable[[Graph], Graph]
MORE, FEW = 1.03, 4096
"""What a graph with symbols may cost more than the one that was passed with numbers: a part, or a few bytes."""


class SymbolicGraph(NamedTuple):
    """A graph with symbols after its passes, and the sizes that were taken for unequal on the way."""

    graph: Graph
    unequal: tuple[Comparison, ...]


class SymbolicPasses:
    """What passes make of one captured program with symbols.

    Args:
        noted: the program as captured; it is not changed.
    """

    def __init__(self, noted: Graph) -> None:
        self.noted = noted
        self._passed: dict[Hashable, SymbolicGraph | None] = {}
        self._met: set[Hashable] = set()

    def bound(self, key: Hashable, sizes: Mapping[str, int]) -> Graph | None:
        """What the passes make of the program for these sizes; None where that is not known.

        Args:
            key: which passes, on which device.
            sizes: the values of the symbols.
        """
        passed = self._passed.get(key)
        if passed is None or not differ(passed.unequal, sizes):
            return None
        try:
            return bind_sizes(passed.graph, sizes)
        except SizeError:
            return None

    def learn(
        self, key: Hashable, sizes: Mapping[str, int], found: Graph, passes: Passes, after: Hashable = None
    ) -> None:
        """Run the passes with symbols, unless that was done before.

        Args:
            key: which passes, on which device.
            sizes: a first size.
            found: what the passes made of the program for that size.
            passes: the passes.
            after: the passes before them, None where they begin with the program as captured.
        """
        start = SymbolicGraph(self.noted, ()) if after is None else self._passed.get(after)
        if key in self._passed or start is None:
            return
        if after is not None and key not in self._met:  # one size of a scale may stay alone
            self._met.add(key)
            return
        try:
            with compared() as unequal, typical_sizes(sizes):
                unequal += start.unequal
                graph = passes(start.graph)
            good = _price(bind_sizes(graph, sizes)) <= max(MORE * _price(found), _price(found) + FEW)
        except Exception:  # a pass that needs a number where a symbol stands: this program is passed size by size
            good = False
        if good:
            self._passed[key] = SymbolicGraph(graph, tuple(dict.fromkeys(unequal)))
        elif differ(unequal, sizes):
            self._passed[key] = None


def _price(graph: Graph) -> float:
    """Arithmetic, and bytes that pass through memory."""
    found = 0.0
    for node in graph.nodes:
        found += flops_of(node) + (bytes_of(node) if node.op is not constant else 0)
        for body in node.graphs:
            found += sum(flops_of(n) for n in body.nodes) if node.op is FUSED else _price(body)
    return found


class SymbolicSource(NamedTuple):
    """The program with symbols behind a program of known sizes."""

    passes: SymbolicPasses
    sizes: Mapping[str, int]

    @property
    def scale(self) -> tuple[int, ...]:
        """The sizes up to a factor below two: what is fastest for one of them is fast for all."""
        return tuple(size.bit_length() for size in self.sizes.values())

    def bound(self, key: Hashable) -> Graph | None:
        """``SymbolicPasses.bound`` for these sizes."""
        return self.passes.bound(key, self.sizes)

    def learn(self, key: Hashable, found: Graph, passes: Passes, after: Hashable = None) -> None:
        """``SymbolicPasses.learn`` from these sizes."""
        self.passes.learn(key, self.sizes, found, passes, after)
