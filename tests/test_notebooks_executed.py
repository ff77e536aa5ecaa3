"""The courseware is saved with its outputs: who opens a notebook on the web, without a kernel, sees what it shows.

Every code cell ran, once, in order, in a fresh kernel (execution counts 1, 2, 3, ...), and its outputs are stored. That
the stored outputs are also the right ones is nbval's part of `make test`, which runs the notebooks again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = [p for p in sorted(ROOT.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]


def faults(notebook: dict[str, Any]) -> list[str]:
    """One sentence per code cell that is not saved as it ran."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [] if code else ["no code cell at all"]
    for number, cell in enumerate(code, 1):
        found += [f"code cell {number}: {fault}" for fault in cell_faults(cell, number)]
    if code and not any(cell.get("outputs") for cell in code):
        found.append("no cell has any output: run it and save it")
    return found


def cell_faults(cell: dict[str, Any], number: int) -> list[str]:
    found = []
    if not "".join(cell["source"]).strip():
        found.append("empty")
    if cell.get("execution_count") != number:
        found.append(f"execution_count is {cell.get('execution_count')}, a fresh run from top to bottom gives {number}")
    if not isinstance(cell.get("outputs"), list):
        return [*found, "outputs are not stored"]
    raises = "raises-exception" in cell.get("metadata", {}).get("tags", [])
    failed = any(output["output_type"] == "error" for output in cell["outputs"])
    if failed != raises:
        found.append("an error is stored" if failed else "tagged raises-exception, but no error is stored")
    return found


def test_there_are_notebooks() -> None:
    names = {p.name for p in NOTEBOOKS}
    assert {
        "01_quickstart.ipynb", "02_tensors.ipynb", "03_autograd.ipynb", "04_two_modes.ipynb",
        "05_inside_the_compiler.ipynb", "06_gradients_seen.ipynb", "07_debugging.ipynb", "08_build_it_yourself.ipynb",
        "10_parallel_plans.ipynb", "11_real_ranks.ipynb",
    } <= names  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_code_cell_is_saved_as_it_ran(path: Path) -> None:
    assert faults(json.loads(path.read_text(encoding="utf-8"))) == []


def cell(count: int | None, outputs: Any, source: str = "1", **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "execution_count": count, "outputs": outputs, "metadata": metadata}


STREAM = [{"output_type": "stream", "name": "stdout", "text": "1"}]
ERROR = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([], "no code cell"),
        ([cell(None, STREAM)], "execution_count is None"),
        ([cell(1, STREAM), cell(3, STREAM)], "cell 2: execution_count is 3"),
        ([cell(1, STREAM), cell(2, None)], "cell 2: outputs are not stored"),
        ([cell(1, []), cell(2, [])], "no cell has any output"),
        ([cell(1, ERROR)], "an error is stored"),
        ([cell(1, STREAM, tags=["raises-exception"])], "no error is stored"),
        ([cell(1, STREAM, source=" ")], "empty"),
    ],
)
def test_the_check_names_each_fault(cells: list[dict[str, Any]], words: str) -> None:
    assert words in " ".join(faults({"cells": cells}))


def test_a_saved_run_has_no_fault() -> None:
    cells = [cell(1, []), {"cell_type": "markdown", "source": "x"}, cell(2, ERROR, tags=["raises-exception"])]
    assert faults({"cells": cells}) == []
