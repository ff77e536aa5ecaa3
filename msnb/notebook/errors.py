"""Errors in the notebook: the sentence, the operands, the way out, the line of the cell. No internal frames.

IPython asks an exception for ``_render_traceback_``; the extension gives MsnbError one while it is loaded. Syntax
errors take another way through IPython, so the refusals of graph mode (which are SyntaxErrors) are handled by a custom
handler. ``ms.set_context`` or a plain ``try`` see the same exception objects as ever.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from msnb.core.errors import MsnbError, UnsupportedSyntaxError
from msnb.core.where import Origin, Where, is_internal

_METHOD = "_render_traceback_"


def report(error: MsnbError, tb: TracebackType | None = None) -> list[str]:
    """The lines a cell shows for an error."""
    lines = [f"{type(error).__name__}: {error.message()}"]
    place = error.where or _user_place(tb or error.__traceback__)
    if place is not None:
        lines += place.caret().split("\n")
    return lines


def _user_place(tb: TracebackType | None) -> Where | None:
    """The innermost frame of the user's own text."""
    found: Origin | None = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_internal(code.co_filename) and "IPython" not in code.co_filename:
            found = Origin(((code, tb.tb_lasti, tb.tb_lineno),))
        tb = tb.tb_next
    return found.where if found is not None else None


def _render(self: MsnbError) -> list[str]:
    return report(self)


def install(shell: Any) -> None:
    """Short reports for every MsnbError of this shell."""
    setattr(MsnbError, _METHOD, _render)
    shell.set_custom_exc((UnsupportedSyntaxError,), _handler)


def remove(shell: Any) -> None:
    """Back to full tracebacks."""
    if hasattr(MsnbError, _METHOD):
        delattr(MsnbError, _METHOD)
    shell.set_custom_exc((), None)


def _handler(shell: Any, kind: type[BaseException], error: Any, tb: Any, tb_offset: Any = None) -> list[str]:
    lines = report(error, tb)
    sys.last_value = error
    shell._showtraceback(kind, error, lines)
    return lines
