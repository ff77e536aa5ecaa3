"""Pages without JupyterLab: what nbconvert (and so nbviewer and GitHub Pages) makes of a saved notebook."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms

nbformat = pytest.importorskip("nbformat")
exporters = pytest.importorskip("nbconvert").HTMLExporter


def saved(*views):
    """A notebook whose cells have shown these views."""
    cells = []
    for k, view in enumerate(views, 1):
        bundle = view._repr_mimebundle_()
        output = nbformat.v4.new_output("execute_result", bundle, execution_count=k)
        cells.append(nbformat.v4.new_code_cell("view", outputs=[output], execution_count=k))
    return nbformat.v4.new_notebook(cells=cells)


def test_pictures_survive_in_a_page():
    x = ms.Tensor(np.ones((2, 3), np.float32))
    views = [getattr(ms.show, name)(lambda x: ms.ops.exp(x).sum(), x) for name in ("ir", "grad", "mem", "profile")]
    page, _ = exporters().from_notebook_node(saved(*views))
    bare, _ = exporters().from_notebook_node(saved())
    assert page.count("data:image/svg+xml") - bare.count("data:image/svg+xml") == len(views)
    assert page.count("<script") == bare.count("<script")
    assert page.count("<details") - bare.count("<details") >= len(views)
