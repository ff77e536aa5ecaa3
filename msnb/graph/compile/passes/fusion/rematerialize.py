"""Values that are cheaper to compute again than to write and read back.

    group A   d = x - mean(x) ; r = rsqrt(...) ; n = d * r ; y = n * w          stores  y, mean, r   (and not d, n)
    group B   (backward) reads d, n      ->      reads x, mean, r and computes d, n at its start

A large value that a group makes by cheap arithmetic, and that other groups alone read, is left out of its results when
all of those can make it themselves: from what the group has read, from its small results (statistics of rows), and
from large ones that are stored anyway. Later groups come first, so that what they take over is known when the group
before them is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from msnb.core import TensorType, size_hint
from msnb.graph.compile.passes.fusion.horizontal import Group
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.iteration_space import Space, kind_of
from msnb.ir.kernel.scalar_expressions import is_heavy

LONGEST = 6
SMALL = 8
WORTH = 4096
Prepare = Callable[[Space, Node], None]


class Recompute:
    """Moves work into readers.

    Args:
        groups: all groups that become kernels.
        outputs: by ``id`` of a group, what others read of it; changed in place.
        fixed: values that must lie in memory: results of the program, operands of nodes without a group.
        prepare: tells a space of a node's operands.
        most: nodes that a group may have.
    """

    def __init__(
        self, groups: Iterable[Group], outputs: dict[int, list[Value]], fixed: set[Value], prepare: Prepare, most: int
    ) -> None:
        self.groups: list[Group] = sorted((g for g in groups if id(g) in outputs), key=lambda g: g.key, reverse=True)
        self.outputs: dict[int, list[Value]] = outputs
        self.fixed: set[Value] = fixed
        self.prepare = prepare
        self.most: int = most
        self.readers: dict[Value, dict[int, Group]] = {}
        self._reads: dict[int, list[Value]] = {}
        for group in self.groups:
            self._note(group)

    def _note(self, group: Group) -> None:
        own = {n.out for _, n in group.nodes}
        for v in self._reads.get(id(group), ()):
            self.readers[v].pop(id(group), None)
        found = self._reads[id(group)] = [v for _, node in group.nodes for v in node.inputs if v not in own]
        for v in found:
            self.readers.setdefault(v, {})[id(group)] = group

    def run(self) -> None:
        """Leave out what can be left out."""
        for group in self.groups:
            for value in reversed(list(self.outputs[id(group)])):
                if value not in self.fixed and len(self.outputs[id(group)]) > 1 and _size(value) >= WORTH:
                    self._leave_out(group, value)

    def _leave_out(self, group: Group, value: Value) -> None:
        chain = self._chain(group, value)
        readers = list(self.readers.get(value, {}).values())
        if not chain or not readers or any(self._more(r, value, chain) > 0 for r in readers):
            return
        made = [(reader, *self._with(reader, chain)) for reader in readers]
        if any(space is None for _, _, space in made):
            return
        self.outputs[id(group)].remove(value)
        self._keep(group, chain)
        for reader, nodes, space in made:
            assert space is not None
            reader.nodes, reader.space = nodes, space
            self._note(reader)

    def _chain(self, group: Group, value: Value) -> list[tuple[int, Node]]:
        """The nodes that make the value from what lies in memory anyway; none where that cannot be."""
        own = {n.out: (i, n) for i, n in group.nodes}
        kept = set(self.outputs[id(group)]) - {value}
        found: dict[Value, tuple[int, Node]] = {}
        stack = [value]
        while stack:
            v = stack.pop()
            if v in found or v not in own:
                continue
            i, node = own[v]
            if v in kept or self._may_keep(group, v, node, value):
                continue
            if not _is_cheap(node) or len(found) >= LONGEST:
                return []
            found[v] = (i, node)
            stack.extend(node.inputs)
        return sorted(found.values(), key=lambda m: m[0])

    def _may_keep(self, group: Group, v: Value, node: Node, value: Value) -> bool:
        """True for a statistic that costs next to nothing to store."""
        small = _size(v) * SMALL <= _size(value)
        return small and not _is_cheap(node) and group.space.stored(v) is not None

    def _keep(self, group: Group, chain: list[tuple[int, Node]]) -> None:
        """Statistics that the chain reads are results from now on."""
        made, own = {n.out for _, n in chain}, {n.out for _, n in group.nodes}
        for v in (v for _, node in chain for v in node.inputs):
            if v in own and v not in made and v not in self.outputs[id(group)]:
                self.outputs[id(group)].append(v)

    def _more(self, reader: Group, value: Value, chain: list[tuple[int, Node]]) -> int:
        """How many large values more the reader would have to read."""
        made = {n.out for _, n in chain}
        reads = {v for _, n in reader.nodes for v in n.inputs}
        new = {v for _, n in chain for v in n.inputs} - made - reads
        return sum(_size(v) * SMALL > _size(value) for v in new) - 1

    def _with(self, reader: Group, chain: list[tuple[int, Node]]) -> tuple[list[tuple[int, Node]], Space | None]:
        """The reader's nodes with the chain, and their space; None where they have none together."""
        own = {n.out for _, n in reader.nodes}
        nodes = sorted([*(m for m in chain if m[1].out not in own), *reader.nodes], key=lambda m: m[0])
        if len(nodes) > self.most + LONGEST:
            return nodes, None
        space = Space()
        for _, node in nodes:
            self.prepare(space, node)
            if not space.add(node):
                return nodes, None
        fits = all(space.stored(v) is not None for v in self.outputs[id(reader)])
        same = math.prod(space.sizes) == math.prod(reader.space.sizes) and space.row == reader.space.row
        return nodes, space if fits and same else None


def _size(value: Value) -> int:
    return size_hint(value.type.size) if isinstance(value.type, TensorType) and value.type.is_static else 0


def _is_cheap(node: Node) -> bool:
    return kind_of(node) == "elementwise" and not is_heavy(node.op)
