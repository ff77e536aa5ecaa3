"""``make lab`` works on a copy: what a reader changed stays, everything else is brought up to date."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

from tools import lab


def page(text: str, svg: str = "") -> str:
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell("1 + 1")]
    if svg:
        cells[1]["outputs"] = [nbformat.v4.new_output("display_data", data={lab.SVG: svg})]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    source = tmp_path / "notebooks"
    source.mkdir()
    (source / "01_a.ipynb").write_text(page("# First\n\nAbout this. And more.", "<svg/>"))
    (source / "02_b.ipynb").write_text(page("# Second\n\nAbout that."))
    return source, tmp_path / "lab"


def test_what_nobody_changed_is_brought_up_to_date(folders: tuple[Path, Path]) -> None:
    source, target = folders
    assert lab.copy(source, target) == []
    (source / "01_a.ipynb").write_text(page("# First, again"))
    assert lab.copy(source, target) == []
    assert "First, again" in (target / "01_a.ipynb").read_text()
    assert not list(target.glob("*.new.ipynb"))


def test_what_a_reader_changed_stays(folders: tuple[Path, Path]) -> None:
    source, target = folders
    lab.copy(source, target)
    (target / "01_a.ipynb").write_text("mine")
    assert lab.copy(source, target) == ["01_a.ipynb"]
    assert not list(target.glob("*.new.ipynb")), "there is nothing new"
    (source / "01_a.ipynb").write_text(page("# First, again"))
    assert lab.copy(source, target) == ["01_a.ipynb"]
    assert (target / "01_a.ipynb").read_text() == "mine"
    assert "First, again" in (target / "01_a.new.ipynb").read_text()


def test_the_first_page_leads_to_all_others(folders: tuple[Path, Path]) -> None:
    source, target = folders
    lab.copy(source, target)
    start = json.loads((target / lab.START).read_text())
    nbformat.validate(nbformat.from_dict(start))
    text = "".join(start["cells"][0]["source"])
    assert "[First](01_a.ipynb): About this. |" in text
    linked = re.findall(r"\]\((\S+)\)|src=\"(\S+)\"", text)
    assert {a or b for a, b in linked} == {"01_a.ipynb", "02_b.ipynb", "pictures/01_a.svg"}
    assert all((target / (a or b)).is_file() for a, b in linked)


def test_the_copies_are_nobodys_commit() -> None:
    asked = ["git", "check-ignore", "lab/01_quickstart.ipynb"]
    run = subprocess.run(asked, cwd=lab.ROOT, capture_output=True, check=False)
    assert run.returncode == 0 or not (lab.ROOT / ".git").exists()


def test_lab_opens_at_the_first_page() -> None:
    assert lab.command(False, ["--no-browser"])[-2:] == ["--no-browser", "lab/00_start.ipynb"]
    assert "notebook" in lab.command(True, [])
