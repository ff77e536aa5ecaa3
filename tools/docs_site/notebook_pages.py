"""Notebooks as pages, with the outputs that are saved in them: text, pictures (SVG, PNG) and errors.

An output has several forms; a page takes a picture where there is one, else the text (the HTML of an output repeats the
two, and is made for cells)."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.docs_site.catalogue import Entry
from tools.docs_site.docstrings import fenced
from tools.docs_site.entry_page import Page
from tools.docs_site.guides import ROOT, with_site_links
from tools.docs_site.page_links import linked_names, relative

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
MOST_LINES = 60
_ALT = re.compile(r'aria-label="([^"]*)"')


def notebook_page(source: str, pages: Mapping[str, str], names: Mapping[str, Entry]) -> Page:
    """The whole page; its pictures lie beside it."""
    page = Page(pages[source], "")
    notebook = json.loads((ROOT / source).read_text(encoding="utf-8"))
    parts = [f"The notebook `{source}`, with the outputs that are saved in it; `make lab` opens a copy that is yours.\n"
             "{ .also-line }"]  # fmt: skip
    for cell in notebook["cells"]:
        parts += _markdown_cell(cell, source, pages) if cell["cell_type"] == "markdown" else _code_cell(cell, page)
    if parts[1:] and parts[1].startswith("# "):
        heading, _, rest = parts[1].partition("\n")
        parts[0:2] = [heading, parts[0], rest.strip()]
    page.text = linked_names("\n\n".join(part for part in parts if part) + "\n", page.path, names)
    return page


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)


def _markdown_cell(cell: Mapping[str, Any], source: str, pages: Mapping[str, str]) -> list[str]:
    text = _text(cell["source"])
    return [with_site_links(text.replace("<details>", '<details markdown="1">'), source, pages)]


def _code_cell(cell: Mapping[str, Any], page: Page) -> list[str]:
    code = _text(cell["source"])
    out = [fenced(code, "python")] if code.strip() else []
    for output in cell.get("outputs", []):
        out += _output(output, page)
    return out


def _output(output: Mapping[str, Any], page: Page) -> list[str]:
    if output["output_type"] == "stream":
        return [_shown(_text(output["text"]))]
    if output["output_type"] == "error":
        return [_shown("\n".join(output["traceback"]))]
    data = output.get("data", {})
    text = _text(data.get("text/plain", ""))
    for kind, ending in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            return [_picture(_text(data[kind]), ending, text, page)]
    return [_shown(text)] if text else []


def _shown(text: str) -> str:
    lines = _COLOUR.sub("", text).rstrip().splitlines()
    body = fenced("\n".join(lines))
    if len(lines) > MOST_LINES:
        return (f'<details markdown="1" data-search-exclude><summary>{len(lines)} lines of output</summary>\n\n{body}'
                "\n\n</details>")  # fmt: skip
    return f'<div class="output" markdown="1">\n\n{body}\n\n</div>'


def _picture(data: str, ending: str, text: str, page: Page) -> str:
    """The picture beside the page, described by its own label; the text of the output behind a fold."""
    kept: str | bytes = data if ending == "svg" else base64.b64decode(data)
    name = hashlib.sha256(data.encode()).hexdigest()[:12]
    path = f"pictures/notebooks/{Path(page.path).stem}.{name}.{ending}"
    page.pictures[path] = kept
    label = _ALT.search(data[:2000])
    alt = html.escape(html.unescape(label[1])) if label else f"Output of the cell above: {html.escape(text[:80])}"
    shown = (
        f"![{alt.replace(chr(10), ' ').replace(']', ')').replace('[', '(')}]({relative(page.path, path)}){{ .picture }}"
    )
    if not text.strip() or text.startswith("<"):
        return shown
    return (f'{shown}\n\n<details markdown="1" data-search-exclude><summary>The same as text</summary>\n\n'
            f"{fenced(_COLOUR.sub('', text))}\n\n</details>")  # fmt: skip
