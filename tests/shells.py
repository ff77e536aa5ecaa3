"""A shell of IPython for one test, without a kernel.

Its history lies in memory: a shell with a history file keeps a thread and an open database for as long as the process
lives, shares the file with every other process of the run, and writes what tests do into the user's own history.

It is gone with its test: IPython means to clean up every shell when Python ends, which keeps all of them and their
variables until then, and collects garbage over the whole process once per shell.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

interactive = pytest.importorskip("IPython.core.interactiveshell", reason="the notebook extra is not installed")


@contextmanager
def fresh_shell() -> Iterator[Any]:
    """A shell in which nothing has run; afterwards msnb's extension is gone, where a cell has loaded it."""
    config = pytest.importorskip("traitlets.config").Config()
    config.HistoryManager.hist_file = ":memory:"
    interactive.InteractiveShell.clear_instance()
    shell = interactive.InteractiveShell.instance(config=config)
    try:
        yield shell
    finally:
        if "msnb" in shell.extension_manager.loaded:
            shell.run_line_magic("unload_ext", "msnb")
        atexit.unregister(shell.atexit_operations)
        interactive.InteractiveShell.clear_instance()


def run(shell: Any, cell: str) -> Any:
    """What a numbered cell's last line gives; its error, where it has one."""
    result = shell.run_cell(cell, store_history=True)
    result.raise_error()
    return result.result
