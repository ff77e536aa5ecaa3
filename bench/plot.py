"""The plot of a run, as SVG text: every contestant's time relative to the best peer, on a log axis.

    case        |      .      |      o        x        |
                 faster     best peer          slower
                              = 1

A vertical tick is our bar; the grey left end is out of the machine's reach. Nothing but strings: no plotting library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

COLOURS = {
    "msnb graph": "#c0392b",
    "msnb eager": "#e59866",
    "torch eager": "#2471a3",
    "torch compile": "#7fb3d5",
    "jax jit": "#229954",
    "mindspore graph": "#7d3c98",
}
LEFT, WIDTH, ROW, TOP = 190, 640, 24, 56
LOW, HIGH = 1 / 32, 64.0


@dataclass(frozen=True)
class Row:
    """A case: contestant -> time over the best peer's; our bar and the machine's limit in the same unit."""

    name: str
    times: dict[str, float]
    bar: float | None
    limit: float | None


def across(ratio: float) -> float:
    """Where a ratio lies; what is off the scale sits at its end."""
    inside = min(max(ratio, LOW), HIGH)
    return LEFT + WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW)


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def line(x: float, top: float, bottom: float, colour: str, width: float = 1.0) -> str:
    return f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def legend(names: tuple[str, ...]) -> Iterator[str]:
    x = LEFT
    for name in names:
        yield f'<circle cx="{x}" cy="16" r="5" fill="{COLOURS.get(name, "#555")}"/>'
        yield text(x + 9, 20, name)
        x += 24 + 7 * len(name)


def axis(bottom: float) -> Iterator[str]:
    ratio = LOW
    while ratio <= HIGH:
        x = across(ratio)
        yield line(x, TOP - 6, bottom, "#999" if ratio == 1 else "#e4e4e4")
        label = f"{ratio:g} x" if ratio >= 1 else f"1/{1 / ratio:g}"
        yield text(x, TOP - 12, "best peer" if ratio == 1 else label, "middle", "#777")
        ratio *= 2


def drawn(row: Row, y: float) -> Iterator[str]:
    yield text(LEFT - 12, y + 4, row.name, "end")
    if row.limit:
        width = across(row.limit) - LEFT
        yield f'<rect x="{LEFT}" y="{y - 7:.1f}" width="{width:.1f}" height="14" fill="#ececec"/>'
    if row.bar:
        yield line(across(row.bar), y - 9, y + 9, COLOURS["msnb graph"], 2)
    for name, ratio in reversed(row.times.items()):
        title = f"<title>{escape(name)}: {ratio:.2f} x the best peer</title>"
        colour, x = COLOURS.get(name, "#555"), across(ratio)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}" fill-opacity="0.85">{title}</circle>'


def svg(rows: list[Row], names: tuple[str, ...]) -> str:
    """The whole picture; rows without anybody are left out by the caller."""
    bottom = TOP + ROW * max(len(rows), 1)
    size = f'width="{LEFT + WIDTH + 40}" height="{bottom + 40}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">']
    parts += ['<rect width="100%" height="100%" fill="white"/>', *legend(names), *axis(bottom)]
    for number, row in enumerate(rows):
        parts += drawn(row, TOP + ROW * (number + 0.5))
    parts.append(text(LEFT, bottom + 24, "time per step over the best peer's; tick: our bar; grey: beyond the machine"))
    return "\n".join([*parts, "</svg>"]) + "\n"
