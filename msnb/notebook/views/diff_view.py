"""``ms.show.diff``: eager and graph in lockstep, and the first op whose values differ.

    captured graph, node by node through the eager engine     a  b  c  d  e   -> results
                                                              |  |     |  |
    compiled graph, node by node on the device's kernels      a  b     d' e'  -> results

Before the passes run, every node gets an origin of its own, which passes carry along: so a node is known again after
them. What a pass replaced or merged has no partner and is called rewritten. Results are always compared. Values differ
when the largest absolute difference exceeds ``tol`` (times the largest value where that is above 1), or where one side
has a NaN that the other has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base.source_location import Origin
from msnb.core import EngineRestore, Tensor, TensorType, make, plain_numbers, slot, using
from msnb.eager.dispatch import EagerEngine
from msnb.ir.control_flow import replay_node
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.literals import write_type
from msnb.notebook.charts.html_fragments import Row, columns, count, number_word, table
from msnb.notebook.drawing import Picture, alarm_groups, is_drawn, picture_of, title_of
from msnb.notebook.programs import instrumented_run as runs
from msnb.notebook.views.view import Section, View

HEAD = ("node", "op", "type", "difference", "verdict", "line")


@dataclass
class Pair:
    """A node of the eager run and what became of it.

    Attributes:
        index: its position in the captured graph.
        name: what the IR's text calls it (``%3``).
        node: the node as captured; None for a result of the program.
        gap: the largest absolute difference; None where there is no partner.
        verdict: ``equal``, ``close``, ``differs`` or ``rewritten``.
        worst: index, eager value and graph value of the largest difference.
    """

    index: int
    name: str
    node: Node | None
    label: str
    type: str
    gap: float | None
    verdict: str
    worst: str = ""


class DiffView(View):
    """Both runs of one program, op by op.

    Attributes:
        pairs: every op in program order, then the results.
        first: the first pair that differs, or None.
    """

    kind = "diff"

    def __init__(self, program: runs.InstrumentedProgram, tol: float = 1e-5) -> None:
        super().__init__(program.name)
        known = runs.InstrumentedProgram(program.name, tagged(program.graph), program.inputs)
        self.graph: Graph = known.graph
        self.tol: float = tol
        self.pairs: list[Pair] = compare_runs(known, known.optimised().graph, tol)
        self.first: Pair | None = next((p for p in self.pairs if p.verdict == "differs"), None)

    @property
    def equal(self) -> bool:
        """True when nothing differs by more than the tolerance."""
        return self.first is None

    @property
    def verdict(self) -> str:
        """One sentence."""
        compared = sum(p.gap is not None for p in self.pairs)
        rewritten = sum(p.verdict == "rewritten" for p in self.pairs)
        head = f"{count(compared, 'value')} compared, {count(rewritten, 'node')} rewritten by passes: "
        if self.first is None:
            most = max([p.gap for p in self.pairs if p.gap is not None] or [0.0])
            return f"{head}eager and graph agree (largest difference {number_word(most)}, tolerance {self.tol:g})."
        return f"{head}the first that differs is {self.first.label} ({self.first.worst})."

    @property
    def text(self) -> str:
        """The verdict, the line of the first difference, the table."""
        lines = [self.verdict]
        place = self.first.node.where.where if self.first and self.first.node and self.first.node.where else None
        if place is not None:
            lines.append(place.caret())
        return "\n".join([*lines, columns(HEAD, self.rows)])

    @property
    def rows(self) -> list[Row]:
        """The table."""
        return [_row(p) for p in self.pairs]

    @property
    def picture(self) -> Picture:
        """The program; the first op that differs has a heavy border, every op its difference."""
        picture = picture_of(self.graph)
        told = {str(p.index): p for p in self.pairs if p.node is not None}
        for box in picture.walk():
            pair = told.get(box.id)
            if pair is not None and pair.gap:
                box.lines = [*box.lines, f"differs by {number_word(pair.gap)}"]
            if pair is not None and pair is self.first:
                box.mark = "first"
        alarm_groups(picture)
        return picture

    @property
    def sections(self) -> list[Section]:
        """Every op with its difference."""
        return [(self.verdict, table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Verdict and rows."""
        return {"verdict": self.verdict, "rows": [dict(zip(HEAD, row)) for row in self.rows]}


def _row(p: Pair) -> Row:
    gap = "" if p.gap is None else number_word(p.gap)
    return p.name, p.label, p.type, gap, p.verdict, "" if p.node is None else runs.place_of(p.node)


