"""Cells are counted alike by front ends that keep history and by those that do not."""

from __future__ import annotations

import pytest

from tests.shells import fresh_shell, run


def place(store_history: bool) -> str:
    define = "def f(x):\n    return x + ms.ops.ones((3,))"
    cells = ["%load_ext msnb\nimport msnb as ms", define, "f(ms.Tensor([1.0, 2.0]))"]
    with fresh_shell() as shell:
        found = [shell.run_cell(cell, store_history=store_history, silent=False) for cell in cells]
    return str(found[-1].error_in_exec.where)


@pytest.mark.parametrize("store_history", [True, False])
def test_the_place_is_the_cell_where_the_line_stands(store_history: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert place(store_history) == "cell [2] line 2"


def test_the_cell_that_loads_the_extension_has_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_shell() as shell:
        run(shell, "import msnb as ms")
        run(shell, "%load_ext msnb\ndef f(x):\n    return x * 2")
        text = run(shell, "ms.show.ir(f, ms.Tensor([1.0])).text")
    assert "# cell [2] line 3" in text


def test_equal_statements_of_two_cells_keep_their_cells() -> None:
    """IPython compiles statement by statement, and Python calls code equal whose text and lines are."""
    from msnb.base.source_location import Origin

    codes = [compile("f(x)", file, "exec") for file in ("<cell one>", "<cell two>")]
    assert codes[0] == codes[1]
    assert [Origin(((code, 0, 1),)).where.file for code in codes] == ["<cell one>", "<cell two>"]
