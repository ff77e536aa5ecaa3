"""The magics of the views about running: eager, roofline, plan, AI core, tensors, this session."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core import magic

from msnb.base.errors import ArgumentError
from msnb.base.settings import get_context, set_context
from msnb.notebook.magics.cell_names import run_cell_body
from msnb.notebook.magics.graph_magics import CELL_MAGIC, LINE_MAGIC, WITH_OPTIONS, Line, argument, options_of
from msnb.notebook.magics.view_magics import CALL, GRADIENT, RAW, TIMES
from msnb.notebook.programs.call_line import call_of, value_of
from msnb.notebook.show import program_views
from msnb.notebook.show.run_views import RunView
from msnb.notebook.show.view_listing import ListingView
from msnb.notebook.views.eager_trace import record
from msnb.notebook.views.view import View


@magic.magics_class
class MsnbRunMagics(magic.Magics):
    """Views of what runs."""

    shell: Any

    @WITH_OPTIONS
    @argument("fn", nargs="?", default="", help="show a call of this function of the cell; without it, the whole cell")
    @argument("--args", metavar="EXPR", default=None, help="arguments of the call, such as --args 'x, 2.0'")
    @argument("-o", "--output", metavar="NAME", default="", help="bind the view to this name")
    @argument("--max-boxes", type=int, default=40, help="how many boxes the picture may show")
    @argument("--quiet", action="store_true", help="show nothing")
    @CELL_MAGIC
    def ms_eager(self, line: str, cell: str) -> Any:
        """Run the cell in eager mode and show every op that ran, as a graph.

        Example:
            %%ms_eager
            y = x * 2
            z = y.sum()
        """
        o = options_of(self.ms_eager, line)
        view = self._call_view(o, cell) if o.fn or o.args is not None else self._cell_view(o, cell)
        if o.output:
            self.shell.user_ns[o.output] = view
        return None if o.quiet else view

    def _cell_view(self, o: Any, cell: str) -> View:
        """The whole cell; its tensors that are names afterwards are its results."""
        before = {k: id(v) for k, v in self.shell.user_ns.items()}
        names = self.shell.user_ns

        def run() -> Any:
            run_cell_body(self.shell, cell)
            return [v for k, v in names.items() if before.get(k) != id(v) and not k.startswith("_")]

        known = {k: v for k, v in names.items() if not k.startswith("_")}
        graph, result = record("cell", run, _used(cell, known))
        return RunView(graph, result, o.max_boxes)

    def _call_view(self, o: Any, cell: str) -> View:
        names = run_cell_body(self.shell, cell)
        chosen = o.fn or (names[-1] if names else "")
        if chosen not in names:
            told = f"the cell defines no function {chosen!r}" if chosen else "found no function in the cell"
            raise ArgumentError(f"%%ms_eager: {told}.", hint="define one with def, or leave --args away.")
        text = (o.args or "").strip("'\"")
        args = value_of(self.shell, f"({text},)") if text else ()
        view: View = program_views.eager(self.shell.user_ns[chosen], *args, max_boxes=o.max_boxes)
        return view

    @WITH_OPTIONS
    @GRADIENT
    @RAW
    @TIMES
    @argument("--repeats", type=int, default=7, help="how many runs to take the median of")
    @CALL
    @LINE_MAGIC
    def ms_roofline(self, line: str) -> View:
        """Show each op of a call against memory bandwidth and peak arithmetic: predicted, or measured with --times.

        Example: %ms_roofline --times f(x)
        """
        o = options_of(self.ms_roofline, line)
        fn, args, kwargs = call_of(self.shell, " ".join(o.call), "%ms_roofline")
        how = {"gradient": o.gradient, "optimised": not o.raw, "times": o.times, "repeats": o.repeats}
        return program_views.roofline(fn, *args, **how, **kwargs)

    @WITH_OPTIONS
    @GRADIENT
    @CALL
    @LINE_MAGIC
    def ms_kernels(self, line: str) -> View:
        """Show how each node of a call runs, and the generated code: loops, LLVM IR, assembly.

        Example: %ms_kernels f(x)
        """
        o = options_of(self.ms_kernels, line)
        fn, args, kwargs = call_of(self.shell, " ".join(o.call), "%ms_kernels")
        return program_views.kernels(fn, *args, gradient=o.gradient, **kwargs)

    @WITH_OPTIONS
    @argument("--devices", type=int, default=None, help="how many devices (the context's by default)")
    @argument("--search", default=None, help="how to search: dynamic_programming, recursive_programming ...")
    @argument("--stages", type=int, default=None, help="pipeline stages of a PipelineCell")
    @argument("--view", default=None, help="one picture: graph, timeline, memory, mesh, segments, front")
    @argument("-o", "--output", metavar="NAME", default="", help="bind the view to this name")
    @CALL
    @LINE_MAGIC
    def ms_plan(self, line: str) -> View:
        """Show how a call is laid out over many devices: mesh, layouts, collectives, simulated timeline.

        Example: %ms_plan --devices 8 net(x)
        """
        o = options_of(self.ms_plan, line)
        if o.devices is not None and o.devices < 1:
            raise ArgumentError(f"%ms_plan --devices {o.devices} is not legal.", hint="at least 1.")
        fn, args, kwargs = call_of(self.shell, " ".join(o.call), "%ms_plan")
        how = {"device_num": o.devices, "search_mode": o.search, "pipeline_stages": o.stages, "view": o.view}
        view = program_views.plan(fn, *args, **{k: v for k, v in how.items() if v is not None}, **kwargs)
        if o.output:
            self.shell.user_ns[o.output] = view
        return view

    @WITH_OPTIONS
    @argument("sizes", nargs="*", help="rows of the left matrix, its columns, columns of the right one: m k n")
    @argument("--tile", default="128,128,128", help="what the core works on at once: tm,tk,tn (multiples of 16)")
    @argument("--single", action="store_true", help="without double buffering")
    @argument("-o", "--output", metavar="NAME", default="", help="bind the view to this name")
    @LINE_MAGIC
    def ms_aicore(self, line: str) -> View:
        """Show a matrix product on one core of the simulated Ascend, queue by queue.

        Sizes are numbers, or names and expressions of the session.

        Example: %ms_aicore --tile 64,128,64 256 512 256
        """
        o = options_of(self.ms_aicore, line)
        if len(o.sizes) != 3:
            raise ArgumentError(f"%ms_aicore takes three sizes, got {len(o.sizes)}.", hint="%ms_aicore 128 512 128")
        m, k, n = (value_of(self.shell, text) for text in o.sizes)
        view = program_views.aicore(m, k, n, value_of(self.shell, f"({o.tile},)"), not o.single)
        if o.output:
            self.shell.user_ns[o.output] = view
        return view

    @WITH_OPTIONS
    @argument("value", nargs=argparse.REMAINDER, help="a tensor, or an expression that gives one")
    @LINE_MAGIC
    def ms_tensor(self, line: str) -> View:
        """Show a tensor: type, device, range, histogram, images.

        Example: %ms_tensor conv1.weight
        """
        text = " ".join(options_of(self.ms_tensor, line).value)
        if not text:
            raise ArgumentError("%ms_tensor takes a tensor.", hint="%ms_tensor x")
        return program_views.tensor(value_of(self.shell, text), text if text.isidentifier() else "")

    @WITH_OPTIONS
    @argument("kind", nargs="?", default="", help="a kind of error, such as ShapeError; the last error by default")
    @LINE_MAGIC
    def ms_error(self, line: str) -> View:
        """Show the report of the last error again, or the page on a kind of error.

        Example: %ms_error ShapeError
        """
        return program_views.error(options_of(self.ms_error, line).kind or None)

    @WITH_OPTIONS
    @argument("word", nargs=argparse.REMAINDER, help="only the views whose row has this word")
    @LINE_MAGIC
    def ms_help(self, line: str) -> View:
        """List every view: the question that it answers, its function, its magic.

        Example: %ms_help gradient
        """
        return ListingView(" ".join(options_of(self.ms_help, line).word))

    @WITH_OPTIONS
    @LINE_MAGIC
    def ms_info(self, line: str) -> View:
        """Show versions, machine, settings and caches of this session.

        Example: %ms_info
        """
        options_of(self.ms_info, line)
        return program_views.info()

    @WITH_OPTIONS
    @argument("device", nargs="?", default="", help="the device to switch to; without it, say which is on")
    @LINE_MAGIC
    def ms_device(self, line: str) -> Line:
        """Switch the device, or say which is on.

        Example: %ms_device CPU
        """
        chosen = options_of(self.ms_device, line).device
        if chosen:
            set_context(device_target=chosen)
        return Line(f"device: {get_context('device_target')}")


def _used(cell: str, known: dict[str, Any]) -> dict[str, Any]:
    """The names that the cell's text mentions."""
    return {name: value for name, value in known.items() if name in cell}
