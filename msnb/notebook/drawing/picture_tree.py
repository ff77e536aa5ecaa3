"""A picture as data: a tree of parts that text, SVG, HTML and JSON are rendered from.

    Picture                     a program, a body, a group: boxes, edges between them, a title
      Box                       one param, node, constant, result or group; words in it, a family for its colour
        Frame                   a body of a control node: a label and a Picture of its own
        inside                  what a group holds (drawn where it is open); ports carry edges through its border
      Edge                      from a box's result to a box's operand
      columns, kept             a gradient program's sides, and what the forward side keeps for the backward one

Nothing here knows of pixels or tags, and nothing depends on addresses, times or hash order: ids are paths of positions
(``3/0/1`` is node 1 in body 0 of node 3, ``g4`` the fourth group).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SCHEMA, VERSION = "msnb.graph", 1
MAX_JSON = 400_000
FEW_PORTS = 2  # operands that never widen a box
PLAIN_MARKS = ("", "new", "changed")  # all others are alarms


@dataclass
class Edge:
    """From box ``source`` to operand ``port`` of box ``target``; ``label`` is the type that flows.

    ``leaving`` is the port of an open group that it comes from; ``note`` is written on the line.
    """

    source: str
    target: str
    port: int
    label: str
    leaving: int = 0
    note: str = ""


@dataclass
class Frame:
    """A body inside a box."""

    label: str
    picture: Picture


@dataclass(frozen=True)
class BoxOrigin:
    """What a box comes from.

    Attributes:
        scope, place, why: path of Cells, line of the user's text, transform that made it.
        loc: the same place for a program: (file or cell, line, column, end column); columns are -1 where unknown.
    """

    scope: str = ""
    place: str = ""
    why: str = ""
    loc: tuple[str, int, int, int] | None = None


@dataclass
class Box:
    """One thing in a picture.

    Attributes:
        id: a path of positions.
        kind: ``param``, ``again`` (a param shown a second time), ``state``, ``node``, ``constant``, ``result``,
            ``group``, or ``in`` and ``out``: where an edge passes the border of a group.
        title: the op's, param's or group's name.
        lines: smaller words below it: type, attributes.
        family: the op family, for the colour.
        origin: what it comes from.
        ports: how many operands it has.
        frames: bodies.
        inside: what a group holds; open: whether it is drawn; size: how many nodes it holds.
        mark: why it has a heavy border: ``new`` and ``changed`` are plain, all else is an alarm; the lines say it too.
        heat: 0 to 1, painted from light to dark instead of the family's colour.
        tint: a number and a word (a layout) that boxes of one colour share, instead of the family's colour.
    """

    id: str
    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    family: str = ""
    origin: BoxOrigin = BoxOrigin()
    ports: int = 0
    frames: list[Frame] = field(default_factory=list)
    inside: Picture | None = None
    open: bool = False
    size: int = 1
    mark: str = ""
    heat: float | None = None
    tint: tuple[int, str] | None = None


@dataclass
class Picture:
    """Boxes in program order and the edges between them; or columns side by side and what is kept between them."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    columns: list[Picture] = field(default_factory=list)
    kept: list[Edge] = field(default_factory=list)
    upwards: bool = False

    def size(self) -> int:
        """How many boxes there are, those in bodies and groups included (not the groups and ports themselves)."""
        return sum(1 for b in self.walk() if b.kind not in ("group", "in", "out"))

    def shown(self) -> int:
        """How many boxes a reader sees: closed groups count one, open ones what they hold."""
        own = sum(_shown(b) for b in self.boxes)
        return own + sum(c.shown() for c in self.columns)

    def walk(self) -> Iterator[Box]:
        """Every box, outer ones first."""
        for box in self.boxes:
            yield box
            for frame in box.frames:
                yield from frame.picture.walk()
            if box.inside is not None:
                yield from box.inside.walk()
        for column in self.columns:
            yield from column.walk()


