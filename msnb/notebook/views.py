"""What a cell shows: one object with text, SVG, HTML and JSON made from the same parts.

A saved notebook must show a program without a kernel, also where it is not trusted. There scripts, styles and inline
SVG are stripped, but an ``<img>`` with a data URI and ``<details>`` stay: so that is what the HTML consists of. The
text is deterministic: no times, no addresses.
"""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from msnb.graph.compile import Compiled
from msnb.ir.graph import Graph
from msnb.ir.text import called, print_graph
from msnb.notebook.parts import Picture, as_json, picture_of
from msnb.notebook.svg import svg_of

MIME = "application/vnd.msnb.graph.v1+json"
MAX_JSON = 1_000_000


class GraphView:
    """A program as a picture and as text.

    Args:
        graph: the program.
        title: a line above it.
        compiled: where stages and times come from, if it was compiled.
        notes: lines below the title (escaped, like every label).
        max_nodes: how many nodes a picture may have.

    Examples:
        >>> from msnb.ir.parse import parse
        >>> view = GraphView(parse("graph f(x: f32[3]) -> (f32[3])\\n  %1 = add(x, x) : f32[3]\\n  return %1"))
        >>> view.svg.startswith("<svg")
        True
    """

    def __init__(
        self,
        graph: Graph,
        title: str = "",
        compiled: Compiled | None = None,
        notes: Sequence[str] = (),
        max_nodes: int = 400,
    ) -> None:
        self.graph, self.compiled, self.notes, self.max_nodes = graph, compiled, tuple(notes), max_nodes
        self.title = title or graph.name
        self._svg = ""

    @property
    def parts(self) -> list[Picture]:
        """The pictures: the program, then each graph it calls."""
        graphs = list(dict.fromkeys([self.graph, *called(self.graph)]))
        return [picture_of(g, self.max_nodes) for g in graphs]

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
    def html(self) -> str:
        """Pictures and text for a page, without scripts, styles or ids."""
        pictures = [self.svg, *map(svg_of, self.parts[1:])]
        figures = "".join(_figure(svg, self.title) for svg in pictures)
        notes = "".join(f"<div>{html.escape(n)}</div>" for n in self.notes)
        text = f"<details><summary>IR</summary><pre>{html.escape(self.text)}</pre></details>"
        return f"<div>{notes}{figures}{text}{self._stages_html()}</div>"

    def _stages_html(self) -> str:
        """Which passes changed the program, and how often by which law."""
        if self.compiled is None or not self.compiled.counts:
            return ""
        rows = sorted(self.compiled.counts.items(), key=lambda item: (_stage_order(self.compiled, item[0][0]), item[0]))
        cells = "".join(f"<tr>{_cell(name)}{_cell(law)}{_cell(str(n))}</tr>" for (name, law), n in rows)
        head = "<tr><th>pass</th><th>law</th><th>times</th></tr>"
        return f"<details><summary>What the passes did</summary><table>{head}{cells}</table></details>"

    @property
    def json(self) -> dict[str, Any]:
        """The parts for other renderers."""
        parts = self.parts
        out = as_json(parts[0])
        out["calls"] = [as_json(p, top=False) for p in parts[1:]]
        if len(json.dumps(out)) > MAX_JSON:
            out = as_json(picture_of(self.graph, 200)) | {"truncated": True}
        return out

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {MIME: self.json, "text/html": self.html, "image/svg+xml": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n".join([*self.notes, self.text])

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the view to a file; the ending says how.

        Args:
            path: a name that ends in .svg, .html, .txt, .ir or .json.

        Returns:
            The path.

        Raises:
            ValueError: another ending.
        """
        name = os.fspath(path)
        writers: dict[str, Callable[[], str]] = {
            ".svg": lambda: self.svg,
            ".html": self._page,
            ".txt": lambda: repr(self),
            ".ir": lambda: self.text,
            ".json": lambda: json.dumps(self.json),
        }
        write = writers.get(os.path.splitext(name)[1])
        if write is None:
            raise ValueError(f"a view is saved as .svg, .html, .txt, .ir or .json, not {name!r}.")
        with open(name, "w", encoding="utf-8") as file:
            file.write(write())
        return name

    def _page(self) -> str:
        title = html.escape(self.title)
        return f'<!doctype html><meta charset="utf-8"><title>{title}</title><body>{self.html}</body>\n'


def _cell(text: str) -> str:
    return f"<td>{html.escape(text)}</td>"


def _figure(svg: str, title: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    alt = html.escape(f"graph of {title}", quote=True)
    image = f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
    return f'<figure style="margin:0 0 8px 0">{image}</figure>'


def _stage_order(compiled: Compiled | None, name: str) -> int:
    names = [s.name for s in compiled.stages] if compiled is not None else []
    return names.index(name) if name in names else len(names)
