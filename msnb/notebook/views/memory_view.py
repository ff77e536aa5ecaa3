"""``ms.show.mem``: which buffers live when, the peak, and who holds it.

    address |      +--------+
            | +----+   b    +---+        a buffer lives from the node that makes it to the last node that reads it,
            | |    a    |   | c |        as the executor releases it; results live to the end
            +-+---------+---+---+--> node

Inputs (arguments, parameters, constants) are the caller's and live all along: they are counted apart. Addresses are
those that packing by first fit would give; a body of a control node adds its own peak while the node runs. Sizes follow
from types, so nothing is run; what a Dim leaves open counts by its bound, else as nothing, and is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msnb.ir import CALL, Graph, Node, Value
from msnb.ir.node_cost import size_of
from msnb.ir.text.literals import write_type
from msnb.notebook.charts.bars import Span, memory_svg
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, table
from msnb.notebook.drawing import look_of, shortened, title_of
from msnb.notebook.programs.instrumented_run import names_of, place_of
from msnb.notebook.views.view import Section, View
from msnb.ops.elementwise.constant import constant

HEAD = ("bytes", "value", "made by", "from", "to", "line")
MOST_ROWS = 20


@dataclass
class BufferRow:
    """A value's memory: ``start`` to ``end`` are node positions, both included; ``low`` its first byte."""

    value: Value
    label: str
    size: int
    start: int
    end: int
    low: int = 0


@dataclass
class Liveness:
    """All buffers of a graph; ``live[i]`` are the bytes while node i runs, ``extra[i]`` those of its bodies."""

    buffers: list[BufferRow]
    live: list[int]
    extra: list[int]
    held: int
    open: list[str]

    @property
    def peak(self) -> int:
        """The position of the first node at which most bytes live."""
        return self.live.index(max(self.live)) if self.live else 0

    @property
    def peak_bytes(self) -> int:
        """Bytes at the peak, inputs not counted."""
        return max(self.live, default=0)


def liveness(graph: Graph, depth: int = 0) -> Liveness:
    """When each buffer of a graph is made and released.

    Args:
        graph: the graph; bodies and called graphs count with their own peak (recursion to depth 8).
    """
    last = _last_uses(graph)
    unknown: list[str] = []
    buffers, held = [], sum(size_of(p.type) or 0 for p in graph.params)
    for i, node in enumerate(graph.nodes):
        if node.op is constant:
            held += size_of(node.out.type) or 0
            continue
        for v in node.outputs:
            size = size_of(v.type)
            if size is None:
                unknown.append(f"{title_of(node)}: {write_type(v.type)}")
            buffers.append(BufferRow(v, shortened(v.name or title_of(node), 60), size or 0, i, last.get(v, i)))
    extra = [_bodies(node, graph, depth) for node in graph.nodes]
    live = running(((b.size, b.start, b.end) for b in buffers), len(graph.nodes))
    _pack(buffers)
    return Liveness(buffers, [a + b for a, b in zip(live, extra)], extra, held, unknown)


def _last_uses(graph: Graph) -> dict[Value, int]:
    last = {v: i for i, node in enumerate(graph.nodes) for v in node.inputs}
    last.update((v, len(graph.nodes) - 1) for v in graph.outputs)
    return last


def running(lives: Iterable[tuple[int, int, int]], count: int) -> list[int]:
    """Bytes in use at each of ``count`` positions, from (bytes, first, last) of what lives."""
    change = [0] * (count + 1)
    for size, first, last in lives:
        change[first] += size
        change[last + 1] -= size
    out, now = [], 0
    for delta in change[:count]:
        now += delta
        out.append(now)
    return out


def _bodies(node: Node, graph: Graph, depth: int) -> int:
    """The largest peak of what a control node runs, beside its own operands and results."""
    if depth > 8:
        return 0
    graphs = list(node.graphs)
    if node.op is CALL:
        graphs.append(graph.module.graphs[node.attrs["callee"]])
    return max((liveness(g, depth + 1).peak_bytes for g in graphs), default=0)


