"""Every link of the built site: the file must be there, and the anchor in it; nothing may be loaded from elsewhere."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TAG = re.compile(r"<(a|img|script|link|iframe|source)\b([^>]*)>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\b(?:href|src)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_ANCHOR = re.compile(r"""\b(?:id|name)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")


def dead_links(site: Path) -> list[str]:
    """``page: address`` of every link that leads nowhere, and of every part that another server would have to give."""
    texts = {p.relative_to(site).as_posix(): p.read_text(encoding="utf-8") for p in site.rglob("*.html")}
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    anchors: dict[str, set[str]] = {}
    found = []
    for page, text in sorted(texts.items()):
        for address, loaded in sorted(_addresses(text)):
            if _is_dead(address, loaded, page, texts, files, anchors):
                found.append(f"{page}: {address}")
    return found


def _addresses(text: str) -> set[tuple[str, bool]]:
    """(address, whether the page loads it)"""
    found = set()
    for tag, rest in _TAG.findall(text):
        loaded = tag.lower() in ("img", "script", "iframe", "source") or "stylesheet" in rest
        found |= {("".join(parts), loaded) for parts in _ADDRESS.findall(rest)}
    return found


def _is_dead(
    address: str, loaded: bool, page: str, texts: dict[str, str], files: set[str], anchors: dict[str, set[str]]
) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return loaded and parts.scheme != "data"
    target = (
        page if not parts.path else posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    )
    if target not in files and f"{target}/index.html" not in files and target != ".":
        return page != "404.html"  # its links begin at the top of the server
    if not parts.fragment or target not in texts or parts.fragment.startswith("__"):
        return False
    if target not in anchors:
        anchors[target] = {"".join(found) for found in _ANCHOR.findall(texts[target])}
    return unquote(parts.fragment) not in anchors[target]
