"""A newcomer's test: questions of docs/architecture.md are answered from the glossary and the tree alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Where is it?") : PAGE.index("## Autodiff")]
ROWS = re.findall(r"^\| ([^|]+\?) \| ([^|]+) \| ([^|]+) \|$", SECTION, re.MULTILINE)


def terms() -> set[str]:
    """The terms of the glossary, as they stand in its left column."""
    head = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Words that need no line")[0]
    columns = [line.split("|")[1] for line in head.splitlines() if line.startswith("| ")]
    return {term.strip() for column in columns for term in re.split(r"[,:]", column)}


def test_there_are_ten_questions() -> None:
    assert len(ROWS) >= 10 and len({question for question, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("question, term, files", ROWS, ids=[term for _, term, _ in ROWS])
def test_the_term_leads_to_the_file(question: str, term: str, files: str) -> None:
    """The term stands in the glossary, and a search for its words among paths comes to the file first named."""
    assert term in terms(), f"{question} the glossary has no line for {term!r}"
    first, *others = re.findall(r"`([^`]+)`", files)
    path = ROOT / "msnb" / first
    assert path.exists() and all((path.parent / other).exists() for other in others)
    paths = {p: str(p.relative_to(ROOT / "msnb")) for p in (ROOT / "msnb").rglob("*.py")}
    found = [p for p, name in paths.items() if all(word in name for word in term.split())]
    assert path in found, f"{question} a search for {term!r} comes to {[p.name for p in found]}"
    assert len(found) <= 12, f"{question} a search for {term!r} finds {len(found)} files"
