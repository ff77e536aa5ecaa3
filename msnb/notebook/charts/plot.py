"""Plots as SVG on a near-white card: a roofline in two logarithmic scales, curves over steps.

Colours are told apart by hue and by dash or shape; each curve has its name at its end, so no legend must be matched.
Coordinates are rounded to a tenth of a pixel, so equal data give equal text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from msnb.notebook.drawing import ALARM, CARD, INK, LINE_COLOUR, SOFT, escaped, number, page, rect, shortened, text
from msnb.notebook.drawing.colors import EDGE

W, LEFT, RIGHT, HEAD, TALL, FOOT = 720.0, 66.0, 24.0, 40.0, 270.0, 46.0
GRID = "#e8ecf2"
HUES = ("#2f6fbf", "#c07a10", "#1f8a86", "#7d56c2", "#b4473c", "#5d7f2f", "#58677a", "#a0528f")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass
class Line:
    """A roof: memory rises to the peak."""

    label: str
    bandwidth: float
    peak: float
    dashed: bool = False


@dataclass
class Dot:
    """An op at (flops per byte, flops per second)."""

    label: str
    x: float
    y: float
    colour: str
    hollow: bool = False


@dataclass
class Curve:
    """Values over steps; what is not finite leaves a gap and a mark on the top edge."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    points: bool = False


@dataclass
class Panel:
    """One coordinate system with its curves.

    Attributes:
        title: what the y axis is.
        log: a logarithmic y axis.
        lines: heights worth a thin line, each with a word.
        strong: for each x in it, a thin vertical line (ends of epochs).
    """

    title: str
    curves: list[Curve]
    log: bool = False
    lines: list[tuple[float, str]] = field(default_factory=list)
    strong: Sequence[float] = ()


