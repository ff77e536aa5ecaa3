"""``%load_ext msnb``: what is put into a shell, and taken out again by ``%unload_ext msnb``."""

from __future__ import annotations

from typing import Any

from msnb.core import Tensor
from msnb.graph.compile import CompiledProgram
from msnb.ir.graph import Graph
from msnb.notebook.errors import report
from msnb.notebook.magics import cell_names
from msnb.notebook.magics.cluster_magics import cluster_magic
from msnb.notebook.magics.magic import install
from msnb.notebook.magics.magic_table import MAGICS
from msnb.notebook.show import program_views
from msnb.notebook.views.tensor_view import tensor_with_images

NAMES = tuple(magic.name for magic in (*MAGICS, cluster_magic()))
OPTIONS = {magic.key: magic.completions for magic in (*MAGICS, cluster_magic())}


def load(shell: Any) -> None:
    """Put magics, completion, cell names, error reports and graph pictures into a shell."""
    for magic in (*MAGICS, cluster_magic()):
        install(shell, magic)
        shell.set_hook("complete_command", _completer(magic.completions), str_key=magic.key)
    cell_names.name_cells(shell)
    report.install(shell)
    bundles = shell.display_formatter.mimebundle_formatter
    bundles.for_type(Graph, _show_graph)
    bundles.for_type(CompiledProgram, _show_compiled)
    shell.display_formatter.formatters["text/html"].for_type(Tensor, tensor_with_images)


def unload(shell: Any) -> None:
    """Take it all out again."""
    cell_names.forget_cells(shell)
    report.remove(shell)
    for kind in ("line", "cell"):
        for name in NAMES:
            shell.magics_manager.magics[kind].pop(name, None)
    bundles = shell.display_formatter.mimebundle_formatter
    html = shell.display_formatter.formatters["text/html"]
    if Tensor in html.type_printers:
        html.pop(Tensor)
    for type_ in (Graph, CompiledProgram):
        if type_ in bundles.type_printers:
            bundles.pop(type_)


def _completer(words: tuple[str, ...]) -> Any:
    def complete(shell: Any, event: Any) -> list[str]:
        return [word for word in words if word.startswith(event.symbol)]

    return complete


def _show_graph(graph: Graph, **_: Any) -> dict[str, Any]:
    return program_views.graph(graph)._repr_mimebundle_()


def _show_compiled(compiled: CompiledProgram, **_: Any) -> dict[str, Any]:
    return program_views.GraphView(compiled.graph, compiled.name, compiled)._repr_mimebundle_()
