"""The Chinese README follows the English one: the same programs letter by letter, notebooks, pictures and links."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "docs" / "zh" / "README.md"


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```.*?^```", text(page), re.MULTILINE | re.DOTALL)


def links(page: Path) -> set[str]:
    """Files that a page leads to, from the top of the repository; not the other README."""
    folder = page.parent.relative_to(ROOT).as_posix()
    found = re.findall(r"\]\((?!https?:|#)([^)#]+)", text(page))
    return {posixpath.normpath(posixpath.join(folder, target)) for target in found} - {"README.md", "docs/zh/README.md"}


def test_programs_are_equal() -> None:
    assert len(blocks(ENGLISH)) >= 5
    assert blocks(CHINESE) == blocks(ENGLISH)


def test_links_are_equal_and_lead_somewhere() -> None:
    assert links(CHINESE) == links(ENGLISH)
    assert [target for target in links(CHINESE) if not (ROOT / target).exists()] == []


def test_the_same_notebooks_and_headings() -> None:
    notebook, heading = r"^\| `(\d\d_\w+)` \|", r"^#+ "
    assert re.findall(notebook, text(CHINESE), re.MULTILINE) == re.findall(notebook, text(ENGLISH), re.MULTILINE)
    assert re.findall(heading, text(CHINESE), re.MULTILINE) == re.findall(heading, text(ENGLISH), re.MULTILINE)


def test_the_readmes_lead_to_each_other() -> None:
    assert "(docs/zh/README.md)" in text(ENGLISH)
    assert "(../../README.md)" in text(CHINESE)