def compare_runs(program: runs.InstrumentedProgram, other: Graph, tol: float) -> list[Pair]:
    """Run ``program`` eagerly and ``other`` (made from it) on the device's kernels; pair and compare."""
    with runs.quiet():
        eager, eager_results = _eager_values(program)
        graph, graph_results = _graph_values(other, program.inputs)
    partner = _partners(program.graph.nodes, other.nodes)
    names = runs.names_of(program.graph)
    pairs = []
    for i, node in enumerate(program.graph.nodes):
        if is_drawn(node):
            twin = partner.get(node)
            found = None if twin is None else list(zip(eager[node], graph[twin]))
            types = ", ".join(write_type(v.type) for v in node.outputs)
            pairs.append(_judged((i, names[node]), node, title_of(node), types, found, tol))
    for j, (a, b) in enumerate(zip(eager_results, graph_results)):
        label = "result" if len(eager_results) == 1 else f"result {j}"
        pairs.append(_judged((j, ""), None, label, write_type(program.graph.outputs[j].type), [(a, b)], tol))
    return pairs


Values = list[runs.Array | None]


def _eager_values(program: runs.InstrumentedProgram) -> tuple[dict[Node, Values], Values]:
    graph = program.graph
    env: dict[Value, Any] = {p: _operand(b, p) for p, b in zip(graph.params, program.inputs)}
    out: dict[Node, Values] = {}
    engine = slot.engine if isinstance(slot.engine, EagerEngine) else EagerEngine()
    with EngineRestore(), using(engine):
        for node in graph.nodes:
            replay_node(node, [env[v] for v in node.inputs], env, graph.module)
            out[node] = [_array(env[v], v) for v in node.outputs]
    return out, [_array(env[v], v) for v in graph.outputs]


def _operand(buffer: Any, param: Value) -> Any:
    weak = isinstance(param.type, TensorType) and param.type.weak
    return buffer if weak or not isinstance(param.type, TensorType) else make(buffer, param.type)


def _array(x: Any, value: Value) -> runs.Array | None:
    return runs.as_array(x._data if isinstance(x, Tensor) else x, value.type)


def _graph_values(graph: Graph, inputs: Sequence[Any]) -> tuple[dict[Node, Values], Values]:
    env: dict[Value, Any] = dict(zip(graph.params, inputs))
    out: dict[Node, Values] = {}
    for node, _, made in runs.nodes_of(graph, inputs):
        env.update(zip(node.outputs, made))
        out[node] = [runs.as_array(b, v.type) for b, v in zip(made, node.outputs)]
    return out, [runs.as_array(env[v], v.type) for v in graph.outputs]


def tagged(graph: Graph) -> Graph:
    """A copy in which every node has an origin of its own: passes carry origins along, so a node is known again."""
    out = graph.copy()
    for node in out.nodes:
        node.where = Origin.of(node.where.places if node.where is not None else ())
    return out


def _partners(ours: Sequence[Node], theirs: Sequence[Node]) -> dict[Node, Node]:
    """Who became of whom: the one node with the same origin, if it is still the same op with the same results."""
    found: dict[int, list[Node]] = {}
    for node in theirs:
        if node.where is not None:
            found.setdefault(id(node.where), []).append(node)
    pairs = [(node, found.get(id(node.where), [])) for node in ours if node.where is not None]
    return {node: left[0] for node, left in pairs if len(left) == 1 and _same_kind(node, left[0])}


def _same_kind(a: Node, b: Node) -> bool:
    return a.op is b.op and [v.type for v in a.outputs] == [v.type for v in b.outputs]


def _judged(
    at: tuple[int, str], node: Node | None, label: str, type_: str, found: list[tuple[Any, Any]] | None, tol: float
) -> Pair:
    if found is None:
        return Pair(*at, node, label, type_, None, "rewritten")
    gaps = [runs.max_difference(a, b) for a, b in found]
    gap = max(gaps, default=0.0)
    verdict = "equal" if gap == 0 else "close" if gap <= tol * max(_scale(a) for a, _ in found) else "differs"
    worst = _worst(*found[gaps.index(gap)]) if verdict == "differs" else ""
    return Pair(*at, node, label, type_, gap, verdict, worst)


def _scale(a: runs.Array | None) -> float:
    """The largest finite value, at least 1: a tolerance is relative for large values."""
    values = np.abs(plain_numbers(a)).ravel() if a is not None and a.dtype != np.bool_ else np.zeros(0)
    return max(1.0, float(values[np.isfinite(values)].max(initial=0.0)))


def _worst(a: runs.Array, b: runs.Array) -> str:
    """Where the difference is largest, with both values."""
    if a.shape != b.shape:
        return f"shape {list(a.shape)} in eager mode, {list(b.shape)} in graph mode"
    x, y = plain_numbers(a), plain_numbers(b)
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.subtract(x, y, dtype=np.result_type(x, y, np.float64)))
    equal = (x == y) | ((x != x) & (y != y))
    gap = np.where(equal, 0.0, np.where(np.isnan(gap), np.inf, gap))
    at = np.unravel_index(int(gap.argmax()), gap.shape) if gap.ndim else ()
    where = f"at {[int(i) for i in at]}" if gap.ndim else "alone"
    return f"{where}: {x[at]:.6g} in eager mode, {y[at]:.6g} in graph mode"
