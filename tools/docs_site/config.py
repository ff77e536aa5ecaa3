"""What MkDocs is told: theme, search, Markdown, navigation. No font, script or picture comes from another place.

The lists of the API are in the navigation, its pages are not: a menu of two thousand names on every page would be ten
times the size of the page. They are found by the lists, by links and by the search box.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.docs_site.catalogue import SECTIONS
from tools.docs_site.guides import chapters, title

ASSETS = Path(__file__).resolve().parent / "assets"
_FEATURES = ["navigation.tabs", "navigation.top", "navigation.prune", "content.code.copy",
             "search.highlight", "search.suggest", "toc.follow"]  # fmt: skip
# words end at dots too, so that "Conv2d" is a word of "nn.Conv2d"; numbers such as 0.5 stay whole
_SEPARATOR = r"""[\s\-,:!=\[\]()"'`/]+|\.(?!\d)|&[lg]t;"""
_DARK = {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo", "accent": "indigo",
         "toggle": {"icon": "material/weather-night", "name": "Switch to light mode"}}  # fmt: skip
_LIGHT = {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo", "accent": "indigo",
          "toggle": {"icon": "material/weather-sunny", "name": "Switch to dark mode"}}  # fmt: skip


def mkdocs_config(sources: Path, site: Path, pages: Mapping[str, str]) -> dict[str, Any]:
    """The configuration as a dictionary; JSON is YAML."""
    return {
        "site_name": "msnb",
        "site_description": "A deep-learning framework that lives in a notebook",
        "docs_dir": str(sources),
        "site_dir": str(site),
        "use_directory_urls": False,
        "theme": {"name": "material", "language": "en", "font": False, "features": _FEATURES,
                  "palette": [_LIGHT, _DARK], "icon": {"logo": "material/notebook-outline"}},
        "plugins": [{"search": {"lang": "en", "separator": _SEPARATOR}}, "offline"],
        # the offline plugin asks for a script of another server unless one of this name is there
        "extra": {"generator": False, "polyfills": ["assets/iframe-worker.js"]},
        "extra_css": ["assets/extra.css"],
        "markdown_extensions": [
            "admonition", "attr_list", "md_in_html", "tables", "footnotes",
            {"toc": {"permalink": True, "toc_depth": 3}},
            {"pymdownx.highlight": {"anchor_linenums": False, "guess_lang": False}},
            "pymdownx.superfences",
        ],
        "validation": {"nav": {"omitted_files": "ignore"}, "links": {"not_found": "warn", "anchors": "ignore"}},
        "nav": navigation(pages),
    }  # fmt: skip


def navigation(pages: Mapping[str, str]) -> list[Any]:
    """Home, guides, API, notebooks, errors, names, project."""
    groups: dict[str, list[dict[str, str]]] = {}
    for section in SECTIONS:
        groups.setdefault(section.group, []).append({section.name: f"{section.folder}/index.md"})
    errors = [p for p in pages.values() if p.startswith("errors/") and p != "errors/index.md"]
    notebooks = {s: p for s, p in pages.items() if p.startswith("notebooks/")}
    return [
        {"Home": ["index.md", *({"中文": p} for p in pages.values() if p == "zh/index.md")]},
        {"Guides": chapters(pages)},
        {"API": ["api/index.md", *({group: rows} for group, rows in groups.items())]},
        {"Notebooks": [{Path(s).stem.replace("_", " "): p} for s, p in notebooks.items()]},
        {"Names": [{"MindSpore's": "names/mindspore.md"}, {"PyTorch's": "names/pytorch.md"}]},
        {"Errors": ["errors/index.md", *({Path(p).stem: p} for p in errors)]},
        {"Project": [{title(s): p} for s, p in pages.items() if p.startswith("project/")]},
    ]
