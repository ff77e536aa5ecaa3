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


def test_the_cell_that_loads_the_extension_has_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    interactive.InteractiveShell.clear_instance()
    shell: Any = interactive.InteractiveShell.instance()
    shell.run_cell("import msnb as ms", store_history=True)
    shell.run_cell("%load_ext msnb\ndef f(x):\n    return x * 2", store_history=True)
    text = shell.run_cell("ms.show.ir(f, ms.Tensor([1.0])).text", store_history=True).result
    shell.run_line_magic("unload_ext", "msnb")
    interactive.InteractiveShell.clear_instance()
    assert "# cell [2] line 3" in text
