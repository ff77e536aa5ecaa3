"""A picture of a program needs no machine code, and none is made for one."""

from __future__ import annotations

import pytest

import msnb as ms
from msnb.base import device_registry

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

CELL = "def f(a):\n    return ms.ops.relu(a * 3 + 3).sum()"


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("options, made", [("", 0), ("--optimised", 0), ("--times", 1)])
def test_ms_graph_draws_without_code(level: str, options: str, made: int, monkeypatch: pytest.MonkeyPatch) -> None:
    device = device_registry.current()
    graphs: list[str] = []
    real = type(device).compile
    monkeypatch.setattr(type(device), "compile", lambda self, graph: graphs.append(graph.name) or real(self, graph))
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "msnb")
    shell.push({"ms": ms, "x": ms.Tensor([1.0, -2.0])})
    with ms.set_context(jit_level=level):
        view = shell.run_cell_magic("ms_graph", f"--args x {options}", CELL)
        assert "relu" in repr(view)
        assert len(graphs) == made, "only the seconds of --times need the code"
        view._repr_mimebundle_()
        assert len(graphs) == made
