"""Each notebook and its script say the same, so a review of the script is a review of the notebook."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import notebooks as pairs  # noqa: E402

CELLS = [
    ("markdown", "# Title\n\nwords", ()),
    ("code", "%load_ext msnb\nx = 1  # a %note\n# % no magic", ()),
    (
        "code",
        "%%ms_graph f --args x\ndef f(x):\n    return x\n\n\n# a comment",
        ("nbval-ignore-output", "raises-exception"),
    ),
    ("markdown", "`%%ms_graph`", ()),
]


@pytest.mark.parametrize("name", pairs.names())
def test_notebook_and_script_agree(name: str) -> None:
    assert pairs.disagreement(name) == ""


def test_every_notebook_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in pairs.names() if f"`{name}`" not in readme] == []


def test_a_script_reads_back_as_it_was_written() -> None:
    assert pairs.cells_of_script(pairs.script_of_cells(CELLS, "# a head comment\n")) == CELLS


def test_magics_are_comments_in_a_script() -> None:
    text = pairs.script_of_cells(CELLS)
    assert "\n%" not in text
    compile(text, "script", "exec")


@pytest.mark.parametrize("at", range(len(CELLS)))
def test_a_difference_is_found(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "ROOT", tmp_path / "notebooks")
    monkeypatch.setattr(pairs, "SCRIPTS", tmp_path / "notebooks" / "src")
    (tmp_path / "notebooks" / "src").mkdir(parents=True)
    script = tmp_path / "notebooks" / "src" / "x.py"
    book = {"cells": [{"cell_type": k, "source": [t], "metadata": {"tags": list(tags)}} for k, t, tags in CELLS]}
    (tmp_path / "notebooks" / "x.ipynb").write_text(json.dumps(book))
    assert "is missing" in pairs.disagreement("x")
    script.write_text(pairs.script_of_cells(CELLS))
    assert pairs.disagreement("x") == ""
    changed = list(CELLS)
    changed[at] = (changed[at][0], changed[at][1] + "!", changed[at][2])
    script.write_text(pairs.script_of_cells(changed))
    assert f"cell {at + 1} differs" in pairs.disagreement("x")
    script.write_text(pairs.script_of_cells(CELLS[:-1]))
    assert "4 cells in the notebook, 3 in the script" in pairs.disagreement("x")
