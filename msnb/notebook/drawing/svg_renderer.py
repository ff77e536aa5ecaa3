"""A drawing as SVG: one self-contained image that reads on light pages, dark pages and paper.

It brings its own near-white card, so its dark words stay legible whatever lies around it, and needs no style sheet,
script or font of the page: saved notebooks show it as an ``<img>``.

    painted first        frames of groups, outer ones first
    then                 lines from column to column (kept for backward)
    then                 edges, boxes with their words, bodies inside them
"""

from __future__ import annotations

from collections.abc import Iterator

from msnb.notebook.drawing import colors
from msnb.notebook.drawing.box_labels import shortened
from msnb.notebook.drawing.gradient_columns import Across, ColumnLayout, lay_out_sheet
from msnb.notebook.drawing.layered_layout import FRAME_HEAD, LINE, PAD_Y, TITLE_LINE, BoxPlacement, Curve, Drawing
from msnb.notebook.drawing.picture_tree import PLAIN_MARKS, Box, Picture
from msnb.notebook.drawing.svg_marks import TEXT_FONT, escaped, number, quoted, rect, text

MARGIN, HEAD, LEGEND_LINE = 14.0, 30.0, 20.0
SWATCH = 14.0
LONG_LABEL = 160


def svg_of(picture: Picture) -> str:
    """The SVG text of a picture; every label is escaped."""
    sheet = lay_out_sheet(picture)
    entries = legend_entries(picture)
    w = max(sheet.w + 2 * MARGIN, len(picture.title) * 7.2 + 2 * MARGIN, 220.0)
    rows = _rows(entries, w - 2 * MARGIN)
    bottom = HEAD + sheet.h + 10
    h = bottom + LEGEND_LINE * len(rows) + 8
    left = (w - sheet.w) / 2
    parts = [
        rect(0.5, 0.5, w - 1, h - 1, colors.CARD, colors.LINE_COLOUR, 12),
        text(MARGIN + 2, 21, picture.title, 12.5, colors.SOFT, weight=600, anchor="start"),
        _sheet(sheet, left, HEAD),
        *(_legend_row(row, MARGIN + 2, bottom + LEGEND_LINE * i) for i, row in enumerate(rows)),
    ]
    return page(w, h, parts, picture.title)


def page(w: float, h: float, parts: list[str], label: str) -> str:
    """Parts as one SVG image; the label is what a screen reader says."""
    size = f'width="{number(w)}" height="{number(h)}" viewBox="0 0 {number(w)} {number(h)}"'
    told = f'role="img" aria-label="{quoted(shortened(label, LONG_LABEL))}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{TEXT_FONT}" {told}>{"".join(parts)}</svg>'


# ---- frames, lines, boxes ----


def _sheet(sheet: ColumnLayout, x: float, y: float) -> str:
    if len(sheet.columns) == 1:
        return _drawing(sheet.columns[0][2], x, y, 0)
    parts = []
    for left, _, drawing in sheet.columns:
        parts.append(rect(x + left, y, drawing.w, sheet.h, "#ffffff", colors.LINE_COLOUR, 10))
        parts.append(text(x + left + 12, y + 18, drawing.picture.title, 12, colors.INK, weight=600, anchor="start"))
    parts += [_frames(d, x + left, y + top, 1) for left, top, d in sheet.columns]
    parts += [_across(line, x, y) for line in sheet.lines]
    parts += [_contents(d, x + left, y + top, 1) for left, top, d in sheet.columns]
    return "".join(parts)


def _drawing(drawing: Drawing, x: float, y: float, depth: int) -> str:
    return _frames(drawing, x, y, depth) + _contents(drawing, x, y, depth)


def _frames(drawing: Drawing, x: float, y: float, depth: int) -> str:
    parts = []
    for p in drawing.boxes:
        if p.inner is not None:
            tint = colors.FRAME_TINTS[depth % len(colors.FRAME_TINTS)]
            parts.append(rect(x + p.x, y + p.y, p.w, p.h, tint, "#c3ccd8", 9))
            parts.append(_frames(p.inner, x + p.x, y + p.y, depth + 1))
    return "".join(parts)


