"""A drawing as SVG: one self-contained image that reads on light pages, dark pages and paper.

It brings its own near-white card, so its dark words stay legible whatever lies around it, and needs no style sheet,
script or font of the page: saved notebooks show it as an ``<img>``. Colours go by family of op; the hue says what kind
of work it is, never anything that the words do not say too.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from msnb.notebook.layout import FRAME_HEAD, LINE, PAD_Y, TITLE_LINE, Curve, Drawing, Placed, lay_out
from msnb.notebook.parts import Picture

FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
INK, SOFT, EDGE, CARD, LINE_COLOUR = "#1f2733", "#5b6675", "#8a94a3", "#fcfcfd", "#d9dee6"

# fill and border
_BLUE, _GREEN, _AMBER = ("#e3eefc", "#6d9ad6"), ("#e2f4e7", "#63ad7b"), ("#fdf1d8", "#d3a13c")
_RED, _VIOLET = ("#fde6e4", "#d67f76"), ("#efe7fb", "#9c7fcb")
_TEAL, _GREY = ("#dff3f3", "#57a6a8"), ("#eef1f5", "#a3adba")
FAMILIES: dict[str, tuple[str, str]] = {
    "elementwise": _BLUE, "transcendental": _BLUE, "logic": _BLUE, "compare": _BLUE, "cast": _BLUE, "erf": _BLUE,
    "activation": _BLUE, "contract": _VIOLET, "conv": _VIOLET, "linalg": _VIOLET,
    "reduce": _AMBER, "cumulative": _AMBER, "norm": _AMBER, "pool": _AMBER, "loss": _RED, "optimise": _RED,
    "shape": _TEAL, "join": _TEAL, "slicing": _TEAL, "getitem": _TEAL, "index": _TEAL, "gather": _TEAL,
    "random": _GREEN, "create": _GREY, "constant": _GREY, "control": ("#f5f6f9", "#8e99a8"),
}  # fmt: skip
KINDS: dict[str, tuple[str, str]] = {
    "param": ("#ffffff", "#7d8896"), "state": ("#fff8e6", "#c99a2e"), "result": ("#2f3b4c", "#2f3b4c"),
    "constant": _GREY,
}  # fmt: skip
FRAME_TINTS = ("#ffffff", "#f4f7fb")


def svg_of(picture: Picture) -> str:
    """The SVG text of a picture; every label is escaped."""
    drawing = lay_out(picture)
    w, h = drawing.w + 16, drawing.h + 22
    body = _drawing(drawing, 8, 14, 0)
    title = _text(16, 20, picture.title, 12, SOFT, weight=600, anchor="start")
    note = _text(w - 16, 20, f"{picture.hidden} more nodes not drawn", 11, SOFT, anchor="end") if picture.hidden else ""
    frame = f'x="0.5" y="0.5" width="{_n(w - 1)}" height="{_n(h - 1)}"'
    card = f'<rect {frame} rx="12" fill="{CARD}" stroke="{LINE_COLOUR}"/>'
    size = f'width="{_n(w)}" height="{_n(h)}" viewBox="0 0 {_n(w)} {_n(h)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img">'
    return f"{head}{card}{title}{note}{body}</svg>"


def _n(number: float) -> str:
    """A short number: pictures are stored in notebooks and compared."""
    return f"{number:.1f}".rstrip("0").rstrip(".") if number % 1 else str(int(number))


def _text(
    x: float, y: float, text: str, size: float, fill: str, weight: int = 400, anchor: str = "middle", mono: bool = False
) -> str:
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    family = f' font-family="{MONO}"' if mono else ""
    place = f'x="{_n(x)}" y="{_n(y)}" font-size="{size:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}"{bold}{family}>{escape(text)}</text>'


def _drawing(drawing: Drawing, x: float, y: float, depth: int) -> str:
    parts = [_curve(c, x, y) for c in drawing.curves]
    parts += [_box(p, x + p.x, y + p.y, depth) for p in drawing.boxes]
    return "".join(parts)


def _curve(curve: Curve, dx: float, dy: float) -> str:
    """Cubic pieces, vertical where they meet a box; straight down through the layers it passes; a small arrow head."""
    points = [(x + dx, y + dy) for x, y in curve.points]
    end_x, end_y = points[-1]
    points[-1] = (end_x, end_y - 5)
    words = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if abs(x0 - x1) < 0.05:
            words.append(f"L{_n(x1)} {_n(y1)}")
            continue
        bend = (y1 - y0) / 2
        words.append(f"C{_n(x0)} {_n(y0 + bend)} {_n(x1)} {_n(y1 - bend)} {_n(x1)} {_n(y1)}")
    path = f'<path d="{"".join(words)}" fill="none" stroke="{EDGE}" stroke-width="1.3"/>'
    head = f"M{_n(end_x - 3.6)} {_n(end_y - 7)}L{_n(end_x)} {_n(end_y)}L{_n(end_x + 3.6)} {_n(end_y - 7)}Z"
    return f'{path}<path d="{head}" fill="{EDGE}"/>'


def _box(placed: Placed, x: float, y: float, depth: int) -> str:
    box = placed.box
    fill, border = KINDS.get(box.kind) or FAMILIES.get(box.family) or _GREY
    ink, soft = ("#ffffff", "#cfd6e0") if box.kind == "result" else (INK, SOFT)
    radius = placed.h / 2 if box.kind in ("param", "state", "result") else 8
    dash = ' stroke-dasharray="4 3"' if box.kind == "state" else ""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(placed.w)}" height="{_n(placed.h)}"'
    parts = [f'<rect {place} rx="{_n(radius)}" fill="{fill}" stroke="{border}" stroke-width="1.2"{dash}/>']
    middle, line = x + placed.w / 2, y + PAD_Y + TITLE_LINE - 6
    parts.append(_text(middle, line, box.title, 13, ink, weight=600))
    for words in box.lines:
        line += LINE
        parts.append(_text(middle, line, words, 10.5, soft, mono=True))
    parts += [_frame(label, x + fx, y + fy, drawing, depth) for label, fx, fy, drawing in placed.inside]
    tip = "\n".join(t for t in (box.scope, box.place, f"by {box.why}" if box.why else "") if t)
    return f"<g><title>{escape(tip)}</title>{''.join(parts)}</g>" if tip else f"<g>{''.join(parts)}</g>"


def _frame(label: str, x: float, y: float, drawing: Drawing, depth: int) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(drawing.w)}" height="{_n(drawing.h)}"'
    tint = FRAME_TINTS[depth % len(FRAME_TINTS)]
    rect = f'<rect {place} rx="8" fill="{tint}" stroke="{LINE_COLOUR}"/>'
    tag = _text(x + 9, y + FRAME_HEAD - 6, label, 10.5, SOFT, weight=600, anchor="start")
    return rect + tag + _drawing(drawing, x, y, depth + 1)
