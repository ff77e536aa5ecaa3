"""The Markdown of the repository as pages: README, guides, error pages. Links are those of the repository; here they
lead to pages where there is one, and become plain text where they lead to source files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from tools.docs_site.catalogue import Entry
from tools.docs_site.entry_page import Page
from tools.docs_site.page_links import linked_names, relative

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
_CHAPTERS = {  # order in the navigation; a guide that is not named here comes last
    "Begin": ("from_pytorch", "training", "pictures"),
    "What holds": ("semantics", "numerics", "validation"),
    "Models in and out": ("pytorch", "onnx"),
    "Inside": ("architecture", "gpu", "glossary", "dependencies", "long_runs"),
}


def guide_pages() -> dict[str, str]:
    """File of the repository -> page of the site."""
    found = {"README.md": "index.md", "CONTRIBUTING.md": "project/contributing.md",
             "CHANGELOG.md": "project/changelog.md", "bench/README.md": "project/benchmarks.md"}  # fmt: skip
    found |= {f"docs/{p.name}": f"guides/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))}
    found |= {f"docs/zh/{p.name}": f"zh/{'index.md' if p.name == 'README.md' else p.name}"
              for p in sorted((ROOT / "docs" / "zh").glob("*.md"))}  # fmt: skip
    found |= {f"docs/errors/{p.name}": f"errors/{'index.md' if p.name == 'README.md' else p.name}"
              for p in sorted((ROOT / "docs" / "errors").glob("*.md"))}  # fmt: skip
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    return found | {f"notebooks/{p.name}": f"notebooks/{p.stem}.md" for p in notebooks}


def with_site_links(text: str, source: str, pages: Mapping[str, str]) -> str:
    """A file's links, as they must be on its page."""

    def link(found: re.Match[str]) -> str:
        image, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        for wanted in (path, f"{path}/README.md"):
            if wanted in pages:
                return f"{image}[{words}]({relative(pages[source], pages[wanted])}{anchor})"
        if image:
            return f"![{words}]({relative(pages[source], f'images/{posixpath.basename(path)}')})"
        return words

    return _LINK.sub(link, text)


def guide(source: str, pages: Mapping[str, str], names: Mapping[str, Entry]) -> Page:
    text = (ROOT / source).read_text(encoding="utf-8")
    page = Page(pages[source], linked_names(with_site_links(text, source, pages), pages[source], names))
    if source.startswith("docs/zh/"):
        page.text = f'<div lang="zh" markdown="1">\n\n{page.text}\n\n</div>\n'
    if source == "README.md":
        page.text = linked_notebooks(page.text, pages)
    for picture in (ROOT / "docs" / "images").glob("*.svg"):
        page.pictures[f"images/{picture.name}"] = picture.read_text(encoding="utf-8")
    return page


def linked_notebooks(text: str, pages: Mapping[str, str]) -> str:
    """The README's table of notebooks, its names as links."""
    for source, page in pages.items():
        name = Path(source).stem
        if source.endswith(".ipynb"):
            text = text.replace(f"| `{name}` |", f"| [`{name}`]({page}) |")
    return text


def title(source: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", (ROOT / source).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].replace("`", "") if found else Path(source).stem


def chapters(pages: Mapping[str, str]) -> list[dict[str, list[dict[str, str]]]]:
    """The guides for the navigation."""
    rest = [Path(s).stem for s in pages if s.startswith("docs/") and s.count("/") == 1]
    out = []
    for head, names in _CHAPTERS.items():
        here = [n for n in names if n in rest]
        rest = [n for n in rest if n not in here]
        out.append({head: [{title(f"docs/{n}.md"): f"guides/{n}.md"} for n in here]})
    if rest:
        out.append({"More": [{title(f"docs/{n}.md"): f"guides/{n}.md"} for n in rest]})
    return out
