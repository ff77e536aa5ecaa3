"""Names for cells, so that a caret says ``cell [3] line 4`` and not a temporary file's name.

IPython gives every cell's code a file name of its own when it compiles it. The compiler's naming method is wrapped, so
each name is registered with ``base.source_location.name_file`` at the moment it is made, before the cell runs.

The number is the one in the cell's margin. A front end that keeps no history (a test of notebooks) leaves IPython's own
count where it is; then cells are counted here as they run, so that saved outputs and tested ones say the same.
"""

from __future__ import annotations

import ast
from typing import Any

from msnb.base.source_location import name_file

_ATTRIBUTE = "_msnb_cell_count"


class CellCount:
    """The number of the cell that runs, and the compiler's own naming method."""

    def __init__(self, shell: Any) -> None:
        self.number: int = max(len(shell.user_ns.get("In", [])) - 1, 1)
        self.plain: Any = shell.compile.get_code_name
        self._takes_next = False

    def begin(self, info: Any) -> None:
        """A cell is about to run. With history, the first code compiled for it brings IPython's number."""
        self._takes_next = bool(info.store_history)
        if not info.store_history:
            self.number += 1

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> Any:
        """The file name of a piece of code, shown to people as the cell it belongs to."""
        if self._takes_next:
            self.number = number
            self._takes_next = False
        name = self.plain(raw_code, transformed_code, number)
        name_file(str(name), f"cell [{self.number}]", raw_code)
        return name


def name_cells(shell: Any) -> None:
    """Register every cell from now on."""
    if hasattr(shell.compile, _ATTRIBUTE):
        return
    count = CellCount(shell)
    _name_running_cell(shell, count)
    setattr(shell.compile, _ATTRIBUTE, count)
    shell.compile.get_code_name = count.get_code_name
    shell.events.register("pre_run_cell", count.begin)


def _name_running_cell(shell: Any, count: CellCount) -> None:
    """The cell that loads the extension was compiled before: what it defines has lines too."""
    history = getattr(shell, "history_manager", None)
    raw, parsed = (history.input_hist_raw[-1], history.input_hist_parsed[-1]) if history is not None else ("", "")
    if raw:
        name_file(str(count.plain(raw, f"{parsed}\n", count.number)), f"cell [{count.number}]", raw)


def forget_cells(shell: Any) -> None:
    """Back to IPython's own naming."""
    count = getattr(shell.compile, _ATTRIBUTE, None)
    if count is not None:
        shell.compile.get_code_name = count.plain
        shell.events.unregister("pre_run_cell", count.begin)
        delattr(shell.compile, _ATTRIBUTE)


def run_cell_body(shell: Any, body: str) -> list[str]:
    """Run the body of a cell magic in the user's namespace under the cell's own name and line numbers.

    Args:
        shell: the IPython shell.
        body: the cell without its first line.

    Returns:
        The names of the functions that it defines at its top level, in order.

    Raises:
        SyntaxError: at its line in the cell.
    """
    source = "\n" + shell.transform_cell(body)  # the empty first line stands for the magic's own
    name = shell.compile.cache(source, current_cell(shell), raw_code=source)
    tree = ast.parse(source, str(name))
    exec(compile(tree, name, "exec"), shell.user_ns)
    return [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def current_cell(shell: Any) -> int:
    """The number of the cell that runs."""
    count = getattr(shell.compile, _ATTRIBUTE, None)
    return count.number if count is not None else max(len(shell.user_ns.get("In", [])) - 1, 1)
