"""``ms.show.passes``: a compilation stage by stage, with each rewrite's law and reason, and a check in numbers.

    stage        rewrites  nodes  difference   law
    captured            0     12               As captured.
    algebra             3      9  0            x * 1 is x ...
    dce                 2      7  0            what nobody reads goes

``difference`` is the largest absolute one between the program's results after the stage and as captured, on the inputs
of the call. It is not checked where the program calls back into Python.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from msnb.graph.compile import CompiledProgram, Rewrite, StageRecord, compile_graph
from msnb.ir.graph import Graph
from msnb.notebook.charts.bars import Bar, bars_svg
from msnb.notebook.charts.html_fragments import Row, columns, count, figure, number_word, pre, table
from msnb.notebook.drawing import as_json, picture_of, svg_of
from msnb.notebook.programs import instrumented_run as runs
from msnb.notebook.views.view import Frame, Section, View

UNCHECKED = "not checked"
HEAD = ("stage", "rewrites", "nodes", "difference", "law")
REWRITE = ("law", "before", "after", "why", "line")
FACTS = ("pass", "law", "before", "after", "why", "line")
MAX_STAGE_PICTURES = 150_000


class PassesView(View):
    """The stages of a compilation.

    Attributes:
        compiled: the program with its stages and history.
        differences: per stage, as the table shows it.
    """

    kind = "passes"

    def __init__(self, program: runs.InstrumentedProgram, only_changed: bool = False) -> None:
        super().__init__(program.name)
        self.compiled: CompiledProgram = compile_graph(program.graph, name=program.name, keep_stages=True)
        self.only_changed = only_changed
        self.differences: list[str] = _differences(self.compiled, program)
        self._rewrites = _by_stage(self.compiled)

    @property
    def stages(self) -> list[tuple[StageRecord, str, list[Rewrite]]]:
        """Each stage with its difference and its rewrites."""
        found = zip(self.compiled.stages, self.differences, self._rewrites)
        return [s for i, s in enumerate(found) if not self.only_changed or i == 0 or s[0].rewrites]

    @property
    def rows(self) -> list[Row]:
        """The table."""
        return [(s.name, str(s.rewrites), str(_size(s)), gap, s.law) for s, gap, _ in self.stages]

    @property
    def text(self) -> str:
        """The table, then every rewrite with how often it happened."""
        parts = [columns(HEAD, self.rows)]
        for stage, _, rewrites in self.stages:
            if rewrites:
                parts.append(f"{stage.name}: {count(len(rewrites), 'rewrite')}\n" + "\n".join(_told(rewrites)))
        return "\n\n".join(parts)

    @property
    def svg(self) -> str:
        """Nodes per stage as bars."""
        bars = [Bar(s.name, _size(s), f"{_size(s)} nodes, {count(s.rewrites, 'rewrite')}") for s, _, _ in self.stages]
        return bars_svg(f"passes over {self.title}: nodes after each stage", bars)

    @property
    def sections(self) -> list[Section]:
        """The table, and per stage that changed something: law, rewrites, the program after it."""
        out = [("Stages", table(HEAD, self.rows))]
        spare = MAX_STAGE_PICTURES
        for stage, _, rewrites in self.stages:
            if not rewrites:
                continue
            body = pre(stage.law) + table(REWRITE, [_row(r) for r in rewrites])
            picture = svg_of(_marked(stage.graph, rewrites)) if stage.graph is not None else ""
            spare -= len(picture)
            body += figure(picture, f"{self.title} after {stage.name}") if picture and spare > 0 else ""
            out.append((f"{stage.name}: {count(len(rewrites), 'rewrite')}", body))
        return [*out, ("IR before", pre(str(self.compiled.source))), ("IR after", pre(str(self.compiled.graph)))]

    @property
    def frames(self) -> list[Frame]:
        """Every stage, and within it every rewrite: law, why, before and after."""
        out: list[Frame] = []
        before: Graph | None = None
        for row, (stage, _, rewrites) in zip(self.rows, self.stages):
            pair = partial(_pair, before if rewrites else None, stage.graph, rewrites)
            out.append((stage.name, partial(_page, [row], HEAD, pair)))
            told = [(i + 1, r) for i, r in enumerate(rewrites)]
            out += [(f"{stage.name}, rewrite {i}", partial(_page, [_row(r)], REWRITE, pair)) for i, r in told]
            before = stage.graph
        return out

    @property
    def data(self) -> dict[str, Any]:
        """Stages and rewrites as plain data; a stage that changed something with the program after it."""
        stages: list[dict[str, Any]] = []
        rewrites: list[dict[str, Any]] = []
        spare = MAX_STAGE_PICTURES
        for i, (row, (stage, _, found)) in enumerate(zip(self.rows, self.stages)):
            stages.append(dict(zip(HEAD, row)))
            rewrites += [{"stage": i, **dict(zip(FACTS, _facts(r)))} for r in found]
            if stage.graph is not None and (found or i == 0):
                picture = as_json(_marked(stage.graph, found), top=False)
                spare -= len(json.dumps(picture))
                if spare > 0:
                    stages[-1]["picture"] = picture
        return {"stages": stages, "rewrites": rewrites}


def _page(rows: list[Row], head: Row, pair: Callable[[], str]) -> str:
    return table(head, rows) + pair()


def _pair(before: Graph | None, after: Graph | None, rewrites: list[Rewrite]) -> str:
    """The program before and after a stage, side by side."""
    left = [figure(svg_of(picture_of(before)), "before")] if before is not None else []
    right = [figure(svg_of(_marked(after, rewrites)), "after")] if after is not None else []
    return f'<div style="display:flex;gap:8px;align-items:flex-start">{"".join(left + right)}</div>'


def _size(stage: StageRecord) -> int:
    return 0 if stage.graph is None else sum(1 for _ in stage.graph.walk())


def _facts(r: Rewrite) -> Row:
    return r.pass_name, r.law, r.before_text, r.after_text, r.reason, runs.place_of(r.before)


def _row(r: Rewrite) -> Row:
    return r.law, r.before_text, r.after_text or "nothing", r.reason, runs.place_of(r.before)


def _told(rewrites: list[Rewrite]) -> list[str]:
    times = Counter(f"{r.law}: {r.before_text} -> {r.after_text or 'nothing'}" for r in rewrites)
    return [f"  {line}" + (f"   {n} times" if n > 1 else "") for line, n in times.items()]


def _by_stage(compiled: CompiledProgram) -> list[list[Rewrite]]:
    """History cut by the stages' counts: rewrites are noted in the order in which stages ran."""
    out, at = [], 0
    for stage in compiled.stages:
        out.append(compiled.history[at : at + stage.rewrites])
        at += stage.rewrites
    return out


def _marked(graph: Graph, rewrites: list[Rewrite]) -> Any:
    """The program after a stage; boxes that took another's place have a heavy border."""
    picture = picture_of(graph)
    fresh = {v.node for r in rewrites for v in r.after}
    names = {str(i) for i, node in enumerate(graph.nodes) if node in fresh}
    for box in picture.walk():
        if box.id in names and "/" not in box.id:
            box.mark = "new"
    return picture


def _differences(compiled: CompiledProgram, program: runs.InstrumentedProgram) -> list[str]:
    if runs.has_host_calls(program.graph):
        return ["", *[UNCHECKED] * (len(compiled.stages) - 1)]
    with runs.quiet():
        wanted = _results(program.graph, program.inputs)
        out = [""]
        for before, stage in zip(compiled.stages, compiled.stages[1:]):
            if stage.graph is before.graph:
                out.append(out[-1] or "0")
                continue
            assert stage.graph is not None
            found = _results(stage.graph, program.inputs)
            out.append(number_word(max(map(runs.max_difference, wanted, found), default=0.0)))
    return out


def _results(graph: Graph, inputs: list[Any]) -> list[Any]:
    return [runs.as_array(b, v.type) for b, v in zip(runs.outputs_of(graph, inputs), graph.outputs)]
