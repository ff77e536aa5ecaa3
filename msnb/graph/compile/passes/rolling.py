"""Rolling: turns of a Python loop that capture wrote out become one Scan.

    h1 = tanh(x[0] @ W + h0 @ U)
    h2 = tanh(x[1] @ W + h1 @ U)           -->      h, y = scan(h0, x, W, U):  h' = tanh(x_t @ W + h @ U);  yield h', h'
    h3 = tanh(x[2] @ W + h2 @ U)
    stack(h1, h2, h3)                                y

A loop that Python goes through is captured turn by turn, so its turns are the same words again and again in program
order. The pass looks for a period, and then whether the operands agree from turn to turn:

    made in the same turn                    a value of the body          made in the turn before       carried
    the same value in all turns              handed to every turn         x[t], t counting up or down   a row of x
    another one from outside in every turn   a row of a copy, where copies are allowed

Whoever stands behind the loop reads rows of what the turns made, and ``stack`` of them all is what the Scan gives. A
product of a row with what no turn changes is one product of all rows before the loop. What does not agree stays as it
is, and so do loops with effects or control flow in them: those are written in the order in which things happen.

The gradient of a Scan is a Scan (``autodiff.reverse_loops``): so this comes first, on the program as it was captured.
Sums are formed in another order than turn by turn, so it is for devices that regroup sums anyway
(``pipeline.fuses``), and for loops that are long enough: WORTH nodes, TURNS turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.core import TensorType
from msnb.graph.compile.passes.rolled_loop import RolledLoop, Row, row_of
from msnb.graph.compile.rewriting.pass_record import Pass
from msnb.ir import SCAN, Graph, Node, Value
from msnb.ir.analysis.structural_hash import attr_word

WORTH = 500
TURNS = 8
_GRAM = 4
_PERIODS = 8
_PEELED = 2
_STAYS = frozenset({"effect", "control", "host", "collective"})


def rolled(graph: Graph, copies: bool = False) -> Graph:
    """The graph with long loops of like turns as Scans.

    Args:
        graph: a captured program; it is not changed.
        copies: values from outside that differ from turn to turn may be copied into one tensor, whose rows they become.

    Returns:
        A graph with the same params and outputs; the given one where there is nothing to roll.
    """
    while (loop := _longest(graph, copies)) is not None:
        graph = loop.written()
    return graph


def _longest(graph: Graph, copies: bool) -> RolledLoop | None:
    if len(graph.nodes) < WORTH or any(node.marks for node in graph.nodes):
        return None
    words = _words(graph)
    for start, end, period in sorted(_runs(words), key=lambda run: (run[0] - run[1], run[2])):
        found = _Turns(graph, start, end, period, copies).loop()
        if found is not None:
            return found
    return None


# ---- where something repeats ----


def _words(graph: Graph) -> list[int]:
    """Every node as a number: the same for nodes that may be one node of a body."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(_word(node), len(numbers)) for node in graph.nodes]


def _word(node: Node) -> Any:
    if node.op.traits & _STAYS or node.graphs:
        return node
    row = row_of(node)
    attrs = row.pattern if row is not None else tuple((k, attr_word(v)) for k, v in node.attrs.items())
    return node.op, attrs, tuple(v.type for v in node.inputs), tuple(v.type for v in node.outputs), node.scope


