"""What a cell shows: one object with text, SVG, HTML and JSON made from the same parts.

A saved notebook must show a program without a kernel, also where it is not trusted. There scripts, styles and inline
SVG are stripped, but an ``<img>`` with a data URI, tables and ``<details>`` stay: so that is what the HTML consists of.
The text is deterministic: no times, no addresses. Everything is capped, so that a bundle stays below 1 MB.

    View          title, notes, a figure, sections (each behind a summary that opens)
      GraphView   a program
      others      one module each: passes, diff, memory, profile, step, explain, compare
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from msnb.graph.compile import CompiledProgram
from msnb.ir.graph import Graph
from msnb.ir.text.printer import called, print_graph
from msnb.notebook.charts.html_fragments import cut_text, details, figure, pre, table
from msnb.notebook.drawing import MOST_BOXES, Overlay, Picture, picture_of, svg_of
from msnb.notebook.drawing.graphviz import dot_of, drawn_by_dot
from msnb.notebook.drawing.overlays import cost_overlays, overlays_json
from msnb.notebook.drawing.picture_tree import MAX_JSON, Box, as_json, capped_json

MIME = "application/vnd.msnb.graph.v1+json"
MAX_PICTURES = 120_000
LONG_TITLE = 200
PASS_HEAD = ("pass", "law", "times")

Section = tuple[str, str]
Frame = tuple[str, Callable[[], str]]


class View:
    """An object that shows itself in a cell and can be saved.

    Attributes:
        title: a line above it.
        notes: lines below the title (escaped, like every label).
        kind: which view it is, for the JSON.
    """

    kind = "view"

    def __init__(self, title: str, notes: Sequence[str] = ()) -> None:
        self.title: str = title
        self.notes: tuple[str, ...] = tuple(notes)

    @property
    def text(self) -> str:
        """The view as text."""
        raise NotImplementedError

    @property
    def picture(self) -> Picture | None:
        """The program that the view draws, if it draws one."""
        return None

    @property
    def svg(self) -> str:
        """The view as a picture."""
        picture = self.picture
        assert picture is not None, "a view without a program draws its own figure."
        return svg_of(picture)

    @property
    def data(self) -> dict[str, Any]:
        """The numbers behind the view, as JSON would hold them."""
        return {}

    @property
    def json(self) -> dict[str, Any]:
        """The view for other renderers."""
        picture = self.picture or Picture(self.title[:LONG_TITLE])
        out = capped_json(picture, MAX_JSON // 2) | {"kind": self.kind}
        if self.overlays:
            out["overlays"] = overlays_json(self.overlays, picture, out, MAX_JSON // 4)
        full = {**out, "data": self.data}
        return full if len(json.dumps(full)) <= MAX_JSON else {**out, "truncated": True}

    @property
    def overlays(self) -> list[Overlay]:
        """Numbers per node that a renderer can paint over the picture."""
        return []

    @property
    def sections(self) -> list[Section]:
        """What lies below the figure: summaries and HTML."""
        return [("Text", pre(self.text))]

    @property
    def figures(self) -> list[str]:
        """The pictures, as SVG."""
        return [self.svg]

    @property
    def html(self) -> str:
        """Pictures and text for a page, without scripts, styles or ids."""
        notes = "".join(f"<div>{html.escape(n)}</div>" for n in self.notes)
        figures = "".join(figure(svg, f"{self.kind} of {self.title}") for svg in self.figures)
        below = "".join(details(summary, body) for summary, body in self.sections)
        return f"<div>{notes}{figures}{below}</div>"

    @property
    def frames(self) -> list[Frame]:
        """What ``widget()`` moves through: captions, and HTML that is made when it is looked at."""
        shown = [(self.title, lambda: "".join(figure(svg, f"{self.kind} of {self.title}") for svg in self.figures))]
        return [*shown, *((summary, lambda body=body: body) for summary, body in self.sections)]

    def widget(self) -> Any:
        """The view with a slider: stages and rewrites, nodes and their values, or the sections one by one.

        Returns:
            An ipywidgets box with ``.slider``, ``.next()``, ``.back()``. Shown, it stores the static view beside
            itself, so the saved notebook still has its picture.

        Raises:
            ArgumentError: ipywidgets is not installed.
        """
        from msnb.notebook.views.widget import widget_of  # ipywidgets is heavy and may be absent

        return widget_of(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {MIME: self.json, "text/html": self.html, "image/svg+xml": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return cut_text("\n".join([*self.notes, self.text]))

    def _writers(self) -> dict[str, Callable[[], str]]:
        return {
            ".svg": lambda: self.svg,
            ".html": self._page,
            ".txt": lambda: "\n".join([*self.notes, self.text]),
            ".json": lambda: json.dumps(self.json),
            **({".dot": lambda: self.dot} if type(self).picture is not View.picture else {}),
        }

    @property
    def dot(self) -> str:
        """The program in Graphviz's language.

        Raises:
            ValueError: this view draws no program.
        """
        picture = self.picture
        if picture is None:
            raise ValueError(f"a {self.kind} view draws no program, so there is nothing for Graphviz.")
        return dot_of(picture)

    def graphviz(self, limit: float = 5.0) -> str:
        """The picture as Graphviz draws it, within a time limit; the built-in drawing (announced once) without it.

        Args:
            limit: seconds that the program ``dot`` may take.

        Returns:
            SVG.
        """
        picture = self.picture
        found = drawn_by_dot(picture, limit) if picture is not None else None
        return self.svg if found is None else found

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the view to a file; the ending says how.

        Args:
            path: a name that ends in .svg, .html, .txt or .json; of a view that draws a program also .dot, of a graph's
                view also .ir.

        Returns:
            The path.

        Raises:
            ValueError: another ending.
        """
        name = os.fspath(path)
        writers = self._writers()
        write = writers.get(os.path.splitext(name)[1])
        if write is None:
            *endings, last = writers
            raise ValueError(f"a view is saved as {', '.join(endings)} or {last}, not {name!r}.")
        with open(name, "w", encoding="utf-8") as file:
            file.write(write())
        return name

    def _page(self) -> str:
        title = html.escape(self.title)
        return f'<!doctype html><meta charset="utf-8"><title>{title}</title><body>{self.html}</body>\n'


