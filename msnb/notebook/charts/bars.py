"""Small charts as SVG: bars, a picture of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msnb.notebook.drawing import ALARM, CARD, INK, LINE_COLOUR, SOFT, escaped, number, page, rect, shortened, text

BAR, LABEL_W, CHART_W = 20.0, 250.0, 720.0


@dataclass
class Bar:
    """One line of a bar chart: a label, a length, a word at its end."""

    label: str
    value: float
    word: str
    colour: str = "#5f8fd0"


def bars_svg(title: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars, longest value to the full width."""
    most = max([b.value for b in bars] or [1.0]) or 1.0
    room = CHART_W - LABEL_W - 30 - max([6.0 * len(b.word) for b in bars] or [0.0])
    parts = [text(16, 22, shortened(title, 90), 12.5, SOFT, weight=600, anchor="start")]
    for i, bar in enumerate(bars):
        y = 34 + i * BAR
        parts.append(text(LABEL_W - 8, y + 13, shortened(bar.label, 38), 11, INK, anchor="end"))
        parts.append(rect(LABEL_W, y + 2, max(room * bar.value / most, 1.0), BAR - 6, bar.colour, radius=3))
        parts.append(text(LABEL_W + room * bar.value / most + 6, y + 13, bar.word, 10.5, SOFT, anchor="start"))
    height = 34 + len(bars) * BAR + 12
    return page(CHART_W, height, [rect(0.5, 0.5, CHART_W - 1, height - 1, CARD, LINE_COLOUR, 12), *parts], title)


@dataclass
class Span:
    """A buffer in the memory picture: addresses from ``low``, alive from node ``start`` to ``end`` (inclusive)."""

    label: str
    low: int
    size: int
    start: int
    end: int
    look: tuple[str, str]
    held: bool = False


def memory_svg(title: str, spans: Sequence[Span], steps: int, top: int, peak: int, peak_word: str) -> str:
    """Address upwards, program order to the right; those who hold the peak have a heavy border."""
    left, right, head, tall = 60.0, 20.0, 46.0, 260.0
    w, h = CHART_W, head + tall + 40
    across, up = (w - left - right) / max(steps, 1), tall / max(top, 1)
    parts = [rect(0.5, 0.5, w - 1, h - 1, CARD, LINE_COLOUR, 12)]
    parts.append(text(16, 22, shortened(title, 90), 12.5, SOFT, weight=600, anchor="start"))
    parts += [_span(s, left, head + tall, across, up) for s in spans]
    x = left + (peak + 0.5) * across
    dash = f'stroke="{ALARM}" stroke-width="1.4" stroke-dasharray="4 3"'
    parts.append(f'<path d="M{number(x)} {number(head - 6)}V{number(head + tall)}" {dash}/>')
    anchor = "start" if x < w / 2 else "end"
    parts.append(text(x + (5 if anchor == "start" else -5), head - 9, peak_word, 11, ALARM, 600, anchor))
    parts += _axes(left, head, tall, w - right)
    return page(w, h, parts, title)


def _axes(left: float, head: float, tall: float, right: float) -> list[str]:
    d = f"M{number(left)} {number(head)}V{number(head + tall)}H{number(right)}"
    axes = f'<path d="{d}" fill="none" stroke="{SOFT}" stroke-width="1"/>'
    below = text((left + right) / 2, head + tall + 22, "node in program order", 11, SOFT)
    return [axes, below, text(left - 8, head + 10, "address", 11, SOFT, anchor="end")]


def _span(span: Span, left: float, floor: float, across: float, up: float) -> str:
    x, w = left + span.start * across, (span.end - span.start + 1) * across
    h = max(span.size * up, 0.6)
    y = floor - span.low * up - h
    fill, border = span.look
    box = rect(x, y, max(w, 0.6), h, fill, border, 2 if h > 6 else 0, width=2.2 if span.held else 0.8)
    word = shortened(span.label, max(int(w / 6.2), 1))
    label = text(x + w / 2, y + h / 2 + 3.5, word, 10, INK) if h > 13 and w > 30 else ""
    return f"<g><title>{escaped(shortened(span.label, 200))}</title>{box}{label}</g>"
