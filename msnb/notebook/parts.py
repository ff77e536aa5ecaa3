"""A picture as data: a tree of parts that text, SVG, HTML and JSON are rendered from.

    Picture                     a program (or a body): boxes, edges between them, a title
      Box                       one param, node, constant or result; words in it, a family for its colour
        Frame                   a body of a control node: a label and a Picture of its own
      Edge                      from a box's result to a box's operand

Nothing here knows of pixels or tags, and nothing depends on addresses, times or hash order: ids are paths of positions
(``3/0/1`` is node 1 in body 0 of node 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msnb.core.types import TensorType
from msnb.ir.control import CALL
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.literals import Table, is_inline, write_attr
from msnb.ir.text import body_labels, differing_attrs, write_type
from msnb.ops.constant import constant

LONG = 34


@dataclass
class Edge:
    """From box ``source`` to operand ``port`` of box ``target``; ``label`` is the type that flows."""

    source: str
    target: str
    port: int
    label: str


@dataclass
class Frame:
    """A body inside a box."""

    label: str
    picture: Picture


@dataclass
class Box:
    """One thing in a picture.

    Attributes:
        id: a path of positions.
        kind: ``param``, ``state``, ``node``, ``constant`` or ``result``.
        title: the op's or param's name.
        lines: smaller words below it: type, attributes.
        family: the op family, for the colour.
        scope, place, why: path of Cells, line of the user's text, transform that made it.
        ports: how many operands it has.
        frames: bodies.
    """

    id: str
    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    family: str = ""
    scope: str = ""
    place: str = ""
    why: str = ""
    ports: int = 0
    frames: list[Frame] = field(default_factory=list)


@dataclass
class Picture:
    """Boxes in program order and the edges between them. ``hidden`` counts boxes left out where there are too many."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    hidden: int = 0

    def size(self) -> int:
        """How many boxes there are, those in bodies included."""
        return sum(1 + sum(f.picture.size() for f in b.frames) for b in self.boxes)


def picture_of(graph: Graph, max_nodes: int = 400) -> Picture:
    """The picture of a graph.

    Args:
        graph: the graph; called graphs stay boxes.
        max_nodes: later nodes than this are left out and counted in ``hidden``.

    Returns:
        A tree of parts.
    """
    return _Painter(max_nodes).graph(graph, "", f"{graph.name}")


class _Painter:
    def __init__(self, budget: int) -> None:
        self.budget = budget

    def graph(self, graph: Graph, path: str, title: str) -> Picture:
        picture = Picture(title)
        ids: dict[Value, str] = {}
        used = set(graph.outputs).union(*(n.inputs for n in graph.nodes)) if graph.nodes else set(graph.outputs)
        for i, p in enumerate(graph.params):
            if p in used:
                ids[p] = f"{path}p{i}"
                kind = "state" if i in graph.state else "param"
                picture.boxes.append(Box(ids[p], kind, p.name or f"p{i}", [write_type(p.type)]))
        for i, node in enumerate(graph.nodes):
            self._node(node, f"{path}{i}", ids, picture)
        self._results(graph, path, ids, picture)
        return picture

    def _node(self, node: Node, name: str, ids: dict[Value, str], picture: Picture) -> None:
        if node.op is constant and is_inline(node.attrs["value"]):
            return
        if self.budget <= 0:
            picture.hidden += 1
            return
        self.budget -= 1
        box = Box(name, "constant" if node.op is constant else "node", _title(node), family=node.op.family)
        box.lines = _lines(node)
        box.scope, box.why, box.ports = node.scope, node.why, sum(v in ids for v in node.inputs)
        place = node.where.where if node.where is not None else None
        box.place = "" if place is None else str(place)
        picture.boxes.append(box)
        self._edges(node.inputs, name, ids, picture)
        ids.update((v, name) for v in node.outputs)
        for k, (label, body) in enumerate(zip(body_labels(node), node.graphs)):
            box.frames.append(Frame(label, self.graph(body, f"{name}/{k}/", label)))

    def _edges(self, values: list[Value], target: str, ids: dict[Value, str], picture: Picture) -> None:
        drawn = [v for v in values if v in ids]
        picture.edges += [Edge(ids[v], target, port, write_type(v.type)) for port, v in enumerate(drawn)]

    def _results(self, graph: Graph, path: str, ids: dict[Value, str], picture: Picture) -> None:
        names = {j: graph.params[i].name for i, j in graph.state.items()}
        for j, v in enumerate(graph.outputs):
            if v not in ids and v.node is not None and v.node.op is not constant:
                continue
            name = f"{path}r{j}"
            title = f"new {names[j]}" if j in names else "result" if len(graph.outputs) == 1 else f"result {j}"
            inline = [] if v in ids else [_constant_word(v)]
            picture.boxes.append(Box(name, "result", title, [*inline, write_type(v.type)], ports=1))
            self._edges([v], name, ids, picture)


def _title(node: Node) -> str:
    return f"call {node.attrs['callee']}" if node.op is CALL else node.op.name


def _lines(node: Node) -> list[str]:
    attrs = [f"{_operand_name(node, i)}={_constant_word(v)}" for i, v in enumerate(node.inputs) if _is_small(v)]
    attrs += [f"{k}={_short(write_attr(v, Table()))}" for k, v in differing_attrs(node) if _shown(node, k)]
    return [*_wrapped(attrs), *_wrapped([_type_word(v) for v in node.outputs])]


def _shown(node: Node, name: str) -> bool:
    if node.op is constant or name == "callee":
        return False
    return not ("control" in node.op.traits and name.startswith("n_"))


def _is_small(value: Value) -> bool:
    return value.node is not None and value.node.op is constant and is_inline(value.node.attrs["value"])


def _operand_name(node: Node, i: int) -> str:
    """What the op's record calls its operand ``i``."""
    names = node.op.inputs
    if "control" in node.op.traits or i >= len(names) or names[i].startswith("*"):
        return f"operand {i}"
    return names[i]


def _constant_word(value: Value) -> str:
    assert value.node is not None
    return _short(Table().const(value.node.attrs["value"]))


def _type_word(value: Value) -> str:
    word = write_type(value.type)
    return f"{value.name}: {word}" if value.name and isinstance(value.type, TensorType) else word


def _short(text: str) -> str:
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _wrapped(words: list[str]) -> list[str]:
    """Words joined by commas into lines of LONG characters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= LONG:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


def as_json(picture: Picture, top: bool = True) -> dict[str, Any]:
    """The picture for other renderers (schema ``msnb.graph`` version 1)."""
    boxes = [_box_json(b) for b in picture.boxes]
    edges = [[e.source, e.target, e.port, e.label] for e in picture.edges]
    out: dict[str, Any] = {"title": picture.title, "nodes": boxes, "edges": edges}
    if picture.hidden:
        out["hidden"] = picture.hidden
    return {"schema": "msnb.graph", "version": 1, **out} if top else out


def _box_json(box: Box) -> dict[str, Any]:
    out: dict[str, Any] = {"id": box.id, "kind": box.kind, "title": box.title, "lines": box.lines}
    for name in ("family", "scope", "place", "why"):
        if getattr(box, name):
            out[name] = getattr(box, name)
    if box.frames:
        out["bodies"] = [{"label": f.label, **as_json(f.picture, top=False)} for f in box.frames]
    return out
