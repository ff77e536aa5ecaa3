"""Streams over time as SVG: one row per stream, one block per piece of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msnb.notebook.charts.plot import LEFT, RIGHT, Scale, W, card, grid
from msnb.notebook.drawing import INK, escaped, rect, shortened, text

ROW, TOP = 34.0, 48.0


@dataclass
class Lane:
    """A stream: (start, end, what) in seconds."""

    name: str
    events: Sequence[tuple[float, float, str]]
    colour: str


def lanes_svg(title: str, lanes: Sequence[Lane], seconds: float, word: str = "simulated") -> str:
    """Rows of blocks; the axis counts microseconds (milliseconds above ten of them); ``word`` says whose."""
    unit, scale = ("ms", 1e3) if seconds > 0.01 else ("us", 1e6)
    bottom = TOP + ROW * len(lanes)
    x = Scale(0.0, max(seconds * scale, 1e-9), LEFT, W - RIGHT)
    parts = grid(x, Scale(0, 1, bottom, TOP - 8), unit, "")[: 2 * len(x.ticks())]
    for i, lane in enumerate(lanes):
        y = TOP + ROW * i
        parts.append(text(LEFT - 8, y + 16, lane.name, 11, INK, anchor="end"))
        parts += [_block(x(a * scale), x(b * scale), y, what, lane.colour) for a, b, what in lane.events]
    parts.append(text((LEFT + W - RIGHT) / 2, bottom + 34, f"{word} {unit}", 11, INK))
    return card(W, bottom + 44, title, parts)


def _block(x0: float, x1: float, y: float, what: str, colour: str) -> str:
    w = max(x1 - x0, 0.8)
    box = rect(x0, y, w, ROW - 12, colour, "#ffffff" if w > 3 else "", 2 if w > 6 else 0, width=0.8)
    room = int(w / 6.0)
    name = text(x0 + w / 2, y + 15, shortened(what, room), 10, "#ffffff", weight=600) if room >= 6 else ""
    return f"<g><title>{escaped(shortened(what, 120))}</title>{box}{name}</g>"