class GraphView(View):
    """A program as a picture and as text.

    Args:
        graph: the program.
        title: a line above it.
        compiled: where stages and times come from, if it was compiled.
        notes: lines below the title.
        max_boxes: how many boxes a picture may show; what is deeper is in closed groups, each with a picture below.

    Examples:
        >>> from msnb.ir.text.parser import parse
        >>> view = GraphView(parse("graph f(x: f32[3]) -> (f32[3])\\n  %1 = add(x, x) : f32[3]\\n  return %1"))
        >>> view.svg.startswith("<svg")
        True
    """

    kind = "graph"

    def __init__(
        self, graph: Graph, title: str = "", compiled: CompiledProgram | None = None, notes: Sequence[str] = (),
        max_boxes: int = MOST_BOXES,
    ) -> None:  # fmt: skip
        super().__init__(title or graph.name, notes)
        self.graph: Graph = graph
        self.compiled: CompiledProgram | None = compiled
        self.max_boxes: int = max_boxes
        self._parts: list[Picture] = []
        self._svg = ""

    @property
    def parts(self) -> list[Picture]:
        """The pictures: the program, then each graph it calls."""
        if not self._parts:
            graphs = list(dict.fromkeys([self.graph, *called(self.graph)]))
            self._parts = [picture_of(g, self.max_boxes) for g in graphs]
        return self._parts

    @property
    def picture(self) -> Picture:
        """The program's picture."""
        return self.parts[0]

    @property
    def text(self) -> str:
        """The IR as text."""
        return print_graph(self.graph)

    @property
    def svg(self) -> str:
        """The picture of the program as SVG."""
        if not self._svg:
            self._svg = svg_of(self.parts[0])
        return self._svg

    @property
    def figures(self) -> list[str]:
        """The program, then each graph that it calls."""
        return [self.svg, *map(svg_of, self.parts[1:])]

    @property
    def sections(self) -> list[Section]:
        """Closed groups, the IR, what the passes did."""
        groups = _closed_groups(self.parts)
        found = [("Closed groups", "".join(groups))] if groups else []
        found.append(("IR", pre(self.text)))
        return [*found, *self._stages()]

    def _passes(self) -> list[tuple[str, str, str]]:
        """Which passes changed the program, and how often by which law."""
        counts = self.compiled.counts if self.compiled is not None else {}
        rows = sorted(counts.items(), key=lambda item: (_stage_order(self.compiled, item[0][0]), item[0]))
        return [(name, law, str(n)) for (name, law), n in rows]

    def _stages(self) -> list[Section]:
        rows = self._passes()
        return [("What the passes did", table(PASS_HEAD, rows))] if rows else []

    def _passes_json(self) -> dict[str, Any]:
        rows = [dict(zip(PASS_HEAD, row)) for row in self._passes()]
        return {"data": {"what the passes did": rows}} if rows else {}

    @property
    def overlays(self) -> list[Overlay]:
        """Numbers per node that a renderer can paint over the picture."""
        return cost_overlays(self.graph)

    @property
    def json(self) -> dict[str, Any]:
        """The parts for other renderers."""
        out = capped_json(self.parts[0], MAX_JSON * 3 // 4)
        out |= {"kind": self.kind, **({"notes": list(self.notes)} if self.notes else {}), **self._passes_json()}
        room = MAX_JSON - len(json.dumps(out)) - 100
        out["overlays"] = overlays_json(self.overlays, self.parts[0], out, room)
        out["calls"] = [as_json(p, top=False) for p in self.parts[1:]]
        if out["calls"] and len(json.dumps(out)) > MAX_JSON:
            out |= {"calls": [], "truncated": True}
        return out

    def _writers(self) -> dict[str, Callable[[], str]]:
        return {**super()._writers(), ".ir": lambda: self.text}


def _closed_groups(pictures: Sequence[Picture]) -> list[str]:
    """A picture per closed group, outer ones first, as long as they are small enough to be stored."""
    out: list[str] = []
    spare, level = MAX_PICTURES, [box for p in pictures for box in _closed(p)]
    while level:
        following: list[Box] = []
        for box in level:
            assert box.inside is not None
            picture = svg_of(Picture(box.title, box.inside.boxes, box.inside.edges, upwards=box.inside.upwards))
            spare -= len(picture)
            if spare < 0:
                return [*out, "<div>Deeper groups are left out; save the view as .ir or raise max_boxes.</div>"]
            side = ", backward" if box.inside.upwards else ""
            out.append(details(f"{box.title}{side} ({box.size} nodes)", figure(picture, f"group {box.title}")))
            following += _closed(box.inside)
        level = following
    return out


def _closed(picture: Picture) -> list[Box]:
    """The groups that show but are closed."""
    out = [b for c in picture.columns for b in _closed(c)]
    for box in picture.boxes:
        out += [b for f in box.frames for b in _closed(f.picture)]
        if box.inside is not None:
            out += _closed(box.inside) if box.open else [box]
    return out


def _stage_order(compiled: CompiledProgram | None, name: str) -> int:
    names = [s.name for s in compiled.stages] if compiled is not None else []
    return names.index(name) if name in names else len(names)


__all__ = ["MIME", "GraphView", "Section", "View"]