def alarm_groups(picture: Picture) -> None:
    """Let every group carry the first alarm of what it holds, as mark and as word: a closed group hides the box."""
    for box in picture.walk():
        held = box.inside.walk() if box.inside is not None else ()
        alarm = next((b.mark for b in held if b.mark not in PLAIN_MARKS), "")
        if alarm:
            box.mark, box.lines = alarm, [*box.lines, alarm]


def _shown(box: Box) -> int:
    if box.kind in ("in", "out"):
        return 0
    return box.inside.shown() if box.open and box.inside is not None else 1


def as_json(picture: Picture, top: bool = True, depth: int = 99) -> dict[str, Any]:
    """The picture for other renderers (``msnb.notebook.drawing.bundle_schema``: ``msnb.graph`` version 1).

    Args:
        picture: the picture.
        top: write the schema's name and version.
        depth: groups nested deeper than this are written without what they hold.
    """
    boxes = [_box_json(b, depth) for b in picture.boxes]
    edges = [[e.source, e.target, e.port, e.label, *([e.leaving] if e.leaving else [])] for e in picture.edges]
    out: dict[str, Any] = {"title": picture.title, "nodes": boxes, "edges": edges}
    if picture.upwards:
        out["upwards"] = True
    if picture.columns:
        out["columns"] = [as_json(c, False, depth) for c in picture.columns]
        out["kept"] = [[e.source, e.target, e.label] for e in picture.kept]
    return {"schema": SCHEMA, "version": VERSION, **out} if top else out


def capped_json(picture: Picture, limit: int = MAX_JSON) -> dict[str, Any]:
    """``as_json`` in at most ``limit`` characters: what does not fit are the deepest groups, and ``truncated`` says so.

    Open groups come first (they show), then closed ones level by level; each is filled if there is room for it.
    """
    out = as_json(picture)
    if len(json.dumps(out)) <= limit:
        return out
    out = as_json(picture, depth=0) | {"truncated": True}
    room = limit - len(json.dumps(out))
    if room < 0:
        head = {"schema": SCHEMA, "version": VERSION, "title": picture.title[:200]}
        return head | {"nodes": [], "edges": [], "truncated": True}
    waiting = deque(_groups(picture, out))
    while waiting:
        box, entry = _next(waiting)
        inside = as_json(box.inside or Picture(""), False, 0)
        size = len(json.dumps({"inside": inside}))
        if size <= room and box.inside is not None:
            room -= size
            entry["inside"] = inside
            waiting.extend(_groups(box.inside, inside))
    return out


_Group = tuple[Box, dict[str, Any]]


def _next(waiting: deque[_Group]) -> _Group:
    """The first open group, else the first of all."""
    for i, (box, _) in enumerate(waiting):
        if box.open:
            found = waiting[i]
            del waiting[i]
            return found
    return waiting.popleft()


def _groups(picture: Picture, out: dict[str, Any]) -> Iterator[_Group]:
    """The groups of a picture, each with its entry in the JSON; those in bodies and columns included."""
    for box, entry in zip(picture.boxes, out["nodes"]):
        if box.kind == "group":
            yield box, entry
        for frame, body in zip(box.frames, entry.get("bodies", ())):
            yield from _groups(frame.picture, body)
    for column, entry in zip(picture.columns, out.get("columns", ())):
        yield from _groups(column, entry)


def _box_json(box: Box, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {"id": box.id, "kind": box.kind, "title": box.title, "lines": box.lines}
    origin = box.origin
    words = {"family": box.family, "scope": origin.scope, "place": origin.place, "why": origin.why, "mark": box.mark}
    out |= {name: word for name, word in words.items() if word}
    if box.heat is not None:
        out["heat"] = box.heat
    if box.tint is not None:
        out["tint"] = list(box.tint)
    if origin.loc is not None:
        out["loc"] = list(origin.loc)
    if box.ports > FEW_PORTS:
        out["ports"] = box.ports
    if box.frames:
        out["bodies"] = [{"label": f.label, **as_json(f.picture, False, depth)} for f in box.frames]
    if box.kind == "group":
        out["open"], out["size"] = box.open, box.size
        if box.inside is not None and depth > 0:
            out["inside"] = as_json(box.inside, False, depth - 1)
    return out
