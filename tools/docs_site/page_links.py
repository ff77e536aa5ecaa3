"""Links between pages: relative paths, and names of the API in code spans that lead to their pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from tools.docs_site.catalogue import Entry

_FENCE = re.compile(r"(^(?P<ticks> *`{3,})[^\n]*\n.*?^(?P=ticks)[ ]*$)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<![\[`\w])`(?:msnb\.|ms\.)?([A-Za-z_][\w.]*)(\([^`]*\))?`(?![\]`])")
_HEADING = re.compile(r"^#", re.MULTILINE)


def relative(page: str, target: str) -> str:
    """The link from one page to another file; both from the top of the site."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def linked_names(text: str, page: str, names: Mapping[str, Entry]) -> str:
    """The text with links on the code spans that name something with a page of its own (headings and programs as
    they are)."""
    parts = _FENCE.split(text)
    out = []
    place = 0
    while place < len(parts):
        out.append(_linked(parts[place], page, names))
        if place + 1 < len(parts):
            out.append(parts[place + 1])
        place += 3  # text, the fenced block, its backquotes
    return "".join(out)


def _linked(text: str, page: str, names: Mapping[str, Entry]) -> str:
    def link(found: re.Match[str]) -> str:
        entry = names.get(found[1]) or names.get(f"ms.{found[1]}" if found[0][1:4] == "ms." else "")
        if entry is None or f"{entry.path}.md" == page:
            return found[0]
        return f"[{found[0]}]({relative(page, f'{entry.path}.md')})"

    lines = text.split("\n")
    return "\n".join(line if line.startswith("#") or "](" in line else _SPAN.sub(link, line) for line in lines)
