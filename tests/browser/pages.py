"""A notebook in the browser, as a person handles it: open it, run it, find its outputs, save it, look at it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from browser_harness import WAIT

VIEW = ".msnb-view"
NODE = ".msnb-node"
CONNECTED = """() => {
    const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""


def write(path: Path, cells: Sequence[str], kernel: bool = True) -> Path:
    """A notebook of code cells without outputs."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    for i, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{i}"
    if kernel:
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    return path


def put_outputs(path: Path, bundles: dict[int, dict[str, Any]]) -> None:
    """Store a display bundle as the output of some cells, as if they had run: cell i gets number i + 1."""
    notebook = nbformat.read(path, as_version=4)
    for i, cell in enumerate(notebook.cells):
        cell["execution_count"] = i + 1
        if i in bundles:
            data = json.loads(json.dumps(bundles[i]))
            cell["outputs"] = [nbformat.v4.new_output("execute_result", data=data, execution_count=i + 1)]
    nbformat.write(notebook, path)


def open_notebook(page: Any, lab: Any, name: str, kernel: bool = True) -> None:
    page.goto(lab.path(name))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    if kernel:
        page.wait_for_function(CONNECTED)


def run_all(page: Any, count: int) -> None:
    """Run every cell; all must have a number in the end."""
    command(page, "notebook:run-all-cells")
    page.wait_for_function(
        "n => [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]"
        ".filter(p => /\\[\\d+\\]/.test(p.textContent)).length >= n",
        arg=count,
    )


def command(page: Any, name: str) -> None:
    """Run a command of the application, as the palette would."""
    page.wait_for_function("window.jupyterapp !== undefined")
    page.evaluate("name => { void window.jupyterapp.commands.execute(name); }", name)


def views(page: Any) -> Any:
    return page.locator(f".jp-Notebook {VIEW}")


def expect_count(found: Any, count: int) -> None:
    """Wait until there are so many: JupyterLab attaches cells and draws outputs when the browser has time."""
    from playwright.sync_api import expect

    expect(found).to_have_count(count, timeout=WAIT)


def expect_at_least(found: Any, count: int) -> None:
    """Wait until there are so many or more."""
    found.nth(count - 1).wait_for(state="attached")


def node(view: Any, title: str) -> Any:
    """The box with this title (or the first of several)."""
    return view.locator(f'{NODE}:has(> .msnb-title:text-is("{title}"))').first


def marked_lines(page: Any) -> list[str]:
    return list(page.locator(".cm-line.msnb-marked-line").all_inner_texts())