def _contents(drawing: Drawing, x: float, y: float, depth: int) -> str:
    kinds = {b.id: b.kind for b in drawing.picture.boxes}
    open_groups = {p.box.id for p in drawing.boxes if p.inner is not None}
    upwards = drawing.picture.upwards
    parts = []
    for c in drawing.curves:
        passes = kinds[c.edge.target] == "out" or c.edge.target in open_groups
        parts.append(_curve(c, x, y, not passes, upwards))
    for p in drawing.boxes:
        if p.inner is not None:
            parts.append(_contents(p.inner, x + p.x, y + p.y, depth + 1))
            parts.append(_frame_title(p.box, x + p.x, y + p.y))
        elif p.box.kind not in ("in", "out"):
            parts.append(_box(p, x + p.x, y + p.y, depth))
    parts += [_note(c, x, y) for c in drawing.curves if c.edge.note]
    return "".join(parts)


def _note(curve: Curve, dx: float, dy: float) -> str:
    """Words on a line, halfway along its longest piece."""
    (x0, y0), (x1, y1) = max(zip(curve.points, curve.points[1:]), key=lambda ends: abs(ends[1][1] - ends[0][1]))
    return text((x0 + x1) / 2 + dx, (y0 + y1) / 2 + dy + 3.5, curve.edge.note, 10, colors.NOTE, weight=600, halo=True)


def _frame_title(box: Box, x: float, y: float) -> str:
    return text(x + 9, y + FRAME_HEAD - 5, box.title, 11, colors.SOFT, weight=600, anchor="start", halo=True)


def _curve(curve: Curve, dx: float, dy: float, head: bool, up: bool) -> str:
    """Cubic pieces, vertical where they meet a box; straight through the layers it passes; a small arrow head."""
    points = [(x + dx, y + dy) for x, y in curve.points]
    end_x, end_y = points[-1]
    sign = -1 if up else 1
    if head:
        points[-1] = (end_x, end_y - 5 * sign)
    words = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if abs(x0 - x1) < 0.05:
            words.append(f"L{number(x1)} {number(y1)}")
            continue
        bend = (y1 - y0) / 2
        words.append(f"C{number(x0)} {number(y0 + bend)} {number(x1)} {number(y1 - bend)} {number(x1)} {number(y1)}")
    colour, width = (colors.NOTE, 2.2) if curve.edge.note else (colors.EDGE, 1.3)
    path = f'<path d="{"".join(words)}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'
    return path + (_head(end_x, end_y, 0, sign, colour) if head else "")


def _head(x: float, y: float, across: int, down: int, colour: str) -> str:
    """A small triangle whose tip is at x, y."""
    back_x, back_y = x - 7 * across, y - 7 * down
    wide_x, wide_y = (0.0, 3.4) if across else (3.4, 0.0)
    corners = [(back_x - wide_x, back_y - wide_y), (x, y), (back_x + wide_x, back_y + wide_y)]
    d = "L".join(f"{number(a)} {number(b)}" for a, b in corners)
    return f'<path d="M{d}Z" fill="{colour}"/>'


def _across(line: Across, dx: float, dy: float) -> str:
    (x0, y0), (x1, y1) = line.start, line.end
    sign = 1 if x1 > x0 else -1
    x0, y0, x1, y1 = x0 + dx, y0 + dy, x1 + dx - 5 * sign, y1 + dy
    bend = max(abs(x1 - x0) / 2, 30.0) * sign
    n = number
    d = f"M{n(x0)} {n(y0)}C{n(x0 + bend)} {n(y0)} {n(x1 - bend)} {n(y1)} {n(x1)} {n(y1)}"
    path = (
        f'<path d="{d}" fill="none" stroke="{colors.KEPT}" stroke-width="1.2" stroke-dasharray="5 3" opacity="0.75"/>'
    )
    return path + _head(x1 + 5 * sign, y1, sign, 0, colors.KEPT)


def _box(placed: BoxPlacement, x: float, y: float, depth: int) -> str:
    box = placed.box
    parts = [_outline(placed, x, y)]
    ink, soft = ("#ffffff", "#d6dde6") if box.kind == "result" else (colors.INK, colors.SOFT)
    soft = soft if box.heat is None else colors.INK
    middle, line = x + placed.w / 2, y + PAD_Y + TITLE_LINE - 6
    parts.append(text(middle, line, box.title, 13, ink, weight=600))
    for words in box.lines:
        line += LINE
        parts.append(text(middle, line, words, 10.5, soft, mono=True))
    parts += [_body(label, x + fx, y + fy, drawing, depth) for label, fx, fy, drawing in placed.inside]
    origin = box.origin
    tip = "\n".join(t for t in (origin.scope, origin.place, f"by {origin.why}" if origin.why else "") if t)
    return _tipped(tip, parts)


