"""The magics. Each parses its line, calls a plain function (``msnb.show``) and returns an object that shows itself.

A magic prints nothing: what it returns is the cell's output (``-o NAME`` binds it, ``--quiet`` keeps it back), the text
holds no times, and mistakes in options are ordinary errors, so that a notebook under test fails where it should.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

from IPython.core import magic, magic_arguments

from msnb.base.errors import ArgumentError
from msnb.base.settings import GRAPH_MODE, PYNATIVE_MODE, in_graph_mode, set_context
from msnb.graph.compile import CompiledProgram, compile_graph
from msnb.ir.graph import Graph
from msnb.notebook.magics.cell_names import run_cell_body
from msnb.notebook.programs.call_line import call_of, value_of
from msnb.notebook.programs.capture_target import captured, jitted
from msnb.notebook.show import program_views
from msnb.notebook.views.view import GraphView

MODES = {"graph": GRAPH_MODE, "eager": PYNATIVE_MODE, "pynative": PYNATIVE_MODE}


Decorator = Callable[[Any], Any]


def argument(*flags: str, **how: Any) -> Decorator:
    """An option of a magic (IPython's own, which has no types)."""
    found: Decorator = magic_arguments.argument(*flags, **how)  # type: ignore[no-untyped-call]
    return found


WITH_OPTIONS: Decorator = magic_arguments.magic_arguments()  # type: ignore[no-untyped-call]
LINE_MAGIC: Decorator = magic.line_magic
CELL_MAGIC: Decorator = magic.cell_magic


def options_of(fn: Any, line: str) -> Any:
    """The options on a magic's line."""
    return magic_arguments.parse_argstring(fn, line)  # type: ignore[no-untyped-call]


class Line:
    """One line of output."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@magic.magics_class
class MsnbMagics(magic.Magics):
    """What ``%load_ext msnb`` brings."""

    shell: Any

    # ---- %ms_mode ---------------------------------------------------------------------------------------------------

    @WITH_OPTIONS
    @argument("mode", nargs="?", choices=sorted(MODES), help="the mode to switch to; without it, say which is on")
    @LINE_MAGIC
    def ms_mode(self, line: str) -> Line:
        """Switch between eager and graph mode, or say which is on.

        Example: %ms_mode graph
        """
        chosen = options_of(self.ms_mode, line).mode
        if chosen:
            set_context(mode=MODES[chosen])
        graph, eager = "graph mode: Cells are compiled", "eager mode: Cells run operator by operator"
        return Line(graph if in_graph_mode() else eager)

    # ---- %%ms_graph -------------------------------------------------------------------------------------------------

    @WITH_OPTIONS
    @argument("fn", nargs="?", default="", help="the function of the cell to show (the last one by default)")
    @argument("-o", "--output", metavar="NAME", default="", help="bind the view to this name")
    @argument("--args", metavar="EXPR", default=None, help="arguments to capture it with, such as --args 'x, 2.0'")
    @argument("--optimised", action="store_true", help="show the graph after the passes")
    @argument("--times", action="store_true", help="show the seconds of every stage (they differ from run to run)")
    @argument("--max-boxes", type=int, default=40, help="how many boxes the picture may show")
    @argument("--quiet", action="store_true", help="show nothing")
    @CELL_MAGIC
    def ms_graph(self, line: str, cell: str) -> Any:
        """Run the cell, compile its functions, bind them, and show the graph of one.

        Example:
            %%ms_graph f --args 'ms.Tensor([1.0, 2.0])'
            def f(x):
                return x * 2 + 1
        """
        options = options_of(self.ms_graph, line)
        names = run_cell_body(self.shell, cell)
        chosen = _chosen(options.fn, names)
        plain = {name: self.shell.user_ns[name] for name in names}
        self.shell.user_ns.update({name: jitted(fn) for name, fn in plain.items()})
        args = self._arguments(plain[chosen], options.args)
        if args is None:
            return None if options.quiet else Line(f"{', '.join(names)}: compiled when called; --args shows a graph")
        view = _compiled_view(plain[chosen], chosen, args, options)
        if options.output:
            self.shell.user_ns[options.output] = view
        return None if options.quiet else view

    def _arguments(self, fn: Callable[..., Any], text: str | None) -> tuple[Any, ...] | None:
        """The values of ``--args``; () where the function needs none; None where they are missing."""
        if text is not None:
            value = value_of(self.shell, f"({_unquoted(text)},)")
            return tuple(value)
        needed = [p for p in inspect.signature(fn).parameters.values() if p.default is p.empty and p.kind < 2]
        return None if needed else ()

    # ---- %ms_ir, %ms_grad -------------------------------------------------------------------------------------------

    @WITH_OPTIONS
    @argument("--optimised", action="store_true", help="show the graph after the passes")
    @argument("--max-boxes", type=int, default=40, help="how many boxes the picture may show")
    @argument("call", nargs=argparse.REMAINDER, help="a call, such as f(x, 2); or the name of a graph")
    @LINE_MAGIC
    def ms_ir(self, line: str) -> GraphView:
        """Show the IR of a function for the arguments of a call. The function is captured, not run.

        Example: %ms_ir f(x, 2.0)
        """
        options = options_of(self.ms_ir, line)
        fn, args, kwargs = call_of(self.shell, " ".join(options.call), "%ms_ir")
        if isinstance(fn, (Graph, CompiledProgram, GraphView)):
            found = fn if isinstance(fn, Graph) else fn.graph
            return program_views.graph(found, optimised=options.optimised, max_boxes=options.max_boxes)
        return program_views.ir(fn, *args, optimised=options.optimised, max_boxes=options.max_boxes, **kwargs)

    @WITH_OPTIONS
    @argument("--norms", action="store_true", help="run it and show how large the gradient is at every node")
    @argument("--raw", action="store_true", help="show the graph before the passes")
    @argument("--max-boxes", type=int, default=40, help="how many boxes the picture may show")
    @argument("call", nargs=argparse.REMAINDER, help="a call, such as loss(w, x)")
    @LINE_MAGIC
    def ms_grad(self, line: str) -> GraphView:
        """Show the IR of the gradient of a function (by its first argument; of a Cell, by its parameters).

        Example: %ms_grad loss(w, x)
        """
        options = options_of(self.ms_grad, line)
        fn, args, kwargs = call_of(self.shell, " ".join(options.call), "%ms_grad")
        how = {"optimised": not options.raw, "max_boxes": options.max_boxes, "norms": options.norms}
        return program_views.grad(fn, *args, **how, **kwargs)


def _chosen(wanted: str, names: list[str]) -> str:
    if not names:
        hint = "define one with def; what a Cell computes shows %ms_ir: %ms_ir net(x)."
        raise ArgumentError("%%ms_graph found no function in the cell.", hint=hint)
    if wanted and wanted not in names:
        raise ArgumentError(f"%%ms_graph: the cell defines no function {wanted!r}; it defines {', '.join(names)}.")
    return wanted or names[-1]


def _unquoted(text: str) -> str:
    """``--args 'x, 2'`` arrives with its quotes."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _compiled_view(fn: Any, name: str, args: tuple[Any, ...], options: Any) -> GraphView:
    compiled = compile_graph(captured(fn, args, {}), name=name, keep_stages=True)
    graph = compiled.graph if options.optimised else compiled.source
    notes = [f"{stage}: {seconds * 1e3:.2f} ms" for stage, seconds in compiled.timings.items()] if options.times else []
    return GraphView(graph, name, compiled, notes, options.max_boxes)