class Scale:
    """Numbers to pixels, linear or logarithmic."""

    low: float
    high: float

    def __init__(self, low: float, high: float, start: float, end: float, log: bool = False) -> None:
        self.log: bool = log
        self.start: float = start
        self.end: float = end
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self.high - self.low < 1e-12:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def __call__(self, value: float) -> float:
        v = math.log10(max(value, 1e-300)) if self.log else value
        share = min(max((v - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers within the range."""
        if self.log:
            every = max(1, math.ceil((self.high - self.low) / 6))
            first = math.ceil(self.low - 1e-9)
            return [10.0**k for k in range(first, math.floor(self.high + 1e-9) + 1, every)]
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.999)


def tick_word(value: float) -> str:
    """``1e9`` or ``0.25``."""
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:g}"


def card(w: float, h: float, title: str, parts: list[str]) -> str:
    """Parts on a card with a title."""
    head = text(16, 23, shortened(title, 90), 12.5, SOFT, weight=600, anchor="start")
    return page(w, h, [rect(0.5, 0.5, w - 1, h - 1, CARD, LINE_COLOUR, 12), head, *parts], title)


def grid(x: Scale, y: Scale, xlabel: str, ylabel: str) -> list[str]:
    """Axes with round numbers."""
    parts = []
    for tick in x.ticks():
        parts.append(_rule(x(tick), y.start, x(tick), y.end, GRID))
        parts.append(text(x(tick), y.start + 16, tick_word(tick), 10.5, SOFT))
    for tick in y.ticks():
        parts.append(_rule(x.start, y(tick), x.end, y(tick), GRID))
        parts.append(text(x.start - 7, y(tick) + 3.5, tick_word(tick), 10.5, SOFT, anchor="end"))
    d = f"M{number(x.start)} {number(y.end)}V{number(y.start)}H{number(x.end)}"
    parts.append(f'<path d="{d}" fill="none" stroke="{EDGE}" stroke-width="1"/>')
    if xlabel:
        parts.append(text((x.start + x.end) / 2, y.start + 33, xlabel, 11, SOFT))
    parts.append(text(x.start - 44, y.end - 8, ylabel, 11, SOFT, weight=600, anchor="start"))
    return parts


def _rule(x0: float, y0: float, x1: float, y1: float, colour: str, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    d = f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}"
    return f'<path d="{d}" stroke="{colour}" stroke-width="1" fill="none"{dashes}/>'


# ---- roofline ----


def loglog_svg(title: str, lines: Sequence[Line], dots: Sequence[Dot], left_out: int) -> str:
    """Roofs and ops; ``left_out`` ops do no arithmetic and have no place in the picture."""
    xs = [d.x for d in dots] + [line.peak / line.bandwidth for line in lines]
    ys = [d.y for d in dots] + [line.peak for line in lines]
    x = Scale(_decade(min(xs), -1), _decade(max(xs), 1), LEFT, W - RIGHT, log=True)
    y = Scale(_decade(min(ys), -1), _decade(max(ys), 1), HEAD + TALL, HEAD + 14, log=True)
    parts = grid(x, y, "flops per byte", "flop/s")
    parts += [_roof(line, x, y) for line in lines]
    parts += _dots(dots, x, y)
    h = HEAD + TALL + FOOT + 36
    parts += _roof_names(lines, h - 28)
    words = "hollow: predicted, full: measured" if any(not d.hollow for d in dots) else "hollow: predicted"
    more = f"; {left_out} without arithmetic left out" if left_out else ""
    parts.append(text(LEFT - 40, h - 12, words + more, 10.5, SOFT, anchor="start"))
    return card(W, h, title, parts)


def _decade(value: float, side: int) -> float:
    power = math.log10(max(value, 1e-300))
    return float(10.0 ** (math.floor(power - 0.1) if side < 0 else math.ceil(power + 0.3)))


def _roof(line: Line, x: Scale, y: Scale) -> str:
    ridge = line.peak / line.bandwidth
    start = max(10**x.low, 10**y.low / line.bandwidth)
    points = [(start, start * line.bandwidth), (ridge, line.peak), (10**x.high, line.peak)]
    d = "L".join(f"{number(x(a))} {number(y(b))}" for a, b in points)
    return f'<path d="M{d}" fill="none" {_stroke(line)}/>'


def _stroke(line: Line) -> str:
    dash = ' stroke-dasharray="6 4"' if line.dashed else ""
    return f'stroke="{INK}" stroke-width="1.6"{dash}'


def _roof_names(lines: Sequence[Line], y: float) -> list[str]:
    parts, x = list[str](), LEFT - 40
    for line in lines:
        parts.append(f'<path d="M{number(x)} {number(y - 4)}h26" {_stroke(line)}/>')
        parts.append(text(x + 32, y, line.label, 10.5, SOFT, anchor="start"))
        x += 44 + 5.9 * len(line.label)
    return parts


def _dots(dots: Sequence[Dot], x: Scale, y: Scale) -> list[str]:
    """Dots; the name is written where there is room, and always in the tool tip."""
    parts, taken = [], list[tuple[float, float]]()
    for d in sorted(dots, key=lambda d: -d.y):
        cx, cy = x(d.x), y(d.y)
        fill = CARD if d.hollow else d.colour
        tip = f"{d.label}: {d.x:.3g} flops/byte, {d.y:.3g} flop/s"
        circle = (
            f'<circle cx="{number(cx)}" cy="{number(cy)}" r="5" fill="{fill}" stroke="{d.colour}" stroke-width="2"/>'
        )
        name = ""
        width = 6.0 * min(len(d.label), 22)
        free = all(abs(cy - b) > 13 or abs(cx - a) > width + 12 for a, b in taken)
        if free:
            near = cx + 9 + width < x.end
            name = text(cx + (9 if near else -9), cy + 14, shortened(d.label, 22), 10.5, INK,
                        anchor="start" if near else "end", halo=True)  # fmt: skip
            taken.append((cx, cy))
        parts.append(f"<g><title>{escaped(shortened(tip, 200))}</title>{circle}{name}</g>")
    return parts


# ---- curves ----


def curves_svg(title: str, panels: Sequence[Panel], xlabel: str, tall: float = 150.0) -> str:
    """Panels one below the other over one x axis.

    Args:
        title: above all.
        panels: what to draw; empty ones are left out.
        xlabel: what x counts.
        tall: pixels per panel.
    """
    shown = [p for p in panels if any(len(c.xs) for c in p.curves)]
    xs = [v for p in shown for c in p.curves for v in c.xs] or [0.0, 1.0]
    parts: list[str] = []
    top = HEAD + 8
    for i, panel in enumerate(shown):
        x = Scale(min(xs), max(xs), LEFT, W - 130)
        y = _y_scale(panel, top + tall, top + 12)
        parts += grid(x, y, xlabel if i == len(shown) - 1 else "", panel.title)
        parts += _panel(panel, x, y)
        top += tall + 44
    return card(W, top + (4 if shown else 20), title, parts)


def _y_scale(panel: Panel, start: float, end: float) -> Scale:
    values = [v for c in panel.curves for v in c.ys if math.isfinite(v) and (v > 0 or not panel.log)]
    values += [v for v, _ in panel.lines if values and (v > 0 or not panel.log)]
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    if panel.log:
        low, high = (low / 2, high * 2) if low == high else (low / 1.3, high * 1.3)
        return Scale(low, high, start, end, log=True)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 0.5
    return Scale(low - room, high + room, start, end)


def _panel(panel: Panel, x: Scale, y: Scale) -> list[str]:
    parts = [_rule(x(v), y.start, x(v), y.end, "#cfd6e0", "2 3") for v in panel.strong]
    for height, word in panel.lines:
        parts.append(_rule(x.start, y(height), x.end, y(height), ALARM, "4 3"))
        parts.append(text(x.start + 5, y(height) - 4, word, 10, ALARM, anchor="start", halo=True))
    ends: list[float] = []
    for i, curve in enumerate(panel.curves):
        parts += _curve(curve, x, y, HUES[i % len(HUES)], DASHES[i // len(HUES) % len(DASHES)], ends)
    return parts


def _curve(curve: Curve, x: Scale, y: Scale, colour: str, dash: str, ends: list[float]) -> list[str]:
    runs: list[list[tuple[float, float]]] = [[]]
    parts = []
    for a, b in zip(curve.xs, curve.ys):
        if math.isfinite(b) and (b > 0 or not y.log):
            runs[-1].append((x(a), y(b)))
        else:
            runs.append([])
            parts.append(text(x(a), y.end + 4, "x", 12, ALARM, weight=700))
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    for run in runs:
        if len(run) > 1:
            d = "L".join(f"{number(a)} {number(b)}" for a, b in run)
            style = f'stroke="{colour}" stroke-width="1.7" stroke-linejoin="round"{dashes}'
            parts.append(f'<path d="M{d}" fill="none" {style}/>')
        if curve.points or len(run) == 1:
            parts += [f'<circle cx="{number(a)}" cy="{number(b)}" r="2.8" fill="{colour}"/>' for a, b in run]
    last = next((run[-1] for run in reversed(runs) if run), None)
    if last is not None:
        height = _free(last[1], ends, y)
        ends.append(height)
        parts.append(
            text(x.end + 8, height + 3.5, shortened(curve.label, 19), 10.5, colour, weight=600, anchor="start")
        )
    return parts


def _free(wish: float, taken: Sequence[float], y: Scale) -> float:
    """The height nearest to the wish at which a name does not hit another."""
    for step in range(60):
        for candidate in (wish + 6.0 * step, wish - 6.0 * step):
            if y.end <= candidate <= y.start + 10 and all(abs(candidate - t) >= 12 for t in taken):
                return candidate
    return wish
