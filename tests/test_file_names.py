"""Test files are imported by their own name (their folders are no packages), so no two may share one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def test_every_test_file_has_a_name_of_its_own() -> None:
    count = Counter(p.name for p in TESTS.rglob("*.py") if p.name not in ("__init__.py", "__main__.py", "conftest.py"))
    assert [name for name, times in count.items() if times > 1] == []
