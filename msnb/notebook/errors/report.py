"""Errors in the notebook: the sentence, the operands, the way out, the line of the cell. No internal frames.

IPython asks an exception for ``_render_traceback_``; the extension gives MsnbError one while it is loaded. Syntax
errors take another way through IPython, so the refusals of graph mode (which are SyntaxErrors) are handled by a custom
handler. ``ms.set_context`` or a plain ``try`` see the same exception objects as ever.

Errors that are Python's own (a name that is not defined, a wrong number of arguments) and passed through msnb are shown
alike, with the user's calls that lead there; those that did not are IPython's. Where such an error is a known habit of
another framework (``x.size(0)``), or a wrong call of a function of msnb, a line below says what is meant.

In a kernel a second output follows the red one: operands as a table, what this kind of error means, the frames inside
msnb, each behind a line that opens it. ``%ms_error`` shows the same again.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from msnb.base.errors import MsnbError, UnsupportedSyntaxError, say_call, stands_alone
from msnb.base.source_location import hide_frames, is_full, is_named, without_internals
from msnb.notebook.charts.display import display_bundle, shell as showing_shell
from msnb.notebook.errors.error_view import ErrorView, plain_report, report
from msnb.notebook.errors.syntax_hints import slip_of
from msnb.notebook.programs.call_line import LINE

_METHOD = "_render_traceback_"
_ATTRIBUTE = "_msnb_errors"


class Below:
    """Shows what lies below an error when its cell is over."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def after(self, result: Any) -> None:
        """A cell has run."""
        error = result.error_in_exec or result.error_before_exec
        if isinstance(error, MsnbError) and showing_shell() is self.shell:
            display_bundle(ErrorView(error).below())


def _render(self: MsnbError) -> list[str]:
    return report(self)


def install(shell: Any) -> None:
    """Short reports for every MsnbError of this shell."""
    import IPython  # IPython is loaded by notebooks alone

    hide_frames(os.path.dirname(os.path.abspath(IPython.__file__)) + os.sep)
    hide_frames(LINE)
    setattr(MsnbError, _METHOD, _render)
    shell.set_custom_exc((Exception, KeyboardInterrupt), handle)
    if not hasattr(shell, _ATTRIBUTE):
        below = Below(shell)
        setattr(shell, _ATTRIBUTE, below)
        shell.events.register("post_run_cell", below.after)


def remove(shell: Any) -> None:
    """Back to full tracebacks."""
    if hasattr(MsnbError, _METHOD):
        delattr(MsnbError, _METHOD)
    shell.set_custom_exc((), None)
    below = getattr(shell, _ATTRIBUTE, None)
    if below is not None:
        shell.events.unregister("post_run_cell", below.after)
        delattr(shell, _ATTRIBUTE)


def handle(shell: Any, kind: type[BaseException], error: Any, tb: Any, tb_offset: Any = None) -> list[str] | None:
    """Show an error of the user's cell."""
    if isinstance(error, UnsupportedSyntaxError):
        lines = report(error, tb)
    elif isinstance(error, SyntaxError) and is_named(error.filename):  # in the body of a cell magic
        lines = shell.SyntaxTB.structured_traceback(kind, error, [])
    else:
        kept = None if is_full() else without_internals(tb)
        if kept is not None and stands_alone(error) and not hasattr(error, _METHOD):
            sys.last_type, sys.last_value, sys.last_traceback = kind, error, tb
            shell._showtraceback(kind, error, plain_report(error, kept))
        else:
            offset = tb_offset if kept is None else 0
            shell.showtraceback((kind, error, kept or tb), tb_offset=offset, running_compiled_code=True)
        meant = slip_of(error, tb)
        if meant:
            print(f"msnb: {meant}", file=sys.stderr)
        say_call(error, kept or tb)
        return None
    sys.last_value = error
    shell._showtraceback(kind, error, lines)
    return lines