def _pack(buffers: list[BufferRow]) -> None:
    """First fit: in program order, the lowest gap between the buffers that live at the same time."""
    placed: list[BufferRow] = []
    for b in buffers:
        placed = [p for p in placed if p.end >= b.start]
        low = 0
        for other in sorted(placed, key=lambda p: p.low):
            if low + b.size <= other.low:
                break
            low = max(low, other.low + other.size)
        b.low = low
        placed.append(b)


class MemoryView(View):
    """The memory of a program over its nodes.

    Attributes:
        found: the buffers and the bytes per node.
        holders: the buffers that live at the peak, largest first.
    """

    kind = "memory"

    def __init__(self, graph: Graph, title: str) -> None:
        super().__init__(title)
        self.graph: Graph = graph
        self.found: Liveness = liveness(graph)
        self.names: dict[Node, str] = names_of(graph)
        at = self.found.peak
        alive = [b for b in self.found.buffers if b.start <= at <= b.end and b.size]
        self.holders: list[BufferRow] = sorted(alive, key=lambda b: (-b.size, b.start))

    @property
    def summary(self) -> str:
        """Peak, place, inputs."""
        found = self.found
        if not self.graph.nodes:
            return f"no buffers beside the inputs ({bytes_word(found.held)})."
        node = self.graph.nodes[found.peak]
        place = place_of(node)
        where = f"{self._name(found.peak)} {shortened(title_of(node), 60)}" + (f", {place}" if place else "")
        inner = f", {bytes_word(found.extra[found.peak])} of it inside its bodies" if found.extra[found.peak] else ""
        total = sum(b.size for b in found.buffers)
        out = f"peak {bytes_word(found.peak_bytes)} at {where}{inner}; inputs {bytes_word(found.held)}; "
        out += f"without reuse {bytes_word(total)}."
        return out + (f" Sizes known only at run time: {', '.join(found.open[:5])}." if found.open else "")

    @property
    def rows(self) -> list[Row]:
        """Who holds the peak."""
        return [self._row(b) for b in self.holders[:MOST_ROWS]]

    def _name(self, position: int) -> str:
        return self.names.get(self.graph.nodes[position], "")

    def _row(self, b: BufferRow) -> Row:
        node = self.graph.nodes[b.start]
        span = self._name(b.start), self._name(b.end)
        return bytes_word(b.size), write_type(b.value.type), title_of(node), *span, place_of(node)

    @property
    def text(self) -> str:
        """The summary and who holds the peak."""
        return told(self.summary, HEAD, self.rows, len(self.holders))

    @property
    def svg(self) -> str:
        """Address over program order."""
        held = {id(b) for b in self.holders}
        spans = [_span(b, id(b) in held) for b in self.found.buffers if b.size]
        top = max([b.low + b.size for b in self.found.buffers] or [0])
        word = f"peak {bytes_word(self.found.peak_bytes)}"
        return memory_svg(f"memory of {self.title}", spans, len(self.graph.nodes), top, self.found.peak, word)

    @property
    def sections(self) -> list[Section]:
        """The holders as a table."""
        return [(self.summary, table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Buffers and bytes per node."""
        buffers = [[b.label, b.size, b.start, b.end, b.low] for b in self.found.buffers]
        return {"summary": self.summary, "live": self.found.live, "inputs": self.found.held, "buffers": buffers}


def told(summary: str, head: tuple[str, ...], rows: list[Row], holders: int) -> str:
    """The summary, and the largest of those who hold the peak."""
    tail = f"\n... and {holders - len(rows)} smaller ones" if holders > len(rows) else ""
    return f"{summary}\nheld at the peak:\n{columns(head, rows)}{tail}" if rows else summary


def _span(b: BufferRow, held: bool) -> Span:
    assert b.value.node is not None
    label = f"{b.label} {write_type(b.value.type)} {bytes_word(b.size)}"
    return Span(label, b.low, b.size, b.start, b.end, look_of("node", b.value.node.op.family), held)