def _runs(words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(start, end, period) of stretches in which words repeat with a period."""
    last: dict[tuple[int, ...], int] = {}
    distances: Counter[int] = Counter()
    for i in range(len(words) - _GRAM):
        gram = tuple(words[i : i + _GRAM])
        if gram in last:
            distances[i - last[gram]] += 1
        last[gram] = i
    for period, _ in distances.most_common(_PERIODS):
        start = None
        for i in range(period, len(words) + 1):
            if i < len(words) and words[i] == words[i - period]:
                start = i - period if start is None else start
            elif start is not None:
                if i - start >= max(WORTH, TURNS * period):
                    yield start, i, period
                start = None


# ---- whether the turns agree ----


@dataclass
class _Turns:
    """A stretch of a graph taken as turns of one loop."""

    graph: Graph
    start: int
    end: int
    period: int
    copies: bool
    made: dict[Value, tuple[int, int]] = field(default_factory=dict)

    def loop(self) -> RolledLoop | None:
        """The loop, from the turn on from which its operands agree; None where they do not."""
        self.made = {v: (i, k) for i, node in enumerate(self.graph.nodes) for k, v in enumerate(node.outputs)}
        first = self.start + self._phase()
        for peeled in range(_PEELED + 1):
            begin = first + peeled * self.period
            turns = (self.end - begin) // self.period
            if turns < TURNS or turns * self.period < WORTH:
                return None
            found = self._agreed(begin, turns)
            if found is not None:
                return found
        return None

    def _phase(self) -> int:
        """Where a turn begins: where the fewest values go from one turn to the next."""
        slack = (self.end - self.start) % self.period
        middle = self.start + (self.end - self.start) // self.period // 2 * self.period
        edges: list[tuple[int, int]] = []
        for i in range(middle, min(middle + 2 * self.period, self.end)):
            for v in self.graph.nodes[i].inputs:
                at = self.made.get(v, (-1, 0))[0]
                edges += [(at, i)] if middle <= at else []
        cost = [len({a for a, b in edges if a < middle + p <= b}) for p in range(self.period, 2 * self.period)]
        return min(range(slack + 1), key=lambda p: (cost[p % self.period], p))

    def _agreed(self, begin: int, turns: int) -> RolledLoop | None:
        loop = RolledLoop(self.graph, begin, self.period, turns)
        known = all(map(_has_known_types, self.graph.nodes[begin : begin + self.period]))
        return loop if known and all(self._node(loop, j) for j in range(self.period)) else None

    def _node(self, loop: RolledLoop, j: int) -> bool:
        """Enter where the operands of one node of a turn come from; False where the turns do not agree."""
        nodes = [self.graph.nodes[loop.begin + t * self.period + j] for t in range(loop.turns)]
        rows = [row for row in map(row_of, nodes) if row is not None]
        if len({row.at for row in rows}) > 1:
            return self._sliced(loop, nodes, rows)
        sources = [self._source(loop, values) for values in zip(*(node.inputs for node in nodes))]
        loop.sources.append([source for source in sources if source is not None])
        return all(source is not None for source in sources)

    def _sliced(self, loop: RolledLoop, nodes: Sequence[Node], rows: Sequence[Row]) -> bool:
        """x[t] with t counting: a row, if x is the same in all turns and all rows are gone through in one direction."""
        step = rows[1].at - rows[0].at
        if abs(step) != 1 or loop.step not in (0, step) or len(rows) != len(nodes):
            return False
        counts = all(r.at == rows[0].at + t * step for t, r in enumerate(rows))
        x = nodes[0].inputs[0]
        if not counts or any(n.inputs[0] is not x for n in nodes) or self._place(x) >= loop.begin:
            return False
        loop.step = step
        loop.sources.append([("row", loop.row(x, rows[0].axis, min(rows[0].at, rows[-1].at)), 0)])
        return True

    def _place(self, value: Value) -> int:
        return self.made.get(value, (-1, 0))[0]

    def _source(self, loop: RolledLoop, values: Sequence[Value]) -> tuple[str, Any, int] | None:
        """Where an operand of every turn comes from; None where the turns do not agree."""
        found = {self._relative(loop, t, v) for t, v in enumerate(values) if t}
        if len(found) != 1:
            outside = self.copies and all(self._place(v) < loop.begin for v in values)
            return ("copied", loop.row(tuple(values), -1, 0), 0) if outside and _may_lie_in_rows(values) else None
        (source,) = found
        if source[0] == "far":
            return None
        first = self._relative(loop, 0, values[0])
        if source[0] != "carry":
            return source if first == source else None
        if first[0] != "same" or first[1].type is not values[1].type:
            return None
        return ("carry", loop.carry(source[1], source[2], first[1]), 0)

    def _relative(self, loop: RolledLoop, t: int, value: Value) -> tuple[str, Any, int]:
        place, k = self.made.get(value, (-1, 0))
        here = loop.begin + t * loop.period
        if place < loop.begin:
            return ("same", value, 0)
        if place >= here:
            return ("inner", place - here, k)
        return ("carry", place - here + loop.period, k) if place >= here - loop.period else ("far", value, 0)


def _may_lie_in_rows(values: Sequence[Value]) -> bool:
    t = values[0].type
    return isinstance(t, TensorType) and t.is_static and not t.weak and all(v.type is t for v in values)


def _has_known_types(node: Node) -> bool:
    """Whether the results can be carried and stacked; Python numbers stand in every turn for themselves."""
    types = [v.type for v in node.outputs if node.inputs]
    return all(isinstance(t, TensorType) and t.is_static and not t.weak for t in types)


def _scans(graph: Graph) -> int:
    return sum(node.op is SCAN for node in graph.nodes)


ROLL_LAW = "Turns of a Python loop that capture wrote out become one Scan."
ROLL = Pass("roll", ROLL_LAW, "captured", "captured", (), lambda graph, log: rolled(graph), count=_scans)
