"""A gradient program's sides next to each other: forward flows down, backward up, what is kept goes across.

forward          backward
+-------+  kept  +-------+
| conv1 | . . .> | conv1 |  ^       the gradient of a layer stands about as high as the layer, so the values that
|  fc   | . . .> |  fc   |  |       the forward side keeps for it cross the gap on short, level lines
+---v---+        +---^---+
    loss  . . . . . .|
"""

from __future__ import annotations

from dataclasses import dataclass

from msnb.notebook.drawing.layered_layout import Drawing, lay_out
from msnb.notebook.drawing.picture_tree import Edge, Picture

COLUMN_GAP, COLUMN_HEAD = 84.0, 20.0


@dataclass
class Across:
    """A kept value's line, from the right (or left) border of a box to a border of another."""

    edge: Edge
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass
class ColumnLayout:
    """Columns with their corners, and the lines between them."""

    picture: Picture
    columns: list[tuple[float, float, Drawing]]
    lines: list[Across]
    w: float
    h: float


def lay_out_sheet(picture: Picture) -> ColumnLayout:
    """Place everything: one drawing, or columns side by side."""
    if not picture.columns:
        drawing = lay_out(picture)
        return ColumnLayout(picture, [(0.0, 0.0, drawing)], [], drawing.w, drawing.h)
    tallest = max(lay_out(c).h for c in picture.columns)
    drawings = [lay_out(c, tallest) for c in picture.columns]
    tallest = max(d.h for d in drawings)
    x, columns = 0.0, []
    for drawing in drawings:
        y = COLUMN_HEAD + (tallest - drawing.h if drawing.picture.upwards else 0.0)
        columns.append((x, y, drawing))
        x += drawing.w + COLUMN_GAP
    height = tallest + COLUMN_HEAD
    return ColumnLayout(picture, columns, _lines(picture, columns), x - COLUMN_GAP, height)


Rect = tuple[float, float, float, float]


def _rects(drawing: Drawing, x: float, y: float, into: dict[str, Rect]) -> None:
    for p in drawing.boxes:
        into[p.box.id] = (x + p.x, y + p.y, p.w, p.h)
        if p.inner is not None:
            _rects(p.inner, x + p.x, y + p.y, into)


def _lines(picture: Picture, columns: list[tuple[float, float, Drawing]]) -> list[Across]:
    rects: dict[str, Rect] = {}
    for x, y, drawing in columns:
        _rects(drawing, x, y, rects)
    ends: dict[tuple[str, bool], list[int]] = {}
    for i, e in enumerate(picture.kept):
        ends.setdefault((e.source, True), []).append(i)
        ends.setdefault((e.target, False), []).append(i)
    for (_, leaving), members in ends.items():
        members.sort(key=lambda i: _middle(rects, picture.kept[i].target if leaving else picture.kept[i].source))
    return [
        Across(e, *_across(rects[e.source], rects[e.target], ends[e.source, True], ends[e.target, False], i))
        for i, e in enumerate(picture.kept)
        if e.source in rects and e.target in rects
    ]


def _middle(rects: dict[str, Rect], name: str) -> float:
    """How high the other end is: lines that leave one box do not cross at once."""
    _, y, _, h = rects.get(name, (0.0, 0.0, 0.0, 0.0))
    return y + h / 2


def _across(
    a: Rect, b: Rect, leaving: list[int], entering: list[int], i: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """From the side that faces the other box, spread over its height."""
    right = a[0] < b[0]
    start = a[0] + a[2] if right else a[0]
    end = b[0] if right else b[0] + b[2]
    return (start, _share(a, leaving.index(i), len(leaving))), (end, _share(b, entering.index(i), len(entering)))


def _share(rect: Rect, k: int, count: int) -> float:
    step = min(9.0, (rect[3] - 12) / max(count, 1))
    return rect[1] + rect[3] / 2 + (k - (count - 1) / 2) * step
