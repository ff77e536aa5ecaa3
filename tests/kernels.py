"""Cells in a real kernel, for what a shell without one cannot show."""

from __future__ import annotations

from typing import Any

import pytest

from tools.kernel_starts import persistent


def executed(*sources: str, allow_errors: bool = False) -> Any:
    """The cells of a notebook after a fresh kernel ran them."""
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")

    def run() -> Any:
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
        client.NotebookClient(nb, timeout=600, startup_timeout=600, allow_errors=allow_errors).execute()
        return nb.cells

    return persistent(run)()
