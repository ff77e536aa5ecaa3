"""Pieces of HTML that survive an untrusted notebook (images, tables, details, pre) and tables as text.

Every word is escaped here. Texts longer than LONG_TEXT are cut: an output is stored in the notebook.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence

LONG_TEXT = 100_000
LONG_CELL = 160

Row = Sequence[str]


def figure(svg: str, alt: str) -> str:
    """An SVG as an image."""
    data = base64.b64encode(svg.encode()).decode()
    words = html.escape(alt[:LONG_CELL], quote=True)
    image = f'<img alt="{words}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
    return f'<figure style="margin:0 0 8px 0">{image}</figure>'


def details(summary: str, body: str) -> str:
    """HTML behind a line that opens it."""
    return f"<details><summary>{html.escape(summary[:LONG_CELL])}</summary>{body}</details>"


def pre(text: str) -> str:
    """Text as it stands."""
    return f"<pre>{html.escape(cut_text(text))}</pre>"


def cut_text(text: str) -> str:
    """Whole lines up to LONG_TEXT characters, and how many are left out."""
    if len(text) <= LONG_TEXT:
        return text
    shown = text[:LONG_TEXT].rsplit("\n", 1)[0]
    left = text[len(shown) :].count("\n")
    return f"{shown}\n... {count(left, 'more line')}; .text and .save have all of it"


def table(head: Row, rows: Sequence[Row]) -> str:
    """A table; all cells are text."""
    first = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><tr>{first}</tr>{lines}</table>"


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{html.escape(_cut(text))}</td>'


def _cut(text: str) -> str:
    return text if len(text) <= LONG_CELL else f"{text[: LONG_CELL - 1]}…"


def columns(head: Row, rows: Sequence[Row]) -> str:
    """A table as text: columns two spaces apart, no trailing spaces."""
    lines = [[" ".join(_cut(cell).split()) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def count(number: int, word: str) -> str:
    """``1 node``, ``2 nodes``, ``3 passes``."""
    if number == 1:
        return f"1 {word}"
    return f"{number} {word}{'es' if word.endswith(('s', 'x', 'ch')) else 's'}"


def bytes_word(number: int) -> str:
    """``512 B``, ``1.5 KB``, ``2.0 MB``."""
    if number < 1024:
        return f"{number} B"
    for unit in ("KB", "MB", "GB"):
        number_ = number / 1024 ** (("KB", "MB", "GB").index(unit) + 1)
        if number_ < 1024 or unit == "GB":
            return f"{number_:.1f} {unit}"
    return ""


def number_word(value: float) -> str:
    """Four significant digits, ``0`` for zero."""
    return "0" if value == 0 else f"{value:.4g}"
