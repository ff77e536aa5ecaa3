"""Cells are counted alike by front ends that keep history and by those that do not."""

from __future__ import annotations

from typing import Any

import pytest

interactive = pytest.importorskip("IPython.core.interactiveshell")


def numbers(store_history: bool) -> list[str]:
    interactive.InteractiveShell.clear_instance()
    shell: Any = interactive.InteractiveShell.instance()
    define = "def f(x):\n    return x + ms.ops.ones((3,))"
    cells = ["%load_ext msnb\nimport msnb as ms", define, "f(ms.Tensor([1.0, 2.0]))"]
    found = [shell.run_cell(cell, store_history=store_history, silent=False) for cell in cells]
    shell.run_line_magic("unload_ext", "msnb")
    interactive.InteractiveShell.clear_instance()
    return [str(found[-1].error_in_exec.where)]


@pytest.mark.parametrize("store_history", [True, False])
def test_the_place_is_the_cell_where_the_line_stands(store_history: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert numbers(store_history) == ["cell [2] line 2"]
