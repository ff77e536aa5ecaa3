"""``%load_ext msnb``: what is put into a shell, and taken out again by ``%unload_ext msnb``."""

from __future__ import annotations

from typing import Any

from msnb.core.tensor import Tensor
from msnb.graph.compile import CompiledProgram
from msnb.ir.graph import Graph
from msnb.notebook.errors import report
from msnb.notebook.errors.error_pages import LESSONS
from msnb.notebook.magics import cell_names
from msnb.notebook.magics.cluster_magics import MsnbClusterMagics
from msnb.notebook.magics.graph_magics import MODES, MsnbMagics
from msnb.notebook.magics.run_magics import MsnbRunMagics
from msnb.notebook.magics.view_magics import MsnbViewMagics
from msnb.notebook.show import program_views
from msnb.notebook.show.view_listing import VIEWS
from msnb.notebook.views.tensor_view import tensor_with_images

NAMES = (
    "ms_mode", "ms_ir", "ms_grad", "ms_graph", "ms_passes", "ms_diff", "ms_mem", "ms_profile", "ms_step", "ms_explain",
    "ms_compare", "ms_eager", "ms_roofline", "ms_kernels", "ms_plan", "ms_tensor", "ms_info", "ms_error", "ms_device",
    "ms_cluster", "ms_aicore", "ms_help",
)  # fmt: skip
OPTIONS: dict[str, tuple[str, ...]] = {
    "%ms_mode": tuple(sorted(MODES)),
    "%ms_ir": ("--optimised", "--max-boxes"),
    "%ms_grad": ("--norms", "--raw", "--max-boxes"),
    "%ms_passes": ("--gradient", "--only-changed"),
    "%ms_diff": ("--gradient", "--tol"),
    "%ms_mem": ("--gradient", "--raw", "--arena"),
    "%ms_profile": ("--gradient", "--raw", "--times", "--repeats"),
    "%ms_step": ("--gradient", "--output", "--stop", "--optimised"),
    "%ms_explain": ("--times", "--kernels"),
    "%ms_compare": (),
    "%ms_roofline": ("--gradient", "--raw", "--times", "--repeats"),
    "%ms_kernels": ("--gradient",),
    "%ms_plan": ("--devices", "--search", "--stages", "--view", "--output"),
    "%ms_aicore": ("--tile", "--single", "--output"),
    "%ms_tensor": (),
    "%ms_info": (),
    "%ms_help": tuple(view.name for view in VIEWS),
    "%ms_error": tuple(LESSONS),
    "%ms_device": ("Ascend", "CPU", "GPU"),
    "%ms_cluster": ("start", "status", "restart", "stop", "--ranks", "--timeout", "--output"),
    "%%ms_eager": ("--args", "--output", "--max-boxes", "--quiet"),
    "%%ms_graph": ("--args", "--optimised", "--output", "--times", "--max-boxes", "--quiet"),
}


def load(shell: Any) -> None:
    """Put magics, completion, cell names, error reports and graph pictures into a shell."""
    shell.register_magics(MsnbMagics, MsnbViewMagics, MsnbRunMagics, MsnbClusterMagics)
    cell_names.name_cells(shell)
    report.install(shell)
    for magic, words in OPTIONS.items():
        shell.set_hook("complete_command", _completer(words), str_key=magic)
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
