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

from msnb.base import reraise_interrupt
from msnb.devices.device import Device, Executable, ProgramTemplate
from msnb.ir import FUSED, Graph, SizeError, bind_sizes
from msnb.ir.node_cost import bytes_of, flops_of
from msnb.ops.definition.symbolic_sizes import Comparison, compared, differ
from msnb.ops.elementwise.constant import constant

Passes = Callable[[Graph], Graph]
MOST = 8
"""Templates near any sizes: sizes of which a guard says something else make another one."""
NEAR = 4
"""What is fast for a size is fast for those up to so many times as large or small."""
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
        returns: other sizes are known to come: the device makes a template with the first.
    """

    def __init__(self, noted: Graph, returns: bool = False) -> None:
        self.noted = noted
        self._returns = returns
        self._passed: dict[Hashable, SymbolicGraph | None] = {}
        self._met: set[Hashable] = set()
        self._templates: dict[Hashable, list[tuple[Mapping[str, int], ProgramTemplate | None]]] = {}

    def bound(self, key: Hashable, sizes: Mapping[str, int]) -> Graph | None:
        """What the passes make of the program for these sizes; None where that is not known.

        Args:
            key: which passes.
            sizes: the values of the symbols.
        """
        passed = self._passed.get(key)
        if passed is None or not differ(passed.unequal, sizes):
            return None
        try:
            return bind_sizes(passed.graph, sizes)
        except SizeError:
            return None

    def program(
        self, key: Hashable, sizes: Mapping[str, int], after: Hashable, remake: Callable[[], Graph]
    ) -> Executable | None:
        """The device's program for these sizes, from a template; None where none is known to fit.

        Args:
            key: for which device; after: which passes its own begin with.
            sizes: the values of the symbols.
            remake: gives the passed graph for these sizes.
        """
        passed, templates = self._passed.get(after), self._near(key, sizes)
        if passed is None or not templates or not differ(passed.unequal, sizes):
            return None
        found = (each.bound(sizes, remake) for each in reversed(templates) if each is not None)
        return next((program for program in found if program is not None), None)

    def learn_program(
        self, key: Hashable, sizes: Mapping[str, int], after: Hashable, device: Device, passes: Passes,
        program: Executable,
    ) -> None:  # fmt: skip
        """Have the device make a template, where the passes gave a graph with symbols and none of them fits.

        Args:
            key, sizes, after: see ``program``.
            device, passes: the device, and the passes for it.
            program: what it made for these sizes.
        """
        passed, templates = self._passed.get(after), self._near(key, sizes)
        if key not in self._met and not self._returns:  # the last batch of an epoch is no reason
            self._met.add(key)
        elif passed is None or not differ(passed.unequal, sizes) or len(set(sizes.values())) < len(sizes):
            return  # it may rely on what few sizes have
        elif len(templates) < MOST and templates.count(None) < MOST // 2:
            made = device.template(passed.graph, sizes, passes, program)
            self._templates.setdefault(key, []).append((sizes, made))

    def _near(self, key: Hashable, sizes: Mapping[str, int]) -> list[ProgramTemplate | None]:
        """Templates that were made for about these sizes."""
        return [
            made
            for own, made in self._templates.get(key, ())
            if all(own[s] <= NEAR * n and n <= NEAR * own[s] for s, n in sizes.items())
        ]

    def learn(self, key: Hashable, sizes: Mapping[str, int], found: Graph, passes: Passes) -> None:
        """Run the passes with symbols, unless that was done before.

        Args:
            key: which passes.
            sizes: a first size.
            found: what the passes made of the program for that size.
            passes: the passes.
        """
        if key in self._passed:
            return
        try:
            with compared() as unequal:
                graph = passes(self.noted)
            good = _price(bind_sizes(graph, sizes)) <= max(MORE * _price(found), _price(found) + FEW)
        except Exception as error:  # a pass needs a number where a symbol stands: this program is passed size by size
            reraise_interrupt(error)
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
