"""``ms.show.profile``: what each op and each line of the cell costs: predicted, and on request measured.

    line              nodes   flops    bytes     share      (median time, share of the time: only with times=True)
    cell [3] line 4       3   2.1e6   1.2 MB    ######

Predicted numbers follow from the records (flops) and the types (bytes moved) and are the same on every run, so a saved
notebook compares equal. Times differ from run to run; they appear in text and picture only when asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from msnb.base import ArgumentError, device_registry
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.node_cost import bytes_of, flops_of
from msnb.notebook.charts.bars import Bar, bars_svg
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, number_word, table
from msnb.notebook.drawing import Overlay, Picture, cost_overlays, ids_of, is_drawn, look_of, picture_of, title_of
from msnb.notebook.programs.instrumented_run import InstrumentedProgram, place_of, quiet, steps_of
from msnb.notebook.views.view import Section, View
from msnb.ops.elementwise.constant import constant

MOST_BARS = 25
INSIDE = "inside"


@dataclass
class Cost:
    """What one op, or all ops of one line, cost: flops, bytes moved, seconds (0 unless measured)."""

    label: str
    place: str
    nodes: int = 0
    flops: float = 0.0
    bytes: int = 0
    seconds: float = 0.0
    family: str = ""


class ProfileView(View):
    """Costs per op and per line.

    Attributes:
        ops: one Cost per node, in program order.
        lines: the same summed by line of the user's text, most costly first.
        measured: whether there are times.
    """

    graph: Graph
    kind = "profile"

    def __init__(self, program: InstrumentedProgram, times: bool = False, repeats: int = 7) -> None:
        super().__init__(program.name)
        if repeats < 1:
            raise ArgumentError(f"profile needs at least one repeat, got {repeats}.")
        self.measured: bool = times
        self.repeats: int = repeats
        seconds = measured(program, repeats) if times else {}
        self.graph, self._seconds = program.graph, seconds
        nodes = [n for n in program.graph.nodes if n.op is not constant and is_drawn(n)]
        self.ops: list[Cost] = [_cost(n, seconds.get(n, 0.0)) for n in nodes]
        self.lines: list[Cost] = _by_line(self.ops, self._weight)

    def _weight(self, cost: Cost) -> float:
        return cost.seconds if self.measured else cost.flops + cost.bytes

    @property
    def head(self) -> Row:
        """Titles of the table's columns."""
        return ("line", "nodes", "flops", "bytes", *(("median", "time") if self.measured else ()))

    @property
    def rows(self) -> list[Row]:
        """Per line."""
        return [self._row(c, c.place or "no line") for c in self.lines]

    @property
    def op_rows(self) -> list[Row]:
        """Per op, most costly first."""
        ranked = sorted(enumerate(self.ops), key=lambda item: (-self._weight(item[1]), item[0]))
        return [self._row(c, f"{c.label}   {c.place}".rstrip()) for _, c in ranked]

    def _row(self, c: Cost, label: str) -> Row:
        flops = INSIDE if c.family == "control" else number_word(c.flops)
        base = (label, str(c.nodes), flops, bytes_word(c.bytes))
        if not self.measured:
            return base
        total = sum(x.seconds for x in self.ops) or 1.0
        return (*base, f"{c.seconds * 1e6:.1f} us", f"{100 * c.seconds / total:.0f} %")

    @property
    def text(self) -> str:
        """Costs per line."""
        how = f"median of {self.repeats} runs, node by node" if self.measured else "predicted; times=True measures"
        return f"cost per line ({how})\n{columns(self.head, self.rows)}"

    @property
    def svg(self) -> str:
        """The most costly ops as bars."""
        ranked = sorted(enumerate(self.ops), key=lambda item: (-self._weight(item[1]), item[0]))[:MOST_BARS]
        bars = [Bar(f"{c.label}  {c.place}", self._weight(c), self._word(c), _border(c)) for _, c in ranked]
        how = "measured, median" if self.measured else "predicted: flops and bytes"
        return bars_svg(f"cost of {self.title} per op ({how})", bars)

    def _word(self, c: Cost) -> str:
        return f"{c.seconds * 1e6:.1f} us" if self.measured else f"{number_word(c.flops)} flops"

    @property
    def sections(self) -> list[Section]:
        """Per line and per op."""
        head: Sequence[str] = ("op", *self.head[1:])
        return [("Per line", table(self.head, self.rows)), ("Per op", table(head, self.op_rows))]

    @property
    def picture(self) -> Picture:
        """The program, for renderers that paint its costs over it."""
        return picture_of(self.graph)

    @property
    def overlays(self) -> list[Overlay]:
        """Times where they were measured, then what is predicted."""
        spent = {name: self._seconds.get(node, 0.0) for name, node in ids_of(self.graph)}
        times = [Overlay("time", "median time", "s", spent)] if self.measured else []
        memory, flops = cost_overlays(self.graph)
        return [*times, flops, memory]

    @property
    def data(self) -> dict[str, Any]:
        """Rows per line."""
        return {"lines": [dict(zip(self.head, row)) for row in self.rows], "measured": self.measured}


def _border(c: Cost) -> str:
    return look_of("node", c.family)[1]


def measured(program: InstrumentedProgram, repeats: int) -> dict[Node, float]:
    """Median seconds per node over some runs, after one run to warm up; the device is waited for at every node."""
    steps = steps_of(program.graph)
    samples: dict[Node, list[float]] = {node: [] for node, _ in steps}
    wait = device_registry.current().synchronize
    with quiet():
        for run_number in range(repeats + 1):
            env: dict[Value, Any] = dict(zip(program.graph.params, program.inputs))
            for node, run in steps:
                read = [env[v] for v in node.inputs]
                start = perf_counter()
                made = run(read)
                wait()
                if run_number:
                    samples[node].append(perf_counter() - start)
                env.update(zip(node.outputs, made))
    return {node: median(found) for node, found in samples.items()}


def _cost(node: Node, seconds: float) -> Cost:
    return Cost(title_of(node), place_of(node), 1, flops_of(node), bytes_of(node), seconds, family=node.op.family)


def _by_line(ops: Sequence[Cost], weight: Any) -> list[Cost]:
    found: dict[str, Cost] = {}
    for op in ops:
        line = found.setdefault(op.place, Cost(op.place, op.place))
        line.nodes += 1
        line.flops += op.flops
        line.bytes += op.bytes
        line.seconds += op.seconds
    return sorted(found.values(), key=lambda c: -weight(c))
