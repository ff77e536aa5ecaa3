"""``ms.show.compare``: two programs, and what changed from one to the other.

Nodes are compared in program order by op, operands, attributes and types (names and lines do not count), as a text is
compared by lines: the longest common order stays, the rest is ``-`` only in the first or ``+`` only in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from msnb.ir.graph import Graph, Node
from msnb.ir.text.printer import node_text
from msnb.notebook.charts.html_fragments import Row, count, pre, table
from msnb.notebook.drawing import Picture, is_drawn, picture_of
from msnb.notebook.programs.instrumented_run import place_of
from msnb.notebook.views.view import Section, View

HEAD = ("", "node", "line")
AROUND = 2


class CompareView(View):
    """Two graphs.

    Attributes:
        changes: ``(sign, node)`` in order: " " in both, "-" only in the first, "+" only in the second.
    """

    kind = "compare"

    def __init__(self, first: Graph, second: Graph, title: str = "") -> None:
        super().__init__(title or f"{first.name} and {second.name}")
        self.first: Graph = first
        self.second: Graph = second
        self.changes: list[tuple[str, Node]] = changes_of(first, second)

    @property
    def same(self) -> bool:
        """True when nothing changed."""
        return all(sign == " " for sign, _ in self.changes)

    @property
    def summary(self) -> str:
        """One sentence."""
        signs = [sign for sign, _ in self.changes]
        if self.same:
            return f"the same {count(len(signs), 'node')} in both."
        both, gone, fresh = (signs.count(sign) for sign in " -+")
        return f"{count(both, 'node')} in both, {gone} only in the first, {fresh} only in the second."

    @property
    def rows(self) -> list[Row]:
        """What changed, with its surroundings."""
        return _with_context([(sign, node_text(node), place_of(node)) for sign, node in self.changes])

    @property
    def text(self) -> str:
        """A difference as text."""
        lines = [f"{sign} {text}" + (f"   # {place}" if place else "") for sign, text, place in self.rows]
        return "\n".join([self.summary, *lines]) if not self.same else self.summary

    @property
    def picture(self) -> Picture:
        """Both programs side by side; what only one has, has a heavy border."""
        pictures = [_marked(self.first, "-", self.changes), _marked(self.second, "+", self.changes)]
        columns = [column for name, p in zip(("first", "second"), pictures) for column in _columns(name, p)]
        return Picture(self.title[:80], columns=columns)

    @property
    def sections(self) -> list[Section]:
        """The changes; both texts."""
        head = [(self.summary, table(HEAD, self.rows))]
        return [*head, ("First", pre(str(self.first))), ("Second", pre(str(self.second)))]

    @property
    def data(self) -> dict[str, Any]:
        """The changes."""
        return {"changes": [[sign, node_text(node), place_of(node)] for sign, node in self.changes if sign != " "]}


def changes_of(first: Graph, second: Graph) -> list[tuple[str, Node]]:
    """The nodes of both graphs (bodies included) in one order, each with its sign."""
    a, b = _nodes(first), _nodes(second)
    matcher = SequenceMatcher(None, [_key(n) for n in a], [_key(n) for n in b], autojunk=False)
    out: list[tuple[str, Node]] = []
    for what, i, i_end, j, j_end in matcher.get_opcodes():
        if what == "equal":
            out += [(" ", n) for n in a[i:i_end]]
            continue
        out += [("-", n) for n in a[i:i_end]] + [("+", n) for n in b[j:j_end]]
    return out


def _nodes(graph: Graph) -> list[Node]:
    return [node for _, node in graph.walk() if is_drawn(node)]


def _key(node: Node) -> str:
    return node_text(node)


def _with_context(rows: Sequence[Row]) -> list[Row]:
    near = {k for i, row in enumerate(rows) if row[0] != " " for k in range(i - AROUND, i + AROUND + 1)}
    out: list[Row] = []
    for i, row in enumerate(rows):
        if i in near:
            out.append(row)
        elif out and out[-1] != _GAP:
            out.append(_GAP)
    return out[:-1] if out and out[-1] == _GAP else out


_GAP: Row = (" ", "...", "")


def _marked(graph: Graph, sign: str, changes: Sequence[tuple[str, Node]]) -> Picture:
    changed = {node for found, node in changes if found == sign}
    names = {str(i) for i, node in enumerate(graph.nodes) if node in changed}
    picture = picture_of(graph)
    for box in picture.walk():
        if box.id in names:
            box.mark = "changed"
            box.lines = [*box.lines, "only here"]
    return picture


def _columns(name: str, picture: Picture) -> list[Picture]:
    found = picture.columns or [picture]
    for column in found:
        column.title = f"{name}: {column.title or picture.title}"
    return found
