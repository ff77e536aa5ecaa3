"""The magics of the views beyond IR and gradient: one per function of ``msnb.show``, the same words on a line."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core import magic

from msnb.base.errors import ArgumentError
from msnb.notebook.magics.graph_magics import LINE_MAGIC, WITH_OPTIONS, Decorator, argument, options_of
from msnb.notebook.programs.call_line import call_of, calls_of
from msnb.notebook.show import program_views
from msnb.notebook.views.view import View

CALL: Decorator = argument("call", nargs=argparse.REMAINDER, help="a call, such as f(x, 2)")
GRADIENT: Decorator = argument("--gradient", action="store_true", help="of the gradient instead of the function")
RAW: Decorator = argument("--raw", action="store_true", help="before the passes")
TIMES: Decorator = argument("--times", action="store_true", help="measure (times differ from run to run)")


@magic.magics_class
class MsnbViewMagics(magic.Magics):
    """Views of a call's program."""

    shell: Any

    @WITH_OPTIONS
    @GRADIENT
    @argument("--only-changed", action="store_true", help="leave out stages that changed nothing")
    @CALL
    @LINE_MAGIC
    def ms_passes(self, line: str) -> View:
        """Show the compilation of a call stage by stage: laws, rewrites, and a check in numbers.

        Example: %ms_passes f(x, 2.0)
        """
        o = options_of(self.ms_passes, line)
        fn, args, kwargs = self._call(o, "%ms_passes")
        return program_views.passes(fn, *args, gradient=o.gradient, only_changed=o.only_changed, **kwargs)

    @WITH_OPTIONS
    @GRADIENT
    @argument("--tol", type=float, default=1e-5, help="largest difference that counts as agreement")
    @CALL
    @LINE_MAGIC
    def ms_diff(self, line: str) -> View:
        """Run a call eagerly and as a graph, and show the first op whose values differ.

        Example: %ms_diff f(x, 2.0)
        """
        o = options_of(self.ms_diff, line)
        fn, args, kwargs = self._call(o, "%ms_diff")
        return program_views.diff(fn, *args, tol=o.tol, gradient=o.gradient, **kwargs)

    @WITH_OPTIONS
    @GRADIENT
    @RAW
    @argument("--arena", action="store_true", help="what lies where in the compiled program's arena")
    @CALL
    @LINE_MAGIC
    def ms_mem(self, line: str) -> View:
        """Show which buffers of a call live when, the peak, and who holds it.

        Example: %ms_mem --gradient loss(w, x)
        """
        o = options_of(self.ms_mem, line)
        fn, args, kwargs = self._call(o, "%ms_mem")
        return program_views.mem(fn, *args, gradient=o.gradient, optimised=not o.raw, arena=o.arena, **kwargs)

    @WITH_OPTIONS
    @GRADIENT
    @RAW
    @TIMES
    @argument("--repeats", type=int, default=7, help="how many runs to take the median of")
    @CALL
    @LINE_MAGIC
    def ms_profile(self, line: str) -> View:
        """Show what each op and each line of a call costs: predicted, or measured with --times.

        Example: %ms_profile --times f(x)
        """
        o = options_of(self.ms_profile, line)
        fn, args, kwargs = self._call(o, "%ms_profile")
        how = {"gradient": o.gradient, "optimised": not o.raw, "times": o.times, "repeats": o.repeats}
        return program_views.profile(fn, *args, **how, **kwargs)

    @WITH_OPTIONS
    @GRADIENT
    @argument("-o", "--output", metavar="NAME", default="", help="bind the stepper to this name")
    @argument("--stop", action="append", default=[], help="an op, a line (4), a number in the IR (%%4)")
    @argument("--optimised", action="store_true", help="step through the graph after the passes")
    @CALL
    @LINE_MAGIC
    def ms_step(self, line: str) -> View:
        """Show every node of a call with its values; breakpoints on ops and lines, and where a NaN first appears.

        Example: %ms_step --stop exp -o steps f(x)
        """
        o = options_of(self.ms_step, line)
        fn, args, kwargs = self._call(o, "%ms_step")
        stops = [_stop(word) for word in o.stop]
        view = program_views.step(fn, *args, stop=stops, gradient=o.gradient, optimised=o.optimised, **kwargs)
        if o.output:
            self.shell.user_ns[o.output] = view
        return view

    @WITH_OPTIONS
    @argument("--times", action="store_true", help="show milliseconds (they differ from run to run)")
    @argument("--kernels", action="store_true", help="show the generated code (it differs between processors)")
    @argument("fn", nargs=argparse.REMAINDER, help="a jitted function or a Cell that ran in graph mode")
    @LINE_MAGIC
    def ms_explain(self, line: str) -> View:
        """Show what a jitted function has compiled, why each version was made, and its guards.

        Example: %ms_explain f
        """
        o = options_of(self.ms_explain, line)
        fn, _, _ = call_of(self.shell, " ".join(o.fn), "%ms_explain")
        return program_views.explain(fn, o.times, o.kernels)

    @WITH_OPTIONS
    @argument("calls", nargs=argparse.REMAINDER, help="two calls or graphs: f(x), g(x)")
    @LINE_MAGIC
    def ms_compare(self, line: str) -> View:
        """Show two programs and what changed from the first to the second.

        Example: %ms_compare f(x), g(x)
        """
        o = options_of(self.ms_compare, line)
        calls = calls_of(self.shell, " ".join(o.calls), "%ms_compare")
        if len(calls) != 2:
            raise ArgumentError(f"%ms_compare takes two calls such as f(x), g(x), not {len(calls)}.")
        return program_views.compare(*(program_views.as_graph(*call) for call in calls))

    def _call(self, options: Any, name: str) -> tuple[Any, list[Any], dict[str, Any]]:
        return call_of(self.shell, " ".join(options.call), name)


def _stop(word: str) -> str | int:
    """``exp`` is an op, ``4`` a line, ``%4`` a number in the IR."""
    if word.startswith("%") and word[1:].isdigit():
        return int(word[1:])
    return f"line {word}" if word.isdigit() else word