def _tipped(tip: str, parts: list[str]) -> str:
    return f"<g><title>{escaped(tip)}</title>{''.join(parts)}</g>" if tip else f"<g>{''.join(parts)}</g>"


def _outline(placed: BoxPlacement, x: float, y: float) -> str:
    box, w, h = placed.box, placed.w, placed.h
    fill, border = _look(box)
    radius = h / 2 if box.kind in ("param", "again", "state", "result") and h < 60 else 8
    dash = "4 3" if box.kind in ("state", "again") else ""
    under = rect(x + 3, y + 3, w, h, "#e9edf3", border, 8) if box.kind == "group" else ""
    plain = colors.INK if box.mark in PLAIN_MARKS else colors.ALARM
    colour, width = (plain, 2.6) if box.mark else (border, 1.2)
    return under + rect(x, y, w, h, fill, colour, radius, dash=dash, width=width)


def _look(box: Box) -> colors.Look:
    if box.tint is not None:
        return colors.tint_look(box.tint[0])
    return colors.look_of(box.kind, box.family) if box.heat is None else colors.heat_of(box.heat)


def _body(label: str, x: float, y: float, drawing: Drawing, depth: int) -> str:
    frame = rect(x, y, drawing.w, drawing.h, colors.FRAME_TINTS[depth % len(colors.FRAME_TINTS)], colors.LINE_COLOUR, 8)
    tag = text(x + 9, y + FRAME_HEAD - 6, label, 10.5, colors.SOFT, weight=600, anchor="start")
    return frame + tag + _drawing(drawing, x, y, depth + 1)


# ---- the legend ----

WORDS = {"param": "input", "again": "input, shown again", "state": "state", "result": "result", "group": "closed group"}


def _visible(picture: Picture) -> Iterator[Box]:
    for box in picture.boxes:
        yield box
        for frame in box.frames:
            yield from _visible(frame.picture)
        if box.open and box.inside is not None:
            yield from _visible(box.inside)
    for column in picture.columns:
        yield from _visible(column)


def legend_entries(picture: Picture) -> list[tuple[str, str, colors.Look]]:
    """What shows in a picture and needs a word: kind, word, look; in a fixed order."""
    boxes = list(_visible(picture))
    kinds = {b.kind for b in boxes}
    looks = {
        colors.look_of(b.kind, b.family)
        for b in boxes
        if b.kind in ("node", "constant") and b.heat is None and not b.tint
    }
    out = [("node", word, look) for look, word in colors.MEANING.items() if look in looks]
    if not any(b.kind == "group" and not b.open for b in boxes):
        kinds.discard("group")
    tints = sorted({b.tint for b in boxes if b.tint is not None})
    out += [("node", word, colors.tint_look(i)) for i, word in tints]
    out += [(kind, word, colors.KINDS[kind]) for kind, word in WORDS.items() if kind in kinds]
    if any(b.heat is not None for b in boxes):
        out += [("node", "small gradient", colors.heat_of(0)), ("node", "large gradient", colors.heat_of(1))]
    return out + ([("kept", "kept for backward", (colors.CARD, colors.KEPT))] if picture.kept else [])


def _rows(entries: list[tuple[str, str, colors.Look]], width: float) -> list[list[tuple[str, str, colors.Look]]]:
    rows: list[list[tuple[str, str, colors.Look]]] = []
    used = width
    for entry in entries:
        need = len(entry[1]) * 5.8 + SWATCH + 22
        if used + need > width:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += need
    return rows


def _legend_row(row: list[tuple[str, str, colors.Look]], x: float, y: float) -> str:
    parts = []
    for kind, word, (fill, border) in row:
        if kind == "kept":
            line = f'stroke="{colors.KEPT}" stroke-width="1.6" stroke-dasharray="5 3"'
            parts.append(f'<path d="M{number(x)} {number(y + 6)}h{SWATCH:g}" {line}/>')
        else:
            dash = "3 2" if kind in ("state", "again") else ""
            radius = 2.5 if kind in ("node", "group") else 5.5
            parts.append(rect(x, y + 0.5, SWATCH, 11, fill, border, radius, dash=dash))
        parts.append(text(x + SWATCH + 6, y + 10, word, 10.5, colors.SOFT, anchor="start"))
        x += len(word) * 5.8 + SWATCH + 22
    return "".join(parts)
