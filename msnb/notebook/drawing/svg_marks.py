"""The marks that pictures are made of, as SVG text. Every word is escaped here and nowhere else."""

from __future__ import annotations

from xml.sax.saxutils import escape

TEXT_FONT = "ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def number(value: float) -> str:
    """A short number: pictures are stored in notebooks and compared."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def text(
    x: float, y: float, words: str, size: float, fill: str,
    weight: int = 400, anchor: str = "middle", mono: bool = False, halo: bool = False,
) -> str:  # fmt: skip
    """Words at a place; ``halo`` paints a white rim below them, for words on lines."""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    family = f' font-family="{MONO}"' if mono else ""
    rim = ' stroke="#ffffff" stroke-width="4" paint-order="stroke" stroke-linejoin="round"' if halo else ""
    place = f'x="{number(x)}" y="{number(y)}" font-size="{size:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}"{bold}{family}{rim}>{escaped(words)}</text>'


def escaped(words: str) -> str:
    """Words as XML text; characters that XML forbids are left out."""
    clean = words if words.isprintable() else "".join(c for c in words if c.isprintable() or c == "\n")
    return escape(clean)


def quoted(words: str) -> str:
    """Words as the value of an XML attribute."""
    return escaped(words).replace('"', "&quot;")


def rect(
    x: float, y: float, w: float, h: float, fill: str, stroke: str = "", radius: float = 0, dash: str = "",
    width: float = 1.0,
) -> str:  # fmt: skip
    """A rectangle."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
    round_ = f' rx="{number(radius)}"' if radius else ""
    line = f' stroke="{stroke}" stroke-width="{width:g}"' if stroke else ""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<rect {place}{round_} fill="{fill}"{line}{dashes}/>'
