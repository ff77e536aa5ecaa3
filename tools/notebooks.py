"""Notebooks and their scripts: each ``notebooks/NAME.ipynb`` has a pair ``notebooks/src/NAME.py`` for review.

    python tools/notebooks.py run 06_gradients_seen     script -> notebook, executed in a fresh kernel and saved
    python tools/notebooks.py extract 01_quickstart     notebook -> script
    python tools/notebooks.py check                     says which pairs disagree, and fails if one does

The script is in the percent format (Jupytext's and others' convention): ``# %%`` starts a code cell, ``# %%
[markdown]`` a text cell whose lines are comments, ``tags=[...]`` behind either its tags; lines with magics are
comments. A pair agrees when kinds, texts and tags of all cells are the same.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent / "notebooks"
SCRIPTS = ROOT / "src"
MARK = re.compile(r"^# %%(?: (\[markdown\]))?(?: tags=(\[.*\]))?$")
MAGIC = re.compile(r"^# (%%?|!)[A-Za-z]")
TIMEOUT = 300

Cell = tuple[str, str, tuple[str, ...]]


def cells_of_script(text: str) -> list[Cell]:
    """Kind, text and tags of every cell of a percent script; what stands before the first mark is a head comment."""
    cells: list[tuple[str, list[str], tuple[str, ...]]] = []
    for line in text.split("\n"):
        found = MARK.match(line)
        if found:
            tags = tuple(json.loads(found[2] or "[]"))
            cells.append(("markdown" if found[1] else "code", [], tags))
        elif cells:
            cells[-1][1].append(line)
    return [(kind, _read(kind, lines), tags) for kind, lines, tags in cells]


def _read(kind: str, lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    if kind == "markdown":
        return "\n".join(line[2:] if line.startswith("# ") else line.removeprefix("#") for line in text.split("\n"))
    return "\n".join(line[2:] if MAGIC.match(line) else line for line in text.split("\n"))


def script_of_cells(cells: list[Cell], head: str = "") -> str:
    """The percent script of cells."""
    parts = [head.rstrip("\n")] if head else []
    for kind, text, tags in cells:
        mark = "# %%" + (" [markdown]" if kind == "markdown" else "")
        mark += f" tags={json.dumps(list(tags))}" if tags else ""
        parts.append(f"{mark}\n{_written(kind, text)}")
    return "\n\n".join(parts) + "\n"


def _written(kind: str, text: str) -> str:
    if kind == "markdown":
        return "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
    return "\n".join(f"# {line}" if MAGIC.match(f"# {line}") else line for line in text.split("\n"))


def cells_of_notebook(notebook: dict[str, Any]) -> list[Cell]:
    """Kind, text and tags of every cell of a notebook."""
    return [
        (c["cell_type"], "".join(c["source"]), tuple(c.get("metadata", {}).get("tags", ()))) for c in notebook["cells"]
    ]


def disagreement(name: str) -> str:
    """Why a pair does not agree, or nothing."""
    book, script = ROOT / f"{name}.ipynb", SCRIPTS / f"{name}.py"
    for path in (book, script):
        if not path.is_file():
            return f"{name}: {path.relative_to(ROOT.parent)} is missing"
    ours = cells_of_notebook(json.loads(book.read_text(encoding="utf-8")))
    theirs = cells_of_script(script.read_text(encoding="utf-8"))
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b:
            return f"{name}: cell {number} differs: run tools/notebooks.py"
    return "" if len(ours) == len(theirs) else f"{name}: {len(ours)} cells in the notebook, {len(theirs)} in the script"


def names() -> list[str]:
    """Every notebook and every script."""
    return sorted({p.stem for p in [*ROOT.glob("*.ipynb"), *SCRIPTS.glob("*.py")]})


def run(name: str) -> None:
    """Make the notebook of a script, execute it and save it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    os.environ |= {"MSNB_NBVAL": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    cells = cells_of_script((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"))
    book = nbformat.v4.new_notebook(cells=[_new_cell(i, cell) for i, cell in enumerate(cells, 1)])
    book.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    place = {"metadata": {"path": str(ROOT)}}
    whole = {"coalesce_streams": True}  # on a busy machine what one cell prints comes in pieces
    NotebookClient(book, timeout=TIMEOUT, startup_timeout=TIMEOUT, resources=place, **whole).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)
    book.metadata["language_info"] = {"name": "python"}
    nbformat.write(book, str(ROOT / f"{name}.ipynb"))


def _new_cell(number: int, cell: Cell) -> Any:
    import nbformat

    kind, text, tags = cell
    make = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
    metadata = {"tags": list(tags)} if tags else {}
    return make(text, id=f"cell-{number:02d}", metadata=metadata)


def extract(name: str) -> None:
    """Write the script of a notebook."""
    book = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = script_of_cells(cells_of_notebook(book))
    (SCRIPTS / f"{name}.py").write_text(text, encoding="utf-8")


def main(argv: list[str]) -> int:
    if argv and argv[0] in ("run", "extract"):
        for name in argv[1:]:
            (run if argv[0] == "run" else extract)(name)
        return 0
    if argv == ["check"]:
        wrong = [text for text in map(disagreement, names()) if text]
        print("\n".join(wrong))
        return bool(wrong)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
