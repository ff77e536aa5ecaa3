"""The lists: one page per section with all its names, and the front page of the API."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Mapping

from tools.docs_site.catalogue import SECTIONS, Entry, Section, constants, family_title
from tools.docs_site.docstrings import escaped, summary
from tools.docs_site.entry_page import Page
from tools.docs_site.page_links import relative

FEW = 25  # a section with fewer names is one table


def section_page(section: Section, names: Mapping[str, Entry]) -> Page:
    """All names of a section, by family; those with their page in another section lead there."""
    page = Page(f"{section.folder}/index.md", "")
    groups: dict[str, list[str]] = defaultdict(list)
    own = [(name, entry) for name, entry in names.items() if name.rpartition(".")[0] == section.name]
    for name, entry in sorted(own, key=lambda pair: (pair[0].lower(), pair[0])):
        groups[entry.family if len(own) > FEW else ""].append(_row(name, entry, page.path))
    parts = [f"# {section.name}\n\n{section.about} {_imported(section)}"]
    for family in sorted(groups, key=family_title):
        head = f"## {escaped(family_title(family))}\n\n" if family else ""
        parts.append(head + "\n".join(["| name | what it does |", "|---|---|", *groups[family]]))
    values = [f"| `{name}` | `{value}` |" for name, value in constants(section)]
    if values:
        parts.append("\n".join(["## Values\n", "| name | value |", "|---|---|", *values]))
    page.text = "\n\n".join(parts) + "\n"
    return page


def _imported(section: Section) -> str:
    if section.name in ("ms", "Tensor"):
        return "`import msnb as ms`."
    return f"`import msnb as ms`; then `ms.{section.name}`."


def _row(name: str, entry: Entry, page: str) -> str:
    about = escaped(summary(inspect.getdoc(entry.value)))
    return f"| [`{name}`]({relative(page, f'{entry.path}.md')}) | {about} |"


def api_page(names: Mapping[str, Entry]) -> Page:
    """The sections, by chapter."""
    parts = ["# API\n\nEverything that a program may call; the search box finds names and arguments."]
    for group in dict.fromkeys(s.group for s in SECTIONS):
        rows = [
            f"| [`{s.name}`]({s.name}/index.md) | {s.about} | {sum(n.rpartition('.')[0] == s.name for n in names)} |"
            for s in SECTIONS
            if s.group == group
        ]
        parts.append("\n".join([f"## {group}\n", "| section | | names |", "|---|---|---|", *rows]))
    return Page("api/index.md", "\n\n".join(parts) + "\n")
