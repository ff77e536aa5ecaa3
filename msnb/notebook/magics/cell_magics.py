"""The magics that run a cell: ``%%ms_graph`` compiles its functions, ``%%ms_eager`` shows every op that ran."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msnb.base import ArgumentError
from msnb.graph.compile import compile_graph
from msnb.notebook.magics.cell_names import run_cell_body
from msnb.notebook.magics.magic import Line
from msnb.notebook.programs.call_line import value_of
from msnb.notebook.programs.capture_target import captured, jitted
from msnb.notebook.programs.eager_trace import record
from msnb.notebook.show import program_views
from msnb.notebook.show.run_views import RunView
from msnb.notebook.views.view import GraphView, View


def graph(shell: Any, options: Any, cell: str) -> Any:
    """Run the cell, bind its functions compiled, and give the graph of one."""
    names = run_cell_body(shell, cell)
    chosen = _chosen(options.fn, names)
    plain = {name: shell.user_ns[name] for name in names}
    shell.user_ns.update({name: jitted(fn) for name, fn in plain.items()})
    args = _arguments(shell, plain[chosen], options.args)
    if args is None:
        return Line(f"{', '.join(names)}: compiled when called; --args shows a graph")
    return _compiled_view(plain[chosen], chosen, args, options)


def _chosen(wanted: str, names: list[str]) -> str:
    if not names:
        hint = "define one with def; what a Cell computes shows %ms_ir: %ms_ir net(x)."
        raise ArgumentError("%%ms_graph found no function in the cell.", hint=hint)
    if wanted and wanted not in names:
        raise ArgumentError(f"%%ms_graph: the cell defines no function {wanted!r}; it defines {', '.join(names)}.")
    return wanted or names[-1]


def _arguments(shell: Any, fn: Callable[..., Any], text: str | None) -> tuple[Any, ...] | None:
    """The values of ``--args``; () where the function needs none; None where they are missing."""
    if text is not None:
        value = value_of(shell, f"({_unquoted(text)},)")
        return tuple(value)
    needed = [p for p in inspect.signature(fn).parameters.values() if p.default is p.empty and p.kind < 2]
    return None if needed else ()


def _unquoted(text: str) -> str:
    """``--args 'x, 2'`` arrives with its quotes."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _compiled_view(fn: Any, name: str, args: tuple[Any, ...], options: Any) -> GraphView:
    compiled = compile_graph(captured(fn, args, {}), name=name, keep_stages=True)
    graph = compiled.graph if options.optimised else compiled.source
    notes = [f"{stage}: {seconds * 1e3:.2f} ms" for stage, seconds in compiled.timings.items()] if options.times else []
    return GraphView(graph, name, compiled, notes, options.max_boxes)


def eager(shell: Any, options: Any, cell: str) -> View:
    """Run the cell and give every op that ran, as a graph; or those of one call."""
    shown = _call_view if options.fn or options.args is not None else _cell_view
    return shown(shell, options, cell)


def _cell_view(shell: Any, o: Any, cell: str) -> View:
    """The whole cell; its tensors that are names afterwards are its results."""
    before = {k: id(v) for k, v in shell.user_ns.items()}
    names = shell.user_ns

    def run() -> Any:
        run_cell_body(shell, cell)
        return [v for k, v in names.items() if before.get(k) != id(v) and not k.startswith("_")]

    used = {k: v for k, v in names.items() if not k.startswith("_") and k in cell}
    graph, result = record("cell", run, used)
    return RunView(graph, result, o.max_boxes)


def _call_view(shell: Any, o: Any, cell: str) -> View:
    names = run_cell_body(shell, cell)
    chosen = o.fn or (names[-1] if names else "")
    if chosen not in names:
        told = f"the cell defines no function {chosen!r}" if chosen else "found no function in the cell"
        raise ArgumentError(f"%%ms_eager: {told}.", hint="define one with def, or leave --args away.")
    text = (o.args or "").strip("'\"")
    args = value_of(shell, f"({text},)") if text else ()
    return program_views.eager(shell.user_ns[chosen], *args, max_boxes=o.max_boxes)
