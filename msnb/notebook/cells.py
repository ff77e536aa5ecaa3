"""Names for cells, so that a caret says ``cell [3] line 4`` and not a temporary file's name.

IPython gives every cell's code a file name of its own when it compiles it. The compiler's naming method is wrapped, so
each name is registered with ``core.where.name_file`` at the moment it is made, before the cell runs.
"""

from __future__ import annotations

import ast
from typing import Any

from msnb.core.where import name_file

_ATTRIBUTE = "_msnb_plain_get_code_name"


def name_cells(shell: Any) -> None:
    """Register every cell from now on."""
    compiler = shell.compile
    if hasattr(compiler, _ATTRIBUTE):
        return
    plain = compiler.get_code_name
    setattr(compiler, _ATTRIBUTE, plain)

    def get_code_name(raw_code: str, transformed_code: str, number: int) -> Any:
        name = plain(raw_code, transformed_code, number)
        name_file(str(name), f"cell [{number}]")
        return name

    compiler.get_code_name = get_code_name


def forget_cells(shell: Any) -> None:
    """Back to IPython's own naming."""
    if hasattr(shell.compile, _ATTRIBUTE):
        shell.compile.get_code_name = getattr(shell.compile, _ATTRIBUTE)
        delattr(shell.compile, _ATTRIBUTE)


def run_cell_body(shell: Any, body: str) -> list[str]:
    """Run the body of a cell magic in the user's namespace under the cell's own name and line numbers.

    Args:
        shell: the IPython shell.
        body: the cell without its first line.

    Returns:
        The names of the functions that it defines at its top level, in order.
    """
    source = "\n" + shell.transform_cell(body)  # the empty first line stands for the magic's own
    tree = ast.parse(source)
    name = shell.compile.cache(source, current_cell(shell), raw_code=source)
    exec(compile(tree, name, "exec"), shell.user_ns)
    return [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def current_cell(shell: Any) -> int:
    """The number of the cell that runs: IPython has counted on already when it keeps history."""
    inputs = shell.user_ns.get("In", [])
    return max(len(inputs) - 1, 1)
